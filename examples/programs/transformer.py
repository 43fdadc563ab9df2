"""
A transformer that reads tokens and says how likely each is as the next one: causal attention and a perceptron
in each layer.

The layers are one `tenon.scan` over their stacked weights: compiling takes no longer for more of them.
The number of tokens is a `tenon.Dim`: one program serves all lengths.
"""

from __future__ import annotations

import math
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import tenon
import tenon.nn as nn
import tenon.numpy as tnp
import tenon.random as trandom

Weights = dict[str, Any]

VOCABULARY = 64
TOKENS = tenon.Dim("tokens", 1, 128)


def random_weights(width: int, heads: int, layers: int, dtype: npt.DTypeLike = np.float32) -> Weights:
    """Returns weights, those of all layers stacked along axis 0."""
    rng = np.random.default_rng(0)

    def normal(*shape: int) -> npt.NDArray[Any]:
        return (rng.normal(size=shape) / sqrt(width)).astype(dtype)

    projection = (layers, width, heads, width // heads)
    return {
        "embedding": normal(VOCABULARY, width) * np.dtype(dtype).type(sqrt(width)),
        "prediction": normal(width, VOCABULARY),
        "layers": {
            "query": normal(*projection),
            "key": normal(*projection),
            "value": normal(*projection),
            "output": normal(layers, heads, width // heads, width),
            "up": normal(layers, width, 4 * width),
            "down": normal(layers, 4 * width, width),
        },
    }


def normalised(x: Any) -> Any:
    centred = x - tnp.mean(x, axis=-1, keepdims=True)
    return centred / tnp.sqrt(tnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def attention(x: Any, weights: Weights) -> Any:
    """Each token looks at itself and at those before it."""
    query, key, value = (tnp.einsum("tw,whd->htd", x, weights[name]) for name in ("query", "key", "value"))
    scores = tnp.einsum("htd,hsd->hts", query, key) / sqrt(weights["query"].shape[-1])
    place = tnp.arange(x.shape[0])
    scores = tnp.where(place[:, None] >= place, scores, -tnp.inf)
    return tnp.einsum("hts,hsd,hdw->tw", nn.softmax(scores), value, weights["output"])


def layer(x: Any, weights: Weights) -> Any:
    x = x + attention(normalised(x), weights)
    return x + nn.gelu(normalised(x) @ weights["up"]) @ weights["down"]


def next_token(tokens: Any, weights: Weights) -> Any:
    """Returns the probability of each token of the vocabulary after each of `tokens`."""
    x = tnp.take(weights["embedding"], tokens, axis=0)
    x, _ = tenon.scan(lambda x, of_layer: (layer(x, of_layer), None), x, weights["layers"])
    return nn.softmax(normalised(x) @ weights["prediction"])


predict = tenon.jit(next_token, dynamic={"tokens": {0: TOKENS}})


def drawn(key: Any, probabilities: Any) -> Any:
    """Returns a random number with these probabilities: of waits of so many per second, the shortest."""
    return tnp.argmin(trandom.exponential(key, probabilities.shape) / probabilities)


def next_token_of_numpy(tokens: npt.NDArray[Any], weights: Weights) -> npt.NDArray[Any]:
    """The same in numpy and double precision, one layer after the other."""
    erf = np.vectorize(math.erf)

    def normalised(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)

    def softmax(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    embedding = weights["embedding"].astype(np.float64)
    x = embedding[tokens]
    for number in range(len(weights["layers"]["up"])):
        of_layer = {name: stack[number].astype(np.float64) for name, stack in weights["layers"].items()}
        h = normalised(x)
        query, key, value = (np.einsum("tw,whd->htd", h, of_layer[n]) for n in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / sqrt(query.shape[-1])
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        x = x + np.einsum("htd,hdw->tw", softmax(scores) @ value, of_layer["output"])
        h = normalised(x) @ of_layer["up"]
        x = x + (0.5 * h * (1 + erf(h / sqrt(2)))) @ of_layer["down"]
    return softmax(normalised(x) @ weights["prediction"].astype(np.float64))


def main() -> None:
    weights = random_weights(width=64, heads=4, layers=6)
    key = trandom.key(2026)
    tokens = np.array([1, 2, 3])
    for step in range(12):
        likely = predict(tokens, weights)[-1]
        tokens = np.append(tokens, drawn(trandom.fold_in(key, step), likely))
    print(f"tokens {tokens.tolist()}")
    print(f"{len(predict.explain_misses())} program for 12 lengths")


if __name__ == "__main__":
    main()

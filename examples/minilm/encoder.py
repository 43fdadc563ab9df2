"""all-MiniLM-L6-v2 over NumPy's functions: the same source for Tenon and for jax."""

from collections.abc import Mapping
from typing import Any

N_LAYERS, N_HEADS = 6, 12
EPSILON = 1e-12


def embed(np: Any, gelu: Any, weights: Mapping[str, Any], ids: Any, mask: Any) -> Any:
    """
    Returns a vector of length 1 for each text, f32 (texts, 384).

    `np` has NumPy's functions (`tenon.numpy`, `jax.numpy`), `gelu` is the exact one. `ids` are the numbers of
    the words, integers (texts, words), and `mask` is 1 where there is a word and 0 after the end, f32.
    """

    def linear(x: Any, name: str) -> Any:
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(x: Any, name: str) -> Any:
        x = x - np.mean(x, axis=-1, keepdims=True)
        variance = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(variance + EPSILON) * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def heads(x: Any) -> Any:
        return np.reshape(x, (*x.shape[:2], N_HEADS, -1)).swapaxes(1, 2)

    def softmax(x: Any) -> Any:
        e = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return e / np.sum(e, axis=-1, keepdims=True)

    x = np.take(weights["embeddings.word_embeddings.weight"], ids, axis=0)
    x = x + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
    x = norm(x + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    ends = (mask[:, None, None, :] - 1.0) * 1e9
    for number in range(N_LAYERS):
        layer = f"encoder.layer.{number}"
        parts = ("query", "key", "value")
        q, k, v = (heads(linear(x, f"{layer}.attention.self.{part}")) for part in parts)
        scores = q @ k.swapaxes(2, 3) * (q.shape[-1] ** -0.5) + ends
        attended = np.reshape((softmax(scores) @ v).swapaxes(1, 2), x.shape)
        output = f"{layer}.attention.output"
        x = norm(x + linear(attended, f"{output}.dense"), f"{output}.LayerNorm")
        inner = gelu(linear(x, f"{layer}.intermediate.dense"))
        x = norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    total = np.sum(x * mask[:, :, None], axis=1) / np.sum(mask, axis=1)[:, None]
    return total / np.sqrt(np.sum(total * total, axis=-1, keepdims=True))

"""all-MiniLM-L6-v2 as a module of torch."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn import functional

N_LAYERS, N_HEADS, WIDTH, INNER = 6, 12, 384, 1536


class Layer(nn.Module):
    """Attention among the words of a text, and two layers for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.attended = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.up, self.down = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.attended_norm, self.norm = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))

    def forward(self, x: torch.Tensor, ends: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            part(x).unflatten(-1, (N_HEADS, -1)).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(q, k, v, attn_mask=ends)
        x = self.attended_norm(x + self.attended(attended.transpose(1, 2).flatten(2)))
        return self.norm(x + self.down(functional.gelu(self.up(x))))


class Encoder(nn.Module):
    """Texts to vectors: ids, int64 (texts, words), and a mask, f32 likewise, to f32 (texts, 384)."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH)
        self.types = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(N_LAYERS))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places.weight[: ids.shape[1]] + self.types.weight[0]
        x = self.norm(x)
        ends = (mask[:, None, None, :] - 1.0) * 1e9
        for layer in self.layers:
            x = layer(x, ends)
        total = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        return total / total.square().sum(-1, keepdim=True).sqrt()


_NAMES = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "attended": "attention.output.dense",
    "attended_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}
"""By our names: those of a layer's parts in the file of weights."""


def encoder_of(weights: Mapping[str, Any]) -> Encoder:
    """Returns the module with the weights of the file."""
    state = {
        "words.weight": weights["embeddings.word_embeddings.weight"],
        "places.weight": weights["embeddings.position_embeddings.weight"],
        "types.weight": weights["embeddings.token_type_embeddings.weight"],
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for number in range(N_LAYERS):
        for ours, theirs in _NAMES.items():
            for kind in ("weight", "bias"):
                state[f"layers.{number}.{ours}.{kind}"] = weights[f"encoder.layer.{number}.{theirs}.{kind}"]
    encoder = Encoder()
    encoder.load_state_dict({name: torch.from_numpy(array) for name, array in state.items()})
    return encoder.eval()

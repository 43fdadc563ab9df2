"""Nets of real kinds, in small: what the tests compile."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.LayerNorm(64), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)
    )


class Block(nn.Module):
    """Two convolutions of 3x3 with batch norms, and a shortcut, as in torchvision's BasicBlock."""

    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.conv1 = nn.Conv2d(inner, outer, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outer)
        self.conv2 = nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outer)
        self.shortcut: nn.Module | None = None
        if stride != 1 or inner != outer:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)
            )

    def forward(self, x: Tensor) -> Tensor:
        out = functional.relu(self.bn1(self.conv1(x)), inplace=True)
        out = self.bn2(self.conv2(out))
        out += x if self.shortcut is None else self.shortcut(x)
        return functional.relu(out, inplace=True)


class ResNet(nn.Module):
    """torchvision's ResNet-18 in the order of its layers, `width` channels wide at first."""

    def __init__(self, width: int = 8, classes: int = 10, depths: tuple[int, ...] = (2, 2)):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn = nn.BatchNorm2d(width)
        self.pool = nn.MaxPool2d(3, 2, 1)
        layers: list[nn.Module] = []
        inner = width
        for number, depth in enumerate(depths):
            outer = width * 2**number
            for place in range(depth):
                layers.append(Block(inner, outer, 2 if number and not place else 1))
                inner = outer
        self.layers = nn.Sequential(*layers)
        self.average = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(inner, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(functional.relu(self.bn(self.stem(x))))
        return self.head(torch.flatten(self.average(self.layers(x)), 1))


class Transformer(nn.Module):
    """Tokens to the logits of the next ones: torch's encoder layers under a causal mask."""

    def __init__(self, tokens: int = 50, size: int = 32, heads: int = 4, layers: int = 2, most: int = 64):
        super().__init__()
        self.tokens = nn.Embedding(tokens, size)
        self.places = nn.Parameter(torch.randn(most, size) * 0.02)
        layer = nn.TransformerEncoderLayer(
            size, heads, 4 * size, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(size, tokens)

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        return self.head(self.layers(self.tokens(x) + self.places[:length], mask=mask, is_causal=True))


class Cells(nn.Module):
    """An LSTM cell, step by step."""

    def __init__(self, size: int = 16):
        super().__init__()
        self.cell = nn.LSTMCell(8, size)
        self.head = nn.Linear(size, 3)

    def forward(self, x: Tensor) -> Tensor:
        hidden = x.new_zeros(x.shape[0], 16)
        memory = torch.zeros_like(hidden)
        for step in x.unbind(1):
            hidden, memory = self.cell(step, (hidden, memory))
        return self.head(hidden)

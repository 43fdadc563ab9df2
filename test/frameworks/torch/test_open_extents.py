"""Nets whose extents are open, and fit as only torch knows: `dynamic=True` compiles them whole."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("nothing_is_compiled_yet")


class Patches(nn.Module):
    """As a vision transformer begins: the places of patches are cut from those of the largest image."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 12, 8, 8)
        self.first = nn.Parameter(torch.randn(1, 1, 12))
        self.places = nn.Parameter(torch.randn(1, 37, 12))
        self.layer = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1)
        return self.layer(x + self.places[:, : x.shape[1]])


class Pyramid(nn.Module):
    """What is halved once, and what is halved twice and doubled: joined, and added."""

    def __init__(self) -> None:
        super().__init__()
        self.once = nn.Conv2d(3, 4, 3, padding=1)
        self.twice = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        once = functional.max_pool2d(self.once(x), 2)
        twice = functional.avg_pool2d(self.twice(once), 2)
        doubled = functional.interpolate(twice, scale_factor=2.0)
        return torch.cat([torch.tanh(once + doubled), doubled], 1)


class Windows(nn.Module):
    """Attention in windows of 4 by 4 that are moved by half of one."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(12, 36)

    def forward(self, x: Tensor) -> Tensor:
        batch, height, width, features = x.shape
        moved = torch.roll(x, (-2, -2), (1, 2)).view(batch, height // 4, 4, width // 4, 4, features)
        parts = self.layer(moved.transpose(2, 3).reshape(-1, 16, features)).chunk(3, -1)
        found = functional.scaled_dot_product_attention(*parts)
        found = found.view(batch, height // 4, width // 4, 4, 4, features).transpose(2, 3)
        return torch.roll(found.reshape(batch, height, width, features), (2, 2), (1, 2))


class Halves(nn.Module):
    """Layers of halved images, and back."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        batch, _, height, width = x.shape
        halved = functional.pixel_unshuffle(self.layer(x), 2)
        scores = halved.reshape(batch, -1, height // 2 * (width // 2)).softmax(-1)
        return functional.pixel_shuffle(scores.reshape(batch, 12, height // 2, width // 2), 2)


NETS: dict[str, tuple[Callable[[], nn.Module], tuple[tuple[int, ...], ...]]] = {
    "places of patches": (Patches, ((2, 3, 32, 48), (3, 3, 40, 48), (1, 3, 17, 24))),
    "windows": (Windows, ((2, 8, 20, 12), (1, 16, 8, 12), (3, 4, 24, 12))),
    "halves": (Halves, ((2, 3, 8, 6), (1, 3, 4, 10), (3, 3, 12, 4))),
    "joined and added": (Pyramid, ((1, 3, 32, 40), (2, 3, 48, 36))),
}


@pytest.mark.parametrize("name", NETS)
def test_extents_that_torch_checks_are_those_of_one_program(name: str):
    make, shapes = NETS[name]
    mine = make()
    its = copy.deepcopy(mine)
    compiled = torch.compile(mine, backend="tenon", dynamic=True)
    for shape in shapes:
        x = torch.randn(shape)
        found, expected = compiled(x), its(x)
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        found.square().mean().backward()
        expected.square().mean().backward()
        for some, other in zip(mine.parameters(), its.parameters(), strict=True):
            torch.testing.assert_close(some.grad, other.grad, rtol=1e-4, atol=1e-5)

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


NETS: dict[str, tuple[Callable[[], nn.Module], tuple[tuple[int, ...], ...]]] = {
    "places of patches": (Patches, ((2, 3, 32, 48), (3, 3, 40, 48), (1, 3, 17, 24))),
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

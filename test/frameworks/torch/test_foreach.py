"""Ops of lists of tensors, one by one and in the optimizers that call them, beside torch's own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn, optim
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("nothing_is_compiled_yet")


def each(name: str, *arguments: Any, **named: Any) -> list[Tensor]:
    """Calls an op of lists; torch has no public name for them."""
    return getattr(torch, f"_foreach_{name}")(*arguments, **named)


OPS: dict[str, Callable[[list[Tensor], list[Tensor]], Any]] = {
    "add": lambda x, y: (
        each("add", x, y, alpha=3),
        each("add", x, 2),
        each("sub", x, [1, 2]),
    ),
    "add one tensor": lambda x, y: each("add", x, torch.tensor(2.0), alpha=3),
    "multiply": lambda x, y: (each("mul", x, torch.tensor(2.0)), each("div", x, y)),
    "addcmul": lambda x, y: (
        each("addcmul", x, y, x, value=2),
        each("addcmul", x, y, x, [2, 3]),
    ),
    "addcdiv": lambda x, y: (
        each("addcdiv", x, y, x, value=2),
        each("addcdiv", x, y, x, [2, 3]),
    ),
    "power": lambda x, y: (
        each("pow", 2.0, x),
        each("pow", y, 2),
        each("pow", y, [2.0, 3.0]),
    ),
    "lerp": lambda x, y: (each("lerp", x, y, 0.3), each("lerp", x, y, y)),
    "bounds": lambda x, y: (
        each("maximum", x, y),
        each("minimum", x, 0.5),
        each("clamp_max", x, [0.1, 0.2]),
    ),
    "norm": lambda x, y: (
        each("norm", x),
        each("norm", x, 1),
        each("norm", x, float("inf")),
    ),
    "of one list": lambda x, y: (each("sqrt", y), each("neg", x), each("max", x)),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_of_lists_are_those_of_their_tensors(name: str):
    x, y = [torch.randn(3, 4), torch.randn(5)], [torch.rand(3, 4) + 0.1, torch.rand(5) + 0.1]
    torch.testing.assert_close(torch.compile(OPS[name], backend="tenon")(x, y), OPS[name](x, y))


def test_lists_are_changed_in_place():
    def changed(x: list[Tensor]) -> list[Tensor]:
        each("copy_", x[:2], x[2:])
        each("zero_", x[2:3])
        each("mul_", x, 2.0)
        return each("add", x, 1)

    mine = [torch.randn(3) for _ in range(4)]
    its = copy.deepcopy(mine)
    torch.testing.assert_close(torch.compile(changed, backend="tenon")(mine), changed(its))
    torch.testing.assert_close(mine, its)


OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "SGD": lambda *given, **named: optim.SGD(
        *given, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01, **named
    ),
    "Adam": lambda *given, **named: optim.Adam(*given, lr=0.01, amsgrad=True, weight_decay=0.01, **named),
    "AdamW": lambda *given, **named: optim.AdamW(*given, lr=0.01, maximize=True, **named),
    "RMSprop": lambda *given, **named: optim.RMSprop(*given, lr=0.01, momentum=0.9, centered=True, **named),
    "Adagrad": lambda *given, **named: optim.Adagrad(*given, lr=0.01, lr_decay=0.1, **named),
    "Adadelta": lambda *given, **named: optim.Adadelta(*given, lr=1.0, weight_decay=0.01, **named),
    "Adamax": lambda *given, **named: optim.Adamax(*given, lr=0.01, **named),
    "NAdam": lambda *given, **named: optim.NAdam(*given, lr=0.01, decoupled_weight_decay=True, **named),
    "RAdam": lambda *given, **named: optim.RAdam(*given, lr=0.01, weight_decay=0.01, **named),
    "Rprop": lambda *given, **named: optim.Rprop(*given, lr=0.01, **named),
}


def net() -> nn.Module:
    # A bias before a batch norm has a gradient of rounding errors, which Adam makes as large as others.
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64, 5),
    )


@pytest.mark.parametrize("foreach", [False, True], ids=["one by one", "foreach"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_are_torchs(name: str, foreach: bool):
    mine = net()
    its = copy.deepcopy(mine)
    memory = [one.data_ptr() for one in mine.parameters()]
    optimizers = [OPTIMIZERS[name](model.parameters(), foreach=foreach) for model in (mine, its)]
    steps = [torch.compile(optimizers[0].step, backend="tenon"), optimizers[1].step]
    for _ in range(5):
        x, y = torch.randn(4, 3, 4, 4), torch.randint(0, 5, (4,))
        for model, optimizer, step in zip((mine, its), optimizers, steps, strict=True):
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            step()
    assert [one.data_ptr() for one in mine.parameters()] == memory
    torch.testing.assert_close(mine.state_dict(), its.state_dict(), rtol=1e-3, atol=1e-5)
    states = [optimizer.state_dict()["state"] for optimizer in optimizers]
    torch.testing.assert_close(*states, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_whole_steps_of_training_are_torchs(name: str):
    mine = net()
    its = copy.deepcopy(mine)
    optimizers = [OPTIMIZERS[name](model.parameters(), foreach=True) for model in (mine, its)]

    def step(model: nn.Module, optimizer: optim.Optimizer, x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        return loss.detach()

    compiled = torch.compile(step, backend="tenon")
    for _ in range(5):
        x, y = torch.randn(4, 3, 4, 4), torch.randint(0, 5, (4,))
        found, expected = compiled(mine, optimizers[0], x, y), step(its, optimizers[1], x, y)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(mine.state_dict(), its.state_dict(), rtol=1e-3, atol=1e-5)

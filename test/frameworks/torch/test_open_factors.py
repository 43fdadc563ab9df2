"""Learning rates that change: one program serves them all, where torch can leave the number open."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from tenon.frontends.torch.backend import tenon
from torch import Tensor, nn, optim

pytestmark = pytest.mark.usefixtures("nothing_is_compiled_yet")


OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "SGD": lambda given: optim.SGD(given, lr=0.1),
    "momentum": lambda given: optim.SGD(given, lr=0.1, momentum=0.9, foreach=True),
    "Adam": lambda given: optim.Adam(given, lr=0.01, foreach=True),
    "RMSprop": lambda given: optim.RMSprop(given, lr=0.01, foreach=True),
    "Adadelta": lambda given: optim.Adadelta(given, lr=1.0),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_schedule_of_learning_rates_has_two_programs(name: str):
    mine = nn.Linear(6, 5)
    its = copy.deepcopy(mine)
    optimizers = [OPTIMIZERS[name](each.parameters()) for each in (mine, its)]
    schedules = [optim.lr_scheduler.ExponentialLR(each, 0.9) for each in optimizers]
    programs: list[Any] = []

    def backend(module: Any, inputs: Any, **options: Any) -> Any:
        # It starts over where it finds that a number need not be open: what counts is what comes of it.
        programs.append(tenon(module, inputs, **options))
        return programs[-1]

    steps = [torch.compile(optimizers[0].step, backend=backend), optimizers[1].step]
    for _ in range(5):
        x = torch.randn(4, 6)
        for model, optimizer, step, schedule in zip((mine, its), optimizers, steps, schedules, strict=True):
            optimizer.zero_grad()
            model(x).square().sum().backward()
            step()
            schedule.step()
    # The first is for the number that it found, the second for all.
    assert len(programs) == 2
    torch.testing.assert_close(mine.state_dict(), its.state_dict(), rtol=1e-3, atol=1e-5)


FACTORS: dict[str, Callable[[Tensor, Tensor, float], Any]] = {
    "sum": lambda x, y, factor: torch.add(x, y, alpha=factor),
    "difference": lambda x, y, factor: torch.sub(x, y, alpha=factor),
    "product": lambda x, y, factor: torch.addcmul(x, y, y, value=factor),
    "quotient": lambda x, y, factor: torch.addcdiv(x, y, y + 4, value=factor),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", FACTORS)
def test_open_factors_are_torchs(name: str, dtype: torch.dtype):
    compiled = torch.compile(FACTORS[name], backend="tenon", dynamic=True)
    x, y = torch.randn(2, 50).to(dtype).unbind()
    # torch's own rounds products of halves before it adds them.
    close = {"rtol": 2e-2, "atol": 2e-2} if dtype == torch.bfloat16 else {}
    for factor in (0.3, -1.7, 2.25):
        torch.testing.assert_close(compiled(x, y, factor), FACTORS[name](x, y, factor), **close)

"""
Programs of equal blocks, pass by pass: what repeats is merged, memoised and named again by passes, which is
where one block may come to run what was made for another. After every pass no symbol is bound twice, every
launch fits its kernel, and the interpreter gives what it gave before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.backends.reference.execute import run_module
from tenon.dialects import context, low, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.instruments.interface import PassInstrument
from tenon.passes.instruments.verify_semantics import VerifySemantics
from tenon.passes.machine.groups import GroupLimits
from tenon.passes.machine.target import Target
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

Array = npt.NDArray[Any]


def weights(*shapes: tuple[int, ...]) -> list[Array]:
    generator = np.random.default_rng(len(shapes))
    return [generator.standard_normal(shape).astype(np.float32) * np.float32(0.3) for shape in shapes]


def attention(x: Any, parameters: Any, heads: int) -> Any:
    query, key, value, out = parameters
    batch, tokens, _ = x.shape

    def split(matrix: Any) -> Any:
        return (x @ matrix).reshape((batch, tokens, heads, -1)).transpose((0, 2, 1, 3))

    scores = nn.softmax(split(query) @ split(key).transpose((0, 1, 3, 2)))
    return x + (scores @ split(value)).transpose((0, 2, 1, 3)).reshape((batch, tokens, -1)) @ out


def transformer(x: Any, layers: Any) -> Any:
    for parameters in layers:
        x = attention(x, parameters, 12)
    return x


def perceptron(x: Any, layers: Any) -> Any:
    for wide, narrow in layers:
        x = x + tnp.maximum(x @ wide, 0) @ narrow
    return x


def looped(x: Any, layers: Any) -> Any:
    def body(carried: Any, _: Any) -> Any:
        for parameters in layers:
            carried = attention(carried, parameters, 2)
        carried = carried / tnp.max(tnp.abs(carried), axis=-1, keepdims=True)
        return carried, tnp.sum(carried * carried)

    return tenon.scan(body, x, None, length=2)


def images(x: Any, kernels: Any) -> Any:
    sums: list[Any] = []
    for kernel, bias in kernels:
        x = x + tnp.maximum(nn.conv(x, kernel, padding="same") + bias, 0)
        sums.append(tnp.sum(x, axis=(2, 3)))
    return [x, *sums]


def recurrent(x: Any, inside: Any, again: Any) -> Any:
    state = tnp.zeros((x.shape[0], again.shape[0]), dtype=np.float32)
    states: list[Any] = []
    for step in range(x.shape[1]):
        state = tnp.tanh(x[:, step] @ inside + state @ again)
        states.append(state)
    return tnp.stack(states, axis=1)


def shared(x: Any, first: Any, second: Any) -> Any:
    """Blocks whose kernels are equal text, over other buffers."""
    one, other = x @ first, x @ second
    for _ in range(2):
        one, other = tnp.exp(-one * one) @ first, tnp.exp(-other * other) @ second
    return one + other, one - other


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "transformer": (transformer, (*weights((1, 33, 96)), [weights(*[(96, 96)] * 4) for _ in range(2)])),
    "perceptron": (perceptron, (*weights((33, 24)), [weights((24, 50), (50, 24)) for _ in range(3)])),
    "looped": (looped, (*weights((1, 5, 8)), [weights(*[(8, 8)] * 4) for _ in range(2)])),
    "images": (images, (*weights((1, 3, 9, 9)), [weights((3, 3, 3, 3), (3, 1, 1)) for _ in range(3)])),
    "recurrent": (recurrent, tuple(weights((3, 4, 17), (17, 21), (21, 21)))),
    "shared": (shared, tuple(weights((37, 40), (40, 40), (40, 40)))),
}

CASES = [
    ("transformer", 32),
    ("perceptron", 16),
    ("looped", 16),
    ("images", 32),
    ("images", None),
    ("recurrent", 64),
    ("shared", 32),
]
"""Programs, and the bytes of the vectors that they are scheduled for; None is a GPU."""


def passes_for(vector_nbytes: int | None) -> list[ModulePass]:
    groups = GroupLimits(max_items=64) if vector_nbytes is None else None
    return [one for phase in phases(Target(vector_nbytes or 16, groups=groups)).values() for one in phase]


class Bindings(PassInstrument):
    """Looks what the names of kernels stand for."""

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        kernels: dict[str, sched.KernelOp | low.KernelOp] = {}
        for op in module.ops:
            if isinstance(op, sched.KernelOp | low.KernelOp):
                assert kernels.setdefault(op.sym_name.data, op) is op, f"{pass_.name}: {op.sym_name.data}"
        for op in module.walk():
            if isinstance(op, sched.LaunchOp):
                assert op.misfit(kernels[op.kernel.root_reference.data]) is None, pass_.name


def check(text: str, passes: list[ModulePass]) -> None:
    instruments = [Bindings(), VerifySemantics(run_module)]
    PassManager(passes, instruments).run(context(), parse_module(text))


@pytest.mark.parametrize(("name", "vector_nbytes"), CASES)
def test_no_pass_takes_one_block_for_another(name: str, vector_nbytes: int | None) -> None:
    function, arguments = PROGRAMS[name]
    check(str(tenon.jit(function).lower(*arguments).module), passes_for(vector_nbytes))


def test_functions_whose_kernels_would_have_one_name() -> None:
    """Kernel 0 of @f, and of @f_0, and functions of those names."""
    text = "".join(
        f"func.func @{name}(%x: tensor<8xf32>) -> tensor<8xf32> {{\n"
        f"  %c = graph.constant dense<{number}.0> : tensor<8xf32>\n"
        "  %y = graph.mul %x, %c : tensor<8xf32>\n  func.return %y : tensor<8xf32>\n}\n"
        for number, name in enumerate(("f", "f_0", "f_0_0", "f_0_1"), 2)
    )
    check(text, passes_for(32))

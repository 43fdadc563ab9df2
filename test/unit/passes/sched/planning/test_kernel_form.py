"""Kernels of one form are written as the same code, and those of layers that are alike have one form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tenon
from hypothesis import given
from tenon.dialects import context
from tenon.dialects.memory_modes import ModeKind
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.planning.emission import emit_kernel
from tenon.passes.sched.planning.fusion_cost import Estimate, estimate
from tenon.passes.sched.planning.kernel_form import Form, FormParts, FormWriter, kernel_form
from tenon.passes.sched.planning.known_estimates import KnownEstimates
from tenon.passes.sched.planning.own import OWN_KERNELS
from tenon.passes.sched.planning.plan import plan_kernels
from tenon.passes.sched.planning.region_preparation import prepare_regions
from tenon.passes.sched.steps.kernel_key import kernel_text
from tenon.test.e2e.random_programs import Program, programs
from xdsl.dialects import func

T = "tensor<6x5xf32>"

ASKED = ' {memory_mode = #graph.memory_mode<materialized, "asked", "request">}'

LAYER = """
  %v{n} = graph.broadcast %w{w} : tensor<5xf32> -> tensor<6x5xf32>
  %c{n} = graph.constant dense<{constant}> : tensor<6x5xf32>
  %t{n} = graph.mul %x{n}, %c{n} : tensor<6x5xf32>
  %e{n} = graph.{op} %t{n} : tensor<6x5xf32>
  %s{n} = graph.reduce add %e{n} axes [1] keep : tensor<6x5xf32> -> tensor<6x1xf32>
  %b{n} = graph.broadcast %s{n} : tensor<6x1xf32> -> tensor<6x5xf32>
  %d{n} = graph.div %e{n}, %b{n} : tensor<6x5xf32>
  %x{next} = graph.add %d{n}, %v{n}{asked} : tensor<6x5xf32>
"""


def layered(layers: Sequence[dict[str, Any]], returned: Sequence[str] = ()) -> str:
    """Returns a program of layers, each with what differs in it."""
    body = "".join(
        LAYER.format(
            **{"n": n, "next": n + 1, "w": n, "op": "exp", "constant": "2.0", "asked": ASKED, **layer}
        )
        for n, layer in enumerate(layers)
    )
    weights = ", ".join(f"%w{n}: tensor<5xf32>" for n in range(len(layers)))
    results = [f"%x{len(layers)}", *returned]
    types = ", ".join([T] * len(results))
    return (
        f"func.func @f(%x0: {T}, {weights}) -> ({types}) {{{body}"
        f"  func.return {', '.join(results)} : {types}\n}}"
    )


def forms_and_texts(text: str) -> list[tuple[Form, str]]:
    """Returns the form of each kernel of a function, and what is written for it."""
    module = parse_module(text)
    PassManager("decompose-composites").run(context(), module)
    (function,) = (op for op in module.ops if isinstance(op, func.FuncOp))
    prepare_regions(function)
    parts = FormParts()
    found: list[tuple[Form, str]] = []
    for kernel in plan_kernels(function).kernels:
        if type(kernel.root) in OWN_KERNELS:
            continue
        form = kernel_form(kernel, FormWriter(parts))
        assert form is not None
        found.append((form, kernel_text(emit_kernel(kernel)[0])))
    return found


def count(text: str) -> int:
    """Returns how many kernels differ in form, once it is checked that they do in their code."""
    found = forms_and_texts(text)
    for form, code in found:
        assert all(code == other for known, other in found if known == form)
    return len({form for form, _ in found})


def test_equal_layers_have_one_form() -> None:
    assert count(layered([{}] * 4)) == count(layered([{}]))


@pytest.mark.parametrize("other", [{"constant": "3.0"}, {"constant": "-0.0"}, {"op": "tanh"}])
def test_a_layer_that_differs_in_one_op_has_its_own(other: dict[str, Any]) -> None:
    assert count(layered([{}, other, {}])) > count(layered([{}] * 3))


def test_zeros_of_either_sign_are_two() -> None:
    assert count(layered([{"constant": "0.0"}, {"constant": "-0.0"}])) > count(layered([{"constant": "0.0"}]))


def test_layers_may_share_a_weight() -> None:
    assert count(layered([{}, {"w": 0}, {}])) == count(layered([{}]))


@pytest.mark.parametrize(
    "layers",
    [[{}] * 3, [{}, {"constant": "3.0"}, {}], [{}, {"w": 0}, {"w": 0}], [{}, {"op": "tanh"}, {"op": "tanh"}]],
    ids=["equal", "a constant", "a shared weight", "an op"],
)
@pytest.mark.parametrize("returned", [(), ("%e1",)], ids=["", "read once more"])
def test_layers_compute_what_the_interpreter_does(layers: Any, returned: tuple[str, ...]) -> None:
    text = layered(layers, returned)
    generator = np.random.default_rng(5)
    arguments = [generator.standard_normal(shape).astype(np.float32) for shape in [(6, 5), *[(5,)] * 3]]
    expected = tenon.compile(text, backend="reference")(*arguments)
    got = tenon.compile(text, backend="llvm")(*arguments)
    for one, other in zip(np.atleast_3d(got), np.atleast_3d(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6)


@given(programs())
def test_kernels_of_one_form_are_written_alike(program: Program) -> None:
    count(program.text)


@pytest.mark.parametrize("layers", [[{}] * 3, [{}, {"constant": "3.0"}, {"op": "tanh"}, {"w": 0}]])
def test_known_estimates_are_those_made_anew(layers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = layered(layers).replace(ASKED, "")

    def decisions() -> list[tuple[ModeKind, str]]:
        (function,) = (op for op in parse_module(text).ops if isinstance(op, func.FuncOp))
        plan = plan_kernels(function, with_figures=True)
        return [(decision.mode, decision.why) for _, decision in plan.all_decisions()]

    remembered = decisions()

    def anew(self: KnownEstimates, op: Any, accesses: Any, place: Any) -> Estimate:
        return estimate(op, accesses, place, self.target)

    monkeypatch.setattr(KnownEstimates, "estimate", anew)
    assert remembered == decisions()

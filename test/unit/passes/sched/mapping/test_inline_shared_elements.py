"""What several reductions of one kernel read, they compute: the bits of a kernel of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.passes.sched.mapping.inlining import inline_shared_elements

N = 100_003

WHY = "computed by the reductions that read it, in one loop"


def inside(x: Any, y: Any) -> Any:
    """Sums and numbers of elements between two bounds."""
    mask = (x > 0.25) & (x < 1.5)
    return tnp.stack((tnp.sum(tnp.where(mask, y, 0.0)), tnp.sum(mask).astype(np.float32)))


def of_bounds_that_are_divided(x: Any, y: Any) -> Any:
    """What is computed once takes a division."""
    low, high = y[0] / 3.0, y[1] * y[1] / 0.7
    mask = (low <= x) & (x < high)
    return tnp.stack((tnp.sum(tnp.where(mask, y, 0.0)), tnp.sum(mask).astype(np.float32)))


def in_a_loop(x: Any, y: Any) -> Any:
    """Each iteration reads an element of its own."""
    largest = tnp.max(x)

    def body(_: Any, number: Any) -> Any:
        mask = (largest * number / 7 <= x) & (x < largest * (number + 1) / 7)
        return None, tnp.sum(tnp.where(mask, y, 0.0)) / tnp.sum(mask)

    return tenon.scan(body, None, tnp.arange(7))[1]


def of_rows(x: Any, y: Any) -> Any:
    mask = tnp.reshape(x[:99_000], (99, 1000)) > 0.5
    values = tnp.reshape(y[:99_000], (99, 1000))
    return tnp.concat(
        (tnp.sum(tnp.where(mask, values, 1.0), axis=1), tnp.sum(mask, axis=1).astype(np.float32))
    )


def read_elsewhere_too(x: Any, y: Any) -> Any:
    mask = x > 0.25
    return tnp.concat(
        (mask.astype(np.float32), tnp.sum(tnp.where(mask, y, 0.0))[None], tnp.sum(mask)[None] * 1.0)
    )


def in_another_order(x: Any, y: Any) -> Any:
    mask = tnp.permute_dims(tnp.reshape(x[:90_000], (300, 300)), (1, 0)) > 0.25
    values = tnp.reshape(y[:90_000], (300, 300))
    return tnp.stack((tnp.sum(tnp.where(mask, values, 0.0)), tnp.sum(mask).astype(np.float32)))


def of_what_takes_long(x: Any, y: Any) -> Any:
    mask = tnp.exp(x) > 1.5
    return tnp.stack((tnp.sum(tnp.where(mask, y, 0.0)), tnp.sum(mask).astype(np.float32)))


PROGRAMS = (
    inside,
    of_bounds_that_are_divided,
    in_a_loop,
    of_rows,
    read_elsewhere_too,
    in_another_order,
    of_what_takes_long,
)
INLINED = {inside, of_bounds_that_are_divided, in_a_loop, of_rows}


def arrays() -> list[Any]:
    x, y = np.random.default_rng(0).standard_normal((2, N)).astype("f4")
    x[::501], x[7::1009] = np.nan, np.inf
    return [x, y]


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_what_is_computed_by_its_readers_has_the_same_bits(
    program: Callable[..., Any], backend: str, monkeypatch: pytest.MonkeyPatch
):
    inputs = arrays()
    module = tenon.jit(program).lower(*inputs).module
    with tenon.compile(module, backend=backend) as inlined:
        text = str(inlined.stages["sched"])
        found = np.asarray(inlined(*inputs))
    assert ("_inlined" in text) is (program in INLINED)
    with tenon.compile(text, backend="reference") as interpreted:
        np.testing.assert_array_equal(np.asarray(interpreted(*inputs)), found)
    monkeypatch.setattr(inline_shared_elements, "MOST_OPS", 0)
    with tenon.compile(module, backend=backend) as apart:
        assert "_inlined" not in str(apart.stages["sched"])
        assert np.asarray(apart(*inputs)).tobytes() == found.tobytes()


def test_what_is_computed_once_stays_before_the_loops():
    text = tenon.jit(of_bounds_that_are_divided).lower(*arrays()).text("sched")
    kernel = next(each for each in text.split("sched.kernel") if "_inlined" in each.split("(")[0])
    before, loops = kernel.split("sched.reduce", 1)
    assert before.count("arith.divf") == 2 and "arith.divf" not in loops
    assert loops.count("arith.cmpf olt") == 2
    # In the end they are one loop of four vectors a step, and nothing is computed twice.
    doubles = [each[:98_304].astype(np.float64) for each in arrays()]
    low = tenon.jit(of_bounds_that_are_divided, target="x86-64-v4").lower(*doubles).text("low")
    kernel = next(each for each in low.split("low.kernel") if "_inlined" in each.split("(")[0])
    assert kernel.count("arith.cmpf olt") == 4


def test_what_the_reductions_read_anyhow_is_read_once():
    def function(x: Any) -> Any:
        mask = (x > 0.25) & (x < 1.5)
        return tnp.stack((tnp.sum(tnp.where(mask, x, 0.0)), tnp.sum(mask).astype(np.float32)))

    (x, _) = arrays()
    text = tenon.jit(function).lower(x).text("sched")
    kernel = next(each for each in text.split("sched.kernel") if "_inlined" in each.split("(")[0])
    assert kernel.split(")")[0].count(f"memref<{N}xf32>") == 1
    with tenon.compile(text, backend="reference") as interpreted:
        np.testing.assert_array_equal(np.asarray(interpreted(x)), np.asarray(tenon.jit(function)(x)))


def test_what_is_asked_for_is_stored():
    text = tenon.jit(inside).lower(*arrays()).text("traced")
    mask = next(line for line in text.splitlines() if "graph.and" in line)
    name = mask.split()[0]
    asked = f"{mask.replace(name, '%mask')}\n    {name} = graph.materialize %mask : tensor<{N}xi1>"
    with tenon.compile(text) as inlined, tenon.compile(text.replace(mask, asked)) as stored:
        assert "_inlined" in str(inlined.stages["sched"])
        assert "_inlined" not in str(stored.stages["sched"])
        assert np.asarray(inlined(*arrays())).tobytes() == np.asarray(stored(*arrays())).tobytes()


def test_explain_says_where_the_elements_are():
    assert WHY in str(tenon.explain(inside, *arrays()))

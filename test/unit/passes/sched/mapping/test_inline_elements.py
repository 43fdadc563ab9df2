"""Elements computed in the loops that load each of them once: the bits of the kernels apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import location_text
from tenon.passes.machine.target import DEFAULT_TARGET
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import graph_passes, sched_passes
from tenon.passes.sched.mapping.inlining import inline_elements

N = 10_007


def counts(v: Any, i: Any) -> Any:
    return tnp.zeros((31,), dtype=np.int32).at[i].add(1)


def sums_at_both_ends(v: Any, i: Any) -> Any:
    """Indices that count from the end, and some beyond both ends, which are dropped."""
    return tnp.zeros((31,), dtype=np.float32).at[i * 2 - 40].add(v * v)


def two_indices(v: Any, i: Any) -> Any:
    return tnp.zeros((31, 32), dtype=np.float32).at[i, i + 1].max(tnp.where(v > 0, v, 0))


def sums_so_far(v: Any, i: Any) -> Any:
    return tnp.cumsum(v * v)


def of_what_is_stored(v: Any, i: Any) -> Any:
    """What is added is made of the array that is added to."""
    return v.at[i].add(v[:N] * v[:N])


def gathered(v: Any, i: Any) -> Any:
    return tnp.zeros((31,), dtype=np.float32).at[i].add(v * v[i + 3])


def in_a_loop(v: Any, i: Any) -> Any:
    """Rows of the array that is added to are stored, and read by what is added, in each iteration."""

    def body(k: Any, y: Any) -> Any:
        row = y[k]
        return y.at[k].set(row + 1).at[k, i[:200] % 100].add(row[:100].sum() + v[:200] * row)

    return tenon.fori_loop(0, 5, body, tnp.zeros((6, 200), dtype=np.float32))


PROGRAMS = (counts, sums_at_both_ends, two_indices, sums_so_far, of_what_is_stored, gathered, in_a_loop)
INLINED = {counts, sums_at_both_ends, two_indices, gathered}


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_inlined_elements_have_the_same_bits(
    program: Callable[..., Any], backend: str, monkeypatch: pytest.MonkeyPatch
):
    rng = np.random.default_rng(0)
    v, i = rng.standard_normal(N).astype("f4"), rng.integers(-31, 31, N)
    module = tenon.jit(program).lower(v, i).module
    with tenon.compile(module, backend=backend) as inlined:
        text = str(inlined.stages["sched"])
        found = np.asarray(inlined(v, i))
    assert program not in INLINED or "_inlined" in text
    with tenon.compile(text, backend="reference") as interpreted:
        np.testing.assert_array_equal(np.asarray(interpreted(v, i)), found)
    monkeypatch.setattr(inline_elements, "MOST_OPS", 0)
    with tenon.compile(module, backend=backend) as apart:
        assert "_inlined" not in str(apart.stages["sched"])
        assert np.asarray(apart(v, i)).tobytes() == found.tobytes()


def test_what_is_slow_is_left_to_vectors():
    v, i = np.ones(N, "f4"), np.zeros(N, np.int64)
    lowered = tenon.jit(lambda v, i: tnp.zeros((31,), dtype=np.float32).at[i].add(tnp.exp(v) / 3)).lower(v, i)
    text = lowered.text("sched")
    # One fills the bins.
    assert text.count("sched.kernel") == 3 and "arith.divf" in text.split("_inlined")[0]


def test_explain_says_where_elements_are_computed():
    v, i = np.ones(N, "f4"), np.zeros(N, np.int64)
    text = str(tenon.explain(counts, v, i))
    assert "computed in the loop that reads each element once" in text
    assert "inline-elements: -1 sched.axis, -1 sched.kernel" in text


def test_the_lines_of_the_program_stay_with_its_ops():
    module = tenon.jit(sums_at_both_ends).lower(np.ones(N, "f4"), np.zeros(N, np.int64)).module
    PassManager((*graph_passes(DEFAULT_TARGET), *sched_passes(DEFAULT_TARGET))).run(context(), module)
    kernels = [op for op in module.ops if isinstance(op, sched.KernelOp) and "_inlined" in op.sym_name.data]
    assert len(kernels) == 1
    assert all("test_inline_elements.py" in location_text(op.location) for op in kernels[0].walk())

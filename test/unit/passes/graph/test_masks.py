"""Which values kernels write themselves, as they are made of indices only."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import graph
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.graph.masks import MOST_OPS, is_mask


def mask_of(lines: str) -> graph.GraphOp:
    """Returns what computes %m, of a number %k and numbers %n."""
    module = parse_module(f"""func.func @f(%k: tensor<i64>, %n: tensor<8x9xi64>) -> tensor<8x9xi1> {{
      {lines}
      func.return %m : tensor<8x9xi1>
    }}""")
    (found,) = (
        op for op in module.walk() if isinstance(op, graph.GraphOp) and op.results[0].name_hint == "m"
    )
    return found


ROWS = """%i = graph.iota axis 0 : tensor<8x1xi64>
      %a = graph.broadcast %k : tensor<i64> -> tensor<8x1xi64>
      %r = graph.ge %i, %a : tensor<8x1xi64>
      %rows = graph.broadcast %r : tensor<8x1xi1> -> tensor<8x9xi1>"""
COLUMNS = """%j = graph.iota axis 0 : tensor<9xi64>
      %s = graph.reshape %j : tensor<9xi64> -> tensor<1x9xi64>
      %b = graph.broadcast %k : tensor<i64> -> tensor<1x9xi64>
      %c = graph.gt %s, %b : tensor<1x9xi64>
      %columns = graph.broadcast %c : tensor<1x9xi1> -> tensor<8x9xi1>"""


def test_views_cost_a_mask_nothing():
    assert is_mask(mask_of(f"{ROWS}\n{COLUMNS}\n%m = graph.and %rows, %columns : tensor<8x9xi1>"))


def test_what_loads_elements_is_none():
    loaded = (
        "%b = graph.broadcast %k : tensor<i64> -> tensor<8x9xi64>\n%m = graph.ge %n, %b : tensor<8x9xi64>"
    )
    assert not is_mask(mask_of(loaded))


@pytest.mark.parametrize("n_ops", [MOST_OPS, MOST_OPS + 1])
def test_a_mask_of_many_ops_is_loaded(n_ops: int):
    # The comparison, and negations of it.
    lines = [ROWS, *(f"%{name} = graph.not %{of} : tensor<8x9xi1>" for name, of in names(n_ops - 1))]
    assert is_mask(mask_of("\n".join(lines))) == (n_ops <= MOST_OPS)


def names(count: int) -> list[tuple[str, str]]:
    each = ["rows", *(f"x{number}" for number in range(count - 1)), "m"]
    return [(new, old) for old, new in itertools.pairwise(each)]


def triangles(x: Any) -> Any:
    at = tnp.arange(x.shape[0])

    def step(k: Any, x: Any) -> Any:
        is_left = (at[:, None] >= k) & (at[None, :] >= k)
        sums = tnp.sum(tnp.where(is_left, x, 0.0), axis=1)
        return tnp.where(is_left, x - sums[:, None] * 0.125 - sums[None, :] * 0.25, x)

    return tenon.fori_loop(0, x.shape[0], step, x)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_two_kernels_write_a_mask_each_and_do_no_more_than_it_leaves(backend: str):
    x = np.random.default_rng(0).integers(-9, 9, (37, 37)).astype("f8")
    lowered = tenon.jit(triangles).lower(x)
    compiled = tenon.compile(lowered.module, backend=backend)
    text = str(compiled.stages["sched"])
    assert "xi8>" not in text
    assert text.count("count %count") >= 2
    expected = x.copy()
    for k in range(37):
        sums = expected[k:, k:].sum(axis=1)
        expected[k:, k:] -= sums[:, None] * 0.125 + sums[None, :] * 0.25
    np.testing.assert_allclose(compiled(x), expected, rtol=1e-12)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_a_transpose_whose_rows_a_mask_leaves_out_is_not_made_of_squares(backend: str):
    def program(x: Any, y: Any) -> Any:
        rows, columns = tnp.arange(33)[:, None], tnp.arange(33)

        def body(state: Any) -> Any:
            i, x = state
            is_left = ~(columns <= 30) & (((rows + columns) % 2 == i % 2) & (rows == 0))
            return i + 1, tnp.where(is_left, y.T, x)

        return tenon.while_loop(lambda state: state[0] < 3, body, (0, x))[1]

    x = np.arange(33 * 33, dtype=np.int32).reshape(33, 33)
    expected = x.copy()
    expected[0, 31:] = -x.T[0, 31:]
    np.testing.assert_array_equal(tenon.jit(program, backend=backend)(x, -x), expected)

"""Concatenations of many inputs: one kernel for each part, each element computed once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects import graph
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.sched.planning.plan import PART_READS_LIMIT, concat_parts

WAYS: dict[str, dict[str, Any]] = {
    "graph": {"backend": "reference"},
    "sched": {"backend": "reference", "level": "sched"},
    "low": {"backend": "reference", "level": "low"},
    "llvm": {"backend": "llvm"},
    "opencl": {"backend": "opencl"},
}


def concat_text(extents: Sequence[int], columns: int, axis: int = 0) -> str:
    shapes = [(extent, columns) if axis == 0 else (columns, extent) for extent in extents]
    types = [f"tensor<{rows}x{width}xf32>" for rows, width in shapes]
    total = sum(extents)
    result = f"tensor<{total}x{columns}xf32>" if axis == 0 else f"tensor<{columns}x{total}xf32>"
    arguments = ", ".join(f"%a{number}: {type}" for number, type in enumerate(types))
    lines = [f"%e{n} = graph.{'neg' if n % 2 else 'abs'} %a{n} : {type}" for n, type in enumerate(types)]
    names = ", ".join(f"%e{number}" for number in range(len(types)))
    lines.append(f"%y = graph.concat {names} axis {axis} : {', '.join(types)} -> {result}")
    lines.append(f"func.return %y : {result}")
    return f"func.func @main({arguments}) -> {result} {{\n" + "\n".join(lines) + "\n}"


def parts_of(extents: Sequence[int], columns: int) -> list[tuple[int, int]]:
    module = parse_module(concat_text(extents, columns))
    (op,) = (op for op in module.walk() if isinstance(op, graph.ConcatOp))
    return concat_parts(op)


def test_small_inputs_are_one_part_and_large_ones_their_own():
    assert parts_of([1] * 64, 1) == [(0, 64)]
    assert parts_of([100, 200, 300], 100) == [(0, 100), (100, 200), (300, 300)]
    assert parts_of([2, 3, 5000, 1, 1], 4) == [(0, 5), (5, 5000), (5005, 2)]
    assert parts_of([2, 0, 3], 10000) == [(0, 2), (2, 3)]


def test_parts_are_whole_and_bounded():
    extents = [1, 7, 30, 2, 2, 900, 0, 4, 4, 4] * 20
    parts = parts_of(extents, 8)
    assert parts[0][0] == 0 and parts[-1][0] + parts[-1][1] == sum(extents)
    assert all(a + n == b for (a, n), (b, _) in pairwise(parts))
    starts = np.cumsum([0, *extents])
    for begin, extent in parts:
        inputs = sum(begin <= start < begin + extent for start in starts[:-1])
        assert inputs == 1 or inputs * extent * 8 <= PART_READS_LIMIT or 0 in extents


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("extents", [[3, 0, 5, 1], [200, 300, 1, 1, 7]], ids=["small", "large"])
def test_every_level_and_backend_concatenates(extents: list[int], axis: int, way: str):
    rng, columns = np.random.default_rng(0), 90
    shapes = [(extent, columns) if axis == 0 else (columns, extent) for extent in extents]
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    found = tenon.compile(concat_text(extents, columns, axis), **WAYS[way])(*inputs)
    wanted = np.concatenate([-x if n % 2 else abs(x) for n, x in enumerate(inputs)], axis)
    np.testing.assert_array_equal(found, wanted)


def test_a_node_is_written_in_parts():
    text = """
    graph.tnode @w : tensor<300x100xf32> = dense<0.0>
    func.func @main(%a: tensor<100x100xf32>) -> tensor<300x100xf32> {
      %w = graph.read @w : tensor<300x100xf32>
      %rest = graph.slice %w offsets [0, 0] sizes [200, 100] strides [1, 1] : tensor<300x100xf32>
      %n = graph.concat %a, %rest axis 0 : tensor<100x100xf32>, tensor<200x100xf32> -> tensor<300x100xf32>
      graph.write @w, %n : tensor<300x100xf32>
      func.return %n : tensor<300x100xf32>
    }"""
    for way in ({"backend": "reference"}, {"backend": "llvm"}):
        executable = tenon.compile(text, **way)
        first, second = (np.full((100, 100), value, np.float32) for value in (1, 2))
        executable(first)
        np.testing.assert_array_equal(
            executable(second), np.concatenate([second, first, np.zeros((100, 100), np.float32)])
        )

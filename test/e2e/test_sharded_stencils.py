"""Stencils over a mesh: the inside of a part is computed while rows are sent, with the bits of the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.compiler.all_ranks import AllRanks, compiled_call, partitioned_for_all
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.steps.borders.split_halos import SplitHalosPass
from tenon.runtime.timeline.timeline import record_timeline
from tenon.semantics.ranks.local_world import LocalWorld
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

from .sharded_programs import Array, entry_of, grid, split

SHAPE = (21, 17, 5)

TYPE = "tensor<21x17x5xf32>"


def shifted(name: str, source: str, dim: int, by: int) -> str:
    """Returns ops that move an array on by some rows; zeros come in."""
    low, high = [0, 0, 0], [0, 0, 0]
    offsets = [0, 0, 0]
    (low if by > 0 else high)[dim] = abs(by)
    offsets[dim] = 0 if by > 0 else abs(by)
    padded = list(SHAPE)
    padded[dim] += abs(by)
    wide = f"tensor<{'x'.join(map(str, padded))}xf32>"
    return f"""
      %{name}_p = graph.pad %{source}, %zero low {low} high {high} : {TYPE}
      %{name} = graph.slice %{name}_p offsets {offsets} sizes {list(SHAPE)} strides [1, 1, 1] : {wide}"""


def rolled(name: str, source: str, dim: int, by: int) -> str:
    """Returns ops that move an array on by some rows; those that leave it come in again."""
    extent, first, second = SHAPE[dim], list(SHAPE), list(SHAPE)
    first[dim], second[dim] = by % SHAPE[dim], extent - by % SHAPE[dim]
    offsets = [0, 0, 0]
    offsets[dim] = second[dim]
    one, other = (f"tensor<{'x'.join(map(str, sizes))}xf32>" for sizes in (first, second))
    return f"""
      %{name}_a = graph.slice %{source} offsets {offsets} sizes {first} strides [1, 1, 1] : {TYPE}
      %{name}_b = graph.slice %{source} offsets [0, 0, 0] sizes {second} strides [1, 1, 1] : {TYPE}
      %{name} = graph.concat %{name}_a, %{name}_b axis {dim} : {one}, {other} -> {TYPE}"""


def stencil(moved: Callable[[str, str, int, int], str], dims: Sequence[int], mesh: Sequence[int]) -> str:
    """Returns a time loop over the neighbours along some dims, one of them two rows away."""
    lines, total = list[str](), "x_t"
    for dim in dims:
        for by in (1, -1) if dim else (1, -2):
            name = f"n{len(lines)}"
            lines.append(moved(name, "x_t", dim, by))
            lines.append(f"%s{name} = graph.sub %{name}, %{total} : {TYPE}")
            total = f"s{name}"
    axes = [[axis] for axis in range(len(mesh))] + [[]] * (3 - len(mesh))
    body = "\n".join(lines)
    return f"""{grid(*mesh)}
      func.func @f(%x: {TYPE} {split(*axes)}) -> {TYPE} {{
        %y = graph.scan %i = 3 (%x_t = %x) : ({TYPE}) -> ({TYPE}) {{
          %zero = graph.constant dense<0.0> : tensor<f32>
          {body}
          graph.yield %{total} : {TYPE}
        }}
        func.return %y : {TYPE}
      }}"""


def ranks_of(text: str) -> AllRanks:
    module = parse_module(text)
    return partitioned_for_all(module, entry_of(module))


def numbers() -> Array:
    return np.random.default_rng(7).standard_normal(SHAPE).astype(np.float32)


def n_parts_of_kernels(module: ModuleOp) -> int:
    """Returns how many kernels are parts of others: an inside, and borders."""
    names = [op.sym_name.data for op in module.ops if isinstance(op, sched.KernelOp)]
    return sum("_inside" in name or "_border" in name for name in names)


def interpreted(world: LocalWorld, module: ModuleOp, arguments: Sequence[Array]) -> Sequence[Array]:
    return run_module(module, None, arguments, world=world)


@pytest.mark.parametrize(
    ("moved", "mesh", "n_parts"),
    [
        (shifted, (2,), [2, 2]),
        (shifted, (3,), [2, 3, 2]),
        (shifted, (2, 2), [3, 3, 3, 3]),
        (rolled, (2,), [3, 3]),
        (rolled, (3,), [3, 3, 3]),
        (rolled, (2, 2), [5, 5, 5, 5]),
    ],
)
def test_parts_of_kernels_have_the_bits_of_the_whole(
    moved: Callable[[str, str, int, int], str], mesh: tuple[int, ...], n_parts: Sequence[int]
):
    text = stencil(moved, range(3), mesh)
    ranks = ranks_of(text)
    for program in ranks.programs:
        PassManager(
            "convert-graph-to-sched,split-halos{least-elements=1},schedule-collectives,build-dependencies"
        ).run(context(), program.module)
        verify_module(parse_module(str(program.module)))
    assert [n_parts_of_kernels(program.module) for program in ranks.programs] == n_parts
    (found,) = ranks.run([numbers()], interpreted)
    assert found.tobytes() == run_module(parse_module(text), None, [numbers()])[0].tobytes()


@pytest.mark.parametrize("moved", [shifted, rolled])
def test_compiled_programs_have_the_bits_of_the_interpreter(moved: Callable[[str, str, int, int], str]):
    text = stencil(moved, range(3), (2, 2))
    (found,) = ranks_of(text).run([numbers()], compiled_call("llvm", None, {}))
    assert found.tobytes() == run_module(parse_module(text), None, [numbers()])[0].tobytes()


def test_the_inside_runs_between_what_begins_and_what_is_awaited():
    """On the timeline, in each rank's row: sends, the inside, and the borders once their rows are there."""
    text = f"""{grid(2)}
      func.func @f(%x: tensor<64x320xf32> {split([0], [])}) -> tensor<64x320xf32> {{
        %zero = graph.constant dense<0.0> : tensor<f32>
        %p = graph.pad %x, %zero low [1, 0] high [1, 0] : tensor<64x320xf32>
        %n = graph.slice %p offsets [0, 0] sizes [64, 320] strides [1, 1] : tensor<66x320xf32>
        %s = graph.slice %p offsets [2, 0] sizes [64, 320] strides [1, 1] : tensor<66x320xf32>
        %y = graph.sub %n, %s : tensor<64x320xf32>
        func.return %y : tensor<64x320xf32>
      }}"""
    x = np.ones((64, 320), np.float32)
    with record_timeline() as timeline:
        ranks_of(text).run([x], compiled_call("llvm", None, {}))
    rows: dict[object, list[str]] = {}
    for span in sorted(timeline.spans, key=lambda span: span.begin_ns):
        rows.setdefault(span.track, []).append(span.name)
    found = [names for names in rows.values() if any("_inside" in name for name in names)]
    assert len(found) == 2
    for names in found:
        begins = [number for number, name in enumerate(names) if name.startswith("begin graph.coll")]
        awaits = [number for number, name in enumerate(names) if name.startswith("await graph.coll")]
        (inside,) = [number for number, name in enumerate(names) if "_inside" in name]
        (border,) = [number for number, name in enumerate(names) if "_border" in name]
        assert len(begins) == len(awaits) == 2
        assert max(begins) < inside < min(awaits) < border


def test_an_inside_of_no_elements_is_an_error():
    with pytest.raises(PassFailedException, match="split-halos: least-elements 0 must be 1 or more"):
        SplitHalosPass(least_elements=0).apply(context(), parse_module(""))

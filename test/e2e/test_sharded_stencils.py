"""Stencils over a mesh: the inside of a part is computed while rows are sent, with the bits of the whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.compiler.all_ranks import AllRanks, compiled_call, partitioned_for_all
from tenon.dialects import context, graph, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.steps.borders.split_halos import SplitHalosPass
from tenon.runtime.timeline.timeline import record_timeline
from tenon.semantics.ranks.local_world import LocalWorld
from tenon.semantics.traffic import sent_nbytes, traffic_of
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


def box(extents: Sequence[int], mesh: Sequence[int], steps: int = 1) -> str:
    """Returns a time loop over all neighbours, those across edges and corners too; zeros lie around."""
    type, rank = f"tensor<{'x'.join(map(str, extents))}xf32>", len(extents)
    wide = f"tensor<{'x'.join(str(extent + 2) for extent in extents)}xf32>"
    lines = list[str]()
    for number, offsets in enumerate(product(range(3), repeat=rank)):
        sizes = f"sizes {list(extents)} strides {[1] * rank}"
        lines.append(f"%n{number} = graph.slice %p offsets {list(offsets)} {sizes} : {wide}")
        lines.append(f"%s{number} = graph.sub %n{number}, {f'%s{number - 1}' if number else '%x_t'} : {type}")
    axes = [[axis] for axis in range(len(mesh))] + [[]] * (rank - len(mesh))
    body = "\n".join(lines)
    return f"""{grid(*mesh)}
      func.func @f(%x: {type} {split(*axes)}) -> ({type} {split(*axes)}) {{
        %y = graph.scan %i = {steps} (%x_t = %x) : ({type}) -> ({type}) {{
          %zero = graph.constant dense<0.0> : tensor<f32>
          %p = graph.pad %x_t, %zero low {[1] * rank} high {[1] * rank} : {type}
          {body}
          graph.yield %s{3**rank - 1} : {type}
        }}
        func.return %y : {type}
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


@pytest.mark.parametrize(
    ("extents", "mesh"),
    [
        ((16, 12), (2, 2)),
        ((17, 13), (3, 3)),
        ((10, 8, 5), (2, 2)),
        ((8, 7, 6), (2, 2, 2)),
        ((24, 4, 10), (3, 1, 2)),
    ],
)
def test_boxes_have_the_bits_of_the_whole_and_send_corners_once(
    extents: tuple[int, ...], mesh: tuple[int, ...]
):
    text = box(extents, mesh, 2)
    ranks, x = ranks_of(text), np.random.default_rng(1).standard_normal(extents).astype(np.float32)
    coordinates = list(product(*map(range, mesh)))
    for program, place in zip(ranks.programs, coordinates, strict=True):
        kinds = [each.kind for each in traffic_of(program.module)]
        assert kinds == ["collective_permute"] * sum(2 if count > 2 else 1 for count in mesh if count > 1)
        # What is sent is as much as the others lack: faces, edges and corners, each to one neighbour.
        local, more = [], []
        for extent, count, at in zip(extents, (*mesh, *[1] * 3), (*place, *[0] * 3), strict=False):
            local.append(extent // count + (at < extent % count))
            more.append(local[-1] + (at > 0) + (at < count - 1))
        if all(extent % count == 0 for extent, count in zip(extents, mesh, strict=False)):
            assert sent_nbytes(program.module) == 2 * 4 * (prod(more) - prod(local))
    (found,) = ranks.run([x], compiled_call("llvm", None, {}))
    expected = run_module(parse_module(text), None, [x])[0]
    assert found.tobytes() == expected.tobytes()
    for program in ranks.programs:
        PassManager(
            "convert-graph-to-sched,split-halos{least-elements=1},schedule-collectives,build-dependencies"
        ).run(context(), program.module)
        verify_module(parse_module(str(program.module)))
        # Those of the box, and those of the columns that are sent.
        assert n_parts_of_kernels(program.module) >= 3
    (found,) = ranks.run([x], interpreted)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("extents", "mesh"), [((256, 256), (2, 2)), ((48, 40, 40), (2, 2, 2))])
def test_the_inside_of_a_box_runs_while_rows_are_sent(extents: tuple[int, ...], mesh: tuple[int, ...]):
    x = np.ones(extents, np.float32)
    with record_timeline() as timeline:
        ranks_of(box(extents, mesh)).run([x], compiled_call("llvm", None, {}))
    rows: dict[object, list[str]] = {}
    for span in sorted(timeline.spans, key=lambda span: span.begin_ns):
        rows.setdefault(span.track, []).append(span.name)
    found = [names for names in rows.values() if any("_inside" in name for name in names)]
    assert len(found) == prod(mesh)
    for names in found:
        begins = [number for number, name in enumerate(names) if name.startswith("begin graph.coll")]
        awaits = [number for number, name in enumerate(names) if name.startswith("await graph.coll")]
        (inside,) = [number for number, name in enumerate(names) if "_inside" in name]
        borders = [number for number, name in enumerate(names) if "_border" in name]
        assert len(begins) == len(awaits) == len(mesh)
        # Columns go out once the rows are there that their corners come with.
        assert begins[0] < inside < awaits[0] < begins[1] < max(awaits) < min(borders)


@pytest.mark.parametrize("mesh", [(2,), (3,), (1, 2)])
def test_what_a_box_along_one_axis_pads_is_one_array(mesh: tuple[int, ...]):
    text = box((42, 40, 30), mesh, 2)
    ranks, x = ranks_of(text), np.random.default_rng(1).standard_normal((42, 40, 30)).astype(np.float32)
    for program in ranks.programs:
        assert sum(isinstance(op, graph.PadOp) for op in program.module.walk()) == 1
    with record_timeline() as timeline:
        (found,) = ranks.run([x], compiled_call("llvm", None, {}))
    assert found.tobytes() == run_module(parse_module(text), None, [x])[0].tobytes()
    rows: dict[object, list[str]] = {}
    for span in sorted(timeline.spans, key=lambda span: span.begin_ns):
        rows.setdefault(span.track, []).append(span.name)
    found_rows = [names for names in rows.values() if any("_inside" in name for name in names)]
    assert len(found_rows) == prod(mesh)
    for names in found_rows:
        (begin, *_) = [number for number, name in enumerate(names) if name.startswith("begin graph.coll")]
        (wait, *_) = [number for number, name in enumerate(names) if name.startswith("await graph.coll")]
        insides = [number for number, name in enumerate(names) if "_inside" in name]
        assert begin < min(insides) < wait


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


def test_padded_arrays_are_joined_where_fusion_makes_arrays_of_them():
    from tenon.passes.sched.planning.fusion_rules import RECOMPUTE_LIMIT
    from tenon.passes.sharding.halos import MOST_READS

    assert MOST_READS == RECOMPUTE_LIMIT

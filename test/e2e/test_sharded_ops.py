"""Each kind of op over a mesh, of uneven extents, on 1 to 6 ranks: results and what is communicated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tenon.dialects import graph
from tenon.errors import TenonError
from xdsl.dialects.builtin import ModuleOp

from .sharded_programs import Array, compare, grid, propagated, split

RANKS = (1, 2, 3, 4, 6)

PRODUCT = (
    "maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"
)


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(3).standard_normal(shape).astype(dtype)


def kinds(module: ModuleOp) -> dict[str, int]:
    """Returns how many collectives of each kind a program has."""
    found = [op.name.removeprefix("graph.") for op in module.walk() if isinstance(op, graph.CollectiveOp)]
    return dict(Counter(found))


def check(mesh: Sequence[int], function: str, *inputs: Array, rtol: float = 2e-5) -> dict[str, int]:
    """Compares a function over a mesh with itself on one rank, and returns the collectives of rank 0."""
    return kinds(compare(f"{grid(*mesh)}\n{function}", inputs, rtol=rtol)[0])


def moved(op: str, before: str, after: str, sharding: str) -> str:
    """Returns a function of one op."""
    return f"func.func @f(%x: {before} {sharding}) -> {after} {{\n  {op}\n  func.return %y : {after}\n}}"


ROWS = split([0], [])

VIEWS = {
    "slice": ("%y = graph.slice %x offsets [2, 1] sizes [9, 3] strides [1, 1] : tensor<13x5xf32>", "9x3"),
    "every third": (
        "%y = graph.slice %x offsets [1, 0] sizes [4, 5] strides [3, 1] : tensor<13x5xf32>",
        "4x5",
    ),
    "one row": ("%y = graph.slice %x offsets [7, 0] sizes [1, 5] strides [1, 1] : tensor<13x5xf32>", "1x5"),
    "flip": ("%y = graph.flip %x axes [0, 1] : tensor<13x5xf32>", "13x5"),
    "pad": ("%y = graph.pad %x, %v low [9, 1] high [2, 0] : tensor<13x5xf32>", "24x6"),
    "interior": ("%y = graph.pad %x, %v low [1, 0] high [2, 0] interior [2, 1] : tensor<13x5xf32>", "40x9"),
    "edge": ("%y = graph.pad_with edge %x low [2, 1] high [3, 0] : tensor<13x5xf32>", "18x6"),
    "reflect": ("%y = graph.pad_with reflect %x low [2, 1] high [14, 0] : tensor<13x5xf32>", "29x6"),
    "symmetric": ("%y = graph.pad_with symmetric %x low [2, 1] high [14, 0] : tensor<13x5xf32>", "29x6"),
    "wrap": ("%y = graph.pad_with wrap %x low [15, 1] high [3, 0] : tensor<13x5xf32>", "31x6"),
    "concat": (
        "%e = graph.exp %x : tensor<13x5xf32>\n"
        "  %y = graph.concat %x, %e axis 0 : tensor<13x5xf32>, tensor<13x5xf32> -> tensor<26x5xf32>",
        "26x5",
    ),
    "permute": ("%y = graph.permute %x [1, 0] : tensor<13x5xf32>", "5x13"),
    "flat": ("%y = graph.reshape %x : tensor<13x5xf32> -> tensor<65xf32>", "65"),
    "refolded": ("%y = graph.reshape %x : tensor<13x5xf32> -> tensor<5x13xf32>", "5x13"),
    "unit dims": ("%y = graph.reshape %x : tensor<13x5xf32> -> tensor<1x13x1x5xf32>", "1x13x1x5"),
    "broadcast": ("%y = graph.broadcast %x : tensor<13x5xf32> -> tensor<2x13x5xf32>", "2x13x5"),
    "running sum": ("%y = graph.cumulate add %x axis 0 : tensor<13x5xf32>", "13x5"),
    "running max": ("%y = graph.cumulate max %x axis 0 reverse exclusive : tensor<13x5xf32>", "13x5"),
    "running product": ("%y = graph.cumulate mul %x axis 0 exclusive : tensor<13x5xf32>", "13x5"),
    "sorted rows": ("%y = graph.sort %x axis 1 descending : tensor<13x5xf32>", "13x5"),
}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", VIEWS)
def test_rows_are_moved_as_on_one_rank(name: str, ranks: int):
    op, after = VIEWS[name]
    constant = "%v = graph.constant dense<0.5> : tensor<f32>\n  "
    found = check(
        (ranks,), moved(constant + op, "tensor<13x5xf32>", f"tensor<{after}xf32>", ROWS), numbers(13, 5)
    )
    assert ranks > 1 or not found


@pytest.mark.parametrize("ranks", [2, 3, 4, 6])
def test_a_stencil_of_slices_sends_one_row_to_each_neighbour(ranks: int):
    found = check(
        (ranks,),
        f"""func.func @f(%x: tensor<13x5xf32> {ROWS}) -> tensor<13x5xf32> {{
          %v = graph.constant dense<0.5> : tensor<f32>
          %p = graph.pad %x, %v low [1, 0] high [1, 0] : tensor<13x5xf32>
          %a = graph.slice %p offsets [0, 0] sizes [13, 5] strides [1, 1] : tensor<15x5xf32>
          %b = graph.slice %p offsets [2, 0] sizes [13, 5] strides [1, 1] : tensor<15x5xf32>
          %y = graph.sub %a, %b : tensor<13x5xf32>
          func.return %y : tensor<13x5xf32>
        }}""",
        numbers(13, 5),
    )
    assert found == {"collective_permute": 2}


@pytest.mark.parametrize("ranks", RANKS)
def test_a_roll_sends_the_rows_that_it_moves_on(ranks: int):
    found = check(
        (ranks,),
        f"""func.func @f(%x: tensor<13x5xf32> {ROWS}) -> tensor<13x5xf32> {{
          %a = graph.slice %x offsets [11, 0] sizes [2, 5] strides [1, 1] : tensor<13x5xf32>
          %b = graph.slice %x offsets [0, 0] sizes [11, 5] strides [1, 1] : tensor<13x5xf32>
          %c = graph.concat %a, %b axis 0 : tensor<2x5xf32>, tensor<11x5xf32> -> tensor<13x5xf32>
          %y = graph.sub %x, %c : tensor<13x5xf32>
          func.return %y : tensor<13x5xf32>
        }}""",
        numbers(13, 5),
    )
    assert set(found) <= {"collective_permute"}


@pytest.mark.parametrize("mesh", [(1,), (2,), (3,), (4,), (2, 2), (2, 3)])
@pytest.mark.parametrize(("step", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_convolutions_fetch_what_their_windows_read(mesh: tuple[int, ...], step: int, dilation: int):
    columns = [1] if len(mesh) > 1 else []
    heights = (16 - 1 - 2 * dilation) // step + 1, (14 - 1 - 2 * dilation) // step + 1
    bounds = [*heights, 4, 3, 3, 2]
    result = f"tensor<{heights[0]}x{heights[1]}x4xf32>"
    maps = (
        f"affine_map<(i, j, o, k, l, c) -> (i * {step} + k * {dilation}, j * {step} + l * {dilation}, c)>, "
        "affine_map<(i, j, o, k, l, c) -> (k, l, c, o)>, affine_map<(i, j, o, k, l, c) -> (i, j, o)>"
    )
    found = check(
        mesh,
        f"""func.func @f(%x: tensor<15x13x2xf32> {split([0], columns, [])}, %w: tensor<3x3x2x4xf32>)
            -> {result} {{
          %v = graph.constant dense<0.0> : tensor<f32>
          %p = graph.pad %x, %v low [1, 1, 0] high [0, 0, 0] : tensor<15x13x2xf32>
          %y = graph.contract %p, %w maps [{maps}] bounds {bounds}
            : tensor<16x14x2xf32>, tensor<3x3x2x4xf32> -> {result}
          func.return %y : {result}
        }}""",
        numbers(15, 13, 2),
        numbers(3, 3, 2, 4),
    )
    assert set(found) <= {"collective_permute"}


@pytest.mark.parametrize("ranks", RANKS)
def test_windows_are_reduced_in_any_kind(ranks: int):
    maps = "affine_map<(i, j, k) -> (i * 2 + k, j)>, affine_map<(i, j, k) -> (i, j)>"
    words = f"maps [{maps}] bounds [6, 5, 3] accumulate max"
    op = f"%y = graph.contract %x {words} : tensor<13x5xf32> -> tensor<6x5xf32>"
    check((ranks,), moved(op, "tensor<13x5xf32>", "tensor<6x5xf32>", ROWS), numbers(13, 5))


SPLITS = {
    "rows": (([0], []), ([], []), ([0], [])),
    "columns": (([], []), ([], [0]), ([], [0])),
    "inner": (([], [0]), ([0], []), ([], [])),
    "scattered": (([], [0]), ([0], []), ([0], [])),
    "two dims": (([0], [1]), ([0], [1]), ([0], [1])),
    "nested": (([0, 1], []), ([], []), ([0], [1])),
    "turned": (([1], [0]), ([1], []), ([0], [1])),
}


@pytest.mark.parametrize("mesh", [(2, 2), (2, 3), (1, 4), (3, 1)])
@pytest.mark.parametrize("name", SPLITS)
def test_products_over_two_dims_of_the_mesh(name: str, mesh: tuple[int, ...]):
    a, b, c = (split(*dims) for dims in SPLITS[name])
    check(
        mesh,
        f"""func.func @f(%a: tensor<7x9xf32> {a}, %b: tensor<9x8xf32> {b}) -> (tensor<7x8xf32> {c}) {{
          %c = graph.contract %a, %b {PRODUCT} : tensor<7x9xf32>, tensor<9x8xf32> -> tensor<7x8xf32>
          func.return %c : tensor<7x8xf32>
        }}""",
        numbers(7, 9),
        numbers(9, 8),
    )


@pytest.mark.parametrize(
    ("type", "dtype"), [("f32", np.float32), ("f16", np.float16), ("i8", np.int8), ("f64", np.float64)]
)
@pytest.mark.parametrize("kind", ["add", "mul", "max", "min"])
def test_reductions_of_each_type_over_what_is_split(kind: str, type: str, dtype: Any):
    op = f"%y = graph.reduce {kind} %x axes [1] : tensor<3x7x{type}> -> tensor<3x{type}>"
    array = (numbers(3, 7) * 2).astype(dtype)
    array[0, :] = -0.0
    found = check(
        (3,), moved(op, f"tensor<3x7x{type}>", f"tensor<3x{type}>", split([], [0])), array, rtol=1e-3
    )
    assert found == {"all_reduce": 1}


def test_sums_of_narrow_floats_are_rounded_once():
    """Rounded between the ranks, 1 is lost beside 2048 twice."""
    array = np.array([[2048, 1, 1]], np.float16)
    op = "%y = graph.reduce add %x axes [1] : tensor<1x3xf16> -> tensor<1xf16>"
    check((3,), moved(op, "tensor<1x3xf16>", "tensor<1xf16>", split([], [0])), array, rtol=0)


def test_reductions_of_booleans():
    array = np.array([[False, False, True], [False, False, False]])
    for kind in ("or", "and"):
        op = f"%y = graph.reduce {kind} %x axes [1] : tensor<2x3xi1> -> tensor<2xi1>"
        check((3,), moved(op, "tensor<2x3xi1>", "tensor<2xi1>", split([], [0])), array)


@pytest.mark.parametrize("ranks", RANKS)
def test_softmax_and_norms_and_places_over_a_split_axis(ranks: int):
    check(
        (ranks,),
        f"""func.func @f(%x: tensor<7x9xf32> {split([], [0])})
            -> (tensor<7x9xf32>, tensor<7xi64>, tensor<7xf32>, tensor<7x9xf32>) {{
          %m = graph.reduce max %x axes [1] keep : tensor<7x9xf32> -> tensor<7x1xf32>
          %mb = graph.broadcast %m : tensor<7x1xf32> -> tensor<7x9xf32>
          %d = graph.sub %x, %mb : tensor<7x9xf32>
          %e = graph.exp %d : tensor<7x9xf32>
          %s = graph.reduce add %e axes [1] keep : tensor<7x9xf32> -> tensor<7x1xf32>
          %sb = graph.broadcast %s : tensor<7x1xf32> -> tensor<7x9xf32>
          %q = graph.div %e, %sb : tensor<7x9xf32>
          %a = graph.arg_reduce max %x axis 1 : tensor<7x9xf32> -> tensor<7xi64>
          %l = graph.logsumexp %x axes [1] : tensor<7x9xf32> -> tensor<7xf32>
          %x2 = graph.mul %x, %x : tensor<7x9xf32>
          %n = graph.reduce add %x2 axes [1] keep : tensor<7x9xf32> -> tensor<7x1xf32>
          %r = graph.rsqrt %n : tensor<7x1xf32>
          %rb = graph.broadcast %r : tensor<7x1xf32> -> tensor<7x9xf32>
          %u = graph.mul %x, %rb : tensor<7x9xf32>
          func.return %q, %a, %l, %u : tensor<7x9xf32>, tensor<7xi64>, tensor<7xf32>, tensor<7x9xf32>
        }}""",
        numbers(7, 9),
    )


INDICES = [3, -1, 8, 40, 3, 0, 7]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("type", "dtype"), [("i32", np.int32), ("ui64", np.uint64), ("i8", np.int8)])
def test_gathers_and_scatters_along_what_is_split(type: str, dtype: Any, ranks: int):
    index = np.array(INDICES).astype(dtype)
    types = f"tensor<9x5xf32>[tensor<7x{type}>]"
    scatters = "\n".join(
        f"%{kind} = graph.scatter {kind} %x[%i], %u axes [0] : {types}, tensor<7x5xf32>"
        for kind in ("set", "add", "mul", "max", "min")
    )
    check(
        (ranks,),
        f"""func.func @f(%x: tensor<9x5xf32> {ROWS}, %i: tensor<7x{type}>, %u: tensor<7x5xf32>)
            -> (tensor<7x5xf32>, tensor<9x5xf32>, tensor<9x5xf32>, tensor<9x5xf32>, tensor<9x5xf32>,
            tensor<9x5xf32>) {{
          %g = graph.gather %x[%i] axes [0] : {types} -> tensor<7x5xf32>
          {scatters}
          func.return %g, %set, %add, %mul, %max, %min : tensor<7x5xf32>, tensor<9x5xf32>, tensor<9x5xf32>,
            tensor<9x5xf32>, tensor<9x5xf32>, tensor<9x5xf32>
        }}""",
        numbers(9, 5),
        index,
        numbers(7, 5),
    )


@pytest.mark.parametrize("mesh", [(2,), (3,), (2, 2), (2, 3)])
def test_updates_that_are_split_are_combined(mesh: tuple[int, ...]):
    """The gradient of an embedding: rows of a batch that is split, added to a table."""
    table = split([1] if len(mesh) > 1 else [], [])
    index = np.resize(np.array(INDICES, np.int32), 60)
    for kind in ("add", "mul", "max", "min"):
        found = check(
            mesh,
            f"""func.func @f(%x: tensor<9x5xf32> {table}, %i: tensor<60xi32> {split([0])},
                %u: tensor<60x5xf32> {ROWS}) -> (tensor<9x5xf32> {table}) {{
              %y = graph.scatter {kind} %x[%i], %u axes [0]
                : tensor<9x5xf32>[tensor<60xi32>], tensor<60x5xf32>
              func.return %y : tensor<9x5xf32>
            }}""",
            numbers(9, 5),
            index,
            numbers(60, 5),
        )
        assert found == {"all_reduce": 1}


def test_gathered_bits_are_those_of_the_source():
    """Signs of zeros and the payload of a NaN."""
    array = np.array([[-0.0], [0.0], [np.nan], [-np.inf]], np.float32)
    array.view(np.uint32)[2] |= 5
    check(
        (2,),
        f"""func.func @f(%x: tensor<4x1xf32> {ROWS}, %i: tensor<4xi64>) -> tensor<4x1xui32> {{
          %g = graph.gather %x[%i] axes [0] : tensor<4x1xf32>[tensor<4xi64>] -> tensor<4x1xf32>
          %y = graph.bitcast %g : tensor<4x1xf32> -> tensor<4x1xui32>
          func.return %y : tensor<4x1xui32>
        }}""",
        array,
        np.arange(4),
    )


@pytest.mark.parametrize("mesh", [(1,), (2,), (3,), (2, 2), (3, 2), (6,)])
@pytest.mark.parametrize("start", [-3, 0, 4, 7, 100])
def test_boxes_at_values_along_what_is_split(mesh: tuple[int, ...], start: int):
    both = split([0], [1] if len(mesh) > 1 else [])
    starts = "[tensor<i32>, tensor<i32>]"
    check(
        mesh,
        f"""func.func @f(%x: tensor<9x6xf32> {both}, %s: tensor<i32>, %u: tensor<2x3xf32>,
            %r: tensor<1x6xf32>)
            -> (tensor<2x3xf32>, tensor<9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>, tensor<9x6xf32>) {{
          %c = graph.dynamic_slice %x[%s, %s] sizes [2, 3] : tensor<9x6xf32>{starts}
          %d = graph.dynamic_update %x[%s, %s], %u : tensor<9x6xf32>{starts}, tensor<2x3xf32>
          %e = graph.dynamic_update %x[%s, %s], %r : tensor<9x6xf32>{starts}, tensor<1x6xf32>
          %k = graph.constant dense<4> : tensor<i32>
          %h = graph.dynamic_update %x[%k, %s], %u : tensor<9x6xf32>{starts}, tensor<2x3xf32>
          %w = graph.dynamic_update %x[%s, %k], %u strides [3, 2] : tensor<9x6xf32>{starts}, tensor<2x3xf32>
          func.return %c, %d, %e, %h, %w : tensor<2x3xf32>, tensor<9x6xf32>, tensor<9x6xf32>,
            tensor<9x6xf32>, tensor<9x6xf32>
        }}""",
        numbers(9, 6),
        np.array(start, np.int32),
        numbers(2, 3),
        numbers(1, 6),
    )


def test_the_inside_of_an_array_is_updated_by_those_that_have_it():
    """What borders keep: only rows at the borders of the parts are sent."""
    found = check(
        (3,),
        f"""func.func @f(%x: tensor<9x4xf32> {ROWS}, %u: tensor<7x4xf32> {ROWS}) -> tensor<9x4xf32> {{
          %one = graph.constant dense<1> : tensor<i32>
          %zero = graph.constant dense<0> : tensor<i32>
          %y = graph.dynamic_update %x[%one, %zero], %u
            : tensor<9x4xf32>[tensor<i32>, tensor<i32>], tensor<7x4xf32>
          func.return %y : tensor<9x4xf32>
        }}""",
        numbers(9, 4),
        numbers(7, 4),
    )
    assert set(found) == {"collective_permute"}


@pytest.mark.parametrize("mesh", [(2, 2), (2, 3), (6,)])
def test_splits_move_between_dims(mesh: tuple[int, ...]):
    two = len(mesh) > 1
    ways = [split([0], []), split([], [0]), split([], [])]
    if two:
        ways += [split([0], [1]), split([1], [0]), split([0, 1], []), split([1, 0], []), split([], [1, 0])]
    for before in ways:
        types = ", ".join(f"tensor<13x12xf32> {after}" for after in ways)
        values = ", ".join(f"%y{n}" for n in range(len(ways)))
        lines = "\n".join(f"%y{n} = graph.neg %x : tensor<13x12xf32>" for n in range(len(ways)))
        plain = ", ".join(["tensor<13x12xf32>"] * len(ways))
        check(
            mesh,
            f"func.func @f(%x: tensor<13x12xf32> {before}) -> ({types}) {{\n{lines}\n"
            f"func.return {values} : {plain}\n}}",
            numbers(13, 12),
        )


@pytest.mark.parametrize("ranks", RANKS)
def test_random_numbers_are_those_of_one_rank(ranks: int):
    found = check(
        (ranks,),
        f"""func.func @f(%k: tensor<4xui32>) -> (tensor<4x13xui32> {split([], [0])}) {{
          %i = graph.iota axis 1 : tensor<4x13xui32>
          %y = graph.threefry %k, %i rounds 20 : tensor<4xui32>, tensor<4x13xui32>
          func.return %y : tensor<4x13xui32>
        }}""",
        np.arange(4, dtype=np.uint32),
    )
    assert not found


@pytest.mark.parametrize("type", ["f16", "bf16", "i8", "ui8", "f8E5M2"])
def test_indices_of_narrow_types_are_those_of_one_rank(type: str):
    check(
        (3,),
        f"""func.func @f() -> (tensor<700x{type}> {split([0])}) {{
          %y = graph.iota axis 0 : tensor<700x{type}>
          func.return %y : tensor<700x{type}>
        }}""",
        rtol=0,
    )


@pytest.mark.parametrize("mesh", [(1,), (2,), (3,), (2, 2), (2, 3)])
def test_loops_and_branches_carry_what_is_split(mesh: tuple[int, ...]):
    columns = [1] if len(mesh) > 1 else []
    type = "tensor<9x12xf32>"
    check(
        mesh,
        f"""func.func @f(%x: {type} {split([0], columns)}, %n0: tensor<i32>, %f: tensor<i1>,
            %rows: tensor<4x9x12xf32> {split([], [0], [])})
            -> ({type}, {type}, {type}, tensor<4x9xf32> {split([0], [])}, tensor<i32>) {{
          %y = graph.if %f -> ({type}) {{
            %e = graph.exp %x : {type}
            graph.yield %e : {type}
          }} else {{
            graph.yield %x : {type}
          }}
          %one = graph.constant dense<1> : tensor<i32>
          %ten = graph.constant dense<5> : tensor<i32>
          %n, %z = graph.while (%i = %n0, %a = %x) : (tensor<i32>, {type}) {{
            %more = graph.lt %i, %ten : tensor<i32>
            graph.condition %more
          }} do (%j, %b) {{
            %next = graph.add %j, %one : tensor<i32>
            %back = graph.flip %b axes [0] : {type}
            %t = graph.add %back, %x : {type}
            graph.yield %next, %t : tensor<i32>, {type}
          }}
          %s, %st = graph.scan %i = 4 reverse (%c = %x) over (%r = %rows)
              : ({type}, tensor<4x9x12xf32>) -> ({type}, tensor<4x9xf32>) {{
            %cc = graph.add %c, %r : {type}
            %w = graph.reduce add %cc axes [1] : {type} -> tensor<9xf32>
            graph.yield %cc, %w : {type}, tensor<9xf32>
          }}
          func.return %y, %z, %s, %st, %n : {type}, {type}, {type}, tensor<4x9xf32>, tensor<i32>
        }}""",
        numbers(9, 12),
        np.array(1, np.int32),
        np.array(True),
        numbers(4, 9, 12),
    )


def test_what_a_loop_reads_from_outside_is_fetched_once():
    module = compare(
        f"""{grid(2)}
        func.func @f(%x: tensor<6x4xf32> {split([], [0])}, %w: tensor<4x4xf32> {ROWS}) -> tensor<6x4xf32> {{
          %y = graph.scan %i = 3 (%c = %x) : (tensor<6x4xf32>) -> (tensor<6x4xf32>) {{
            %n = graph.contract %c, %w {PRODUCT} : tensor<6x4xf32>, tensor<4x4xf32> -> tensor<6x4xf32>
            graph.yield %n : tensor<6x4xf32>
          }}
          func.return %y : tensor<6x4xf32>
        }}""",
        [numbers(6, 4), numbers(4, 4)],
    )[0]
    inside = [
        op.name
        for loop in module.walk()
        if isinstance(loop, graph.ScanOp)
        for op in loop.walk()
        if isinstance(op, graph.CollectiveOp)
    ]
    assert "graph.all_gather" not in inside or len(inside) == 1


def test_an_op_that_needs_all_of_a_dim_is_named_or_gathers():
    flat = "%y = graph.reshape %x : tensor<4x9xf32> -> tensor<36xf32>"
    text = f"{grid(3)}\n" + moved(flat, "tensor<4x9xf32>", "tensor<36xf32>", split([], [0]))
    with pytest.raises(TenonError, match=r"graph.reshape: dim 1 of operand 0 is split over axes x"):
        propagated(text)
    modules = compare(text, [numbers(4, 9)], allow_gather=True)
    assert kinds(modules[0]) == {"all_gather": 1}

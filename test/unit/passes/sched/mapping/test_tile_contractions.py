"""Default schedules of contractions: which axes are tiles, in what order, and that no bit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.backends.reference.kernels import sched as interpreter
from tenon.dialects import context, low, sched
from tenon.dialects.low.prefetch import prefetch_distance, prefetch_level
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.passes.machine.target import usual_registers
from tenon.passes.machine.tile_shape import most_rows, most_vectors, tile_shape
from tenon.passes.pass_manager import PassError, PassManager
from tenon.passes.sched.mapping.contractions.tile_contractions import TileContractionsPass
from tenon.test.unit.contractions import matmul
from tenon.test.unit.storage_dtypes import DTYPES
from xdsl.dialects import memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i64

Array = npt.NDArray[Any]

NEST = """sched.kernel @k(%a: memref<{a}xf32>, %b: memref<{b}xf32>, %c: memref<{c}xf32>) {{
  sched.axis %h = {h} {{
    sched.axis %i = {i} {{
      sched.axis %j = {j} {{
        %s = sched.reduce fma %k = {k} : f32 {{
          %x = memref.load %a[{x}] : memref<{a}xf32>
          %y = memref.load %b[{y}] : memref<{b}xf32>
          sched.yield %x, %y : f32
        }}
        {follows}
        memref.store {stored}, %c[{z}] : memref<{c}xf32>
      }}
    }}
  }}
}}"""


def nest(x: str, y: str, z: str = "hij", follows: str = "", **sizes: int) -> str:
    """A sum of products of %a and %b at indices with these names; `z` are those of what is stored."""
    extents = {"h": 3, "i": 40, "j": 50, "k": 20} | sizes

    def shape(names: str) -> str:
        return "x".join(str(extents[name]) for name in names)

    return NEST.format(
        a=shape(x),
        b=shape(y),
        c=shape(z),
        x=", ".join(f"%{name}" for name in x),
        y=", ".join(f"%{name}" for name in y),
        z=", ".join(f"%{name}" for name in z),
        follows=follows,
        stored="%r" if follows else "%s",
        **extents,
    )


def tiled(text: str, **options: int) -> ModuleOp:
    module = parse_module(text)
    options = {"vector_nbytes": 64} | options
    PassManager([TileContractionsPass(**options)]).run(context(), module)
    verify_module(module)
    return module


def axes(module: ModuleOp) -> list[str]:
    """The loops of a kernel, outermost first, as `name: mapping`."""
    found = (op for op in module.walk() if isinstance(op, sched.AxisOp | sched.ReduceOp))
    return [f"{op.index.name_hint}: {op.mapping.words()}".rstrip() for op in found]


def results(module: ModuleOp) -> list[Array]:
    kernel = module.body.block.first_op
    assert isinstance(kernel, sched.KernelOp)
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for argument in kernel.body.block.args:
        type = argument.type
        assert isinstance(type, MemRefType)
        arrays.append(rng.standard_normal(type.get_shape()).astype(DTYPES[str(type.element_type)]))
    interpreter.run_kernel(kernel, arrays)
    return arrays


CHOICES = {
    "rows and columns": (nest("hik", "kj"), ["h: block(3)", "i: tile(8)", "j: tile(50) vector(16)", "k:"]),
    "columns are where memory is contiguous": (
        nest("hik", "kh", h=70),
        ["j: block", "i: tile(8)", "h: tile(48)", "k:"],
    ),
    "batched": (nest("hik", "hkj"), ["h: block(3)", "i: tile(8)", "j: tile(50) vector(16)", "k:"]),
    "rows outermost": (nest("hk", "ikj"), ["i: block(40)", "h: tile(3)", "j: tile(50) vector(16)", "k:"]),
    "no rows": (nest("hik", "hikj"), ["h: block(3)", "i:", "j: tile(50) vector(16)", "k:"]),
}


@pytest.mark.parametrize("name", ["rows and columns", "batched", "rows outermost"])
def test_tiles_are_the_innermost_axes(name: str):
    text, expected = CHOICES[name]
    found = axes(tiled(text))
    assert [each.split(":")[0] for each in found] == [each.split(":")[0] for each in expected]
    assert all("tile(" in each for each in found[1:3])


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("vector_nbytes", [16, 32, 64])
def test_results_keep_their_bits(name: str, vector_nbytes: int):
    text, _ = CHOICES[name]
    for found, wanted in zip(
        results(tiled(text, vector_nbytes=vector_nbytes)), results(parse_module(text)), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_what_stands_between_axes_moves_into_the_innermost():
    text = nest("hk", "ikj").replace(
        "sched.axis %i = 40 {",
        "%p = memref.load %a[%h, %zero] : memref<3x20xf32>\n sched.axis %i = 40 {",
    )
    text = text.replace("sched.axis %h", "%zero = arith.constant 0 : index\n sched.axis %h")
    text = text.replace("memref.store %s", "%r = arith.addf %s, %p : f32\n memref.store %r")
    module = tiled(text)
    assert [each.split(":")[0] for each in axes(module)] == ["i", "h", "j", "k"]
    for found, wanted in zip(results(module), results(parse_module(text)), strict=True):
        np.testing.assert_array_equal(found, wanted)


UNTILED = {
    "few steps of the depth": nest("hik", "hjk", k=5),
    "a depth of steps in one side alone": nest("hik", "kjh", h=3),
    "no fma": nest("hik", "kj").replace("reduce fma", "reduce addf").replace("%x, %y : f32", "%x : f32"),
    "one column": nest("hik", "kj", j=1, h=2, i=2),
    "mapped already": nest("hik", "kj").replace("%h = 3", "%h = 3 block"),
    "another store on the way": nest("hik", "kj").replace(
        "sched.axis %j",
        "%z = arith.constant 0 : index\n%w = memref.load %a[%h, %i, %z] : memref<3x40x20xf32>\n"
        "memref.store %w, %c[%h, %i, %z] : memref<3x40x50xf32>\nsched.axis %j",
    ),
    "products of what is computed": nest("hik", "kj").replace(
        "sched.yield %x, %y", "%n = arith.negf %x : f32\nsched.yield %n, %y"
    ),
}


@pytest.mark.parametrize("name", UNTILED)
def test_other_nests_are_left_alone(name: str):
    module = parse_module(UNTILED[name])
    assert str(tiled(UNTILED[name])) == str(module)


def test_what_no_cache_holds_is_cut_into_chunks():
    text = nest("hik", "kj", h=1, i=512, j=512, k=512).replace("sched.axis %h = 1", "sched.axis %h = 1")
    found = axes(tiled(text, l2_nbytes=1 << 19))
    assert found[1].startswith("i: block(") and found[2].startswith("j: block(")
    deep = axes(tiled(nest("hik", "kj", h=1, i=96, j=64, k=4096), l2_nbytes=1 << 19))
    assert deep[-1] == "k: tile(512)"


def test_few_columns_are_columns_where_no_other_axis_can_be():
    assert axes(tiled(nest("hik", "kj", h=1, i=40, j=3)))[1:3] == ["i: tile(30)", "j: tile(3) vector(16)"]
    transposed = axes(tiled(nest("ki", "kj", "ij", h=1, i=100, j=3)))
    assert transposed[1:3] == ["j: tile(3)", "i: tile(100)"]


def test_few_rows_take_whole_rows_of_the_other_side():
    found = axes(tiled(nest("ik", "kj", "ij", h=1, i=8, j=1024, k=1024)))
    assert found[-1] == "k: tile(16)"
    assert axes(tiled(nest("ik", "kj", "ij", h=1, i=8, j=64, k=8192)))[-1] == "k: tile(16)"
    assert axes(tiled(nest("ik", "kj", "ij", h=1, i=8, j=32, k=8192)))[-1] == "k:"
    assert axes(tiled(nest("ik", "kj", "ij", h=1, i=8, j=1024, k=31)))[-1] == "k:"


def test_more_rows_do_so_where_the_second_cache_does_not_hold_the_other_side():
    def found(rows: int, l2_nbytes: int = 1 << 20) -> list[str]:
        text = nest("ik", "kj", "ij", h=1, i=rows, j=512, k=520)
        return axes(tiled(text, l2_nbytes=l2_nbytes, n_threads=1))[1:]

    assert found(28) == ["i: tile(14)", "j: tile(32) vector(16)", "k: tile(32)"]
    assert found(95)[-1] == "k: tile(64)"
    assert found(96)[-1] == "k:"
    assert found(28, l2_nbytes=1 << 21)[-1] == "k:"


def test_threads_share_the_columns_of_few_rows():
    def found(columns: int, n_threads: int) -> str:
        return axes(tiled(nest("ik", "kj", "ij", h=1, i=1, j=columns, k=1024), n_threads=n_threads))[-2]

    assert found(1024, 1) == "j: tile(256) vector(16)"
    assert found(1024, 2) == "j: block(512) tile(256) vector(16)"
    assert found(1024, 16) == "j: block(256) tile(256) vector(16)"
    # Half of it is sooner done than given to another thread.
    assert found(500, 2) == "j: tile(256) vector(16)"


SMALL, LARGE = 32 << 10, 48 << 10


def fetched(text: str, **sizes: int) -> tuple[int | None, int, str]:
    """Returns how far ahead the other side is fetched, into which cache, and how its columns are mapped."""
    module = tiled(text, **sizes)
    _, load = (op for op in module.walk() if isinstance(op, memref.LoadOp))
    return prefetch_distance(load), prefetch_level(load), axes(module)[-2]


@pytest.mark.parametrize("rows", [2, 8])
def test_few_rows_fetch_into_the_second_cache_where_the_first_is_small(rows: int):
    text = nest("ik", "kj", "ij", "", h=1, i=rows, j=4096, k=4096)
    # Eight rows are two rows of tiles, which take 32 steps at once.
    steps = 16 if rows == 2 else 32
    assert fetched(text, l1_nbytes=SMALL)[:2] == (32 * 4096, 2)
    assert fetched(text, l1_nbytes=SMALL + 1)[:2] == (steps * 4096, 1)


def test_one_row_fetches_what_comes_from_memory():
    def found(l3_nbytes: int, l1_nbytes: int = SMALL) -> tuple[int | None, int]:
        text = nest("ik", "kj", "ij", "", h=1, i=1, j=2048, k=2048)
        return fetched(text, l1_nbytes=l1_nbytes, l3_nbytes=l3_nbytes)[:2]

    # 16 MiB are more than half of the third cache, or are not.
    assert found((1 << 25) - 2) == (32 * 2048, 2)
    assert found(1 << 25) == (None, 1)
    assert found((1 << 25) - 2, LARGE) == (None, 1)


@pytest.mark.parametrize(
    ("n_threads", "columns", "taken"),
    [
        (1, 2040, ""),
        (2, 2040, ""),
        (4, 2040, "block(960) "),
        (4, 9600, "block(2048) "),
        (8, 2040, "block(448) "),
    ],
)
def test_what_comes_from_memory_is_read_by_long_rows(n_threads: int, columns: int, taken: str):
    text = nest("ik", "kj", "ij", h=1, i=8, j=columns, k=8192)
    sizes = {"n_threads": n_threads, "l3_nbytes": 1 << 20}
    assert fetched(text, l1_nbytes=SMALL, **sizes)[2] == f"j: {taken}tile(64) vector(16)"
    assert fetched(text, l1_nbytes=LARGE, **sizes)[2] != fetched(text, l1_nbytes=SMALL, **sizes)[2]


def test_weights_of_a_program_come_from_memory_together():
    """Two layers of 4 MiB each, or the same one sixteen times over."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((1, 1024)).astype("f4")
    layers = [rng.standard_normal((1024, 1024)).astype("f4") / 32 for _ in range(2)]

    def two(x: Any, first: Any, second: Any) -> Any:
        return tnp.tanh(x @ first) @ second

    def again(x: Any, first: Any, second: Any) -> Any:
        return tenon.fori_loop(0, 16, lambda _, x: tnp.tanh(x @ first), x) + second[0]

    def found(function: Any) -> str:
        module = parse_module(str(tenon.jit(function).lower(x, *layers).module))
        sizes = f"{{l1-nbytes={SMALL} l2-nbytes={1 << 20} l3-nbytes={1 << 23} n-threads=1}}"
        PassManager(f"graph-pipeline{sizes},sched-pipeline{sizes}").run(context(), module)
        with tenon.compile(str(module)) as executable:
            np.testing.assert_allclose(executable(x, *layers), function(x, *layers), rtol=1e-4, atol=1e-4)
        return str(module)

    assert "tenon.prefetch_level = 2" in found(two)
    assert "tenon.prefetch_level = 2" not in found(again)


def test_few_rows_leave_their_sums_in_the_second_cache():
    found = axes(tiled(nest("ik", "kj", "ij", h=1, i=90, j=4096, k=40), l2_nbytes=1 << 18))
    assert found[2] == "j: block(352) tile(32) vector(16)"


def test_what_is_read_once_from_far_away_is_fetched_ahead():
    def distances(l2_nbytes: int = 1 << 20, **sizes: int) -> list[int | None]:
        module = tiled(
            nest("ik", "kj", "ij", "", **({"h": 1, "i": 8, "j": 128, "k": 4096} | sizes)), l2_nbytes=l2_nbytes
        )
        return [prefetch_distance(op) for op in module.walk() if isinstance(op, memref.LoadOp)]

    assert distances(k=2049) == [None, 16 * 128]
    assert distances(k=2048) == [None, None]
    assert distances(k=2048, l2_nbytes=1 << 19) == [None, 16 * 128]
    assert distances(j=32, k=8193) == [None, 32 * 32]
    assert distances(j=2048, k=40) == [None, None]
    assert distances(i=1) == [None, None]
    assert distances(i=100) == [None, None]


def test_tiles_name_what_their_loads_do():
    module = tiled(nest("ik", "kj", "ij", h=1, i=8, j=40, k=30), l2_nbytes=1 << 10)
    PassManager([ConvertSchedToLowPass()]).run(context(), module)
    found = [op.ahead for op in module.walk() if isinstance(op, low.TileFmaOp)]
    assert found == [IntegerAttr(26 * 40, i64)]


PANELS = """sched.kernel @k(%a: memref<{m}x{k}xf32>, %b: memref<{n}x{k}x32xf32>,
    %c: memref<{m}x{columns}xf32>) {{
  %w = arith.constant 32 : index
  sched.axis %i = {m} {{
    sched.axis %j = {columns} {{
      %p = arith.divui %j, %w : index
      %q = arith.remui %j, %w : index
      %s = sched.reduce fma %k = {k} tile_shape [{tile}] : f32 {{
        %x = memref.load %a[%i, %k] : memref<{m}x{k}xf32>
        %y = memref.load %b[%p, %k, %q] : memref<{n}x{k}x32xf32>
        sched.yield %x, %y : f32
      }}
      EPILOGUE
      memref.store %s, %c[%i, %j] : memref<{m}x{columns}xf32>
    }}
  }}
}}"""


def panels(m: int, n: int, k: int, epilogue: str = "", tile: str = "32 in panels") -> str:
    text = PANELS.format(m=m, n=n, k=k, columns=32 * n, tile=tile)
    return text.replace("EPILOGUE", epilogue).replace("store %s", "store %r" if epilogue else "store %s")


def test_tiles_prefetch_panels_that_the_second_cache_does_not_hold():
    assert axes(tiled(panels(200, 20, 200))) == [
        "i: block(56) tile(14)",
        "j: block(160) tile(32) vector(16)",
        "k:",
    ]
    assert axes(tiled(panels(200, 20, 200), l2_nbytes=1 << 19)) == [
        "i: block(210) tile(14) prefetch",
        "j: block(32) tile(32) prefetch vector(16)",
        "k:",
    ]
    # One row of tiles reads each panel once.
    assert "prefetch" not in str(axes(tiled(panels(8, 200, 200))))


def named_panels(n: int, k: int) -> str:
    text = panels(1, n, k)
    for columns in (k, 32 * n):
        text = text.replace(
            f"memref<1x{columns}xf32>", f"memref<?x{columns}xf32, {{dims = #graph.dims<n, {columns}>}}>"
        )
    text = text.replace("@k(", "@k(%n: index, ").replace("xf32>) {", "xf32>) dims [n] {")
    text = text.replace("}>) {", "}>) dims [n] {").replace("%i = 1 {", "%i = n {")
    return f"builtin.module {{ graph.dim @n min 1 max 512 {text} }}"


def test_few_rows_fetch_their_panels_ahead() -> None:
    def distance(text: str) -> int | None:
        found = [prefetch_distance(op) for op in tiled(text).walk() if isinstance(op, memref.LoadOp)]
        assert found[0] is None
        return found[1]

    ahead = 32 * 32
    assert [distance(panels(rows, 20, 40)) for rows in (2, 14, 15, 27)] == [ahead] * 4
    # Two rows of tiles fetch for one another, and one row alone leaves more under way.
    assert [distance(panels(rows, 20, 40)) for rows in (1, 28, 200)] == [None] * 3
    assert distance(named_panels(20, 40)) == ahead
    # Where the first cache is small, few rows fetch theirs into the second one.
    for text, found in (
        (panels(2, 20, 40), (16, 2)),
        (panels(14, 20, 40), (32, 1)),
        (named_panels(20, 40), (24, 2)),
    ):
        assert fetched(text, l1_nbytes=SMALL)[:2] == (found[0] * 32, found[1])
    # One row of a number that varies fetches nothing of what the third cache holds.
    near, far = {"l1_nbytes": SMALL}, {"l1_nbytes": SMALL, "l3_nbytes": 1 << 17}
    assert fetched(named_panels(20, 40), **far)[:2] == (24 * 32, 2)
    assert "tenon.prefetch_rows" not in str(tiled(named_panels(20, 40), **far))
    assert "tenon.prefetch_rows = 2" in str(tiled(named_panels(20, 40), **near))
    assert "tenon.prefetch_rows" not in str(tiled(named_panels(20, 40), l1_nbytes=LARGE))
    assert "tenon.prefetch_rows" not in str(tiled(panels(2, 20, 40), **near))
    # Between them tiles fetch the next panel too, where the second cache does not hold all of them.
    assert "prefetch" not in str(axes(tiled(named_panels(20, 40))))
    # Of 16, 20 or 24 rows, and of any other multiple of 4, none is computed twice.
    assert "i: block(516) tile(12) prefetch" in axes(tiled(named_panels(200, 200)))
    assert "i: block(210) tile(14) prefetch" in axes(tiled(panels(200, 20, 200), l2_nbytes=1 << 19))


@pytest.mark.parametrize(
    ("tile", "sizes"),
    [
        ("9, 32 in panels", (9, 32)),
        ("30, 32 in panels", (30, 32)),
        ("1, 32 in panels", (1, 32)),
        ("32 in panels", (14, 32)),
    ],
)
def test_the_tile_that_was_chosen_is_the_tile(tile: str, sizes: tuple[int, int]):
    rows, columns = axes(tiled(panels(200, 20, 200, tile=tile)))[:2]
    assert rows.endswith(f"tile({sizes[0]})") and f"tile({sizes[1]})" in columns


def test_a_tile_has_no_more_rows_than_there_are():
    assert "tile(5)" in axes(tiled(panels(5, 20, 200, tile="14, 32 in panels")))[0]


def test_nothing_but_the_sum_says_that_there_are_panels():
    text = panels(200, 20, 200)
    for other in ("", "tile_shape [32]"):
        assert axes(tiled(text.replace("tile_shape [32 in panels]", other))) == ["i:", "j:", "k:"]


STAGES = """sched.kernel @k(%a: memref<64xf32>, %b: memref<{b}xf32>, %c: memref<96xf32>) {{
  %w = arith.constant 32 : index
  %t = sched.alloc local : memref<96xf32>
  sched.axis %j = 96 {{
    %p = arith.divui %j, %w : index
    %q = arith.remui %j, %w : index
    %s = sched.reduce fma %k = 64 {tile}: f32 {{
      %x = memref.load %a[%k] : memref<64xf32>
      %y = memref.load %b[{at}] : memref<{b}xf32>
      sched.yield %x, %y : f32
    }}
    memref.store %s, %t[%j] : memref<96xf32>
  }}
  sched.axis %i = 96 {{
    %n = arith.constant 95 : index
    %r = arith.subi %n, %i : index
    %x = memref.load %t[%i] : memref<96xf32>
    %y = memref.load %t[%r] : memref<96xf32>
    %z = arith.addf %x, %y : f32
    memref.store %z, %c[%i] : memref<96xf32>
  }}
}}"""


@pytest.mark.parametrize(
    ("b", "at", "tile", "mapping"),
    [
        ("3x64x32", "%p, %k, %q", "tile_shape [32 in panels] ", " tile(32) vector(16)"),
        # These are contiguous as they are, and vectors without a tile.
        ("64x96", "%k, %j", "", ""),
        ("64x96", "%k, %j", "tile_shape [32] ", ""),
    ],
)
def test_a_stage_of_one_row_has_tiles_where_its_columns_lie_in_panels(
    b: str, at: str, tile: str, mapping: str
):
    text = STAGES.format(b=b, at=at, tile=tile)
    module = tiled(text)
    assert axes(module) == [f"j:{mapping}", "k:", "i:"]
    for found, wanted in zip(results(module), results(parse_module(text)), strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_columns_that_were_chosen_need_no_panels():
    text = nest("ik", "kj", "ij", h=1).replace("%k = 20 :", "%k = 20 tile_shape [4, 32] :")
    assert axes(tiled(text))[1:3] == ["i: tile(4)", "j: tile(32) vector(16)"]
    assert axes(tiled(text.replace("[4, 32]", "[4, 64]")))[1:3] == ["i: tile(4)", "j: tile(50) vector(16)"]


def test_an_axis_that_is_not_in_the_panels_has_a_tile_of_its_own():
    text = nest("ik", "kj", "ij", h=1, j=32)
    chosen = text.replace("%k = 20 :", "%k = 20 tile_shape [3, 32 in panels] :")
    assert axes(tiled(chosen)) == axes(tiled(text))


def test_a_deep_sum_of_panels_takes_many_of_them_at_once():
    assert axes(tiled(panels(512, 20, 4095))) == [
        "i: block(70) tile(14) prefetch",
        "j: block(224) tile(32) prefetch vector(16)",
        "k: tile(1024)",
    ]
    assert axes(tiled(panels(512, 20, 4095, "%r = arith.negf %s : f32"))) == [
        "i: block(56) tile(14) prefetch",
        "j: block(320) tile(32) prefetch vector(16)",
        "k: tile(1024)",
    ]
    assert axes(tiled(panels(512, 20, 3071))) == [
        "i: block(42) tile(14) prefetch",
        "j: block(32) tile(32) prefetch vector(16)",
        "k:",
    ]


def test_rows_that_share_a_place_in_the_first_cache_are_few():
    assert [most_rows(each, 48 << 10) for each in (4, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 3 << 12)] == [
        30,
        30,
        30,
        16,
        8,
        8,
    ]
    assert [most_rows(1 << 12, l1) for l1 in (1, 32 << 10, 64 << 10, 1 << 20)] == [6, 6, 10, 30]
    assert tile_shape(1024, 1024, 16, 32, most_rows(4096, 48 << 10)) == (8, 48)
    assert axes(tiled(nest("hik", "kj", h=1, i=128, j=480, k=1024)))[1].endswith("tile(8)")
    assert axes(tiled(nest("hik", "kj", h=1, i=126, j=480, k=1025)))[1].endswith("tile(14)")


def test_rows_of_both_sides_share_what_is_loaded():
    text = nest("ik", "jk", "ij", h=1, i=9, j=41, k=300)
    found = axes(tiled(text))
    assert found[1:] == ["j: block(44) unroll(4)", "i: unroll(2)", "k: vector(16) unroll(2)"]
    assert axes(tiled(text, vector_nbytes=32))[1:] == [
        "j: block(42) unroll(2)",
        "i:",
        "k: vector(8) unroll(4)",
    ]
    for found_, wanted in zip(results(tiled(text)), results(tiled(text, vector_nbytes=32)), strict=True):
        np.testing.assert_array_equal(found_, wanted)


def test_options_are_checked():
    expected = (
        "tile-contractions: vector-nbytes 0, l1-nbytes 49152, l2-nbytes 1048576, l3-nbytes "
        "33554432 and n-threads 2 must be 1 or more"
    )
    with pytest.raises(PassError, match=expected):
        tiled(nest("hik", "kj"), vector_nbytes=0)


def test_a_tile_fits_the_registers_and_the_result():
    for rows in (1, 3, 8, 64, 1000):
        for columns in (1, 5, 16, 48, 100, 1000):
            for vector_nbytes in (16, 32, 64):
                tall, wide = tile_shape(rows, columns, vector_nbytes // 4, usual_registers(vector_nbytes))
                vectors = -(-wide // (vector_nbytes // 4))
                assert 1 <= tall <= rows and 1 <= wide <= columns
                assert vectors <= most_vectors(tall, usual_registers(vector_nbytes))


@pytest.mark.parametrize(("registers", "wide"), [(16, 8), (32, 16)])
def test_half_of_the_registers_are_sums_of_one_row(registers: int, wide: int):
    assert tile_shape(1, 4096, 8, registers) == (1, wide * 8)
    assert tile_shape(1, wide * 8, 8, registers) == (1, wide * 8)
    assert tile_shape(1, wide * 8 - 9, 8, registers) == (1, wide * 8 - 9)


def test_a_tile_has_all_columns_where_that_takes_no_longer():
    assert tile_shape(128, 64, 16, 32) == (6, 64)
    assert tile_shape(8, 64, 16, 32) == (8, 32)
    assert tile_shape(128, 128, 16, 32) == (13, 32)


PRODUCTS = {
    "small": matmul(5, 7, 3),
    "odd": matmul(67, 129, 65),
    "packed": matmul(100, 450, 450),
    "transposed": matmul(70, 90, 33, "k, m", "n, k"),
    "packed rows": matmul(450, 450, 30, "k, m"),
    "rows of both sides": matmul(7, 45, 300, b="n, k"),
    "one row": matmul(1, 300, 300),
    "one column": matmul(300, 1, 300),
    "three columns": matmul(300, 3, 300),
    "few rows": matmul(8, 300, 200),
    "few rows of several tiles": matmul(20, 1030, 300),
    "batched": matmul(20, 30, 16, batch=6),
    "batched and transposed": matmul(40, 70, 32, b="n, k", batch=5),
}


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_compiled_products_have_the_bits_of_sched(name: str, backend: str) -> None:
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    text = PRODUCTS[name]
    rng = np.random.default_rng(0)
    module = parse_module(text)
    (function,) = module.body.ops
    shapes = [type.get_shape() for type in function.function_type.inputs.data]  # pyright: ignore
    operands = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    operands[0].flat[3], operands[1].flat[5] = np.inf, np.nan
    found = np.asarray(tenon.compile(text, backend=backend)(*operands))
    expected = np.asarray(tenon.compile(text, backend="reference", level="sched")(*operands))
    np.testing.assert_array_equal(found, expected)


BETWEEN = """sched.kernel @k(%a: memref<8x8xf32>, %b: memref<8x8xf32>, %c: memref<8x8xf32>) {{
  %c0 = arith.constant 0 : index
  sched.axis %j = 8 {{
    %v = memref.load %b[{place}] : memref<8x8xf32>
    %w = arith.mulf %v, %v : f32
    sched.axis %i = 8 {{
      %s = sched.reduce fma %k = 8 : f32 {{
        %x = memref.load %a[%i, %k] : memref<8x8xf32>
        %y = memref.load %a[%k, %j] : memref<8x8xf32>
        sched.yield %x, %y : f32
      }}
      %r = arith.subf %s, %w : f32
      memref.store %r, %c[%i, %j] : memref<8x8xf32>
    }}
  }}
}}"""


@pytest.mark.parametrize(
    ("place", "mapping"),
    [
        ("%j, %c0", "tile(8)"),
        ("%c0, %j", "tile(8) vector(16)"),
        ("%c0, %c0", "tile(8) vector(16)"),
    ],
)
def test_what_moves_into_a_tile_has_lanes_only_where_all_of_it_can(place: str, mapping: str):
    text = BETWEEN.format(place=place)
    module = tiled(text)
    assert axes(module)[1] == f"j: {mapping}"
    for found, wanted in zip(results(module), results(parse_module(text)), strict=True):
        assert found.tobytes() == wanted.tobytes()
    PassManager([ConvertSchedToLowPass()]).run(context(), module)
    verify_module(module)


@pytest.mark.parametrize("is_frozen", [True, False])
@pytest.mark.parametrize(("rows", "columns"), [(1, 48), (5, 80), (100, 1152)])
def test_products_of_rows_that_are_looked_up(is_frozen: bool, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((50, 96)).astype(np.float32)
    weights = rng.standard_normal((96, columns)).astype(np.float32)
    places = rng.integers(0, 50, rows)
    held = tenon.freeze(weights) if is_frozen else weights
    product = tenon.jit(lambda table, places: tnp.matmul(tnp.take(table, places, axis=0), held))
    turned = tenon.jit(lambda table, places: tnp.matmul(held.T, tnp.take(table, places, axis=0).T))
    expected = table[places] @ weights
    np.testing.assert_allclose(np.asarray(product(table, places)), expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(np.asarray(turned(table, places)), expected.T, rtol=1e-4, atol=1e-4)


@pytest.mark.processor
@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_products_of_any_number_of_named_rows(backend: str) -> None:
    rng = np.random.default_rng(0)
    # Whole numbers, whose sums are exact in any order.
    first, second = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((40, 200), (200, 72)))
    weights = tenon.freeze([first, second])
    dims = {"x": {0: tenon.Dim("n", 1, 70)}}

    @tenon.jit(dynamic=dims, backend=backend)
    def net(x: Any) -> Any:
        return tnp.maximum(x @ weights[0], 0) @ weights[1] + 1

    for rows in range(1, 71):
        x = rng.integers(-3, 4, (rows, 40)).astype(np.float32)
        assert np.array_equal(np.asarray(net(x)), np.maximum(x @ first, 0) @ second + 1), rows


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", None])
@pytest.mark.parametrize("lead", [(), (2,), (11,)], ids=str)
@pytest.mark.parametrize("most", [7, 11])
def test_few_rows_of_a_named_dim_are_whole_tiles(
    target: str | None, lead: tuple[int, ...], most: int
) -> None:
    """A work-group that has all rows, of which there may be fewer, and a part of the columns."""
    generator = np.random.default_rng(0)
    w, v = generator.standard_normal((2, 384, 384)).astype(np.float32)
    perceptron = tenon.jit(
        lambda x: nn.relu(x @ w) @ v, dynamic={"x": {len(lead): tenon.Dim("n", 1, most)}}, target=target
    )
    for extent in (1, 6, most):
        x = generator.standard_normal((*lead, extent, 384)).astype(np.float32)
        wide, other, last = x.astype(float), w.astype(float), v.astype(float)
        expected = np.maximum(wide @ other, 0) @ last
        np.testing.assert_allclose(np.asarray(perceptron(x)), expected, rtol=1e-3, atol=1e-2)

"""Kernels that become stages of one, those that must not, and that no bit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import context, sched
from tenon.dialects.modules.hazards import Item, accessed_buffers
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.machine.target import Target
from tenon.passes.pass_manager import PassError, PassManager
from tenon.passes.pipeline import phases
from tenon.passes.sched.mapping import handovers
from tenon.passes.sched.mapping.contractions.tile_contractions import TileContractionsPass
from tenon.passes.sched.mapping.fuse_producers import FuseProducersPass
from tenon.passes.sched.mapping.handovers import MOST_ACCESSES
from tenon.passes.sched.mapping.map_axes import MapAxesPass
from tenon.test.unit.everywhere import run_everywhere
from tenon.test.unit.storage_dtypes import DTYPES
from xdsl.dialects.builtin import ModuleOp

Array = npt.NDArray[Any]


PROGRAM = """
sched.kernel @rows(%x: memref<8x6x10xf32>, %t: memref<8x6x10xf32>) {
  sched.axis %b = 8 {
    sched.axis %r = 6 {
      sched.axis %c = 10 {
        %v = memref.load %x[%b, %r, %c] : memref<8x6x10xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %t[%b, %r, %c] : memref<8x6x10xf32>
      }
    }
  }
}
sched.kernel @product(%t: memref<4x2x6x10xf32>, %y: memref<4x2x10x5xf32>, %z: memref<4x2x6x5xf32>) {
  sched.axis %g = 4 {
    sched.axis %h = 2 {
      sched.axis %i = 6 {
        sched.axis %j = 5 {
          %s = sched.reduce fma %k = 10 : f32 {
            %a = memref.load %t[%g, %h, %i, %k] : memref<4x2x6x10xf32>
            %b = memref.load %y[%g, %h, %k, %j] : memref<4x2x10x5xf32>
            sched.yield %a, %b : f32
          }
          memref.store %s, %z[%g, %h, %i, %j] : memref<4x2x6x5xf32>
        }
      }
    }
  }
}
sched.program @f(%x: memref<8x6x10xf32>, %y: memref<4x2x10x5xf32>)
    : (tensor<8x6x10xf32>, tensor<4x2x10x5xf32>) -> tensor<4x2x6x5xf32> {
  %t = sched.buffer global temporary : memref<8x6x10xf32>
  %z = sched.buffer global result : memref<4x2x6x5xf32>
  %0 = sched.launch @rows(%x, %t) after() : memref<8x6x10xf32>, memref<8x6x10xf32>
  %1 = sched.launch @product(%t, %y, %z) after()
    : memref<8x6x10xf32>, memref<4x2x10x5xf32>, memref<4x2x6x5xf32>
  sched.return %z after() : memref<4x2x6x5xf32>
}
"""


STORE = "        memref.store %w, %t[%b, %r, %c] : memref<8x6x10xf32>\n"


def fused(text: str, **options: int) -> ModuleOp:
    module = parse_module(text)
    PassManager([FuseProducersPass(**options)]).run(context(), module)
    verify_module(module)
    return module


def kernels(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.ops if isinstance(op, sched.KernelOp)]


def all_results(module: ModuleOp | str, *inputs: Array) -> Any:
    return tenon.compile(str(module), backend="reference", level=None, pipeline="build-dependencies")(*inputs)


def results(module: ModuleOp | str, *inputs: Array) -> Array:
    found = all_results(module, *inputs)
    assert isinstance(found, np.ndarray)
    return found


def arrays(*shapes: tuple[int, ...]) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def test_a_buffer_between_two_kernels_is_a_block_of_it_in_one():
    module = fused(PROGRAM)
    assert kernels(module) == ["product_fused"]
    (kernel,) = [op for op in module.ops if isinstance(op, sched.KernelOp)]
    allocs = [op for op in kernel.walk() if isinstance(op, sched.AllocOp)]
    assert [str(op.result.type) for op in allocs] == ["memref<6x10xf32>"]
    nest = [op.index.name_hint for op in kernel.walk() if isinstance(op, sched.AxisOp)]
    assert nest == ["g", "h", "r", "c", "i", "j"]
    assert not any(isinstance(op, sched.BufferOp) and op.result.name_hint == "t" for op in module.walk())


def test_stages_compute_what_kernels_do():
    inputs = arrays((8, 6, 10), (4, 2, 10, 5))
    np.testing.assert_array_equal(results(fused(PROGRAM), *inputs), results(PROGRAM, *inputs))


UNFUSED = {
    "too few blocks": (PROGRAM, {"least_blocks": 9}),
    "too large blocks": (PROGRAM, {"local_nbytes": 479}),
    "no sum of products": (
        PROGRAM.replace("reduce fma", "reduce addf").replace("%a, %b : f32", "%a : f32"),
        {},
    ),
    "a side that stays from block to block": (
        PROGRAM.replace("memref<4x2x10x5xf32>", "memref<10x5xf32>")
        .replace("tensor<4x2x10x5xf32>", "tensor<10x5xf32>")
        .replace("%y[%g, %h, %k, %j]", "%y[%k, %j]"),
        {},
    ),
    "blocks in another order": (
        PROGRAM.replace("%t[%b, %r, %c] : memref<8x6x10xf32>", "%t[%m, %r, %c] : memref<8x6x10xf32>").replace(
            "sched.axis %r = 6",
            "%c7 = arith.constant 7 : index\n%m = arith.subi %c7, %b : index\nsched.axis %r = 6",
        ),
        {},
    ),
    "mapped already": (PROGRAM.replace("%b = 8 {", "%b = 8 block {"), {}),
    "a result": (
        PROGRAM.replace("%t = sched.buffer global temporary", "%t = sched.buffer global result")
        .replace("-> tensor<4x2x6x5xf32>", "-> (tensor<4x2x6x5xf32>, tensor<8x6x10xf32>)")
        .replace(
            "sched.return %z after() : memref<4x2x6x5xf32>",
            "sched.return %z, %t after() : memref<4x2x6x5xf32>, memref<8x6x10xf32>",
        ),
        {},
    ),
    "read by somebody else": (
        PROGRAM.replace(
            "  sched.return",
            "  %u = sched.buffer global temporary : memref<8x6x10xf32>\n"
            "  %2 = sched.launch @rows(%t, %u) after() : memref<8x6x10xf32>, memref<8x6x10xf32>\n"
            "  sched.return",
        ),
        {},
    ),
    "stored in many ways": (PROGRAM.replace(STORE, STORE * (MOST_ACCESSES + 1)), {}),
    "its input changes on the way": (
        PROGRAM.replace(
            "  %1 = sched",
            "  %w = sched.transfer %y to %v after() : memref<4x2x10x5xf32>\n"
            "  %2 = sched.launch @rows(%x, %n) after() : memref<8x6x10xf32>, memref<8x6x10xf32>\n"
            "  %1 = sched",
        )
        .replace("@rows(%x, %t)", "@rows(%n, %t)")
        .replace(
            "  %0 = sched",
            "  %v = sched.buffer global temporary : memref<4x2x10x5xf32>\n"
            "  %n = sched.buffer global temporary : memref<8x6x10xf32>\n"
            "  %3 = sched.launch @rows(%x, %n) after() : memref<8x6x10xf32>, memref<8x6x10xf32>\n"
            "  %0 = sched",
        ),
        {},
    ),
    "a copy": (
        PROGRAM.replace(
            "  %1 = sched",
            "  %n = sched.buffer global temporary : memref<8x6x10xf32>\n"
            "  %2 = sched.transfer %t to %n after() : memref<8x6x10xf32>\n"
            "  %1 = sched",
        ),
        {},
    ),
    "waited for": (PROGRAM.replace("@product(%t, %y, %z) after()", "@product(%t, %y, %z) after(%0)"), {}),
    "a sync on the way": (PROGRAM.replace("  %1 = sched", "  %2 = sched.sync after()\n  %1 = sched"), {}),
}


RULES = {
    "too few blocks": "no-blocks",
    "too large blocks": "no-blocks",
    "no sum of products": "no-products",
    "a side that stays from block to block": "no-blocks",
    "blocks in another order": "no-blocks",
    "mapped already": "no-nest",
    "a result": None,
    "read by somebody else": "several-consumers",
    "stored in many ways": "many-accesses",
    "its input changes on the way": "hazard",
    "a sync on the way": "hazard",
    "a copy": "other-users",
    "waited for": "waiting",
}
"""The rule that keeps the kernels apart; a result is never looked at."""


@pytest.mark.parametrize("name", UNFUSED)
def test_kernels_stay_apart(name: str):
    text, options = UNFUSED[name]
    assert kernels(fused(text, **options)) == ["rows", "product"]


@pytest.mark.parametrize("name", UNFUSED)
def test_a_launch_that_has_origins_says_which_rule_keeps_it_apart(name: str):
    text, options = UNFUSED[name]
    origin = '#sched.origin<"%t", "add", "8x6x10xf32", materialized, "asked for", "request", "f.mlir:1:1">'
    module = fused(text.replace(", %t) after() :", f", %t) after() {{origins = [{origin}]}} :"), **options)
    (found,) = (op.origins for op in module.walk() if isinstance(op, sched.LaunchOp) and op.origins)
    why = next(iter(found)).why.data
    rule = RULES[name]
    assert why == "asked for" if rule is None else why.endswith(f"({rule})")
    assert why.startswith("asked for")


def test_the_edge_of_what_is_fused():
    assert kernels(fused(PROGRAM, least_blocks=8, local_nbytes=480)) == ["product_fused"]
    text = PROGRAM.replace(STORE, STORE * MOST_ACCESSES)
    assert kernels(fused(text)) == ["product_fused"]


PARTS = """
sched.kernel @rows(%x: memref<2x64x10xf32>, %t: memref<2x64x10xf32>) {
  sched.axis %b = 2 {
    sched.axis %r = 64 {
      sched.axis %c = 10 {
        %v = memref.load %x[%b, %r, %c] : memref<2x64x10xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %t[%b, %r, %c] : memref<2x64x10xf32>
      }
    }
  }
}
sched.kernel @product(%t: memref<2x64x10xf32>, %y: memref<2x10x5xf32>, %z: memref<2x64x5xf32>) {
  sched.axis %h = 2 {
    sched.axis %i = 64 {
      sched.axis %j = 5 {
        %s = sched.reduce fma %k = 10 : f32 {
          %a = memref.load %t[%h, %i, %k] : memref<2x64x10xf32>
          %b = memref.load %y[%h, %k, %j] : memref<2x10x5xf32>
          sched.yield %a, %b : f32
        }
        memref.store %s, %z[%h, %i, %j] : memref<2x64x5xf32>
      }
    }
  }
}
sched.program @f(%x: memref<2x64x10xf32>, %y: memref<2x10x5xf32>)
    : (tensor<2x64x10xf32>, tensor<2x10x5xf32>) -> tensor<2x64x5xf32> {
  %t = sched.buffer global temporary : memref<2x64x10xf32>
  %z = sched.buffer global result : memref<2x64x5xf32>
  %0 = sched.launch @rows(%x, %t) after() : memref<2x64x10xf32>, memref<2x64x10xf32>
  %1 = sched.launch @product(%t, %y, %z) after()
    : memref<2x64x10xf32>, memref<2x10x5xf32>, memref<2x64x5xf32>
  sched.return %z after() : memref<2x64x5xf32>
}
"""
"""Two products, of which parts of the rows are blocks."""


def parts(module: ModuleOp) -> list[int]:
    """The extents of the axes around all stages, and the rows of a block."""
    (kernel,) = [op for op in module.ops if isinstance(op, sched.KernelOp)]
    extents = [op.extent for op in kernel.walk() if isinstance(op, sched.AxisOp)][:3]
    return [extent for extent in extents if isinstance(extent, int)]


def test_rows_are_taken_in_parts_where_a_whole_product_is_too_large():
    assert parts(fused(PARTS)) == [2, 4, 16]
    assert parts(fused(PARTS, least_blocks=16)) == [2, 8, 8]
    assert parts(fused(PARTS, local_nbytes=1920)) == [2, 4, 16]
    assert parts(fused(PARTS, local_nbytes=1919)) == [2, 8, 8]
    inputs = arrays((2, 64, 10), (2, 10, 5))
    np.testing.assert_array_equal(results(fused(PARTS), *inputs), results(PARTS, *inputs))


@pytest.mark.parametrize("options", [{"least_blocks": 17}, {"local_nbytes": 959}])
def test_parts_of_few_rows_are_none(options: dict[str, int]):
    assert kernels(fused(PARTS, **options)) == ["rows", "product"]


def test_a_side_that_no_cache_holds_does_not_stay():
    text = PARTS.replace("10x5", "10x{n}").replace("64x5", "64x{n}").replace("%j = 5", "%j = {n}")
    assert kernels(fused(text.replace("{n}", "13107"))) == ["product_fused"]
    assert kernels(fused(text.replace("{n}", "13108"))) == ["rows", "product"]


def test_stages_in_a_loop_over_parts_of_rows_run_in_tiles():
    shape = (1, 12, 256, 64)
    q, k, v = arrays(shape, shape, shape)
    text = str(tenon.jit(lambda q, k, v: attention(q, k, v, False)).lower(q, k, v).module)
    with tenon.compile(text) as executable:
        (kernel,) = executable.explain().kernels
    assert sum("register tiles" in line for line in kernel.schedule) == 4


def test_kernels_that_are_launched_twice_are_written_once():
    text = PROGRAM.replace("-> tensor<4x2x6x5xf32>", "-> (tensor<4x2x6x5xf32>, tensor<4x2x6x5xf32>)").replace(
        "  sched.return %z after() : memref<4x2x6x5xf32>",
        "  %u = sched.buffer global temporary : memref<8x6x10xf32>\n"
        "  %w = sched.buffer global result : memref<4x2x6x5xf32>\n"
        "  %2 = sched.launch @rows(%x, %u) after() : memref<8x6x10xf32>, memref<8x6x10xf32>\n"
        "  %3 = sched.launch @product(%u, %y, %w) after()\n"
        "    : memref<8x6x10xf32>, memref<4x2x10x5xf32>, memref<4x2x6x5xf32>\n"
        "  sched.return %z, %w after() : memref<4x2x6x5xf32>, memref<4x2x6x5xf32>",
    )
    module = fused(text)
    assert kernels(module) == ["product_fused"]
    assert sum(isinstance(op, sched.LaunchOp) for op in module.walk()) == 2


TWO_LAYERS = (
    PROGRAM[: PROGRAM.index("sched.program")]
    + """
sched.program @f(%x: memref<8x6x10xf32>, %y: memref<4x2x10x5xf32>)
    : (tensor<8x6x10xf32>, tensor<4x2x10x5xf32>) -> (tensor<4x2x6x5xf32>, tensor<4x2x6x5xf32>) {
  %t = sched.buffer global temporary : memref<8x6x10xf32>
  %u = sched.buffer global temporary : memref<8x6x10xf32>
  %v = sched.buffer global temporary : memref<8x6x10xf32>
  %z = sched.buffer global result : memref<4x2x6x5xf32>
  %w = sched.buffer global result : memref<4x2x6x5xf32>
  %0 = sched.launch @rows(%x, %t) after() : memref<8x6x10xf32>, memref<8x6x10xf32>
  %1 = sched.launch @product(%t, %y, %z) after()
    : memref<8x6x10xf32>, memref<4x2x10x5xf32>, memref<4x2x6x5xf32>
  %2 = sched.launch @rows(%x, %u) after() : memref<8x6x10xf32>, memref<8x6x10xf32>
  %3 = sched.launch @rows(%u, %v) after() : memref<8x6x10xf32>, memref<8x6x10xf32>
  %4 = sched.launch @product(%v, %y, %w) after()
    : memref<8x6x10xf32>, memref<4x2x10x5xf32>, memref<4x2x6x5xf32>
  sched.return %z, %w after() : memref<4x2x6x5xf32>, memref<4x2x6x5xf32>
}
"""
)


def test_a_kernel_that_is_fused_again_stays_what_other_launches_run():
    """Of the second layer a kernel of two, then of three is made; the first layer is the kernel of two."""
    module = fused(TWO_LAYERS)
    assert kernels(module) == ["product_fused_1", "product_fused"]
    launched = [op.kernel.root_reference.data for op in module.walk() if isinstance(op, sched.LaunchOp)]
    assert launched == ["product_fused", "product_fused_1"]
    inputs = arrays((8, 6, 10), (4, 2, 10, 5))
    for one, other in zip(all_results(module, *inputs), all_results(TWO_LAYERS, *inputs), strict=True):
        np.testing.assert_array_equal(one, other)


SHARED = """
sched.kernel @rows(%x: memref<8x6x6xf32>, %t: memref<8x6x6xf32>) {
  sched.axis %b = 8 {
    sched.axis %r = 6 {
      sched.axis %c = 6 {
        %v = memref.load %x[%b, %r, %c] : memref<8x6x6xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %t[%b, %r, %c] : memref<8x6x6xf32>
      }
    }
  }
}
sched.kernel @product(%y: memref<8x6x6xf32>, %t: memref<8x6x6xf32>, %z: memref<8x6x6xf32>) {
  sched.axis %b = 8 {
    sched.axis %i = 6 {
      sched.axis %j = 6 {
        %s = sched.reduce fma %k = 6 : f32 {
          %l = memref.load %t[%b, %i, %k] : memref<8x6x6xf32>
          %r = memref.load %y[%b, %k, %j] : memref<8x6x6xf32>
          sched.yield %l, %r : f32
        }
        memref.store %s, %z[%b, %i, %j] : memref<8x6x6xf32>
      }
    }
  }
}
sched.program @f(%x: memref<8x6x6xf32>) : (tensor<8x6x6xf32>) -> tensor<8x6x6xf32> {
  %y = sched.buffer global temporary : memref<8x6x6xf32>
  %t = sched.buffer global temporary : memref<8x6x6xf32>
  %z = sched.buffer global result : memref<8x6x6xf32>
  %0 = sched.launch @rows(%x, %y) after() : memref<8x6x6xf32>, memref<8x6x6xf32>
  %1 = sched.launch @rows(%y, %t) after() : memref<8x6x6xf32>, memref<8x6x6xf32>
  %2 = sched.launch @product(%y, %t, %z) after()
    : memref<8x6x6xf32>, memref<8x6x6xf32>, memref<8x6x6xf32>
  sched.return %z after() : memref<8x6x6xf32>
}
"""


def test_a_buffer_has_one_reader_once_the_others_are_fused_with_it():
    module = fused(SHARED)
    assert kernels(module) == ["product_fused_1"]
    assert sum(isinstance(op, sched.LaunchOp) for op in module.walk()) == 1
    inputs = arrays((8, 6, 6))
    np.testing.assert_array_equal(results(module, *inputs), results(SHARED, *inputs))


def test_a_buffer_that_many_launches_read_is_looked_at_once(monkeypatch: pytest.MonkeyPatch):
    looked_at: list[object] = []

    def accessed(item: Item, accesses: Any) -> Any:
        looked_at.append(item)
        return accessed_buffers(item, accesses)

    readers = 30
    buffers = "".join(
        f"  %u{n} = sched.buffer global temporary : memref<8x6x10xf32>\n" for n in range(readers)
    )
    launches = "".join(
        f"  %r{n} = sched.launch @rows(%t, %u{n}) after() : memref<8x6x10xf32>, memref<8x6x10xf32>\n"
        for n in range(readers)
    )
    monkeypatch.setattr(handovers, "accessed_buffers", accessed)
    assert kernels(fused(PROGRAM.replace("  sched.return", f"{buffers}{launches}  sched.return"))) == [
        "rows",
        "product",
    ]
    # Once as what may read a buffer, and the first few as those that use it.
    assert len(looked_at) <= readers + 5


def test_equal_layers_of_attention_are_fused_each_as_it_is():
    """The second layer packs its keys in another way than the first: they share only some kernels."""

    def layers(x: Any, weights: Any) -> Any:
        for query, key, value, out in weights:
            heads = [(x @ w).reshape((1, 33, 12, 8)).transpose((0, 2, 1, 3)) for w in (query, key, value)]
            x = attention(*heads, False).transpose((0, 2, 1, 3)).reshape((1, 33, 96)) @ out
        return x

    x, *weights = arrays((1, 33, 96), *[(96, 96)] * 8)
    text = str(tenon.jit(layers).lower(x, (tuple(weights[:4]), tuple(weights[4:]))).module)
    for vector_nbytes in (16, 32, 64):
        of = phases(Target(vector_nbytes))
        passes = [*of["graph"], *of["sched"]]
        PassManager(passes, verify_each=True).run(context(), parse_module(text))


def test_options_are_checked():
    message = "fuse-producers: l2-nbytes 1048576, n-threads 2, local-nbytes 0 and least-blocks 8 must be 1 or"
    with pytest.raises(PassError, match=message):
        fused(PROGRAM, local_nbytes=0)


def test_stages_are_mapped_each_by_itself():
    text = PROGRAM.replace("6x10", "40x50").replace("6x5", "40x60").replace("10x5", "50x60")
    text = text.replace("%r = 6", "%r = 40").replace("%c = 10", "%c = 50").replace("%i = 6", "%i = 40")
    text = text.replace("%j = 5", "%j = 60").replace("%k = 10", "%k = 50")
    module = parse_module(text)
    passes = [FuseProducersPass(), TileContractionsPass(vector_nbytes=64), MapAxesPass(vector_nbytes=64)]
    PassManager(passes).run(context(), module)
    found = [
        f"{op.index.name_hint}: {op.mapping.words()}".rstrip()
        for op in module.walk()
        if isinstance(op, sched.AxisOp)
    ]
    assert found[0].startswith("g: block") and found[3] == "c: vector(16)"
    assert all("tile(" in each and "block" not in each for each in found[4:])


def attention(q: Any, k: Any, v: Any, causal: bool) -> Any:
    scores = q @ tnp.matrix_transpose(k) * q.shape[-1] ** -0.5
    if causal:
        n = q.shape[-2]
        scores = tnp.where(tnp.arange(n)[:, None] >= tnp.arange(n)[None, :], scores, -np.inf)
    exponents = tnp.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponents / exponents.sum(axis=-1, keepdims=True) @ v


ATTENTIONS = {
    "rows in whole tiles": ((2, 4, 64, 32), "f32", False),
    "what fills no tile": ((2, 4, 33, 20), "f32", True),
    "a part of the rows at once": ((2, 256, 16), "f32", True),
    "many heads of few rows": ((9, 48, 24), "f64", False),
    "f16": ((1, 8, 33, 64), "f16", True),
    "bf16": ((8, 40, 16), "bf16", True),
}


@pytest.mark.parametrize("name", ATTENTIONS)
def test_attention_has_the_same_bits_everywhere(name: str):
    shape, dtype, causal = ATTENTIONS[name]
    q, k, v = (array.astype(DTYPES[dtype]) for array in arrays(shape, shape, shape))
    text = str(tenon.jit(lambda q, k, v: attention(q, k, v, causal)).lower(q, k, v).module)
    ways = [("reference", "low"), ("llvm", None), *([("opencl", None)] if dtype == "f32" else [])]
    run_everywhere(text, q, k, v, ways=tuple(ways))


def test_attention_is_one_kernel():
    q, k, v = arrays((2, 4, 64, 32), (2, 4, 64, 32), (2, 4, 64, 32))
    text = str(tenon.jit(lambda q, k, v: attention(q, k, v, False)).lower(q, k, v).module)
    with tenon.compile(text) as executable:
        explanation = executable.explain()
    assert len(explanation.kernels) == 1
    assert not explanation.not_fused
    assert any(op.why.startswith("handed from stage to stage") for op in explanation.kernels[0].ops)


def test_a_product_with_the_norm_of_its_rows_is_a_kernel_in_tiles():
    def normalized(x: Any, w: Any) -> Any:
        y = x @ w
        return y / tnp.sqrt((y * y).sum(axis=-1, keepdims=True))

    x, w = arrays((64, 32), (32, 48))
    with tenon.compile(str(tenon.jit(normalized).lower(x, w).module)) as executable:
        explanation = executable.explain()
    schedules = ["\n".join(kernel.schedule) for kernel in explanation.kernels]
    assert len(schedules) == 2 and "register tiles" in schedules[0]


# Of one head there may be fewer blocks than threads.
@pytest.mark.parametrize(
    ("name", "is_one"),
    [("rows in whole tiles", True), ("a part of the rows at once", False), ("many heads of few rows", False)],
)
def test_attention_of_a_varying_batch_has_the_bits_of_the_interpreter(name: str, is_one: bool):
    shape, dtype, causal = ATTENTIONS[name]
    batch = tenon.Dim("b", 1, 16)

    def function(q: Any, k: Any, v: Any) -> Any:
        return attention(q, k, v, causal)

    f = tenon.jit(function, dynamic={each: {0: batch} for each in "qkv"})
    for count in (1, 3, 16):
        q, k, v = (array.astype(DTYPES[dtype]) for array in arrays(*[(count, *shape[1:])] * 3))
        interpreted = tenon.compile(f.lower(q, k, v).text("low"), backend="reference")
        np.testing.assert_array_equal(np.asarray(f(q, k, v)), np.asarray(interpreted(q, k, v)))
    # What is one kernel depends on what an exponential takes.
    named = tenon.jit(function, dynamic={each: {0: batch} for each in "qkv"}, target="x86-64-v4")
    explanation = tenon.explain(named, q, k, v)
    assert (len(explanation.kernels) == 1) == is_one


VARYING = """
graph.dim @n min {least} max 64
sched.kernel @rows(%n: index, %x: {rows_buffer},
    %t: {rows_buffer}) dims [n] {{
  sched.axis %b = {rows} {{
    sched.axis %r = 6 {{
      sched.axis %c = 10 {{
        %v = memref.load %x[%b, %r, %c] : {rows_buffer}
        %w = arith.addf %v, %v : f32
        memref.store %w, %t[%b, %r, %c] : {rows_buffer}
      }}
    }}
  }}
}}
sched.kernel @product(%n: index, %t: {left_buffer},
    %y: {right_buffer},
    %z: {result_buffer}) dims [n] {{
  sched.axis %g = {outer} {{
    sched.axis %h = 2 {{
      sched.axis %i = 6 {{
        sched.axis %j = 5 {{
          %s = sched.reduce fma %k = 10 : f32 {{
            %a = memref.load %t[%g, %h, %i, %k] : {left_buffer}
            %b = memref.load %y[%g, %h, %k, %j] : {right_buffer}
            sched.yield %a, %b : f32
          }}
          memref.store %s, %z[%g, %h, %i, %j] : {result_buffer}
        }}
      }}
    }}
  }}
}}
sched.program @f(%x: {rows_buffer},
    %y: {right_buffer})
    : (tensor<?x6x10xf32, #graph.dims<{rows}, 6, 10>>, tensor<?x2x10x5xf32, #graph.dims<{outer}, 2, 10, 5>>)
    -> tensor<?x2x6x5xf32, #graph.dims<{outer}, 2, 6, 5>> {{
  %t = sched.buffer global temporary : {rows_buffer}
  %z = sched.buffer global result : {result_buffer}
  %n = sched.dim @n
  %0 = sched.launch @rows(%n, %x, %t) after() : index,
    {rows_buffer}, {rows_buffer}
  %1 = sched.launch @product(%n, %t, %y, %z) after()
    : index, {rows_buffer},
    {right_buffer}, {result_buffer}
  sched.return %z after() : {result_buffer}
}}
"""


def varying(rows: str, outer: str, least: int) -> str:
    """Returns `PROGRAM` for `n` of at least `least`, with so many rows, and so many pairs of them."""

    def buffer(extent: str, *rest: int) -> str:
        shape, dims = "x".join(map(str, rest)), ", ".join(map(str, rest))
        return f"memref<?x{shape}xf32, {{dims = #graph.dims<{extent}, {dims}>}}>"

    return VARYING.format(
        rows=rows,
        outer=outer,
        least=least,
        rows_buffer=buffer(rows, 6, 10),
        left_buffer=buffer(outer, 2, 6, 10),
        right_buffer=buffer(outer, 2, 10, 5),
        result_buffer=buffer(outer, 2, 6, 5),
    )


def test_an_outermost_extent_may_vary_in_steps_of_any_size():
    text = varying(rows="2 * n", outer="n", least=4)
    module = fused(text)
    assert kernels(module) == ["product_fused"]
    for count in (4, 7):
        inputs = arrays((2 * count, 6, 10), (count, 2, 10, 5))
        np.testing.assert_array_equal(results(module, *inputs), results(text, *inputs))


def test_blocks_are_counted_where_the_varying_extent_is_least():
    assert kernels(fused(varying(rows="2 * n", outer="n", least=3))) == ["rows", "product"]


def test_extents_that_vary_in_another_way_keep_kernels_apart():
    # As many elements, but the rows of one are no blocks of the other.
    text = varying(rows="2 * n + 2", outer="n + 1", least=8)
    assert kernels(fused(text)) == ["rows", "product"]

"""Every rule of fusion decides about a value, with its mode and its reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.dialects import graph
from tenon.dialects.memory_modes import ModeKind
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.sched.planning.fusion_rules import (
    FORCED_RULES,
    FUSION_RULES,
    KERNEL_OPS_LIMIT,
    Decision,
    FusionRule,
)
from tenon.passes.sched.planning.local_values import PARALLEL_LIMIT, SERIAL_FOLDS_LIMIT
from tenon.passes.sched.planning.plan import plan_kernels
from xdsl.dialects import func

T, V = "tensor<64x64xf32>", "tensor<64xf32>"
LONG, ROW = "tensor<16x50000xf32>", "tensor<16x1xf32>"
IMAGE, PADDED = "tensor<512x512xf32>", "tensor<514x514xf32>"
MATMUL = (
    "maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"
)
WINDOWS = (
    "maps [affine_map<(i, j, m, n) -> (i + m, j + n)>, affine_map<(i, j, m, n) -> (m, n)>, "
    "affine_map<(i, j, m, n) -> (i, j)>]"
)


def flips(count: int) -> str:
    """Returns the text of ops that read %v in so many ways, with the result %y."""
    lines = [f"%y1 = graph.neg %v : {T}"]
    for number in range(1, count):
        first, second = (number & 1, 0), (number & 2, 1)
        axes = ", ".join(str(axis) for bit, axis in (first, second) if bit)
        source = "%v" if number < 4 else "%t"
        if number == 4:
            lines.append(f"%t = graph.permute %v [1, 0] : {T}")
        read = f"graph.flip {source} axes [{axes}] : {T}" if axes else f"graph.neg {source} : {T}"
        lines += [f"%r{number} = {read}", f"%y{number + 1} = graph.add %y{number}, %r{number} : {T}"]
    return "\n".join([*lines, f"%y = graph.neg %y{count} : {T}"])


def halo(rows: int) -> str:
    """Returns the text of ops that put so many rows of another rank before those of this one."""
    got, wide = f"tensor<{rows}x64xf32>", f"tensor<{64 + rows}x64xf32>"
    return f"""%h = graph.collective_permute %x on @mesh axes = [0] pairs = [[0, 1]] channel = 1
          : {T} -> {got}
        %p = graph.slice %h offsets [0, 0] sizes [{rows}, 64] strides [1, 1] : {got}
        %v = graph.concat %p, %x axis 0 : {got}, {T} -> {wide}
        %up = graph.slice %v offsets [0, 0] sizes [64, 64] strides [1, 1] : {wide}
        %down = graph.slice %v offsets [{rows}, 0] sizes [64, 64] strides [1, 1] : {wide}
        %y = graph.sub %up, %down : {T}"""


PROGRAMS: dict[str, tuple[str, str, str, str]] = {
    "needed": (T, T, f"%v = graph.exp %x : {T}", "%v"),
    "unread": (T, T, f"%v = graph.exp %x : {T}\n%y = graph.neg %x : {T}", "%y"),
    "update": (
        T,
        T,
        f"""%i = graph.constant dense<1> : tensor<i32>
        %part = graph.slice %x offsets [0, 0] sizes [8, 8] strides [1, 1] : {T}
        %v = graph.dynamic_update %x[%i, %i], %part : {T}[tensor<i32>, tensor<i32>], tensor<8x8xf32>
        %y = graph.neg %v : {T}""",
        "%y",
    ),
    "own-kernel": (T, T, f"%v = graph.sort %x axis 0 : {T}\n%y = graph.neg %v : {T}", "%y"),
    "splat": (T, T, f"%v = graph.constant dense<2.0> : {T}\n%y = graph.add %x, %v : {T}", "%y"),
    "constant": (
        "tensor<2xf32>",
        "tensor<2xf32>",
        "%v = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>\n%y = graph.add %x, %v : tensor<2xf32>",
        "%y",
    ),
    "full-kernel": (
        T,
        T,
        f"%v = graph.exp %x : {T}\n%y0 = graph.neg %v : {T}\n"
        + "\n".join(f"%y{n + 1} = graph.neg %y{n} : {T}" for n in range(KERNEL_OPS_LIMIT - 1)),
        f"%y{KERNEL_OPS_LIMIT - 1}",
    ),
    "gathered": (
        T,
        T,
        f"""%i = graph.constant dense<1> : tensor<64xi64>
        %v = graph.gather %x[%i] axes [0] : {T}[tensor<64xi64>] -> {T}
        %r = graph.reshape %v : {T} -> tensor<1x64x64xf32>
        %w = graph.reshape %r : tensor<1x64x64xf32> -> {T}
        %y = graph.contract %w, %x {MATMUL} : {T}, {T} -> {T}""",
        "%y",
    ),
    "view": (T, T, f"%v = graph.permute %x [1, 0] : {T}\n%y = graph.neg %v : {T}", "%y"),
    "mask": (
        T,
        V,
        f"""%o = graph.constant dense<true> : tensor<62x62xi1>
        %n = graph.constant dense<false> : tensor<i1>
        %v = graph.pad %o, %n low [1, 1] high [1, 1] : tensor<62x62xi1>
        %m = graph.neg %x : {T}
        %p = graph.select %v, %x, %m : {T}
        %a = graph.reduce add %p axes [0] : {T} -> {V}
        %b = graph.sort %a axis 0 : {V}
        %q = graph.select %v, %m, %x : {T}
        %c = graph.reduce add %q axes [1] : {T} -> {V}
        %y = graph.add %b, %c : {V}""",
        "%y",
    ),
    "several-consumers": (
        T,
        V,
        f"""%v = graph.neg %x : {T}
        %a = graph.reduce add %v axes [0] : {T} -> {V}
        %b = graph.sort %a axis 0 : {V}
        %c = graph.reduce add %v axes [1] : {T} -> {V}
        %y = graph.add %b, %c : {V}""",
        "%y",
    ),
    "tiled-product": (
        T,
        V,
        f"""%v = graph.contract %x, %x {MATMUL} : {T}, {T} -> {T}
        %y = graph.reduce add %v axes [1] : {T} -> {V}""",
        "%y",
    ),
    "parts-tiles": (
        T,
        T,
        f"""%p = graph.contract %x, %x {MATMUL} : {T}, {T} -> {T}
        %v = graph.reduce add %x axes [1] keep : {T} -> tensor<64x1xf32>
        %b = graph.broadcast %v : tensor<64x1xf32> -> {T}
        %y = graph.add %p, %b : {T}""",
        "%y",
    ),
    "no-place": (
        T,
        T,
        f"""%v = graph.exp %x : {T}
        %y = graph.contract %v, %x {MATMUL} : {T}, {T} -> {T}""",
        "%y",
    ),
    "halo": (T, T, halo(1), "%y"),
    "cheaper-apart": (
        V,
        T,
        f"%v = graph.exp %x : {V}\n%b = graph.broadcast %v : {V} -> {T}\n%y = graph.neg %b : {T}",
        "%y",
    ),
    "reduction": (T, V, f"%v = graph.reduce add %x axes [1] : {T} -> {V}\n%y = graph.neg %v : {V}", "%y"),
    "local-buffer": (
        T,
        T,
        f"""%v = graph.exp %x : {T}
        %s = graph.reduce add %v axes [1] keep : {T} -> tensor<64x1xf32>
        %b = graph.broadcast %s : tensor<64x1xf32> -> {T}
        %y = graph.div %v, %b : {T}""",
        "%y",
    ),
    "computed-twice": (
        LONG,
        "tensor<16x50000xf64>",
        f"""%v = graph.sqrt %x : {LONG}
        %s = graph.reduce add %v axes [1] keep : {LONG} -> {ROW}
        %b = graph.broadcast %s : {ROW} -> {LONG}
        %d = graph.div %v, %b : {LONG}
        %y = graph.cast %d : {LONG} -> tensor<16x50000xf64>""",
        "%y",
    ),
    "no-local-buffer": (
        LONG,
        "tensor<16x50000xf64>",
        f"""%v = graph.exp %x : {LONG}
        %s = graph.reduce add %v axes [1] keep : {LONG} -> {ROW}
        %m = graph.reduce max %v axes [1] keep : {LONG} -> {ROW}
        %a = graph.add %s, %m : {ROW}
        %b = graph.broadcast %a : {ROW} -> {LONG}
        %d = graph.div %v, %b : {LONG}
        %y = graph.cast %d : {LONG} -> tensor<16x50000xf64>""",
        "%y",
    ),
    "thin-padding": (
        IMAGE,
        IMAGE,
        f"""%zero = graph.constant dense<0.0> : tensor<f32>
        %w = graph.constant dense<1.0> : tensor<3x3xf32>
        %v = graph.pad %x, %zero low [1, 1] high [1, 1] : {IMAGE}
        %y = graph.contract %v, %w {WINDOWS} bounds [512, 512, 3, 3]
          : {PADDED}, tensor<3x3xf32> -> {IMAGE}""",
        "%y",
    ),
    "repeated": (
        T,
        T,
        f"%v = graph.neg %x : {T}\n%y = graph.contract %v, %x {MATMUL} : {T}, {T} -> {T}",
        "%y",
    ),
    "many-reads": (T, T, f"%v = graph.neg %x : {T}\n{flips(5)}", "%y"),
    "inline": (T, T, f"%v = graph.neg %x : {T}\n%y = graph.exp %v : {T}", "%y"),
}
"""For each rule: the types of the argument and the result, ops with %v that it decides about, the result."""


def decided(text: str) -> Decision:
    """Returns the decision about %v."""
    (function,) = parse_module(text).ops
    assert isinstance(function, func.FuncOp)
    (decision,) = (
        decision
        for op, decision in plan_kernels(function).all_decisions()
        if isinstance(op, graph.GraphOp) and op.results[0].name_hint == "v"
    )
    return decision


@pytest.mark.parametrize("rule", FUSION_RULES, ids=lambda rule: rule.name)
def test_a_rule_decides_with_its_mode(rule: FusionRule):
    argument, result, ops, value = PROGRAMS[rule.name]
    decision = decided(
        f"func.func @f(%x: {argument}) -> {result} {{\n{ops}\nfunc.return {value} : {result}\n}}"
    )
    assert (decision.rule, decision.mode) == (rule.name, rule.mode)
    assert decision.why


def test_what_is_sent_is_more_than_a_border_or_none_of_what_is_joined():
    for ops in (
        halo(64),
        halo(1)
        .replace("concat %p, %x", "concat %q, %x")
        .replace("%v =", f"%q = graph.slice %x offsets [0, 0] sizes [1, 64] strides [1, 1] : {T}\n%v ="),
    ):
        decision = decided(f"func.func @f(%x: {T}) -> {T} {{\n{ops}\nfunc.return %y : {T}\n}}")
        assert decision.rule != "halo"


def thirds(rows: int, depth: int, columns: int) -> str:
    """A product of few rows, of which one kernel reads three parts."""
    x, w, v = f"{rows}x{depth}", f"{depth}x{3 * columns}", f"tensor<{rows}x{3 * columns}xf32>"
    part, sizes = f"tensor<{rows}x{columns}xf32>", f"sizes [{rows}, {columns}] strides [1, 1]"
    parts = "".join(
        f"%p{number} = graph.slice %v offsets [0, {number * columns}] {sizes} : {v}\n" for number in range(3)
    )
    return f"""func.func @f(%x: tensor<{x}xf32>, %w: tensor<{w}xf32>) -> {part} {{
      %v = graph.contract %x, %w {MATMUL} tile [d1 = 32 in panels] : tensor<{x}xf32>, tensor<{w}xf32> -> {v}
      {parts}
      %a = graph.mul %p0, %p1 : {part}
      %y = graph.add %a, %p2 : {part}
      func.return %y : {part}
    }}"""


@pytest.mark.parametrize(
    ("shape", "is_local"),
    [
        ((1, 64, 96), True),
        ((1, SERIAL_FOLDS_LIMIT // 384, 128), True),
        ((1, SERIAL_FOLDS_LIMIT // 384 + 1, 128), False),
        ((2, 512, 512), False),
    ],
)
def test_a_long_product_is_a_stage_of_no_kernel_that_has_nothing_to_share(
    shape: tuple[int, int, int], is_local: bool
):
    decision = decided(thirds(*shape))
    assert decision.mode is (ModeKind.LOCAL if is_local else ModeKind.MATERIALIZED), decision
    assert is_local or "too little to do side by side" in decision.why


def softmax(rows: int) -> str:
    """Rows of long products, each of which its kernel reads as a whole."""
    x, w, v, row = f"{rows}x2048", f"{rows}x256x2048", f"tensor<{rows}x256xf32>", f"tensor<{rows}x1xf32>"
    batched = MATMUL.replace("(k, n)", "(m, n, k)")
    return f"""func.func @f(%x: tensor<{x}xf32>, %w: tensor<{w}xf32>) -> {v} {{
      %v = graph.contract %x, %w {batched} : tensor<{x}xf32>, tensor<{w}xf32> -> {v}
      %s = graph.reduce max %v axes [1] keep : {v} -> {row}
      %b = graph.broadcast %s : {row} -> {v}
      %y = graph.sub %v, %b : {v}
      func.return %y : {v}
    }}"""


def test_rows_that_threads_share_are_stages_however_long_their_products_are():
    assert decided(softmax(PARALLEL_LIMIT)).mode is ModeKind.LOCAL
    assert decided(softmax(PARALLEL_LIMIT - 1)).mode is ModeKind.MATERIALIZED


def test_rules_have_names_of_their_own_and_those_without_a_choice_come_first():
    names = [rule.name for rule in FUSION_RULES]
    assert len(set(names)) == len(names)
    assert FUSION_RULES[: len(FORCED_RULES)] == FORCED_RULES
    assert FUSION_RULES[-1].mode is ModeKind.VIRTUAL


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize(("axis", "is_thin"), [(0, True), (1, False)])
def test_windows_of_a_number_of_images_that_varies_read_padding(
    axis: int, is_thin: bool, backend: str
) -> None:
    """Of rows whose number varies it is open how many of them are at the border."""

    def pool(x: Any) -> Any:
        return nn.max_pool(tnp.permute_dims(tnp.maximum(x * 2 + 1, 0), (0, 3, 1, 2)), 3, strides=2, padding=1)

    compiled = tenon.jit(pool, dynamic={"x": {axis: tenon.Dim("n", 1, 140)}}, backend=backend)
    rng = np.random.default_rng(0)
    for number in (1, 2, 129):
        shape = [2, 40, 66, 5]
        shape[axis] = number
        x = rng.integers(-9, 9, shape).astype(np.float32)
        image = np.maximum(x * 2 + 1, 0).transpose(0, 3, 1, 2)
        held = np.pad(image, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(held, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
        assert np.array_equal(np.asarray(compiled(x)), windows.max((-1, -2)))
        assert ('"thin-padding"' in compiled.lower(x).text("graph")) == is_thin

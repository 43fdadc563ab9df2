"""What is estimated of known kernels, what is decided by it, and that both ways give the same bits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects import context, graph
from tenon.dialects.memory_modes import ModeKind
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.machine.cost import (
    FAR_LINE_PS,
    LATENCY,
    LAUNCH_PS,
    LINE_NBYTES,
    LINE_PS,
    OPERATION_PS,
    access_operations,
    lines_of_step,
)
from tenon.passes.machine.target import Target
from tenon.passes.pass_manager import PassError, PassManager
from tenon.passes.sched.planning.fusion_cost import Estimate, operations_of
from tenon.passes.sched.planning.fusion_rules import Decision
from tenon.passes.sched.planning.plan import plan_kernels
from xdsl.dialects import func

TARGETS = {"v2": Target(vector_nbytes=16), "v3": Target(vector_nbytes=32), "v4": Target(vector_nbytes=64)}


def decided(text: str, target: Target, with_figures: bool = True) -> Decision:
    """Returns the decision about %v."""
    (function,) = parse_module(text).ops
    assert isinstance(function, func.FuncOp)
    (decision,) = (
        decision
        for op, decision in plan_kernels(function, target, with_figures).all_decisions()
        if isinstance(op, graph.GraphOp) and op.results[0].name_hint == "v"
    )
    return decision


def figures(decision: Decision) -> tuple[str, str]:
    found = re.search(r"about ([0-9.]+ .s) together, ([0-9.]+ .s) apart", decision.why)
    assert found is not None, decision.why
    return found[1], found[2]


def chain(rows: int, columns: int) -> str:
    t = f"tensor<{rows}x{columns}xf32>"
    return f"""func.func @f(%x: {t}) -> {t} {{
      %v = graph.neg %x : {t}
      %y = graph.abs %v : {t}
      func.return %y : {t}
    }}"""


def spread(rows: int, columns: int) -> str:
    """A heavy row, which every row of the result is multiplied with."""
    row, t = f"tensor<{columns}xf32>", f"tensor<{rows}x{columns}xf32>"
    return f"""func.func @f(%r: {row}, %x: {t}) -> {t} {{
      %v = graph.exp %r : {row}
      %b = graph.broadcast %v : {row} -> {t}
      %y = graph.mul %b, %x : {t}
      func.return %y : {t}
    }}"""


def columns_onto(rows: int, columns: int, permuted: bool) -> str:
    """The sums of columns, multiplied with a matrix or with its transpose."""
    t, row = f"tensor<{rows}x{columns}xf32>", f"tensor<{columns}xf32>"
    if not permuted:
        return f"""func.func @f(%x: {t}) -> {t} {{
          %v = graph.reduce add %x axes [0] : {t} -> {row}
          %b = graph.broadcast %v : {row} -> {t}
          %y = graph.mul %b, %x : {t}
          func.return %y : {t}
        }}"""
    p, column = f"tensor<{columns}x{rows}xf32>", f"tensor<{columns}x1xf32>"
    return f"""func.func @f(%x: {t}) -> {p} {{
      %v = graph.reduce add %x axes [0] : {t} -> {row}
      %c = graph.reshape %v : {row} -> {column}
      %b = graph.broadcast %c : {column} -> {p}
      %t = graph.permute %x [1, 0] : {t}
      %y = graph.mul %b, %t : {p}
      func.return %y : {p}
    }}"""


def time_text(picoseconds: float) -> str:
    return " ".join(str(Estimate(round(picoseconds), 0)).split()[1:3])


@pytest.mark.parametrize("name", TARGETS)
def test_a_chain_costs_its_operations_and_accesses_by_vectors(name: str):
    target = TARGETS[name]
    # In the first cache: 8 KiB of each array. A load, ops and a store for each vector.
    vectors = 2048 * 4 // target.vector_nbytes
    together = LAUNCH_PS + vectors * (2 + 2) * OPERATION_PS
    apart = 2 * LAUNCH_PS + vectors * 2 * (1 + 2) * OPERATION_PS
    found = figures(decided(chain(1, 2048), target))
    assert found == (time_text(together), time_text(apart))


def test_what_fits_no_first_cache_costs_its_lines_and_what_fits_none_costs_them_from_afar():
    target = TARGETS["v4"]
    lines = (64 << 10) // LINE_NBYTES
    near = LAUNCH_PS + lines * 4 * OPERATION_PS + 2 * lines * LINE_PS
    assert figures(decided(chain(16, 1024), target))[0] == time_text(near)
    lines = (4 << 20) // LINE_NBYTES
    # A line is loaded; another one is loaded, changed and stored.
    far = LAUNCH_PS + 3 * lines * FAR_LINE_PS
    assert figures(decided(chain(1024, 1024), target))[0] == time_text(far)


def test_accesses_without_neighbours_take_an_operation_for_each_lane():
    assert [access_operations(stride, 8, 1.0) for stride in (0, 1, 2, -1, None)] == [1.0, 1.0, 8.0, 8.0, 8.0]
    assert lines_of_step(0, 8, 4) == 0.0
    assert lines_of_step(1, 16, 4) == 1.0
    assert lines_of_step(1000, 1, 4) == lines_of_step(None, 1, 4) == 1.0
    assert LATENCY > 1


def test_operations_are_counted_as_those_of_what_they_become():
    module = parse_module(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n%a = graph.exp %x : tensor<4xf32>\n"
        "%b = graph.div %a, %x : tensor<4xf32>\n%c = graph.add %b, %a : tensor<4xf32>\n"
        "%d = graph.flip %c axes [0] : tensor<4xf32>\nfunc.return %d : tensor<4xf32>\n}"
    )
    counts = [operations_of(op) for op in module.walk() if isinstance(op, graph.GraphOp)]
    assert counts[0] > counts[1] > counts[2] > counts[3] == 0


@pytest.mark.parametrize("name", TARGETS)
def test_a_heavy_row_that_all_rows_read_is_a_kernel_of_its_own(name: str):
    decision = decided(spread(64, 512), TARGETS[name])
    assert (decision.mode, decision.rule) == (ModeKind.MATERIALIZED, "cheaper-apart")


@pytest.mark.parametrize("name", TARGETS)
def test_a_heavy_row_of_sums_stays_where_strips_are_possible_with_these(name: str):
    row, t = "tensor<512xf32>", "tensor<64x512xf32>"
    text = f"""func.func @f(%x: {t}) -> {t} {{
      %s = graph.reduce add %x axes [0] : {t} -> {row}
      %v = graph.exp %s : {row}
      %b = graph.broadcast %v : {row} -> {t}
      %y = graph.mul %b, %x : {t}
      func.return %y : {t}
    }}"""
    assert decided(text, TARGETS[name]).mode is ModeKind.VIRTUAL


@pytest.mark.parametrize("name", TARGETS)
def test_a_heavy_column_that_its_row_reads_is_not(name: str):
    t, column = "tensor<64x512xf32>", "tensor<64x1xf32>"
    text = f"""func.func @f(%r: {column}, %x: {t}) -> {t} {{
      %v = graph.exp %r : {column}
      %b = graph.broadcast %v : {column} -> {t}
      %y = graph.mul %b, %x : {t}
      func.return %y : {t}
    }}"""
    assert decided(text, TARGETS[name]).mode is ModeKind.VIRTUAL


def test_the_decision_flips_where_a_launch_costs_more_than_a_kernel_in_strides():
    modes = [decided(spread(rows, 8), TARGETS["v4"]).mode for rows in (2, 4, 8, 16, 32, 64, 128, 256)]
    assert modes[0] is ModeKind.VIRTUAL
    assert modes[-1] is ModeKind.MATERIALIZED
    assert sorted(modes, key=lambda mode: mode is ModeKind.MATERIALIZED) == modes


def test_sums_of_columns_stay_where_strips_are_possible_and_leave_where_they_are_not():
    for target in TARGETS.values():
        assert decided(columns_onto(512, 512, False), target).mode is ModeKind.LOCAL
        assert decided(columns_onto(512, 512, True), target).rule == "cheaper-apart"


def rotated_in_a_loop(rows: int, columns: int, reads: str, masked: bool = False) -> str:
    """Sums of columns, of what a loop carries or of another matrix, taken off what the loop carries."""
    t, row = f"tensor<{rows}x{columns}xf32>", f"tensor<{columns}xf32>"
    mask = f"""%k = graph.broadcast %i : tensor<i64> -> tensor<{rows}x{columns}xi64>
        %at = graph.iota axis 0 : tensor<{rows}x{columns}xi64>
        %is_left = graph.ge %at, %k : tensor<{rows}x{columns}xi64>
        %z = graph.select %is_left, %y, %c : {t}"""
    return f"""func.func @f(%x: {t}, %o: {t}) -> {t} {{
      %r = graph.scan %i = 20 (%c = %x) : ({t}) -> ({t}) {{
        %v = graph.reduce add {reads} axes [0] : {t} -> {row}
        %b = graph.broadcast %v : {row} -> {t}
        %y = graph.sub %c, %b : {t}
        {mask if masked else ""}
        graph.yield {"%z" if masked else "%y"} : {t}
      }}
      func.return %r : {t}
    }}"""


@pytest.mark.parametrize("name", TARGETS)
def test_sums_of_what_a_loop_stores_over_are_taken_before(name: str):
    kept, read = (decided(rotated_in_a_loop(512, 512, each), TARGETS[name]) for each in ("%o", "%c"))
    assert kept.mode is ModeKind.LOCAL
    assert read.rule == "cheaper-apart"
    # What is copied else, 1 MiB, is read and written.
    together, apart = (figures(each)[0] for each in (read, kept))
    assert together != apart
    # A triangle is half of the work, where it is stored in its place.
    _, whole = figures(read)
    masked = decided(rotated_in_a_loop(512, 512, "%c", masked=True), TARGETS[name])
    assert masked.rule == "cheaper-apart"
    assert float(figures(masked)[1].split()[0]) < float(whole.split()[0])


def test_a_product_of_one_row_is_not_summed_up_element_by_element():
    text = """func.func @f(%a: tensor<256xf32>, %b: tensor<256x256xf32>) -> tensor<f32> {
      %v = graph.contract %a, %b maps [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (k, n)>,
        affine_map<(n, k) -> (n)>] : tensor<256xf32>, tensor<256x256xf32> -> tensor<256xf32>
      %e = graph.exp %v : tensor<256xf32>
      %y = graph.reduce add %e axes [0] : tensor<256xf32> -> tensor<f32>
      func.return %y : tensor<f32>
    }"""
    assert decided(text, TARGETS["v3"]).rule == "cheaper-apart"


def test_nothing_is_decided_by_what_is_read_at_unknown_distances():
    row, t = "tensor<512xf32>", "tensor<64x512xf32>"
    text = f"""func.func @f(%r: tensor<300xf32>, %z: tensor<f32>, %x: {t}) -> {t} {{
      %p = graph.pad %r, %z low [100] high [112] : tensor<300xf32>
      %v = graph.exp %p : {row}
      %b = graph.broadcast %v : {row} -> {t}
      %y = graph.mul %b, %x : {t}
      func.return %y : {t}
    }}"""
    decision = decided(text, TARGETS["v3"])
    assert decision.mode is ModeKind.VIRTUAL
    assert figures(decision)


def test_reasons_tell_figures_where_they_are_asked_for_and_where_there_was_a_choice():
    target = TARGETS["v3"]
    assert decided(chain(4, 8), target, False).why == "computed where it is read"
    why = decided(chain(4, 8), target).why
    assert re.fullmatch(r"computed where it is read; about 103 ns together, 205 ns apart", why)
    returned = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n%v = graph.exp %x : tensor<4xf32>\n"
    assert decided(returned + "func.return %v : tensor<4xf32>\n}", target).why == "returned by the function"
    assert figures(decided(spread(64, 512), target, False))


def test_times_have_three_digits_at_most():
    assert str(Estimate(123_456, 12_345_678)) == "about 123 ns together, 12 us apart"
    assert str(Estimate(1_200_000_000, 345_600_000)) == "about 1.2 ms together, 346 us apart"


def test_a_mode_that_is_asked_for_goes_against_the_estimate():
    asked = 'graph.exp %r {memory_mode = #graph.memory_mode<virtual, "as I like", "">}'
    decision = decided(spread(64, 512).replace("graph.exp %r", asked), TARGETS["v3"], False)
    assert (decision.mode, decision.why) == (ModeKind.VIRTUAL, "as I like")


def test_a_mode_that_is_asked_for_has_no_figures_where_there_was_no_choice():
    row, part = "tensor<100xf64>", "tensor<1xf64>"
    text = f"""func.func @f(%x: {row}, %i: tensor<i64>, %p: {part}) -> {row} {{
      %v = graph.dynamic_update %x[%i], %p {{memory_mode = #graph.memory_mode<materialized, "kept", "">}} :
        {row}[tensor<i64>], {part}
      %y = graph.neg %v : {row}
      func.return %y : {row}
    }}"""
    assert decided(text, TARGETS["v3"]).why == "kept"


def test_what_was_decided_for_a_machine_is_obeyed_for_others():
    """Kernels are planned again from the modes, by a pass that is told of no machine."""
    for target in TARGETS.values():
        for text in (spread(64, 8), columns_onto(512, 512, False), columns_onto(64, 64, True)):
            module = parse_module(text)
            infers = f"infer-memory-modes{{vector-nbytes={target.vector_nbytes} l2-nbytes=65536}}"
            PassManager(f"{infers},convert-graph-to-sched").run(context(), module)


def test_a_machine_without_vectors_is_refused():
    module = parse_module(spread(4, 8))
    message = "infer-memory-modes: vector-nbytes 0, l1-nbytes 49152 and l2-nbytes 1048576 must be 1 or more"
    with pytest.raises(PassError, match=message):
        PassManager("infer-memory-modes{vector-nbytes=0}").run(context(), module)


def given_to(text: str) -> list[Any]:
    generator = np.random.default_rng(3)
    (function,) = parse_module(text).ops
    assert isinstance(function, func.FuncOp)
    return [
        generator.standard_normal(argument.type.get_shape()).astype(np.float32)  # type: ignore[union-attr]
        for argument in function.body.block.args
    ]


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize(
    "text",
    [spread(37, 129), columns_onto(131, 67, True), columns_onto(131, 67, False)],
    ids=["spread", "permuted", "columns"],
)
def test_together_and_apart_give_the_bits_of_the_interpreter(text: str, target: str):
    arrays = given_to(text)
    expected = tenon.compile(text, backend="reference")(*arrays)
    heavy = re.search(r"%v = (graph\.\w+(?: add)? %\w+(?: axes \[0\])?)", text)
    assert heavy is not None
    apart = f'{heavy[1]} {{memory_mode = #graph.memory_mode<materialized, "asked for", "">}}'
    for program in (text, text.replace(heavy[1], apart)):
        found = tenon.compile(program, target=target)(*arrays)
        np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-5)
    both = [tenon.compile(each, target=target)(*arrays) for each in (text, text.replace(heavy[1], apart))]
    assert both[0].tobytes() == both[1].tobytes()

"""What linked programs do on every platform: names, symbols, inputs and outputs, order, batches."""

import numpy as np
import pytest
import tenon
from tenon.errors import CallError, ContextError, MemoryModeError, TenonError
from tenon.runtime.platforms.device import Device
from tenon.runtime.platforms.platform import Platform
from tenon.runtime.platforms.routine import ProgramRoutine
from tenon.runtime.timeline.spans import Category
from tenon.runtime.timeline.timeline import record_timeline

from .open_platforms import (
    COUNT,
    DOUBLE,
    MERGE,
    STEP,
    code_of,
    context_with,
    device,
    node_of,
    numbers,
    platform,
)

__all__ = ["device", "platform"]

HALVE = """
graph.tnode @y : tensor<4xf32> mode on_device
graph.tnode @z : tensor<4xf32> mode on_device
func.func @halve() {
  %y = graph.read @y : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<4xf32>
  %z = graph.mul %y, %half : tensor<4xf32>
  graph.write @z, %z : tensor<4xf32>
  func.return
}
"""

SET_ROW = """
graph.tnode @x : tensor<5x4xf32> mode on_device
graph.tnode @row : tensor<4xf32> mode on_device
func.func @set_row(%i: index) {
  %row = graph.read @row : tensor<4xf32>
  graph.write @x[%i], %row : tensor<4xf32>
  func.return
}
"""

ADD_ROWS = """
graph.tnode @x : tensor<5x4xf32> mode on_device
func.func @add_rows(%from: index, %to: index) {
  %row = graph.read @x[%from] : tensor<4xf32>
  graph.write add @x[%to], %row : tensor<4xf32>
  func.return
}
"""

NEXT = """
graph.tnode @w : tensor<4xf32> mode on_device
func.func @next() {
  %w = graph.read @w : tensor<4xf32>
  %two = graph.constant dense<2.0> : tensor<4xf32>
  %one = graph.constant dense<1.0> : tensor<4xf32>
  %twice = graph.mul %w, %two : tensor<4xf32>
  %next = graph.add %twice, %one : tensor<4xf32>
  graph.write @w, %next : tensor<4xf32>
  func.return
}
"""


def program_routine(routine: object) -> ProgramRoutine:
    assert isinstance(routine, ProgramRoutine)
    return routine


def step_on(device: Device) -> tuple[ProgramRoutine, tenon.TensorNode, tenon.TensorNode, tenon.TensorNode]:
    """Returns `STEP` on a device, and x, w, y."""
    code = code_of(device.platform, STEP)
    x, w, y = (code.nodes[name] for name in "xwy")
    context = context_with(device, x=(x, numbers(100, 4)), w=(w, numbers(4, start=1)))
    return program_routine(context.link(code)), x, w, y


def test_a_routine_computes_what_its_program_says(device: Device):
    routine, _, w, y = step_on(device)
    routine.run(i=3)
    assert routine.context.to_host(y).tolist() == [12, 26, 42, 60]
    assert routine.context.to_host(w).tolist() == [13, 28, 45, 64]


def test_a_routine_knows_its_name_and_nodes(device: Device):
    routine, x, w, y = step_on(device)
    assert routine.name == "step"
    assert set(routine.inputs) == {x, w}
    assert set(routine.outputs) == {w, y}
    assert routine.merge_buffer_input is None
    assert routine.device is device
    assert repr(routine).startswith(f"<Routine step on {device.name} (")


def test_linking_gives_memory_to_what_the_context_lacks(device: Device):
    code = code_of(device.platform, STEP)
    x, w, y = (code.nodes[name] for name in "xwy")
    context = context_with(device, x=(x, numbers(100, 4)), w=(w, numbers(4)))
    routine = context.link(code)
    assert routine.context.parent is context
    assert routine.context.delta == (y,)
    assert y not in context
    assert routine.context.optimize_context is code.optimize_context


def test_code_is_linked_on_any_device_any_number_of_times(platform: Platform):
    code = code_of(platform, COUNT)
    w = code.nodes["w"]
    contexts = [device.make_context().init_zeros(w) for device in platform.devices for _ in range(2)]
    routines = [context.link(code) for context in contexts]
    for times, routine in enumerate(routines):
        for _ in range(times):
            routine.run()
    assert [context.to_host(w)[0] for context in contexts] == [0, 1, 2, 3]


def test_two_routines_of_one_context_work_on_the_same_nodes(device: Device):
    code = code_of(device.platform, COUNT)
    w = code.nodes["w"]
    context = device.make_context().init_zeros(w)
    first, second = context.link(code), context.link(code)
    first.run()
    second.run()
    assert context.to_host(w).tolist() == [2] * 4


def test_the_schedule_says_what_will_run(device: Device):
    routine, *_ = step_on(device)
    assert routine.schedule
    assert all(isinstance(line, str) and line for line in routine.schedule)
    assert any("step" in line for line in routine.schedule)


def test_code_knows_its_name_nodes_and_source(platform: Platform):
    code = code_of(platform, STEP)
    assert code.name == "step"
    assert [*code.nodes] == ["x", "w", "y"]
    assert all(code.nodes[name].code_name == name for name in code.nodes)
    assert (code.nodes["x"].dims, code.nodes["x"].dtype) == ((100, 4), np.float32)
    assert code.source
    assert code.platform is platform
    assert repr(code) == f"<Code step for {platform.name}>"


def test_code_and_kernels_may_be_called_something_else(platform: Platform):
    code = platform.compile(DOUBLE, name="twice")
    assert code.name == "twice"
    context = context_with(platform.get_device(0), x=(code.nodes["x"], numbers(4)))
    routine = context.link(code)
    assert routine.name == "twice"
    routine.run()
    assert routine.context.to_host(code.nodes["y"]).tolist() == [0, 2, 4, 6]
    assert not any("double" in line for line in routine.schedule)


# Static symbols


def test_symbols_are_rebound_between_runs(device: Device):
    code = code_of(device.platform, SET_ROW)
    x, row = code.nodes["x"], code.nodes["row"]
    context = device.make_context().init_zeros(x).init_zeros(row)
    routine = program_routine(context.link(code))
    for i in (4, 0, 2):
        context.from_host(row, np.full(4, i + 1, np.float32))
        routine.run(i=i)
    assert context.to_host(x)[:, 0].tolist() == [1, 0, 3, 0, 5]


def test_symbols_keep_their_values(device: Device):
    routine, _, w, _ = step_on(device)
    assert routine.bindings == {"i": None}
    routine.bind(i=1)
    assert routine.bindings == {"i": 1}
    routine.run()
    routine.run()
    assert routine.context.to_host(w).tolist() == [25, 72, 147, 256]
    routine.run(i=0)
    assert routine.bindings == {"i": 0}


def test_queued_runs_keep_the_values_they_were_given(device: Device):
    code = code_of(device.platform, ADD_ROWS)
    x = code.nodes["x"]
    expected = numbers(5, 4)
    context = context_with(device, x=(x, expected))
    routine = context.link(code)
    expected = expected.copy()
    for i in range(40):
        source, target = i * 3 % 5, (i * 7 + 1) % 5
        routine.run(**{"from": source, "to": target})
        expected[target] += expected[source]
    np.testing.assert_array_equal(context.to_host(x), expected)


@pytest.mark.parametrize("value", [0, 99, np.int64(7), np.uint8(7)])
def test_symbols_take_the_integers_of_their_axis(device: Device, value: int):
    routine, *_ = step_on(device)
    routine.run(i=value).sync()
    assert routine.bindings == {"i": int(value)}


@pytest.mark.parametrize("value", [-1, 100, 2**40])
def test_symbols_outside_their_axis_are_refused(device: Device, value: int):
    routine, *_ = step_on(device)
    with pytest.raises(CallError, match=f"step: symbol 'i' is {value}, expected 0 to 99"):
        routine.run(i=value)


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_symbols_are_integers(device: Device, value: object):
    routine, *_ = step_on(device)
    with pytest.raises(CallError, match=r"step: symbol 'i' is .*, expected an integer"):
        routine.run(i=value)  # pyright: ignore[reportArgumentType]


def test_unknown_symbols_are_refused(device: Device):
    routine, *_ = step_on(device)
    with pytest.raises(CallError, match=r"step: there is no symbol 'j' \(symbols: i\)"):
        routine.run(i=1, j=2)
    code = code_of(device.platform, COUNT)
    counting = device.make_context().init_zeros(code.nodes["w"]).link(code)
    with pytest.raises(CallError, match=r"count: there is no symbol 'j' \(symbols: none\)"):
        counting.run(j=2)


def test_symbols_need_values(device: Device):
    routine, *_ = step_on(device)
    with pytest.raises(CallError, match=r"step: symbol 'i' has no value \(hint: run\(i=0\)\)"):
        routine.run()


def test_what_is_refused_binds_nothing(device: Device):
    code = code_of(device.platform, ADD_ROWS)
    routine = program_routine(device.make_context().init_zeros(code.nodes["x"]).link(code))
    routine.bind(**{"from": 1, "to": 2})
    with pytest.raises(CallError, match="symbol 'to' is 9"):
        routine.bind(**{"from": 3, "to": 9})
    assert routine.bindings == {"from": 1, "to": 2}


# Reads and writes


def test_accumulating_writes_need_what_they_add_to(device: Device):
    code = code_of(device.platform, COUNT)
    w = code.nodes["w"]
    routine = device.make_context().link(code)
    assert routine.inputs == (w,) == routine.outputs
    with pytest.raises(ContextError, match=f"count: w was never written on {device.name}"):
        routine.run()


def test_partial_writes_leave_the_rest(device: Device):
    code = code_of(device.platform, SET_ROW)
    x, row = code.nodes["x"], code.nodes["row"]
    context = context_with(device, x=(x, numbers(5, 4)), row=(row, numbers(4, start=100)))
    context.link(code).run(i=2)
    expected = numbers(5, 4)
    expected[2] = [100, 101, 102, 103]
    np.testing.assert_array_equal(context.to_host(x), expected)


def test_partial_writes_need_the_rest(device: Device):
    code = code_of(device.platform, SET_ROW)
    context = context_with(device, row=(code.nodes["row"], numbers(4)))
    with pytest.raises(ContextError, match=f"set_row: x was never written on {device.name}"):
        context.link(code).run(i=2)


def test_reads_are_of_the_time_they_are_made(device: Device):
    code = code_of(device.platform, NEXT)
    w = code.nodes["w"]
    context = device.make_context().init_zeros(w)
    routine = context.link(code)
    for _ in range(10):
        routine.run()
    assert context.to_host(w).tolist() == [2**10 - 1] * 4


def test_a_row_is_read_where_it_is_written(device: Device):
    code = code_of(device.platform, ADD_ROWS)
    x = code.nodes["x"]
    context = context_with(device, x=(x, np.ones((5, 4), np.float32)))
    routine = context.link(code)
    for _ in range(5):
        routine.run(**{"from": 3, "to": 3})
    assert context.to_host(x)[:, 0].tolist() == [1, 1, 1, 32, 1]


# Dependencies


def test_dependencies_between_routines(device: Device):
    double, halve = code_of(device.platform, DOUBLE), None
    halve = device.platform.compile(HALVE, nodes=[double.nodes["y"]])
    assert halve.nodes["y"] is double.nodes["y"]
    context = context_with(device, x=(double.nodes["x"], numbers(4)))
    first = context.link(double)
    second = first.context.link(halve)
    assert second.dependencies_on(first) == {"RAW"}
    assert first.dependencies_on(second) == {"WAR"}
    assert first.dependencies_on(first) == {"WAW"}
    assert second.dependencies_on(second) == {"WAW"}
    first.run()
    second.run()
    assert second.context.to_host(halve.nodes["z"]).tolist() == [0, 1, 2, 3]


def test_a_routine_that_changes_what_it_reads_depends_on_itself(device: Device):
    code = code_of(device.platform, NEXT)
    routine = device.make_context().init_zeros(code.nodes["w"]).link(code)
    assert routine.dependencies_on(routine) == {"RAW", "WAR", "WAW"}


def test_routines_on_other_memory_do_not_depend_on_each_other(platform: Platform):
    code = code_of(platform, NEXT)
    routines = [
        device.make_context().init_zeros(code.nodes["w"]).link(code)
        for device in (*platform.devices, platform.get_device(0))
    ]
    assert routines[0].dependencies_on(routines[1]) == frozenset()
    assert routines[0].dependencies_on(routines[2]) == frozenset()


def test_routines_run_in_order_across_devices(platform: Platform):
    code = code_of(platform, NEXT)
    w = code.nodes["w"]
    first, second = (device.make_context().init_zeros(w) for device in platform.devices)
    there, back = second.device_to_device(w, first), first.device_to_device(w, second)
    assert there is not None and back is not None
    assert there.dependencies_on(first.link(code)) == {"RAW"}
    here, away = first.link(code), second.link(code)
    expected = 0
    for _ in range(10):
        for routine in (here, there, away, back):
            routine.run()
        expected = 4 * expected + 3
    assert first.to_host(w).tolist() == second.to_host(w).tolist() == [np.float32(expected)] * 4


def test_what_is_read_elsewhere_is_not_overwritten_too_soon(platform: Platform):
    """The source changes right after each copy was scheduled: the copies must have the values before."""
    code = code_of(platform, COUNT)
    w = code.nodes["w"]
    source, target = (device.make_context().init_zeros(w) for device in platform.devices)
    counting = source.link(code)
    copy = target.device_to_device(w, source)
    assert copy is not None
    seen: list[np.ndarray] = []
    events = []
    for _ in range(20):
        counting.run()
        copy.run()
        seen.append(np.zeros(4, np.float32))
        events.append(target.queue_to_host(w, seen[-1]))
    for event in events:
        event.sync()
    assert [row[0] for row in seen] == [*range(1, 21)]


# Merge buffers


def test_a_program_reads_the_merge_buffer(platform: Platform):
    code = code_of(platform, MERGE)
    w = code.nodes["w"]
    first, second = (
        context_with(device, w=(w, numbers(4, start=10 * device.ordinal))) for device in platform.devices
    )
    transfer = first.device_to_device(w, second, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)
    assert routine.merge_buffer_input is w
    transfer.run()
    routine.run()
    assert first.to_host(w).tolist() == [10, 12, 14, 16]
    assert second.to_host(w).tolist() == [10, 11, 12, 13]


def test_the_merge_buffer_is_checked_when_a_routine_runs(device: Device):
    code = code_of(device.platform, MERGE)
    w, other = code.nodes["w"], node_of(4, label="other")
    context = context_with(device, w=(w, numbers(4)), other=(other, numbers(4)))
    transfer = context.device_to_device(w, context, into_merge_buffer=True)
    assert transfer is not None
    routine = transfer.context.link(code)
    with pytest.raises(
        ContextError,
        match=r"add_other: the merge buffer holds nothing, expected w "
        r"\(hint: run the routine of device_to_device first\)",
    ):
        routine.run()
    stranger = context.device_to_device(other, context, into_merge_buffer=True)
    assert stranger is not None
    stranger.run()
    with pytest.raises(ContextError, match="add_other: the merge buffer holds other, expected w"):
        routine.run()
    assert context.to_host(w).tolist() == [0, 1, 2, 3]
    transfer.run()
    routine.run()
    assert context.to_host(w).tolist() == [0, 2, 4, 6]


# Batches


def test_a_name_that_several_programs_of_a_batch_have_names_none(platform: Platform):
    batch = platform.compile_batch([DOUBLE, HALVE, DOUBLE], names=["one", "other", "one"])
    assert batch["other"] is batch[1] and batch[0] is not batch[2]
    with pytest.raises(KeyError, match="2 programs of the batch are called one"):
        batch["one"]
    with pytest.raises(KeyError, match="0 programs of the batch are called none"):
        batch["none"]


def test_a_batch_is_compiled_and_linked_together(device: Device):
    batch = device.platform.compile_batch([DOUBLE, HALVE], names=["first", "second"])
    assert len(batch) == 2
    assert repr(batch) == "<CodeBatch (first, second)>"
    first, second = batch
    assert first is not None and second is not None
    assert [code.name for code in (first, second)] == ["first", "second"]
    assert first.nodes["y"] is second.nodes["y"]
    assert batch[1] is second
    context = context_with(device, x=(first.nodes["x"], numbers(4)))
    after, routines = context.link_batch(batch)
    assert {first.nodes[name] for name in "xy"} | {second.nodes["z"]} == {*after.nodes}
    assert after is routines[1].context  # pyright: ignore[reportOptionalMemberAccess]
    assert routines[0].context.parent is context  # pyright: ignore[reportOptionalMemberAccess]
    for routine in routines:
        assert routine is not None
        routine.run()
    assert after.to_host(second.nodes["z"]).tolist() == [0, 1, 2, 3]


def test_only_what_the_occupancy_takes_is_compiled(device: Device):
    asked: list[tuple[str, int]] = []

    def occupancy(name: str, number: int) -> bool:
        asked.append((name, number))
        return number != 1

    batch = device.platform.compile_batch(
        [DOUBLE, "nonsense", HALVE], names=["a", "b", "c"], occupancy=occupancy
    )
    assert asked == [("a", 0), ("b", 1), ("c", 2)]
    assert [code and code.name for code in batch] == ["a", None, "c"]
    assert repr(batch) == "<CodeBatch (a, none, c)>"
    _, routines = device.make_context().link_batch(batch)
    assert [routine and routine.name for routine in routines] == ["a", None, "c"]


def test_the_occupancy_gets_the_functions_names(device: Device):
    asked: list[tuple[str, int]] = []

    def occupancy(name: str, number: int) -> bool:
        asked.append((name, number))
        return name == "halve"

    programs = [DOUBLE, tenon.parse_module(HALVE), HALVE + DOUBLE.replace("@x", "@z").replace("@y", "@v")]
    entries = [None, None, "double"]
    batch = device.platform.compile_batch(programs, entries=entries, occupancy=occupancy)
    assert asked == [("double", 0), ("halve", 1), ("double", 2)]
    assert [code and code.name for code in batch] == [None, "halve", None]
    with pytest.raises(tenon.TenonError, match="<program 0>:1:1: error"):
        device.platform.compile_batch(["nonsense"], occupancy=occupancy)


def test_nodes_tell_what_backends_did_with_them(device: Device):
    code = device.platform.compile(DOUBLE)
    x, y = code.nodes["x"], code.nodes["y"]
    name = device.platform.name
    assert x.backend_info == {name: "@double reads it"}
    assert y.backend_info == {name: "@double writes it"}
    context = device.make_context().make_child([x])
    place = context.buffers[x].location
    assert x.backend_info == {name: "@double reads it", device.name: f"16 bytes at {place}"}
    (merged,) = device.platform.compile(MERGE).nodes.values()
    assert merged.backend_info == {name: "@add_other reads and writes and merges it"}


def test_an_empty_batch_changes_nothing(device: Device):
    batch = device.platform.compile_batch([])
    context = device.make_context()
    after, routines = context.link_batch(batch)
    assert after is context
    assert routines == []
    nothing = device.platform.compile_batch([DOUBLE], occupancy=lambda name, number: False)
    assert context.link_batch(nothing)[1] == [None]


def test_programs_of_the_same_name_may_be_in_one_batch(device: Device):
    batch = device.platform.compile_batch([COUNT, COUNT])
    first, second = batch
    assert first is not None and second is not None
    assert first.nodes["w"] is second.nodes["w"]
    context, routines = device.make_context().init_zeros(first.nodes["w"]).link_batch(batch)
    for routine in routines:
        assert routine is not None
        routine.run()
    assert context.to_host(first.nodes["w"]).tolist() == [2] * 4


def test_a_batch_may_take_entries_of_one_module(device: Device):
    text = HALVE.replace("func.func @halve", "func.func @second") + COUNT.replace("@w", "@v")
    batch = device.platform.compile_batch([text, text], entries=["second", "count"])
    assert [code and code.name for code in batch] == ["second", "count"]
    (code,) = device.platform.compile_batch([text], entries=["count"])
    assert code is not None and [*code.nodes] == ["v"]


@pytest.mark.parametrize("what", ["names", "entries"])
def test_a_batch_has_as_many_names_as_programs(platform: Platform, what: str):
    with pytest.raises(TenonError, match=f"compile_batch: 1 {what} for 2 programs"):
        platform.compile_batch([DOUBLE, COUNT], **{what: ["a"]})


# Matching of declarations and nodes


def test_declarations_stand_for_the_nodes_that_are_given(platform: Platform):
    x = node_of(4, label="input", code_name="x")
    code = platform.compile(DOUBLE, nodes=[x])
    assert code.nodes["x"] is x
    assert code.nodes["y"].code_name == "y"
    routine = context_with(platform.get_device(0), x=(x, numbers(4))).link(code)
    routine.run()
    assert routine.context.to_host(code.nodes["y"]).tolist() == [0, 2, 4, 6]


def test_nodes_without_a_code_name_are_not_matched(platform: Platform):
    x = node_of(4, label="x")
    assert platform.compile(DOUBLE, nodes=[x]).nodes["x"] is not x


def test_each_compile_makes_new_nodes(platform: Platform):
    assert platform.compile(DOUBLE).nodes["x"] is not platform.compile(DOUBLE).nodes["x"]


@pytest.mark.parametrize(("dims", "dtype", "found"), [((5,), "f4", "float32[5]"), ((4,), "i4", "int32[4]")])
def test_nodes_fit_their_declarations(platform: Platform, dims: tuple[int, ...], dtype: str, found: str):
    node = node_of(*dims, dtype=dtype, code_name="x")
    with pytest.raises(ContextError) as caught:
        platform.compile(DOUBLE, nodes=[node])
    assert caught.value.message == f"double: @x is declared as float32[4], but x is {found}"


def test_nodes_have_the_mode_of_their_declarations(platform: Platform):
    node = node_of(4, code_name="x", mode="hosted")
    with pytest.raises(
        MemoryModeError, match=r"on_device \(graph\.tnode @x of double\) conflicts with hosted"
    ):
        platform.compile(DOUBLE, nodes=[node])


def test_a_declaration_without_a_mode_is_kept_on_devices(platform: Platform):
    code = platform.compile(COUNT.replace(" mode on_device", ""))
    w = code.nodes["w"]
    assert w.debug_memory_mode == "materialized (@count uses it, and does not say where it lives)"
    with pytest.raises(MemoryModeError, match=r"virtual \(test\) conflicts with materialized \(@count "):
        w.update_memory_mode("virtual", "test")
    context = platform.get_device(0).make_context().init_zeros(w)
    context.link(code).run()
    assert context.to_host(w).tolist() == [1] * 4


def test_an_initial_value_is_there_before_the_first_run(platform: Platform):
    code = platform.compile(COUNT.replace("mode on_device", "mode on_device = dense<5.0>"))
    w = code.nodes["w"]
    routine = platform.get_device(0).make_context().link(code)
    routine.run()
    assert routine.context.to_host(w).tolist() == [6] * 4


def test_two_programs_declare_one_initial_value(device: Device):
    declared = COUNT.replace("mode on_device", "mode on_device = dense<5.0>")
    first = device.platform.compile(declared)
    w = first.nodes["w"]
    texts = {
        "same": declared.replace("@count", "@same"),
        "none": COUNT.replace("@count", "@none"),
        "zero": declared.replace("@count", "@zero").replace("5.0", "-0.0"),
    }
    others = {
        name: device.platform.compile(text, optimize_context=first.optimize_context)
        for name, text in texts.items()
    }
    routine = device.make_context().link(first)
    routine.run()
    for name in ("same", "none"):
        routine = routine.context.link(others[name])
        routine.run()
    assert routine.context.to_host(w).tolist() == [8] * 4
    with pytest.raises(ContextError, match=r"zero: declares other initial values of .* than count"):
        routine.context.link(others["zero"])
    # Values that somebody else gave it stay, whatever is declared.
    given = context_with(device, w=(w, numbers(4)))
    for code in (first, others["zero"]):
        given = given.link(code).context
    assert given.to_host(w).tolist() == [0, 1, 2, 3]


# What routines are made of


ARRAYS = "func.func @f(%x: tensor<4xf32>) { func.return }"
RESULTS = """func.func @f() -> tensor<4xf32> {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  func.return %one : tensor<4xf32>
}"""


def test_routines_take_no_arrays(platform: Platform):
    with pytest.raises(
        TenonError,
        match=r"@f: argument 0 is tensor<4xf32>, expected index \(hint: graph.read of a tensor node\)",
    ):
        platform.compile(ARRAYS)


def test_routines_give_no_arrays(platform: Platform):
    with pytest.raises(
        TenonError, match=r"@f: gives 1 results, expected none \(hint: graph.write to a tensor node\)"
    ):
        platform.compile(RESULTS)


def test_a_wrong_program_is_an_error_with_its_place(platform: Platform):
    with pytest.raises(TenonError, match=r"train\.mlir:1:"):
        platform.compile("nonsense", filename="train.mlir")


def test_a_program_that_does_nothing_runs(device: Device):
    code = device.platform.compile("func.func @nothing() { func.return }")
    routine = device.make_context().link(code)
    assert (routine.inputs, routine.outputs, routine.schedule) == ((), (), ())
    routine.run().sync()


def test_nodes_without_elements_are_nodes(device: Device):
    code = device.platform.compile(DOUBLE.replace("4xf32", "0xf32"))
    x, y = code.nodes["x"], code.nodes["y"]
    routine = context_with(device, x=(x, numbers(0))).link(code)
    routine.run()
    assert routine.context.to_host(y).shape == (0,)


# The optimisation context


VIRTUAL = ("@y : tensor<4xf32> mode on_device", "@y : tensor<4xf32> mode virtual")


def test_a_virtual_node_is_inlined_in_later_programs(device: Device):
    x = node_of(4, code_name="x")
    first = device.platform.compile(DOUBLE.replace(*VIRTUAL), nodes=[x])
    assert [*first.optimize_context.computations] == ["y"]
    assert device.make_context().link(first).schedule == ()
    second = device.platform.compile(HALVE.replace(*VIRTUAL), optimize_context=first.optimize_context)
    assert second.nodes["x"] is x
    routine = context_with(device, x=(x, numbers(4))).link(second)
    assert routine.inputs == (x,)
    routine.run()
    assert routine.context.to_host(second.nodes["z"]).tolist() == [0, 1, 2, 3]
    assert [*second.optimize_context.computations] == ["y"]


def test_a_virtual_node_that_nothing_computes_is_an_error_with_its_place(platform: Platform):
    with pytest.raises(
        TenonError, match="virtual node @y is read, but nothing is known to write it"
    ) as caught:
        platform.compile(HALVE.replace(*VIRTUAL), filename="halve.mlir")
    assert caught.value.location is not None and caught.value.location.startswith("halve.mlir:")


def test_contexts_carry_the_optimisation_context(device: Device):
    x = node_of(4, code_name="x")
    first = device.platform.compile(DOUBLE.replace(*VIRTUAL), nodes=[x])
    routine = context_with(device, x=(x, numbers(4))).link(first)
    assert routine.context.optimize_context is first.optimize_context
    second = device.platform.compile(
        HALVE.replace(*VIRTUAL), optimize_context=routine.context.optimize_context
    )
    later = routine.context.link(second)
    later.run()
    assert later.context.to_host(second.nodes["z"]).tolist() == [0, 1, 2, 3]


def test_a_batch_inlines_the_virtual_nodes_of_earlier_programs(device: Device):
    x = node_of(4, code_name="x")
    batch = device.platform.compile_batch([DOUBLE.replace(*VIRTUAL), HALVE.replace(*VIRTUAL)], nodes=[x])
    assert [*batch.optimize_context.computations] == ["y"]
    context, routines = context_with(device, x=(x, numbers(4))).link_batch(batch)
    for routine in routines:
        assert routine is not None
        routine.run()
    assert batch[1] is not None
    assert context.to_host(batch[1].nodes["z"]).tolist() == [0, 1, 2, 3]


# What is seen of a run


def test_a_run_is_seen_step_by_step_and_computes_the_same(device: Device):
    routine, _, w, y = step_on(device)
    with record_timeline() as timeline:
        routine.run(i=3).sync()
        assert routine.context.to_host(y).tolist() == [12, 26, 42, 60]
    spans = [span for span in timeline.spans if span.track.thread == device.name]
    steps = [span.args["step"] for span in spans if span.category is Category.KERNEL and "step" in span.args]
    assert sorted(steps) == [*range(len(routine.schedule))]
    assert "step" in [span.name for span in spans if span.category is Category.ROUTINE]
    routine.run(i=0)
    assert routine.context.to_host(w).tolist() == [13, 56, 135, 256]


def test_the_memory_plan_is_what_is_held(device: Device):
    routine, *_ = step_on(device)
    plan = routine.memory_plan()
    assert plan.name == "step"
    assert len(plan.steps) == len(routine.schedule)
    assert sum(pool.nbytes for pool in plan.pools) == device.used_memory
    by_name = {buffer.name.removeprefix("@"): buffer for buffer in plan.buffers}
    for node in routine.context.nodes:
        location = routine.context.buffer_of(node, "test").location
        planned = by_name[node.debug_name]
        assert (planned.pool_id, planned.offset) == (location.pool_id, location.offset)
    routine.context.finalize()
    with pytest.raises(ContextError, match=f"step: the context on {device.name} is finalized"):
        routine.memory_plan()

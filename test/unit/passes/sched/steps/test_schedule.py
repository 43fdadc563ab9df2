"""Schedules from Python: steps, their record, their errors, and programs compiled with them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tenon
from tenon import Schedule, TenonError

MATMUL = """
sched.kernel @mm(%a: memref<20x30xf32>, %b: memref<30x24xf32>, %c: memref<20x24xf32>) {
  sched.axis %i = 20 {
    sched.axis %j = 24 {
      %s = sched.reduce fma %k = 30 : f32 {
        %x = memref.load %a[%i, %k] : memref<20x30xf32>
        %y = memref.load %b[%k, %j] : memref<30x24xf32>
        sched.yield %x, %y : f32
      }
      memref.store %s, %c[%i, %j] : memref<20x24xf32>
    }
  }
}
"""

PROGRAM = """func.func @mm(%a: tensor<20x30xf32>, %b: tensor<30x24xf32>) -> tensor<20x24xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>] : tensor<20x30xf32>, tensor<30x24xf32> -> tensor<20x24xf32>
  func.return %c : tensor<20x24xf32>
}
"""


STEPS = "split, reorder, fuse, map, distribute, compute_at, stage, partition, prefetch, pack"


def blocked(schedule: Schedule) -> None:
    rows, row = schedule.split("i", 8)
    columns, column = schedule.split("j", 8)
    schedule.reorder(rows, columns, row, column)
    schedule.map({rows: "block(2)", column: "vector(8)"})


def test_steps_are_json_and_replay_to_the_same_kernel():
    schedule = Schedule(MATMUL)
    assert schedule.axes() == ["i", "j", "k"]
    assert schedule.buffers() == ["a", "b", "c"]
    blocked(schedule)
    assert schedule.axes() == ["i_outer", "j_outer", "i_inner", "j_inner", "k"]
    steps = json.loads(json.dumps(schedule.steps))
    assert steps[0] == {"step": "split", "axis": "i", "factor": 8}
    again = Schedule(MATMUL).replay(steps)
    assert repr(again) == repr(schedule)
    assert again.steps == schedule.steps
    assert schedule.keeps_order


def test_what_is_done_to_the_record_does_not_change_it():
    schedule = Schedule(MATMUL)
    schedule.reorder("j", "i")
    schedule.steps[0]["axes"].append("k")
    assert schedule.steps == [{"step": "reorder", "axes": ["j", "i"]}]


def test_a_schedule_knows_whether_an_order_may_have_changed():
    schedule = Schedule(MATMUL)
    schedule.split("k", 6)
    assert schedule.keeps_order
    schedule.reorder("k_inner", "k_outer", allow_reorder=True)
    assert not schedule.keeps_order


def test_values_without_names_are_called_as_they_are_printed():
    schedule = Schedule(
        """
        sched.kernel @f(%0: memref<20x30xf32>, %1: memref<20x30xf32>) {
          sched.axis %2 = 20 {
            sched.axis %3 = 30 {
              %4 = memref.load %0[%2, %3] : memref<20x30xf32>
              memref.store %4, %1[%2, %3] : memref<20x30xf32>
            }
          }
        }
        """
    )
    assert (schedule.axes(), schedule.buffers()) == (["2", "3"], ["0", "1"])
    with pytest.raises(TenonError, match=r"reorder-axes: sched.axis %2 of @f: it is named twice$"):
        schedule.reorder("3", "2", "2")
    schedule.map({"2": "block(4)", "3": "vector(8)"})
    for name in schedule.axes():
        assert f"sched.axis %{name} = " in str(schedule)


def test_fused_axes_have_the_names_of_both():
    schedule = Schedule(MATMUL)
    assert schedule.fuse("i", "j") == "i_j"
    assert schedule.axes() == ["i_j", "k"]


def test_a_name_that_is_taken_gets_a_letter():
    schedule = Schedule(MATMUL.replace("%x", "%i_outer"))
    assert schedule.split("i", 4) == ("i_outer_a", "i_inner")


def test_an_illegal_step_says_why_and_leaves_the_kernel_as_it_was():
    schedule = Schedule(MATMUL)
    before = repr(schedule)
    with pytest.raises(TenonError) as caught:
        schedule.split("i", 0)
    assert caught.value.message == "split-axis: sched.axis %i of @mm: factor 0 is not 1 or more"
    assert caught.value.location == "<string>:3:3"
    with pytest.raises(TenonError, match=r"stride is 30, expected -1, 0 or 1"):
        schedule.map({"j": "unroll(2)", "i": "vector(4)"})
    assert repr(schedule) == before and schedule.steps == []


@pytest.mark.parametrize(
    ("step", "text"),
    [
        ({"step": "zap"}, f"schedule: 'zap' is no step, expected one of {STEPS}"),
        ({}, f"schedule: None is no step, expected one of {STEPS}"),
        ({"step": "split", "axis": "i"}, "schedule: step 'split' lacks 'factor'"),
        (
            {"step": "split", "axis": "i", "factor": "8"},
            "schedule: 'factor' of step 'split' is '8', expected int",
        ),
        (
            {"step": "reorder", "axes": ["i", 3]},
            "schedule: 'axes' of step 'reorder' is ['i', 3], expected a list of str",
        ),
        (
            {"step": "split", "axis": "i", "factor": 2, "tail": True},
            "schedule: step 'split' takes axis, factor, allow_reorder, serial, found 'tail'",
        ),
    ],
)
def test_a_step_that_is_none_is_an_error(step: dict[str, Any], text: str):
    with pytest.raises(TenonError) as caught:
        Schedule(MATMUL).replay([step])
    assert caught.value.message.startswith(text)


def test_a_step_that_no_mapping_allows_leaves_the_kernel_as_it_was():
    grouped = Schedule(MATMUL)
    grouped.map({"i": "block(4)"})
    before = repr(grouped)
    with pytest.raises(TenonError, match=r"reorder-axes: @mm: sched.axis: axis %i cannot be block\(4\)"):
        grouped.reorder("j", "i")
    assert repr(grouped) == before
    assert len(grouped.steps) == 1
    grouped.split("j", 5)  # What is still possible is done.
    tiled = Schedule(MATMUL)
    tiled.map({"j": "tile(8)"})
    with pytest.raises(TenonError, match=r"split-axis: @mm: .*cannot be tile\(8\).* map the loops after it"):
        tiled.split("k", 4, serial=True)
    mapped_later = Schedule(MATMUL)
    mapped_later.reorder("j", "i")
    mapped_later.map({"j": "block(4)"})


def test_a_kernel_that_cannot_run_yet_may_be_scheduled_on():
    schedule = Schedule(
        """
        sched.kernel @f(%x: memref<8x4xf32>) {
          sched.axis %j = 4 {
            sched.axis %i = 8 block {
              %v = memref.load %x[%i, %j] : memref<8x4xf32>
              memref.store %v, %x[%i, %j] : memref<8x4xf32>
            }
          }
        }
        """
    )
    schedule.split("j", 2)
    schedule.map({"j_outer": "block", "j_inner": "block"})


def test_what_is_no_list_of_steps_is_an_error():
    step = {"step": "split", "axis": "i", "factor": 8}
    for wrong in ("abc", None, step, [3], {3}):
        with pytest.raises(TenonError) as caught:
            Schedule(MATMUL).replay(wrong)  # pyright: ignore
        assert caught.value.message == f"schedule: the steps are {wrong!r}, expected a list of objects"
        with pytest.raises(TenonError) as caught:
            tenon.compile(PROGRAM, schedules={"mm_0": wrong})  # pyright: ignore
        text = f"compile: the schedule of @mm_0 is {wrong!r}, expected a function or a list of steps"
        assert caught.value.message == text
    assert Schedule(MATMUL).replay((step,)).steps == [step]
    with pytest.raises(
        TenonError, match=r"^compile: schedules is 'abc', of type str, expected schedules by "
    ):
        tenon.compile(PROGRAM, schedules="abc")  # pyright: ignore


def test_what_is_no_mapping_or_layout_is_an_error():
    schedule = Schedule(MATMUL)
    with pytest.raises(TenonError, match=r"^schedule: what map takes is 'i', expected words by axis$"):
        schedule.map("i")  # pyright: ignore
    for wrong in (None, "kj"):
        with pytest.raises(TenonError) as caught:
            schedule.pack("i", "b", wrong)  # pyright: ignore
        text = f"schedule: 'layout' of step 'pack' is {wrong!r}, expected a list of str"
        assert caught.value.message == text
    assert schedule.steps == []
    schedule.pack("i", "b", ("k", "j"))
    assert schedule.steps == [{"step": "pack", "axis": "i", "buffer": "b", "layout": ["k", "j"]}]


def test_a_schedule_is_of_a_kernel():
    for wrong in (None, 3, b"text"):
        with pytest.raises(TenonError) as caught:
            Schedule(wrong)  # pyright: ignore
        text = f"schedule: the kernel is {wrong!r}, expected a sched.kernel or the text of one"
        assert caught.value.message == text


def test_a_text_must_have_one_kernel():
    with pytest.raises(TenonError, match=r"^schedule: 0 kernels, expected one \(none\)$"):
        Schedule("")
    with pytest.raises(TenonError, match=r"^schedule: 2 kernels, expected one \(mm, other\)$"):
        Schedule(MATMUL + MATMUL.replace("@mm", "@other"))


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_programs_run_with_schedules_of_their_kernels(backend: str):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((20, 30)).astype(np.float32)
    b = rng.standard_normal((30, 24)).astype(np.float32)
    expected = tenon.compile(PROGRAM, backend=backend)(a, b)
    recorded: list[list[dict[str, Any]]] = []

    def schedule(kernel: Schedule) -> None:
        blocked(kernel)
        recorded.append(kernel.steps)

    by_function = tenon.compile(PROGRAM, backend=backend, schedules={"mm_0": schedule})
    np.testing.assert_array_equal(by_function(a, b), expected)
    by_steps = tenon.compile(PROGRAM, backend=backend, schedules={"mm_0": recorded[0]})
    np.testing.assert_array_equal(by_steps(a, b), expected)
    assert "sched.axis %i_outer = 3 block(2) {" in by_function.stages["sched"]
    assert 'schedule = "asked for: split, split, reorder, map"' in by_function.stages["sched"]
    assert by_steps.stages["sched"] == by_function.stages["sched"]
    assert by_steps.stages["low"] == by_function.stages["low"]


def test_a_kernel_that_is_not_there_is_an_error_that_lists_those_that_are():
    with pytest.raises(TenonError, match=r"there is no sched.kernel @f \(kernels: @mm_0\)"):
        tenon.compile(PROGRAM, schedules={"f": blocked})


def test_schedules_are_for_the_default_pipeline():
    with pytest.raises(TenonError, match=r"^compile: schedules and pipeline exclude each other"):
        tenon.compile(PROGRAM, pipeline="default-pipeline", schedules={"mm_0": blocked})
    with pytest.raises(
        TenonError,
        match=r"^compile: schedules are for level sched or low of the reference backend, found None$",
    ):
        tenon.compile(PROGRAM, backend="reference", schedules={"mm_0": blocked})
    with pytest.raises(TenonError, match=r"^compile: steps of a schedule are no JSON \("):
        tenon.compile(PROGRAM, schedules={"mm_0": [{"step": "split", "axis": "i", "factor": object()}]})


def test_the_reference_runs_scheduled_kernels():
    a, b = np.ones((20, 30), np.float32), np.ones((30, 24), np.float32)
    executable = tenon.compile(PROGRAM, backend="reference", level="sched", schedules={"mm_0": blocked})
    np.testing.assert_array_equal(executable(a, b), np.full((20, 24), 30, np.float32))


SIZED = """
graph.dim @n min 1 max 40
func.func @f(%x: tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>> {
  %y = graph.add %x, %x : tensor<?xf32, #graph.dims<n>>
  func.return %y : tensor<?xf32, #graph.dims<n>>
}
"""


def test_programs_over_named_dims_are_scheduled_for_all_sizes_but_special_ones():
    def schedule(kernel: Schedule) -> None:
        outer, inner = kernel.split("i", 8)
        kernel.map({outer: "block", inner: "vector(4)"})

    executable = tenon.compile(SIZED, schedules={"f_0": schedule}, specialize={"n": [5]})
    for size in (1, 5, 8, 23, 40):
        x = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(executable(x), x + x)

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from tenon.backends.registry import get_backend
from tenon.dialects import sched
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.sched.steps.loop_nests.loops import loops_of
from tenon.tools.tune.candidates import Candidate, neighbours, starts
from tenon.tools.tune.kernels import TunableProgram, sizes_of, tunable_program
from tenon.tools.tune.report import KernelReport
from tenon.tools.tune.search import Deadline, KernelSearch

PROGRAM = """
func.func @f(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %y = graph.exp %x : tensor<16x32xf32>
  func.return %y : tensor<16x32xf32>
}
"""


def program_of(text: str) -> TunableProgram:
    module = parse_module(text, "f")
    return tunable_program(module, find_entry(module, None), get_backend("llvm", "x86-64-v4"))


class FakeBench:
    """
    Takes as long as `time_of` says for what the loops of a kernel are mapped to, by name. `is_wrong` says
    which kernels give other results, `fails` which cannot be compiled.
    """

    def __init__(
        self,
        time_of: Callable[[dict[str, Any]], float],
        is_wrong: Callable[[dict[str, Any]], bool] = lambda mappings: False,
        fails: Callable[[dict[str, Any]], bool] = lambda mappings: False,
    ) -> None:
        self.time_of = time_of
        self.is_wrong = is_wrong
        self.fails = fails
        self.tried: list[str] = []
        self.default = self.compiled(program_of(PROGRAM).kernels[0].op)

    def compiled(self, kernel: sched.KernelOp) -> dict[str, Any]:
        mappings: dict[str, Any] = {name: loop.mapping for name, loop in loops_of(kernel).items()}  # pyright: ignore
        self.tried.append(str(kernel))
        if self.fails(mappings):
            raise TenonError("it is too much: for this device")
        return mappings

    def difference(self, compiled: dict[str, Any]) -> str | None:
        return "3 of 4 elements differ" if self.is_wrong(compiled) else None

    def nanoseconds(self, compiled: dict[str, Any]) -> int:
        return round(self.time_of(compiled))


def searched(bench: FakeBench, seconds: float = 200, seed: int = 0, step: float = 1.0) -> KernelReport:
    """Searches by a clock that goes on by `step` each time it is read."""
    program = program_of(PROGRAM)
    ticks = count()
    deadline = Deadline(lambda: step * next(ticks), seconds)
    return KernelSearch(program, program.kernels[0], bench, deadline, 1.0, seed).run()


def lanes_of(mappings: dict[str, Any]) -> int:
    return max(mapping.vector.data for mapping in mappings.values())


def unroll_of(mappings: dict[str, Any]) -> int:
    return max(mapping.unroll.data for mapping in mappings.values())


def test_what_is_faster_is_found_and_its_steps_are_given():
    report = searched(FakeBench(lambda mappings: 1000 / lanes_of(mappings) + 100 / unroll_of(mappings)), 400)
    assert report.why == "faster"
    assert report.steps[-1]["step"] == "map"
    assert any("vector(16)" in words and "unroll(16)" in words for words in report.steps[-1]["mappings"])
    assert report.gain > 1
    assert report.best_ns < report.default_ns


def test_the_default_stays_where_nothing_is_faster():
    report = searched(FakeBench(lambda mappings: 1000))
    assert (report.steps, report.gain, report.why) == ((), 1.0, "no schedule was faster")
    assert report.best_ns == report.default_ns == 1000
    assert report.measured > 10


def test_a_gain_within_the_margin_is_none():
    report = searched(FakeBench(lambda mappings: 980 if unroll_of(mappings) == 4 else 1000))
    assert (report.steps, report.why) == ((), "not faster by 3 % when it was measured again")


def test_a_gain_that_does_not_last_is_none():
    calls = count()

    def time_of(mappings: dict[str, Any]) -> float:
        return 500 if unroll_of(mappings) == 4 and next(calls) < 5 else 1000

    report = searched(FakeBench(time_of))
    assert (report.steps, report.why) == ((), "not faster by 3 % when it was measured again")


def test_a_schedule_with_other_results_is_rejected_however_fast_it_is():
    def has_lanes(mappings: dict[str, Any]) -> bool:
        return unroll_of(mappings) > 1

    report = searched(FakeBench(lambda mappings: 1 if has_lanes(mappings) else 1000, is_wrong=has_lanes))
    assert report.steps == ()
    assert report.rejected["other results: 3 of 4 elements differ"] > 1


def test_a_schedule_that_cannot_be_compiled_is_rejected_with_the_reason():
    report = searched(FakeBench(lambda mappings: 1000, fails=lambda mappings: unroll_of(mappings) > 4))
    assert report.rejected["for this device"] > 1


def test_the_same_seed_tries_the_same_in_the_same_order():
    first, again, other = (FakeBench(lambda mappings: 1000 / lanes_of(mappings)) for _ in range(3))
    assert searched(first, seed=1) == searched(again, seed=1)
    searched(other, seed=2)
    assert first.tried == again.tried != other.tried


def test_nothing_is_tried_twice():
    bench = FakeBench(lambda mappings: 1000)
    searched(bench, 1e9)
    tried = bench.tried[1:]
    assert len(set(tried)) == len(tried) > 50


def test_the_search_ends_in_time():
    clock = count()
    ends: list[float] = []
    program = program_of(PROGRAM)

    def now() -> float:
        ends.append(next(clock))
        return ends[-1]

    KernelSearch(program, program.kernels[0], FakeBench(lambda mappings: 1000), Deadline(now, 60), 1.0).run()
    assert ends[-1] <= 60 + 5


def test_without_time_nothing_is_tried():
    report = searched(FakeBench(lambda mappings: 1000), 0.5)
    assert (report.measured, report.why) == (0, "no time was left for it")


def test_a_piece_of_work_is_not_begun_that_would_end_late():
    times = iter([10.0, 10.0, 15.0, 16.0])
    deadline = Deadline(lambda: next(times), 20)
    assert deadline.has_time()
    deadline.note(4.0)
    assert not deadline.has_time()
    deadline.end = 23
    assert deadline.has_time()


def test_starts_are_changes_of_the_loops_with_default_mappings():
    program = program_of(PROGRAM)
    kernel = program.kernels[0].op
    found = list(starts(kernel, lambda op: None))
    steps = [[step["step"] for step in candidate.structure] for candidate in found]
    assert steps[0] == []
    assert ["reorder"] in steps
    assert ["split"] in steps
    assert ["split", "split", "reorder"] in steps


def test_neighbours_differ_in_one_number():
    program = program_of(PROGRAM)
    kernel = program.kernels[0].op
    (first, *_) = starts(kernel, lambda op: None)
    near = list(neighbours(first, kernel))
    assert near
    before = dict(first.mappings)
    for candidate in near:
        after = dict(candidate.mappings)
        assert sum(after[name] != before.get(name) for name in after) == 1


def test_a_candidate_that_is_not_legal_is_an_error():
    kernel = program_of(PROGRAM).kernels[0].op
    candidate = Candidate(({"step": "split", "axis": "i", "factor": 1000},), ())
    with pytest.raises(TenonError, match=r"split-axis: .*factor 1000 is more than the extent 16"):
        candidate.scheduled(kernel)


def test_a_program_at_low_has_nothing_to_tune():
    low = (
        "low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {\n}\n"
        + """
    sched.program @f(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32>
        attributes {memory_plan = #sched.memory_plan<pool_nbytes 0, unshared_nbytes 0, peak_nbytes 0>} {
      %y = sched.buffer global result : memref<4xf32>
      %t = sched.transfer %x to %y after() : memref<4xf32>
      %u = sched.launch @k(%y) after(%t) : memref<4xf32>
      sched.return %y after(%u) : memref<4xf32>
    }
    """
    )
    with pytest.raises(TenonError) as error:
        program_of(low)
    assert str(error.value) == "tune: the kernels of @f are at low, where all schedules are chosen"


def test_sizes_are_those_of_the_arguments_or_the_greatest():
    text = """
    graph.dim @n min 1 max 64
    func.func @f(%x: tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>> {
      %y = graph.exp %x : tensor<?xf32, #graph.dims<n>>
      func.return %y : tensor<?xf32, #graph.dims<n>>
    }
    """
    program = program_of(text)
    assert sizes_of(program, [(12,)]) == {"n": 12}
    assert sizes_of(program, []) == {"n": 64}
    assert sizes_of(program_of(PROGRAM), [(16, 32)]) == {}


def test_neighbours_of_all_starts_are_tried_where_there_is_time():
    better = FakeBench(lambda mappings: 900 if unroll_of(mappings) == 4 else 1000)
    plain = FakeBench(lambda mappings: 1000)
    searched(better, 1e9)
    searched(plain, 1e9)
    assert set(plain.tried) <= set(better.tried)


def test_kernels_are_launched_as_their_program_expects():
    (kernel,) = program_of(PROGRAM).kernels
    assert kernel.expected_ns > 1000
    assert (kernel.name, kernel.launches, len(kernel.digest)) == ("f_0", 1, 64)

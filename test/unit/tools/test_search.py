from collections.abc import Callable
from itertools import count, pairwise
from random import Random
from typing import Any

import pytest
from tenon.backends.registry import get_backend
from tenon.dialects import sched
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.sched.steps.loop_nests.loops import loops_of
from tenon.tools.tune.bench import KernelBench
from tenon.tools.tune.candidates import Candidate, neighbours, starts
from tenon.tools.tune.estimate import estimated_cost
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


SMALL = PROGRAM.replace("16x32", "8x9")


def searched(
    bench: FakeBench, seconds: float = 200, seed: int = 0, step: float = 1.0, text: str = PROGRAM
) -> KernelReport:
    """Searches by a clock that goes on by `step` each time it is read."""
    program = program_of(text)
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
    searched(bench, 1e9, text=SMALL)
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
    found = list(starts(kernel, program.mapped))
    steps = [[step["step"] for step in candidate.structure] for candidate in found]
    assert steps[0] == []
    assert ["reorder"] in steps
    assert ["split"] in steps
    assert ["split", "split", "reorder"] in steps


def test_neighbours_differ_in_one_number():
    program = program_of(PROGRAM)
    kernel = program.kernels[0].op
    (first, *_) = starts(kernel, program.mapped)
    near = list(neighbours(first, kernel))
    assert near
    before = dict(first.mappings)
    for candidate in near:
        after = dict(candidate.mappings)
        changed = sum(after[name] != before.get(name) for name in after)
        assert (changed, candidate.structure) == (1, first.structure) or len(candidate.structure) == 1


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
    searched(better, 1e9, text=SMALL)
    searched(plain, 1e9, text=SMALL)
    assert set(plain.tried) <= set(better.tried)


def test_kernels_are_launched_as_their_program_expects():
    (kernel,) = program_of(PROGRAM).kernels
    assert kernel.expected_ns > 1000
    assert (kernel.name, kernel.launches, len(kernel.digest)) == ("f_0", 1, 64)


PRODUCT = """
func.func @f(%a: tensor<40x48xf32>, %b: tensor<48x64xf32>) -> tensor<40x64xf32> {
  %c = graph.contract %a, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
    affine_map<(i, j, k) -> (i, j)>] : tensor<40x48xf32>, tensor<48x64xf32> -> tensor<40x64xf32>
  func.return %c : tensor<40x64xf32>
}
"""

COLUMNS = """
func.func @f(%x: tensor<40x96xf32>) -> tensor<40x96xf32> {
  %y = graph.exp %x {memory_mode = #graph.memory_mode<virtual, "asked for">} : tensor<40x96xf32>
  %s = graph.reduce add %y axes [0] keep : tensor<40x96xf32> -> tensor<1x96xf32>
  %b = graph.broadcast %s : tensor<1x96xf32> -> tensor<40x96xf32>
  %r = graph.div %y, %b : tensor<40x96xf32>
  func.return %r : tensor<40x96xf32>
}
"""

ROWS = COLUMNS.replace("axes [0]", "axes [1]").replace("1x96", "40x1")


def steps_of(candidates: Any) -> set[str]:
    return {step["step"] for candidate in candidates for step in candidate.steps}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PRODUCT, {"map", "split", "reorder", "stage", "pack", "fuse"}),
        (COLUMNS, {"map", "split", "reorder", "distribute", "stage", "compute_at"}),
        (ROWS, {"map", "split", "distribute", "stage"}),
    ],
    ids=["product", "columns", "rows"],
)
def test_schedules_of_all_steps_are_tried_and_compute_the_same(text: str, expected: set[str]):
    program = program_of(text)
    kernel = program.kernels[0]
    first, *others = starts(kernel.op, program.mapped)
    near = list(neighbours(first, kernel.op))
    assert expected <= steps_of([first, *others, *near])
    backend = get_backend("llvm", "x86-64-v3")
    bench = KernelBench(program, kernel, backend, {})
    try:
        legal = 0
        structures: set[str] = set()
        for candidate in (first, *near, *others):
            kind = ",".join(step["step"] for step in candidate.structure)
            if kind in structures:
                continue
            structures.add(kind)
            try:
                compiled = bench.compiled(candidate.scheduled(kernel.op))
            except TenonError:
                continue
            assert bench.difference(compiled) is None, candidate.steps
            legal += 1
        assert legal > 5
    finally:
        bench.close()


def test_the_first_start_is_the_default_schedule():
    for text in (PRODUCT, COLUMNS, ROWS, PROGRAM):
        program = program_of(text)
        kernel = program.kernels[0].op
        first = next(starts(kernel, program.mapped))
        (default,) = program.mapped(kernel)
        assert [str(loop.mapping) for loop in loops_of(first.scheduled(kernel)).values()] == [
            str(loop.mapping) for loop in loops_of(default).values()
        ]


def test_where_the_default_is_no_steps_the_default_passes_do_it_again():
    program = program_of(PROGRAM)
    kernel = program.kernels[0].op
    found = list(starts(kernel, lambda op: []))
    assert [candidate.mappings for candidate in found] == [()] * len(found)
    assert found[0].steps == []


def cost_of(text: str, steps: list[dict[str, Any]]) -> float:
    kernel = program_of(text).kernels[0].op
    return estimated_cost(Candidate(tuple(steps)).scheduled(kernel), 32, {})


def mapped(*axes: str) -> dict[str, Any]:
    names, words = zip(*(axis.split(" ", 1) for axis in axes), strict=True)
    return {"step": "map", "axes": list(names), "mappings": list(words), "allow_reorder": True}


def test_an_estimate_is_less_for_vectors_for_neighbours_and_for_tiles():
    assert cost_of(PROGRAM, [mapped("j vector(8)")]) < cost_of(PROGRAM, []) / 4
    swapped = [{"step": "reorder", "axes": ["j", "i"]}]
    assert cost_of(PROGRAM, swapped) > cost_of(PROGRAM, [])
    assert cost_of(PROGRAM, [mapped("i block")]) > cost_of(PROGRAM, [mapped("i block(8)")])
    tiles = cost_of(PRODUCT, [mapped("i tile(4)", "j tile(16)")])
    assert tiles < cost_of(PRODUCT, [mapped("j vector(8)")]) < cost_of(PRODUCT, [])
    sums = cost_of(ROWS, [])
    assert cost_of(ROWS, [mapped("j vector(8)", "j_1 vector(8)")]) < sums


def test_an_estimate_knows_named_dims_and_loops_of_data():
    text = PROGRAM.replace("16x32xf32>", "?x32xf32, #graph.dims<n, 32>>")
    kernel = program_of("graph.dim @n min 1 max 64\n" + text).kernels[0].op
    assert estimated_cost(kernel, 32, {"n": 64}) > 3 * estimated_cost(kernel, 32, {"n": 16})


def test_what_is_expected_to_be_fast_is_tried_first():
    program = program_of(COLUMNS)
    bench = FakeBench(lambda mappings: 1000)
    ticks = count()
    kernel = program.kernels[0]
    search = KernelSearch(program, kernel, bench, Deadline(lambda: next(ticks), 1e9), 1.0)
    order = search.ordered(neighbours(next(starts(kernel.op, program.mapped)), kernel.op), Random(0))
    costs = [estimated_cost(each.scheduled(kernel.op), program.vector_nbytes, {}) for each in reversed(order)]
    assert len(costs) > 10
    assert all(before <= 1.5 * after for before, after in pairwise(costs))
    assert all("not legal" not in reason for reason in search.rejected)


def test_a_kernel_that_needs_too_much_memory_is_rejected_with_the_reason():
    program = program_of(PROGRAM.replace("16x32", "4096x4096"))
    kernel = program.kernels[0]
    bench = KernelBench(program, kernel, get_backend("llvm", "x86-64-v3"), {})
    try:
        steps = (
            {"step": "split", "axis": "j", "factor": 64},
            {"step": "reorder", "axes": ["j_outer", "i"]},
            {"step": "stage", "axis": "j_outer", "buffer": "x"},
        )
        with pytest.raises(TenonError, match="bytes of private memory, 262144 is the limit"):
            bench.compiled(Candidate(steps).scheduled(kernel.op))
    finally:
        bench.close()

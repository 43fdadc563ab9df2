"""A slice of the fuzzer with fixed seeds, and that it finds, shrinks and survives what it is made for."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects import sched
from tenon.passes.sched.host.build_dependencies import BuildDependenciesPass

from .campaign import Campaign, command, programs
from .draws import Draws
from .expected import Expected
from .kinds import KINDS
from .pool import Worker, run_all
from .reduction import write
from .runner import made, run_one
from .shrink import shrunk, signature
from .ways import KERNELS, TARGETS, draw_way

SEEDS = range(100, 107)
"""The slice: these of each kind."""

PARTS = 4
"""Tests for each kind, so that several processes share them."""


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Programs turn the cache on and off: it is put back afterwards, and has a folder of its own."""
    monkeypatch.setenv("TENON_CACHE", "0")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))
    yield


@pytest.mark.parametrize("part", [pytest.param(0, marks=pytest.mark.processor), *range(1, PARTS)])
@pytest.mark.parametrize("kind", KINDS)
def test_programs_give_what_numpy_gives(kind: str, part: int) -> None:
    for seed in SEEDS[part::PARTS]:
        outcome = run_one(kind, seed)
        assert outcome.status == "right", f"{command(kind, seed, {})}\n{outcome.way}\n{outcome.detail}"
        assert not outcome.is_loose, command(kind, seed, {})


def test_the_slice_has_every_target_and_way() -> None:
    ways = []
    for kind in KINDS:
        for seed in SEEDS:
            program, draws = made(kind, seed, {})
            ways.append(draw_way(draws, program, Expected(program).work))
    assert {way.target for way in ways} == set(TARGETS)
    assert {way.route for way in ways} == {"call", "lower", "module", "text"}
    assert {way.state for way in ways} == {"none", "donated", "nodes", "routine", "devices", "ranks"}
    assert {way.kernels for way in ways} == set(KERNELS)
    assert {way.threads for way in ways} == {1, 2}
    assert any(way.is_cached for way in ways) and any(way.is_dynamic for way in ways)


def test_a_choice_that_is_given_changes_no_other() -> None:
    first, second = Draws("mlp", 5), Draws("mlp", 5, {"a": 3})
    for draws in (first, second):
        draws.integer("a", 0, 9)
        with draws.scope("inner"):
            draws.pick("b", "xyz")
            draws.flag("c")
    assert second.made["a"].value == 3
    assert {k: v for k, v in first.made.items() if k != "a"} == {
        k: v for k, v in second.made.items() if k != "a"
    }
    assert Draws("mlp", 5, {"a": 99}).integer("a", 0, 9) == 9
    np.testing.assert_array_equal(Draws("mlp", 5).normal("w", (3,)), second.normal("w", (3,)))


LLVM = {"way.target": 0, "way.route": 1, "way.state": 0, "way.dynamic": 0, "way.cached": 0, "way.threads": 0}
LLVM |= {"way.kernels": 0, "way.devices": 0, "way.ranks": 0}


def _swap_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a compiler that launches a later kernel of equal arguments in place of another."""
    apply = BuildDependenciesPass.apply

    def wrong(self: BuildDependenciesPass, ctx: Any, module: Any) -> None:
        launches = [op for op in module.walk() if isinstance(op, sched.LaunchOp)]
        for number, first in enumerate(launches):
            for second in launches[number + 1 :]:
                types = [[value.type for value in op.arguments] for op in (first, second)]
                if types[0] == types[1] and first.kernel != second.kernel:
                    second.kernel = first.kernel
                    apply(self, ctx, module)
                    return
        apply(self, ctx, module)

    monkeypatch.setattr(BuildDependenciesPass, "apply", wrong)


def test_a_kernel_that_takes_the_place_of_another_is_found_and_shrunk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _swap_arguments(monkeypatch)
    found = [
        outcome for seed in range(3) if (outcome := run_one("mlp", seed, LLVM | {"layers": 12})).is_failure
    ]
    assert found and {outcome.status for outcome in found} == {"wrong"}
    first = found[0].plain()
    small = shrunk(first, lambda given: run_one("mlp", first["seed"], given).plain(), most_tries=60)
    assert small["status"] == "wrong" and small["ops"] < first["ops"] / 2
    assert run_one("mlp", first["seed"], small["given"]).status == "wrong"
    line = write("mlp", first["seed"], small["given"], "llvm", tmp_path)
    assert line.startswith(f"mlp-{first['seed']}.reduced.mlir: "), line
    least = tenon.parse_module((tmp_path / f"mlp-{first['seed']}.reduced.mlir").read_text(encoding="utf-8"))
    assert sum(1 for op in least.walk() if op.name.startswith("graph.")) < small["ops"]


def test_a_program_that_does_not_fail_by_itself_is_not_reduced(tmp_path: Path) -> None:
    line = write("mlp", 1, {"layers": 1, "scale": 0}, "llvm", tmp_path)
    assert line == "mlp-1.mlir: the module by itself does not fail on llvm"
    assert [path.name for path in tmp_path.iterdir()] == ["mlp-1.mlir"]


def test_an_error_of_some_percent_is_found_in_each_result() -> None:
    """Of every kind: results with one element in a hundred off by 2 % are not let through."""
    for kind in KINDS:
        program, _ = made(kind, 3, {"dtype": 0})
        expected = Expected(program)
        right = [value.array.astype(value.dtype) for value in expected.values]
        assert expected.compare(right).wrong is None, kind
        for number, array in enumerate(right):
            if array.dtype.kind != "f" or not np.any(array):
                continue
            changed = array.copy()
            place = np.unravel_index(np.argmax(np.abs(array)), array.shape)
            changed[place] *= 1.02
            wrong = expected.compare([*right[:number], changed, *right[number + 1 :]]).wrong
            assert wrong is not None and wrong.startswith(f"result {number} of"), (kind, number)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda results: results[:-1], "0 results, expected 1"),
        (lambda results: [results[0].astype(np.float64)], r"result 0 is float64\[.*expected float32"),
        (lambda results: [results[0][None]], r"result 0 is float32\[1, "),
        (lambda results: [results[0] * np.float32("nan")], "result 0 of .* elements differ, first at"),
    ],
)
def test_what_else_is_wrong_with_results_is_said(change: Any, message: str) -> None:
    program, _ = made("convnet", 0, {"dtype": 0, "layers": 1, "ending": 0, "layer0.is_result": 0})
    expected = Expected(program)
    wrong = expected.compare(change([value.array.astype(value.dtype) for value in expected.values])).wrong
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(wrong)


SMALL = {"layers": 1, "scale": 0, **LLVM}


def test_a_worker_that_crashes_is_a_failure_of_its_program_and_not_the_end(tmp_path: Path) -> None:
    with Worker() as worker:
        assert worker.run("mlp", 1, SMALL)["status"] == "right"
        assert worker.process is not None
        os.kill(worker.process.pid, signal.SIGSEGV)
        crashed = worker.run("mlp", 2, SMALL)
        assert crashed["status"] == "crashed" and crashed["seed"] == 2
        assert "Segmentation fault" in crashed["detail"]
        campaign = Campaign(tmp_path / "out", most_tries=2)
        campaign.note(worker, crashed)  # It does not happen again: nothing is smaller.
        assert worker.run("mlp", 3, SMALL)["status"] == "right"
    assert "1 failures" in campaign.progress
    assert command("mlp", 2, SMALL) in campaign.summary()
    assert "crashed" in (tmp_path / "out" / "mlp-2.txt").read_text(encoding="utf-8")


def test_a_program_that_does_not_end_is_a_failure() -> None:
    with Worker(most_seconds=0.01) as worker:
        assert worker.run("mlp", 1, SMALL)["status"] == "hung"


def test_campaigns_run_the_kinds_in_turn_and_stop() -> None:
    assert list(islice(programs(["a", "b"], 7), 3)) == [("a", 7), ("b", 7), ("a", 8)]
    seen: list[Any] = []
    run_all(iter([]), 2, lambda worker, result: seen.append(result), lambda: True)
    run_all(programs(list(KINDS), 0), 2, lambda worker, result: seen.append(result), lambda: False)
    assert seen == []

    def fails(worker: Worker, result: Any) -> None:
        raise KeyError("noticed")

    with pytest.raises(KeyError, match="noticed"):
        run_all(iter([("mlp", 0)]), 1, fails, lambda: True)


def test_signatures_tell_causes_and_not_numbers_apart() -> None:
    def failed(status: str, detail: str) -> dict[str, Any]:
        return {"status": status, "detail": detail}

    one = failed("raised", "PassError: /a/b.py:1:2: error: @main_14_1 takes 3 arguments, got 4\nTraceback")
    other = failed("raised", "PassError: /a/c.py:7:2: error: @main_2 takes 5 arguments, got 3\nTraceback")
    assert signature(one) == signature(other) == "raised: PassError: # takes # arguments, got #"
    assert signature(failed("wrong", "result 1")) == signature(failed("wrong", "result 2")) == "wrong"
    assert signature(failed("crashed", "exit status -11\nmore")) == "crashed: exit status -11"

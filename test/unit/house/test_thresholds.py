"""The numbers in passes that schedule: each is there for a reason that somebody can look at."""

import ast
from pathlib import Path

import pytest
from tenon.passes.machine import tile_shape
from tenon.passes.sched.mapping.contractions import contraction
from tenon.test.unit.library import ROOT

from benchmarks.thresholds import BY_DESIGN, THRESHOLDS, changed, compare, main

ROOMS = ("passes/machine", "passes/graph", "passes/sched/mapping", "passes/sched/planning")
RULES = ("passes/graph/rules",)
"""No rule schedules anything: there are tuples of patterns, and limits of types."""
APART = "passes/sched/mapping/gpu"
"""No number of these was measured: there was no GPU to do it on."""


def numbers() -> set[str]:
    """Returns the numbers at the head of files of the rooms, by file and name."""
    found: set[str] = set()
    for path in (path for room in ROOMS for path in Path(ROOT, room).rglob("*.py")):
        if any(path.is_relative_to(Path(ROOT, room)) for room in (APART, *RULES)):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and _is_number(node.value):
                targets = [
                    each
                    for target in node.targets
                    for each in (target.elts if isinstance(target, ast.Tuple) else [target])
                ]
                found |= {f"{path.stem}.{each.id}" for each in targets if isinstance(each, ast.Name)}
    return found


def _is_number(node: ast.expr) -> bool:
    return all(
        isinstance(each, ast.Constant | ast.BinOp | ast.Tuple | ast.Name | ast.operator | ast.expr_context)
        and not (isinstance(each, ast.Constant) and not isinstance(each.value, int | float))
        for each in ast.walk(node)
    )


def test_each_number_is_measured_or_has_a_reason():
    measured = {threshold.key for threshold in THRESHOLDS}
    assert len(measured) == len(THRESHOLDS)
    assert numbers() == measured | set(BY_DESIGN)
    assert not measured & set(BY_DESIGN)
    for threshold in THRESHOLDS:
        assert threshold.value not in threshold.tried, threshold.key
        assert threshold.workloads or threshold.programs, threshold.key


def test_a_number_is_another_one_wherever_it_was_imported():
    (threshold,) = [each for each in THRESHOLDS if each.key == "tile_shape.MOST_ROWS"]
    with changed(threshold, 5):
        assert tile_shape.MOST_ROWS == contraction.MOST_ROWS == 5
    assert tile_shape.MOST_ROWS == contraction.MOST_ROWS == threshold.value


def test_numbers_are_listed_and_compared(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    assert "chunks.LEAST_CHUNK" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["chunks.NONE"])
    assert "chunks.NONE: not one of " in capsys.readouterr().err
    (threshold,) = [each for each in THRESHOLDS if each.key == "few_rows.STEPS"]
    head, *rows = compare(threshold, 1)
    assert head == ("few_rows.STEPS = 16", "8", "32") and all(len(row) == 3 for row in rows)

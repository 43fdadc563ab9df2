"""Changed text runs or is an error with a place; `test/text_mutations.py` has the whole."""

from collections import Counter

import pytest
from tenon import TenonError
from tenon.dialects.modules.parsing import parse_module
from tenon.test.text_mutations import KINDS, changed_text, outcome, programs


@pytest.mark.parametrize("kind", KINDS)
def test_changed_text_runs_or_is_an_error_with_a_place(kind: str):
    found = Counter(outcome(changed_text(kind, seed)) for seed in range(300))
    assert found["error"] and found["runs"]


def test_what_is_changed_runs():
    assert {outcome(text) for text in programs("stablehlo")} == {"runs"}
    assert outcome(programs("graph")[0]) == "runs"


def test_changes_are_the_same_each_time():
    assert changed_text("graph", 7) == changed_text("graph", 7) != changed_text("graph", 8)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%x: tensor<4xi322147483647>)", "integer types have at most 16777215 bits"),
        ("func.func @f() { %x = stablehlo.constant dense<(0, 1]> : tensor<2xui64> }", "unexpected ]"),
        ('func.func @f(%x: tensor<4xf32>) loc("a":1:2 to 3)', "Expected"),
        ("func.func @f(%x: tensor<4xf32>) loc(#nowhere)", "undefined symbol alias '#nowhere'"),
        ("func.func @f(%x: tensor<4xf32>) loc(elsewhere)", "expected a location"),
        ("func.func @f(%x: tensor<4xf32>) loc(#loc)\n#loc = 4", "expected a location"),
        ("func.func @f(%x: tensor<4xf32>) loc(#loc)\n#loc = loc(#loc)", "nested too deeply"),
    ],
)
def test_wrong_text_is_an_error_at_its_place(text: str, message: str):
    with pytest.raises(TenonError) as caught:
        parse_module(text, "wrong.mlir")
    assert message in str(caught.value)
    assert str(caught.value).startswith("wrong.mlir:")

"""Which actions a debug counter lets through, and how its text is read."""

import re

import pytest
from tenon.errors import TenonError
from tenon.passes.rewriting.debug_counter import (
    APPLY_PATTERN,
    PASS_EXECUTION,
    DebugCounter,
    DebugCounters,
    counting_actions,
    debug_counter,
)


@pytest.mark.parametrize(
    ("skip", "limit", "executed"),
    [
        (0, -1, [1, 2, 3, 4, 5]),
        (0, 0, []),
        (0, 2, [1, 2]),
        (2, -1, [3, 4, 5]),
        (1, 2, [2, 3]),
        (5, 1, []),
        (-1, 0, [1, 2, 3, 4, 5]),
    ],
)
def test_a_counter_skips_the_first_and_stops_after_some(skip: int, limit: int, executed: list[int]):
    counter = DebugCounter(skip, limit)
    assert [number for number in range(1, 6) if counter.should_execute()] == executed
    assert counter.n_actions == 5


def test_text_gives_each_tag_a_counter():
    counters = DebugCounters("apply-pattern-skip=4,apply-pattern-count=1,pass-execution-count=-1")
    assert counters.by_tag[APPLY_PATTERN] == DebugCounter(4, 1)
    assert counters.by_tag[PASS_EXECUTION] == DebugCounter(0, -1)
    assert counters.report() == (
        "DebugCounter counters:\n"
        "apply-pattern                   : {0,4,1}\n"
        "pass-execution                  : {0,0,-1}\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apply-pattern-count", "expected tag-skip=N or tag-count=N, found 'apply-pattern-count'"),
        ("apply-pattern-count=x", "expected tag-skip=N or tag-count=N, found 'apply-pattern-count=x'"),
        ("apply-pattern=1", "'apply-pattern' is not one of apply-pattern-skip, "),
        ("fold-count=1", "'fold-count' is not one of apply-pattern-skip, "),
    ],
)
def test_wrong_text_is_an_error(text: str, message: str):
    with pytest.raises(TenonError, match=f"^{re.escape(f'debug counter: {message}')}"):
        DebugCounters(text)


def test_counters_decide_only_inside():
    counters = DebugCounters("apply-pattern-count=1")
    with counting_actions(counters):
        assert debug_counter(APPLY_PATTERN) is counters.by_tag[APPLY_PATTERN]
        assert debug_counter(PASS_EXECUTION) is None
    assert debug_counter(APPLY_PATTERN) is None

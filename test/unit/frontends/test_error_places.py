"""Errors of numpy's types show the user's line too, where a function is traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

X = np.ones((4, 8), np.float32)


def helper(x: Any) -> Any:
    return tnp.reshape(x, (5, 7))


def caught(function: Any, error: type[Exception]) -> Exception:
    with pytest.raises(error) as found:
        tenon.jit(function)(X)
    return found.value


def notes(error: Exception) -> str:
    return "\n".join(getattr(error, "__notes__", []))


@pytest.mark.parametrize(
    ("function", "error", "line", "at"),
    [
        (lambda x: x @ x, ValueError, "(lambda x: x @ x,", "x @ x"),
        (lambda x: tnp.sum(x, axis=3), np.exceptions.AxisError, "tnp.sum(x, axis=3)", "tnp.sum"),
        (lambda x: x >> 1, TypeError, "(lambda x: x >> 1,", "x >> 1"),
        (lambda x: x[9], IndexError, "(lambda x: x[9],", "x[9]"),
    ],
)
def test_the_line_and_a_caret_are_noted(function: Any, error: type[Exception], line: str, at: str):
    text = notes(caught(function, error))
    place, source, caret = text.split("\n")
    assert place.startswith(__file__) and place.endswith(": here")
    assert line in source
    assert source.index(at) == caret.index("^")


def test_of_a_helper_the_innermost_line_is_noted():
    text = notes(caught(lambda x: helper(x) + 1, ValueError))
    assert "return tnp.reshape(x, (5, 7))" in text


def test_it_is_noted_once_for_functions_in_functions():
    inner = tenon.jit(helper)
    text = notes(caught(lambda x: inner(x), ValueError))
    assert text.count(": here") == 1


def test_errors_of_the_users_own_are_left_alone():
    def fails(x: Any) -> Any:
        raise ValueError("mine")

    assert notes(caught(fails, ValueError)) == ""
    assert notes(caught(lambda x: np.zeros(3).reshape(2, 2), ValueError)) == ""


def test_in_a_branch_the_line_of_the_branch_is_noted():
    def branches(x: Any) -> Any:
        return tenon.cond(
            tnp.sum(x) > 0,
            lambda y: tnp.reshape(y, (3, 3)),
            lambda y: y,
            x,
        )

    assert "lambda y: tnp.reshape(y, (3, 3))," in notes(caught(branches, ValueError))

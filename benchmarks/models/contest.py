"""Puts a row of a model to work in each library, checks that they agree with numpy in f64, and times them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np

from ..contest import DisagreementError, check_answer, reason_of
from ..gate import Gate
from ..harness import Thunk, time_interleaved
from .contenders import MAKERS, of_numpy
from .imported import IMPORTED
from .model import Model, Row, Weights

Outcome = dict[str, Any]
"""
How a row went: `times` by contender; `first`, the seconds of first calls, which compile; `errors`, what those
said that cannot do the work or did another.
"""


def contest(
    model: Model,
    size: str,
    row: Row,
    weights: Weights,
    names: Sequence[str],
    rounds: int,
    block_seconds: float,
    gate: Gate | None,
    most_seconds: float,
) -> Outcome:
    """Returns how a row went for these contenders."""
    scale, inputs = model.scales[size], model.inputs(size, row)
    right = of_numpy(model, scale, weights, inputs)()
    contenders: dict[str, Thunk] = {}
    first: dict[str, float] = {}
    errors: dict[str, str] = {}
    for name in names:
        try:
            make = MAKERS[name] if name in MAKERS else IMPORTED[name][1]
            call = make(model, scale, weights, inputs)
            start = perf_counter()
            answer = call()
            taken = perf_counter() - start
            check_answers(model.row_name(row), name, answer, right)
        except Exception as error:
            # What a library cannot do is told in the report; the others are timed.
            errors[name] = reason_of(error)
        else:
            contenders[name], first[name] = call, taken
    times = time_interleaved(contenders, rounds, block_seconds, gate=gate, most_seconds=most_seconds)
    return {
        "times": {name: asdict(each) for name, each in times.items()},
        "first": first,
        "errors": errors,
    }


def check_answers(what: str, who: str, answer: Any, right: Any) -> None:
    """
    Checks the results of a model against those in f64.

    Raises:
        DisagreementError: their number is another one, or one of them is, as in `check_answer`.
    """
    answers, expected = _flat(answer), _flat(right)
    if len(answers) != len(expected):
        raise DisagreementError(f"{what}: {who} gives {len(answers)} arrays, expected {len(expected)}")
    for one, other in zip(answers, expected, strict=True):
        check_answer(what, who, one, other)


def _flat(value: Any) -> list[Any]:
    return [np.asarray(each) for each in value] if isinstance(value, tuple | list) else [np.asarray(value)]


def warm_up(model: Model, names: Sequence[str]) -> None:
    """Compiles something in each contender: the first call of all also imports compilers."""
    row = model.scales["tiny"].rows[0]
    contest(model, "tiny", row, model.weights("tiny")[0], names, 1, 0, None, 0)

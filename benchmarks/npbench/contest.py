"""Puts a kernel to work in each library, checks that they agree with numpy, and times them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from time import perf_counter
from typing import Any

from ..contest import reason_of
from ..findings import TENON
from ..gate import Gate
from ..harness import Thunk, time_interleaved
from .contenders import MAKERS, Maker, of_numpy, of_tenon
from .kernel import Kernel, check, uniform

Outcome = dict[str, Any]
"""
How a kernel went: `times` by library; `first`, the seconds of first calls, which compile; `errors`, what
those said that cannot do the work or did another; `without`, the libraries for which there is no source.
"""


def contest(
    kernel: Kernel,
    size: str,
    peers: Iterable[str],
    rounds: int,
    block_seconds: float,
    gate: Gate | None,
    most_seconds: float,
) -> Outcome:
    """Returns how a kernel went in Tenon and these peers."""
    arguments, options = kernel.arguments(size), kernel.options(size)
    right = of_numpy(kernel, arguments, options)()
    makers: Mapping[str, Maker] = {TENON: of_tenon, **{name: MAKERS[name] for name in peers}}
    contenders: dict[str, Thunk] = {}
    first: dict[str, float] = {}
    errors: dict[str, str] = {}
    without: list[str] = []
    for name, make in makers.items():
        try:
            call = make(kernel, arguments, options)
            if call is None:
                without.append(name)
                continue
            start = perf_counter()
            answer = call()
            first[name] = perf_counter() - start
            check(kernel, name, answer, right)
        except Exception as error:
            # What a library cannot do is told in the report; the other kernels are timed.
            errors[name] = reason_of(error)
        else:
            contenders[name] = call
    times = time_interleaved(contenders, rounds, block_seconds, gate=gate, most_seconds=most_seconds)
    return {
        "times": {name: asdict(each) for name, each in times.items()},
        "first": first,
        "errors": errors,
        "without": without,
    }


def warm_up(peers: Iterable[str]) -> None:
    """Compiles something in each library: the first call of all also imports compilers."""
    twice = uniform(x=("N",))
    kernel = Kernel("twice", {"tiny": {"N": 4}}, twice, lambda _, x: x + x, loops=_twice)
    contest(kernel, "tiny", peers, 1, 0, None, 0)


def _twice(x: Any) -> Any:
    return x + x

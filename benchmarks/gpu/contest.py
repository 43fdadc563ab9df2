"""Puts a workload on a GPU in each library, checks that they agree with numpy, and times them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..contest import check_answer, reason_of
from ..harness import time_interleaved
from ..peers.numpy_peer import expected
from ..workloads.workload import Workload
from .contenders import Maker
from .queued import Batch, batch_of

Outcome = dict[str, Any]
"""How a workload went: `times` of a call, by library, and what those said that cannot do it: `errors`."""


def contest(
    workload: Workload, makers: Mapping[str, Maker], rounds: int, block_seconds: float, most_seconds: float
) -> Outcome:
    """Returns how a workload went in these libraries."""
    arguments = workload.arguments()
    right = expected(workload, arguments)
    batches: dict[str, Batch] = {}
    errors: dict[str, str] = {}
    for name, make in makers.items():
        try:
            work = make(workload, arguments)
            check_answer(workload.name, name, work.to_host(work.call()), right)
            batches[name] = batch_of(work, block_seconds)
        except Exception as error:
            # What a library cannot do is told in the report; the other workloads are timed.
            errors[name] = reason_of(error)
    runs = {name: batch.run for name, batch in batches.items()}
    times = time_interleaved(runs, rounds, block_seconds=0, most_seconds=most_seconds)
    return {
        "times": {name: asdict(batches[name].times_of_a_call(each)) for name, each in times.items()},
        "errors": errors,
    }

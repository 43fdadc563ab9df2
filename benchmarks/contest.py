"""Puts Tenon, numpy and the peers to work on the same arguments, checks that they agree, and times them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import tenon

from .harness import Thunk, Times, time_interleaved
from .peers.interface import Peer
from .workloads import Workload

BASELINE = "numpy"
RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-4


class DisagreementError(Exception):
    """A contender computed something else than numpy."""


def contest(
    workload: Workload, backends: Sequence[str], peers: Mapping[str, Peer], rounds: int
) -> dict[str, Times]:
    """
    Returns the times of all contenders that know the workload.

    Raises:
        DisagreementError: a contender's answer is not numpy's within the tolerances.
    """
    contenders = _contenders(workload, backends, peers)
    _check(workload.name, contenders)
    return time_interleaved(contenders, rounds)


def _contenders(workload: Workload, backends: Sequence[str], peers: Mapping[str, Peer]) -> dict[str, Thunk]:
    contenders: dict[str, Thunk] = {}
    text = workload.program.read_text()
    for backend in backends:
        executable = tenon.compile(text, backend=backend, filename=str(workload.program))
        contenders[f"tenon {backend}"] = partial(executable, *workload.arguments.values())
    contenders[BASELINE] = partial(workload.in_numpy, **workload.arguments)
    for name, peer in peers.items():
        if workload.name in peer.KERNELS:
            prepared = {key: peer.prepare(array) for key, array in workload.arguments.items()}
            contenders[name] = partial(peer.KERNELS[workload.name], **prepared)
    return contenders


def _check(workload_name: str, contenders: Mapping[str, Thunk]) -> None:
    expected = np.asarray(contenders[BASELINE]())
    for name, call in contenders.items():
        actual = np.asarray(call())
        if actual.shape != expected.shape or actual.dtype != expected.dtype:
            raise DisagreementError(
                f"{workload_name}: {name} gives {actual.dtype}{list(actual.shape)}, "
                f"numpy {expected.dtype}{list(expected.shape)}"
            )
        if not np.allclose(actual, expected, rtol=RELATIVE_TOLERANCE, atol=ABSOLUTE_TOLERANCE):
            difference = float(np.max(np.abs(actual - expected)))
            raise DisagreementError(f"{workload_name}: {name} is off numpy by up to {difference:g}")

"""The collectives that a program has begun and not awaited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...dialects.collective import Collective
from ...errors import RankError
from ...semantics.numpy_types import Array
from ...semantics.world import DeviceRank, Request, World, joined


@dataclass(frozen=True, slots=True)
class _Begun:
    request: Request
    operand: Array
    """Kept alive until it has been sent."""
    result: Array
    results: Sequence[Array]


class PendingCollectives:
    """
    What one program has begun in a world, by channels. It is used by the thread that runs the program. Where
    arrays are parts of the program's memory, nothing is copied; several arrays are sent as one.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._begun: dict[int, _Begun] = {}
        self._device = world if isinstance(world, DeviceRank) else None
        self._session = 0

    def begin(self, collective: Collective, operands: Sequence[Array], results: Sequence[Array]) -> None:
        """
        Begins a collective. The arrays belong to it until it has been waited for.

        Raises:
            RankError: a run before this one has failed between the two, or what `World.begin` raises.
        """
        if self._device is not None and self._session != self._device.session:
            self._begun.clear()
            self._session = self._device.session
        if collective.channel in self._begun:
            raise RankError(
                f"{collective}: a run that failed has begun it, and not waited for it",
                self._world.rank,
                location=collective.where or None,
            )
        operand, result = operands[0], results[0]
        if len(operands) > 1:
            operand = joined(operands)
            result = np.empty_like(operand)
        request = self._world.begin(collective, operand, result)
        self._begun[collective.channel] = _Begun(request, operand, result, results)

    def wait(self, collective: Collective, results: Sequence[Array]) -> None:
        """
        Waits for a collective that has begun, and puts what it gives to `results`: it is there already where
        these are the memory that it was begun with.

        Raises:
            RankError: what `Request.wait` raises.
        """
        begun = self._begun.pop(collective.channel)
        begun.request.wait()
        if len(results) == 1:
            (result,) = results
            if _address(begun.result) != _address(result):
                np.copyto(result, begun.result, casting="no")
            return
        start = 0
        for result in results:
            end = start + result.size
            np.copyto(result, begun.result[start:end].reshape(result.shape), casting="no")
            start = end


def _address(array: Array) -> int:
    # Not `array.ctypes`, which is a new object each time.
    return array.__array_interface__["data"][0]

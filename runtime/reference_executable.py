"""A program that is interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..errors import DeviceError
from .executable import Executable
from .signature import Array, Signature
from .stages import Stages

_TOO_LARGE = ("array is too big", "Maximum allowed", "Python int too large")


class ReferenceExecutable(Executable):
    """Calls `interpret` with the arguments. `executed_stage` is the stage whose text that interprets."""

    def __init__(
        self,
        signature: Signature,
        stages: Stages,
        executed_stage: str,
        interpret: Callable[[Sequence[Array]], Sequence[Array]],
    ) -> None:
        super().__init__(signature, "reference", stages)
        self._executed_stage = executed_stage
        self._interpret: Callable[[Sequence[Array]], Sequence[Array]] | None = interpret

    @property
    def source(self) -> str:
        return self.stages[self._executed_stage]

    def close(self) -> None:
        self._interpret = None

    def _run(self, arrays: list[Array], targets: list[Array] | None) -> list[Array]:
        interpret = self._interpret
        if interpret is None:
            raise self._closed_error()
        results: list[Array] = []
        try:
            computed = interpret(arrays)
        except (MemoryError, OverflowError, ValueError) as error:
            # numpy has no exception of its own for arrays that no address space can hold.
            if not isinstance(error, MemoryError) and not str(error).startswith(_TOO_LARGE):
                raise
            message = f"{self.name}: the reference interpreter has no memory left ({error})"
            raise DeviceError(message) from None
        for number, result in enumerate(computed):
            if targets is not None:
                np.copyto(targets[number], result, casting="no")
                results.append(targets[number])
            else:
                results.append(np.array(result, order="C"))
        return results

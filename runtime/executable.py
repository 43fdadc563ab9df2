"""What `tenon.compile` returns: a program that is called with numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..errors import CallError
from .signature import Array, ArrayType, Signature
from .stages import Stages


class Executable(ABC):
    """
    A compiled program. Any number of threads may call it; it holds device memory until `close`, the end of a
    `with`, or the garbage collector.
    """

    def __init__(self, signature: Signature, backend_name: str, stages: Stages) -> None:
        self.signature = signature
        self.backend_name = backend_name
        self.stages = stages
        """The text of each stage by its name: `graph`, `sched`, `low`, `source`."""
        self._returns_one = len(signature.result_types) == 1

    @property
    def name(self) -> str:
        """The name of the function that was compiled."""
        return self.signature.name

    @property
    def argument_names(self) -> tuple[str, ...]:
        return self.signature.argument_names

    @property
    def argument_types(self) -> tuple[ArrayType, ...]:
        return self.signature.argument_types

    @property
    def result_types(self) -> tuple[ArrayType, ...]:
        return self.signature.result_types

    @property
    @abstractmethod
    def source(self) -> str:
        """The text that runs: LLVM IR, OpenCL C, or for the reference interpreter the IR it executes."""

    def __call__(self, /, *arguments: object, **named: object) -> Any:
        """
        Runs the program on numpy arrays, given in order, by name, or both. Returns one array for one result,
        else a tuple of them; they are new at each call.

        With `out=` the results are written into the arrays given there (one array, or a tuple) and those are
        returned; an argument that overlaps them is copied first. Where the program has an argument named
        `out` the name means that argument, and results are always new.

        An argument must have the very dtype and shape that the program was compiled for; one that is not
        contiguous or not aligned is copied.

        Raises:
            CallError: an argument does not fit, or the executable is closed.
            DeviceError: the device failed.
        """
        signature = self.signature
        out = named.pop("out", None) if named and "out" not in signature.argument_names else None
        arrays = signature.bind(arguments, named)
        if out is None:
            results = self._run(arrays, None)
        else:
            targets = signature.bind_out(out)
            for i, array in enumerate(arrays):
                if any(np.may_share_memory(array, target) for target in targets):
                    arrays[i] = array.copy()
            results = self._run(arrays, targets)
        return results[0] if self._returns_one else tuple(results)

    @abstractmethod
    def _run(self, arrays: list[Array], targets: list[Array] | None) -> list[Array]:
        """Returns the results for arguments that fit: in `targets`, where given, else in new arrays."""

    @abstractmethod
    def close(self) -> None:
        """Gives the device memory back; calls are errors afterwards. Closing twice is closing once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _closed_error(self) -> CallError:
        return CallError(f"{self.name}: the executable is closed")

    def __repr__(self) -> str:
        arguments = ", ".join(
            f"{name}: {type}" for name, type in zip(self.argument_names, self.argument_types, strict=True)
        )
        results = ", ".join(map(str, self.result_types))
        return f"<{type(self).__name__} {self.name}({arguments}) -> ({results}) on {self.backend_name}>"

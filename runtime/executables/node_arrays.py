"""The tensor nodes of an executable, which keep their values from call to call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...backends.interface import BufferLoc
from ...errors import CallError
from ..plan.program_plan import NodePlan
from ..plan.signature import Array, checked_array


class NodeArrays(Mapping[str, Array]):
    """
    The nodes by name: `nodes["w"]` is a copy of what a node holds, `nodes["w"] = array` writes it. A node has
    values once it was written, by assignment or by a call, or where its declaration gives them. Any thread
    may read and write; this waits for the calls that run.
    """

    def __init__(
        self,
        owner: str,
        plans: Sequence[NodePlan],
        locations: Mapping[str, BufferLoc],
        read: Callable[[Array, BufferLoc], None],
        write: Callable[[BufferLoc, Array], None],
    ) -> None:
        self._owner = owner
        self._plans = {plan.name: plan for plan in plans}
        self._locations = locations
        self._read = read
        self._write = write
        self._written: set[str] = set()
        for plan in plans:
            if plan.initial is not None:
                self[plan.name] = plan.initial

    def __getitem__(self, name: str) -> Array:
        """Raises `KeyError` where there is no such node, `CallError` where it has no values."""
        plan = self._plans[name]
        self.check_written((name,))
        array = np.empty(plan.type.shape, plan.type.dtype)
        if array.nbytes:
            self._read(array, self._locations[name])
        return array

    def __setitem__(self, name: str, value: Any) -> None:
        """Raises `KeyError` where there is no such node, `CallError` where the array does not fit."""
        plan = self._plans[name]
        array = np.ascontiguousarray(checked_array(value, plan.type, f"{self._owner}: node '{name}'"))
        if array.nbytes:
            self._write(self._locations[name], array)
        self._written.add(name)

    def __contains__(self, name: object) -> bool:
        """Returns whether there is such a node, with values or without."""
        return name in self._plans

    def __iter__(self) -> Iterator[str]:
        return iter(self._plans)

    def __len__(self) -> int:
        return len(self._plans)

    def check_written(self, names: Iterable[str]) -> None:
        """Raises `CallError` for the first of these nodes that has no values."""
        for name in names:
            if name not in self._written:
                hint = f"(hint: executable.nodes['{name}'] = array)"
                raise CallError(f"{self._owner}: node '{name}' was never written {hint}")

    def note_written(self, names: Iterable[str]) -> None:
        self._written.update(names)

    def __repr__(self) -> str:
        nodes = ", ".join(f"{plan.name}: {plan.type}" for plan in self._plans.values())
        return f"<NodeArrays of {self._owner} ({nodes})>"

"""A program with named dims: one piece of compiled code, and an executable for each size met."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects.dims.expressions import DimExpr, evaluated, symbols_of
from ...dialects.modules.dim_values import DimTable
from ...errors import TenonError
from ..plan.program_plan import Launch
from ..plan.signature import Array, checked_array
from .device_array import DeviceArray
from .executable import CompiledFunction, Executable
from .node_arrays import NodeArrays

if TYPE_CHECKING:
    from ..reports.kernel_statistics import ProgramStatistics
    from ..reports.memory_plan import MemoryPlan
    from ..reports.roofline import Roofline

MOST_SIZES = 256
"""How many sizes are kept ready; what a size met again needs is made anew, from the same code."""

Sizes = Mapping[str, int]
"""The values of the dims, by name."""


@dataclass(frozen=True, eq=False, slots=True)
class _KnownSizes:
    """Calls of sizes that were met before; whoever has them does not keep the program alive."""

    by_shapes: Mapping[tuple[tuple[int, ...], ...], Executable]

    def call(self, arguments: tuple[Any, ...], out: Any) -> Any:
        """As `Executable.direct_call`, and None for other sizes."""
        known = self.by_shapes.get(tuple([array.shape for array in arguments]))
        if known is None or known.direct_call is None:
            return None
        return known.direct_call(arguments, out)


class SizedExecutable(Executable):
    """
    Finds the values of its dims in the shapes of the arguments and calls what `make` makes for them, once for
    each. Any thread may call it.
    """

    def __init__(
        self,
        function: CompiledFunction,
        dims: DimTable,
        make: Callable[[Sizes], Executable],
        keeper: Executable | None = None,
    ) -> None:
        """`keeper` has the tensor nodes of the program, if there are any; it is closed with this."""
        super().__init__(function)
        self._dims = dims
        self._make: Callable[[Sizes], Executable] | None = make
        self._ready: OrderedDict[tuple[int, ...], Executable] = OrderedDict()
        self._by_shapes: dict[tuple[tuple[int, ...], ...], Executable] = {}
        if self._symbols is None:
            self.direct_call = _KnownSizes(self._by_shapes).call
        self._special: Mapping[str, frozenset[int]] = {}
        self._vanishing: tuple[DimExpr, ...] = ()
        self._build_for: Callable[[Sizes], Executable] | None = None
        self._specialized: dict[tuple[tuple[str, int], ...], Executable] = {}
        self._lock = RLock()
        self.keeper = keeper
        self.nodes = NodeArrays(self.name, (), {}, _no_node, _no_node) if keeper is None else keeper.nodes

    def specialize(
        self,
        special: Mapping[str, Sequence[int]],
        vanishing: Sequence[DimExpr],
        build_for: Callable[[Sizes], Executable],
    ) -> None:
        """
        Sends calls in which dims have these values or 0, or in which one of the extents `vanishing` is 0, to
        what `build_for` gives for those dims.
        """
        self._special = {name: frozenset((0, *special.get(name, ()))) for name in self._dims.names}
        self._vanishing, self._build_for = tuple(vanishing), build_for

    def __call__(self, /, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """As `Executable.__call__`; an argument may have every shape that the bounds of the dims allow."""
        if not named:
            try:
                known = self._by_shapes.get(tuple([array.shape for array in arguments]))
            except (AttributeError, TypeError):
                known = None
            if known is not None:
                return known(*arguments, out=out)
        if self._takes_out and out is not None:
            out, named = None, {**named, "out": out}
        positional: Sequence[Any] = arguments
        values: Mapping[str, int] = {}
        if self._symbols is not None:
            values, positional, named = self._symbols.take(positional, named)
        ordered = self.signature.ordered(positional, named)
        shapes = self._shapes_of(ordered)
        executable = self.executable_for(self._dims.solve(shapes))
        if self._symbols is None:
            self._by_shapes[shapes] = executable
            return executable(*ordered, out=out)
        by_name = {**dict(zip(self.argument_names, ordered, strict=True)), **values}
        return executable(*[by_name[name] for name in self._symbols.names], out=out)

    def executable_of(self, arguments: Sequence[Any]) -> Executable:
        """Returns the executable for arrays of these shapes, given in order; static symbols are left out."""
        is_array = [isinstance(value, np.ndarray) for value in arguments]
        arrays = list(compress(arguments, is_array))
        return self.executable_for(self._dims.solve(self._shapes_of(arrays)))

    def _shapes_of(self, arrays: Sequence[Any]) -> tuple[tuple[int, ...], ...]:
        types = zip(self.argument_names, arrays, self.signature.argument_types, strict=True)
        return tuple(checked_array(value, type, f"argument '{name}'").shape for name, value, type in types)

    def executable_for(self, sizes: Sizes) -> Executable:
        """Returns the executable for these values of the dims."""
        key = tuple(sizes[name] for name in self._dims.names)
        with self._lock:
            if self._make is None:
                raise self._closed_error()
            known = self._ready.get(key)
            if known is None:
                known = self._ready[key] = self._new(self._make, sizes)
                if len(self._ready) > MOST_SIZES:
                    self._ready.popitem(last=False)
                    self._by_shapes.clear()
            return known

    def _new(self, make: Callable[[Sizes], Executable], sizes: Sizes) -> Executable:
        """Returns the program for some values of the dims: one made for them, or the general one."""
        empty = symbols_of(extent for extent in self._vanishing if evaluated(extent, sizes) == 0)
        special = {
            name: size for name, size in sizes.items() if name in empty or size in self._special.get(name, ())
        }
        if not special or self._build_for is None:
            return make(sizes)
        key = tuple(special.items())
        found = self._specialized.get(key)
        if found is None:
            found = self._specialized[key] = self._build_for(special)
        return found.executable_for(sizes) if isinstance(found, SizedExecutable) else found

    def _run(
        self, arrays: list[Array], targets: list[Array] | None, values: Mapping[str, int]
    ) -> list[Array]:
        raise AssertionError("calls go to the executables of the sizes")

    def _execute(
        self, given: list[Array | DeviceArray], chosen: Sequence[int], values: Mapping[str, int]
    ) -> dict[int, DeviceArray]:
        executable = self.executable_for(self._dims.solve(tuple(value.shape for value in given)))
        by_name = {**dict(zip(self.argument_names, given, strict=True)), **values}
        return executable.execute(by_name, chosen)

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Raises TenonError: each size has launches of its own, those of `executable_for`."""
        raise TenonError(
            f"{self.name}: the launches depend on {', '.join(self._dims.names)} "
            "(hint: executable_for({...}).launches)"
        )

    def statistics(
        self, *arguments: Any, runs: int = 10, roofline: Roofline | bool = True
    ) -> ProgramStatistics:
        """As `Executable.statistics`, of the program for arrays of these shapes."""
        return self.executable_of(arguments).statistics(*arguments, runs=runs, roofline=roofline)

    def memory_plan(self) -> MemoryPlan:
        """Raises TenonError: each size has a plan of its own, that of `executable_for`."""
        raise TenonError(
            f"{self.name}: the memory plan depends on {', '.join(self._dims.names)} "
            "(hint: executable_for({...}).memory_plan())"
        )

    def close(self) -> None:
        with self._lock:
            self._make = None
            ready = [*self._ready.values(), *self._specialized.values()]
            self._specialized.clear()
            self._ready.clear()
            self._by_shapes.clear()
        for executable in ready:
            executable.close()
        if self.keeper is not None:
            self.keeper.close()


def _no_node(*_: Any) -> None:
    raise AssertionError("a program without nodes")

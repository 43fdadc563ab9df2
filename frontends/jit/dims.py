"""Axes whose extents a compiled program leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...dialects import graph
from ...dialects.dims.expressions import LARGEST_DIM, dim
from ..arrays.aval import Aval, aval_of
from ..tracing.python_numbers import TracedNumbers
from ..tracing.traced_extent import TracedExtent, traced

TracedExtent.NUMBERS = TracedNumbers()


@dataclass(frozen=True, slots=True)
class Dim:
    """
    An extent with a name and bounds. Axes with the same name have the same extent; one program serves all
    extents within the bounds.
    """

    name: str
    minimum: int = 1
    maximum: int = LARGEST_DIM

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"Dim: {self.name!r} is not a name")
        if not 0 <= self.minimum <= self.maximum <= LARGEST_DIM:
            raise ValueError(
                f"Dim: {self.name} has the bounds {self.minimum} and {self.maximum}, expected "
                f"0 <= minimum <= maximum <= {LARGEST_DIM}"
            )

    @property
    def extent(self) -> TracedExtent:
        """The dim as an extent of shapes: those of tensor types know no bounds."""
        return traced(dim(self.name))


class DynamicAxes:
    """
    The axes that are left open: for an argument `x`, or an array in one, `params['w']`, the dims of its axes.
    """

    def __init__(self, name: str, axes: Mapping[str, Mapping[int, Dim]]) -> None:
        self._name = name
        self._axes = {path: dict(of_path) for path, of_path in axes.items()}
        found: dict[str, Dim] = {}
        for path, of_path in self._axes.items():
            for axis, each in of_path.items():
                if not isinstance(each, Dim):  # pyright: ignore[reportUnnecessaryIsInstance]
                    raise TypeError(
                        f"jit: dynamic of {name} has {each!r} for axis {axis} of {path}, expected a Dim"
                    )
                if found.setdefault(each.name, each) != each:
                    raise ValueError(
                        f"jit: dynamic of {name} has two dims {each.name}: {found[each.name]}, {each}"
                    )
        self.dims = tuple(found.values())

    def __bool__(self) -> bool:
        return bool(self._axes)

    def check_paths(self, paths: Sequence[str]) -> None:
        """Raises ValueError where an argument with dynamic axes is there, but not the array in it."""
        for path in self._axes:
            argument = path.partition("[")[0]
            arrays = [each for each in paths if each.partition("[")[0] == argument]
            if arrays and path not in arrays:
                raise ValueError(
                    f"{self._name}: dynamic has axes of {path}, which is no array (the arrays of {argument}: "
                    f"{', '.join(arrays)})"
                )

    def aval(self, path: str, aval: Aval) -> Aval:
        """
        Returns what stands for an array at `path`, with the dims of its dynamic axes.

        Raises:
            ValueError: it has not these axes.
        """
        axes = self._axes.get(path)
        if axes is None:
            return aval
        shape = list(aval.shape)
        for axis, each in axes.items():
            if not -len(shape) <= axis < len(shape):
                raise ValueError(
                    f"{self._name}: {path} has shape {aval.shape}, but its axis {axis} is to be dynamic"
                )
            shape[axis] = each.extent  # type: ignore[call-overload]
        return aval_of(aval.dtype, tuple(shape), aval.weak)

    def checked_values(self, values: Mapping[str, Sequence[int]]) -> dict[str, tuple[int, ...]]:
        """
        Returns values of the dims, by name.

        Raises:
            TypeError: one is no integer.
            ValueError: there is no such dim, or one is out of its bounds.
        """
        found: dict[str, tuple[int, ...]] = {}
        dims = {each.name: each for each in self.dims}
        for name, wanted in values.items():
            if name not in dims:
                raise ValueError(
                    f"jit: specialize of {self._name} has {name!r}, expected one of {sorted(dims)}"
                )
            of_name: tuple[Any, ...] = tuple(wanted)
            for value in of_name:
                if not isinstance(value, int) or isinstance(value, bool):
                    raise TypeError(
                        f"jit: specialize of {self._name} has {name} = {value!r}, expected integers"
                    )
                if not dims[name].minimum <= value <= dims[name].maximum:
                    raise ValueError(
                        f"jit: specialize of {self._name} has {name} = {value}, which is from "
                        f"{dims[name].minimum} to {dims[name].maximum}"
                    )
            found[name] = of_name
        return found

    def ops(self) -> list[graph.DimOp]:
        """Returns the declarations of the dims."""
        return [graph.DimOp(each.name, each.minimum, each.maximum) for each in self.dims]

"""The values of named dims in one call: found from the shapes of its arguments, and checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp
from xdsl.ir import Attribute

from ...errors import CallError, TenonError
from ..dims.expressions import (
    DimExpr,
    DimSymbol,
    Extent,
    dim,
    evaluated,
    exact_quotient,
    from_terms,
    symbols_of,
    terms_of,
)
from ..graph import dims_of
from ..graph.types import shape_of, shape_text, tensor_type_of
from .parsing import location_text

if TYPE_CHECKING:
    from .entry import Entry


@dataclass(frozen=True, slots=True)
class DimSource:
    """Where the value of a dim is read: axis `axis` of argument `argument` is `factor * dim + rest`."""

    symbol: DimSymbol
    argument: int
    axis: int
    factor: int
    rest: Extent


@dataclass(frozen=True)
class DimTable:
    """The dims that the arguments of a program are written with, and where their values are read."""

    name: str
    arguments: tuple[tuple[str, tuple[Extent, ...]], ...]
    sources: tuple[DimSource, ...]

    @staticmethod
    def of(module: ModuleOp, entry: Entry) -> DimTable | None:
        """
        Returns the table of an entry of a module, None where its arguments and results have no named dims.

        Raises:
            TenonError: a dim is not declared, or the arguments do not tell its value.
        """
        # Only now: a program that is kept has its table already.
        from .entry import argument_names

        types = [*entry.function_type.inputs, *entry.function_type.outputs]
        shapes = [shape for type in types if (shape := _shape(type)) is not None]
        used = symbols_of(extent for shape in shapes for extent in shape)
        if not used:
            return None
        name, declared = entry.sym_name.data, dims_of(module)
        location = location_text(entry.location)
        for symbol in used:
            if symbol not in declared:
                raise TenonError(
                    f"{name}: dim @{symbol} is not declared (hint: graph.dim @{symbol} min 1 max 64)",
                    location=location,
                )
        named = zip(argument_names(entry), map(_shape, entry.function_type.inputs), strict=True)
        arguments = tuple((argument, shape) for argument, shape in named if shape is not None)
        sources = _sources(arguments, declared)
        for symbol in used:
            if all(source.symbol.name != symbol for source in sources):
                raise TenonError(
                    f"{name}: no argument tells the value of dim @{symbol} "
                    f"({', '.join(f'{argument} is {shape_text(shape)}' for argument, shape in arguments)})",
                    location=location,
                )
        return DimTable(name, arguments, sources)

    @property
    def names(self) -> tuple[str, ...]:
        """The dims in the order in which their values are found."""
        return tuple(source.symbol.name for source in self.sources)

    def least(self) -> dict[str, int]:
        """Returns the least value of each dim, but no 0."""
        return {source.symbol.name: max(source.symbol.minimum, 1) for source in self.sources}

    def solve(self, shapes: Sequence[tuple[int, ...]]) -> dict[str, int]:
        """
        Returns the values of the dims for arguments of these shapes.

        Raises:
            CallError: a rank or an extent is wrong, two extents disagree, or a dim is out of its bounds.
        """
        for (argument, wanted), shape in zip(self.arguments, shapes, strict=True):
            if len(shape) != len(wanted):
                raise CallError(
                    f"{self.name}: argument '{argument}' has shape {shape_text(shape)}, expected "
                    f"{shape_text(wanted)}"
                )
        values: dict[str, int] = {}
        for source in self.sources:
            values[source.symbol.name] = self._value(source, shapes, values)
        for number, (argument, wanted) in enumerate(self.arguments):
            for axis, extent in enumerate(wanted):
                found = shapes[number][axis]
                if extent == DYNAMIC_INDEX:
                    continue
                expected = extent if isinstance(extent, int) else evaluated(extent, values)
                if found != expected:
                    raise CallError(self._disagreement(argument, axis, found, extent, expected))
        return values

    def _value(self, source: DimSource, shapes: Sequence[tuple[int, ...]], values: Mapping[str, int]) -> int:
        found, symbol = shapes[source.argument][source.axis], source.symbol
        argument, wanted = self.arguments[source.argument]
        who = f"{self.name}: argument '{argument}': axis {source.axis} is {found}"
        value, left = divmod(found - evaluated(source.rest, values), source.factor)
        if left:
            raise CallError(f"{who}, expected {wanted[source.axis]} for a whole number {symbol.name}")
        if not symbol.minimum <= value <= symbol.maximum:
            is_plain = source.factor == 1 and source.rest == 0
            text = symbol.name if is_plain else f"{wanted[source.axis]} with {symbol.name} = {value}"
            raise CallError(
                f"{who}, but it is {text}, and {symbol.name} is from {symbol.minimum} to {symbol.maximum}"
            )
        return value

    def _disagreement(self, argument: str, axis: int, found: int, extent: Extent, expected: int) -> str:
        who = f"{self.name}: argument '{argument}': axis {axis} is {found}, expected "
        if isinstance(extent, int):
            return f"{who}{expected}"
        places = [
            f"{source.symbol.name} from axis {source.axis} of argument '{self.arguments[source.argument][0]}'"
            for source in self.sources
            if source.symbol.name in symbols_of((extent,))
        ]
        return f"{who}{extent} = {expected} ({', '.join(places)})"


def _shape(type: Attribute) -> tuple[Extent, ...] | None:
    """Returns the shape of a tensor type, None for the type of a static symbol."""
    return None if isinstance(type, IndexType) else shape_of(tensor_type_of(type, "dims"))


def _sources(
    arguments: Sequence[tuple[str, tuple[Extent, ...]]], dims: Mapping[str, DimSymbol]
) -> tuple[DimSource, ...]:
    """Returns a source for each dim that extents tell, one by one; of several the plainest comes first."""
    found: list[DimSource] = []
    known: set[str] = set()
    while True:
        sources = [
            source
            for number, (_, shape) in enumerate(arguments)
            for axis, extent in enumerate(shape)
            if isinstance(extent, DimExpr)
            and (source := _source(extent, number, axis, known, dims)) is not None
        ]
        if not sources:
            return tuple(found)
        best = min(sources, key=lambda source: (source.factor != 1, source.rest != 0))
        found.append(best)
        known.add(best.symbol.name)


def _source(
    extent: DimExpr, argument: int, axis: int, known: set[str], dims: Mapping[str, DimSymbol]
) -> DimSource | None:
    """Returns the source that an extent is of the one dim in it that is not known, None where it is none."""
    unknown = [name for name in symbols_of((extent,)) if name not in known]
    if len(unknown) != 1 or unknown[0] not in dims:
        return None
    (name,) = unknown
    # Not by its value for 0, by which the dim may divide somewhere.
    others = {m: f for m, f in terms_of(extent) if name not in symbols_of((from_terms({m: 1}),))}
    rest = from_terms(others)
    factor = exact_quotient(extent - rest, dim(name))
    if not isinstance(factor, int) or factor == 0:
        return None
    return DimSource(dims[name], argument, axis, factor, rest)

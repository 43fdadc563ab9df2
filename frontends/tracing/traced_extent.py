"""Extents as Python code that is traced has them: numbers that are known at each call only."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Protocol

from ...dialects.dims.expressions import DimExpr, Extent, product


class PythonNumbers(Protocol):
    """What an extent needs to be a number of Python code."""

    def compare(self, lhs: DimExpr, relation: str, rhs: Extent) -> bool:
        """Returns `lhs relation rhs`. Raises TracingError where not all values of the dims agree on it."""
        ...

    def is_true(self, extent: DimExpr) -> bool:
        """Returns whether an extent is not 0. Raises TracingError as `compare`."""
        ...

    def compute(self, operation: str, lhs: Any, rhs: Any) -> Any:
        """Returns the array that `add`, `sub`, `mul`, `div` or `pow` gives; NotImplemented for no numbers."""
        ...

    def refuse_value(self, extent: DimExpr, what: str) -> NoReturn:
        """Raises TracingError: code asks for the number that an extent is."""
        ...


class TracedExtent(DimExpr):
    """
    An extent as Python code that is traced has it, which takes it for a number: what it is computed to is one
    too, a fraction or a power is an array, and a comparison must hold, or not, for all values of the dims.
    """

    __slots__ = ()

    NUMBERS: ClassVar[PythonNumbers]
    """What makes arrays of extents, and decides on them: a trace, which stands above."""

    def __add__(self, other: Any) -> Any:
        return (
            traced(super().__add__(other)) if _is_extent(other) else self.NUMBERS.compute("add", self, other)
        )

    __radd__ = __add__

    def __neg__(self) -> Any:
        return traced(super().__neg__())

    def __pos__(self) -> TracedExtent:
        return self

    def __sub__(self, other: Any) -> Any:
        return self + -other if _is_extent(other) else self.NUMBERS.compute("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return -self + other if _is_extent(other) else self.NUMBERS.compute("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return (
            traced(super().__mul__(other)) if _is_extent(other) else self.NUMBERS.compute("mul", self, other)
        )

    __rmul__ = __mul__

    def __floordiv__(self, divisor: Any) -> Any:
        return traced(super().__floordiv__(divisor))

    def __rfloordiv__(self, other: Any) -> Any:
        return traced(super().__rfloordiv__(other))

    def __mod__(self, divisor: Any) -> Any:
        return traced(super().__mod__(divisor))

    def __rmod__(self, other: Any) -> Any:
        return traced(super().__rmod__(other))

    def __pow__(self, exponent: object) -> Any:
        if isinstance(exponent, int) and exponent >= 0:
            return product([self] * exponent)
        return self.NUMBERS.compute("pow", self, exponent)

    def __rpow__(self, base: object) -> Any:
        return self.NUMBERS.compute("pow", base, self)

    def __truediv__(self, divisor: object) -> Any:
        return self.NUMBERS.compute("div", self, divisor)

    def __rtruediv__(self, dividend: object) -> Any:
        return self.NUMBERS.compute("div", dividend, self)

    def __lt__(self, other: object) -> bool:
        return self._compared("<", other)

    def __le__(self, other: object) -> bool:
        return self._compared("<=", other)

    def __gt__(self, other: object) -> bool:
        return self._compared(">", other)

    def __ge__(self, other: object) -> bool:
        return self._compared(">=", other)

    def __bool__(self) -> bool:
        return self.NUMBERS.is_true(self)

    def __index__(self) -> int:
        self._no_value("index")

    def __int__(self) -> int:
        self._no_value("int")

    def __float__(self) -> float:
        self._no_value("float")

    def _no_value(self, what: str) -> NoReturn:
        self.NUMBERS.refuse_value(self, what)

    def _compared(self, relation: str, other: Any) -> Any:
        return self.NUMBERS.compare(self, relation, other) if _is_extent(other) else NotImplemented


def traced(extent: Any) -> Any:
    """Returns an extent as traced code has it; a number, and what is no extent, as it is."""
    return TracedExtent(extent.terms) if isinstance(extent, DimExpr) else extent


def _is_extent(value: object) -> bool:
    return isinstance(value, int | DimExpr)

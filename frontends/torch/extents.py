"""Symbolic integers of torch as extents with named dims."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from ...dialects.dims.expressions import LARGEST_DIM
from ..jit.dims import Dim
from ..tracing.extents import greatest, least
from .ops.table import NotCoveredError

_QUOTIENTS = ("FloorDiv", "CleanDiv", "PythonFloorDiv")
"""What a quotient that is rounded down is called among torch's expressions."""


def is_symbolic(value: Any) -> bool:
    """Returns whether a value is an integer that torch knows by a name."""
    return type(value).__name__ == "SymInt"


def expression_of(value: Any) -> Any:
    """Returns the sympy expression of a symbolic integer."""
    return value.node.expr


def symbols_of(value: Any) -> set[Any]:
    """Returns the symbols that an integer is made of, none of a number."""
    return set(expression_of(value).free_symbols) if is_symbolic(value) else set()


def _divides_by_symbols(expression: Any) -> bool:
    """Returns whether a quotient in an expression has a divisor that is no number."""
    is_one = type(expression).__name__ in _QUOTIENTS and not expression.args[1].is_Integer
    return is_one or any(map(_divides_by_symbols, expression.args))


class Dims:
    """
    The named dims of the symbols of one graph, with the bounds that torch knows. `bounds` are those that hold
    when the graph runs, where torch assumed narrower ones as it traced. `is_guarded` is whether it runs only
    where all else holds that torch found of them as it traced.
    """

    def __init__(
        self, values: Iterable[Any], bounds: Mapping[Any, Any] = MappingProxyType({}), is_guarded: bool = True
    ) -> None:
        self._bounds = bounds
        self.is_guarded = is_guarded
        self._equal: dict[tuple[Any, Any], bool] = {}
        self._numbers: dict[Any, int | None] = {}
        self._environment: Any = None
        self._dims: dict[Any, Dim] = {}
        for value in values:
            for symbol in sorted(symbols_of(value), key=str):
                self._environment = value.node.shape_env
                if symbol not in self._dims:
                    self._dims[symbol] = self._dim(symbol, value.node.shape_env)

    def _dim(self, symbol: Any, environment: Any) -> Dim:
        known = self._bounds.get(symbol)
        if known is None and environment is not None:
            known = environment.var_to_range.get(symbol)
        low, high = 0, LARGEST_DIM
        if known is not None:
            # Bounds that are not there are infinite, of a class of torch's own.
            low = max(low, int(known.lower)) if known.lower.is_Integer else low
            high = min(high, int(known.upper)) if known.upper.is_Integer else high
        return Dim(str(symbol), low, high)

    def are_at_most(self, some: Iterable[Any], others: Iterable[Any]) -> bool:
        """Returns whether torch sees to it, at each call, that no integer is greater than the other one."""
        known = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true
        return self.is_guarded and all(known(each <= other) for each, other in zip(some, others, strict=True))

    def are_equal(self, some: Any, other: Any) -> bool:
        """Returns whether torch sees to it, at each call, that two symbolic integers are the same."""
        if not is_symbolic(some) or not is_symbolic(other):
            return False
        key = expression_of(some), expression_of(other)
        if key[0] == key[1]:
            return True
        # What torch found of the integers it traced with is known at once, and what it asks of others is not.
        if not self.is_guarded or some.node.hint != other.node.hint:
            return False
        if key not in self._equal:
            known = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true
            self._equal[key] = known(some == other)
        return self._equal[key]

    def _number(self, expression: Any) -> int | None:
        """
        Returns what torch sees to it that an expression is at each call, None where that is no number.
        The second part of an axis that is split is written as the axis divided by the first.
        """
        if not self.is_guarded or self._environment is None:
            return None
        if expression not in self._numbers:
            known = import_module("torch.fx.experimental.symbolic_shapes").statically_known_true
            traced = self._environment.size_hint(expression, allow_none=True)
            number = None
            if traced is not None:
                found = self._environment.create_symintnode(expression, hint=int(traced))
                number = int(traced) if known(found == int(traced)) else None
            self._numbers[expression] = number
        return self._numbers[expression]

    @property
    def symbols(self) -> list[Any]:
        """All symbols that there are."""
        return sorted(self._dims, key=str)

    def dims(self, symbols: Iterable[Any]) -> list[Dim]:
        """Returns the dims of symbols, in the order of their names."""
        return [self._dims[symbol] for symbol in sorted(symbols, key=str)]

    def extent(self, value: Any) -> Any:
        """
        Returns an integer as an extent: a number stays one.

        Raises:
            NotCoveredError: an expression has a function that extents have not.
        """
        if not is_symbolic(value):
            return int(value)
        return self._of(expression_of(value), self._dims)

    def _of(self, expression: Any, dims: Mapping[Any, Dim]) -> Any:
        if expression.is_Integer:
            return int(expression)
        if expression.is_Symbol:
            return dims[expression].extent
        name = type(expression).__name__
        if _divides_by_symbols(expression):
            number = self._number(expression)
            if number is not None:
                return number
        if name == "Pow" and expression.exp.is_Integer and int(expression.exp) > 0:
            return self._of(expression.base, dims) ** int(expression.exp)
        if not expression.args:
            # A float, of a scale say.
            raise NotCoveredError(f"an extent is {expression}")
        parts = [self._of(part, dims) for part in expression.args]
        found = parts[0]
        for part in parts[1:]:
            if name == "Add":
                found = found + part
            elif name == "Mul":
                found = found * part
            elif name in _QUOTIENTS:
                found = found // part
            elif name in ("Mod", "PythonMod"):
                found = found % part
            elif name == "Max":
                found = greatest(found, part)
            elif name == "Min":
                found = least(found, part)
            else:
                raise NotCoveredError(f"an extent is {expression}")
        if name not in (
            "Add",
            "Mul",
            "FloorDiv",
            "CleanDiv",
            "PythonFloorDiv",
            "Mod",
            "PythonMod",
            "Max",
            "Min",
        ):
            raise NotCoveredError(f"an extent is {expression}")
        return found

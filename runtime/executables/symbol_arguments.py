"""The static symbols among the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import CallError
from ..plan.program_plan import SymbolPlan
from ..plan.signature import Signature


class SymbolArguments:
    """Tells the static symbols of a program, which are `symbols`, from the arrays of its signature."""

    def __init__(self, signature: Signature, symbols: Sequence[SymbolPlan]) -> None:
        self._name = signature.name
        self._symbols = tuple(symbols)
        names = list(signature.argument_names)
        for symbol in sorted(symbols, key=lambda symbol: symbol.position):
            names.insert(symbol.position, symbol.name)
        self.names = tuple(names)
        """All arguments of the program in their order."""

    def take(
        self, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[dict[str, int], list[Any], dict[str, Any]]:
        """
        Returns the values of the symbols, and the arguments without them.

        Raises:
            CallError: there are too many arguments, or a symbol is missing, given twice, no integer, or
                outside the axis that it indexes.
        """
        if len(positional) > len(self.names):
            names, found = ", ".join(self.names), len(positional) + len(named)
            raise CallError(f"{self._name}: takes {len(self.names)} arguments ({names}), found {found}")
        rest = dict(named)
        given: dict[int, Any] = dict(enumerate(positional))
        values: dict[str, int] = {}
        for symbol in self._symbols:
            if symbol.position in given and symbol.name in rest:
                raise CallError(f"{self._name}: argument '{symbol.name}' is given twice")
            if symbol.position not in given and symbol.name not in rest:
                raise CallError(f"{self._name}: argument '{symbol.name}' is missing")
            value = given.pop(symbol.position) if symbol.position in given else rest.pop(symbol.name)
            values[symbol.name] = symbol.checked(value, self._name)
        return values, list(given.values()), rest

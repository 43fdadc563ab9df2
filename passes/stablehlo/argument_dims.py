"""
The named dims of a function whose arguments have extents that the text leaves open.

jax checks such arguments where the function begins: that an extent is 1 or more, that it can be divided by 2,
that two are the same. Here each `?` is a dim first, and what is checked says more of it: `2 * m` for what can
be divided, one dim for what is the same, a bound. So no check is left for a call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects import stablehlo
from ...dialects.dims.expressions import (
    KEYWORDS,
    DimExpr,
    DimSymbol,
    Extent,
    Remainder,
    dim,
    substituted,
    symbols_of,
    terms_of,
    unbounded,
)
from ...dialects.graph import tensor_of
from ...dialects.graph.types import shape_of
from ...dialects.modules.parsing import location_text
from ...errors import TenonError
from .control import SHAPE_ASSERTION
from .extents import KnownNumbers

_MOST_CHECKS = 1000


def argument_types(function: func.FuncOp, dims: dict[str, DimSymbol]) -> list[Attribute]:
    """
    Returns the types of a function's arguments, with a named dim for each extent that is open, which `dims`
    gets.

    Raises:
        TenonError: a check of the function says what no dim can, or never holds.
    """
    types: list[Attribute] = [argument.type for argument in function.body.block.args]
    if not any(_is_open(type) for type in types):
        return types
    work = _OpenDims(function, dims)
    work.apply_checks()
    return work.named_types(dims)


def _is_open(type: Attribute) -> bool:
    return isinstance(type, TensorType) and DYNAMIC_INDEX in shape_of(cast(TensorType[Any], type))


class _OpenDims:
    def __init__(self, function: func.FuncOp, dims: dict[str, DimSymbol]) -> None:
        self._function = function
        self._symbols: dict[str, DimSymbol] = dict(dims)
        self._names: dict[str, str] = {}
        self._shapes: list[tuple[Extent, ...] | None] = []
        for argument in function.body.block.args:
            type = argument.type
            shape = shape_of(cast(TensorType[Any], type)) if isinstance(type, TensorType) else None
            self._shapes.append(
                None if shape is None else tuple(self._new() if e == DYNAMIC_INDEX else e for e in shape)
            )

    def _new(self, minimum: int = 0) -> Extent:
        number = len(self._symbols)
        while (name := f"d{number}") in self._symbols:
            number += 1
        self._symbols[name] = DimSymbol(name, minimum)
        return dim(name)

    def _checks(self) -> Iterator[stablehlo.CustomCallOp]:
        for op in self._function.body.block.ops:
            if isinstance(op, stablehlo.CustomCallOp) and op.target == SHAPE_ASSERTION and op.operands:
                yield op

    def apply_checks(self) -> None:
        """Makes all checks of the function hold."""
        checks = list(self._checks())
        for _ in range(_MOST_CHECKS):
            numbers = self._numbers()
            if all(self._holds(op, numbers) for op in checks):
                for op in checks:
                    self._take_names(op, numbers)
                return
        raise TenonError(
            f"{self._function.name}: the checks of its arguments say too much",
            location=location_text(self._function.location),
        )

    def _numbers(self) -> KnownNumbers:
        block = Block(arg_types=self._types())
        values: dict[SSAValue, SSAValue] = dict(zip(self._function.body.block.args, block.args, strict=True))
        return KnownNumbers(values.get, self._symbols)

    def _types(self) -> list[Attribute]:
        types: list[Attribute] = []
        for argument, shape in zip(self._function.body.block.args, self._shapes, strict=True):
            if shape is None:
                types.append(argument.type)
            else:
                element = cast(TensorType[Any], argument.type).element_type
                types.append(tensor_of(element, tuple(map(unbounded, shape))))
        return types

    def _holds(self, op: stablehlo.CustomCallOp, numbers: KnownNumbers) -> bool:
        """Returns whether a check holds; False once a dim was changed so that it may."""
        found = numbers.of(op.operands[0])
        if found == (True,):
            return True
        compare = op.operands[0].owner
        if found != (False,) and isinstance(compare, stablehlo.CompareOp):
            sides = [numbers.extents(operand) for operand in compare.operands]
            if sides[0] is not None and sides[1] is not None and len(sides[0]) == len(sides[1]) == 1:
                assert compare.comparison_direction is not None, "verified"
                if self._change(compare.comparison_direction.data.value, sides[0][0], sides[1][0]):
                    return False
        message = op.attributes.get("error_message")
        said = f" ({message.data})" if isinstance(message, StringAttr) else ""
        raise TenonError(
            f"{op.name}: @{SHAPE_ASSERTION} is of what named dims cannot say{said}",
            location=location_text(op.location),
        )

    def _change(self, direction: str, x: Extent, y: Extent) -> bool:
        """Changes a dim so that two extents compare so. Returns whether there was one to change."""
        if direction == "EQ":
            return self._divide(x, y) or self._solve(x - y)
        if direction == "LE":
            return self._change("GE", y, x)
        return direction == "GE" and self._bound(x - y)

    def _bound(self, difference: Extent) -> bool:
        """`2 * n - 3 >= 0`: n is 2 or more."""
        terms = dict(terms_of(difference))
        constant = terms.pop((), 0)
        if len(terms) != 1:
            return False
        (monomial, factor), *_ = terms.items()
        if len(monomial) != 1 or not isinstance(monomial[0], DimSymbol):
            return False
        known = self._symbols[monomial[0].name]
        least, most = known.minimum, known.maximum
        if factor > 0:
            least = max(least, -(constant // factor))
        else:
            most = min(most, constant // -factor)
        self._symbols[known.name] = DimSymbol(known.name, least, most)
        return least <= most

        return False

    def _divide(self, x: Extent, y: Extent) -> bool:
        """`n mod 2 == 0`: n is `2 * m`."""
        terms = list(terms_of(x))
        if y != 0 or len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
            return False
        atom = terms[0][0][0]
        if not isinstance(atom, Remainder) or not isinstance(atom.divisor, int):
            return False
        symbol = _symbol_of(atom.operand)
        if symbol is None:
            return False
        known = self._symbols[symbol]
        part = self._new(-(-known.minimum // atom.divisor))
        self._replace(symbol, part * atom.divisor)
        return True

    def _solve(self, difference: Extent) -> bool:
        """`n - m - 1 == 0`: n is `m + 1`."""
        for monomial, factor in terms_of(difference):
            if len(monomial) != 1 or factor not in (1, -1) or not isinstance(monomial[0], DimSymbol):
                continue
            name = monomial[0].name
            rest = difference - DimExpr({monomial: factor})
            if name not in symbols_of((rest,)):
                self._replace(name, rest * -factor)
                return True
        return False

    def _replace(self, name: str, value: Extent) -> None:
        self._symbols.pop(name)

        def new(extent: Extent) -> Extent:
            plain = unbounded(value)
            return substituted(unbounded(extent), lambda each: plain if each.name == name else dim(each.name))

        self._shapes = [None if shape is None else tuple(map(new, shape)) for shape in self._shapes]

    def _take_names(self, op: Operation, numbers: KnownNumbers) -> None:
        """Finds the names that jax gives dims in the message of a check: `'n' = {0} from specification`."""
        message = op.attributes.get("error_message")
        if not isinstance(message, StringAttr):
            return
        for name, number in re.findall(r"'([A-Za-z_]\w*)' = \{(\d{1,6})\}", message.data, re.ASCII):
            place = int(number) + 1
            extents = numbers.extents(op.operands[place]) if place < len(op.operands) else None
            symbol = _symbol_of(extents[0]) if extents is not None and len(extents) == 1 else None
            if symbol is not None and name not in KEYWORDS:
                self._names.setdefault(symbol, name)

    def named_types(self, dims: dict[str, DimSymbol]) -> list[Attribute]:
        """Returns the types of the arguments; `dims` gets their dims, under the names that jax gives them."""
        renamed: dict[str, str] = {}
        taken = set(dims)
        for name in self._symbols:
            wanted = name if name in dims else self._names.get(name, name)
            renamed[name] = name if wanted in taken and name not in dims else wanted
            taken.add(renamed[name])
        for name, symbol in self._symbols.items():
            if name not in dims:
                dims[renamed[name]] = DimSymbol(renamed[name], symbol.minimum, symbol.maximum)
        self._shapes = [
            None
            if shape is None
            else tuple(substituted(unbounded(e), lambda each: dim(renamed[each.name])) for e in shape)
            for shape in self._shapes
        ]
        return self._types()


def _symbol_of(extent: Extent) -> str | None:
    """Returns the name of an extent that is one dim."""
    terms = list(terms_of(extent))
    if len(terms) != 1 or terms[0][1] != 1 or len(terms[0][0]) != 1:
        return None
    atom = terms[0][0][0]
    return atom.name if isinstance(atom, DimSymbol) else None

"""Numbers in properties: newer text writes `array<i64: 1, 2>` where older text has `dense<[1, 2]>`."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException


def ints_of(who: str, name: str, value: Attribute) -> tuple[int, ...]:
    """Returns the numbers of a property of `who`. Raises `VerifyException` where it is none of numbers."""
    match value:
        case DenseArrayBase():
            numbers = cast(DenseArrayBase[Any], value).get_values()
        case DenseIntOrFPElementsAttr():
            dense = cast(DenseIntOrFPElementsAttr[Any], value)
            numbers = dense.get_values()
            if dense.get_element_type() == IntegerType(1):
                numbers = tuple(int(each != 0) for each in numbers)
        case ArrayAttr():
            numbers = tuple(number_of(who, name, each) for each in value)
        case _:
            raise VerifyException(f"{who}: {name} is {value}, expected numbers")
    if not all(isinstance(number, int) for number in cast("tuple[object, ...]", numbers)):
        raise VerifyException(f"{who}: {name} is {value}, expected whole numbers")
    return tuple(numbers)


def number_of(who: str, name: str, value: Attribute) -> int:
    """Returns the number of a property of `who`. Raises `VerifyException` where it is none."""
    if not isinstance(value, IntegerAttr):
        raise VerifyException(f"{who}: {name} is {value}, expected a number")
    integer = cast("IntegerAttr[Any]", value)
    number = integer.value.data
    return int(number != 0) if integer.type == IntegerType(1) else number


def rows_of(who: str, name: str, value: Attribute) -> tuple[tuple[int, ...], ...]:
    """Returns the rows of a property of `who`. Raises `VerifyException` where it is no matrix of numbers."""
    dense = (
        cast("DenseIntOrFPElementsAttr[Any]", value) if isinstance(value, DenseIntOrFPElementsAttr) else None
    )
    shape = () if dense is None else dense.get_shape()
    if dense is None or len(shape) != 2:
        raise VerifyException(f"{who}: {name} is {value}, expected a matrix of numbers")
    numbers = ints_of(who, name, dense)
    rows, width = shape
    return tuple(numbers[row * width : (row + 1) * width] for row in range(rows))

"""
A row of `graph.sort` or `graph.argsort` of which numbers are sorted in the place of the elements.

    if the elements are in order: copy them
    else, if they are in the opposite order: copy them the other way around
    else:
      write the number of each element into a scratch buffer
      sort the numbers
      store the elements that have these numbers

Sorting gives back elements that are equal and not the same in the order that they had: where there are any,
these are copied from the source afterwards (equal_elements.py).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from .equal_elements import has_special, store_special
from .row_order import order_of
from .sort_numbers import SortNumbers
from .sorted_row import SortedRow

Place = Callable[[SSAValue], list[SSAValue]]
"""Returns the indices of the number at a position, in each of the buffers of numbers."""


class NumberedRow(SortedRow):
    """The first of the scratch buffers have the numbers, one for each type of `sorted`."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.sorted = SortNumbers(self.op)
        self.numbers = self.sorted.numbers
        self.buffers = self.scratch[: len(self.sorted.types)]
        self.least: SSAValue | None = None

    @abstractmethod
    def first_place(self, position: SSAValue) -> list[SSAValue]:
        """Returns the indices of the number at a position before it is sorted."""
        ...

    @abstractmethod
    def sort_numbers(self) -> Place:
        """Writes the code that sorts the numbers. Returns where they are then."""
        ...

    def least_number(self) -> SSAValue | None:
        """Returns the number from which distances are sorted in the place of numbers, if they are."""
        return None

    def write(self) -> None:
        code = self.code
        is_ascending, is_descending = order_of(self)
        last = code.index(self.extent - 1)

        def copy() -> None:
            with code.axis(self.extent, "k") as position:
                self._copy(position, position)

        def turn_around() -> None:
            with code.axis(self.extent, "k") as position:
                self._copy(code.integer(arith.SubiOp, last, position), position)

        code.branch(is_ascending, copy, lambda: code.branch(is_descending, turn_around, self._sort))

    def _copy(self, source: SSAValue, target: SSAValue) -> None:
        """Stores the element at a position of the source, or this position, as one of the result."""
        code = self.code
        if self.is_argsort:
            found = code.b.op(arith.IndexCastOp, source, result_type=i64)
        else:
            found = code.load(self.source, self.place(source))
        code.store(found, self.result, self.place(target))

    def _sort(self) -> None:
        code = self.code
        self.least = self.least_number()
        with code.axis(self.extent, "k") as position:
            stored = code.load(self.source, self.place(position))
            values = self.sorted.of(code, stored, position, self.least)
            for value, buffer in zip(values, self.buffers, strict=True):
                code.store(value, buffer, self.first_place(position))
        place = self.sort_numbers()

        def result(position: SSAValue) -> SSAValue:
            return self.sorted.result(code, code.load(self.buffers[-1], place(position)), self.least)

        with code.axis(self.extent, "k") as position:
            code.store(result(position), self.result, self.place(position))
        if self.numbers.has_special and not self.is_argsort:
            code.branch(
                has_special(
                    code,
                    self.extent,
                    self.numbers,
                    lambda position: code.load(self.buffers[0], place(position)),
                ),
                lambda: store_special(self, self.numbers, result),
            )

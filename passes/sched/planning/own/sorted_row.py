"""What the two ways to sort a row have in common: where it lies, and the scratch memory of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from .....dialects import graph
from .....dialects.buffer_size import memref_of
from ....indices.access import shape_of
from ....scalar.rules import element_type
from ..code import KernelCode
from .interface import ProgramPart


class SortedRow(ABC):
    """
    A row that `code` sorts from `source` into `result`. Each scratch buffer has two halves, between which
    the row goes to and fro.
    """

    def __init__(
        self,
        code: KernelCode,
        op: graph.SortOp | graph.ArgsortOp,
        row: list[SSAValue],
        source: SSAValue,
        scratch: Sequence[SSAValue],
        result: SSAValue,
    ):
        self.code, self.op, self.row = code, op, row
        self.source, self.scratch, self.result = source, scratch, result
        self.extent = shape_of(op.source, op.name)[op.axis.data]
        self.type = element_type(op.source)

    @abstractmethod
    def write(self) -> None:
        """Writes the code that sorts the row."""
        ...

    @property
    def is_argsort(self) -> bool:
        return isinstance(self.op, graph.ArgsortOp)

    @property
    def is_descending(self) -> bool:
        return self.op.descending is not None

    def place(self, position: SSAValue) -> list[SSAValue]:
        """Returns the indices of an element in the source, and in the result."""
        axis = self.op.axis.data
        return [*self.row[:axis], position, *self.row[axis:]]

    def store_result(self, scratch: SSAValue, half: SSAValue) -> None:
        """Copies a half of a scratch buffer into the result."""
        with self.code.axis(self.extent, "k") as position:
            value = self.code.load(scratch, [*self.row, half, position])
            self.code.store(value, self.result, self.place(position))


def write_rows(
    part: ProgramPart,
    op: graph.SortOp | graph.ArgsortOp,
    scratch_types: Sequence[Attribute],
    kind: type[SortedRow],
) -> None:
    """Writes a kernel that sorts each row in a way, with scratch buffers of these types of elements."""
    shape, axis = shape_of(op.source, op.name), op.axis.data
    others = [extent for dim, extent in enumerate(shape) if dim != axis]
    halves = [memref_of(type, [*others, 2, shape[axis]]) for type in scratch_types]
    code = KernelCode(op)
    source = code.buffer(op.source.type, op.source.name_hint)
    scratch = [code.buffer(each, "halves") for each in halves]
    result = code.buffer(op.result.type, op.result.name_hint)
    with code.axes(others) as row:
        kind(code, op, row, source, scratch, result).write()
    places = [part.scratch(each, "halves") for each in halves]
    part.launch(code, [part.buffer_of(op.source), *places, part.buffer_of(op.result)])

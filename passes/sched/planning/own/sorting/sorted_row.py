"""What the ways to sort a row have in common: where it lies, and the scratch memory of each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.ir import SSAValue

from ......dialects import graph
from .....indices.access import shape_of
from .....scalar.rules import element_type
from ...code import KernelCode
from ..interface import ProgramPart
from .scratch import Part, Scratch


class SortedRow(ABC):
    """
    A row that `code` sorts from `source` into `result`, with scratch buffers of which the indices `within`
    choose the part that it has for itself.
    """

    def __init__(
        self,
        code: KernelCode,
        op: graph.SortOp | graph.ArgsortOp,
        row: list[SSAValue],
        source: SSAValue,
        scratch: Sequence[SSAValue],
        within: list[SSAValue],
        result: SSAValue,
    ):
        self.code, self.op, self.row, self.within = code, op, row, within
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


def write_rows(
    part: ProgramPart,
    op: graph.SortOp | graph.ArgsortOp,
    scratch: Sequence[Part],
    kind: type[SortedRow],
) -> None:
    """
    Writes a kernel that sorts each row in a way, with scratch buffers of these types and shapes for each row.
    """
    shape, axis = shape_of(op.source, op.name), op.axis.data
    rows = [extent for dim, extent in enumerate(shape) if dim != axis]
    code = KernelCode(op)
    source = code.buffer(op.source.type, op.source.name_hint)
    buffers = Scratch(code, part, rows, scratch)
    result = code.buffer(op.result.type, op.result.name_hint)
    with code.axes(rows) as row:
        kind(code, op, row, source, *buffers.of(row), result).write()
    part.launch(code, [part.buffer_of(op.source), *buffers.places, part.buffer_of(op.result)])

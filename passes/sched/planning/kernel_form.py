"""
What a planned kernel is, but for what its values and loops are called and where its ops stand in the program.

Layers that are alike have kernels that are alike. Two of equal form are written as the same code, so the
second is only launched; and what an estimate found for one holds for the other.

A form holds all that they are told apart by, and none is known by a digest: ops with all that is written on
them but their memory mode, types, extents, what reads what, and every index. Values and axes are numbers, in
the order in which they are met.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import graph
from ...indices.access import Indices
from ...indices.expressions import Atom, Axis, Clamp, Element, IndexExpr, Opaque
from .accesses import Access, Kernel

Form = tuple[object, ...]


@dataclass(slots=True)
class FormParts:
    """What forms have of attributes, ops and values, whichever kernel they are met in."""

    by_value: dict[Attribute, int] = field(default_factory=dict[Attribute, int])
    by_identity: dict[int, tuple[Attribute, int]] = field(default_factory=dict[int, "tuple[Attribute, int]"])
    """The attributes with their numbers, by what `id` gives: they live as long as it stands for them."""
    ops: dict[Operation, Form] = field(default_factory=dict["Operation", "Form"])
    values: dict[SSAValue, Form] = field(default_factory=dict["SSAValue", "Form"])

    def attribute(self, attribute: Attribute) -> int:
        """Returns a number, the same for equal attributes: to compare these is to compare attributes."""
        found = self.by_identity.get(id(attribute))
        if found is None:
            number = self.by_value.setdefault(attribute, len(self.by_value))
            found = self.by_identity[id(attribute)] = (attribute, number)
        return found[1]

    def op(self, op: Operation) -> Form:
        """Returns what an op is, without its operands and results: all on it but its memory mode."""
        found = self.ops.get(op)
        if found is None:
            written = [
                part
                for kind in (op.properties, op.attributes)
                for name in sorted(kind)
                if name != "memory_mode"
                for part in (name, self.attribute(kind[name]))
            ]
            found = self.ops[op] = (type(op), *written)
        return found

    def value(self, value: SSAValue) -> Form:
        """
        Returns the type of a value, and what makes an index of it without reading it: a number, or a count
        along an axis.
        """
        found = self.values.get(value)
        if found is None:
            owner = value.owner
            is_number = isinstance(owner, graph.ConstantOp) and not owner.value.get_shape()
            is_index = is_number or isinstance(owner, graph.IotaOp)
            known = self.op(owner) if is_index and isinstance(owner, Operation) else None
            found = self.values[value] = (self.attribute(value.type), known)
        return found


class FormWriter:
    """Writes what values, axes and ops are, with numbers for those that it has met."""

    def __init__(self, parts: FormParts):
        self._parts = parts
        self._numbers: dict[SSAValue, int] = {}
        self.values: list[SSAValue] = []
        """The values that were met, by their numbers."""
        self._axes: dict[Axis, int] = {}
        self._indices: dict[int, Form] = {}
        """The forms of index expressions, which the kernel keeps alive, by what `id` gives."""

    def number_of(self, value: SSAValue) -> int:
        """Returns the number of a value that was met."""
        return self._numbers[value]

    def value(self, value: SSAValue) -> object:
        """Returns the number of a value, and the first time what it is."""
        number = self._numbers.get(value)
        if number is not None:
            return number
        self._numbers[value] = number = len(self.values)
        self.values.append(value)
        return (number, self._parts.value(value))

    def op(self, op: Operation) -> Form:
        """Returns what an op is, with its operands and results."""
        return (self._parts.op(op), *map(self.value, op.operands), *map(self.value, op.results))

    def axis(self, axis: Axis) -> object:
        """Returns the number of an axis, with its extent the first time."""
        number = self._axes.get(axis)
        if number is not None:
            return number
        self._axes[axis] = number = len(self._axes)
        return (number, axis.extent)

    def axes(self, axes: Iterable[Axis]) -> Form:
        return tuple(map(self.axis, axes))

    def axis_set(self, axes: frozenset[Axis]) -> Form:
        """Returns what a set of axes is that were met."""
        return tuple(sorted(self._axes[axis] for axis in axes))

    def indices(self, indices: Indices) -> Form:
        return tuple(map(self._index, indices))

    def access(self, access: Access) -> Form:
        return (self.indices(access.indices), self.axes(access.loops))

    def _index(self, index: IndexExpr) -> Form:
        found = self._indices.get(id(index))
        if found is None:
            terms = [part for atom, factor in index.terms.items() for part in (self._atom(atom), factor)]
            found = (index.constant, *terms)
            # A second time, axes and values are numbers alone.
            self._indices[id(index)] = ("again", len(self._indices))
        return found

    def _atom(self, atom: Atom) -> object:
        match atom:
            case Axis():
                return self.axis(atom)
            case Element():
                return (Element, self.value(atom.tensor), self.indices(atom.indices), atom.last)
            case Opaque():
                return (Opaque, self.value(atom.value), self.axes(atom.along))
            case Clamp():
                return (Clamp, self._index(atom.operand), atom.last)
            case _:
                return (type(atom), self._index(atom.operand), atom.divisor)


def kernel_form(kernel: Kernel, writer: FormWriter) -> Form | None:
    """
    Returns the form of a kernel with all that its code is written from; None where that may be more, as for
    ops from outside.
    """
    if any(isinstance(op, graph.CustomOp) for op in kernel.members):
        return None
    members = [
        (
            writer.op(op),
            *map(writer.access, accesses),
            *(
                writer.axes(axes[op]) if op in axes else None
                for axes in (kernel.stage_axes, kernel.fill_axes)
            ),
            kernel.local_dims.get(op),
        )
        for op, accesses in kernel.members.items()
    ]
    in_result = kernel.in_result
    return (
        *members,
        writer.value(kernel.root.results[0]),
        None if in_result is None else writer.value(in_result.results[0]),
        writer.indices(kernel.stored),
        writer.axes(kernel.axes),
        *map(writer.axis_set, kernel.prefixes),
    )

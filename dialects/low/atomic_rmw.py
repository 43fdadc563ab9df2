"""An element read, changed and written in one piece, `low.atomic_rmw`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    f32,
    f64,
    i32,
    i64,
)
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

ATOMIC_TYPES: tuple[Attribute, ...] = (i32, i64, f32, f64)
"""The element types that every kind of device has atomics for, with loops around a comparison if need be."""


class AtomicRmwKind(StrEnum):
    """What becomes of an element, with the names of MLIR's `AtomicRMWKind`."""

    ADDF = "addf"
    MULF = "mulf"
    MAXIMUMF = "maximumf"
    MINIMUMF = "minimumf"
    ADDI = "addi"
    MULI = "muli"
    MAXS = "maxs"
    MINS = "mins"
    MAXU = "maxu"
    MINU = "minu"
    ANDI = "andi"
    ORI = "ori"
    XORI = "xori"
    ASSIGN = "assign"


FLOAT_KINDS = (AtomicRmwKind.ADDF, AtomicRmwKind.MULF, AtomicRmwKind.MAXIMUMF, AtomicRmwKind.MINIMUMF)
"""The kinds that are for floats only; of the others `assign` is for all types, the rest for integers only."""


@irdl_attr_definition
class AtomicRmwKindAttr(EnumAttribute[AtomicRmwKind], SpacedOpaqueSyntaxAttribute):
    """`#low<atomic_rmw_kind addi>`; printed bare (`addi`) by `low.atomic_rmw`."""

    name = "low.atomic_rmw_kind"


@irdl_op_definition
class AtomicRmwOp(IRDLOperation):
    """
    Combines an element with a value, in one piece: whatever other work-items do to the element by this op
    happens before or after. The result is what the element was. MLIR has it as `memref.atomic_rmw`.

    ```mlir
    %old = low.atomic_rmw addi %one, %counts[%bin] : memref<13xi32>
    ```

    The element becomes what the op of `arith` of the kind's name gives for the element and the value, in this
    order (`maxs` is `arith.maxsi`, and so on); `assign` puts the value in its place. It is an i32, i64, f32
    or f64, in an argument or in an alloca that is `"shared"`.

    The ordering is relaxed: the order of the work-items is left open, and so is when one sees what another
    does elsewhere. So the results, what `assign` leaves, and sums and products of floats, each of which is
    rounded, may differ from run to run; other elements come out the same in every order. No lowering makes
    this op.

    A work-item that loads or stores an element otherwise is in a race with those that combine it, where no
    barrier lies between them.
    """

    name = "low.atomic_rmw"
    T: ClassVar = VarConstraint("T", AnyFloatConstr | BaseAttr(IntegerType))
    kind = prop_def(AtomicRmwKindAttr)
    value = operand_def(T)
    buffer = operand_def(MemRefType.constr(T))
    index = operand_def(IndexType())
    result = result_def(T)
    # Both: it is neither merged with an equal one nor moved, and stays where nothing uses its result.
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$kind $value `,` $buffer `[` $index `]` attr-dict `:` type($buffer)"

    def __init__(self, kind: AtomicRmwKind, value: SSAValue, buffer: SSAValue, index: SSAValue):
        Operation.__init__(
            self,
            operands=(value, buffer, index),
            result_types=(value.type,),
            properties={"kind": AtomicRmwKindAttr(kind)},
        )

    def verify_(self) -> None:
        kind, type = self.kind.data, self.value.type
        buffer: Attribute = self.buffer.type
        if type not in ATOMIC_TYPES:
            listed = ", ".join(map(str, ATOMIC_TYPES))
            raise VerifyException(f"{self.name}: no atomics on elements of {type} (there are on {listed})")
        is_for_floats = kind in FLOAT_KINDS
        if kind is not AtomicRmwKind.ASSIGN and is_for_floats != (type in (f32, f64)):
            raise VerifyException(
                f"{self.name}: {kind.value} is for {'floats' if is_for_floats else 'integers'}, got {type}"
            )
        if not isinstance(buffer, MemRefType) or len(buffer.get_shape()) != 1:
            raise VerifyException(f"{self.name}: {buffer} has several dims, expected one")
        if isinstance(self.buffer.owner, Operation) and isinstance(buffer.memory_space, NoneAttr):
            raise VerifyException(
                f'{self.name}: the memory is one work-item\'s own (expected an argument or "shared" memory)'
            )


def has_atomics(buffer: SSAValue) -> bool:
    """Returns whether a kernel changes a buffer by `low.atomic_rmw`, as others may at the same time."""
    return any(isinstance(use.operation, AtomicRmwOp) for use in buffer.uses)

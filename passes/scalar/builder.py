"""A small builder for scalar code: inserts ops with a location and a hint, and writes every constant once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.dims.expressions import (
    DimAtom,
    DimExpr,
    DimSymbol,
    Extent,
    Greatest,
    Least,
    Monomial,
    Quotient,
    Remainder,
    from_terms,
)
from .number_key import number_key

INDEX = IndexType()


class ScalarBuilder:
    """
    Inserts ops into `block`, before `anchor` if there is one. `constants` is shared by all builders of a
    kernel; constants go to the front of the kernel's block.
    """

    __slots__ = ("anchor", "block", "constants", "location")

    def __init__(self, block: Block, anchor: Operation | None, constants: ConstantPool):
        self.block = block
        self.anchor = anchor
        self.constants = constants
        self.location: LocationAttr = UNKNOWN_LOC

    def insert(self, op: Operation, hint: str | None = None) -> Operation:
        """Inserts `op` and gives its result a name."""
        if op.location is UNKNOWN_LOC:
            op.location = self.location
        if self.anchor is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self.anchor)
        if hint is not None and op.results:
            op.results[0].name_hint = hint
        return op

    def op(
        self,
        op_type: type[Operation],
        *operands: SSAValue,
        result_type: Attribute | None = None,
        hint: str | None = None,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        """Inserts an op with one result, of the type of its first operand unless told otherwise."""
        created = op_type.create(
            operands=operands,
            result_types=(operands[0].type if result_type is None else result_type,),
            properties={} if properties is None else properties,
        )
        return self.insert(created, hint).results[0]

    def constant(self, value: float | DimExpr, type: Attribute) -> SSAValue:
        """Returns the constant `value` of a scalar type, or an extent, of type `index`."""
        return self.constants.get(value, type)


class ConstantPool:
    """
    The constants of one kernel, each written once, at the front of the kernel in order of first use; so are
    extents made of its dims, whose values are `sizes`. They have the location of the kernel, as they belong
    to all of its ops. `leading` are the constants that stand there already.
    """

    __slots__ = ("_block", "_known", "_last", "_location", "_sizes")

    def __init__(
        self,
        block: Block,
        location: LocationAttr,
        sizes: Mapping[str, SSAValue] | None = None,
        leading: Sequence[arith.ConstantOp] = (),
    ):
        self._block = block
        self._location = location
        self._known: dict[tuple[str, Attribute], SSAValue] = {}
        self._last: Operation | None = None
        for op in leading:
            self._last = op
            if isinstance(op.value, IntegerAttr):
                self._known.setdefault((number_key(op.value.value.data), op.result.type), op.result)
        self._sizes = sizes or {}

    def adopt(self) -> None:
        """Has the constants that stand at the front of the block used again."""
        for op in self._block.ops:
            if not isinstance(op, arith.ConstantOp):
                return
            if isinstance(op.value, IntegerAttr | FloatAttr):
                self._known.setdefault((number_key(op.value.value.data), op.result.type), op.result)
            self._last = op

    def get(self, value: float | DimExpr, type: Attribute) -> SSAValue:
        key = (number_key(value), type)
        if (known := self._known.get(key)) is not None:
            return known
        if isinstance(value, DimExpr):
            self._known[key] = size = self._size(value)
            return size
        return self._add(key, _attribute(value, type), type, _constant_hint(value))

    def _size(self, extent: DimExpr) -> SSAValue:
        """Writes a sum of products, term by term; a part that is there already is used again."""
        terms = sorted(extent.terms.items(), key=lambda term: (-term[1], str(DimExpr({term[0]: 1}))))
        total: SSAValue | None = None
        so_far: Extent = 0
        for monomial, factor in terms:
            so_far = so_far + from_terms({monomial: factor})
            known = self._known.get((repr(so_far), INDEX))
            if known is None:
                term = self._term(monomial, factor)
                known = term if total is None else self._op(arith.AddiOp, total, term)
                self._known[repr(so_far), INDEX] = known
            total = known
        assert total is not None, "an extent without terms"
        return total

    def _term(self, monomial: Monomial, factor: int) -> SSAValue:
        value: SSAValue | None = None
        for atom in monomial:
            part = self._atom(atom)
            value = part if value is None else self._op(arith.MuliOp, value, part)
        if value is None:
            return self.get(factor, INDEX)
        return value if factor == 1 else self._op(arith.MuliOp, value, self.get(factor, INDEX))

    def _atom(self, atom: DimAtom) -> SSAValue:
        if isinstance(atom, DimSymbol):
            size = self._sizes.get(atom.name)
            assert size is not None, f"dim {atom.name} is not among those of the kernel"
            return size
        known = self._known.get((repr(DimExpr({(atom,): 1})), INDEX))
        if known is not None:
            return known
        match atom:
            case Quotient(first, second):
                op_type: type[Operation] = arith.DivUIOp
            case Remainder(first, second):
                op_type = arith.RemUIOp
            case Greatest(first, second):
                op_type = arith.MaxSIOp
            case Least(first, second):
                op_type = arith.MinSIOp
        return self._op(op_type, self.get(first, INDEX), self.get(second, INDEX))

    def _op(self, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        wraps = op_type in (arith.AddiOp, arith.MuliOp)
        properties: dict[str, Attribute] = (
            {"overflowFlags": arith.IntegerOverflowAttr("none")} if wraps else {}
        )
        return self._put(op_type.create(operands=(lhs, rhs), result_types=(INDEX,), properties=properties))

    def dense(self, value: DenseIntOrFPElementsAttr, hint: str | None) -> SSAValue:
        """Returns a constant vector."""
        key = (str(value), value.type)
        if (known := self._known.get(key)) is not None:
            return known
        return self._add(key, value, value.type, hint)

    def _add(
        self, key: tuple[str, Attribute], value: Attribute, type: Attribute, hint: str | None
    ) -> SSAValue:
        result = self._put(arith.ConstantOp.create(result_types=(type,), properties={"value": value}))
        result.name_hint = hint
        self._known[key] = result
        return result

    def _put(self, op: Operation) -> SSAValue:
        op.location = self._location
        if self._last is not None:
            self._block.insert_op_after(op, self._last)
        elif (first := self._block.first_op) is not None:
            self._block.insert_op_before(op, first)
        else:
            self._block.add_op(op)
        self._last = op
        return op.results[0]


def _attribute(value: int | float, type: Attribute) -> Attribute:
    if isinstance(type, AnyFloat):
        return FloatAttr(float(value), type)
    assert isinstance(type, IntegerType | IndexType), f"no constant of type {type}"
    return _integer(int(value), cast("IntegerType | IndexType", type))


@lru_cache(maxsize=4096)
def _integer(value: int, type: IntegerType | IndexType) -> Attribute:
    return IntegerAttr(value, type, truncate_bits=True)


def _constant_hint(value: int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"c{value}" if value >= 0 else f"cm{-value}"
    return "cst"

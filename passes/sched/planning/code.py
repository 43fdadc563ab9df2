"""Writes a `sched.kernel` by hand: axes, loops, branches and scalar code, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import cast

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ....dialects import low, sched
from ....dialects.dims.expressions import Extent
from ....dialects.element_types import element_type_of, is_unsigned, storage_type, width_of
from ...indices.access import dims_in
from ...scalar.builder import INDEX, ConstantPool, ScalarBuilder
from ...scalar.ops import cmpi, convert, integer_op
from ...scalar.rules import from_storage, to_storage

Body = Callable[[Sequence[SSAValue]], Sequence[SSAValue]]
"""Writes a block, given its arguments, and returns what it yields."""


class KernelCode:
    """
    The kernel of an op, or one of its kernels. What is written has the location of the op; `b` writes at the
    place that is open.
    """

    def __init__(self, origin: Operation):
        self.op = sched.KernelOp("", (), dims_in((origin,)))
        self.op.location = origin.location
        self._block = self.op.body.block
        for name, size in self.op.sizes.items():
            size.name_hint = name
            size.location = origin.location
        self._constants = ConstantPool(self._block, origin.location, self.op.sizes)
        self.b = self._builder(self._block)

    def _builder(self, block: Block) -> ScalarBuilder:
        builder = ScalarBuilder(block, None, self._constants)
        builder.location = self.op.location
        return builder

    def buffer(self, type: Attribute, hint: str | None) -> SSAValue:
        """Adds an argument: the buffer of a tensor type, or of a memref type itself."""
        memory: Attribute = cast(Attribute, type) if isinstance(type, MemRefType) else sched.buffer_type(type)
        argument = self._block.insert_arg(memory, len(self._block.args))
        argument.name_hint = hint
        argument.location = self.op.location
        return argument

    def index(self, value: Extent) -> SSAValue:
        return self.b.constant(value, INDEX)

    @contextmanager
    def axis(self, extent: Extent, hint: str) -> Generator[SSAValue, None, None]:
        """Opens a parallel axis; what is written meanwhile is inside of it."""
        op = sched.AxisOp(extent)
        self.b.insert(op)
        op.index.name_hint = hint
        op.index.location = op.location
        with self.inside(op.body.block):
            yield op.index

    @contextmanager
    def axes(self, extents: Sequence[Extent], hint: str = "i") -> Generator[list[SSAValue], None, None]:
        """Opens a nest of parallel axes, the first the outermost."""
        if not extents:
            yield []
            return
        with self.axis(extents[0], hint) as first, self.axes(extents[1:], _next_letter(hint)) as others:
            yield [first, *others]

    @contextmanager
    def inside(self, block: Block) -> Generator[None, None, None]:
        """Opens a block; what is written meanwhile stands at its end."""
        outer, self.b = self.b, self._builder(block)
        yield
        self.b = outer

    def reduce(
        self, kind: sched.CombineKind, extent: Extent, body: Callable[[SSAValue], SSAValue], hint: str
    ) -> SSAValue:
        """Writes a reduction of what `body` makes of each index; returns its result."""
        block = Block(arg_types=[INDEX])
        with self.inside(block):
            value = body(block.args[0])
            self.b.insert(sched.YieldOp(value))
        op = sched.ReduceOp(kind, extent, value.type, body=Region(block))
        self.b.insert(op, hint)
        op.index.name_hint, op.index.location = "k", op.location
        return op.result

    def loop(
        self,
        begin: SSAValue,
        end: SSAValue,
        step: SSAValue,
        carried: Sequence[SSAValue],
        body: Body,
        hints: Sequence[str] = ("k",),
    ) -> Sequence[SSAValue]:
        """
        Writes an `scf.for`; `body` is given the index and the carried values, which `hints` name. Returns
        what is carried out of it.
        """
        types = [value.type for value in carried]
        block = Block(arg_types=[INDEX, *types])
        op = scf.ForOp.create(
            operands=(begin, end, step, *carried), result_types=types, regions=[Region(block)]
        )
        self._write(op, [block], [body], hints)
        for result, hint in zip(op.results, hints[1:], strict=False):
            result.name_hint = hint
        return op.results

    def count(self, extent: Extent, carried: Sequence[SSAValue], body: Body, hints: Sequence[str] = ("k",)):
        """Writes an `scf.for` from 0 to below `extent`."""
        return self.loop(self.index(0), self.index(extent), self.index(1), carried, body, hints)

    def repeat(
        self,
        carried: Sequence[SSAValue],
        holds: Callable[[Sequence[SSAValue]], SSAValue],
        body: Body,
        hints: Sequence[str] = (),
    ) -> Sequence[SSAValue]:
        """
        Writes an `scf.while`, which goes on as long as `holds` says; both functions are given the carried
        values, which `hints` name. Returns what is carried out of it.
        """
        types = [value.type for value in carried]
        before, after = Block(arg_types=types), Block(arg_types=types)
        op = scf.WhileOp.create(
            operands=tuple(carried), result_types=types, regions=[Region(before), Region(after)]
        )
        self._write(op, [after], [body], hints)
        for argument, hint in zip(before.args, hints, strict=False):
            argument.name_hint = hint
        for argument in before.args:
            argument.location = op.location
        with self.inside(before):
            condition = holds(before.args)
            self.b.insert(scf.ConditionOp.create(operands=(condition, *before.args)))
        return op.results

    def branch(
        self, condition: SSAValue, body: Callable[[], None], otherwise: Callable[[], None] | None = None
    ) -> None:
        """Writes an `scf.if` without results, with another branch where there is one."""
        bodies = [body] if otherwise is None else [body, otherwise]
        blocks = [Block() for _ in bodies]
        regions = [Region(block) for block in blocks]
        op = scf.IfOp.create(operands=(condition,), regions=[*regions, Region()][:2])

        def write(part: Callable[[], None]) -> Body:
            def run(_: Sequence[SSAValue]) -> Sequence[SSAValue]:
                part()
                return ()

            return run

        self._write(op, blocks, [write(part) for part in bodies], ())

    def _write(
        self, op: Operation, blocks: Sequence[Block], bodies: Sequence[Body], hints: Sequence[str]
    ) -> None:
        self.b.insert(op)
        for block, body in zip(blocks, bodies, strict=True):
            for argument in block.args:
                argument.location = op.location
            for argument, hint in zip(block.args, hints, strict=False):
                argument.name_hint = hint
            with self.inside(block):
                self.b.insert(scf.YieldOp.create(operands=tuple(body(block.args))))

    def alloc(self, element_type: Attribute, shape: Sequence[int], hint: str) -> SSAValue:
        """Allocates a local buffer."""
        type = MemRefType(element_type, list(shape))
        return self.b.insert(sched.AllocOp(sched.Scope.LOCAL, type), hint).results[0]

    def load(self, buffer: SSAValue, indices: Sequence[SSAValue], hint: str | None = None) -> SSAValue:
        """Loads an element as it is stored."""
        type = element_type_of(buffer.type)
        return self.b.op(memref.LoadOp, buffer, *indices, result_type=type, hint=hint)

    def store(self, value: SSAValue, buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
        """Stores an element as it is."""
        self.b.insert(memref.StoreOp.create(operands=(value, buffer, *indices)))

    def load_element(
        self, buffer: SSAValue, element_type: Attribute, indices: Sequence[SSAValue], hint: str | None = None
    ) -> SSAValue:
        """Loads an element of a tensor in its compute type."""
        return from_storage(self.b, self.load(buffer, indices, hint), element_type)

    def store_element(
        self, value: SSAValue, buffer: SSAValue, element_type: Attribute, indices: Sequence[SSAValue]
    ) -> None:
        """Stores a value of the compute type as an element of a tensor, rounded to it."""
        self.store(to_storage(self.b, value, element_type, storage_type(element_type)), buffer, indices)

    def integer(
        self, op_type: type[Operation], lhs: SSAValue, rhs: SSAValue, hint: str | None = None
    ) -> SSAValue:
        """Writes an op on two integers or indices; it wraps."""
        return integer_op(self.b, op_type, lhs, rhs, hint)

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return cmpi(self.b, predicate, lhs, rhs)

    def index_in(self, value: SSAValue, element_type: Attribute, extent: Extent) -> tuple[SSAValue, SSAValue]:
        """Returns an integer as an index, and whether it is from 0 to below `extent`."""
        if width_of(value.type) < 64:
            kind = low.Conversion.EXTUI if is_unsigned(element_type) else low.Conversion.EXTSI
            value = convert(self.b, kind, value, i64)
        if not isinstance(extent, int):
            index = self.b.op(arith.IndexCastOp, value, result_type=INDEX)
            return index, self.compare("ult", index, self.index(extent))
        inside = self.compare("ult", value, self.b.constant(extent, i64))
        return self.b.op(arith.IndexCastOp, value, result_type=INDEX), inside


def _next_letter(hint: str) -> str:
    """Returns the letter after `hint`, but z after z; equal names are numbered in print."""
    return "z" if hint == "z" else chr(ord(hint) + 1)

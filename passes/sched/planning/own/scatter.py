"""
The kernel of `graph.scatter`, which stores over a copy of the source.

Updates are applied one after the other, in row-major order of the indices; work-groups take different parts
of the window, the dims that are not indexed.

What is one number for all updates, as where elements are counted, is written in the kernel and never stored.

    sched.axis %part {
      scf.for %k = ... {                 each update in turn
        %at = ...; %inside = ...
        scf.if %inside {
          sched.axis %j { ... }          its elements in this part of the window
        }
      }
    }
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .....dialects import graph
from .....dialects.dims.expressions import Extent
from .....dialects.element_types import compute_type
from .....dialects.graph import ScatterKind
from ....indices.access import shape_of
from ....scalar.rules import element_type
from ..code import KernelCode
from ..emission import splat_value
from .combining import combine
from .interface import ProgramPart
from .tiles import tiled


def write(part: ProgramPart, op: graph.ScatterOp) -> None:
    """Nothing is launched where there are no updates."""
    if 0 in shape_of(op.updates, op.name):
        return
    code = KernelCode(op)
    updates = () if one_update(op) is not None else (op.updates,)
    operands = list(dict.fromkeys((*op.indices, *updates)))
    arguments = {value: code.buffer(value.type, value.name_hint) for value in operands}
    result = code.buffer(op.result.type, op.result.name_hint)
    _Scatter(code, op, arguments, result).write()
    part.launch(code, [*map(part.buffer_of, operands), part.buffer_of(op.result)])


def one_update(op: graph.ScatterOp) -> graph.ConstantOp | None:
    """Returns the constant whose one value all updates are, if there is one."""
    owner = op.updates.owner
    while isinstance(owner, graph.BroadcastOp | graph.ReshapeOp):
        owner = owner.source.owner
    return owner if isinstance(owner, graph.ConstantOp) and owner.value.is_splat() else None


class _Scatter:
    def __init__(
        self, code: KernelCode, op: graph.ScatterOp, buffers: dict[SSAValue, SSAValue], result: SSAValue
    ):
        self.code = code
        self.op = op
        self.buffers = buffers
        self.result = result
        self.shape = shape_of(op.source, op.name)
        self.type = element_type(op.source)

    def write(self) -> None:
        window = [extent for axis, extent in enumerate(self.shape) if axis not in self.op.axes.data]
        outer, last = window[:-1], window[-1:]
        parts, size = tiled(last[0]) if last else (1, 1)
        code = self.code
        with code.axes([*outer, *([parts] if parts > 1 else [])], "w") as around:
            first: SSAValue | None = None
            if parts > 1:
                first = code.integer(arith.MuliOp, around.pop(), code.index(size))
            extents = shape_of(self.op.indices[0], self.op.name)
            self._each_update(extents, [], around, first, size if last else None)

    def _each_update(
        self,
        extents: Sequence[Extent],
        at: list[SSAValue],
        around: list[SSAValue],
        first: SSAValue | None,
        size: Extent | None,
    ) -> None:
        """Loops over the dims of the indices that are left."""
        if not extents:
            self._update(at, around, first, size)
            return

        def body(arguments: Sequence[SSAValue]) -> Sequence[SSAValue]:
            self._each_update(extents[1:], [*at, arguments[0]], around, first, size)
            return ()

        self.code.count(extents[0], (), body)

    def _update(
        self, at: list[SSAValue], around: list[SSAValue], first: SSAValue | None, size: Extent | None
    ) -> None:
        code, op = self.code, self.op
        targets: dict[int, SSAValue] = {}
        condition: SSAValue | None = None
        for axis, index in zip(op.axes.data, op.indices, strict=True):
            value = code.load(self.buffers[index], at, index.name_hint)
            targets[axis], inside = code.index_in(value, element_type(index), self.shape[axis])
            condition = inside if condition is None else code.b.op(arith.AndIOp, condition, inside)
        assert condition is not None, f"{op.name}: no indices"

        def body() -> None:
            if size is None:
                self._element(at, around, targets)
                return
            with code.axis(size, "j") as inner:
                last = inner if first is None else code.integer(arith.AddiOp, first, inner)
                self._element(at, [*around, last], targets)

        code.branch(condition, body)

    def _element(self, at: list[SSAValue], window: list[SSAValue], targets: dict[int, SSAValue]) -> None:
        """Sets or combines one element."""
        code, op = self.code, self.op
        rest = iter(window)
        place = [targets[axis] if axis in targets else next(rest) for axis in range(len(self.shape))]
        constant = one_update(op)
        if constant is not None:
            update = code.b.constant(splat_value(constant.value), compute_type(self.type))
        elif op.kind.data is ScatterKind.SET:
            code.store(code.load(self.buffers[op.updates], [*at, *window]), self.result, place)
            return
        else:
            update = code.load_element(self.buffers[op.updates], self.type, [*at, *window])
        if op.kind.data is ScatterKind.SET:
            code.store_element(update, self.result, self.type, place)
            return
        there = code.load_element(self.result, self.type, place)
        value = combine(code, op.kind.data.value, self.type, there, update, "combined")
        code.store_element(value, self.result, self.type, place)

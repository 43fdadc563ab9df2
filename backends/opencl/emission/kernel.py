"""The walk over the body of one `low.kernel`: names, declarations, nesting."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any

from xdsl.dialects import memref, scf, vector
from xdsl.dialects.builtin import IndexType, MemRefType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from ....dialects import low
from ....dialects.element_types import element_type_of, lanes_of
from ....dialects.low.atomic_rmw import has_atomics
from .names import ValueNames
from .source import Source
from .types import nbytes_of, vector_type

Rule = Callable[["KernelWriter", Any], None]
"""Writes one op."""


class KernelWriter:
    """
    Writes one kernel, op by op, by the rule of each op's class.

    `expressions` holds the C expression of every value written so far: a name or a constant, binding tightly.
    Masks, the vectors of i1, remember how wide their lanes are: `masks` holds the type of their lanes.
    """

    def __init__(self, source: Source, rules: Mapping[type[Operation], Rule], op: low.KernelOp):
        self.source = source
        self.helpers = source.helpers
        self.expressions: dict[SSAValue, str] = {}
        self.masks: dict[SSAValue, str] = {}
        self.spaces: dict[SSAValue, str] = {}
        """The address space of each array, as the qualifier of a pointer into it."""
        self._rules = rules
        self._op = op
        self._names = ValueNames()
        self._lines: list[str] = []
        self._indent = "    "

    def fail(self, op: Operation, what: str) -> DiagnosticException:
        """Returns the error to raise about `op`."""
        return self.source.fail(op, what)

    def element(self, type: Attribute, op: Operation) -> str:
        """Returns the C type of one element of `type`, or raises naming `op`."""
        return self.source.element(type, op)

    def text(self, name: str) -> str:
        """Returns the kernel as the C function `name`."""
        block = self._op.block_extents
        largest = self.source.device.max_block
        if any(extent > limit for extent, limit in zip(block, largest, strict=True)):
            raise self.fail(
                self._op,
                f"block {list(block)} of @{self._op.sym_name.data} is too large for device "
                f"{self.source.device.name} (at most {list(largest)})",
            )
        if prod(block) > self.source.device.max_items:
            raise self.fail(
                self._op,
                f"block {list(block)} of @{self._op.sym_name.data} has {prod(block)} work-items, device "
                f"{self.source.device.name} takes {self.source.device.max_items}",
            )
        parameters = self._parameters()
        self._shared_arrays()
        self._block(self._op.body.block, ())
        separator = ",\n" + " " * len(f"__kernel void {name}(")
        head = f"__attribute__((reqd_work_group_size({block[0]}, {block[1]}, {block[2]})))\n"
        head += f"__kernel void {name}({separator.join(parameters)}) {{\n"
        return head + "".join(f"{line}\n" for line in self._lines) + "}\n"

    def _parameters(self) -> list[str]:
        n_dims = len(self._op.sizes)
        sizes, arguments = self._op.body.block.args[:n_dims], self._op.body.block.args[n_dims:]
        pools = [self._names.fresh(f"p{argument.index}") for argument in arguments]
        offsets = [self._names.fresh(f"o{argument.index}") for argument in arguments]
        parameters = [f"const {self.c_type(size, self._op)} {self.name(size, 'n')}" for size in sizes]
        for argument, pool, offset in zip(arguments, pools, offsets, strict=True):
            element = self.memref_element(argument.type, self._op)
            const = "" if _is_stored_to(argument) else "const "
            name = self.name(argument, "x")
            pointer = f"__global {const}{element} *"
            self.spaces[argument] = "__global "
            # What is changed atomically other work-items change meanwhile, by pointers of their own.
            restrict = "" if has_atomics(argument) else "restrict "
            self.line(f"{pointer}{restrict}{name} = ({pointer})({pool} + {offset});")
            parameters.append(f"__global {const}uchar *{pool}, ulong {offset}")
        return parameters

    def _shared_arrays(self) -> None:
        """Arrays in local memory must be declared in the outermost scope of a kernel."""
        nbytes = 0
        for op in self._op.body.walk():
            if isinstance(op, low.AllocaOp) and op.is_shared:
                element = self.memref_element(op.type, op)
                nbytes += prod(op.type.get_shape()) * nbytes_of(element)
                self.array(op, "__local ")
                self._check_shared(op, nbytes)

    def _check_shared(self, op: low.AllocaOp, nbytes: int) -> None:
        device = self.source.device
        if nbytes > device.max_shared_nbytes:
            raise self.fail(
                op,
                f"@{self._op.sym_name.data} shares {nbytes} bytes, device {device.name} "
                f"has {device.max_shared_nbytes}",
            )

    def memref_element(self, type: Attribute, op: Operation) -> str:
        """Returns the C type of the elements of a memref, or raises naming `op`."""
        element = element_type_of(type)
        assert isinstance(type, MemRefType), f"{op.name}: {type} is not a memref"
        if element in (i1, IndexType()) or type.get_num_dims() != 1:
            raise self.fail(op, f"no C array for {type}")
        return self.element(element, op)

    def array(self, op: low.AllocaOp, qualifier: str) -> None:
        """Declares the array that `op` allocates."""
        element = self.memref_element(op.type, op)
        (extent,) = op.type.get_shape()
        self.spaces[op.memref] = qualifier
        # C has no arrays of no elements
        self.line(f"{qualifier}{element} {self.name(op.memref, 'array')}[{max(extent, 1)}];")

    def line(self, text: str) -> None:
        """Writes one line, at the depth of the block being walked."""
        self._lines.append(self._indent + text)

    def name(self, value: SSAValue, default: str = "v", hint: str | None = None) -> str:
        """Gives `value` a variable's name: `hint`, its own hint, or `default`, made unique."""
        name = self._names.fresh(hint or value.name_hint, default)
        self.expressions[value] = name
        return name

    def c_type(self, value: SSAValue, op: Operation) -> str:
        """Returns the C type of `value`; a mask not yet given a width gets that of int."""
        element = self.element(value.type, op)
        lanes = lanes_of(value.type)
        if lanes is not None and element == "bool":
            element = self.masks.setdefault(value, "int")
        return vector_type(element, lanes)

    def fresh(self, hint: str) -> str:
        """Returns a name for a variable that no SSA value stands for."""
        return self._names.fresh(hint, hint)

    def temporary(self, type: str, expression: str) -> str:
        """Declares a variable that no SSA value stands for, and returns its name."""
        name = self._names.fresh("part", "part")
        self.line(f"const {type} {name} = {expression};")
        return name

    def define(self, op: Operation, expression: str, mask: str | None = None) -> None:
        """Declares the result of `op`; `mask` is the lane type of a vector of i1."""
        result = op.results[0]
        if mask is not None and lanes_of(result.type) is not None:
            self.masks[result] = mask
        type = self.c_type(result, op)
        self.line(f"const {type} {self.name(result)} = {expression};")

    def mask(self, value: SSAValue, element: str) -> str:
        """Returns the mask `value` with lanes as wide as `element`."""
        text = self.expressions[value]
        lanes = lanes_of(value.type)
        return text if self.masks[value] == element else f"convert_{element}{lanes}({text})"

    def like(self, value: SSAValue, like: SSAValue) -> str:
        """Returns `value` as an expression of the C type of `like`, which has the same type."""
        return self.mask(value, self.masks[like]) if like in self.masks else self.expressions[value]

    def index(self, op: Operation, indices: Sequence[SSAValue]) -> str:
        """Returns the one index of an access, or raises naming `op`."""
        if len(indices) != 1:
            raise self.fail(op, f"{len(indices)} indices, expected one linear index")
        return self.expressions[indices[0]]

    def vector_at(self, op: Operation, base: SSAValue, index: str, lanes: int, const: str = "") -> str:
        """Returns `lanes` elements of an array from `index` on, as what can be read or assigned to."""
        spelled = self.helpers.unaligned(self.element(element_type_of(base.type), op), lanes)
        return f"*({self.spaces[base]}{const}{spelled} *)({self.expressions[base]} + {index})"

    def _block(self, block: Block, targets: Sequence[SSAValue]) -> None:
        """Emits the ops of `block`; the operands of its yield are assigned to `targets`."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                self._assign(op, op.operands, targets)
                continue
            if isinstance(op, scf.ConditionOp):
                self._assign(op, op.args, targets)
                continue
            rule = self._rules.get(type(op))
            if rule is not None:
                rule(self, op)
            elif type(op) in low.EXPANDED_OPS:
                raise self.fail(op, "run expand-math first")
            else:
                raise DiagnosticException(f"{self.source.who}: no rule for {op.name}")

    def nested(self, block: Block, targets: Sequence[SSAValue]) -> None:
        """Writes `block` one level deeper; what it yields is assigned to `targets`."""
        with self.deeper():
            self._block(block, targets)

    @contextmanager
    def deeper(self) -> Generator[None, None, None]:
        """What is written meanwhile is one level deeper."""
        outer = self._indent
        self._indent = outer + "    "
        yield
        self._indent = outer

    def inner_line(self, text: str) -> None:
        """Writes one line, one level deeper."""
        self.line(f"    {text}")

    def _assign(self, op: Operation, values: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Assigns all operands at once: one that an assignment before it overwrites is put by first."""
        overwritten: set[str] = set()
        assignments: list[tuple[str, str]] = []
        for value, target in zip(values, targets, strict=True):
            name, source = self.expressions[target], self.expressions[value]
            text = self.like(value, target)
            if source == name:
                continue
            if source in overwritten:
                saved = self._names.fresh(f"next_{name}")
                self.line(f"const {self.c_type(target, op)} {saved} = {text};")
                text = saved
            overwritten.add(name)
            assignments.append((name, text))
        for name, text in assignments:
            self.line(f"{name} = {text};")


def _is_stored_to(argument: SSAValue) -> bool:
    return has_atomics(argument) or any(
        (
            isinstance(use.operation, memref.StoreOp | vector.StoreOp)
            and use.operation.operands[use.index] is argument
        )
        or (isinstance(use.operation, low.TileFmaOp) and use.operation.acc is argument)
        for use in argument.uses
    )

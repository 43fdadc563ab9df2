"""
Renders a module of `low.kernel`s as OpenCL C 1.2 in one walk.

    low.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<8xf32>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%i] : memref<8xf32>
    }

becomes

    __kernel __attribute__((reqd_work_group_size(1, 1, 1)))
    void k_double(__global const uchar *p0, ulong o0, __global uchar *p1, ulong o1) {
        __global const float *restrict x = (__global const float *)(p0 + o0);
        __global float *restrict y = (__global float *)(p1 + o1);
        const long i = (long)get_group_id(0);
        const float v = x[i];
        const float d = v + v;
        y[i] = d;
    }

Every memref argument is a pool and a byte offset into it. One statement per op, in the order of the ops; scalar
constants stand where they are used. A product that may be contracted into the sum that alone uses it is left to
`tenon_muladd`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import prod

from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    VectorType,
    bf16,
    f16,
    f64,
    i1,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from ...dialects import low
from ...dialects.element_types import element_type_of, is_float, lanes_of
from ..interface import DeviceInfo
from .helpers import Helpers
from .names import ValueNames, kernel_name
from .types import (
    LANES,
    MASK_ELEMENTS,
    NBITS,
    SCALARS,
    UNSIGNED,
    float_literal,
    integer_literal,
    vector_type,
)

_INDEX = IndexType()

_FLOAT_INFIX: dict[str, str] = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/"}
_WRAPPING_INFIX: dict[str, str] = {"addi": "+", "subi": "-", "muli": "*"}
_BIT_INFIX: dict[str, str] = {"andi": "&", "ori": "|", "xori": "^"}
_DIVISIONS = {"divsi": "/", "remsi": "%", "divui": "/", "remui": "%"}
_EXTREMES = {"minsi": "<", "maxsi": ">", "minui": "<", "maxui": ">"}

_BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "addf",
    arith.SubfOp: "subf",
    arith.MulfOp: "mulf",
    arith.DivfOp: "divf",
    arith.MaximumfOp: "maximumf",
    arith.MinimumfOp: "minimumf",
    math.CopySignOp: "copysign",
    low.RemfOp: "remf",
    arith.AddiOp: "addi",
    arith.SubiOp: "subi",
    arith.MuliOp: "muli",
    arith.AndIOp: "andi",
    arith.OrIOp: "ori",
    arith.XOrIOp: "xori",
    arith.ShLIOp: "shli",
    arith.ShRSIOp: "shrsi",
    arith.ShRUIOp: "shrui",
    arith.DivSIOp: "divsi",
    arith.DivUIOp: "divui",
    arith.RemSIOp: "remsi",
    arith.RemUIOp: "remui",
    arith.MinSIOp: "minsi",
    arith.MinUIOp: "minui",
    arith.MaxSIOp: "maxsi",
    arith.MaxUIOp: "maxui",
}
"""Ops of two operands of the result's type."""

_ROUNDINGS: dict[type[Operation], str] = {
    math.FloorOp: "floor",
    math.CeilOp: "ceil",
    math.TruncOp: "trunc",
    math.RoundEvenOp: "roundeven",
}

_REDUCTIONS: dict[str, tuple[str, str]] = {
    "add": ("addf", "addi"),
    "mul": ("mulf", "muli"),
    "maximumf": ("maximumf", ""),
    "minimumf": ("minimumf", ""),
    "minsi": ("", "minsi"),
    "minui": ("", "minui"),
    "maxsi": ("", "maxsi"),
    "maxui": ("", "maxui"),
    "and": ("", "andi"),
    "or": ("", "ori"),
    "xor": ("", "xori"),
}
"""What a kind of `vector.reduction` does on floats, and on integers."""

_CMPF = (
    "{false}",
    "{a} == {b}",
    "{a} > {b}",
    "{a} >= {b}",
    "{a} < {b}",
    "{a} <= {b}",
    "({a} < {b}) | ({a} > {b})",
    "({a} == {a}) & ({b} == {b})",
    "!(({a} < {b}) | ({a} > {b}))",
    "!({a} <= {b})",
    "!({a} < {b})",
    "!({a} >= {b})",
    "!({a} > {b})",
    "{a} != {b}",
    "({a} != {a}) | ({b} != {b})",
    "{true}",
)
"""By the number of the predicate, on scalars and vectors alike."""

_CMPI = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")
_FIRST_UNSIGNED_CMPI = 6

_CONTRACTING = frozenset((arith.FastMathFlag.ALLOW_CONTRACT,))


@dataclass(frozen=True)
class OpenCLRenderer:
    """Prints `low` as OpenCL C 1.2. `who` begins every message."""

    who: str = "opencl"

    @property
    def suffix(self) -> str:
        return ".cl"

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        """
        Returns the source of every `low.kernel` of `module`; a `sched.program` beside them is no part of it.

        Raises:
            DiagnosticException: an op has no rule, or uses what `device` lacks.
        """
        source = _Source(self.who, device)
        for op in module.body.block.ops:
            if isinstance(op, low.KernelOp):
                source.kernel(op)
            elif op.name != "sched.program":
                raise DiagnosticException(f"{self.who}: no rule for {op.name}")
        return source.text()


class _Source:
    """What all kernels of one source text share."""

    def __init__(self, who: str, device: DeviceInfo):
        self.who = who
        self.device = device
        self.helpers = Helpers()
        self.uses_f64 = False
        self._types: dict[Attribute, str] = {}
        self._kernels: dict[str, str] = {}
        self._texts: list[str] = []

    def kernel(self, op: low.KernelOp) -> None:
        symbol = op.sym_name.data
        name = kernel_name(symbol)
        if name in self._kernels:
            raise DiagnosticException(
                f"{self.who}: {op.name}: @{self._kernels[name]} and @{symbol} are both called {name} in C"
            )
        self._kernels[name] = symbol
        self._texts.append(_Kernel(self, op).text(name))

    def text(self) -> str:
        pragmas = "#pragma OPENCL FP_CONTRACT OFF\n"
        if self.uses_f64:
            pragmas += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        helpers = self.helpers.text()
        return "\n".join([pragmas, *([helpers] if helpers else []), *self._texts])

    def fail(self, op: Operation, what: str) -> DiagnosticException:
        return DiagnosticException(f"{self.who}: {op.name}: {what}")

    def element(self, type: Attribute, op: Operation) -> str:
        """Returns the C type of one element of a scalar or vector type."""
        spelled = self._types.get(type)
        if spelled is not None:
            return spelled
        element = element_type_of(type)
        if element not in SCALARS:
            raise self.fail(op, f"no C type for {type}")
        if isinstance(type, VectorType) and (type.get_num_dims() != 1 or type.get_shape()[0] not in LANES):
            raise self.fail(op, f"no C type for {type} (1-d vectors of {', '.join(map(str, LANES))} lanes)")
        if element not in (i1, _INDEX) and not self.device.supports(element):
            raise self.fail(op, f"device {self.device.name} lacks {element}")
        self.uses_f64 |= element == f64
        self._types[type] = SCALARS[element]
        return SCALARS[element]


class _Kernel:
    """The walk over one kernel's body. Masks, the vectors of i1, remember how wide their lanes are."""

    def __init__(self, source: _Source, op: low.KernelOp):
        self.source = source
        self.helpers = source.helpers
        self.op = op
        self.names = ValueNames()
        self.expressions: dict[SSAValue, str] = {}
        self.masks: dict[SSAValue, str] = {}
        self.lines: list[str] = []
        self.indent = "    "

    def text(self, name: str) -> str:
        grid, block = self.op.grid.data, self.op.block_dims.data
        largest = self.source.device.max_block
        if any(extent > limit for extent, limit in zip(block, largest, strict=True)):
            raise self.source.fail(
                self.op,
                f"block {list(block)} of @{self.op.sym_name.data} is too large for device "
                f"{self.source.device.name} (at most {list(largest)})",
            )
        assert len(grid) == 3
        parameters = self._parameters()
        self._shared_arrays()
        self._block(self.op.body.block, ())
        separator = ",\n" + " " * len(f"void {name}(")
        head = f"__kernel __attribute__((reqd_work_group_size({block[0]}, {block[1]}, {block[2]})))\n"
        return f"{head}void {name}({separator.join(parameters)}) {{\n" + "\n".join(self.lines) + "\n}\n"

    def _parameters(self) -> list[str]:
        arguments = self.op.body.block.args
        pools = [self.names.fresh(f"p{argument.index}") for argument in arguments]
        offsets = [self.names.fresh(f"o{argument.index}") for argument in arguments]
        parameters: list[str] = []
        for argument, pool, offset in zip(arguments, pools, offsets, strict=True):
            element = self._memref_element(argument.type, self.op)
            const = "" if _is_stored_to(argument) else "const "
            name = self._name(argument, "x")
            pointer = f"__global {const}{element} *"
            self._line(f"{pointer}restrict {name} = ({pointer})({pool} + {offset});")
            parameters.append(f"__global {const}uchar *{pool}, ulong {offset}")
        return parameters

    def _shared_arrays(self) -> None:
        """Arrays in local memory must be declared in the outermost scope of a kernel."""
        nbytes = 0
        for op in self.op.body.walk():
            if isinstance(op, memref.AllocaOp):
                type = op.memref.type
                assert isinstance(type, MemRefType)
                if type.memory_space == low.SHARED:
                    element = self._memref_element(type, op)
                    nbytes += prod(type.get_shape()) * _nbytes(element)
                    self._array(op, "__local ")
        limit = self.source.device.max_shared_nbytes
        if nbytes > limit:
            raise DiagnosticException(
                f"{self.source.who}: {memref.AllocaOp.name}: @{self.op.sym_name.data} shares {nbytes} bytes, "
                f"device {self.source.device.name} has {limit}"
            )

    def _memref_element(self, type: Attribute, op: Operation) -> str:
        assert isinstance(type, MemRefType)
        if type.element_type in (i1, _INDEX) or type.get_num_dims() != 1:
            raise self.source.fail(op, f"no C array for {type}")
        return self.source.element(type.element_type, op)

    def _array(self, op: memref.AllocaOp, qualifier: str) -> None:
        type = op.memref.type
        assert isinstance(type, MemRefType)
        element = self._memref_element(type, op)
        extent = type.get_shape()[0]
        if extent < 0:
            raise self.source.fail(op, f"the extent of {type} is not known")
        # C has no arrays of no elements
        self._line(f"{qualifier}{element} {self._name(op.memref, 'array')}[{max(extent, 1)}];")

    # fmt: off
    def _line(self, text: str) -> None:
        self.lines.append(self.indent + text)
    # fmt: on

    def _name(self, value: SSAValue, default: str = "v", hint: str | None = None) -> str:
        name = self.names.fresh(hint or value.name_hint, default)
        self.expressions[value] = name
        return name

    def _type(self, value: SSAValue, op: Operation) -> str:
        """Returns the C type of `value`; a mask not yet given a width gets that of int."""
        element = self.source.element(value.type, op)
        lanes = lanes_of(value.type)
        if lanes is not None and element == "bool":
            element = self.masks.setdefault(value, "int")
        return vector_type(element, lanes)

    def _define(self, op: Operation, expression: str, mask: str | None = None) -> None:
        """Declares the result of `op`; `mask` is the lane type of a vector of i1."""
        result = op.results[0]
        if mask is not None and lanes_of(result.type) is not None:
            self.masks[result] = mask
        type = self._type(result, op)
        self._line(f"const {type} {self._name(result)} = {expression};")

    def _mask(self, value: SSAValue, element: str) -> str:
        """Returns the mask `value` with lanes as wide as `element`."""
        text = self.expressions[value]
        lanes = lanes_of(value.type)
        return text if self.masks[value] == element else f"convert_{element}{lanes}({text})"

    def _as(self, value: SSAValue, like: SSAValue) -> str:
        """Returns `value` as an expression of the C type of `like`, which has the same type."""
        return self._mask(value, self.masks[like]) if like in self.masks else self.expressions[value]

    def _block(self, block: Block, targets: Sequence[SSAValue]) -> None:
        """Emits the ops of `block`; the operands of its yield are assigned to `targets`."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                self._assign(op, targets)
                continue
            rule = _RULES.get(type(op))
            if rule is not None:
                rule(self, op)
            elif type(op) in low.EXPANDED_OPS:
                raise self.source.fail(op, "run expand-math first")
            else:
                raise DiagnosticException(f"{self.source.who}: no rule for {op.name}")

    def _nested(self, block: Block, targets: Sequence[SSAValue]) -> None:
        outer = self.indent
        self.indent = outer + "    "
        self._block(block, targets)
        self.indent = outer

    def _assign(self, op: scf.YieldOp, targets: Sequence[SSAValue]) -> None:
        """Assigns all operands at once: one that an assignment before it overwrites is put by first."""
        overwritten: set[str] = set()
        assignments: list[tuple[str, str]] = []
        for value, target in zip(op.operands, targets, strict=True):
            name, source = self.expressions[target], self.expressions[value]
            text = self._as(value, target)
            if source == name:
                continue
            if source in overwritten:
                saved = self.names.fresh(f"next_{name}")
                self._line(f"const {self._type(target, op)} {saved} = {text};")
                text = saved
            overwritten.add(name)
            assignments.append((name, text))
        for name, text in assignments:
            self._line(f"{name} = {text};")

    def _for(self, op: scf.ForOp) -> None:
        body = op.body.block
        induction, carried = body.args[0], body.args[1:]
        for argument, result, initial in zip(carried, op.results, op.iter_args, strict=True):
            type = self._type(argument, op)
            hint = argument.name_hint or result.name_hint
            name = self._name(argument, "carried", hint)
            self._line(f"{type} {name} = {self._as(initial, argument)};")
        lower, upper, step = (self.expressions[bound] for bound in (op.lb, op.ub, op.step))
        type = self._type(induction, op)
        i = self._name(induction, "i")
        self._line(f"for ({type} {i} = {lower}; {i} < {upper}; {i} += {step}) {{")
        self._nested(body, carried)
        self._line("}")
        for argument, result in zip(carried, op.results, strict=True):
            # nothing assigns to the variable any more
            self.expressions[result] = self.expressions[argument]
            if argument in self.masks:
                self.masks[result] = self.masks[argument]

    def _if(self, op: scf.IfOp) -> None:
        for result in op.results:
            self._line(f"{self._type(result, op)} {self._name(result)};")
        self._line(f"if ({self.expressions[op.cond]}) {{")
        self._nested(op.true_region.block, op.results)
        if op.false_region.blocks and (op.results or len(op.false_region.block.ops) > 1):
            self._line("} else {")
            self._nested(op.false_region.block, op.results)
        self._line("}")

    def _constant(self, op: arith.ConstantOp) -> None:
        result, value = op.result, op.value
        element = self.source.element(result.type, op)
        match value:
            case IntegerAttr():
                if element == "bool":
                    self.expressions[result] = "true" if value.value.data else "false"
                else:
                    self.expressions[result] = integer_literal(element, value.value.data)
            case FloatAttr():
                self.expressions[result] = float_literal(value.type, value.value.data)
            case DenseIntOrFPElementsAttr() if isinstance(result.type, VectorType):
                type = element_type_of(result.type)
                lanes = lanes_of(result.type)
                elements = value.get_values()
                if element == "bool":
                    literals = ["-1" if bit else "0" for bit in elements]
                    element = self.masks[result] = "int"
                elif is_float(type):
                    literals = [float_literal(type, number) for number in elements]
                else:
                    literals = [integer_literal(element, int(number)) for number in elements]
                if all(literal == literals[0] for literal in literals):
                    literals = literals[:1]
                self._define(op, f"({vector_type(element, lanes)})({', '.join(literals)})")
            case _:
                raise self.source.fail(op, f"no C constant for {value}")

    def _binary(self, op: Operation, kind: str) -> None:
        result = op.results[0]
        if kind == "mulf" and _sum_that_absorbs(op) is not None:
            return
        lhs, rhs = op.operands
        if kind in ("addf", "subf"):
            product = _absorbed_product(op)
            if product is not None:
                self._multiply_add(op, product, kind)
                return
        if kind in _DIVISIONS and _is_safe_divisor(rhs, kind):
            type = self._arithmetic_type(op, result.type, integer=True)
            a, b = self.expressions[lhs], self.expressions[rhs]
            self._define(op, self._plain_division(kind, type, a, b))
            return
        if result in self.masks or lhs in self.masks:
            self._define(op, self._combine_masks(op, kind, lhs, rhs), self.masks[lhs])
            return
        self._define(op, self._combine(op, kind, result.type, self.expressions[lhs], self.expressions[rhs]))

    def _combine_masks(self, op: Operation, kind: str, lhs: SSAValue, rhs: SSAValue) -> str:
        if kind not in _BIT_INFIX:
            raise self.source.fail(op, f"no arithmetic in {lhs.type}")
        return f"{self.expressions[lhs]} {_BIT_INFIX[kind]} {self._mask(rhs, self.masks[lhs])}"

    def _plain_division(self, kind: str, element: str, a: str, b: str) -> str:
        operator = _DIVISIONS[kind]
        if kind.endswith("si"):
            text = f"{a} {operator} {b}"
            return text if NBITS[element] >= 32 else f"({element})({text})"
        unsigned = UNSIGNED[element]
        return f"({element})(({unsigned}){a} {operator} ({unsigned}){b})"

    def _arithmetic_type(self, op: Operation, type: Attribute, *, integer: bool) -> str:
        """Returns the C element type, having checked that there is arithmetic in it."""
        element = element_type_of(type)
        spelled = self.source.element(type, op)
        if element in (f16, bf16):
            raise self.source.fail(op, f"no arithmetic in {type} (kernels compute in f32)")
        if element == i1 or is_float(element) == integer:
            raise self.source.fail(op, f"no arithmetic in {type}")
        return spelled

    def _combine(self, op: Operation, kind: str, type: Attribute, a: str, b: str) -> str:
        """Returns the expression of `kind` on two operands of `type`, which is not a mask."""
        lanes = lanes_of(type)
        if kind in _BIT_INFIX:
            spelled = self.source.element(type, op)
            text = f"{a} {_BIT_INFIX[kind]} {b}"
            is_narrow = lanes is None and spelled in ("char", "short", "bool")
            return f"({spelled})({text})" if is_narrow else text
        if kind in _FLOAT_INFIX:
            self._arithmetic_type(op, type, integer=False)
            return f"{a} {_FLOAT_INFIX[kind]} {b}"
        if kind in ("maximumf", "minimumf", "copysign", "remf"):
            spelled = self._arithmetic_type(op, type, integer=False)
            helper = {
                "maximumf": self.helpers.maximum,
                "minimumf": self.helpers.minimum,
                "copysign": self.helpers.copysign,
                "remf": self.helpers.remainder,
            }[kind]
            return f"{helper(spelled, lanes)}({a}, {b})"
        spelled = self._arithmetic_type(op, type, integer=True)
        if kind in _DIVISIONS:
            return f"{self.helpers.division(kind, spelled, lanes)}({a}, {b})"
        if kind in _EXTREMES:
            left, right = (a, b) if kind.endswith("si") else (_unsigned(spelled, lanes, x) for x in (a, b))
            return f"{left} {_EXTREMES[kind]} {right} ? {a} : {b}"
        if element_type_of(type) == _INDEX and kind in _WRAPPING_INFIX:
            # an index that overflows is out of range wherever it is used
            return f"{a} {_WRAPPING_INFIX[kind]} {b}"
        if kind == "shrsi":
            text = f"{a} >> {b}"
            return f"({spelled})({text})" if lanes is None and NBITS[spelled] < 32 else text
        if kind in ("shli", "shrui"):
            amount = b if lanes is None else _unsigned(spelled, lanes, b)
            shift = "<<" if kind == "shli" else ">>"
            return _signed(spelled, lanes, f"{_unsigned(spelled, lanes, a)} {shift} {amount}")
        infix = _WRAPPING_INFIX[kind]
        if lanes is None and NBITS[spelled] < 32:
            return f"({spelled})({a} {infix} {b})"
        unsigned = (_unsigned(spelled, lanes, x) for x in (a, b))
        return _signed(spelled, lanes, f" {infix} ".join(unsigned))

    def _multiply_add(self, op: Operation, product: Operation, kind: str) -> None:
        result = op.results[0]
        lhs, rhs = op.operands
        spelled = self._arithmetic_type(op, result.type, integer=False)
        a, b = (self.expressions[factor] for factor in product.operands)
        if product.results[0] is lhs:
            c = self.expressions[rhs]
            c = f"-{c}" if kind == "subf" else c
        else:
            c = self.expressions[lhs]
            a = f"-{a}" if kind == "subf" else a
        self._define(op, f"{self.helpers.muladd(spelled, lanes_of(result.type))}({a}, {b}, {c})")

    def _negf(self, op: arith.NegfOp) -> None:
        self._arithmetic_type(op, op.result.type, integer=False)
        self._define(op, f"-{self.expressions[op.operand]}")

    def _call(self, op: Operation, function: str) -> None:
        self._arithmetic_type(op, op.results[0].type, integer=False)
        self._define(op, f"{function}({', '.join(self.expressions[operand] for operand in op.operands)})")

    def _rounding(self, op: Operation, kind: str) -> None:
        type = op.results[0].type
        element = self._arithmetic_type(op, type, integer=False)
        self._call(op, self.helpers.rounding(kind, element, lanes_of(type)))

    def _cmpf(self, op: arith.CmpfOp) -> None:
        type = op.lhs.type
        element = self._arithmetic_type(op, type, integer=False)
        self._check_comparison(op, type)
        mask = MASK_ELEMENTS[element]
        lanes = lanes_of(type)
        is_true, is_false = ("true", "false") if lanes is None else (f"({mask}{lanes})({x})" for x in (-1, 0))
        a, b = self.expressions[op.lhs], self.expressions[op.rhs]
        template = _CMPF[op.predicate.value.data]
        self._define(op, template.format(a=a, b=b, true=is_true, false=is_false), mask)

    def _cmpi(self, op: arith.CmpiOp) -> None:
        type = op.lhs.type
        element = self.source.element(type, op)
        self._check_comparison(op, type)
        lanes = lanes_of(type)
        predicate = op.predicate.value.data
        a, b = self.expressions[op.lhs], self.expressions[op.rhs]
        if element == "bool" and lanes is None:
            if 2 <= predicate < _FIRST_UNSIGNED_CMPI:
                # read as signed, true is -1
                a, b = b, a
        else:
            if op.lhs in self.masks:
                element = self.masks[op.lhs]
                b = self._mask(op.rhs, element)
            if predicate >= _FIRST_UNSIGNED_CMPI:
                a, b = _unsigned(element, lanes, a), _unsigned(element, lanes, b)
        self._define(op, f"{a} {_CMPI[predicate]} {b}", element if lanes is not None else None)

    def _check_comparison(self, op: Operation, type: Attribute) -> None:
        result = op.results[0].type
        if lanes_of(result) != lanes_of(type):
            raise self.source.fail(op, f"operands of type {type} cannot give a result of type {result}")

    def _select(self, op: low.SelectOp) -> None:
        condition, on_true, on_false = op.operands
        lanes = lanes_of(op.result.type)
        a, b = self.expressions[on_true], self.expressions[on_false]
        mask = None
        if lanes is None:
            test = self.expressions[condition]
        else:
            mask = self.masks.get(on_true)
            if mask is not None:
                b = self._mask(on_false, mask)
            element = mask or MASK_ELEMENTS[self.source.element(op.result.type, op)]
            test = self._mask(condition, element)
        self._define(op, f"{test} ? {a} : {b}", mask)

    def _convert(self, op: low.ConvertOp) -> None:
        kind = op.conversion.data
        source, result = element_type_of(op.source.type), element_type_of(op.result.type)
        for type in (op.source.type, op.result.type):
            if element_type_of(type) in (f16, bf16):
                raise self.source.fail(op, f"no arithmetic in {type} (kernels compute in f32)")
        to = self.source.element(op.result.type, op)
        lanes = lanes_of(op.source.type)
        a = self.expressions[op.source]
        if kind in (low.Conversion.FPTOSI, low.Conversion.FPTOUI):
            self._float_to_integer(op, self._type(op.source, op).rstrip("0123456789"), to, lanes, a)
            return
        if source == i1:
            is_signed = kind in (low.Conversion.SITOFP, low.Conversion.EXTSI)
            self._define(op, self._from_boolean(op, to, lanes, a, is_signed))
            return
        element = self.source.element(op.source.type, op)
        if result == i1:
            one, zero = (f"({vector_type(element, lanes)})({x})" for x in (1, 0))
            text = f"({a} & 1) != 0" if lanes is None else f"({a} & {one}) != {zero}"
            self._define(op, text, element)
            return
        if kind in (low.Conversion.UITOFP, low.Conversion.EXTUI):
            a = _unsigned(element, lanes, a)
        self._define(op, _cast(to, lanes, a))

    def _from_boolean(self, op: low.ConvertOp, to: str, lanes: int | None, a: str, is_signed: bool) -> str:
        if lanes is None:
            return f"({to})(-(int){a})" if is_signed else f"({to}){a}"
        mask = self.masks[op.source]
        bits = a if is_signed else f"({a} & ({mask}{lanes})(1))"
        return bits.strip("()") if to == mask and is_signed else f"convert_{to}{lanes}({bits})"

    def _float_to_integer(self, op: low.ConvertOp, source: str, to: str, lanes: int | None, a: str) -> None:
        is_signed = op.conversion.data is low.Conversion.FPTOSI
        if to == "bool":
            limit = f"({vector_type(source, lanes)})({'-1' if is_signed else '1'})"
            self._define(op, f"{a} {'<=' if is_signed else '>='} {limit}", MASK_ELEMENTS[source])
            return
        target = to if is_signed else UNSIGNED[to]
        text = f"{self.helpers.float_to_integer(source, target, lanes)}({a})"
        self._define(op, text if is_signed else f"as_{vector_type(to, lanes)}({text})")

    def _extf(self, op: arith.ExtFOp) -> None:
        source, result = element_type_of(op.input.type), element_type_of(op.result.type)
        lanes = lanes_of(op.result.type)
        element, to = self.source.element(op.input.type, op), self.source.element(op.result.type, op)
        text = self.expressions[op.input]
        if source in (f16, bf16):
            text = f"{self.helpers.half_to_float(str(source), lanes)}({text})"
            element = "float"
        if result in (f16, bf16) or (to == element and source not in (f16, bf16)):
            raise self.source.fail(op, f"cannot extend {op.input.type} to {op.result.type}")
        self._define(op, text if to == element else _cast(to, lanes, text))

    def _truncf(self, op: arith.TruncFOp) -> None:
        result = element_type_of(op.result.type)
        lanes = lanes_of(op.result.type)
        element, to = self.source.element(op.input.type, op), self.source.element(op.result.type, op)
        text = self.expressions[op.input]
        if element == "ushort" or to == element or to == "double":
            raise self.source.fail(op, f"cannot truncate {op.input.type} to {op.result.type}")
        if result in (f16, bf16):
            self._define(op, f"{self.helpers.round_to_half(element, str(result), lanes)}({text})")
        else:
            self._define(op, _cast(to, lanes, text))

    def _bitcast(self, op: arith.BitcastOp) -> None:
        element, to = self.source.element(op.input.type, op), self.source.element(op.result.type, op)
        lanes = lanes_of(op.result.type)
        if "bool" in (element, to) or _nbytes(element) != _nbytes(to) or lanes != lanes_of(op.input.type):
            raise self.source.fail(op, f"cannot cast the bits of {op.input.type} to {op.result.type}")
        text = self.expressions[op.input]
        self._define(op, text if element == to else f"as_{vector_type(to, lanes)}({text})")

    def _index_cast(self, op: arith.IndexCastOp) -> None:
        text = self.expressions[op.input]
        if op.input.type == i1:
            self._define(op, f"-(long){text}")
        elif op.result.type == i1:
            self._define(op, f"({text} & 1) != 0")
        else:
            self._define(op, f"({self.source.element(op.result.type, op)}){text}")

    def _load(self, op: memref.LoadOp) -> None:
        self._define(op, f"{self.expressions[op.memref]}[{self._index(op, op.indices)}]")

    def _store(self, op: memref.StoreOp) -> None:
        array, index = self.expressions[op.memref], self._index(op, op.indices)
        self._line(f"{array}[{index}] = {self.expressions[op.value]};")

    def _vector_load(self, op: vector.LoadOp) -> None:
        index = self._index(op, op.indices)
        self._define(op, f"vload{lanes_of(op.result.type)}(0, {self.expressions[op.base]} + {index})")

    def _vector_store(self, op: vector.StoreOp) -> None:
        array, index = self.expressions[op.base], self._index(op, op.indices)
        value = self.expressions[op.vector]
        self._line(f"vstore{lanes_of(op.vector.type)}({value}, 0, {array} + {index});")

    def _index(self, op: Operation, indices: Sequence[SSAValue]) -> str:
        if len(indices) != 1:
            raise self.source.fail(op, f"{len(indices)} indices, expected one linear index")
        return self.expressions[indices[0]]

    def _alloca(self, op: memref.AllocaOp) -> None:
        type = op.memref.type
        assert isinstance(type, MemRefType)
        if type.memory_space == low.SHARED:
            return
        self._array(op, "")

    def _broadcast(self, op: vector.BroadcastOp) -> None:
        lanes = lanes_of(op.vector.type)
        element = self.source.element(op.vector.type, op)
        text = self.expressions[op.source]
        if lanes_of(op.source.type) is not None:
            raise self.source.fail(op, f"cannot broadcast {op.source.type} to {op.vector.type}")
        if element == "bool":
            self._define(op, f"(int{lanes})({text} ? -1 : 0)", "int")
        else:
            self._define(op, f"({element}{lanes})({text})")

    def _reduction(self, op: vector.ReductionOp) -> None:
        type = op.dest.type
        lanes = lanes_of(op.vector.type)
        assert lanes is not None
        on_floats, on_integers = _REDUCTIONS.get(op.kind.data.value, ("", ""))
        kind = on_floats if is_float(type) else on_integers
        if not kind:
            raise self.source.fail(op, f"no rule for {op.kind.data.value} of {op.vector.type}")
        result = self._type(op.dest, op)
        numbers = self.expressions[op.vector]
        values = [f"{numbers}.s{lane:x}" for lane in range(lanes)]
        if op.vector in self.masks:
            values = [f"({value} != 0)" for value in values]
        if op.acc is not None:
            values.insert(0, self.expressions[op.acc])
        name = self.names.fresh(op.dest.name_hint)
        self._line(f"{result} {name} = {self._combine(op, kind, type, values[0], values[1])};")
        for value in values[2:]:
            self._line(f"{name} = {self._combine(op, kind, type, name, value)};")
        self.expressions[op.dest] = name

    def _id(self, op: low.BlockIdOp | low.ThreadIdOp, function: str) -> None:
        self._define(op, f"(long){function}({op.dimension.data.index})")

    def _barrier(self, op: low.BarrierOp) -> None:
        self._line("barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);")


def _cast(to: str, lanes: int | None, text: str) -> str:
    return f"({to}){text}" if lanes is None else f"convert_{to}{lanes}({text})"


def _unsigned(element: str, lanes: int | None, text: str) -> str:
    unsigned = UNSIGNED[element]
    return f"({unsigned}){text}" if lanes is None else f"as_{unsigned}{lanes}({text})"


def _signed(element: str, lanes: int | None, text: str) -> str:
    return f"({element})({text})" if lanes is None else f"as_{element}{lanes}({text})"


def _nbytes(element: str) -> int:
    return 2 if element == "ushort" else NBITS[element] // 8


def _is_stored_to(argument: SSAValue) -> bool:
    return any(
        isinstance(use.operation, memref.StoreOp | vector.StoreOp)
        and use.operation.operands[use.index] is argument
        for use in argument.uses
    )


def _is_safe_divisor(value: SSAValue, kind: str) -> bool:
    """Returns whether dividing by `value` can neither trap nor overflow: a constant, not 0 and not -1."""
    owner = value.owner
    if not isinstance(owner, arith.ConstantOp) or not isinstance(owner.value, IntegerAttr):
        return False
    return owner.value.value.data not in (0, -1) and value.type != i1


def _may_contract(op: Operation) -> bool:
    fastmath = op.properties.get("fastmath")
    return isinstance(fastmath, arith.FastMathFlagsAttr) and _CONTRACTING <= frozenset(fastmath.data)


def _absorbed_product(op: Operation) -> Operation | None:
    """Returns the product that the sum or difference `op` takes in, the left one if it could be either."""
    if not _may_contract(op):
        return None
    for operand in op.operands:
        product = operand.owner
        if (
            isinstance(product, arith.MulfOp)
            and _may_contract(product)
            and product.parent is op.parent
            and operand.has_one_use()
        ):
            return product
    return None


def _sum_that_absorbs(product: Operation) -> Operation | None:
    """Returns the sum or difference that computes `product` along with it."""
    result = product.results[0]
    if not _may_contract(product) or not result.has_one_use():
        return None
    user = next(iter(result.uses)).operation
    is_sum = isinstance(user, arith.AddfOp | arith.SubfOp)
    return user if is_sum and _absorbed_product(user) is product else None


def _rule_for_binary(kind: str) -> Callable[[_Kernel, Operation], None]:
    def rule(kernel: _Kernel, op: Operation) -> None:
        kernel._binary(op, kind)

    return rule


_RULES: dict[type[Operation], Callable[[_Kernel, Operation], None]] = {}

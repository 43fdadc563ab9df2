"""`low` as C: a function for each kernel, which loops over the work-groups, and a statement for each op."""

from __future__ import annotations

import json
import math as numbers
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from tenon.backends.interface import DeviceInfo
from tenon.dialects import low
from tenon.dialects.element_types import element_type_of, is_float, width_of
from tenon.dialects.low import combining
from tenon.dialects.low.atomic_rmw import AtomicRmwKind
from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, ModuleOp, f32, f64, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

HEADER = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define EXTREMA(T, suffix) \\
    static inline T maximum##suffix(T a, T b) { \\
        return a != a || b != b ? a + b : a == b ? (signbit(a) ? b : a) : a > b ? a : b; \\
    } \\
    static inline T minimum##suffix(T a, T b) { \\
        return a != a || b != b ? a + b : a == b ? (signbit(a) ? a : b) : a < b ? a : b; \\
    }
EXTREMA(float, f)
EXTREMA(double, )
"""

RULES: dict[type[Operation], str] = {
    arith.AddiOp: "{a} + {b}",
    arith.SubiOp: "{a} - {b}",
    arith.MuliOp: "{a} * {b}",
    arith.DivSIOp: "{b} == 0 ? 0 : {b} == -1 ? -{a} : {a} / {b}",
    arith.RemSIOp: "{b} == 0 || {b} == -1 ? 0 : {a} % {b}",
    arith.DivUIOp: "{b} == 0 ? 0 : {ua} / {ub}",
    arith.RemUIOp: "{b} == 0 ? 0 : {ua} % {ub}",
    arith.MinSIOp: "{sa} < {sb} ? {a} : {b}",
    arith.MaxSIOp: "{sa} > {sb} ? {a} : {b}",
    arith.MinUIOp: "{ua} < {ub} ? {a} : {b}",
    arith.MaxUIOp: "{ua} > {ub} ? {a} : {b}",
    arith.AndIOp: "{a} & {b}",
    arith.OrIOp: "{a} | {b}",
    arith.XOrIOp: "{a} ^ {b}",
    arith.ShLIOp: "{ua} << ({b} & {last_bit})",
    arith.ShRSIOp: "{sa} >> ({b} & {last_bit})",
    arith.ShRUIOp: "{ua} >> ({b} & {last_bit})",
    arith.IndexCastOp: "{sa}",
    arith.AddfOp: "{a} + {b}",
    arith.SubfOp: "{a} - {b}",
    arith.MulfOp: "{a} * {b}",
    arith.DivfOp: "{a} / {b}",
    arith.NegfOp: "-{a}",
    arith.MaximumfOp: "maximum{f}({a}, {b})",
    arith.MinimumfOp: "minimum{f}({a}, {b})",
    arith.ExtFOp: "{a}",
    arith.TruncFOp: "{a}",
    arith.BitcastOp: "((union {{ {from_type} from; {type} to; }}){{ {a} }}).to",
    math.AbsFOp: "fabs{f}({a})",
    math.SqrtOp: "sqrt{f}({a})",
    math.FloorOp: "floor{f}({a})",
    math.CeilOp: "ceil{f}({a})",
    math.TruncOp: "trunc{f}({a})",
    math.RoundEvenOp: "rint{f}({a})",
    math.CopySignOp: "copysign{f}({a}, {b})",
    math.FmaOp: "fma{f}({a}, {b}, {c})",
    low.RemfOp: "fmod{f}({a}, {b})",
    low.LdexpOp: "ldexp{f}({a}, (int){b})",
    low.SelectOp: "{a} ? {b} : {c}",
    memref.LoadOp: "{a}[{b}]",
}
"""
Ops that are an expression of their operands `a`, `b` and `c`, by name or, of integers, read as signed (`sa`)
or unsigned (`ua`); `f` is the suffix that the functions of `math.h` have for the result's type.
"""

ATOMICS: dict[AtomicRmwKind, str] = {
    **{kind: RULES[op] for kind, op in combining.ATOMICS.items()},
    AtomicRmwKind.ASSIGN: "{b}",
}
"""What an element becomes: `a` is the element, `b` the value."""

COMPARE_INTEGERS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}

COMPARE_FLOATS = {
    "false": "0",
    "oeq": "{a} == {b}",
    "ogt": "{a} > {b}",
    "oge": "{a} >= {b}",
    "olt": "{a} < {b}",
    "ole": "{a} <= {b}",
    "one": "{a} < {b} || {a} > {b}",
    "ord": "{a} == {a} && {b} == {b}",
    "ueq": "!({a} < {b} || {a} > {b})",
    "ugt": "!({a} <= {b})",
    "uge": "!({a} < {b})",
    "ult": "!({a} >= {b})",
    "ule": "!({a} > {b})",
    "une": "{a} != {b}",
    "uno": "{a} != {a} || {b} != {b}",
    "true": "1",
}


@dataclass(frozen=True)
class CRenderer:
    """
    Prints kernels as C. The first line is a comment that says, as JSON, which function each of them is. Names
    from the program are made of letters, digits and underscores, with a number before them.
    """

    suffix: str = ".c"

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        """Raises `DiagnosticException` naming an op that C has no rule for, or a type that it lacks."""
        kernels = [op for op in module.body.ops if isinstance(op, low.KernelOp)]
        functions = [f"kernel{number}_{_plain(op.sym_name.data)}" for number, op in enumerate(kernels)]
        table = {
            op.sym_name.data: {
                "function": function,
                "n_arguments": len(op.body.block.args),
                "block": op.block_extents,
                "grid": [extent if isinstance(extent, int) else None for extent in op.grid.data],
            }
            for op, function in zip(kernels, functions, strict=True)
        }
        texts = [_KernelWriter(op).text(name) for op, name in zip(kernels, functions, strict=True)]
        return "\n".join([f"//{json.dumps(table)}", HEADER, *texts])


class _KernelWriter:
    """Writes one kernel: each value is a variable, so that C converts to its type what is assigned to it."""

    def __init__(self, op: low.KernelOp) -> None:
        self.op = op
        self.lines: list[str] = []
        self.names: dict[SSAValue, str] = {}
        self.depth = 1

    def text(self, function: str) -> str:
        n_sizes = len(self.op.sizes)
        for number, argument in enumerate(self.op.body.block.args):
            name = self.name(argument)
            if number < n_sizes:
                self.line(f"const int64_t {name} = sizes[{number}];")
            else:
                type = self.type(argument.type, self.op)
                self.line(f"{type} *restrict const {name} = buffers[{number - n_sizes}];")
        extents = {f"block_{d}": f"grid[{number}]" for number, d in reversed([*enumerate("xyz")])}
        # The work-items of a group one after the other: it has one where there are barriers.
        extents |= {
            f"thread_{d}": str(extent) for d, extent in zip("xyz", self.op.block_extents, strict=True)
        }
        for index, extent in extents.items():
            self.open(f"for (int64_t {index} = 0; {index} < {extent}; ++{index})")
        self.write(self.op.body.block)
        for _ in extents:
            self.close()
        arguments = "const int64_t *grid, const int64_t *sizes, void *const *buffers"
        return "\n".join([f"void {function}({arguments}) {{", *self.lines, "}\n"])

    def write(self, block: Block, targets: Sequence[str] = ()) -> None:
        """Writes the ops of a block, and assigns what it yields."""
        for op in block.ops:
            if isinstance(op, scf.YieldOp):
                self.assign(targets, [self.names[value] for value in op.operands])
            else:
                self.write_op(op)

    def write_op(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp():
                self.define(op, _literal(op.value))
            case arith.CmpiOp():
                predicate = arith.CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
                operator = COMPARE_INTEGERS[predicate if predicate in COMPARE_INTEGERS else predicate[1:]]
                reads = "u" if predicate[0] == "u" else "s"
                self.define(op, f"{{{reads}a}} {operator} {{{reads}b}}")
            case arith.CmpfOp():
                self.define(op, COMPARE_FLOATS[arith.CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]])
            case low.ConvertOp():
                self.define(op, self.conversion(op))
            case low.BlockIdOp():
                self.define(op, f"block_{op.dimension.data.value}")
            case low.ThreadIdOp():
                self.define(op, f"thread_{op.dimension.data.value}")
            case low.BarrierOp():
                if self.op.block_extents != (1, 1, 1):
                    raise _fail(
                        op, f"groups have {list(self.op.block_extents)} work-items, which do not wait"
                    )
            case low.AllocaOp():
                self.line(
                    f"{self.type(op.memref.type, op)} {self.name(op.memref)}[{_length(op.memref.type)}];"
                )
            case memref.StoreOp():
                array, at, value = (self.names[each] for each in (op.memref, op.indices[0], op.value))
                self.line(f"{array}[{at}] = {value};")
            case low.AtomicRmwOp():
                self.atomic(op)
            case scf.ForOp():
                self.loop(op)
            case scf.IfOp():
                targets = [self.declare(result) for result in op.results]
                for word, region in (("if", op.true_region), ("else", op.false_region)):
                    if region.blocks:
                        self.open(f"if ({self.names[op.cond]})" if word == "if" else word)
                        self.write(region.block, targets)
                        self.close()
            case scf.WhileOp():
                self.while_loop(op)
            case _ if type(op) in RULES:
                self.define(op, RULES[type(op)])
            case _:
                raise _fail(op, "no rule")

    def atomic(self, op: low.AtomicRmwOp) -> None:
        """Reads and writes: one thread runs all work-items, so that nobody comes between."""
        value, array, at = (self.names[each] for each in op.operands)
        self.define(op, "{b}[{c}]")
        old, type = self.names[op.result], op.value.type
        words = {"a": old, "b": value, "sa": old, "sb": value, "f": "f" if type == f32 else ""}
        words |= {f"u{letter}": f"(u{self.type(type, op)}){words[letter]}" for letter in "ab"}
        self.line(f"{array}[{at}] = {ATOMICS[op.kind.data].format(**words)};")

    def loop(self, op: scf.ForOp) -> None:
        index, *carried = op.body.block.args
        targets = [
            self.declare(each, self.names[start]) for each, start in zip(carried, op.iter_args, strict=True)
        ]
        at, begin, end, step = self.name(index), *(self.names[each] for each in (op.lb, op.ub, op.step))
        self.open(f"for (int64_t {at} = {begin}; {at} < {end}; {at} += {step})")
        self.write(op.body.block, targets)
        self.close()
        self.names.update(zip(op.results, targets, strict=True))

    def while_loop(self, op: scf.WhileOp) -> None:
        before, after = op.before_region.block, op.after_region.block
        results = [self.declare(each) for each in op.results]
        carried = [
            self.declare(each, self.names[start])
            for each, start in zip(before.args, op.arguments, strict=True)
        ]
        self.open("for (;;)")
        for each in before.ops:
            if isinstance(each, scf.ConditionOp):
                self.assign(results, [self.names[value] for value in each.args])
                self.line(f"if (!{self.names[each.condition]}) break;")
            else:
                self.write_op(each)
        self.names.update(zip(after.args, results, strict=True))
        self.write(after, carried)
        self.close()

    def conversion(self, op: low.ConvertOp) -> str:
        kind, type = op.conversion.data, element_type_of(op.result.type)
        if kind in (low.Conversion.SITOFP, low.Conversion.EXTSI):
            return "{sa}"
        if kind in (low.Conversion.UITOFP, low.Conversion.EXTUI):
            return "{ua}"
        if kind is low.Conversion.TRUNCI:
            return "{a}"
        is_signed, width = kind is low.Conversion.FPTOSI, width_of(type)
        low_end, high_end = (-(1 << width - 1), 1 << width - 1) if is_signed else (0, 1 << width)
        wide = "int64_t" if is_signed else "uint64_t"
        least, most = (f"({wide}){number % (1 << 64):#x}ULL" for number in (low_end, high_end - 1))
        return (
            f"{{a}} != {{a}} ? 0 : {{a}} < {float(low_end).hex()} ? {least} : "
            f"{{a}} >= {float(high_end).hex()} ? {most} : ({wide}){{a}}"
        )

    def define(self, op: Operation, rule: str) -> None:
        """Defines the result of `op` as the expression that a rule makes of its operands."""
        result, words = op.results[0], {}
        for letter, operand in zip("abc", op.operands, strict=False):
            name, type = self.names[operand], operand.type
            words |= {letter: name, f"u{letter}": name, f"s{letter}": name}
            if type == i1:
                words[f"s{letter}"] = f"-(int){name}"
            elif not is_float(element_type_of(type)) and not isinstance(type, MemRefType):
                words[f"u{letter}"] = f"(u{self.type(type, op)}){name}"
        type = self.type(result.type, op)
        if op.operands:
            words["from_type"] = self.type(op.operands[0].type, op)
        if not is_float(result.type):
            words["last_bit"] = str(width_of(result.type) - 1)
        text = rule.format(**words, f="f" if result.type == f32 else "", type=type)
        self.line(f"const {type} {self.name(result)} = {f'({text}) & 1' if result.type == i1 else text};")

    def declare(self, value: SSAValue, start: str | None = None) -> str:
        """Declares a variable for what changes, and returns its name."""
        owner = value.owner
        type = self.type(value.type, owner if isinstance(owner, Operation) else self.op)
        self.line(f"{type} {self.name(value)}{'' if start is None else f' = {start}'};")
        return self.names[value]

    def assign(self, targets: Sequence[str], values: Sequence[str]) -> None:
        """Assigns all values at once: some may be what others are assigned to."""
        if len(targets) < 2:
            for target, value in zip(targets, values, strict=True):
                self.line(f"{target} = {value};")
            return
        self.open("")
        for number, value in enumerate(values):
            self.line(f"const __auto_type next{number} = {value};")
        for number, target in enumerate(targets):
            self.line(f"{target} = next{number};")
        self.close()

    def name(self, value: SSAValue) -> str:
        self.names[value] = f"v{len(self.names)}_{_plain(value.name_hint or '')}"
        return self.names[value]

    def type(self, type: Attribute, op: Operation) -> str:
        element = element_type_of(type)
        if element in (f32, f64):
            return "float" if element == f32 else "double"
        if is_float(element):
            raise _fail(op, f"device gcc lacks {element}")
        return "bool" if element == i1 else f"int{width_of(element)}_t"

    def open(self, text: str) -> None:
        self.line(f"{text} {{".lstrip())
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.line("}")

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def _fail(op: Operation, what: str) -> DiagnosticException:
    return DiagnosticException(f"gcc: {op.name}: {what}")


def _length(type: Attribute) -> int:
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    return numbers.prod(type.get_shape())


def _literal(value: Attribute) -> str:
    if isinstance(value, IntegerAttr):
        number = value.value.data
        is_least = number == -(1 << 63)
        return "(-INT64_MAX - 1)" if is_least else f"{number}LL"
    assert isinstance(value, FloatAttr), f"{value} is no number"
    number, is_single = value.value.data, value.type == f32
    if numbers.isfinite(number):
        return number.hex() + ("f" if is_single else "")
    letters = ("uint32_t", "float", "<f", "<I") if is_single else ("uint64_t", "double", "<d", "<Q")
    integer, type, as_float, as_bits = letters
    (bits,) = struct.unpack(as_bits, struct.pack(as_float, number))
    return f"((union {{{{ {integer} from; {type} to; }}}}){{{{ {bits:#x} }}}}).to"

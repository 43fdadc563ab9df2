"""The text of one LLVM function while it is being written: values, labels, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any

from xdsl.dialects.scf import ConditionOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from ....dialects.buffer_size import ALIGNMENT, PRIVATE_NBYTES_LIMIT
from ....dialects.element_types import lanes_of
from ....dialects.low import EXPANDED_OPS, Dimension, KernelOp
from ..limits import MOST_LANES
from ..names import ValueNames
from ..processors import Processor
from .types import llvm_type, mangled, shaped

Rule = Callable[["Emitter", Any], None]
"""Writes one op: reads the names of its operands, and names its results."""


@dataclass(frozen=True, slots=True)
class Reciprocal:
    """
    The names of a divisor's reciprocal, of the least quotient that it may be used for, and of a zero; the
    last two are NaN where it may not be used at all.
    """

    value: str
    least: str
    zero: str


@dataclass
class Loop:
    """A loop whose body is being written. `phis` is the header's line that waits for the latch's values."""

    index: str
    type: str
    carried: list[str]
    carried_types: list[str]
    initial: list[str]
    lower: str
    preheader: str
    header: str
    exit: str
    phis: int
    upper: str = ""
    n_long: int = 0
    """How many long loops there were when it began."""


MOST_UNROLLED = 16
"""LLVM may unroll a loop of so many iterations, with no longer one in it: then it sees what each one does."""

NOT_UNROLLED = "!1"
"""The name of the metadata that keeps LLVM from unrolling a loop. The ones after it are those of loops."""

SELDOM = 1000
"""How often the usual way is taken for once that the other one is."""

_GREATEST_WEIGHT = (1 << 31) - 1
"""What the weight of a branch can be."""


def branch_weights(taken: int, other: int) -> str:
    """Returns what a conditional branch ends with, to tell LLVM how often it goes one way and the other."""
    taken, other = (min(max(weight, 1), _GREATEST_WEIGHT) for weight in (taken, other))
    return f', !prof !{{!"branch_weights", i32 {taken}, i32 {other}}}'


_NEAREST = 4
"""What LLVM counts caches down from: 3 is the locality of the first one."""


class Emitter:
    """
    Writes the body of one function.

    `declarations` is shared by the functions of a module: the intrinsics they call, by name, in the order of
    first use.
    """

    def __init__(
        self,
        kernel: KernelOp,
        processor: Processor,
        rules: Mapping[type[Operation], Rule],
        declarations: dict[str, str],
        has_scalar_loops: bool = False,
        hides_places: bool = False,
        has_tiles: bool = False,
    ) -> None:
        self.kernel = kernel
        self.processor = processor
        self.names = ValueNames()
        self.lines: list[str] = []
        self.values: dict[SSAValue, str] = {}
        self.block_ids: dict[Dimension, str] = {}
        self.thread_ids: dict[Dimension, str] = {}
        self.entry_lines: list[str] = []
        self.private_nbytes = 0
        self.reciprocals: dict[SSAValue, Reciprocal] = {}
        self._rules = rules
        self._declarations = declarations
        self._types: dict[int, tuple[Attribute, str]] = {}
        """The types by what they are, which is quicker than by their hashes."""
        self._has_scalar_loops = has_scalar_loops
        self.hides_places = hides_places
        """Whether LLVM is to see no address in terms of loops; see `opaque`."""
        self.steps_places = not (has_scalar_loops or hides_places)
        """Whether loops carry pointers to what they access."""
        self.has_tiles = has_tiles
        """Whether loops follow sums that LLVM is told the repetitions of."""
        self.needs_strength_reduction = False
        """Whether loops were written that LLVM is to write pointers for."""
        self.stepped: dict[Operation, tuple[str, int]] = {}
        """The pointers that loops carry, and how many elements behind them an access is."""
        self.places: dict[tuple[SSAValue, SSAValue], str] = {}
        """Elements, of a buffer at an index, whose addresses are known in the block that is being written."""
        self.streams = False
        """Whether something is stored past the caches."""
        self._label = ""
        self._n_long = 0

    def type(self, op: Operation, type: Attribute) -> str:
        """
        Returns the LLVM type of a value of `op`.

        Raises:
            DiagnosticException: there is none, or it is a vector that LLVM cannot compile.
        """
        known = self._types.get(id(type))
        if known is None:
            text = llvm_type(type)
            if text is None:
                raise DiagnosticException(f"llvm: {op.name}: no LLVM type for {type}")
            if (lanes_of(type) or 0) > MOST_LANES:
                raise DiagnosticException(f"llvm: {op.name}: {type} has more than {MOST_LANES} lanes")
            known = self._types[id(type)] = type, text
        return known[1]

    def emit(self, text: str, hint: str | None = None) -> str:
        """Writes `%name = text` and returns the name."""
        name = self.names.fresh(hint)
        self.lines.append(f"  {name} = {text}")
        return name

    def define(self, result: SSAValue, text: str) -> None:
        """Writes `%name = text` and makes it the value of `result`."""
        self.values[result] = self.emit(text, result.name_hint)

    def element_at(self, element: str, pointer: str, index: str) -> str:
        """Writes the address of the element that many after the one at `pointer`."""
        return self.emit(f"getelementptr inbounds {element}, ptr {pointer}, i64 {index}", "at")

    def in_all_lanes(self, element: str, value: str, lanes: int, hint: str | None = None) -> str:
        """Writes the vector whose lanes all are a value of an LLVM type."""
        type = shaped(element, lanes)
        first = self.emit(f"insertelement {type} poison, {element} {value}, i64 0")
        if lanes == 1:
            return first
        order = f"<{lanes} x i32> zeroinitializer"
        return self.emit(f"shufflevector {type} {first}, {type} poison, {order}", hint)

    def prefetch(self, pointer: str, level: int = 1) -> None:
        """
        Fetches the cache line at a pointer, for reading, into all caches from a level on; there need be no
        memory.
        """
        operands = [("ptr", pointer), ("i32", "0"), ("i32", str(_NEAREST - level)), ("i32", "1")]
        self.lines.append(f"  {self.call('prefetch.p0', 'void', operands)}")

    def private_memory(
        self, op: Operation, element: str, nbytes: int, count: int, hint: str | None = None
    ) -> str:
        """
        Returns memory of a work-item for so many elements of so many bytes each.

        Raises:
            DiagnosticException: with what the kernel has already that is more than a work-item may have.
        """
        self.private_nbytes += count * nbytes
        if self.private_nbytes > PRIVATE_NBYTES_LIMIT:
            raise DiagnosticException(
                f"llvm: {op.name}: kernel @{self.kernel.sym_name.data} needs {self.private_nbytes} bytes of "
                f"private memory, {PRIVATE_NBYTES_LIMIT} is the limit"
            )
        name = self.names.fresh(hint)
        self.entry_lines.append(f"  {name} = alloca [{count} x {element}], align {ALIGNMENT}")
        return name

    def opaque(self, pointer: str) -> str:
        """
        Returns a pointer of which LLVM does not see how it depends on the loops around. What it does to
        reduce the strength of such expressions takes up to half of all its time where there are many.
        """
        return self.emit(self.call("strip.invariant.group.p0", "ptr", [("ptr", pointer)]))

    def hidden(self, pointer: str) -> str:
        """Returns a pointer of which LLVM never sees which it is; of an `opaque` one it does late."""
        return self.emit(f'call ptr asm "", "=r,0"(ptr {pointer})', "hidden")

    def call(
        self, intrinsic: str, result_type: str, arguments: Sequence[tuple[str, str]], flags: str = ""
    ) -> str:
        """Returns the call of `llvm.<intrinsic>` on (type, value) pairs, without writing it."""
        signature = f"{result_type} @llvm.{intrinsic}({', '.join(type for type, _ in arguments)})"
        self._declarations.setdefault(intrinsic, f"declare {signature}")
        operands = ", ".join(f"{type} {value}" for type, value in arguments)
        return f"call {flags}{result_type} @llvm.{intrinsic}({operands})"

    def call_same_type(self, intrinsic: str, type: str, operands: Sequence[str], flags: str = "") -> str:
        """Returns the call of an intrinsic whose operands and result have one type, without writing it."""
        return self.call(
            f"{intrinsic}.{mangled(type)}", type, [(type, operand) for operand in operands], flags
        )

    @property
    def label(self) -> str:
        """The basic block that is being written."""
        return self._label

    def start(self, label: str) -> None:
        """Begins the basic block `%label`."""
        self.lines.append(f"{label[1:]}:")
        self._label = label

    def branch(self, label: str) -> None:
        self.lines.append(f"  br label {label}")

    def write_block(self, block: Block) -> Sequence[str]:
        """
        Writes the ops of `block` and returns the values its terminator yields.

        Raises:
            DiagnosticException: there is no rule for an op.
        """
        yielded: Sequence[str] = ()
        around, self.places = self.places, self.places.copy()
        for op in block.ops:
            rule = self._rules.get(type(op))
            if rule is not None:
                rule(self, op)
            elif isinstance(op, YieldOp | ConditionOp):
                yielded = [self.values[operand] for operand in op.operands]
            elif type(op) in EXPANDED_OPS:
                raise DiagnosticException(f"llvm: {op.name}: expand-math must run first")
            else:
                raise DiagnosticException(f"llvm: no rule for {op.name}")
        self.places = around
        return yielded

    def begin_loop(
        self,
        hint: str | None,
        type: str,
        lower: str,
        upper: str,
        carried: Sequence[tuple[str | None, str, str]] = (),
        repeats: int | None = None,
    ) -> Loop:
        """
        Begins `for index = lower to upper`, signed. `carried` are (hint, type, initial value); the loop's own
        names for them are in `Loop.carried`, inside the loop and after it. `repeats` tells LLVM how often it
        runs, where that is known.
        """
        header, body, exit = (self.names.fresh(name) for name in ("loop", "loop_body", "loop_exit"))
        loop = self._start_loop(header, exit, hint, type, lower, carried)
        loop.upper = upper
        condition = self.emit(f"icmp slt {type} {loop.index}, {upper}", "more")
        weights = "" if repeats is None else branch_weights(repeats, 1)
        self.lines.append(f"  br i1 {condition}, label {body}, label {exit}{weights}")
        self.start(body)
        return loop

    def end_loop(self, loop: Loop, step: str = "1", yielded: Sequence[str] = ()) -> None:
        """Ends the loop; `yielded` are the next values of the carried ones."""
        following = self.emit(f"add nsw {loop.type} {loop.index}, {step}", "next")
        self.lines.append(f"  br label {loop.header}{self._hint(loop, step)}")
        self._write_phis(loop, [following, *yielded])
        self.start(loop.exit)

    def _start_loop(
        self,
        header: str,
        exit: str,
        hint: str | None,
        type: str,
        lower: str,
        carried: Sequence[tuple[str | None, str, str]],
    ) -> Loop:
        """Starts block `header`, with a line that `_write_phis` fills in once it is known what is yielded."""
        preheader = self._label
        self.branch(header)
        self.start(header)
        loop = Loop(
            index=self.names.fresh(hint),
            type=type,
            carried=[self.names.fresh(hint) for hint, _, _ in carried],
            carried_types=[type for _, type, _ in carried],
            initial=[initial for _, _, initial in carried],
            lower=lower,
            preheader=preheader,
            header=header,
            exit=exit,
            phis=len(self.lines),
            n_long=self._n_long,
        )
        self.lines.append("")
        return loop

    def _hint(self, loop: Loop, step: str) -> str:
        """Returns what tells LLVM's middle end not to unroll a loop that is long, or around one that is."""
        if not self._has_scalar_loops:
            return ""
        is_known = loop.lower.isdecimal() and loop.upper.isdecimal() and step.isdecimal()
        if is_known and int(loop.upper) - int(loop.lower) > MOST_UNROLLED * int(step):
            self._n_long += 1
        if self._n_long == loop.n_long:
            return ""
        names = self._declarations
        names.setdefault(NOT_UNROLLED, f'{NOT_UNROLLED} = !{{!"llvm.loop.unroll.disable"}}')
        name = f"!{sum(name.startswith('!') for name in names) + 1}"
        names[name] = f"{name} = distinct !{{{name}, {NOT_UNROLLED}}}"
        return f", !llvm.loop {name}"

    def _write_phis(self, loop: Loop, yielded: Sequence[str]) -> None:
        self.lines[loop.phis] = "\n".join(
            f"  {name} = phi {type} [ {initial}, {loop.preheader} ], [ {following}, {self._label} ]"
            for name, type, initial, following in zip(
                [loop.index, *loop.carried],
                [loop.type, *loop.carried_types],
                [loop.lower, *loop.initial],
                yielded,
                strict=True,
            )
        )

    def begin_repetition(
        self, hint: str, type: str, lower: str, carried: Sequence[tuple[str | None, str, str]]
    ) -> Loop:
        """As `begin_loop`, but what is in it runs at least once: it is tested where it ends."""
        header, exit = self.names.fresh("repeat"), self.names.fresh("repeat_exit")
        return self._start_loop(header, exit, hint, type, lower, carried)

    def end_repetition(self, loop: Loop, step: str, upper: str, yielded: Sequence[str]) -> None:
        """
        Ends a loop that `begin_repetition` began, and that reaches `upper` in whole steps; `yielded` are the
        carried values after it too. LLVM is told how often it repeats: else it takes all loops of one depth
        for as long, and keeps what is used after a sum in registers that the sum needs.
        """
        n_repeats = (int(upper) - int(loop.lower)) // int(step) - 1
        weights = branch_weights(n_repeats, 1)
        following = self.emit(f"add nsw {loop.type} {loop.index}, {step}", "next")
        condition = self.emit(f"icmp ne {loop.type} {following}, {upper}", "more")
        self.lines.append(f"  br i1 {condition}, label {loop.header}, label {loop.exit}{weights}")
        self._write_phis(loop, [following, *yielded])
        self.start(loop.exit)

    def write_while(
        self,
        before: Block,
        body: Block,
        initial: Sequence[str],
        types: Sequence[str],
        results: Sequence[SSAValue],
    ) -> None:
        """Writes a loop that runs `body` for as long as the condition that `before` ends with holds."""
        preheader = self._label
        header, inside, exit = (self.names.fresh(name) for name in ("while", "while_body", "while_exit"))
        self.branch(header)
        self.start(header)
        phis = len(self.lines)
        self.lines.append("")
        for argument in before.args:
            self.values[argument] = self.names.fresh(argument.name_hint)
        condition, *passed = self.write_block(before)
        self.lines.append(f"  br i1 {condition}, label {inside}, label {exit}")
        self.start(inside)
        self.values.update(zip(body.args, passed, strict=True))
        yielded = self.write_block(body)
        self.branch(header)
        self.lines[phis] = "\n".join(
            f"  {self.values[argument]} = phi {type} [ {start}, {preheader} ], [ {following}, {self._label} ]"
            for argument, type, start, following in zip(before.args, types, initial, yielded, strict=True)
        )
        self.start(exit)
        self.values.update(zip(results, passed, strict=True))

    def write_unless(
        self,
        condition: str,
        values: Sequence[tuple[str, str]],
        otherwise: Callable[[], Sequence[str]],
        hints: Sequence[str | None] = (),
    ) -> list[str]:
        """Returns (type, value) pairs' values where the condition holds, else what `otherwise` writes."""
        begin, rare, end = self._label, self.names.fresh("unless"), self.names.fresh("end_unless")
        weights = branch_weights(SELDOM, 1)
        self.lines.append(f"  br i1 {condition}, label {end}, label {rare}{weights}")
        self.start(rare)
        others, rare_end = otherwise(), self._label
        self.branch(end)
        self.start(end)
        names = hints or [None] * len(values)
        return [
            self.emit(f"phi {type} [ {value}, {begin} ], [ {other}, {rare_end} ]", hint)
            for (type, value), other, hint in zip(values, others, names, strict=True)
        ]

    def apart(self) -> Emitter:
        """Returns what writes the body of a function that the kernel calls; it uses no private memory."""
        inner = Emitter(self.kernel, self.processor, self._rules, self._declarations, self._has_scalar_loops)
        inner.names = ValueNames(has_hints=False)
        inner.start(inner.names.fresh("entry"))
        return inner

    def call_apart(
        self,
        result: str,
        arguments: Sequence[tuple[str, str]],
        write: Callable[[Emitter, Sequence[str]], str],
    ) -> str:
        """
        Returns the call of a function that hardly ever runs, without writing it: on (type, value) pairs, with
        a body that `write` writes of the names of its parameters, and whose result it returns as an operand.
        """
        inner = self.apart()
        names = [inner.names.fresh("argument") for _ in arguments]
        parameters = ", ".join(f"{type} {name}" for (type, _), name in zip(arguments, names, strict=True))
        returned = write(inner, names)
        self.streams |= inner.streams
        inner.lines.append(f"  ret {result} {returned}".rstrip())
        name = self._function_of(f"{result} @({parameters}) nounwind noinline cold", "\n".join(inner.lines))
        return f"call {result} {name}({', '.join(f'{type} {value}' for type, value in arguments)})"

    def _function_of(self, head: str, body: str) -> str:
        """
        Returns the name of a function of the module, `define internal <head with the name> <body>`. Those of
        which all text is one are one function.
        """
        names = (f"@apart.{number}" for number in count())
        # What ends a kernel's functions stands at the beginning of a line.
        texts = ((name, f"define internal {head.replace('@', name)} {{\n{body}\n }}") for name in names)
        return next(name for name, text in texts if self._declarations.setdefault(name, text) == text)

    def write_if(
        self,
        condition: str,
        then_block: Block,
        else_block: Block | None,
        results: Sequence[tuple[SSAValue, str]],
    ) -> None:
        """Writes a two-way branch; `results` are the values that the two blocks yield, with their types."""
        types = [type for _, type in results]
        otherwise = None if else_block is None else partial(self.write_block, else_block)
        phis = self.write_either(condition, types, partial(self.write_block, then_block), otherwise)
        for (result, _), phi in zip(results, phis, strict=True):
            self.define(result, phi)

    def write_either(
        self,
        condition: str,
        types: Sequence[str],
        on_true: Callable[[], Sequence[str]],
        on_false: Callable[[], Sequence[str]] | None,
    ) -> list[str]:
        """Writes a two-way branch; returns what the values are, of these types, that the two ways give."""
        then_label, end = self.names.fresh("then"), self.names.fresh("end_if")
        else_label = end if on_false is None else self.names.fresh("else")
        self.lines.append(f"  br i1 {condition}, label {then_label}, label {else_label}")
        self.start(then_label)
        then_values, then_end = on_true(), self._label
        self.branch(end)
        else_values, else_end = list[str](), ""
        if on_false is not None:
            self.start(else_label)
            else_values, else_end = on_false(), self._label
            self.branch(end)
        self.start(end)
        return [
            f"phi {type} [ {a}, {then_end} ], [ {b}, {else_end} ]"
            for type, a, b in zip(types, then_values, else_values, strict=True)
        ]

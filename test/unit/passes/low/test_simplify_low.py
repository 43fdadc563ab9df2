"""Every rule of simplify-low fires where it should, and changes no bit of any result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.backends.reference.kernels.low import run_kernel
from tenon.dialects import low
from tenon.dialects.modules.parsing import verify_module
from tenon.passes.low import simplify_low
from tenon.passes.low.simplify_low import PATTERNS
from tenon.passes.rewriting.located_rewriter import rewrite_greedily
from tenon.semantics.numpy_types import dtype_of
from tenon.test.bits import bits
from tenon.test.kernels import parsed
from xdsl.dialects.builtin import MemRefType, ModuleOp, bf16, f16, f32, f64, i1, i8, i16, i32, i64
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import RewritePattern

Array = np.ndarray[Any, np.dtype[Any]]

TYPES: dict[str, Attribute] = {str(type): type for type in (f64, f32, f16, bf16, i64, i32, i16, i8, i1)}
FLOATS = ("f32", "f64")
INTEGERS = ("i64", "i32", "i16", "i8")
LENGTH = 16


def edges(type: str) -> Array:
    """Returns 16 values where arithmetic has edges."""
    dtype = dtype_of(TYPES[type])
    if dtype.kind in "fV":
        numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.1,
            2.5,
            -2.5,
            1e-4,
            6e4,
            np.inf,
            -np.inf,
            np.nan,
            3.0,
            -7.0,
            100,
            0.5,
        ]
        return np.array(numbers).astype(dtype)
    info = np.iinfo(dtype)
    numbers = [0, 1, -1, 2, -2, 3, 7, 8, -8, 31, 63, 100, info.min, info.min + 1, info.max, info.max - 1]
    return np.array(numbers, dtype)


@dataclass(frozen=True)
class Rewrite:
    """Code on which a rule fires: it is given %x, of type `source`, and gives %r, of type `result`."""

    rule: type[RewritePattern]
    source: str
    code: str
    result: str

    @property
    def text(self) -> str:
        return f"""low.kernel @k(%in: memref<{LENGTH}x{self.source}>, %out: memref<{LENGTH}x{self.result}>)
            grid [{LENGTH}, 1, 1] block [1, 1, 1] {{
          %i = low.block_id x
          %x = memref.load %in[%i] : memref<{LENGTH}x{self.source}>
          {self.code}
          memref.store %r, %out[%i] : memref<{LENGTH}x{self.result}>
        }}"""

    def __str__(self) -> str:
        return f"{self.rule.__name__}: {self.code.splitlines()[-1].strip()}"


def run(module: ModuleOp, inputs: Array) -> Array:
    kernel = module.body.block.first_op
    assert isinstance(kernel, low.KernelOp)
    type = kernel.body.block.args[1].type
    assert isinstance(type, MemRefType)
    output = np.zeros(LENGTH, dtype_of(type))
    run_kernel(kernel, [inputs.copy(), output])
    return output


def check(rewrite: Rewrite) -> ModuleOp:
    before = parsed(rewrite.text)
    after = before.clone()
    assert rewrite_greedily(after, [rewrite.rule()]), f"{rewrite.text}: does not fire"
    verify_module(after)
    inputs = edges(rewrite.source)
    np.testing.assert_array_equal(bits(run(after, inputs)), bits(run(before, inputs)), err_msg=rewrite.text)
    return after


def on_constant(
    rule: type[RewritePattern], op: str, type: str, number: str, mirrored: bool = False
) -> Rewrite:
    operands = "%c, %x" if mirrored else "%x, %c"
    code = f"%c = arith.constant {number} : {type}\n%r = arith.{op} {operands} : {type}"
    return Rewrite(rule, type, code, type)


FOLDING = ("addi", "subi", "muli", "minsi", "maxsi", "andi", "ori", "xori")


def folded_integers() -> Iterator[Rewrite]:
    for op in FOLDING:
        for type in INTEGERS:
            for a, b in ((5, 3), (-128, -1), (127, 1), (-1, 0)):
                code = f"%a = arith.constant {a} : {type}\n%b = arith.constant {b} : {type}\n"
                code += f"%c = arith.{op} %a, %b : {type}\n%r = arith.addi %c, %x : {type}"
                yield Rewrite(simplify_low.FoldIntegers, type, code, type)
        for a, b in (("true", "true"), ("true", "false"), ("false", "true"), ("false", "false")):
            code = f"%a = arith.constant {a}\n%b = arith.constant {b}\n%c = arith.{op} %a, %b : i1\n"
            code += "%r = low.convert extui %c : i1 to i8"
            yield Rewrite(simplify_low.FoldIntegers, "i8", code, "i8")


PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def comparison(predicate: str, type: str, a: int | str, b: int | str) -> Rewrite:
    suffix = "" if type == "i1" else f" : {type}"
    code = f"%a = arith.constant {a}{suffix}\n%b = arith.constant {b}{suffix}\n"
    code += f"%c = arith.cmpi {predicate}, %a, %b : {type}\n%r = low.convert extui %c : i1 to i8"
    return Rewrite(simplify_low.FoldComparison, "i8", code, "i8")


def comparisons() -> Iterator[Rewrite]:
    for predicate in PREDICATES:
        for type in (*INTEGERS, "index"):
            for a, b in ((5, 3), (-1, 0), (0, -1), (7, 7), (-128, 127)):
                yield comparison(predicate, type, a, b)
        for a in ("true", "false"):
            for b in ("true", "false"):
                yield comparison(predicate, "i1", a, b)


def bit_identities() -> Iterator[Rewrite]:
    rule = simplify_low.DropBitIdentity
    for mirrored in (False, True):
        for type in INTEGERS:
            for op, number in (("andi", "-1"), ("andi", "0"), ("ori", "0"), ("ori", "-1"), ("xori", "0")):
                yield on_constant(rule, op, type, number, mirrored)
        for op, bit in (
            ("andi", "true"),
            ("andi", "false"),
            ("ori", "true"),
            ("ori", "false"),
            ("xori", "false"),
        ):
            operands = "%c, %b" if mirrored else "%b, %c"
            code = (
                f"%c = arith.constant {bit}\n%z = arith.constant 3 : i8\n%b = arith.cmpi slt, %x, %z : i8\n"
            )
            code += f"%s = arith.{op} {operands} : i1\n%r = low.convert extui %s : i1 to i8"
            yield Rewrite(rule, "i8", code, "i8")


def integer_identities() -> Iterator[Rewrite]:
    rule = simplify_low.DropIntegerIdentity
    for type in INTEGERS:
        for op in ("addi", "subi"):
            yield on_constant(rule, op, type, "0")
        yield on_constant(rule, "addi", type, "0", mirrored=True)
        for op in ("muli", "divui", "divsi"):
            yield on_constant(rule, op, type, "1")
        yield on_constant(rule, "muli", type, "1", mirrored=True)
        yield on_constant(rule, "muli", type, "0")
        yield on_constant(rule, "muli", type, "0", mirrored=True)


def shifts() -> Iterator[Rewrite]:
    for type in INTEGERS:
        for op in ("divui", "remui"):
            for number in (2, 16, 64):
                yield on_constant(simplify_low.DivideByShifting, op, type, str(number))


def float_identities() -> Iterator[Rewrite]:
    rule = simplify_low.DropFloatIdentity
    for type in FLOATS:
        yield on_constant(rule, "mulf", type, "1.0")
        yield on_constant(rule, "mulf", type, "1.0", mirrored=True)
        yield on_constant(rule, "divf", type, "1.0")
        yield on_constant(rule, "subf", type, "0.0")
        yield on_constant(rule, "addf", type, "-0.0")


def others() -> Iterator[Rewrite]:
    for type in FLOATS:
        code = f"%n = arith.negf %x : {type}\n%r = arith.negf %n : {type}"
        yield Rewrite(simplify_low.DropDoubleNegation, type, code, type)
    for narrow, wide in (("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64")):
        code = f"%w = arith.extf %x : {narrow} to {wide}\n%r = arith.truncf %w : {wide} to {narrow}"
        yield Rewrite(simplify_low.DropExactRoundTrip, narrow, code, narrow)
    code = """%three = arith.constant 3 : i8
          %b = arith.cmpi slt, %x, %three : i8
          %zero = arith.constant 0 : i8
          %w = low.convert extui %b : i1 to i8
          %bit = arith.cmpi ne, %w, %zero : i8
          %r = low.convert extui %bit : i1 to i8"""
    yield Rewrite(simplify_low.DropStoredBoolean, "i8", code, "i8")
    for condition in ("true", "false"):
        code = f"%c = arith.constant {condition}\n%y = arith.constant 9 : i32\n"
        code += "%r = low.select %c, %x, %y : i32"
        yield Rewrite(simplify_low.FoldSelect, "i32", code, "i32")
    code = "%t = arith.constant 3 : i32\n%c = arith.cmpi slt, %x, %t : i32\n%r = low.select %c, %x, %x : i32"
    yield Rewrite(simplify_low.FoldSelect, "i32", code, "i32")


def loop(begin: int, end: int, step: int) -> Rewrite:
    code = f"""%begin = arith.constant {begin} : index
          %end = arith.constant {end} : index
          %step = arith.constant {step} : index
          %r, %other = scf.for %j = %begin to %end step %step iter_args(%a = %x, %b = %x) -> (i32, i32) {{
            %n = arith.index_cast %j : index to i32
            %s = arith.muli %a, %n : i32
            scf.yield %b, %s : i32, i32
          }}"""
    return Rewrite(simplify_low.InlineShortLoop, "i32", code, "i32")


REWRITES = [
    *folded_integers(),
    *comparisons(),
    *bit_identities(),
    *integer_identities(),
    *shifts(),
    *float_identities(),
    *others(),
    loop(3, 3, 1),
    loop(4, 3, 1),
    loop(3, 4, 1),
    loop(0, 8, 8),
    loop(2, 8, 7),
]


def test_every_rule_has_a_case():
    assert {rewrite.rule for rewrite in REWRITES} == set(PATTERNS)


@pytest.mark.parametrize("rule", PATTERNS, ids=lambda rule: rule.__name__)
def test_rule_fires_and_changes_no_bit(rule: type[RewritePattern]) -> None:
    for rewrite in REWRITES:
        if rewrite.rule is rule:
            check(rewrite)


KEPT = [
    on_constant(simplify_low.DropIntegerIdentity, "subi", "i32", "0", mirrored=True),
    on_constant(simplify_low.DropIntegerIdentity, "divsi", "i32", "1", mirrored=True),
    on_constant(simplify_low.DropIntegerIdentity, "divui", "i32", "-1"),
    on_constant(simplify_low.DropBitIdentity, "andi", "i16", "127"),
    on_constant(simplify_low.DropBitIdentity, "ori", "i16", "127"),
    on_constant(simplify_low.DropBitIdentity, "xori", "i16", "-1"),
    Rewrite(
        simplify_low.FoldComparison,
        "i8",
        "%zero = arith.constant 0 : i8\n%b = arith.cmpi slt, %x, %zero : i8\n"
        "%r = low.convert extui %b : i1 to i8",
        "i8",
    ),
    on_constant(simplify_low.DivideByShifting, "divui", "i32", "6"),
    on_constant(simplify_low.DivideByShifting, "divui", "i8", "-128"),
    on_constant(simplify_low.DivideByShifting, "divsi", "i32", "8"),
    on_constant(simplify_low.DropFloatIdentity, "addf", "f32", "0.0"),
    on_constant(simplify_low.DropFloatIdentity, "subf", "f32", "-0.0"),
    on_constant(simplify_low.DropFloatIdentity, "subf", "f32", "0.0", mirrored=True),
    on_constant(simplify_low.DropFloatIdentity, "mulf", "f32", "0.0"),
    on_constant(simplify_low.DropFloatIdentity, "divf", "f32", "1.0", mirrored=True),
    Rewrite(
        simplify_low.DropExactRoundTrip,
        "bf16",
        "%w = arith.extf %x : bf16 to f32\n%r = arith.truncf %w : f32 to f16",
        "f16",
    ),
    Rewrite(
        simplify_low.DropStoredBoolean,
        "i8",
        "%zero = arith.constant 0 : i8\n%b = arith.cmpi ne, %x, %zero : i8\n"
        "%r = low.convert extui %b : i1 to i8",
        "i8",
    ),
    loop(0, 9, 8),
    loop(0, 2, 1),
]


@pytest.mark.parametrize("rewrite", KEPT, ids=str)
def test_what_would_change_a_bit_is_kept(rewrite: Rewrite) -> None:
    module = parsed(rewrite.text)
    before = str(module)
    rewrite_greedily(module, [rewrite.rule()])
    assert str(module) == before


@settings(max_examples=150, deadline=None)
@given(
    op=st.sampled_from(FOLDING),
    type=st.sampled_from(INTEGERS),
    lhs=st.integers(-(1 << 63), (1 << 63) - 1),
    rhs=st.integers(-(1 << 63), (1 << 63) - 1),
)
def test_folding_wraps_like_the_machine(op: str, type: str, lhs: int, rhs: int) -> None:
    half = 1 << (int(type[1:]) - 1)
    a, b = ((number + half) % (2 * half) - half for number in (lhs, rhs))
    code = f"%a = arith.constant {a} : {type}\n%b = arith.constant {b} : {type}\n"
    code += f"%c = arith.{op} %a, %b : {type}\n%r = arith.addi %c, %x : {type}"
    check(Rewrite(simplify_low.FoldIntegers, type, code, type))


def test_index_arithmetic_folds_as_64_bit_numbers():
    code = """%a = arith.constant 9223372036854775807 : index
          %b = arith.constant 2 : index
          %c = arith.addi %a, %b : index
          %n = arith.index_cast %c : index to i64
          %r = arith.addi %n, %x : i64"""
    check(Rewrite(simplify_low.FoldIntegers, "i64", code, "i64"))

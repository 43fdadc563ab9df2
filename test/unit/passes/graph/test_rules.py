"""Every rule of canonicalize-graph fires where it should, and changes no bit of any result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.backends.reference.graph import run_graph
from tenon.dialects.element_types import ELEMENT_TYPES, NARROW_FLOATS, is_float, is_unsigned
from tenon.dialects.graph import GRAPH, BitcastOp, CastOp, CompareOp, ElementwiseOp, FmaOp, SelectOp
from tenon.dialects.graph.elementwise.predicates import PredicateOp
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.graph.canonicalize_graph import PATTERNS
from tenon.passes.graph.rules import (
    control,
    fast_math,
    folding,
    identities,
    index_widths,
    integers,
    logic,
    narrow_sums,
    powers,
    precision,
    pushing,
    ranges,
    signs,
    views,
)
from tenon.passes.graph.rules.identities import EXACT, greatest_of, least_of
from tenon.passes.rewriting.located_rewriter import rewrite_greedily
from tenon.semantics.numpy_types import dtype_of
from tenon.test.bits import bits
from tenon.test.kernels import parsed
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import RewritePattern

Array = np.ndarray[Any, np.dtype[Any]]

BY_NAME = {str(type): type for type in ELEMENT_TYPES}
FLOATS = [name for name, type in BY_NAME.items() if is_float(type)]
INTEGERS = [name for name in BY_NAME if name not in FLOATS and name != "i1"]
NUMBERS = [*FLOATS, *INTEGERS]
BITS = [*INTEGERS, "i1"]
EXACT_PAIRS = sorted((narrow, wide) for narrow, wide in EXACT if narrow in BY_NAME and wide in BY_NAME)


def edges(type: Attribute) -> Array:
    """Returns every value of a type of up to 16 bits, else values where arithmetic has edges."""
    dtype = dtype_of(type)
    if dtype == np.bool_:
        return np.array([False, True])
    if dtype.itemsize <= 2:
        return np.arange(1 << (8 * dtype.itemsize)).astype(f"u{dtype.itemsize}").view(dtype)
    if is_float(type):
        numbers = [0.0, -0.0, 1.0, -1.0, 0.1, 2.5, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan]
        info = np.finfo(dtype)
        return np.array([*numbers, info.max, -info.max, info.tiny, info.smallest_subnormal], dtype)
    info = np.iinfo(dtype)
    values = [0, 1, -1, 2, -2, 7, 31, 64, info.min, info.min + 1, info.max]
    return np.array([value for value in values if value >= info.min], dtype)


@dataclass(frozen=True)
class Rewrite:
    """A function on which a rule fires: the types of its arguments, its ops, and its result."""

    rule: type[RewritePattern]
    arguments: tuple[str, ...]
    body: str
    result: str

    @property
    def text(self) -> str:
        arguments = ", ".join(f"%{'xyz'[n]}: tensor<{type}>" for n, type in enumerate(self.arguments))
        return (
            f"func.func @f({arguments}) -> tensor<{self.result}> {{\n{self.body}\n"
            f"func.return %r : tensor<{self.result}>\n}}"
        )

    def __str__(self) -> str:
        return f"{self.rule.__name__}: {self.body.splitlines()[-1]}"


def inputs_of(module: ModuleOp) -> list[Array]:
    function = module.body.block.first_op
    assert function is not None
    rng = np.random.default_rng(0)
    arrays: list[Array] = []
    for number, argument in enumerate(function.regions[0].block.args):
        values = np.roll(edges(argument.type.element_type), 3 * number)  # pyright: ignore
        shape = argument.type.get_shape()  # pyright: ignore
        count = int(np.prod(shape))
        arrays.append(np.resize(values, shape) if count <= len(values) else rng.choice(values, shape))
    return arrays


def assert_unchanged(before: ModuleOp, after: ModuleOp, inputs: Sequence[Array], what: str) -> None:
    (expected,), (actual,) = run_graph(before, "f", inputs), run_graph(after, "f", inputs)
    assert actual.dtype == expected.dtype and actual.shape == expected.shape, what
    np.testing.assert_array_equal(bits(actual), bits(expected), err_msg=what)


def check(rewrite: Rewrite) -> ModuleOp:
    before = parsed(rewrite.text)
    after = before.clone()
    assert rewrite_greedily(after, [rewrite.rule()]), f"{rewrite.text}: does not fire"
    verify_module(after)
    assert_unchanged(before, after, inputs_of(before), rewrite.text)
    return after


def literal(type: str, number: float) -> str:
    if type == "i1":
        return "true" if number else "false"
    if np.isinf(number):
        return _INFINITIES[type][number < 0]
    return repr(float(number)) if type in FLOATS else str(int(number))


_INFINITIES = {
    "f16": ("0x7C00", "0xFC00"),
    "bf16": ("0x7F80", "0xFF80"),
    "f32": ("0x7F800000", "0xFF800000"),
    "f64": ("0x7FF0000000000000", "0xFFF0000000000000"),
}


def binary(
    rule: type[RewritePattern], op: str, type: str, number: float, constant_first: bool = False
) -> Rewrite:
    count = len(edges(BY_NAME[type]))
    operands = "%c, %x" if constant_first else "%x, %c"
    result = "i1" if op in ("eq", "ne") else type
    body = f"%c = graph.constant dense<{literal(type, number)}> : tensor<{count}x{type}>\n"
    body += f"%r = graph.{op} {operands} : tensor<{count}x{type}>"
    return Rewrite(rule, (f"{count}x{type}",), body, f"{count}x{result}")


def constants_to_the_right() -> Iterator[Rewrite]:
    rule = identities.ConstantToTheRight
    for op in identities.ConstantToTheRight.ROOTS:
        for name, type in BY_NAME.items():
            if type in op.ELEMENTS.types:
                for number in (3, -0.0):
                    yield binary(rule, op.name.removeprefix("graph."), name, number, constant_first=True)


def neutral_operands() -> Iterator[Rewrite]:
    rule = identities.DropNeutralOperand
    for type in FLOATS:
        yield binary(rule, "add", type, -0.0)
        yield binary(rule, "sub", type, 0.0)
    for type in INTEGERS:
        for op in ("add", "sub", "or", "xor", "shl", "shr"):
            yield binary(rule, op, type, 0)
        yield binary(rule, "pow", type, 1)
        yield binary(rule, "and", type, all_bits(type))
    for op, number in (("or", 0), ("xor", 0), ("and", 1)):
        yield binary(rule, op, "i1", number)
    for type in NUMBERS:
        yield binary(rule, "mul", type, 1)
        yield binary(rule, "div", type, 1)

    for name in [*INTEGERS, "f16", "f32", "f64", "bf16"]:
        yield binary(rule, "max", name, least_of(BY_NAME[name]))
        yield binary(rule, "min", name, greatest_of(BY_NAME[name]))


def absorbed_integers() -> Iterator[Rewrite]:
    rule = identities.AbsorbIntegers
    for type in INTEGERS:
        yield binary(rule, "mul", type, 0)
        yield binary(rule, "max", type, greatest_of(BY_NAME[type]))
        yield binary(rule, "min", type, least_of(BY_NAME[type]))
        yield binary(rule, "or", type, all_bits(type))
    for type in BITS:
        yield binary(rule, "and", type, 0)
    yield binary(rule, "or", "i1", 1)


def all_bits(type: str) -> float:
    return greatest_of(BY_NAME[type]) if is_unsigned(BY_NAME[type]) else -1


def on_itself(rule: type[RewritePattern], op: str, type: str) -> Rewrite:
    text = f"{len(edges(BY_NAME[type]))}x{type}"
    return Rewrite(rule, (text,), f"%r = graph.{op} %x, %x : tensor<{text}>", text)


def idempotent() -> Iterator[Rewrite]:
    rule = identities.DropIdempotent
    for type in BY_NAME:
        yield on_itself(rule, "max", type)
        yield on_itself(rule, "min", type)
        text = f"2x{type}"
        yield Rewrite(rule, ("2xi1", text), f"%r = graph.select %x, %y, %y : tensor<{text}>", text)
    for type in BITS:
        yield on_itself(rule, "and", type)
        yield on_itself(rule, "or", type)


def cancelled() -> Iterator[Rewrite]:
    for type in INTEGERS:
        yield on_itself(identities.CancelSelf, "sub", type)
    for type in BITS:
        yield on_itself(identities.CancelSelf, "xor", type)


def twice(rule: type[RewritePattern], op: str, type: str) -> Rewrite:
    text = f"{len(edges(BY_NAME[type]))}x{type}"
    body = f"%a = graph.{op} %x : tensor<{text}>\n%r = graph.{op} %a : tensor<{text}>"
    return Rewrite(rule, (text,), body, text)


def inverses() -> Iterator[Rewrite]:
    for type in NUMBERS:
        yield twice(identities.DropInverse, "neg", type)
    for type in BITS:
        yield twice(identities.DropInverse, "not", type)


def repeated() -> Iterator[Rewrite]:
    for op in identities.DropRepeated.ROOTS:
        for name, type in BY_NAME.items():
            if type in op.ELEMENTS.types:
                yield twice(identities.DropRepeated, op.name.removeprefix("graph."), name)


def chosen() -> Iterator[Rewrite]:
    for word in ("true", "false"):
        body = f"%c = graph.constant dense<{word}> : tensor<12xi1>\n"
        body += "%r = graph.select %c, %x, %y : tensor<12xf32>"
        yield Rewrite(identities.ChooseSelect, ("12xf32", "12xf32"), body, "12xf32")


def casts() -> Iterator[Rewrite]:
    for name, type in BY_NAME.items():
        text = f"{len(edges(type))}x{name}"
        body = f"%r = graph.cast %x : tensor<{text}> -> tensor<{text}>"
        yield Rewrite(identities.DropCast, (text,), body, text)
    for narrow, wide in EXACT_PAIRS:
        count = len(edges(BY_NAME[narrow]))
        text, between = f"{count}x{narrow}", f"{count}x{wide}"
        body = f"%a = graph.cast %x : tensor<{text}> -> tensor<{between}>\n"
        body += f"%r = graph.cast %a : tensor<{between}> -> tensor<{text}>"
        yield Rewrite(identities.DropCast, (text,), body, text)


def bitcasts() -> Iterator[Rewrite]:
    rule = identities.ComposeBitcasts
    for name, type in BY_NAME.items():
        text = f"{len(edges(type))}x{name}"
        body = f"%r = graph.bitcast %x : tensor<{text}> -> tensor<{text}>"
        yield Rewrite(rule, (text,), body, text)
        for other in (each for each in BY_NAME if BY_NAME[each].bitwidth == type.bitwidth and each != name):
            between = f"{len(edges(type))}x{other}"
            body = f"%a = graph.bitcast %x : tensor<{text}> -> tensor<{between}>\n"
            yield Rewrite(
                rule, (text,), f"{body}%r = graph.bitcast %a : tensor<{between}> -> tensor<{text}>", text
            )
            if name[0] != "i" and other[0] != "i":
                signless = f"{len(edges(type))}xi{type.bitwidth}"
                body += f"%r = graph.bitcast %a : tensor<{between}> -> tensor<{signless}>"
                yield Rewrite(rule, (text,), body, signless)


def of_views() -> Iterator[Rewrite]:
    v = views
    x = "4x6xf32"
    yield Rewrite(v.ComposeReshape, (x,), "%r = graph.reshape %x : tensor<4x6xf32> -> tensor<4x6xf32>", x)
    body = "%a = graph.reshape %x : tensor<4x6xf32> -> tensor<24xf32>\n"
    yield Rewrite(
        v.ComposeReshape,
        (x,),
        body + "%r = graph.reshape %a : tensor<24xf32> -> tensor<2x12xf32>",
        "2x12xf32",
    )
    yield Rewrite(v.ComposePermute, (x,), "%r = graph.permute %x [0, 1] : tensor<4x6xf32>", x)
    body = "%a = graph.permute %x [2, 0, 1] : tensor<2x3x4xf32>\n"
    yield Rewrite(
        v.ComposePermute,
        ("2x3x4xf32",),
        body + "%r = graph.permute %a [2, 1, 0] : tensor<4x2x3xf32>",
        "3x2x4xf32",
    )
    yield Rewrite(v.ComposeBroadcast, (x,), "%r = graph.broadcast %x : tensor<4x6xf32> -> tensor<4x6xf32>", x)
    body = "%a = graph.broadcast %x : tensor<6xf32> -> tensor<1x4x6xf32>\n"
    body += "%r = graph.broadcast %a : tensor<1x4x6xf32> -> tensor<3x4x6xf32>"
    yield Rewrite(v.ComposeBroadcast, ("6xf32",), body, "3x4x6xf32")
    body = "%r = graph.slice %x offsets [0, 0] sizes [4, 6] strides [1, 1] : tensor<4x6xf32>"
    yield Rewrite(v.ComposeSlice, (x,), body, x)
    yield Rewrite(v.ComposeFlip, (x,), "%r = graph.flip %x axes [] : tensor<4x6xf32>", x)
    body = "%a = graph.flip %x axes [1, 0] : tensor<4x6xf32>\n%r = graph.flip %a axes [0] : tensor<4x6xf32>"
    yield Rewrite(v.ComposeFlip, (x,), body, x)
    body = "%r = graph.pad %x, %y low [0, 0] high [0, 0] : tensor<4x6xf32>"
    yield Rewrite(v.DropEmptyPad, (x, "f32"), body, x)
    body = "%a = graph.permute %x [1, 2, 0] : tensor<2x3x4xf32>\n"
    body += "%r = graph.pad %a, %y low [0, 1, 2] high [3, 0, 1] interior [1, 0, 2] : tensor<3x4x2xf32>"
    yield Rewrite(v.PermuteLast, ("2x3x4xf32", "f32"), body, "8x5x7xf32")
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        body = f"%r = graph.pad_with {mode} %x low [0, 0] high [0, 0] : tensor<4x6xf32>"
        yield Rewrite(v.DropEmptyPadWith, (x,), body, x)
    yield Rewrite(
        v.ComposeConcat, (x,), "%r = graph.concat %x axis 1 : tensor<4x6xf32> -> tensor<4x6xf32>", x
    )
    body = "%a = graph.concat %x, %y axis 1 : tensor<4x6xf32>, tensor<4x2xf32> -> tensor<4x8xf32>\n"
    body += "%r = graph.concat %y, %a, %x axis 1 : tensor<4x2xf32>, tensor<4x8xf32>, tensor<4x6xf32> "
    body += "-> tensor<4x16xf32>"
    yield Rewrite(v.ComposeConcat, (x, "4x2xf32"), body, "4x16xf32")


def unit_reductions() -> Iterator[Rewrite]:
    for kind in ("add", "mul", "max", "min"):
        for type in NUMBERS:
            count = len(edges(BY_NAME[type]))
            body = (
                f"%r = graph.reduce {kind} %x axes [0] : tensor<1x{count}x{type}> -> tensor<{count}x{type}>"
            )
            yield Rewrite(views.DropUnitReduce, (f"1x{count}x{type}",), body, f"{count}x{type}")
    for type in INTEGERS:
        body = f"%r = graph.reduce add %x axes [0, 2] keep : tensor<1x9x1x{type}> -> tensor<1x9x1x{type}>"
        yield Rewrite(views.DropUnitReduce, (f"1x9x1x{type}",), body, f"1x9x1x{type}")
    for type in BITS:
        body = f"%r = graph.reduce and %x axes [] : tensor<9x{type}> -> tensor<9x{type}>"
        yield Rewrite(views.DropUnitReduce, (f"9x{type}",), body, f"9x{type}")
    for first, second in (("keep ", ""), ("", "keep ")):
        types = {"": "tensor<2x3x4xf32> -> tensor<3xf32>", "keep ": "tensor<2x3x4xf32> -> tensor<1x3x1xf32>"}
        for kind in ("add", "max"):
            body = (
                f"%a = graph.reduce {kind} %x axes [0, 2] {first}: {types[first]}\n"
                f"%b = graph.reduce {kind} %x axes [0, 2] {second}: {types[second]}\n"
                f"%c = graph.reshape %{'b' if first else 'a'} : tensor<3xf32> -> tensor<1x3x1xf32>\n"
                f"%r = graph.sub %{'a' if first else 'b'}, %c : tensor<1x3x1xf32>"
            )
            yield Rewrite(views.ShareReduction, ("2x3x4xf32",), body, "1x3x1xf32")


def folded_rewrites() -> Iterator[Rewrite]:
    splat = "%c = graph.constant dense<-2.5> : tensor<3xf32>\n"
    for body, result in (
        ("%r = graph.exp %c : tensor<3xf32>", "3xf32"),
        ("%r = graph.lt %c, %c : tensor<3xf32>", "3xi1"),
        ("%r = graph.broadcast %c : tensor<3xf32> -> tensor<2x3xf32>", "2x3xf32"),
        ("%r = graph.concat %c, %c axis 0 : tensor<3xf32>, tensor<3xf32> -> tensor<6xf32>", "6xf32"),
    ):
        yield Rewrite(folding.FoldSplat, (), splat + body, result)
    several = "%c = graph.constant dense<[0.0, -0.0, 1.5]> : tensor<3xf32>\n"
    for body, result in (
        ("%r = graph.div %c, %c : tensor<3xf32>", "3xf32"),
        ("%r = graph.flip %c axes [0] : tensor<3xf32>", "3xf32"),
        ("%r = graph.reduce max %c axes [0] : tensor<3xf32> -> tensor<f32>", "f32"),
        ("%r = graph.slice %c offsets [1] sizes [0] strides [1] : tensor<3xf32>", "0xf32"),
    ):
        yield Rewrite(folding.FoldConstants, (), several + body, result)


def constants_gathered() -> Iterator[Rewrite]:
    rule = integers.GatherConstants
    for ops, types in (
        (("add", "mul"), INTEGERS),
        (("and", "or", "xor"), BITS),
        (("max", "min"), [*INTEGERS, "f16", "f32", "f64", "bf16"]),
    ):
        for op in ops:
            for type in types:
                text = f"{len(edges(BY_NAME[type]))}x{type}"
                c, d = ("true", "false") if type == "i1" else (literal(type, 100), literal(type, 77))
                body = f"%c = graph.constant dense<{c}> : tensor<{text}>\n"
                body += f"%d = graph.constant dense<{d}> : tensor<{text}>\n"
                body += f"%a = graph.{op} %x, %c : tensor<{text}>\n%r = graph.{op} %a, %d : tensor<{text}>"
                yield Rewrite(rule, (text,), body, text)
    for type in INTEGERS:
        yield binary(integers.SubtractByAdding, "sub", type, 3)
        yield binary(integers.SubtractByAdding, "sub", type, least_of(BY_NAME[type]) or 1)


def compared_with_itself() -> Iterator[Rewrite]:
    for type in BY_NAME:
        text = f"{len(edges(BY_NAME[type]))}x{type}"
        for op in ("lt", "gt") if type in FLOATS else ("eq", "ne", "lt", "le", "gt", "ge"):
            body = f"%r = graph.{op} %x, %x : tensor<{text}>"
            yield Rewrite(integers.CompareWithItself, (text,), body, f"{text.split('x')[0]}xi1")


def of_ranges() -> Iterator[Rewrite]:
    for type in ("i32", "i64"):
        for op, bound in (("lt", 5), ("le", 4), ("gt", 4), ("ge", 5), ("lt", 0), ("ge", 0), ("le", -1)):
            yield counted(f"%k = graph.cast %i : tensor<i64> -> tensor<{type}>", type, op, bound)
    for body, bound in (
        ("%k = graph.add %i, %two : tensor<i64>", 7),
        ("%k = graph.sub %two, %i : tensor<i64>", 3),
        ("%k = graph.mul %i, %two : tensor<i64>", 9),
        ("%k = graph.max %i, %two : tensor<i64>", 5),
        ("%k = graph.min %i, %two : tensor<i64>", 3),
    ):
        yield counted(body, "i64", "lt", bound)


def counted(body: str, type: str, op: str, bound: int) -> Rewrite:
    """Returns how often a comparison of %k with a number holds, in a loop of five iterations."""
    text = f"""%two = graph.constant dense<2> : tensor<i64>
    %bound = graph.constant dense<{bound}> : tensor<{type}>
    %r = graph.scan %i = 5 (%n = %x) : (tensor<i64>) -> (tensor<i64>) {{
      {body}
      %c = graph.{op} %k, %bound : tensor<{type}>
      %m = graph.add %n, %two : tensor<i64>
      %d = graph.select %c, %m, %n : tensor<i64>
      graph.yield %d : tensor<i64>
    }}"""
    return Rewrite(ranges.CompareRanges, ("i64",), text, "i64")


def of_signs() -> Iterator[Rewrite]:
    rule = signs.NegateByOp
    signed = [type for type in NUMBERS if not type.startswith("ui")]
    for type in signed:
        yield binary(rule, "mul", type, -1)
        yield binary(rule, "div", type, -1)
    for type in NUMBERS:
        yield binary(rule, "sub", type, -0.0 if type in FLOATS else 0, constant_first=True)
    rule = signs.MergeNegation
    for type in NUMBERS:
        text = f"{len(edges(BY_NAME[type]))}x{type}"
        negatives = f"%a = graph.neg %x : tensor<{text}>\n%b = graph.neg %y : tensor<{text}>\n"
        bodies = ["add %x, %b", "add %a, %y", "sub %x, %b", "mul %a, %b"]
        for body in bodies + (["div %a, %b"] if type in FLOATS else []):
            yield Rewrite(rule, (text, text), f"{negatives}%r = graph.{body} : tensor<{text}>", text)
        if type in signed:
            yield Rewrite(rule, (text, text), f"{negatives}%r = graph.abs %a : tensor<{text}>", text)
    for type in ("f16", "bf16", "f32", "f64"):
        for number in (2.0, -0.5, 2.0**13, 2.0**-13):
            yield binary(signs.MultiplyByReciprocal, "div", type, number)


def of_logic() -> Iterator[Rewrite]:
    for type in BY_NAME:
        for op in ("lt", "le", "gt", "ge"):
            yield compared(logic.ComparedConstantToTheRight, op, type)
        text = f"{len(edges(BY_NAME[type]))}x{type}"
        count = f"{text.split('x')[0]}xi1"
        for op in ("eq", "ne") if type in FLOATS else ("eq", "ne", "lt", "le", "gt", "ge"):
            body = f"%a = graph.{op} %x, %y : tensor<{text}>\n%r = graph.not %a : tensor<{count}>"
            yield Rewrite(logic.NegateComparison, (text, text), body, count)
    for first, second in (("true", "false"), ("false", "true")):
        body = f"%a = graph.constant dense<{first}> : tensor<2xi1>\n"
        body += f"%b = graph.constant dense<{second}> : tensor<2xi1>\n"
        body += "%r = graph.select %x, %a, %b : tensor<2xi1>"
        yield Rewrite(logic.SelectOfBooleans, ("2xi1",), body, "2xi1")
    text = "2xf32"
    body = "%n = graph.not %x : tensor<2xi1>\n%r = graph.select %n, %y, %z : tensor<2xf32>"
    yield Rewrite(logic.SelectByNegation, ("2xi1", text, text), body, text)
    for inner in ("%x, %a, %z", "%x, %z, %a", "%x, %a, %a"):
        body = f"%a = graph.select %x, %y, %z : tensor<2xf32>\n%r = graph.select {inner} : tensor<2xf32>"
        if inner != "%x, %a, %a":
            yield Rewrite(logic.SelectOfSelect, ("2xi1", text, text), body, text)


def compared(rule: type[RewritePattern], op: str, type: str) -> Rewrite:
    count = len(edges(BY_NAME[type]))
    body = f"%c = graph.constant dense<{literal(type, 1)}> : tensor<{count}x{type}>\n"
    body += f"%r = graph.{op} %c, %x : tensor<{count}x{type}>"
    return Rewrite(rule, (f"{count}x{type}",), body, f"{count}xi1")


def composed_casts() -> Iterator[Rewrite]:
    for narrow, wide in EXACT_PAIRS:
        for last in BY_NAME:
            same_kind = (last in FLOATS) == (wide in FLOATS)
            if last == narrow or not (same_kind or narrow in FLOATS):
                continue
            count = len(edges(BY_NAME[narrow]))
            body = f"%a = graph.cast %x : tensor<{count}x{narrow}> -> tensor<{count}x{wide}>\n"
            body += f"%r = graph.cast %a : tensor<{count}x{wide}> -> tensor<{count}x{last}>"
            yield Rewrite(identities.ComposeCasts, (f"{count}x{narrow}",), body, f"{count}x{last}")


def pushed() -> Iterator[Rewrite]:
    rule, x = pushing.ViewOperands, "4x6xf32"
    one = "%c = graph.constant dense<1.5> : tensor<4x6xf32>\n"
    yield Rewrite(
        rule,
        ("6x4xf32",),
        f"{one}%p = graph.permute %x [1, 0] : tensor<6x4xf32>\n%e = graph.add %p, %c : tensor<4x6xf32>\n"
        "%r = graph.permute %e [1, 0] : tensor<4x6xf32>",
        "6x4xf32",
    )
    yield Rewrite(
        rule,
        ("24xf32", "24xf32"),
        "%p = graph.reshape %x : tensor<24xf32> -> tensor<4x6xf32>\n"
        "%q = graph.reshape %y : tensor<24xf32> -> tensor<4x6xf32>\n%e = graph.lt %p, %q : tensor<4x6xf32>\n"
        "%r = graph.reshape %e : tensor<4x6xi1> -> tensor<2x12xi1>",
        "2x12xi1",
    )
    yield Rewrite(
        rule,
        (x,),
        "%p = graph.flip %x axes [0] : tensor<4x6xf32>\n%e = graph.mul %p, %p : tensor<4x6xf32>\n"
        "%r = graph.flip %e axes [0, 1] : tensor<4x6xf32>",
        x,
    )
    yield Rewrite(
        rule,
        (x,),
        "%p = graph.slice %x offsets [1, 0] sizes [3, 3] strides [1, 2] : tensor<4x6xf32>\n"
        "%e = graph.cast %p : tensor<3x3xf32> -> tensor<3x3xi32>\n"
        "%r = graph.slice %e offsets [0, 1] sizes [2, 2] strides [2, 1] : tensor<3x3xi32>",
        "2x2xi32",
    )
    rule = pushing.BroadcastLast
    body = "%b = graph.broadcast %x : tensor<4x1xf32> -> tensor<4x6xf32>\n"
    yield Rewrite(rule, ("4x1xf32",), f"{body}%r = graph.mul %b, %b : tensor<4x6xf32>", x)
    yield Rewrite(rule, ("4x1xf32",), f"{body}{one}%r = graph.div %c, %b : tensor<4x6xf32>", x)
    both = body + "%d = graph.broadcast %y : tensor<4x1xf32> -> tensor<4x6xf32>\n"
    yield Rewrite(rule, ("4x1xf32", "4x1xf32"), f"{both}%r = graph.lt %b, %d : tensor<4x6xf32>", "4x6xi1")
    rule = pushing.ComposeReduce
    for kind, type in (("max", "f32"), ("max", "f16"), ("add", "i8"), ("or", "i1"), ("mul", "i32")):
        for first, second, keep, between, result in (
            ("[1]", "[0]", "", f"4x5x{type}", f"5x{type}"),
            ("[1]", "[0]", " keep", f"4x1x5x{type}", f"1x5x{type}"),
            ("[0, 2]", "[0]", "", f"6x{type}", type),
        ):
            body = (
                f"%a = graph.reduce {kind} %x axes {first}{keep} : tensor<4x6x5x{type}> -> tensor<{between}>"
            )
            body += f"\n%r = graph.reduce {kind} %a axes {second} : tensor<{between}> -> tensor<{result}>"
            yield Rewrite(rule, (f"4x6x5x{type}",), body, result)


def narrowed() -> Iterator[Rewrite]:
    rule = precision.NarrowArithmetic
    pairs = [("f16", "f32"), ("bf16", "f32"), ("f32", "f64"), ("f16", "f64"), ("bf16", "f64")]
    for narrow, wide in pairs:
        ops = ["add", "sub", "mul", "div", "max"] + (["mod"] if wide == "f32" else [])
        for op in ops:
            yield narrow_binary(rule, op, narrow, wide)
    for narrow, wide in (("i8", "i32"), ("i16", "i64"), ("ui8", "i16"), ("i32", "i64")):
        for op in ("add", "sub", "mul", "and", "or", "xor", "max", "min"):
            yield narrow_binary(rule, op, narrow, wide)
    body = "%a = graph.cast %x : tensor<65536xf16> -> tensor<65536xf32>\n"
    body += "%b = graph.sqrt %a : tensor<65536xf32>\n"
    body += "%r = graph.cast %b : tensor<65536xf32> -> tensor<65536xf16>"
    yield Rewrite(rule, ("65536xf16",), body, "65536xf16")
    body = "%c = graph.constant dense<1.5> : tensor<65536xf32>\n"
    body += "%a = graph.cast %x : tensor<65536xf16> -> tensor<65536xf32>\n"
    body += "%b = graph.mul %a, %c : tensor<65536xf32>\n"
    body += "%r = graph.cast %b : tensor<65536xf32> -> tensor<65536xf16>"
    yield Rewrite(rule, ("65536xf16",), body, "65536xf16")
    for narrow, wide in EXACT_PAIRS:
        for op in ("eq", "lt", "ge"):
            count = len(edges(BY_NAME[narrow]))
            body = f"%a = graph.cast %x : tensor<{count}x{narrow}> -> tensor<{count}x{wide}>\n"
            body += f"%b = graph.cast %y : tensor<{count}x{narrow}> -> tensor<{count}x{wide}>\n"
            body += f"%r = graph.{op} %a, %b : tensor<{count}x{wide}>"
            text = f"{count}x{narrow}"
            yield Rewrite(precision.NarrowComparison, (text, text), body, f"{count}xi1")


def narrow_binary(rule: type[RewritePattern], op: str, narrow: str, wide: str) -> Rewrite:
    count = len(edges(BY_NAME[narrow]))
    body = f"%a = graph.cast %x : tensor<{count}x{narrow}> -> tensor<{count}x{wide}>\n"
    body += f"%b = graph.cast %y : tensor<{count}x{narrow}> -> tensor<{count}x{wide}>\n"
    body += f"%c = graph.{op} %a, %b : tensor<{count}x{wide}>\n"
    body += f"%r = graph.cast %c : tensor<{count}x{wide}> -> tensor<{count}x{narrow}>"
    return Rewrite(rule, (f"{count}x{narrow}", f"{count}x{narrow}"), body, f"{count}x{narrow}")


def product(narrow: str, wide: str, view: str = "") -> Rewrite:
    """Returns a product of a matrix that was cast, and of what `view` makes of it."""
    maps = "affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>"
    body = f"%a = graph.cast %x : tensor<4x5x{narrow}> -> tensor<4x5x{wide}>\n"
    body += view.format(wide=wide)
    left, shape = ("%v", "5x4") if view else ("%a", "4x5")
    body += f"%r = graph.contract {left}, %y maps [{maps}] "
    body += f": tensor<{shape}x{wide}>, tensor<{shape[-1]}x3x{wide}> -> tensor<{shape[0]}x3x{wide}>"
    return Rewrite(
        precision.MultiplyNarrow,
        (f"4x5x{narrow}", f"{shape[-1]}x3x{wide}"),
        body,
        f"{shape[0]}x3x{wide}",
    )


TURNED = "%v = graph.permute %a [1, 0] : tensor<4x5x{wide}>\n"


def products_of_narrow() -> Iterator[Rewrite]:
    for narrow, wide in (("i8", "i32"), ("ui8", "i32"), ("i8", "f32"), ("bf16", "f32"), ("f32", "f64")):
        yield product(narrow, wide)
        yield product(narrow, wide, TURNED)


def masked(op: str, left: str, right: str, shape: str = "5x6") -> Rewrite:
    """Returns a comparison of what is computed of %i and %j, the indices of the rows and columns."""
    t = f"tensor<{shape}xi64>"
    used = left + right
    body = "".join(
        f"%{name} = graph.iota axis {axis} : {t}\n" for axis, name in enumerate("ij") if name in used
    )
    body += f"%a = graph.{left} : {t}\n" if " " in left else ""
    body += f"%r = graph.{op} {'%a' if ' ' in left else '%' + left}, %{right} : {t}"
    return Rewrite(index_widths.CompareIndices, (f"{shape}xi64",), body, f"{shape}xi1")


def masks() -> Iterator[Rewrite]:
    for op in ("eq", "ne", "lt", "le", "gt", "ge"):
        yield masked(op, "i", "j")
    for text in ("sub %i, %j", "add %i, %j", "mul %i, %i", "max %i, %j", "min %i, %j", "neg %i"):
        yield masked("lt", text, "j")
    t = "tensor<5x6xi64>"
    body = f"%i = graph.iota axis 0 : {t}\n%c = graph.constant dense<-2147483648> : {t}\n"
    body += "%s = graph.sub %i, %i : tensor<5x6xi64>\n%b = graph.abs %s : tensor<5x6xi64>\n"
    yield Rewrite(index_widths.CompareIndices, (), f"{body}%r = graph.gt %b, %c : {t}", "5x6xi1")
    # Indices as views, and lengths of 32 bits and fewer.
    body = "%i = graph.iota axis 0 : tensor<7xi64>\n"
    body += "%a = graph.reshape %i : tensor<7xi64> -> tensor<7x1xi64>\n"
    body += "%b = graph.broadcast %a : tensor<7x1xi64> -> tensor<7x3xi64>\n"
    for type in ("i32", "i8", "ui16", "i1"):
        cast = f"%l = graph.cast %x : tensor<3x{type}> -> tensor<3xi64>\n"
        cast += "%m = graph.broadcast %l : tensor<3xi64> -> tensor<7x3xi64>\n"
        text = f"{body}{cast}%r = graph.le %b, %m : tensor<7x3xi64>"
        yield Rewrite(index_widths.CompareIndices, (f"3x{type}",), text, "7x3xi1")


def summed(narrow: str, wide: str, count: int, kind: str = "add", view: str = "") -> Rewrite:
    """Returns the sums of as many narrow integers, three of them side by side."""
    source = f"3x{count}"
    body = f"%a = graph.cast %x : tensor<{source}x{narrow}> -> tensor<{source}x{wide}>\n"
    if view:
        body += f"%v = graph.reshape %a : tensor<{source}x{wide}> -> tensor<{3 * count}x{wide}>\n"
        body += f"%r = graph.reduce {kind} %v axes [0] : tensor<{3 * count}x{wide}> -> tensor<{wide}>"
        return Rewrite(narrow_sums.SumNarrow, (f"{source}x{narrow}",), body, wide)
    body += f"%r = graph.reduce {kind} %a axes [1] keep : tensor<{source}x{wide}> -> tensor<3x1x{wide}>"
    return Rewrite(narrow_sums.SumNarrow, (f"{source}x{narrow}",), body, f"3x1x{wide}")


def sums_of_narrow() -> Iterator[Rewrite]:
    # The most that 16 bits hold, one more, and the most that 32 bits do.
    yield from (summed("i1", "i64", n) for n in (0, 1, 32_767, 32_768))
    yield from (summed("i8", "i64", n) for n in (255, 256, 257))
    yield from (summed("ui8", wide, 128) for wide in ("i64", "ui64", "i32"))
    yield from (summed("ui8", wide, 129) for wide in ("i64", "ui64"))
    yield from (summed("i16", "i64", n) for n in (1, 65_535))
    yield summed("i1", "i32", 100, view="reshape")
    yield summed("ui16", "i64", 30, view="reshape")


RULES = tuple(
    rule
    for rule in (*PATTERNS, *precision.PATTERNS, *index_widths.PATTERNS, *narrow_sums.PATTERNS)
    if rule not in (*fast_math.PATTERNS, *powers.PATTERNS, folding.FoldAxisIndex)
)
"""The rules that change no bit, but the one for programs of ranks (`canonicalize-graph-ranks.mlir`)."""


def of_control() -> Iterator[Rewrite]:
    t = "4xf32"
    for word in ("true", "false"):
        body = f"%c = graph.constant dense<{word}> : tensor<i1>\n"
        body += "%r = graph.if %c -> (tensor<4xf32>) {\n%e = graph.add %x, %y : tensor<4xf32>\n"
        body += "graph.yield %e : tensor<4xf32>\n} else {\ngraph.yield %y : tensor<4xf32>\n}"
        yield Rewrite(control.IfOfConstant, (t, t), body, t)
    body = "%r, %s = graph.if %z -> (tensor<4xf32>, tensor<4xf32>) {\n"
    body += "graph.yield %x, %y : tensor<4xf32>, tensor<4xf32>\n} else {\n"
    body += "graph.yield %y, %x : tensor<4xf32>, tensor<4xf32>\n}"
    yield Rewrite(control.DropUnusedOfIf, (t, t, "i1"), body, t)
    body = "%r = graph.while (%a = %x) : (tensor<4xf32>) {\n%no = graph.constant dense<false> : tensor<i1>\n"
    body += "graph.condition %no\n} do (%b) {\n%e = graph.add %b, %b : tensor<4xf32>\n"
    body += "graph.yield %e : tensor<4xf32>\n}"
    yield Rewrite(control.LoopWithoutIterations, (t,), body, t)
    body = "%r, %s = graph.scan %i = 0 (%a = %x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {\n"
    body += "%e = graph.add %a, %a : tensor<4xf32>\ngraph.yield %e, %e : tensor<4xf32>, tensor<4xf32>\n}"
    yield Rewrite(control.LoopWithoutIterations, (t,), body, t)
    body = "%r, %s = graph.scan %i = 5 (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) "
    body += "-> (tensor<4xf32>, tensor<4xf32>) {\n%e = graph.add %a, %a : tensor<4xf32>\n"
    body += "%f = graph.mul %b, %a : tensor<4xf32>\ngraph.yield %e, %f : tensor<4xf32>, tensor<4xf32>\n}"
    yield Rewrite(control.DropUnusedOfLoop, (t, t), body, t)
    body = "%r, %s = graph.scan %i = 3 (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) "
    body += "-> (tensor<4xf32>, tensor<4xf32>) {\n%e = graph.add %a, %b : tensor<4xf32>\n"
    body += "graph.yield %e, %b : tensor<4xf32>, tensor<4xf32>\n}"
    yield Rewrite(control.CarriedUnchanged, (t, t), body, t)


REWRITES = [
    *of_control(),
    *constants_gathered(),
    *compared_with_itself(),
    *of_ranges(),
    *of_signs(),
    *of_logic(),
    *composed_casts(),
    *pushed(),
    *narrowed(),
    *products_of_narrow(),
    *masks(),
    *sums_of_narrow(),
    *constants_to_the_right(),
    *neutral_operands(),
    *absorbed_integers(),
    *idempotent(),
    *cancelled(),
    *inverses(),
    *repeated(),
    *chosen(),
    *casts(),
    *bitcasts(),
    *of_views(),
    *unit_reductions(),
    *folded_rewrites(),
]


def test_every_rule_has_a_case():
    assert {rewrite.rule for rewrite in REWRITES} == set(RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_rule_fires_and_changes_no_bit(rule: type[RewritePattern]) -> None:
    for rewrite in REWRITES:
        if rewrite.rule is rule:
            check(rewrite)


KEPT = [
    # Sums that may be too large, that are no narrower, of other kinds, and of negative numbers without signs.
    summed("i16", "i64", 65_537),
    summed("i32", "i64", 5),
    summed("ui8", "i32", 129),
    summed("i8", "i16", 2),
    summed("i8", "i64", 5, kind="max"),
    summed("i8", "ui64", 5),
    summed("i8", "f32", 5),
    # What is loaded may be anything, and what is computed may not fit, be it on the way.
    masked("lt", "i", "x"),
    masked("lt", "add %i, %x", "j"),
    Rewrite(
        index_widths.CompareIndices,
        (),
        "%i = graph.iota axis 0 : tensor<5xi64>\n%c = graph.constant dense<2147483644> : tensor<5xi64>\n"
        "%a = graph.add %i, %c : tensor<5xi64>\n%r = graph.lt %i, %a : tensor<5xi64>",
        "5xi1",
    ),
    Rewrite(
        index_widths.CompareIndices,
        (),
        "%i = graph.iota axis 0 : tensor<5xi64>\n%c = graph.constant dense<2147483647> : tensor<5xi64>\n"
        "%a = graph.add %i, %c : tensor<5xi64>\n%b = graph.sub %a, %c : tensor<5xi64>\n"
        "%r = graph.eq %i, %b : tensor<5xi64>",
        "5xi1",
    ),
    # A loop's counter is what other passes look for.
    Rewrite(
        index_widths.CompareIndices,
        ("7xi1",),
        "%r = graph.scan %k = 4 (%s = %x) : (tensor<7xi1>) -> (tensor<7xi1>) {\n"
        "%i = graph.iota axis 0 : tensor<7xi64>\n%c = graph.broadcast %k : tensor<i64> -> tensor<7xi64>\n"
        "%m = graph.lt %i, %c : tensor<7xi64>\n%o = graph.xor %m, %s : tensor<7xi1>\n"
        "graph.yield %o : tensor<7xi1>\n}",
        "7xi1",
    ),
    # Nothing is computed of numbers alone, and other types have their own width.
    Rewrite(
        index_widths.CompareIndices,
        ("5xi32",),
        "%a = graph.cast %x : tensor<5xi32> -> tensor<5xi64>\n%r = graph.lt %a, %a : tensor<5xi64>",
        "5xi1",
    ),
    Rewrite(
        index_widths.CompareIndices,
        (),
        "%i = graph.iota axis 0 : tensor<5xui64>\n%r = graph.lt %i, %i : tensor<5xui64>",
        "5xi1",
    ),
    # No narrower than what is multiplied.
    product("i32", "f32"),
    product("f64", "f32", TURNED),
    counted("%k = graph.cast %i : tensor<i64> -> tensor<i64>", "i64", "lt", 4),
    counted("%k = graph.cast %i : tensor<i64> -> tensor<i64>", "i64", "ge", 1),
    # What may wrap, and what is not known.
    counted("%k = graph.cast %i : tensor<i64> -> tensor<i8>", "i8", "lt", 5),
    counted("%k = graph.add %i, %x : tensor<i64>", "i64", "lt", 5),
    Rewrite(
        control.CarriedUnchanged,
        ("4xf32", "4xf32"),
        "%r, %s = graph.scan %i = 3 (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) "
        "-> (tensor<4xf32>, tensor<4xf32>) {\n graph.yield %b, %a : tensor<4xf32>, tensor<4xf32>\n}",
        "4xf32",
    ),
    Rewrite(
        control.DropUnusedOfLoop,
        ("4xf32", "4xf32"),
        "%r, %s = graph.scan %i = 3 (%a = %x, %b = %y) : (tensor<4xf32>, tensor<4xf32>) "
        "-> (tensor<4xf32>, tensor<4xf32>) {\n graph.yield %b, %a : tensor<4xf32>, tensor<4xf32>\n}",
        "4xf32",
    ),
    Rewrite(
        views.DropEmptyPadWith,
        ("4xf32",),
        "%r = graph.pad_with edge %x low [0] high [1] : tensor<4xf32>",
        "5xf32",
    ),
    binary(identities.DropNeutralOperand, "max", "f32", -3.4e38),
    binary(identities.AbsorbIntegers, "max", "f32", float("inf")),
    binary(integers.SubtractByAdding, "sub", "f32", 3),
    on_itself(integers.CompareWithItself, "add", "i32"),
    Rewrite(integers.CompareWithItself, ("4xf32",), "%r = graph.eq %x, %x : tensor<4xf32>", "4xi1"),
    binary(signs.NegateByOp, "sub", "f32", 0.0, constant_first=True),
    binary(signs.NegateByOp, "div", "ui8", 255),
    binary(signs.MultiplyByReciprocal, "div", "f32", 3.0),
    binary(signs.MultiplyByReciprocal, "div", "f16", 2.0**15),
    binary(signs.MultiplyByReciprocal, "div", "f32", 0.0),
    binary(signs.MultiplyByReciprocal, "div", "i32", 4),
    Rewrite(
        signs.MergeNegation,
        ("4xi8", "4xi8"),
        "%a = graph.neg %x : tensor<4xi8>\n%b = graph.neg %y : tensor<4xi8>\n"
        "%r = graph.div %a, %b : tensor<4xi8>",
        "4xi8",
    ),
    Rewrite(
        integers.GatherConstants,
        ("4xf32",),
        "%c = graph.constant dense<1.0> : tensor<4xf32>\n%a = graph.add %x, %c : tensor<4xf32>\n"
        "%r = graph.add %a, %c : tensor<4xf32>",
        "4xf32",
    ),
    Rewrite(
        logic.NegateComparison,
        ("4xf32", "4xf32"),
        "%a = graph.lt %x, %y : tensor<4xf32>\n%r = graph.not %a : tensor<4xi1>",
        "4xi1",
    ),
    Rewrite(
        identities.ComposeCasts,
        ("4xi32",),
        "%a = graph.cast %x : tensor<4xi32> -> tensor<4xf64>\n"
        "%r = graph.cast %a : tensor<4xf64> -> tensor<4xi8>",
        "4xi8",
    ),
    Rewrite(
        pushing.ViewOperands,
        ("6x4xf32", "4x6xf32"),
        "%p = graph.permute %x [1, 0] : tensor<6x4xf32>\n%e = graph.add %p, %y : tensor<4x6xf32>\n"
        "%r = graph.permute %e [1, 0] : tensor<4x6xf32>",
        "6x4xf32",
    ),
    Rewrite(
        pushing.BroadcastLast,
        ("4x1xf32", "1x6xf32"),
        "%a = graph.broadcast %x : tensor<4x1xf32> -> tensor<4x6xf32>\n"
        "%b = graph.broadcast %y : tensor<1x6xf32> -> tensor<4x6xf32>\n"
        "%r = graph.add %a, %b : tensor<4x6xf32>",
        "4x6xf32",
    ),
    Rewrite(
        pushing.ComposeReduce,
        ("4x6xf16",),
        "%a = graph.reduce add %x axes [1] : tensor<4x6xf16> -> tensor<4xf16>\n"
        "%r = graph.reduce add %a axes [0] : tensor<4xf16> -> tensor<f16>",
        "f16",
    ),
    Rewrite(
        signs.MergeNegation,
        ("4xui8",),
        "%a = graph.neg %x : tensor<4xui8>\n%r = graph.abs %a : tensor<4xui8>",
        "4xui8",
    ),
    narrow_binary(precision.NarrowArithmetic, "div", "i8", "i32"),
    narrow_binary(precision.NarrowArithmetic, "pow", "f32", "f64"),
    narrow_binary(precision.NarrowArithmetic, "max", "ui8", "i8"),
    binary(identities.DropNeutralOperand, "add", "f32", 0.0),
    binary(identities.DropNeutralOperand, "sub", "f32", -0.0),
    binary(identities.DropNeutralOperand, "mul", "f32", -1.0),
    binary(identities.DropNeutralOperand, "mod", "i32", 1),
    binary(identities.DropNeutralOperand, "and", "ui8", 127),
    binary(identities.AbsorbIntegers, "mul", "f32", 0.0),
    on_itself(identities.CancelSelf, "sub", "f32"),
    on_itself(identities.DropIdempotent, "mul", "i32"),
    twice(identities.DropInverse, "abs", "f32"),
    twice(identities.DropRepeated, "neg", "f32"),
    Rewrite(
        folding.FoldSplat,
        (),
        "%c = graph.constant dense<1.0> : tensor<2xf32>\n%d = graph.constant dense<2.0> : tensor<2xf32>\n"
        "%r = graph.concat %c, %d axis 0 : tensor<2xf32>, tensor<2xf32> -> tensor<4xf32>",
        "4xf32",
    ),
    Rewrite(
        folding.FoldConstants,
        (),
        "%c = graph.constant dense<[1, 2]> : tensor<2xi8>\n"
        "%r = graph.broadcast %c : tensor<2xi8> -> tensor<1024x2xi8>",
        "1024x2xi8",
    ),
    Rewrite(
        views.ShareReduction,
        ("3x3xf32",),
        "%a = graph.reduce add %x axes [0] keep : tensor<3x3xf32> -> tensor<1x3xf32>\n"
        "%b = graph.reduce max %x axes [0] : tensor<3x3xf32> -> tensor<3xf32>\n"
        "%c = graph.reduce add %x axes [1] : tensor<3x3xf32> -> tensor<3xf32>\n"
        "%d = graph.reduce add %x axes [0] fastmath<reassoc> : tensor<3x3xf32> -> tensor<3xf32>\n"
        "%e = graph.add %b, %c : tensor<3xf32>\n"
        "%f = graph.add %d, %e : tensor<3xf32>\n"
        "%g = graph.broadcast %f : tensor<3xf32> -> tensor<1x3xf32>\n"
        "%r = graph.sub %a, %g : tensor<1x3xf32>",
        "1x3xf32",
    ),
    Rewrite(
        views.DropUnitReduce,
        ("2x1xf32",),
        "%r = graph.reduce add %x axes [0, 1] : tensor<2x1xf32> -> tensor<f32>",
        "f32",
    ),
    Rewrite(
        views.ComposeConcat,
        ("2x2xf32",),
        "%a = graph.concat %x, %x axis 0 : tensor<2x2xf32>, tensor<2x2xf32> -> tensor<4x2xf32>\n"
        "%r = graph.concat %a, %a axis 1 : tensor<4x2xf32>, tensor<4x2xf32> -> tensor<4x4xf32>",
        "4x4xf32",
    ),
    Rewrite(
        identities.DropCast,
        ("4xf32",),
        "%a = graph.cast %x : tensor<4xf32> -> tensor<4xf16>\n"
        "%r = graph.cast %a : tensor<4xf16> -> tensor<4xf32>",
        "4xf32",
    ),
]


@pytest.mark.parametrize("rewrite", KEPT, ids=str)
def test_what_would_change_a_bit_is_kept(rewrite: Rewrite) -> None:
    module = parsed(rewrite.text)
    before = str(module)
    rewrite_greedily(module, [rewrite.rule()])
    assert str(module) == before


SPANS = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 4))
"""An offset, a size and a stride."""


@settings(max_examples=200, deadline=None)
@given(extent=st.integers(0, 12), first=SPANS, second=SPANS)
def test_slice_of_a_slice_is_a_slice(
    extent: int, first: tuple[int, int, int], second: tuple[int, int, int]
) -> None:
    def within(span: tuple[int, int, int], whole: int) -> tuple[int, int, int]:
        offset = min(span[0], whole)
        most = -(-(whole - offset) // span[2])
        return offset, min(span[1], most), span[2]

    a, b = within(first, extent), within(second, within(first, extent)[1])
    body = f"%a = graph.slice %x offsets [{a[0]}] sizes [{a[1]}] strides [{a[2]}] : tensor<{extent}xi16>\n"
    body += f"%r = graph.slice %a offsets [{b[0]}] sizes [{b[1]}] strides [{b[2]}] : tensor<{a[1]}xi16>"
    after = check(Rewrite(views.ComposeSlice, (f"{extent}xi16",), body, f"{b[1]}xi16"))
    assert sum(op.name == "graph.slice" for op in after.walk()) <= 1


@settings(max_examples=100, deadline=None)
@given(first=st.permutations(range(4)), second=st.permutations(range(4)))
def test_permutation_of_a_permutation_is_a_permutation(first: list[int], second: list[int]) -> None:
    shape = [2, 3, 4, 5]
    between = [shape[axis] for axis in first]
    result = [between[axis] for axis in second]
    texts = ["x".join(map(str, each)) + "xi16" for each in (shape, between, result)]
    body = f"%a = graph.permute %x {first} : tensor<{texts[0]}>\n"
    body += f"%r = graph.permute %a {second} : tensor<{texts[1]}>"
    check(Rewrite(views.ComposePermute, (texts[0],), body, texts[2]))


def test_every_elementwise_op_folds_on_splats_of_edge_values():
    for op in GRAPH.operations:
        if not issubclass(op, ElementwiseOp) or op in (SelectOp, CastOp, BitcastOp, FmaOp):
            continue
        for name, type in BY_NAME.items():
            if type not in op.ELEMENTS.types or type in NARROW_FLOATS:
                continue
            count = 1 if "source" in [name for name, _ in op.get_irdl_definition().operands] else 2
            operands = ["%c", "%d"][:count]
            for first, second in ((0, 0), (-1, 2), (1, 0), (3, -1)):
                low = 0 if is_unsigned(type) else -99
                body = f"%c = graph.constant dense<{literal(name, max(first, low))}> : tensor<3x{name}>\n"
                body += f"%d = graph.constant dense<{literal(name, max(second, low))}> : tensor<3x{name}>\n"
                body += f"%r = {op.name} {', '.join(operands)} : tensor<3x{name}>"
                compares = issubclass(op, CompareOp | PredicateOp)
                check(Rewrite(folding.FoldSplat, (), body, f"3x{'i1' if compares else name}"))


@dataclass(frozen=True)
class FastRewrite:
    """A function of x on which a rule fires under some flags, and how far its result may move."""

    rule: type[RewritePattern]
    flags: str
    body: str
    relative: float

    def text(self, flags: str) -> str:
        body = self.body.replace("FLAGS", f"fastmath<{flags}>" if flags else "")
        numbers = {"c": 3.7, "d": 0.3, "zero": 0.0, "half": 0.5, "one": 1.0, "two": 2.0, "three": 3.0}
        numbers["minus"] = -1.0
        constants = "".join(
            f"%{name} = graph.constant dense<{number}> : tensor<8xf32>\n"
            for name, number in numbers.items()
            if f"%{name} " in body
        )
        return (
            f"func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {{\n{constants}{body}\n"
            "func.return %r : tensor<8xf32>\n}"
        )


def fast(rule: type[RewritePattern], flags: str, line: str, relative: float = 0.0) -> FastRewrite:
    return FastRewrite(
        rule, flags, "\n".join(f"{each} FLAGS : tensor<8xf32>" for each in line.split("; ")), relative
    )


FAST = [
    fast(fast_math.RegroupConstants, "reassoc", "%a = graph.add %x, %c; %r = graph.add %a, %d", 1e-6),
    fast(fast_math.RegroupConstants, "reassoc", "%a = graph.mul %x, %c; %r = graph.mul %a, %d", 1e-6),
    fast(fast_math.DropSignedZero, "nsz", "%r = graph.add %x, %zero"),
    fast(fast_math.AbsorbZero, "nnan,nsz", "%r = graph.mul %x, %zero"),
    fast(fast_math.AbsorbZero, "nnan", "%r = graph.sub %x, %x"),
    fast(fast_math.AbsorbZero, "nnan", "%r = graph.div %x, %x"),
    fast(fast_math.DivideByMultiplying, "arcp", "%r = graph.div %x, %c", 1e-6),
    fast(fast_math.PowerBySquareRoot, "afn,ninf,nsz", "%r = graph.pow %x, %half", 1e-6),
]


@pytest.mark.parametrize("rewrite", FAST, ids=lambda each: each.body.split("; ")[-1])
def test_fast_rule_needs_each_of_its_flags(rewrite: FastRewrite) -> None:
    flags = rewrite.flags.split(",")
    for kept in (*([f for f in flags if f != left] for left in flags), ["contract"]):
        module = parsed(rewrite.text(",".join(kept)))
        before = str(module)
        rewrite_greedily(module, [rewrite.rule()])
        assert str(module) == before, kept


@pytest.mark.parametrize("rewrite", FAST, ids=lambda each: each.body.split("; ")[-1])
def test_fast_rule_fires_and_stays_close_where_its_promise_holds(rewrite: FastRewrite) -> None:
    before = parsed(rewrite.text(rewrite.flags))
    after = before.clone()
    assert rewrite_greedily(after, [rewrite.rule()])
    verify_module(after)
    x = np.array([0.5, 1.0, 2.25, 1e-5, 300.0, 7.0, 1e8, 0.125], np.float32)
    for values in (x, -x) if "half" not in rewrite.body else (x,):
        (expected,), (actual,) = run_graph(before, "f", [values]), run_graph(after, "f", [values])
        np.testing.assert_allclose(actual, expected, rtol=rewrite.relative, atol=0)


def test_every_fast_rule_has_a_case():
    assert {rewrite.rule for rewrite in FAST} == set(fast_math.PATTERNS)


def power(type: str, exponent: float, flags: str = "") -> ModuleOp:
    return parsed(
        f"func.func @f(%x: tensor<4096x{type}>) -> tensor<4096x{type}> {{\n"
        f"%c = graph.constant dense<{exponent}> : tensor<4096x{type}>\n"
        f"%r = graph.pow %x, %c {flags} : tensor<4096x{type}>\n"
        f"func.return %r : tensor<4096x{type}>\n}}"
    )


@pytest.mark.parametrize("exponent", [1.0, 2.0, 3.0, -1.0, 0.5])
@pytest.mark.parametrize("type", ["f32", "f64"])
def test_powers_are_products_within_the_bound_of_pow(type: str, exponent: float) -> None:
    before = power(type, exponent)
    after = before.clone()
    assert rewrite_greedily(after, [powers.PowerByMultiplying()])
    verify_module(after)
    assert "graph.pow" not in str(after)
    rng = np.random.default_rng(0)
    dtype = np.dtype(f"float{type[1:]}")
    drawn = rng.normal(size=4096) * np.exp(rng.uniform(-200, 200, 4096))
    with np.errstate(over="ignore"):
        x = drawn.astype(dtype)
    x[:16] = edges(BY_NAME[type])[:16]
    (expected,), (actual,) = run_graph(before, "f", [x]), run_graph(after, "f", [x])
    np.testing.assert_array_equal(np.isfinite(actual), np.isfinite(expected))
    finite = np.isfinite(expected)
    near, wanted = actual[finite & (exponent != 1.0)], expected[finite & (exponent != 1.0)]
    assert (np.abs(near - wanted) <= 2.5 * np.spacing(np.abs(wanted))).all()
    if exponent == 1.0:
        np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_powers_of_narrow_floats_are_the_same_bits_or_stay(type: str) -> None:
    for exponent in (1.0, 2.0, -1.0, 0.5):
        before = power(type, exponent)
        after = before.clone()
        assert rewrite_greedily(after, [powers.PowerByMultiplying()])
        x = np.resize(edges(BY_NAME[type]), 65536).reshape(16, 4096)
        for row in x:
            assert_unchanged(before, after, [row], f"pow of {type} to {exponent}")
    assert not rewrite_greedily(power(type, 3.0), [powers.PowerByMultiplying()])
    assert rewrite_greedily(power(type, 3.0, "fastmath<afn>"), [powers.PowerByMultiplying()])


@pytest.mark.parametrize("exponent", [4.0, -2.0, 0.0])
def test_other_powers_stay(exponent: float) -> None:
    assert not rewrite_greedily(power("f32", exponent), [powers.PowerByMultiplying()])


def test_a_constant_subtracted_in_a_loop_is_added_once_and_for_all() -> None:
    text = """func.func @f(%a: tensor<i32>) -> tensor<i32> {
      %one = graph.constant dense<1> : tensor<i32>
      %zero = graph.constant dense<0> : tensor<i32>
      %n = graph.constant dense<3> : tensor<i32>
      %k, %x = graph.while (%i = %zero, %v = %a) : (tensor<i32>, tensor<i32>) {
        %more = graph.lt %i, %n : tensor<i32>
        graph.condition %more
      } do (%i_1, %v_1) {
        %w = graph.sub %v_1, %one : tensor<i32>
        %o = graph.constant dense<1> : tensor<i32>
        %j = graph.add %i_1, %o : tensor<i32>
        graph.yield %j, %w : tensor<i32>, tensor<i32>
      }
      func.return %x : tensor<i32>
    }"""
    module = parse_module(text)
    rewrite_greedily(module, [pattern() for pattern in PATTERNS])
    assert "graph.sub" not in str(module) and "dense<-1>" in str(module)
    (found,) = run_graph(module, "f", [np.array(10, np.int32)])
    assert found == 7

"""
Changes words of programs, and compiles and runs what comes out:

    python test/text_mutations.py --count 10000 [--seed 0] [--kinds graph stablehlo]
    python test/text_mutations.py --kinds graph --show 123

A program either runs, in all passes and on two backends alike, or ends in a `TenonError` that has a place or
names an op. All else is a failure, which is printed with the seed that makes it again: a crash, what takes
longer than some seconds or more memory than such a program has use for, and results of another shape or of
other values than the interpreter has.
"""

from __future__ import annotations

import math
import random
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import tenon
from tenon.compiler.foreign import as_graph_module
from tenon.dialects.graph import dims_of
from tenon.dialects.modules.entry import entries_of
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError
from tenon.passes.instruments.random_inputs import random_inputs
from tenon.test.mutations import ROOT, TooLongError, campaign_parser, limited_time, run_campaigns
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Block, Operation, Region, SSAValue

_CHECKED = ROOT / "test" / "filecheck" / "dialects" / "graph"

_OPS = ("ops", "control", "constants", "dims", "indexing", "winograd")

_TOKEN = re.compile(r'[A-Za-z_][\w.]*|%[\w#]+|\d+|"[^"]*"|\S')

_TYPE = re.compile(r"tensor<[^<>]*(?:<[^<>]*>)?>")

_OP = re.compile(r"\b(?:stablehlo|chlo|graph)\.[a-z][a-z0-9_]*")

_ELEMENT = re.compile(r"(?<=[<x])(?:s?u?i|b?f)\d+(?=[>,])")

_LOOP = re.compile(r"\b(?:stablehlo|graph)\.while\b")

_VALUE = re.compile(r"%[\w#]+")

_EXTENT = re.compile(r"(?<![\w%#])\d+(?=x|\b)|(?<=x)\d+(?=x)")

_ELEMENTS = (
    "f32",
    "f64",
    "f16",
    "bf16",
    "i1",
    "i8",
    "i32",
    "i64",
    "ui8",
    "ui32",
    "ui64",
    "i4",
    "index",
    "complex<f32>",
)

KINDS = ("stablehlo", "graph")

_NUMBERS = ("0", "1", "2", "3", "5", "-1", "100", "99999999999")

_MOST_RUN = 100_000
"""The greatest number in the text of a program that is run: others may rightly take long."""

_PLACED = re.compile(r"changed\.mlir:\d+:\d+|\b[a-z]\w*\.[a-z]\w+\b|argument|result|compile:")
"""What errors have that say where: a place, an op, or the argument of a call."""


@cache
def programs(kind: str) -> tuple[str, ...]:
    """Returns the programs of a kind that are changed, all of which run."""
    if kind == "stablehlo":
        return _chunks(Path(__file__).with_suffix(".mlir"))
    whole = [text for name in _OPS for text in _chunks(_CHECKED / f"{name}.mlir")]
    examples = [_plain(ROOT / "examples" / f"{name}.mlir") for name in ("softmax", "histogram")]
    return (*examples, *(one for text in whole for one in _single_ops(text)))


def _plain(path: Path) -> str:
    return re.sub(r"^\s*//(?! -----).*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _chunks(path: Path) -> tuple[str, ...]:
    return tuple(chunk.strip() + "\n" for chunk in _plain(path).split("// -----\n"))


def _single_ops(text: str) -> Iterator[str]:
    """Yields a program for each op of the functions of a text, which gives what the op does."""
    module = parse_module(text)
    others = [op for op in module.ops if not isinstance(op, func.FuncOp)]
    for function in module.ops:
        if not isinstance(function, func.FuncOp) or function.is_declaration:
            continue
        for op in function.body.block.ops:
            values = list(dict.fromkeys(_read(op)))
            if not op.results or not all(
                isinstance(each.type, TensorType) for each in (*values, *op.results)
            ):
                continue
            block = Block(arg_types=[each.type for each in values])
            for each, argument in zip(values, block.args, strict=True):
                argument.name_hint = each.name_hint
            copy = op.clone(dict(zip(values, block.args, strict=True)))
            block.add_ops((copy, func.ReturnOp(*copy.results)))
            types = ([each.type for each in values], [each.type for each in op.results])
            single = func.FuncOp("f", types, Region(block))
            yield str(ModuleOp([*(each.clone() for each in others), single])) + "\n"


def _read(op: Operation) -> Iterator[SSAValue]:
    """Yields the values that an op reads, or something in its regions, and that are not its own."""
    inside = set(op.walk())
    for part in inside:
        for each in part.operands:
            owner = each.owner
            around = owner.parent_op() if isinstance(owner, Block) else owner
            if around not in inside:
                yield each


@cache
def _found(kind: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
    return tuple(word for text in programs(kind) for word in pattern.findall(text))


def mutated(text: str, kind: str, draw: random.Random) -> str:
    """Returns a text with one to three changes: of types, extents, ops and values, or of any word."""
    for _ in range(draw.randint(1, 3)):
        match draw.randrange(8):
            case 0 | 1:
                text = _replaced(text, _EXTENT, (*_NUMBERS, *_found(kind, _EXTENT)), draw)
            case 2:
                text = _replaced(text, _TYPE, _found(kind, _TYPE), draw)
            case 3:
                text = _replaced(text, _ELEMENT, _ELEMENTS, draw)
            case 4:
                text = _replaced(text, _OP, _found(kind, _OP), draw)
            case 5:
                text = _replaced(text, _VALUE, tuple(_VALUE.findall(text)), draw)
            case 6:
                text = _replaced(text, _TOKEN, ("", *_found(kind, _TOKEN)), draw)
            case _:
                text = _replaced(text, _TOKEN, tuple('(){}[]<>,:=%#@"x0 -?i\n'), draw)
    return text


def _replaced(text: str, pattern: re.Pattern[str], news: tuple[str, ...], draw: random.Random) -> str:
    """Returns a text with one of the places that a pattern finds replaced, or all that are like it."""
    places = list(pattern.finditer(text))
    if not places:
        return text
    one, new = draw.choice(places), draw.choice(news)
    if draw.randrange(2):
        return text[: one.start()] + new + text[one.end() :]
    return pattern.sub(lambda each: new if each[0] == one[0] else each[0], text)


def changed_text(kind: str, seed: int) -> str:
    """Returns one of the programs of a kind with one to three changes."""
    draw = random.Random(seed)
    return mutated(draw.choice(programs(kind)), kind, draw)


def outcome(text: str) -> str:
    """
    Returns `runs`, `compiles` for what would take long to run, or `error` for one that a user may see.

    Raises:
        AssertionError: the error says no place, or a result is wrong.
    """
    try:
        with limited_time():
            return _run(text)
    except TooLongError:
        # A loop may go on for ever, as its text says.
        if not _LOOP.search(text):
            raise
        return "loops"
    except TenonError as error:
        assert _PLACED.search(str(error)), f"an error without a place: {error}"
        return "error"


def _run(text: str) -> str:
    module = parse_module(text, "changed.mlir")
    verify_module(module)
    graph = as_graph_module(module)
    verify_module(graph)
    is_small = all(int(number) <= _MOST_RUN for number in re.findall(r"\d+", text))
    what = "compiles"
    for entry in entries_of(graph):
        if not isinstance(entry, func.FuncOp) or entry.sym_visibility is not None:
            continue
        name = entry.sym_name.data
        with tenon.compile(graph, entry=name, filename="changed.mlir") as executable:
            _check_types(module, name, executable)
            if is_small and not executable.nodes:
                _compare(graph, entry, executable)
                what = "runs"
    return what


def _check_types(module: ModuleOp, name: str, executable: Any) -> None:
    """Asserts that results are declared as the text declares them, as far as it does."""
    function = next(each for each in entries_of(module) if each.sym_name.data == name)
    assert isinstance(function, func.FuncOp)
    declared = function.function_type.outputs.data
    assert len(declared) == len(executable.result_types), "another number of results"
    for wanted, found in zip(declared, executable.result_types, strict=True):
        shape = cast("TensorType[Any]", wanted).get_shape()
        extents = found.shape if found.extents is None else found.extents
        assert len(shape) == len(extents), f"a result of {found}, declared {wanted}"
        for extent, own in zip(shape, extents, strict=True):
            assert extent < 0 or own == extent, f"a result of {found}, declared {wanted}"


def _compare(graph: ModuleOp, entry: func.FuncOp, executable: Any) -> None:
    """Asserts that results are of their types, and of the values that the interpreter has."""
    inputs = random_inputs(entry.function_type, 0, dims_of(graph))
    if sum(each.size for each in inputs) > 1 << 24:
        return
    name = entry.sym_name.data
    with tenon.compile(graph, backend="reference", entry=name, filename="changed.mlir") as reference:
        try:
            wanted = _tuple(reference(*inputs))
        except TenonError as error:
            # What only the interpreter checks, an index out of bounds say, could do anything here.
            assert _PLACED.search(str(error)), f"an error without a place: {error}"
            return
    found = _tuple(executable(*inputs))
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert one.shape == other.shape, f"result {number} is of {one.shape}, expected {other.shape}"
        assert one.dtype == other.dtype, f"result {number} is of {one.dtype}, expected {other.dtype}"
        assert _is_near(one, other), f"result {number} is {one.ravel()[:8]}, expected {other.ravel()[:8]}"


def _tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def _is_near(one: Any, other: Any) -> bool:
    if one.dtype.kind in "biu":
        return bool(np.array_equal(one, other))
    x, y = one.astype(np.float64), other.astype(np.float64)
    finite = y[np.isfinite(y)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    digits = 1e-2 if one.dtype.itemsize < 4 else 1e-3
    return bool(
        np.allclose(x, y, rtol=digits, atol=digits * (scale if math.isfinite(scale) else 1.0), equal_nan=True)
    )


def main() -> int:
    parser = campaign_parser(__doc__, KINDS)
    parser.add_argument("--show", type=int, metavar="SEED", help="prints a changed program, and runs it")
    chosen = parser.parse_args()
    if chosen.show is not None:
        text = changed_text(chosen.kinds[0], chosen.show)
        print(text)
        print(_run(text))
        return 0
    return run_campaigns(chosen, __file__, lambda kind, seed: outcome(changed_text(kind, seed)))


if __name__ == "__main__":
    sys.exit(main())

"""
One function per element type with every op of `graph` that takes it, on values where arithmetic has edges.

`case_of` writes the function beside its inputs and what its results are called. Each elementwise op runs on
all pairs of edge values, as a vector that no number of lanes divides, and for one type of each kind on
tensors of one element, of none and of rank 0; each other op on tensors whose rows no number of lanes divides
either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tenon.dialects.element_types import ELEMENT_TYPES, is_float, ui8, ui32
from tenon.dialects.graph import (
    GRAPH,
    ArgReduceOp,
    ArgsortOp,
    BitcastOp,
    CastOp,
    Combination,
    CompareOp,
    ConstantOp,
    ContractOp,
    CumulateOp,
    DetachOp,
    DynamicSliceOp,
    DynamicUpdateOp,
    ElementwiseOp,
    FmaOp,
    GatherOp,
    IotaOp,
    LogsumexpOp,
    MaterializeOp,
    MovementOp,
    PadOp,
    PadWithOp,
    PredicateOp,
    ReduceKind,
    ReduceOp,
    ScatterKind,
    ScatterOp,
    SearchSortedOp,
    SelectOp,
    SortedSide,
    SortOp,
    ThreefryOp,
    UnaryOp,
    WinogradFilterTransformOp,
    WinogradInputTransformOp,
    WinogradOutputTransformOp,
)
from tenon.dialects.graph.contraction import REDUCE_ELEMENTS
from tenon.dialects.graph.types import BITS, NUMBERS
from tenon.semantics.numpy_types import dtype_of
from xdsl.dialects.builtin import f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute

Array = np.ndarray[Any, np.dtype[Any]]

FLOAT_EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.25, 0.1, 100.0, -1000.0)
FLOAT_EDGES += (np.inf, -np.inf, np.nan)
INTEGER_EDGES = (0, 1, -1, 2, -2, 3, -3, 7, -7, 10, 31, 32, 33, 63, 64, 100, -128)

TYPES_OF_EVERY_SHAPE = (f32, i32, ui8, i1)
"""One type of each kind: what a shape changes does not depend on how wide a type is."""


@dataclass(frozen=True)
class Result:
    """One result: its name, the op as text, its type, and how many terms were summed for an element."""

    name: str
    op: str
    type: str
    element_type: Attribute
    terms: int = 0


@dataclass
class Case:
    """The text of a function `main`, its inputs, and its results."""

    arguments: list[str] = field(default_factory=list)
    inputs: list[Array] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    ops: set[type[Any]] = field(default_factory=set)

    @property
    def text(self) -> str:
        names = ", ".join(f"%{result.name}" for result in self.results)
        types = ", ".join(result.type for result in self.results)
        body = "\n  ".join([*self.lines, f"func.return {names} : {types}"])
        return f"func.func @main({', '.join(self.arguments)}) -> ({types}) {{\n  {body}\n}}\n"


def tensor(shape: Sequence[int], type: Attribute) -> str:
    return f"tensor<{''.join(f'{extent}x' for extent in shape)}{type}>"


def edge_values(type: Attribute) -> Array:
    """Returns the values of an element type where its arithmetic has edges."""
    dtype = dtype_of(type)
    if dtype == np.bool_:
        return np.array([False, True])
    if is_float(type):
        bits = np.dtype(f"i{dtype.itemsize}")
        infinity = int(np.array(np.inf, dtype).view(bits))
        # the least and the two greatest magnitudes
        extreme = np.array([1, 2, infinity - 2, infinity - 1], bits).view(dtype)
        with np.errstate(all="ignore"):
            return np.concatenate([np.array(FLOAT_EDGES).astype(dtype), extreme, -extreme])
    info = np.iinfo(dtype)
    values = [v for v in INTEGER_EDGES if info.min <= v <= info.max]
    values += [info.min, info.min + 1, info.max, info.max - 1, info.max // 2 + 1]
    return np.array(list(dict.fromkeys(values)), dtype)


def edge_pairs(type: Attribute) -> tuple[Array, Array, Array]:
    """Returns three rows of edge values, with all pairs in the first two; their length is 19 modulo 32."""
    values = edge_values(type)
    first, second = np.repeat(values, len(values)), np.tile(values, len(values))
    third = np.roll(second, 1 + len(values) // 2)
    count = len(first) + (19 - len(first)) % 32
    return np.resize(first, count), np.resize(second, count), np.resize(third, count)


class _Writer:
    def __init__(self, type: Attribute):
        self.type = type
        self.case = Case()

    def input(self, array: Array, type: Attribute | None = None) -> str:
        name = f"in{len(self.case.inputs)}"
        self.case.arguments.append(f"%{name}: {tensor(array.shape, type or self.type)}")
        self.case.inputs.append(array)
        return f"%{name}"

    def result(
        self, op: type[Any], words: str, shape: Sequence[int], type: Attribute | None = None, terms: int = 0
    ) -> str:
        name = f"r{len(self.case.results)}"
        element_type = type or self.type
        self.case.lines.append(f"%{name} = {words}")
        self.case.results.append(Result(name, words, tensor(shape, element_type), element_type, terms))
        self.case.ops.add(op)
        return f"%{name}"


def case_of(type: Attribute) -> Case:
    """Returns the function of every op on `type`, with its inputs."""
    w = _Writer(type)
    x, y, z = edge_pairs(type)
    conditions = np.arange(len(x)) % 3 == 1
    shapes: list[Callable[[Array], Array]] = [
        lambda a: a,
        lambda a: a[:1],
        lambda a: a[:0].reshape(2, 0),
        lambda a: a[5].reshape(()) if a.size > 5 else a[0].reshape(()),
    ]
    for number, shape_as in enumerate(shapes if type in TYPES_OF_EVERY_SHAPE else shapes[:1]):
        operands = [w.input(shape_as(array)) for array in (x, y, z)]
        condition = w.input(shape_as(conditions), i1)
        _elementwise(w, operands, condition, shape_as(x).shape, every_cast=number == 0)
    _rows(w)
    return w.case


def _elementwise(
    w: _Writer, operands: list[str], condition: str, shape: tuple[int, ...], every_cast: bool
) -> None:
    x, y, z = operands
    text = tensor(shape, w.type)
    for op in GRAPH.operations:
        if not issubclass(op, ElementwiseOp) or w.type not in op.ELEMENTS.types:
            continue
        if op is CastOp:
            for to in ELEMENT_TYPES if every_cast else (f32,):
                w.result(op, f"graph.cast {x} : {text} -> {tensor(shape, to)}", shape, to)
        elif op is BitcastOp:
            for to in ELEMENT_TYPES:
                if to.bitwidth == w.type.bitwidth:
                    w.result(op, f"graph.bitcast {x} : {text} -> {tensor(shape, to)}", shape, to)
        elif op is SelectOp:
            w.result(op, f"graph.select {condition}, {x}, {y} : {text}", shape)
        elif op is FmaOp:
            w.result(op, f"graph.fma {x}, {y}, {z} : {text}", shape)
        elif issubclass(op, CompareOp):
            w.result(op, f"{op.name} {x}, {y} : {text}", shape, i1)
        elif issubclass(op, PredicateOp):
            w.result(op, f"{op.name} {x} : {text}", shape, i1)
        elif issubclass(op, UnaryOp):
            w.result(op, f"{op.name} {x} : {text}", shape)
        else:
            w.result(op, f"{op.name} {x}, {y} : {text}", shape)


def small_values(type: Attribute, shape: tuple[int, ...], seed: int) -> Array:
    """Returns small whole numbers, whose sums and products are exact in every order."""
    rng = np.random.default_rng(seed)
    low = 0 if dtype_of(type).kind in "bu" else -2
    return rng.integers(low, 3, shape).astype(dtype_of(type))


def _rows(w: _Writer) -> None:
    type = w.type
    matrix = w.input(small_values(type, (3, 19), 0))
    other = w.input(small_values(type, (19, 37), 1))
    empty = w.input(small_values(type, (3, 0), 2))
    scalar = w.input(small_values(type, (), 3))
    one = w.input(small_values(type, (1, 19), 4))
    edges = w.input(np.resize(edge_values(type), (3, 37)))
    text, empty_text = tensor((3, 19), type), tensor((3, 0), type)
    _movement(w, matrix, one, scalar, empty)
    _indexing(w, matrix)
    if type in (f32, f64):
        _winograd(w, matrix)
    for kind in ReduceKind:
        if type not in REDUCE_ELEMENTS[kind].types:
            continue
        start = f"graph.reduce {kind.value}"
        w.result(ReduceOp, f"{start} {matrix} axes [1] : {text} -> {tensor((3,), type)}", (3,))
        w.result(
            ReduceOp,
            f"{start} {other} axes [0] keep : {tensor((19, 37), type)} -> {tensor((1, 37), type)}",
            (1, 37),
        )
        w.result(ReduceOp, f"{start} {matrix} axes [0, 1] : {text} -> {tensor((), type)}", ())
        w.result(ReduceOp, f"{start} {empty} axes [1] : {empty_text} -> {tensor((3,), type)}", (3,))
        if kind in (ReduceKind.MAX, ReduceKind.MIN) or not is_float(type):
            w.result(
                ReduceOp, f"{start} {edges} axes [1] : {tensor((3, 37), type)} -> {tensor((3,), type)}", (3,)
            )
    for kind in ("max", "min"):
        start = f"graph.arg_reduce {kind}"
        w.result(ArgReduceOp, f"{start} {matrix} axis 1 : {text} -> {tensor((3,), i64)}", (3,), i64)
        rest = f"{tensor((3, 37), type)} -> {tensor((1, 37), i64)}"
        w.result(ArgReduceOp, f"{start} {edges} axis 0 keep : {rest}", (1, 37), i64)
    for to in ELEMENT_TYPES if type == i1 else (type, f32, i16):
        if to == i1:
            continue
        rest = f"{text}, {tensor((19, 37), type)} -> {tensor((3, 37), to)}"
        product = _maps("(m, k)", "(k, n)", "(m, n)")
        w.result(ContractOp, f"graph.contract {matrix}, {other} maps [{product}] : {rest}", (3, 37), to)
        rest = f"{empty_text}, {empty_text} -> {tensor((3, 3), to)}"
        product = _maps("(m, k)", "(n, k)", "(m, n)")
        w.result(ContractOp, f"graph.contract {empty}, {empty} maps [{product}] : {rest}", (3, 3), to)
    _contractions(w, edges)
    if is_float(type):
        rng = np.random.default_rng(5)
        a = w.input(rng.standard_normal((3, 83)).astype(dtype_of(type)))
        b = w.input(rng.standard_normal((83, 11)).astype(dtype_of(type)))
        wide = tensor((3, 83), type)
        w.result(ReduceOp, f"graph.reduce add {a} axes [1] : {wide} -> {tensor((3,), type)}", (3,), terms=83)
        words = f"graph.logsumexp {a} axes [1] : {wide} -> {tensor((3,), type)}"
        w.result(LogsumexpOp, words, (3,), terms=83)
        rest = f"{wide}, {tensor((83, 11), type)} -> {tensor((3, 11), type)}"
        product = _maps("(m, k)", "(k, n)", "(m, n)")
        w.result(ContractOp, f"graph.contract {a}, {b} maps [{product}] : {rest}", (3, 11), terms=83)


def _contractions(w: _Writer, edges: str) -> None:
    """Adds each combination of edge values, accumulated in each way that is the same in every order."""
    type = w.type
    operand, square = tensor((3, 37), type), tensor((3, 3), type)
    maps = _maps("(m, k)", "(n, k)", "(m, n)")
    for combine in Combination:
        is_bitwise = combine in (Combination.AND, Combination.OR, Combination.XOR)
        if type not in (BITS if is_bitwise else NUMBERS).types:
            continue
        for kind in ReduceKind:
            is_exact = kind in (ReduceKind.MAX, ReduceKind.MIN) or not is_float(type)
            if is_exact and type in REDUCE_ELEMENTS[kind].types:
                words = f"maps [{maps}] accumulate {kind.value} combine {combine.value}"
                text = f"graph.contract {edges}, {edges} {words} : {operand}, {operand} -> {square}"
                w.result(ContractOp, text, (3, 3))
    if type in NUMBERS.types:
        windows = "affine_map<(i, k) -> (i, k * 2 + 1)>, affine_map<(i, k) -> (i)>"
        words = f"{edges} maps [{windows}] bounds [3, 18] accumulate max"
        w.result(ContractOp, f"graph.contract {words} : {operand} -> {tensor((3,), type)}", (3,))


def _maps(*results: str) -> str:
    return ", ".join(f"affine_map<(m, n, k) -> {result}>" for result in results)


def _indexing(w: _Writer, matrix: str) -> None:
    """Adds what takes indices, and what orders or cumulates elements."""
    type = w.type
    text, row = tensor((3, 19), type), tensor((1, 4), type)
    places = w.input(np.array([2, -7, 0, 9, 2], np.int64), i64)
    columns = w.input(np.array([18, 3, 3, 3, 40], np.int16), i16)
    start = w.input(np.array(5, np.int64), i64)
    both = f"[{tensor((5,), i64)}, {tensor((5,), i16)}]"
    words = f"graph.gather {matrix}[{places}, {columns}] axes [0, 1] : {text}{both} -> {tensor((5,), type)}"
    updates = w.result(GatherOp, words, (5,))
    kinds = [kind.value for kind in ScatterKind if kind is ScatterKind.SET or type in NUMBERS.types]
    for kind in kinds:
        words = f"{matrix}[{places}, {columns}], {updates} axes [0, 1] : {text}{both}, {tensor((5,), type)}"
        w.result(ScatterOp, f"graph.scatter {kind} {words}", (3, 19))
    starts = f"[{start}, {start}]"
    types = f"{text}[{tensor((), i64)}, {tensor((), i64)}]"
    box = w.result(DynamicSliceOp, f"graph.dynamic_slice {matrix}{starts} sizes [1, 4] : {types}", (1, 4))
    w.result(DynamicUpdateOp, f"graph.dynamic_update {matrix}{starts}, {box} : {types}, {row}", (3, 19))
    for kind in kinds[1:]:
        for axis, words in ((0, ""), (1, " reverse"), (1, " exclusive")):
            w.result(CumulateOp, f"graph.cumulate {kind} {matrix} axis {axis}{words} : {text}", (3, 19))
    for axis, words in ((0, ""), (1, " descending")):
        w.result(SortOp, f"graph.sort {matrix} axis {axis}{words} : {text}", (3, 19))
        w.result(ArgsortOp, f"graph.argsort {matrix} axis {axis}{words} : {text}", (3, 19), i64)
    for side in SortedSide:
        words = f"graph.search_sorted {side.value} {updates}, {matrix} : {tensor((5,), type)}, {text}"
        w.result(SearchSortedOp, words, (3, 19), i64)
    if type == ui32:
        key = w.input(np.arange(4, dtype=np.uint32))
        counter = w.input(np.arange(44, dtype=np.uint32).reshape(4, 11))
        words = f"graph.threefry {key}, {counter} rounds 20 : {tensor((4,), type)}, {tensor((4, 11), type)}"
        w.result(ThreefryOp, words, (4, 11))
    for op in (DetachOp, MaterializeOp):
        w.result(op, f"{op.name} {matrix} : {text}", (3, 19))


def _winograd(w: _Writer, matrix: str) -> None:
    """Adds the sums of Winograd's convolutions: of tiles, of windows, and of products."""
    type = w.type
    tiles = w.input(small_values(type, (8, 19), 5))
    shapes = tensor((8, 19), type), tensor((4, 3, 19), type)
    words = f"graph.winograd_input_transform {tiles} axis 0 : {shapes[0]} -> {shapes[1]}"
    sums = w.result(WinogradInputTransformOp, words, (4, 3, 19))
    for axis, shape in ((0, (6, 19)), (1, (3, 38))):
        words = f"graph.winograd_output_transform {sums} axis {axis} : {shapes[1]} -> {tensor(shape, type)}"
        w.result(WinogradOutputTransformOp, words, shape)
    shapes = tensor((3, 19), type), tensor((4, 19), type)
    words = f"graph.winograd_filter_transform {matrix} axis 0 : {shapes[0]} -> {shapes[1]}"
    w.result(WinogradFilterTransformOp, words, (4, 19))


def _movement(w: _Writer, matrix: str, one: str, scalar: str, empty: str) -> None:
    type = w.type
    text = tensor((3, 19), type)
    forms: dict[str, tuple[str, tuple[int, ...]]] = {
        "reshape": (f"{matrix} : {text} -> {tensor((19, 3), type)}", (19, 3)),
        "permute": (f"{matrix} [1, 0] : {text}", (19, 3)),
        "broadcast": (f"{one} : {tensor((1, 19), type)} -> {tensor((2, 3, 19), type)}", (2, 3, 19)),
        "pad": (f"{matrix}, {scalar} low [1, 2] high [0, 5] : {text}", (4, 26)),
        "pad_with": (f"reflect {matrix} low [3, 1] high [0, 40] : {text}", (6, 60)),
        "slice": (f"{matrix} offsets [0, 1] sizes [2, 9] strides [2, 2] : {text}", (2, 9)),
        "flip": (f"{matrix} axes [0, 1] : {text}", (3, 19)),
        "concat": (
            f"{matrix}, {empty}, {matrix} axis 1 : {text}, {tensor((3, 0), type)}, {text} "
            f"-> {tensor((3, 38), type)}",
            (3, 38),
        ),
    }
    for op in GRAPH.operations:
        form = forms.get(op.name.removeprefix("graph."))
        if issubclass(op, MovementOp) and form is not None:
            words, shape = form
            w.result(op, f"{op.name} {words}", shape)
    w.result(PadOp, f"graph.pad {matrix}, {scalar} low [0, 2] high [1, 0] interior [1, 2] : {text}", (6, 57))
    for mode in ("edge", "symmetric", "wrap"):
        w.result(PadWithOp, f"graph.pad_with {mode} {matrix} low [4, 1] high [0, 21] : {text}", (7, 41))
    if type in NUMBERS.types:
        w.result(IotaOp, f"graph.iota axis 1 : {tensor((2, 300), type)}", (2, 300))
    numbers = ", ".join("true" if str(type) == "i1" else "1.5" if is_float(type) else "3" for _ in range(7))
    w.result(ConstantOp, f"graph.constant dense<[{numbers}]> : {tensor((7,), type)}", (7,))

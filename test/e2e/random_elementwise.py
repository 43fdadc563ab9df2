"""
Elementwise ops of random programs: what each is in plain numpy, and of which operands.

The types that an op takes and the number of its operands are its own; `test_op_rows.py` names an op that has
no row here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import erf, inf
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tenon.dialects import graph
from tenon.dialects.element_types import ui32
from tenon.dialects.graph.elementwise.elementwise import FlaggedOp
from xdsl.dialects.builtin import f32, i1, i32

Array = np.ndarray[Any, np.dtype[Any]]

TYPES = {"f32": np.float32, "i32": np.int32, "ui32": np.uint32, "i1": np.bool_}
INTEGERS = ("i32", "ui32")
ELEMENT_TYPES = {"f32": f32, "i32": i32, "ui32": ui32, "i1": i1}

ANYTHING = (-inf, inf)

Domain = tuple[float, float]


def magnitude(value: Any) -> float:
    """Returns the greatest magnitude of a value, NaN where there is one in it."""
    return float(np.abs(value.array.astype(np.float64)).max()) if value.array.size else 0.0


def is_bounded(value: Any) -> bool:
    return magnitude(value) < 2**10


@dataclass(frozen=True)
class Row:
    """What an op is in numpy, and which floats it gets: integers and booleans are all the same to it."""

    function: Callable[..., Array]
    most: float = inf
    """Operands of a greater magnitude would give sums or products that are rounded."""
    jumps: bool = False
    """Whether it magnifies errors: its operands are exact then."""
    rounds: bool = False
    """Whether its result is rounded."""
    domains: tuple[Domain, ...] = ()
    """Where it magnifies no errors, for each operand: what lies outside is moved to the limit first."""
    is_bits: bool = False
    """Whether its result is no small number: it goes on as an integer of its bits."""
    of_nan: bool = True
    """Whether what it makes of a NaN is said."""

    def takes(self, operands: Sequence[Any]) -> bool:
        if operands[0].type != "f32":
            return True
        if (self.jumps or self.is_bits) and not all(value.exact for value in operands):
            return False
        if not self.of_nan and any(np.isnan(magnitude(value)) for value in operands):
            return False
        if self.rounds and not all(map(is_bounded, operands)):
            return False
        return self.most == inf or all(magnitude(value) < self.most for value in operands)


def function_of_floats(function: Callable[..., Any], *domains: Domain, jumps: bool = False) -> Row:
    def in_f64(*operands: Array) -> Array:
        return np.asarray(function(*(operand.astype(np.float64) for operand in operands)))

    return Row(in_f64, rounds=True, domains=domains, jumps=jumps)


def by_element(function: Callable[[int, int, int], int]) -> Callable[[Array, Array], Array]:
    """Returns a function of integers and their width as one of arrays, whose results wrap."""

    def called(a: Array, b: Array) -> Array:
        width = a.dtype.itemsize * 8
        whole = [
            function(int(x), int(y), width) % 2**width for x, y in zip(a.ravel(), b.ravel(), strict=True)
        ]
        return np.array(whole, np.uint64).astype(f"u{a.dtype.itemsize}").view(a.dtype).reshape(a.shape)

    return called


def _power(base: int, exponent: int, width: int) -> int:
    if exponent >= 0:
        return pow(base, exponent, 2**width)
    return {1: 1, -1: 1 if exponent % 2 == 0 else -1}.get(base, 0)


def _pow(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.power(a.astype(np.float64), b.astype(np.float64))
    return by_element(_power)(a, b)


def _shl(x: int, amount: int, width: int) -> int:
    return x << amount if 0 <= amount < width else 0


def _shr(x: int, amount: int, width: int) -> int:
    return x >> (amount if 0 <= amount < width else width)


def _nibble(x: int, number: int, width: int) -> int:
    return ((x >> 4 * (number & 1)) + 8) % 16 - 8


def _over_nonzero(of_integers: Callable[..., Any], of_floats: Any) -> Callable[..., Array]:
    """Returns a division that is 0 for integers over 0."""

    def called(a: Array, b: Array) -> Array:
        if a.dtype.kind == "f":
            return of_floats(a, b)
        return np.where(b == 0, 0, of_integers(a, np.where(b == 0, 1, b))).astype(a.dtype)

    return called


def _max(a: Array, b: Array) -> Array:
    """The greater, of which numpy leaves open what it is of two zeros."""
    if a.dtype.kind != "f":
        return np.maximum(a, b)
    return np.where((a == 0) & (b == 0), a + b, np.maximum(a, b))


def _min(a: Array, b: Array) -> Array:
    return -_max(-a, -b) if a.dtype.kind == "f" else np.minimum(a, b)


def _next_after(a: Array, b: Array) -> Array:
    return np.where(a == b, b, np.nextafter(a, b))


ROWS: dict[type[graph.ElementwiseOp], Row] = {
    graph.NegOp: Row(np.negative),
    graph.AbsOp: Row(np.abs),
    graph.ReluOp: Row(lambda a: _max(a, np.zeros_like(a))),
    graph.NotOp: Row(np.invert),
    graph.SignOp: Row(np.sign, jumps=True),
    graph.FloorOp: Row(np.floor, jumps=True),
    graph.CeilOp: Row(np.ceil, jumps=True),
    graph.TruncOp: Row(np.trunc, jumps=True),
    graph.RoundOp: Row(np.rint, jumps=True),
    graph.ExpOp: function_of_floats(np.exp, (-inf, 0)),
    graph.Exp2Op: function_of_floats(np.exp2, (-inf, 0)),
    graph.Expm1Op: function_of_floats(np.expm1, (-inf, 0)),
    graph.LogOp: function_of_floats(np.log, (1, inf)),
    graph.Log2Op: function_of_floats(np.log2, (2, inf)),
    graph.Log10Op: function_of_floats(np.log10, (1, inf)),
    graph.Log1pOp: function_of_floats(np.log1p, (0, inf)),
    graph.SqrtOp: function_of_floats(np.sqrt, (1, inf)),
    graph.RsqrtOp: function_of_floats(lambda a: 1 / np.sqrt(a), (1, inf)),
    graph.RecipOp: function_of_floats(lambda a: 1 / a, (1, inf)),
    graph.TanhOp: function_of_floats(np.tanh),
    graph.ErfOp: function_of_floats(np.vectorize(erf, otypes=[np.float64])),
    graph.SinOp: function_of_floats(np.sin),
    graph.CosOp: function_of_floats(np.cos),
    graph.TanOp: function_of_floats(np.tan, (-0.5, 0.5)),
    graph.AsinOp: function_of_floats(np.arcsin, (-0.5, 0.5)),
    graph.AcosOp: function_of_floats(np.arccos, (-0.5, 0.5)),
    graph.AtanOp: function_of_floats(np.arctan),
    graph.SinhOp: function_of_floats(np.sinh, (-0.5, 0.5)),
    graph.CoshOp: function_of_floats(np.cosh, (-0.5, 0.5)),
    graph.AsinhOp: function_of_floats(np.arcsinh),
    graph.AcoshOp: function_of_floats(np.arccosh, (2, inf)),
    graph.AtanhOp: function_of_floats(np.arctanh, (-0.5, 0.5)),
    graph.AddOp: Row(np.add, most=2**22),
    graph.SubOp: Row(np.subtract, most=2**22),
    graph.MulOp: Row(np.multiply, most=2**10),
    graph.DivOp: Row(
        _over_nonzero(np.floor_divide, np.divide), jumps=True, rounds=True, domains=(ANYTHING, (1, inf))
    ),
    graph.ModOp: Row(_over_nonzero(np.remainder, np.remainder), jumps=True),
    graph.FloordivOp: Row(np.floor_divide, jumps=True),
    graph.TruncdivOp: Row(_over_nonzero(lambda a, b: np.trunc(a / b), None)),
    graph.RemOp: Row(_over_nonzero(np.fmod, np.fmod), jumps=True),
    graph.PowOp: Row(_pow, jumps=True, rounds=True, domains=((1, 8), (-3, 3))),
    graph.Atan2Op: function_of_floats(np.arctan2, jumps=True),
    graph.HypotOp: function_of_floats(np.hypot),
    graph.LogaddexpOp: function_of_floats(np.logaddexp),
    graph.CopysignOp: Row(np.copysign, jumps=True, of_nan=False),
    graph.NextafterOp: Row(_next_after, is_bits=True, of_nan=False),
    graph.MaxOp: Row(_max),
    graph.MinOp: Row(_min),
    graph.AndOp: Row(np.bitwise_and),
    graph.OrOp: Row(np.bitwise_or),
    graph.XorOp: Row(np.bitwise_xor),
    graph.ShlOp: Row(by_element(_shl)),
    graph.ShrOp: Row(by_element(_shr)),
    graph.NibbleOp: Row(by_element(_nibble)),
    graph.EqOp: Row(np.equal, jumps=True),
    graph.NeOp: Row(np.not_equal, jumps=True),
    graph.LtOp: Row(np.less, jumps=True),
    graph.LeOp: Row(np.less_equal, jumps=True),
    graph.GtOp: Row(np.greater, jumps=True),
    graph.GeOp: Row(np.greater_equal, jumps=True),
    graph.IsnanOp: Row(np.isnan, jumps=True),
    graph.IsinfOp: Row(np.isinf, jumps=True),
    graph.IsfiniteOp: Row(np.isfinite, jumps=True),
    graph.SignbitOp: Row(np.signbit, jumps=True, of_nan=False),
    graph.FmaOp: Row(lambda a, b, c: a * b + c, most=2**10),
}
"""What each op is whose operands have one type."""


def family_of(op: type[graph.ElementwiseOp]) -> tuple[int, bool]:
    """Returns how many operands an op of `ROWS` takes, and whether its result is of booleans."""
    if issubclass(op, graph.CompareOp):
        return 2, True
    if issubclass(op, graph.PredicateOp):
        return 1, True
    assert issubclass(op, FlaggedOp), f"{op.name}: operands of several types"
    return op.N_OPERANDS, False


FAMILIES: dict[tuple[int, bool], list[type[graph.ElementwiseOp]]] = {}
"""The ops of `ROWS`, by their families."""

for _op in sorted(ROWS, key=lambda op: op.name):
    FAMILIES.setdefault(family_of(_op), []).append(_op)


def types_of(op: type[graph.ElementwiseOp]) -> list[str]:
    """Returns which types of `TYPES` an op takes."""
    return [name for name, type in ELEMENT_TYPES.items() if type in op.ELEMENTS.types]


def _moved_into(w: Any, value: Any, domain: Domain) -> Any:
    """Adds what moves a value into a domain."""
    for name, function, limit, is_outside in (
        ("max", _max, domain[0], np.less),
        ("min", _min, domain[1], np.greater),
    ):
        if is_outside(value.array, limit).any():
            source, filled = value, np.full(value.array.shape, limit, np.float32)
            least = w.add("constant", filled, "f32", True, lambda v: f"dense<{float(limit)}> : {v.text}")  # noqa: B023
            words = f"%{source.name}, %{least.name} : {source.text}"
            value = w.add(
                name, function(source.array, filled), "f32", source.exact, lambda _, words=words: words
            )
    return value


def add_elementwise(w: Any, op: type[graph.ElementwiseOp], operands: Sequence[Any]) -> None:
    """Adds an op on operands that its row takes."""
    row, type = ROWS[op], operands[0].type
    if type == "f32" and row.domains:
        operands = [_moved_into(w, *each) for each in zip(operands, row.domains, strict=True)]
    with np.errstate(all="ignore"):
        array = row.function(*(value.array for value in operands))
    _, is_boolean = family_of(op)
    exact = all(value.exact for value in operands) and not (row.rounds and type == "f32")
    words = f"{', '.join(f'%{value.name}' for value in operands)} : {operands[0].text}"
    result = "i1" if is_boolean else type
    if not row.is_bits:
        w.add(op.name.removeprefix("graph."), array, result, exact, lambda _: words)
        return
    bits = w.hidden(f"{op.name} {words}")
    w.add(
        "bitcast",
        np.asarray(array, np.float32).view(np.int32),
        "i32",
        exact,
        lambda v: f"%{bits} : {operands[0].text} -> {v.text}",
    )


def _elementwise(w: Any, family: tuple[int, bool]) -> None:
    first = w.pick(lambda v: True)
    if first is None:
        return
    operands = [first]
    for _ in range(family[0] - 1):
        operands.append(w.pick(lambda v: v.type == first.type and v.array.shape == first.array.shape))
    fitting = [op for op in FAMILIES[family] if first.type in types_of(op) and ROWS[op].takes(operands)]
    rounding = [op for op in fitting if ROWS[op].rounds and first.type == "f32"]
    if rounding and w.draw(st.booleans()):
        fitting = rounding
    if fitting:
        add_elementwise(w, w.one_of(fitting), operands)


def _select(w: Any) -> None:
    condition = w.pick(lambda v: v.type == "i1")
    if condition is None:
        return
    on_true = w.pick(lambda v: v.array.shape == condition.array.shape)
    on_false = w.pick(lambda v: v.type == on_true.type and v.array.shape == on_true.array.shape)
    array = np.where(condition.array, on_true.array, on_false.array)
    w.add(
        "select",
        array,
        on_true.type,
        on_true.exact and on_false.exact,
        lambda v: f"%{condition.name}, %{on_true.name}, %{on_false.name} : {v.text}",
    )


def _cast(w: Any) -> None:
    value = w.pick(lambda v: v.exact and is_bounded(v))
    if value is None:
        return
    type = w.draw(st.sampled_from([t for t in TYPES if t != value.type]))
    array = value.array
    if type == "ui32" and value.type == "f32":
        array = np.maximum(array, 0)
    array = array != 0 if type == "i1" else array.astype(TYPES[type])
    w.add("cast", array, type, True, lambda v: f"%{value.name} : {value.text} -> {v.text}")


def _bitcast(w: Any) -> None:
    value = w.pick(lambda v: v.exact and v.type != "i1" and not np.isnan(v.array.astype(np.float64)).any())
    if value is None:
        return
    type = w.draw(st.sampled_from([t for t in INTEGERS if t != value.type]))
    array = value.array.view(TYPES[type])
    w.add("bitcast", array, type, True, lambda v: f"%{value.name} : {value.text} -> {v.text}")


OWN_STEPS: dict[type[graph.ElementwiseOp], Callable[[Any], None]] = {
    graph.SelectOp: _select,
    graph.CastOp: _cast,
    graph.BitcastOp: _bitcast,
}
"""The steps of ops whose operands or results have several types."""

STEPS = (*(partial(_elementwise, family=family) for family in FAMILIES), *OWN_STEPS.values())

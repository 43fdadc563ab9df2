"""
The ops of `graph` on traced arrays, at the user's line. Nothing is promoted or broadcast: operands must have
what the op asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.ir.affine import AffineMap
from xdsl.utils.exceptions import VerifyException

from ...dialects import graph
from ...dialects.dims.expressions import (
    DimAtom,
    DimSymbol,
    Extent,
    Greatest,
    Least,
    Quotient,
    Remainder,
    dim,
    parts_of,
    terms_of,
)
from ...errors import TenonError
from ...semantics.numpy_types import element_type_of_dtype
from .extents import check_divisors
from .source_lines import frame_text, user_location, with_excerpt
from .trace import Trace, TracedArray, current_trace


def _failed(error: Exception) -> TenonError:
    """Returns what a verifier says as an error at the user's line."""
    message = " ".join(str(error).split())
    return with_excerpt(TenonError(message, location=frame_text(user_location())))


def _check_elements(op: type[graph.ElementwiseOp], x: TracedArray) -> None:
    try:
        op.ELEMENTS.check(op.name, x.aval.type)
    except VerifyException as error:
        raise _failed(error) from None
    x.aval.fits.add(op)


def _check_same(op: type[graph.ElementwiseOp], x: TracedArray, y: TracedArray) -> None:
    if x.value.type != y.value.type:
        raise _failed(VerifyException(f"{op.name}: operands are {x.value.type} and {y.value.type}"))


def unary(op: type[graph.UnaryOp] | type[graph.PredicateOp], x: TracedArray) -> TracedArray:
    """Returns what an elementwise op of one operand gives."""
    x.check_usable()
    if op not in x.aval.fits:
        _check_elements(op, x)
    made = op(x.value)
    return x.trace.add(made, x.aval.weak, x.aval if made.results[0].type is x.value.type else None)


def binary(op: type[graph.BinaryOp] | type[graph.CompareOp], x: TracedArray, y: TracedArray) -> TracedArray:
    """Returns what an elementwise op of two operands gives, which must be of one type."""
    x.check_usable()
    y.check_usable()
    if x.value.type is not y.value.type:
        _check_same(op, x, y)
    if op not in x.aval.fits:
        _check_elements(op, x)
    made = op(x.value, y.value)
    same = made.results[0].type is x.value.type and x.aval.weak is y.aval.weak
    return x.trace.add(made, x.aval.weak and y.aval.weak, x.aval if same else None)


def built(build: Callable[[], Operation], x: TracedArray, weak: bool = False) -> TracedArray:
    """Adds an op of one result to the trace of `x`; what its verifier says is an error at the user's line."""
    x.check_usable()
    try:
        op = build()
    except VerifyException as error:
        raise _failed(error) from None
    return x.trace.add(op, weak)


# Names for those that functions of several ops are written with; `unary` and `binary` take every other.

add = partial(binary, graph.AddOp)
sub = partial(binary, graph.SubOp)
mul = partial(binary, graph.MulOp)
div = partial(binary, graph.DivOp)
mod = partial(binary, graph.ModOp)
pow = partial(binary, graph.PowOp)
max = partial(binary, graph.MaxOp)
min = partial(binary, graph.MinOp)
neg = partial(unary, graph.NegOp)
abs = partial(unary, graph.AbsOp)
exp = partial(unary, graph.ExpOp)
log = partial(unary, graph.LogOp)
sqrt = partial(unary, graph.SqrtOp)
sin = partial(unary, graph.SinOp)
cos = partial(unary, graph.CosOp)
recip = partial(unary, graph.RecipOp)
erf = partial(unary, graph.ErfOp)
floor = partial(unary, graph.FloorOp)
logaddexp = partial(binary, graph.LogaddexpOp)
and_ = partial(binary, graph.AndOp)
or_ = partial(binary, graph.OrOp)
xor = partial(binary, graph.XorOp)
shl = partial(binary, graph.ShlOp)
shr = partial(binary, graph.ShrOp)
not_ = partial(unary, graph.NotOp)
isnan = partial(unary, graph.IsnanOp)
isfinite = partial(unary, graph.IsfiniteOp)
eq = partial(binary, graph.EqOp)
ne = partial(binary, graph.NeOp)
lt = partial(binary, graph.LtOp)
le = partial(binary, graph.LeOp)
gt = partial(binary, graph.GtOp)
ge = partial(binary, graph.GeOp)


def constant(values: Any, dtype: np.dtype[Any] | None = None) -> TracedArray:
    """Returns a constant of the trace that is being written, outside of which there are none."""
    return the_trace("constant").constant(np.asarray(values, dtype))


def full(value: Any, dtype: np.dtype[Any], shape: Sequence[int]) -> TracedArray:
    """Returns an array whose elements are all `value`, which is stored once."""
    scalar = constant(value, dtype)
    return broadcast(scalar, shape) if len(shape) else scalar


def extent(count: Extent) -> TracedArray:
    """
    Returns an extent that is known at each call only as an integer of rank 0, which may be negative.

    Raises:
        TracingError: it divides by what may be 0.
    """
    check_divisors(count)
    total: TracedArray | None = None
    for monomial, factor in terms_of(count):
        is_one = factor == 1 and monomial
        term = None if is_one else the_trace("extent").constant(np.array(factor, np.int64), True)
        for atom in monomial:
            value = _extent_atom(atom)
            term = value if term is None else mul(term, value)
        assert term is not None, "a term of nothing"
        total = term if total is None else add(total, term)
    return the_trace("extent").constant(np.array(0, np.int64), True) if total is None else total


def _extent_atom(atom: DimAtom) -> TracedArray:
    """Returns a dim as the index behind its last one, and anything else as it is computed of those."""
    if isinstance(atom, DimSymbol):
        count: Any = dim(atom.name)
        # Kernels take what a view of indices holds from their index arithmetic: no loop, and no memory.
        behind = iota(0, np.dtype(np.int64), (count + 1,))
        value = reshape(slice(behind, (count,), (1,), (1,)), ())
        return value.trace.with_weakness(value, True)
    compute = {Quotient: div, Remainder: mod, Greatest: max, Least: min}[type(atom)]
    return compute(*[extent(part) for part in parts_of(atom)])


def iota(axis: int, dtype: np.dtype[Any], shape: Sequence[int]) -> TracedArray:
    """Returns the index along `axis` at each element."""
    type = graph.tensor_of(element_type_of_dtype(dtype), tuple(shape))
    return the_trace("iota").add(graph.IotaOp(axis, type))


def select(condition: TracedArray, on_true: TracedArray, on_false: TracedArray) -> TracedArray:
    condition.check_usable()
    on_false.check_usable()
    if on_true.value.type is not on_false.value.type:
        _check_same(graph.SelectOp, on_true, on_false)
    return built(
        lambda: graph.SelectOp(condition.value, on_true.value, on_false.value),
        on_true,
        on_true.weak and on_false.weak,
    )


def cast(x: TracedArray, dtype: np.dtype[Any], weak: bool = False) -> TracedArray:
    """
    Returns the elements in another dtype; `weak` says whether the result, like a Python scalar, gives way to
    the dtypes of other arrays. What is so already is returned itself.
    """
    if x.aval.dtype == dtype and x.aval.weak is weak:
        return x
    x.check_usable()
    if x.aval.dtype == dtype:
        return x.trace.with_weakness(x, weak)
    if x.aval.weak and not weak and (known := x.trace.scalar_cast(x, dtype)) is not None:
        return known
    return built(lambda: graph.CastOp(x.value, _type(dtype, x.shape)), x, weak)


def bitcast(x: TracedArray, dtype: np.dtype[Any]) -> TracedArray:
    """Returns the bits of the elements as another dtype, which is as wide."""
    return built(lambda: graph.BitcastOp(x.value, _type(dtype, x.shape)), x)


def reshape(x: TracedArray, shape: Sequence[int]) -> TracedArray:
    return built(lambda: graph.ReshapeOp(x.value, _type(x.dtype, shape)), x, x.weak)


def permute(x: TracedArray, permutation: Sequence[int]) -> TracedArray:
    return built(lambda: graph.PermuteOp(x.value, permutation), x, x.weak)


def broadcast(x: TracedArray, shape: Sequence[int]) -> TracedArray:
    """Returns `x` repeated to `shape` by numpy's rule; `x` itself where that is its shape."""
    shape = tuple(shape)
    if x.aval.shape == shape:
        return x
    return built(lambda: graph.BroadcastOp(x.value, _type(x.dtype, shape)), x, x.weak)


def pad(
    x: TracedArray,
    value: TracedArray,
    low: Sequence[int],
    high: Sequence[int],
    interior: Sequence[int] | None = None,
) -> TracedArray:
    """Returns `x` with so many elements `value` before, after and between its own, one of each per axis."""
    value.check_usable()
    return built(lambda: graph.PadOp(x.value, value.value, low, high, interior), x)


def pad_with(mode: str, x: TracedArray, low: Sequence[int], high: Sequence[int]) -> TracedArray:
    """Returns `x` with elements of its own around it: `mode` is edge, reflect, symmetric or wrap."""
    return built(lambda: graph.PadWithOp(graph.PadMode(mode), x.value, low, high), x)


def slice(
    x: TracedArray, offsets: Sequence[Extent], sizes: Sequence[Extent], strides: Sequence[int]
) -> TracedArray:
    return built(lambda: graph.SliceOp(x.value, offsets, sizes, strides), x, x.weak)


def flip(x: TracedArray, axes: Sequence[int]) -> TracedArray:
    return built(lambda: graph.FlipOp(x.value, axes), x, x.weak)


def concat(inputs: Sequence[TracedArray], axis: int) -> TracedArray:
    for x in inputs:
        x.check_usable()
    return built(lambda: graph.ConcatOp([x.value for x in inputs], axis), inputs[0])


def reduce(kind: str, x: TracedArray, axes: Sequence[int], keep: bool = False) -> TracedArray:
    """Combines along `axes`; `kind` is one of `graph.ReduceKind`: `add`, `mul`, `max`, `min`, `and`, `or`."""
    return built(lambda: graph.ReduceOp(graph.ReduceKind(kind), x.value, axes, keep), x)


def contract(
    inputs: Sequence[TracedArray],
    maps: Sequence[AffineMap],
    dtype: np.dtype[Any],
    shape: Sequence[int],
    *,
    bounds: Sequence[int] | None = None,
    accumulate: str = "add",
    combine: str = "mul",
) -> TracedArray:
    """
    Returns one or two arrays combined over an iteration space, as an array of `dtype` and `shape`: by default
    the sum of products. `bounds` are the extents of the space where the maps do not tell them.
    """
    for x in inputs:
        x.check_usable()
    return built(
        lambda: graph.ContractOp(
            [x.value for x in inputs],
            maps,
            _type(dtype, shape),
            bounds=bounds,
            accumulate=graph.ReduceKind(accumulate),
            combine=graph.Combination(combine),
        ),
        inputs[0],
    )


def arg_reduce(kind: str, x: TracedArray, axis: int, keep: bool = False) -> TracedArray:
    """Returns the index along `axis` of the first greatest (`max`) or least (`min`) element, in int64."""
    return built(lambda: graph.ArgReduceOp(graph.Extremum(kind), x.value, axis, keep), x)


def logsumexp(x: TracedArray, axes: Sequence[int], keep: bool = False) -> TracedArray:
    return built(lambda: graph.LogsumexpOp(x.value, axes, keep), x)


def cumulate(
    kind: str, x: TracedArray, axis: int, *, reverse: bool = False, exclusive: bool = False
) -> TracedArray:
    """Combines what is there so far along `axis`; `kind` is one of `add`, `mul`, `max`, `min`."""
    return built(lambda: graph.CumulateOp(graph.CumulateKind(kind), x.value, axis, reverse, exclusive), x)


def sort(x: TracedArray, axis: int, descending: bool = False) -> TracedArray:
    return built(lambda: graph.SortOp(x.value, axis, descending), x)


def argsort(x: TracedArray, axis: int, descending: bool = False) -> TracedArray:
    return built(lambda: graph.ArgsortOp(x.value, axis, descending), x)


def search_sorted(sorted: TracedArray, values: TracedArray, side: str) -> TracedArray:
    """Returns where each of `values` goes in `sorted`: on the `left` or the `right` of equal elements."""
    values.check_usable()
    return built(lambda: graph.SearchSortedOp(graph.SortedSide(side), sorted.value, values.value), sorted)


def gather(x: TracedArray, indices: Sequence[TracedArray], axes: Sequence[int]) -> TracedArray:
    """
    Returns what stands at `indices` of `axes`, moved into range: their shape, then the other dims of `x`.
    """
    for index in indices:
        index.check_usable()
    return built(lambda: graph.GatherOp(x.value, [index.value for index in indices], axes), x, x.weak)


def scatter(
    kind: str, x: TracedArray, indices: Sequence[TracedArray], updates: TracedArray, axes: Sequence[int]
) -> TracedArray:
    """
    Returns `x` with `updates` put at `indices` of `axes`; `kind` is one of `set`, `add`, `mul`, `max`, `min`.
    Indices out of range are dropped.
    """
    for each in (*indices, updates):
        each.check_usable()
    return built(
        lambda: graph.ScatterOp(
            graph.ScatterKind(kind), x.value, [index.value for index in indices], updates.value, axes
        ),
        x,
    )


def dynamic_slice(x: TracedArray, starts: Sequence[TracedArray], sizes: Sequence[int]) -> TracedArray:
    """Returns a box of `sizes` elements from `starts` on, which are moved so that it fits."""
    for start in starts:
        start.check_usable()
    return built(lambda: graph.DynamicSliceOp(x.value, [start.value for start in starts], sizes), x, x.weak)


def dynamic_update(
    x: TracedArray,
    starts: Sequence[TracedArray],
    update: TracedArray,
    strides: Sequence[int] | None = None,
) -> TracedArray:
    """
    Returns `x` with a box of it replaced from `starts` on, which are moved so that it fits: of every
    `strides[k]`th element along axis k.
    """
    for each in (*starts, update):
        each.check_usable()
    return built(
        lambda: graph.DynamicUpdateOp(x.value, [start.value for start in starts], update.value, strides), x
    )


def threefry(key: TracedArray, counter: TracedArray, rounds: int = 20) -> TracedArray:
    """Returns the random words of counters, whose words lie along axis 0, under a key of four words."""
    counter.check_usable()
    return built(lambda: graph.ThreefryOp(key.value, counter.value, rounds), key)


def the_trace(who: str) -> Trace:
    """Returns the trace that is being written, in which functions of arrays run."""
    trace = current_trace()
    assert trace is not None, f"{who}: outside of a trace"
    return trace


def _type(dtype: np.dtype[Any], shape: Sequence[int]) -> TensorType[Any]:
    return graph.tensor_of(element_type_of_dtype(dtype), tuple(shape))

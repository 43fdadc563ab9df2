"""Products: dot_general, dot and convolution as `graph.contract`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.contraction import contracted_with, dot, map_of_sums
from ...algorithms.emitter import Emitter
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent, quotient
from ...dialects.graph.types import check_axes
from ...dialects.stablehlo import chlo
from .conversion import Conversion, Rule
from .movement import padded_by_extents


def _dot_general(c: Conversion, op: stablehlo.DotGeneralOp) -> SSAValue:
    numbers = op.dot_dimension_numbers
    assert numbers is not None, "verified"
    x, y = c.operands(op)
    batch = (numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions"))
    contracted = (numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions"))
    return dot(c, x, y, batch, contracted, c.result_element(op))


def _dot(c: Conversion, op: Operation) -> SSAValue:
    x, y = c.operands(op)
    rank = len(c.shape(x))
    return dot(c, x, y, ((), ()), ((rank - 1,), (0,)), c.result_element(op))


def _ragged_dot(c: Conversion, op: chlo.RaggedDotOp) -> SSAValue:
    """
    Products of rows with the matrix of their group; or of groups of what is summed, one product each; or of
    groups of the batch, which all have their own. What is in no group is 0.
    """
    numbers = op.ragged_dot_dimension_numbers
    assert numbers is not None, "verified"
    x, y, sizes = c.operands(op)
    batch = (numbers.dims("lhs_batching_dimensions"), numbers.dims("rhs_batching_dimensions"))
    contracted = (numbers.dims("lhs_contracting_dimensions"), numbers.dims("rhs_contracting_dimensions"))
    ragged, groups = numbers.dims("lhs_ragged_dimensions"), numbers.dims("rhs_group_dimensions")
    check_axes(op.name, (*batch[0], *contracted[0]), c.type(x), "operand")
    check_axes(op.name, ragged, c.type(x), "operand")
    rows = [axis for axis in range(len(c.shape(x))) if axis not in (*batch[0], *contracted[0])]
    if len(ragged) != 1 or len(groups) != (ragged[0] in rows):
        raise VerifyException(
            f"{op.name}: {len(ragged)} ragged dims and {len(groups)} dims of groups, expected one of the "
            "first, and of the second where rows are ragged"
        )
    (axis,) = ragged
    kind = next(dims for dims in (rows, contracted[0], batch[0]) if axis in dims)
    before = [*(batch[0] if kind is not batch[0] else ()), *kind[: kind.index(axis)]]
    parts = _in_groups(c, x, sizes, axis, before)
    element = c.result_element(op)
    if kind is batch[0]:
        whole = c.reduce(graph.ReduceKind.ADD, parts, [0])
        return dot(c, whole, y, batch, contracted, element)
    shifted = tuple(each + 1 for each in batch[0]), batch[1]
    summed = tuple(each + 1 for each in contracted[0])
    if kind is rows:
        return dot(c, parts, y, shifted, ((0, *summed), (*groups, *contracted[1])), element)
    found = dot(c, parts, y, shifted, (summed, contracted[1]), element)
    n = len(batch[0])
    return c.permute(found, [n, *range(n), *range(n + 1, len(c.shape(found)))])


def _in_groups(c: Conversion, x: SSAValue, sizes: SSAValue, axis: int, before: Sequence[int]) -> SSAValue:
    """
    Returns for each group, along a new first axis, `x` with 0 in the places along an axis that are in no
    group or in another one. `sizes` are of groups one after the other, along the last axis, and may be others
    for each place along the axes `before`.
    """
    known = c.shape(sizes)
    outer = tuple(c.shape(x)[each] for each in before)
    if known[:-1] not in ((), outer) or not known:
        raise VerifyException(f"{c.who}: sizes of groups are {c.type(sizes)}")
    sizes, n = c.cast(sizes, i64), len(known) - 1
    pairs = (*known, known[-1])
    is_before = c.binary(graph.LeOp, c.iota(n + 1, i64, pairs), c.iota(n, i64, pairs))
    repeated = c.along(sizes, [*range(n), n + 1], pairs)
    ends = c.reduce(graph.ReduceKind.ADD, c.select(is_before, repeated, c.like(0, repeated)), [n + 1])
    shape = (known[-1], *c.shape(x))
    dims = [*(each + 1 for each in before[:n]), 0]
    places = c.iota(axis + 1, i64, shape)
    is_inside = c.binary(graph.LtOp, places, c.along(ends, dims, shape))
    begins = c.binary(graph.SubOp, ends, sizes)
    is_inside = c.binary(graph.AndOp, is_inside, c.binary(graph.GeOp, places, c.along(begins, dims, shape)))
    repeated = c.along(x, range(1, len(shape)), shape)
    return c.select(is_inside, repeated, c.like(0, repeated))


def _convolution(c: Conversion, op: stablehlo.ConvolutionOp) -> SSAValue:
    return convolution(c, op, _window(op, "padding", 2 * (len(c.shape(c.operand(op, 0))) - 2), 0))


def convolution(
    c: Conversion, op: stablehlo.ConvolutionOp | stablehlo.DynamicConvOp, padding: Sequence[Extent]
) -> SSAValue:
    """Returns sums of products of windows, of what so much is put around."""
    assert op.dimension_numbers is not None, "verified"
    lhs_dims, rhs_dims, result_dims = op.dimension_numbers.data
    x, kernel = c.operands(op)[:2]
    n = len(lhs_dims) - 2
    spatial = [str(k) for k in range(n)]
    if len(c.shape(x)) != n + 2 or len(c.shape(kernel)) != n + 2:
        raise VerifyException(f"{op.name}: operands of {n + 2} axes expected")
    if len(padding) != 2 * n:
        raise VerifyException(f"{op.name}: padding has {len(padding)} numbers, expected {2 * n}")
    strides = _window(op, "window_strides", n, 1)
    lhs_dilation, rhs_dilation = _window(op, "lhs_dilation", n, 1), _window(op, "rhs_dilation", n, 1)
    reversal = _window(op, "window_reversal", n, 0)
    if flipped := [rhs_dims.index(name) for name, back in zip(spatial, reversal, strict=True) if back]:
        kernel = c.add(graph.FlipOp(kernel, flipped))
    low: list[Extent] = [0] * (n + 2)
    high, interior = list(low), [0] * (n + 2)
    for k, name in enumerate(spatial):
        axis = lhs_dims.index(name)
        low[axis], high[axis], interior[axis] = padding[2 * k], padding[2 * k + 1], lhs_dilation[k] - 1
    x = padded_by_extents(c, x, c.scalar(0, c.element(x)), low, high, interior)
    groups = op.number("feature_group_count", 1), op.number("batch_group_count", 1)
    if min(groups) < 1 or min(*strides, 1) < 1 or min(*rhs_dilation, *lhs_dilation, 1) < 1:
        raise VerifyException(f"{op.name}: strides, dilations and counts of groups are 1 or more")
    x_names, kernel_names = list(lhs_dims), list(rhs_dims)
    if groups[0] * groups[1] > 1:
        # The groups become an axis of their own in front of what they divide.
        grouped = "f" if groups[0] > 1 else "b"
        count = max(groups)
        x, x_names = _split(c, x, x_names, grouped, count)
        kernel, kernel_names = _split(c, kernel, kernel_names, "o", count)
    sizes = dict(zip(x_names, c.shape(x), strict=True))
    k_sizes = dict(zip(kernel_names, c.shape(kernel), strict=True))
    if sizes["f"] != k_sizes["i"]:
        raise VerifyException(
            f"{op.name}: {sizes['f']} features in a group, but the kernel takes {k_sizes['i']}"
        )
    out = [
        _outputs(c, sizes[name], k_sizes[name], strides[k], rhs_dilation[k]) for k, name in enumerate(spatial)
    ]
    order = [*(["g"] if "g" in sizes else []), "b", "o", *(f"y{k}" for k in range(n))]
    order += ["i", *(f"w{k}" for k in range(n))]
    place = {name: number for number, name in enumerate(order)}
    extents: dict[str, Extent] = {"b": sizes["b"], "o": k_sizes["o"], "i": k_sizes["i"]}
    if "g" in sizes:
        extents["g"] = sizes["g"]
    for k, name in enumerate(spatial):
        extents[f"y{k}"], extents[f"w{k}"] = out[k], k_sizes[name]

    def x_index(name: str) -> list[tuple[int, int]]:
        if name in spatial:
            k = int(name)
            return [(place[f"y{k}"], strides[k]), (place[f"w{k}"], rhs_dilation[k])]
        return [(place["i" if name == "f" else name], 1)]

    def kernel_index(name: str) -> list[tuple[int, int]]:
        return [(place[f"w{name}" if name in spatial else name], 1)]

    result_names: list[str] = []
    for name in result_dims:
        result_names += [*(["g"] if "g" in sizes else []), "o"] if name == "f" else [name]
    placed = [f"y{name}" if name in spatial else name for name in result_names]
    maps = [
        map_of_sums(len(order), [x_index(name) for name in x_names]),
        map_of_sums(len(order), [kernel_index(name) for name in kernel_names]),
        map_of_sums(len(order), [[(place[name], 1)] for name in placed]),
    ]
    shape = [extents[name] for name in placed]
    bounds = [extents[name] for name in order]
    y = contracted_with(c, (x, kernel), maps, c.result_element(op), shape, bounds)
    if "g" not in sizes:
        return y
    joined: list[Extent] = []
    for name in result_dims:
        wanted = f"y{name}" if name in spatial else name
        joined.append(extents["g"] * extents["o"] if name == "f" else extents[wanted])
    return c.reshape(y, joined)


def _window(op: stablehlo.StablehloOp, name: str, count: int, default: int) -> tuple[int, ...]:
    values = op.ints(name)
    if values is None:
        return (default,) * count
    if len(values) == 1 and count != 1:
        values *= count
    if len(values) != count:
        raise VerifyException(f"{op.name}: {name} has {len(values)} numbers, expected {count}")
    return values


def _outputs(c: Conversion, size: Extent, window: Extent, stride: int, dilation: int) -> Extent:
    """Returns how many windows there are."""
    return n_windows(c, size, (window - 1) * dilation + 1 if window != 0 else 0, stride)


def n_windows(c: Conversion, size: Extent, reach: Extent, stride: int) -> Extent:
    """Returns how many windows that reach so far lie in so many elements."""
    return c.at_least_zero(quotient(size - reach, stride) + 1)


def _split(c: Emitter, x: SSAValue, names: list[str], name: str, count: int) -> tuple[SSAValue, list[str]]:
    """Returns `x` with the axis `name` as one of groups and one of what is in a group."""
    axis, shape = names.index(name), list(c.shape(x))
    size = shape[axis]
    if not isinstance(size, int) or size % count:
        raise VerifyException(f"{c.who}: {size} of {name} cannot be divided by {count} groups")
    shape[axis : axis + 1] = [count, size // count]
    return c.reshape(x, shape), [*names[:axis], "g", *names[axis:]]


RULES: dict[type[Operation], Rule] = {
    chlo.RaggedDotOp: _ragged_dot,
    stablehlo.ConvolutionOp: _convolution,
    stablehlo.DotGeneralOp: _dot_general,
    stablehlo.DotOp: _dot,
}

"""Products: dot_general, dot and convolution as `graph.contract`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.utils.exceptions import VerifyException

from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent, quotient
from ...dialects.graph import tensor_of
from ...dialects.graph.types import check_axes
from .conversion import Conversion, Rule
from .emitter import Emitter
from .movement import padded


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


def dot(
    c: Emitter,
    x: SSAValue,
    y: SSAValue,
    batch: tuple[Sequence[int], Sequence[int]],
    contracted: tuple[Sequence[int], Sequence[int]],
    element: Attribute,
) -> SSAValue:
    """Returns sums of products: batches first, then what is left of `x` and of `y`."""
    for pairs, what in ((batch, "batching"), (contracted, "contracting")):
        if len(pairs[0]) != len(pairs[1]):
            raise VerifyException(f"{c.who}: {what} dims are {list(pairs[0])} and {list(pairs[1])}")
    for value, dims in zip((x, y), ((*batch[0], *contracted[0]), (*batch[1], *contracted[1])), strict=True):
        check_axes(c.who, dims, c.type(value), "operand")
    n_batch, shapes = len(batch[0]), (c.shape(x), c.shape(y))
    free = [
        [axis for axis in range(len(shape)) if axis not in (*batch[side], *contracted[side])]
        for side, shape in enumerate(shapes)
    ]
    n_free = len(free[0]) + len(free[1])
    total = n_batch + n_free + len(contracted[0])
    maps: list[AffineMap] = []
    for side, begin in ((0, n_batch), (1, n_batch + len(free[0]))):
        place = dict(zip(batch[side], range(n_batch), strict=True))
        place |= {axis: begin + k for k, axis in enumerate(free[side])}
        place |= {axis: n_batch + n_free + k for k, axis in enumerate(contracted[side])}
        maps.append(_map(total, [[(place[axis], 1)] for axis in range(len(shapes[side]))]))
    shape = [shapes[0][axis] for axis in (*batch[0], *free[0])] + [shapes[1][axis] for axis in free[1]]
    maps.append(_map(total, [[(k, 1)] for k in range(n_batch + n_free)]))
    return _contract(c, (x, y), maps, element, shape)


def _contract(
    c: Emitter,
    inputs: Sequence[SSAValue],
    maps: Sequence[AffineMap],
    element: Attribute,
    shape: Sequence[Extent],
    bounds: Sequence[Extent] | None = None,
) -> SSAValue:
    # Products of booleans are conjunctions, and their sum tells whether one holds.
    counted = i32 if element == i1 else element
    values = [c.cast(value, i32) if c.element(value) == i1 else value for value in inputs]
    type = tensor_of(counted, tuple(shape))
    return c.cast(c.add(graph.ContractOp(values, maps, type, bounds=bounds)), element)


def _map(n_dims: int, indices: Sequence[Sequence[tuple[int, int]]]) -> AffineMap:
    """Returns the map of sums of dims, each with its factor."""
    results: list[AffineExpr] = []
    for terms in indices:
        total: AffineExpr | None = None
        for dim, factor in terms:
            term = AffineExpr.dimension(dim) if factor == 1 else AffineExpr.dimension(dim) * factor
            total = term if total is None else total + term
        results.append(AffineExpr.constant(0) if total is None else total)
    return AffineMap(n_dims, 0, tuple(results))


def _convolution(c: Conversion, op: stablehlo.ConvolutionOp) -> SSAValue:
    return convolution(c, op, _window(op, "padding", 2 * (len(c.shape(c.operand(op, 0))) - 2), 0))


def convolution(
    c: Conversion, op: stablehlo.ConvolutionOp | stablehlo.DynamicConvOp, padding: Sequence[int]
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
    low, high, interior = [0] * (n + 2), [0] * (n + 2), [0] * (n + 2)
    for k, name in enumerate(spatial):
        axis = lhs_dims.index(name)
        low[axis], high[axis], interior[axis] = padding[2 * k], padding[2 * k + 1], lhs_dilation[k] - 1
    x = padded(c, x, c.scalar(0, c.element(x)), low, high, interior)
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
        _map(len(order), [x_index(name) for name in x_names]),
        _map(len(order), [kernel_index(name) for name in kernel_names]),
        _map(len(order), [[(place[name], 1)] for name in placed]),
    ]
    shape = [extents[name] for name in placed]
    bounds = [extents[name] for name in order]
    y = _contract(c, (x, kernel), maps, c.result_element(op), shape, bounds)
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
    stablehlo.ConvolutionOp: _convolution,
    stablehlo.DotGeneralOp: _dot_general,
    stablehlo.DotOp: _dot,
}

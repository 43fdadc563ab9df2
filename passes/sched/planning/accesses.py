"""
The uses of the values of a function: the kernels, their axes, and each use as an index within loops.

A use of a result is an `Access`. The indices of the operands follow from it, for reductions and contractions
over new axes for the dims that they fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ....dialects import graph
from ....dialects.dims.expressions import Extent, product, upper_bound
from ....dialects.graph import LinearIndex, iteration_extents
from ...indices.access import Indices, shape_of, with_bounds
from ...indices.expressions import Axis, IndexExpr, constant, variable


@dataclass(slots=True)
class Access:
    """One use of a value: at `indices`, inside of `loops` (outermost first)."""

    kernel: Kernel
    indices: Indices
    loops: tuple[Axis, ...]

    def dependences(self) -> dict[Axis, None]:
        """The axes that the indices depend on."""
        return {axis: None for index in self.indices for axis in index.axes()}


AccessStrides = tuple[dict[Axis, Extent | None], int, int]
"""How far apart neighbours along each axis are, the bytes of an element, and of all elements."""

Strides = dict[tuple[SSAValue, Indices], AccessStrides]


@dataclass(eq=False)
class Kernel:
    """The kernel that computes the materialized value of `root`."""

    root: Operation
    axes: tuple[Axis, ...]
    stored: Indices
    """Where the root's value is stored."""
    prefixes: list[frozenset[Axis]] = field(default_factory=list)
    """Sets of root axes that must each be outermost, smallest first."""
    members: dict[Operation, list[Access]] = field(default_factory=dict)
    """The ops computed here, the root first and every op after those that read it, and where."""
    stage_axes: dict[Operation, tuple[Axis, ...]] = field(default_factory=dict)
    """The axes that a reduction or contraction folds."""
    local_dims: dict[Operation, tuple[int, ...]] = field(default_factory=dict)
    """The dims of a value that its local buffer has."""
    fill_axes: dict[Operation, tuple[Axis, ...]] = field(default_factory=dict)
    """The axes that a local buffer is filled over, one for each of its dims."""
    local_nbytes: int = 0
    """Bytes of all local buffers."""
    reads: dict[SSAValue, list[Access]] = field(default_factory=dict["SSAValue", "list[Access]"])
    """The values that are loaded here, as far as is known, and where."""
    in_result: Operation | None = None
    """The op whose local buffer is the root's own, row by row, until the root's elements are stored there."""
    strides: Strides = field(default_factory=dict["tuple[SSAValue, Indices]", "AccessStrides"])
    """What estimates found of accesses, which does not change."""
    operands: dict[tuple[SSAValue, Indices], tuple[tuple[SSAValue, Indices], ...]] = field(
        default_factory=dict["tuple[SSAValue, Indices]", "tuple[tuple[SSAValue, Indices], ...]"]
    )
    """What was found of elements on the way to the products that they are made of, likewise."""

    @property
    def all_stored(self) -> list[Indices]:
        """Where an iteration stores elements of the root's value: several where axes of it are unrolled."""
        return [self.stored, *(access.indices for access in self.members[self.root][1:])]

    def ordered_axes(self) -> tuple[Axis, ...]:
        """The root's axes, outermost first: those of each prefix before the others, else in dim order."""
        last = len(self.prefixes)
        return tuple(
            sorted(
                self.axes, key=lambda axis: next((n for n, p in enumerate(self.prefixes) if axis in p), last)
            )
        )

    def accepts_prefix(self, axes: frozenset[Axis]) -> bool:
        """Returns whether `axes` can be outermost together with all that must be already."""
        return all(axes <= other or other <= axes for other in self.prefixes)

    def add_prefix(self, axes: frozenset[Axis]) -> None:
        if axes not in self.prefixes:
            self.prefixes.append(axes)
            self.prefixes.sort(key=len)


def element_count(value: SSAValue, who: str) -> Extent:
    """Returns the number of elements of a tensor value."""
    return product(shape_of(value, who))


def iterations(axes: Iterable[Axis]) -> int:
    """Returns the number of iterations of some axes together; the most where their extents vary."""
    return prod(upper_bound(axis.extent) for axis in axes)


def hint_of(dim: int) -> str:
    """Returns what an axis along a dim is called."""
    return "ijklmn"[dim] if dim < 6 else f"i{dim}"


def hoisted_loops(access: Access) -> tuple[Axis, ...]:
    """Returns the loops around an access, without those further in than all that its indices depend on."""
    dependences, loops = access.dependences(), access.loops
    if all(axis in access.kernel.axes for axis in dependences):
        return tuple(axis for axis in loops if axis in dependences)
    while loops and loops[-1] not in dependences:
        loops = loops[:-1]
    return loops


def repetitions(access: Access, elements: int) -> int:
    """
    Returns how often each of `elements` would be computed at `access`, inside the loops of the stages around
    it: for every iteration of the loops that do not change it, and in every window that it lies in.
    """
    dependences = access.dependences()
    if all(axis in access.kernel.axes for axis in dependences):
        return 1
    windows = -(-iterations(dependences) // max(elements, 1))
    return iterations(axis for axis in hoisted_loops(access) if axis not in dependences) * max(windows, 1)


def is_all_of_kernel(accesses: Sequence[Access]) -> bool:
    """Returns whether a kernel only goes on with each element of a value that is computed in it."""
    (access, *others) = accesses
    return (
        not others and access.loops == access.kernel.axes and set(access.dependences()) == set(access.loops)
    )


def folded_axes(op: Operation) -> tuple[Axis, ...]:
    """Returns new axes for the dims that a reduction or contraction folds."""
    if isinstance(op, graph.ReduceOp):
        shape = shape_of(op.source, op.name)
        return tuple(Axis(shape[dim], hint_of(dim)) for dim in op.axes.data)
    assert isinstance(op, graph.ContractOp), f"{op.name} folds nothing"
    kept, last = op.result_dims, op.result_map.num_dims - 1
    extents = with_bounds(iteration_extents(op), op)
    return tuple(
        Axis(extent, "k" if dim == last else f"k{dim}")
        for dim, extent in enumerate(extents)
        if dim not in kept
    )


def folding_operand_indices(op: Operation, indices: Indices, folded: tuple[Axis, ...]) -> list[Indices]:
    """Returns the index of each operand of a reduction or contraction, with `folded` for the folded dims."""
    if isinstance(op, graph.ReduceOp):
        kept = iter(indices)
        inner = dict(zip(op.axes.data, folded, strict=True))
        found: list[IndexExpr] = []
        for dim in range(len(shape_of(op.source, op.name))):
            if dim in inner:
                if op.keep:
                    next(kept)
                found.append(variable(inner[dim]))
            else:
                found.append(next(kept))
        return [tuple(found)]
    assert isinstance(op, graph.ContractOp), f"{op.name} folds nothing"
    position = dict(zip(op.result_dims, indices, strict=True))
    rest = iter(folded)
    for dim in range(op.result_map.num_dims):
        if dim not in position:
            position[dim] = variable(next(rest))
    return [tuple(_index_at(expr, position) for expr in map_.results) for map_ in op.operand_maps]


def _index_at(expr: AffineExpr, position: dict[int, IndexExpr]) -> IndexExpr:
    """Returns the index that an affine expression is where its dims are at `position`."""
    index = LinearIndex.of(expr)
    total = constant(index.constant)
    for dim, factor in index.factors:
        total = total + position[dim] * factor
    return total

"""
Collectives: ops at which the ranks of a grid exchange what they hold.

A rank has a program of its own. Those that meet in a collective are a group: the ranks that agree in all
coordinates of the grid but those of the op's `axes`. The members of a group are numbered row-major over
`axes`, in the order in which these are written. `channel` says which collectives meet: what a rank begins on
a channel for the n-th time meets what the others of its group begin there for the n-th time.

What is split along a dim is split into parts as `grids.part_extents` says, so that parts need not be equal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from hashlib import sha256
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FlatSymbolRefAttr,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i32,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import (
    IsolatedFromAbove,
    MemoryReadEffect,
    MemoryWriteEffect,
    RecursiveMemoryEffect,
    SymbolTable,
)
from xdsl.utils.exceptions import VerifyException

from ..dims.expressions import Extent
from ..grids import member_of, part_extents
from .attributes import AxisAttr, ChannelAttr, IntsAttr, PairsAttr, ReduceKind, ReduceKindAttr, SplitsAttr
from .base import GraphOp, check_result
from .contraction import REDUCE_ELEMENTS
from .control import YieldingOp, yield_of
from .host_call import HostCallOp
from .types import (
    TENSOR,
    TENSOR_T,
    ElementKind,
    are_equal_extents,
    check_axes,
    shape_of,
    tensor_of,
    tensor_type_of,
)

__all__ = [
    "AllGatherOp",
    "AllReduceOp",
    "AllToAllOp",
    "AxisIndexOp",
    "CollectiveOp",
    "CollectivePermuteOp",
    "ManualComputationOp",
    "ReduceScatterOp",
    "ReducingOp",
    "grid_extents",
    "note_program",
    "program_around",
    "rank_around",
]

RANK = "tenon.rank"
"""The attribute of a module that says whose program it is."""

PROGRAM = "tenon.program"
"""The attribute of a module that has a digest of the program of all ranks that it is a part of."""


def grid_extents(op: Operation, grid: str) -> tuple[int, ...]:
    """
    Returns the extents of the grid that an op names.

    Raises VerifyException, naming the op, where there is no such grid or its extents are not known.
    """
    # Late: few programs have a grid, and those that do have imported its dialect.
    from xdsl.dialects.shard import GridOp

    found = SymbolTable.lookup_symbol(op, grid)
    if not isinstance(found, GridOp):
        raise VerifyException(f"{op.name}: there is no shard.grid @{grid}")
    extents = tuple(int(extent) for extent in found.shape.get_values())
    if any(extent < 1 for extent in extents):
        raise VerifyException(f"{op.name}: grid @{grid} has an extent that is not known or less than 1")
    return extents


def rank_around(op: Operation) -> int | None:
    """Returns the rank whose program an op is in, None where its module is no rank's."""
    rank = _said_around(op, RANK)
    return cast("IntegerAttr[Any]", rank).value.data if isinstance(rank, IntegerAttr) else None


def program_around(op: Operation) -> str:
    """Returns the digest of the program of all ranks that an op is in, none where its module has none."""
    program = _said_around(op, PROGRAM)
    return program.data if isinstance(program, StringAttr) else ""


def note_program(module: ModuleOp) -> bytes:
    """Notes in a module, which is no rank's, that it is the program of all ranks, and returns its digest."""
    digest = sha256(str(module).encode())
    module.attributes[PROGRAM] = StringAttr(digest.hexdigest()[:16])
    return digest.digest()


def _said_around(op: Operation, name: str) -> Attribute | None:
    around = op.parent_op()
    while around is not None:
        if (found := around.attributes.get(name)) is not None:
            return found
        around = around.parent_op()
    return None


def _grid_properties(grid: str | FlatSymbolRefAttr) -> FlatSymbolRefAttr:
    return SymbolRefAttr(grid) if isinstance(grid, str) else grid


def _check_grid_axes(op: Operation, axes: Sequence[int], extents: Sequence[int]) -> None:
    for position, axis in enumerate(axes):
        if not 0 <= axis < len(extents):
            raise VerifyException(f"{op.name}: axis {axis} is out of range for a grid of rank {len(extents)}")
        if axis in axes[:position]:
            raise VerifyException(f"{op.name}: axis {axis} of the grid is given twice ({list(axes)})")


class CollectiveOp(HostCallOp, ABC):
    """
    An op at which the ranks of a group exchange what they hold: each gives `source` and gets `result`.

    All ranks run the collectives of their programs in the same order, so that none is removed, moved or made
    one with another.
    """

    source = operand_def(TENSOR)
    grid = prop_def(FlatSymbolRefAttrConstr)
    axes = prop_def(IntsAttr)
    channel = prop_def(ChannelAttr)
    result = result_def(TENSOR)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())

    def _build(
        self,
        source: SSAValue,
        grid: str | FlatSymbolRefAttr,
        axes: Sequence[int] | IntsAttr,
        channel: int | ChannelAttr,
        result_type: Attribute,
        **properties: Attribute,
    ) -> None:
        Operation.__init__(
            self,
            operands=(source,),
            result_types=(result_type,),
            properties={
                "grid": _grid_properties(grid),
                "axes": IntsAttr.of(axes),
                "channel": channel if isinstance(channel, ChannelAttr) else ChannelAttr(channel),
                **properties,
            },
        )

    @property
    def grid_name(self) -> str:
        """The name of the grid, without `@`."""
        return self.grid.root_reference.data

    @property
    def group_parts(self) -> tuple[int, ...]:
        """The extents of the grid along `axes`: a dim that is split over the group is split by these."""
        extents = grid_extents(self, self.grid_name)
        return tuple(extents[axis] for axis in self.axes.data)

    @property
    def member(self) -> int | None:
        """The number of the program's rank in its group, None where the module is no rank's."""
        rank = rank_around(self)
        return None if rank is None else member_of(grid_extents(self, self.grid_name), self.axes.data, rank)

    def verify_(self) -> None:
        extents = grid_extents(self, self.grid_name)
        if not self.axes.data:
            raise VerifyException(f"{self.name}: names no axes of grid @{self.grid_name}")
        _check_grid_axes(self, self.axes.data, extents)
        rank = rank_around(self)
        if rank is not None and not 0 <= rank < prod(extents):
            raise VerifyException(
                f"{self.name}: the program is that of rank {rank}, grid @{self.grid_name} has "
                f"{' x '.join(map(str, extents))} ranks"
            )
        if self.channel.data < 1:
            raise VerifyException(f"{self.name}: channel {self.channel.data} is less than 1")
        self.verify_types()

    @abstractmethod
    def verify_types(self) -> None:
        """Raises VerifyException where the types of operand and result disagree."""

    def _check_resized(self, dims: Sequence[int], how: str) -> tuple[TensorType[Any], TensorType[Any]]:
        """
        Returns the types of operand and result; `how` says in errors what became of the operand.

        Raises VerifyException unless the operand has `dims`, and the result differs from it in these at most.
        """
        source, result = (tensor_type_of(value, self.name) for value in (self.source, self.result))
        check_axes(self.name, dims, source)
        is_alike = result.get_num_dims() == source.get_num_dims()
        changed = {dim: shape_of(result)[dim] if is_alike else DYNAMIC_INDEX for dim in dims}
        check_result(self, _with_extents(source, changed), f"{source} {how}")
        return source, result

    def _check_part(self, whole: TensorType[Any], part: TensorType[Any], dim: int, what: str) -> None:
        """Raises VerifyException unless `part` is as long as this rank's part of dim `dim` of `whole`."""
        total, found = shape_of(whole)[dim], shape_of(part)[dim]
        for extent in (total, found):
            if not isinstance(extent, int) or extent == DYNAMIC_INDEX:
                raise VerifyException(
                    f"{self.name}: dim {dim} is split over ranks and not known when compiling "
                    f"({whole}, {part})"
                )
        extents = part_extents(cast(int, total), self.group_parts)
        if 0 in extents:
            raise VerifyException(
                f"{self.name}: dim {dim} has extent {total}, which {len(extents)} ranks do not share"
            )
        member = self.member
        expected = set(extents) if member is None else {extents[member]}
        if found not in expected:
            written = " or ".join(map(str, sorted(expected)))
            raise VerifyException(
                f"{self.name}: {what} has extent {found} in dim {dim}, expected {written} "
                f"(a part of {total} over {len(extents)} ranks)"
            )


def _with_extents(type: TensorType[Any], extents: dict[int, Extent]) -> TensorType[Any]:
    shape = tuple(extents.get(dim, extent) for dim, extent in enumerate(shape_of(type)))
    return tensor_of(type.element_type, shape)


class ReducingOp(CollectiveOp, ABC):
    """A collective that combines the operands of all members, element by element, in the order of members."""

    kind = prop_def(ReduceKindAttr)

    def _check_elements(self) -> None:
        source = tensor_type_of(self.source, self.name)
        REDUCE_ELEMENTS[self.kind.data].check(f"{self.name} {self.kind.data.value}", source)


def _kind(kind: ReduceKind | ReduceKindAttr) -> ReduceKindAttr:
    return ReduceKindAttr(kind) if isinstance(kind, ReduceKind) else kind


def _dim(dim: int | AxisAttr) -> AxisAttr:
    return AxisAttr(dim) if isinstance(dim, int) else dim


@irdl_op_definition
class AllReduceOp(ReducingOp):
    """
    The operands of all members combined, element by element: every member gets the same. They are combined in
    the order of members, each step in the element type; how ranks are run may choose another order. NaN wins
    in max and min, where +0.0 is greater than -0.0.

    ```mlir
    %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4x8xf32>
    ```
    """

    name = "graph.all_reduce"
    source = operand_def(TENSOR_T)
    result = result_def(TENSOR_T)
    assembly_format = (
        "$kind $source `on` $grid `axes` `=` $axes `channel` `=` $channel attr-dict `:` type($result)"
    )

    def __init__(
        self,
        kind: ReduceKind | ReduceKindAttr,
        source: SSAValue,
        grid: str | FlatSymbolRefAttr,
        axes: Sequence[int] | IntsAttr,
        channel: int | ChannelAttr,
    ):
        self._build(source, grid, axes, channel, source.type, kind=_kind(kind))

    def verify_types(self) -> None:
        self._check_elements()


@irdl_op_definition
class AllGatherOp(CollectiveOp):
    """
    The operands of all members behind one another along `dim`, in the order of members: every member gets the
    same. Each member's operand is its part of the result.

    ```mlir
    %g = graph.all_gather %x on @mesh axes = [0] dim = 1 channel = 2 : tensor<4x8xf32> -> tensor<4x16xf32>
    ```
    """

    name = "graph.all_gather"
    dim = prop_def(AxisAttr)
    assembly_format = (
        "$source `on` $grid `axes` `=` $axes `dim` `=` $dim `channel` `=` $channel attr-dict "
        "`:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        grid: str | FlatSymbolRefAttr,
        axes: Sequence[int] | IntsAttr,
        dim: int | AxisAttr,
        channel: int | ChannelAttr,
        extent: int,
    ):
        """`extent` is that of the result in `dim`."""
        dim = _dim(dim)
        type = _with_extents(tensor_type_of(source, self.name), {dim.data: extent})
        self._build(source, grid, axes, channel, type, dim=dim)

    def verify_types(self) -> None:
        dim = self.dim.data
        source, result = self._check_resized([dim], f"gathered along dim {dim}")
        self._check_part(result, source, dim, "the operand")


@irdl_op_definition
class ReduceScatterOp(ReducingOp):
    """
    What `graph.all_reduce` gives, of which every member gets its part along `dim` only.

    ```mlir
    %r = graph.reduce_scatter add %x on @mesh axes = [0] dim = 1 channel = 3
        : tensor<4x16xf32> -> tensor<4x8xf32>
    ```
    """

    name = "graph.reduce_scatter"
    dim = prop_def(AxisAttr)
    assembly_format = (
        "$kind $source `on` $grid `axes` `=` $axes `dim` `=` $dim `channel` `=` $channel attr-dict "
        "`:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        kind: ReduceKind | ReduceKindAttr,
        source: SSAValue,
        grid: str | FlatSymbolRefAttr,
        axes: Sequence[int] | IntsAttr,
        dim: int | AxisAttr,
        channel: int | ChannelAttr,
        extent: int,
    ):
        """`extent` is that of this rank's part in `dim`."""
        dim = _dim(dim)
        type = _with_extents(tensor_type_of(source, self.name), {dim.data: extent})
        self._build(source, grid, axes, channel, type, kind=_kind(kind), dim=dim)

    def verify_types(self) -> None:
        self._check_elements()
        dim = self.dim.data
        source, result = self._check_resized([dim], f"scattered along dim {dim}")
        self._check_part(source, result, dim, "the result")


@irdl_op_definition
class AllToAllOp(CollectiveOp):
    """
    Splits the operand along `split_dim` and sends each member its part; what comes from all members lies
    behind one another along `concat_dim`, in the order of members. What was split along `concat_dim` is split
    along `split_dim` then.

    ```mlir
    %a = graph.all_to_all %x on @mesh axes = [0] split_dim = 0 concat_dim = 1 channel = 4
        : tensor<8x4xf32> -> tensor<4x8xf32>
    ```
    """

    name = "graph.all_to_all"
    split_dim = prop_def(AxisAttr)
    concat_dim = prop_def(AxisAttr)
    assembly_format = (
        "$source `on` $grid `axes` `=` $axes `split_dim` `=` $split_dim `concat_dim` `=` $concat_dim "
        "`channel` `=` $channel attr-dict `:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        grid: str | FlatSymbolRefAttr,
        axes: Sequence[int] | IntsAttr,
        split_dim: int | AxisAttr,
        concat_dim: int | AxisAttr,
        channel: int | ChannelAttr,
        extents: tuple[int, int],
    ):
        """`extents` are those of the result in `split_dim` and in `concat_dim`."""
        split_dim, concat_dim = _dim(split_dim), _dim(concat_dim)
        changed: dict[int, Extent] = dict(zip((split_dim.data, concat_dim.data), extents, strict=True))
        type = _with_extents(tensor_type_of(source, self.name), changed)
        self._build(source, grid, axes, channel, type, split_dim=split_dim, concat_dim=concat_dim)

    def verify_types(self) -> None:
        dims = (self.split_dim.data, self.concat_dim.data)
        how = f"split along dim {dims[0]}, put together along dim {dims[1]}"
        source, result = self._check_resized(dims, how)
        self._check_part(source, result, dims[0], "the result")
        self._check_part(result, source, dims[1], "the operand")


@irdl_op_definition
class CollectivePermuteOp(CollectiveOp):
    """
    Sends the operand of one member to another: `pairs` are members that send and those that get it, each at
    most once. A member that nothing is sent to gets zeros; one that sends nothing gives any operand. What a
    member gets has the shape of what it is sent, which need not be that of its own operand.

    ```mlir
    %p = graph.collective_permute %x on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 5
        : tensor<2x8xf32> -> tensor<2x8xf32>
    ```
    """

    name = "graph.collective_permute"
    pairs = prop_def(PairsAttr)
    assembly_format = (
        "$source `on` $grid `axes` `=` $axes `pairs` `=` $pairs `channel` `=` $channel attr-dict "
        "`:` type($source) `->` type($result)"
    )

    def __init__(
        self,
        source: SSAValue,
        grid: str | FlatSymbolRefAttr,
        axes: Sequence[int] | IntsAttr,
        pairs: Sequence[tuple[int, int]] | PairsAttr,
        channel: int | ChannelAttr,
        result_type: Attribute,
    ):
        pairs = pairs if isinstance(pairs, PairsAttr) else PairsAttr(tuple(pairs))
        self._build(source, grid, axes, channel, result_type, pairs=pairs)

    def verify_types(self) -> None:
        source, result = (tensor_type_of(value, self.name) for value in (self.source, self.result))
        if source.element_type != result.element_type:
            raise VerifyException(
                f"{self.name}: cannot send {source} as {result} (element type {result.element_type}, "
                f"not {source.element_type})"
            )
        count = prod(self.group_parts)
        for what, members in zip(("source", "target"), zip(*self.pairs.data, strict=True), strict=False):
            for position, member in enumerate(members):
                if not 0 <= member < count:
                    raise VerifyException(f"{self.name}: {what} {member} is none of {count} members")
                if member in members[:position]:
                    raise VerifyException(f"{self.name}: member {member} is a {what} twice")
        mine = self.member
        if mine is not None and (mine, mine) in self.pairs.data:
            shapes = shape_of(source), shape_of(result)
            if len(shapes[0]) != len(shapes[1]) or not all(map(are_equal_extents, *shapes)):
                raise VerifyException(f"{self.name}: sends itself {source}, gets {result}")


@irdl_op_definition
class AxisIndexOp(GraphOp):
    """
    Where on an axis of a grid the rank lies that runs the program.

    ```mlir
    %i = graph.axis_index on @mesh axis = 0 : tensor<i32>
    ```
    """

    name = "graph.axis_index"
    grid = prop_def(FlatSymbolRefAttrConstr)
    axis = prop_def(AxisAttr)
    result = result_def(TENSOR)
    assembly_format = "`on` $grid `axis` `=` $axis attr-dict `:` type($result)"
    RESULT: ClassVar = tensor_of(i32, ())
    ELEMENTS: ClassVar[ElementKind] = ElementKind("i32", frozenset((i32,)))

    def __init__(self, grid: str | FlatSymbolRefAttr, axis: int | AxisAttr):
        Operation.__init__(
            self,
            result_types=(self.RESULT,),
            properties={"grid": _grid_properties(grid), "axis": _dim(axis)},
        )

    @property
    def grid_name(self) -> str:
        """The name of the grid, without `@`."""
        return self.grid.root_reference.data

    def verify_(self) -> None:
        _check_grid_axes(self, [self.axis.data], grid_extents(self, self.grid_name))
        if self.result.type != self.RESULT:
            raise VerifyException(f"{self.name}: result is {self.result.type}, expected {self.RESULT}")


Splits = tuple[tuple[int, ...], ...]
"""The axes of a grid that split each dim of a tensor."""


@irdl_op_definition
class ManualComputationOp(YieldingOp):
    """
    What each rank of a grid computes of its parts of some tensors, in a program of whole ones, as Shardy's
    `sdy.manual_computation`. `split` says for each operand which axes of the grid split which dim, `to` the
    same for each result: the region takes the parts of a rank and yields its parts of the results.
    Collectives in it are between the ranks. Ranks that differ only in axes that split nothing of a result
    yield the same.

    A dim is split evenly. The region sees nothing of what is around it, and has no nodes.

    ```mlir
    %s = graph.manual_computation on @mesh(%x) split [[[0], []]] to [[[]]]
        : (tensor<4x8xf32>) -> tensor<8xf32> {
    ^bb0(%part: tensor<2x8xf32>):
      %own = graph.reduce add %part axes [0] : tensor<2x8xf32> -> tensor<8xf32>
      %sum = graph.all_reduce add %own on @mesh axes = [0] channel = 1 : tensor<8xf32>
      graph.yield %sum : tensor<8xf32>
    }
    ```
    """

    name = "graph.manual_computation"
    inputs = var_operand_def(TENSOR)
    grid = prop_def(FlatSymbolRefAttrConstr)
    in_splits = prop_def(SplitsAttr)
    out_splits = prop_def(SplitsAttr)
    res = var_result_def(TENSOR)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), RecursiveMemoryEffect())
    assembly_format = (
        "`on` $grid `(` $inputs `)` `split` $in_splits `to` $out_splits attr-dict "
        "`:` functional-type($inputs, $res) $body"
    )

    def __init__(
        self,
        inputs: Sequence[SSAValue],
        grid: str | FlatSymbolRefAttr,
        in_splits: Sequence[Splits],
        out_splits: Sequence[Splits],
        result_types: Sequence[Attribute],
        body: Region,
    ):
        Operation.__init__(
            self,
            operands=inputs,
            result_types=result_types,
            properties={
                "grid": _grid_properties(grid),
                "in_splits": SplitsAttr(tuple(in_splits)),
                "out_splits": SplitsAttr(tuple(out_splits)),
            },
            regions=(body,),
        )

    @property
    def grid_name(self) -> str:
        """The name of the grid, without `@`."""
        return self.grid.root_reference.data

    def verify_(self) -> None:
        extents = grid_extents(self, self.grid_name)
        if rank_around(self) is not None:
            raise VerifyException(f"{self.name}: the program is that of one rank already")
        block = self.body.block
        yielded = yield_of(block, self.name, "region").values
        self._check_parts("operand", self.operands, block.args, self.in_splits, extents)
        self._check_parts("result", self.results, yielded, self.out_splits, extents)
        for op in self.body.walk():
            if op.name in ("graph.read", "graph.write", "graph.merge", self.name):
                raise VerifyException(f"{self.name}: {op.name} cannot stand in it")

    def _check_parts(
        self,
        what: str,
        wholes: Sequence[SSAValue],
        parts: Sequence[SSAValue],
        splits: SplitsAttr,
        extents: tuple[int, ...],
    ) -> None:
        """Raises VerifyException unless `parts` are those of `wholes`."""
        if not len(wholes) == len(parts) == len(splits.data):
            raise VerifyException(
                f"{self.name}: {len(wholes)} {what}s, the region has {len(parts)}, and {len(splits.data)} "
                "are split"
            )
        for number, (whole, part, split) in enumerate(zip(wholes, parts, splits.data, strict=True)):
            type = tensor_type_of(whole, self.name)
            shape = shape_of(type)
            if len(split) != len(shape):
                raise VerifyException(f"{self.name}: {what} {number} is {type}, split in {len(split)} dims")
            _check_grid_axes(self, [axis for axes in split for axis in axes], extents)
            changed: dict[int, Extent] = {}
            for dim, axes in enumerate(split):
                count, extent = prod(extents[axis] for axis in axes), shape[dim]
                if count == 1:
                    continue
                if not isinstance(extent, int) or extent == DYNAMIC_INDEX or extent < 1 or extent % count:
                    raise VerifyException(
                        f"{self.name}: dim {dim} of {what} {number} is {extent}, which {count} ranks do not "
                        "share evenly"
                    )
                changed[dim] = extent // count
            expected = _with_extents(type, changed)
            if part.type != expected:
                raise VerifyException(
                    f"{self.name}: {what} {number} is {part.type} in the region, expected {expected}"
                )

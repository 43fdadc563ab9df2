"""Going through the ops of a block, and walking those inside of others, by one generator each."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Iterator
from functools import wraps
from typing import Any, cast

from xdsl.ir import Block, BlockOps, Operation, Region


def _ops_from(op: Operation | None) -> Iterator[Operation]:
    """Yields an op and those after it. The next one is the one that follows before somebody sees this one."""
    while op is not None:
        following = op._next_op
        yield op
        op = following


def _walk(left: list[Operation | Block | Region | None]) -> Iterator[Operation]:
    """
    Yields the ops in what is `left`, the last item first, and those that follow an op, each before those
    inside of it: by one generator, and not by one for each block around an op.
    """
    while left:
        item = left.pop()
        if type(item) is Region:
            item = item._first_block
        if type(item) is Block:
            left.append(item._next_block)
            item = item._first_op
        op = cast("Operation | None", item)
        while op is not None:
            following = op._next_op
            yield op
            if op.regions:
                left.append(following)
                left.extend(reversed(op.regions))
                break
            op = following


def _walk_inside(self: Block | Region) -> Iterator[Operation]:
    return _walk([self])


def _iterate(self: BlockOps) -> Iterator[Operation]:
    return _ops_from(self.block.first_op)


def _walk_op(self: Operation) -> Iterator[Operation]:
    yield self
    if self.regions:
        yield from _walk([*reversed(self.regions)])


def _walk_regions_first(
    reverse: bool, left: list[tuple[Operation] | Operation | Block | Region | None]
) -> Iterator[Operation]:
    """
    Yields the ops in what is `left`, the last item first, each after those inside of it; of an item of one op
    in parentheses only that.
    """
    while left:
        item = left.pop()
        if type(item) is tuple:
            yield item[0]
            continue
        if type(item) is Region:
            item = item._last_block if reverse else item._first_block
        if type(item) is Block:
            left.append(item._prev_block if reverse else item._next_block)
            item = item._last_op if reverse else item._first_op
        op = cast("Operation | None", item)
        while op is not None:
            following = op._prev_op if reverse else op._next_op
            if op.regions:
                left += [following, (op,)]
                left.extend(op.regions if reverse else reversed(op.regions))
                break
            yield op
            op = following


def _with_its_regions(op: Operation | Block | Region, reverse: bool) -> list[Any]:
    """Returns what is left of an op, and not of those after it, where none is walked yet."""
    if isinstance(op, Block | Region):
        return [op]
    return [(op,), *(op.regions if reverse else reversed(op.regions))]


def _walking(forward: Any, either: Any) -> Any:
    """Returns a method `walk` that goes two ways by functions of this module, and the third by xDSL's own."""

    @wraps(either)
    def walk(self: Any, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
        if region_first:
            return _walk_regions_first(reverse, _with_its_regions(self, reverse))
        return either(self, reverse=True) if reverse else forward(self)

    return walk


def apply() -> None:
    """Installs it."""
    cast(Any, BlockOps).__iter__ = _iterate
    Operation.walk = _walking(_walk_op, Operation.walk)
    Region.walk = _walking(_walk_inside, Region.walk)
    Block.walk = _walking(_walk_inside, Block.walk)

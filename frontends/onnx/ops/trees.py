"""Trees of decisions: their nodes as arrays, the leaves that rows end at, and what these give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...control_flow import fori_loop
from ..graphs import Context
from ..values import NumpyArray, check_count

COMPARISONS = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
"""How nodes compare a feature with their value, in the order of TreeEnsemble's numbers."""

AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
"""What the leaves of all trees make together, in that order too."""

_HOW = {
    "LEQ": tnp.less_equal,
    "LT": tnp.less,
    "GTE": tnp.greater_equal,
    "GT": tnp.greater,
    "EQ": tnp.equal,
    "NEQ": tnp.not_equal,
}


def _are_below(numbers: NumpyArray, count: int) -> bool:
    return bool(np.all((numbers >= 0) & (numbers < count)))


@dataclass(frozen=True)
class Trees:
    """
    The nodes of all trees: inner ones go to `on_true` or `on_false`, leaves to themselves. `members` are the
    values of nodes that look for one among several, filled up with NaN.
    """

    roots: NumpyArray
    features: NumpyArray
    comparisons: NumpyArray
    values: NumpyArray
    on_true: NumpyArray
    on_false: NumpyArray
    missing_goes_on: NumpyArray
    """Whether NaN goes to `on_true`."""
    is_leaf: NumpyArray
    members: NumpyArray | None = None

    def check(self) -> int:
        """
        Returns how many comparisons a row makes at most. Nodes are taken once, when all that go to them are.

        Raises:
            TenonError: a node goes to no node, or to one that it is reached from; a comparison is none.
        """
        count = len(self.features)
        columns = (
            self.comparisons,
            self.values,
            self.on_true,
            self.on_false,
            self.missing_goes_on,
            self.is_leaf,
        )
        if any(len(each) != count for each in columns):
            raise TenonError(f"{count} nodes, and attributes of {sorted({len(each) for each in columns})}")
        for each in (self.roots, self.on_true, self.on_false):
            if not _are_below(each, count):
                raise TenonError(f"a node goes to a node that is not there (there are {count})")
        if not len(self.roots):
            raise TenonError("there are no trees")
        if not _are_below(self.comparisons, len(COMPARISONS)):
            raise TenonError(f"a comparison is none of {', '.join(COMPARISONS)}")
        aims = np.stack([self.on_true, self.on_false])
        waits = np.bincount(aims[:, ~self.is_leaf].reshape(-1), minlength=count)
        here, taken, depth = np.flatnonzero(waits == 0), 0, -1
        while len(here):
            taken, depth = taken + len(here), depth + 1
            following, times = np.unique(aims[:, here[~self.is_leaf[here]]], return_counts=True)
            waits[following] -= times
            here = following[waits[following] == 0]
        if taken != count:
            raise TenonError("a tree goes round in a circle")
        return depth

    def leaves(self, x: Any, context: Context) -> Any:
        """Returns the node that each row of `x` ends at in each tree, of shape (rows, trees)."""
        depth = self.check()
        if len(x.shape) != 2 or not isinstance(x.shape[1], int):
            raise TenonError(f"the shape is {x.shape}, expected rows of a known number of features")
        if not _are_below(self.features, x.shape[1]):
            raise TenonError(f"a node asks for a feature that is not there (there are {x.shape[1]})")
        lift = context.lift
        features, values, on_true, on_false = map(
            lift, (self.features, self.values, self.on_true, self.on_false)
        )
        common = np.result_type(x.dtype, self.values.dtype)
        x = tnp.astype(x, common)
        values = tnp.astype(values, common)
        kinds = np.unique(self.comparisons)
        comparisons: Any = lift(self.comparisons) if len(kinds) > 1 else None
        goes_on = lift(self.missing_goes_on) if self.missing_goes_on.any() else None
        members = None if self.members is None else tnp.astype(lift(self.members), common)

        def one(_: Any, at: Any) -> Any:
            found = tnp.take_along_axis(x, tnp.take(features, at, axis=0), axis=1)
            limit = tnp.take(values, at, axis=0)
            chosen: Any = None
            for kind in kinds:
                name = COMPARISONS[int(kind)]
                if name == "MEMBER":
                    assert members is not None, "a node that looks for members, and none"
                    among = tnp.equal(tnp.expand_dims(found, -1), tnp.take(members, at, axis=0))
                    answer = tnp.any(among, axis=-1)
                else:
                    answer = _HOW[name](found, limit)
                if chosen is None:
                    chosen = answer
                else:
                    chosen = tnp.where(tnp.equal(tnp.take(comparisons, at, axis=0), kind), answer, chosen)
            if goes_on is not None:
                missing = tnp.logical_and(tnp.isnan(found), tnp.take(goes_on, at, axis=0))
                chosen = tnp.logical_or(chosen, missing)
            return tnp.where(chosen, tnp.take(on_true, at, axis=0), tnp.take(on_false, at, axis=0))

        start = tnp.broadcast_to(lift(self.roots), (x.shape[0], len(self.roots)))
        return fori_loop(0, depth, one, start) if depth else start


@dataclass(frozen=True)
class Weights:
    """What leaves give to targets: `nodes`, `targets` and `values` side by side."""

    nodes: NumpyArray
    targets: NumpyArray
    values: NumpyArray

    def total(self, at: Any, count: int, n_nodes: int, aggregate: str, context: Context) -> Any:
        """
        Returns what the leaves `at`, of shape (rows, trees), give to each of `count` targets: the sum, the
        average over all trees, or the least or greatest; 0 where none gives anything.

        Raises:
            TenonError: a leaf or a target is not there.
        """
        if not len(self.nodes) == len(self.targets) == len(self.values):
            raise TenonError(
                f"{len(self.nodes)} leaves, {len(self.targets)} targets, {len(self.values)} weights"
            )
        for what, each, most in (("leaf", self.nodes, n_nodes), ("target", self.targets, count)):
            if not _are_below(each, most):
                raise TenonError(f"a weight is of a {what} that is not there (there are {most})")
        check_count("weights of leaves", n_nodes * count)
        is_sum = aggregate in ("SUM", "AVERAGE")
        empty = 0 if is_sum else np.inf if aggregate == "MIN" else -np.inf
        table = np.full((n_nodes, count), empty, self.values.dtype)
        combine = np.add if is_sum else np.minimum if aggregate == "MIN" else np.maximum
        combine.at(table, (self.nodes, self.targets), self.values)
        given = tnp.take(context.lift(table), at, axis=0)
        if is_sum:
            total = tnp.sum(given, axis=1)
            return tnp.divide(total, at.shape[1]) if aggregate == "AVERAGE" else total
        found = tnp.min(given, axis=1) if aggregate == "MIN" else tnp.max(given, axis=1)
        return tnp.where(tnp.equal(found, empty), 0, found)


def numbered(pairs: Mapping[tuple[int, int], int], trees: Sequence[int], nodes: Sequence[int]) -> NumpyArray:
    """
    Returns the numbers of nodes that are named by their tree, and their number in it.

    Raises:
        TenonError: there is no such node.
    """
    if len(trees) != len(nodes):
        raise TenonError(f"{len(trees)} trees of nodes, and {len(nodes)} nodes")
    try:
        return np.array([pairs[pair] for pair in zip(trees, nodes, strict=True)], np.int64)
    except KeyError as error:
        raise TenonError(f"there is no node {error.args[0][1]} in tree {error.args[0][0]}") from None

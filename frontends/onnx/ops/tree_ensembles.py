"""Ops of `ai.onnx.ml` that are many trees: TreeEnsemble, and the two before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ..graphs import Context
from ..registry import onnx_op
from ..values import NumpyArray, check_count
from .trees import AGGREGATES, COMPARISONS, Trees, Weights, numbered

_DOMAIN = "ai.onnx.ml"

_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _array(values: Any, dtype: Any) -> NumpyArray:
    return np.zeros(0, dtype) if values is None else np.asarray(values, dtype).reshape(-1)


def _chosen(names: Sequence[str], what: str, value: Any) -> str:
    """Returns the name that a number, or a name, stands for."""
    if isinstance(value, int) and 0 <= value < len(names):
        return names[value]
    if value not in names:
        raise TenonError(f"{what} is {value!r}, expected one of {', '.join(names)}")
    return str(value)


def _transformed(x: Any, transform: str) -> Any:
    """Returns scores, of shape (rows, targets), as `post_transform` has them."""
    if transform == "SOFTMAX":
        return nn.softmax(x, axis=-1)
    if transform == "LOGISTIC":
        return nn.sigmoid(x)
    if transform == "SOFTMAX_ZERO":
        # What is 0 stays so.
        greatest = tnp.max(x, axis=-1, keepdims=True)
        is_zero = tnp.less_equal(tnp.abs(x), 1e-7)
        powers = tnp.where(is_zero, tnp.multiply(x, tnp.exp(tnp.negative(greatest))), tnp.exp(x - greatest))
        total = tnp.sum(powers, axis=-1, keepdims=True)
        return tnp.where(tnp.equal(total, 0), 0.5, tnp.divide(powers, total))
    if transform == "PROBIT":
        # The inverse of erf by Winitzki's formula, as in onnx.
        twice = tnp.subtract(tnp.multiply(x, 2), 1)
        log = tnp.log(tnp.multiply(tnp.subtract(1, twice), tnp.add(1, twice)))
        half = tnp.add(tnp.multiply(log, 0.5), 2 / (np.pi * 0.147))
        root = tnp.sqrt(tnp.subtract(tnp.multiply(half, half), tnp.divide(log, 0.147)))
        return tnp.multiply(tnp.copysign(tnp.sqrt(tnp.subtract(root, half)), twice), 1.41421356)
    return x


def _members(nodes: NumpyArray, values: NumpyArray | None, count: int) -> NumpyArray | None:
    """Returns the members of each of `count` nodes; those in `nodes` have a list that ends with NaN."""
    if not len(nodes):
        return None
    flat = _array(values, np.asarray(values).dtype if values is not None else np.float32)
    ends = np.flatnonzero(np.isnan(flat))
    if len(ends) != len(nodes):
        raise TenonError(f"{len(nodes)} nodes look for members, and there are {len(ends)} lists of these")
    starts = np.concatenate([[0], ends[:-1] + 1])
    most = int((ends - starts).max())
    check_count("members of nodes", count * max(most, 1))
    found = np.full((count, max(most, 1)), np.nan, flat.dtype)
    for node, start, end in zip(nodes, starts, ends, strict=True):
        found[node, : end - start] = flat[start:end]
    return found


@onnx_op("TreeEnsemble", since=5, domain=_DOMAIN)
def tree_ensemble(
    x: Any,
    *,
    leaf_targetids: list[int],
    leaf_weights: NumpyArray,
    nodes_falseleafs: list[int],
    nodes_falsenodeids: list[int],
    nodes_featureids: list[int],
    nodes_modes: NumpyArray,
    nodes_splits: NumpyArray,
    nodes_trueleafs: list[int],
    nodes_truenodeids: list[int],
    tree_roots: list[int],
    aggregate_function: int = 1,
    membership_values: NumpyArray | None = None,
    n_targets: int | None = None,
    nodes_hitrates: NumpyArray | None = None,
    nodes_missing_value_tracks_true: list[int] | None = None,
    post_transform: int = 0,
    context: Context,
) -> Any:
    """Trees whose nodes and leaves are numbered over all; a tree of one leaf is a node with it twice."""
    inner, leaves = len(nodes_featureids), len(leaf_targetids)
    splits = np.asarray(nodes_splits).reshape(-1)
    places: list[NumpyArray] = []
    for ids, are_leaves in ((nodes_truenodeids, nodes_trueleafs), (nodes_falsenodeids, nodes_falseleafs)):
        if not len(ids) == len(are_leaves) == inner:
            raise TenonError(f"{inner} nodes, that go to {len(ids)} nodes and {len(are_leaves)} leaves")
        at, is_leaf = _array(ids, np.int64), _array(are_leaves, np.int64) != 0
        if inner and not np.all((at >= 0) & (at < np.where(is_leaf, leaves, inner))):
            raise TenonError(
                f"a node goes to a node that is not there (there are {inner}, and {leaves} leaves)"
            )
        places.append(np.concatenate([np.where(is_leaf, at + inner, at), np.arange(leaves) + inner]))
    modes, roots = _array(nodes_modes, np.int64), _array(tree_roots, np.int64)
    if len(modes) != inner:
        raise TenonError(f"{inner} nodes, and {len(modes)} modes")
    if np.any(roots >= inner):
        raise TenonError(f"a tree begins at a node that is not there (there are {inner})")
    padding = np.zeros(leaves, np.int64)
    trees = Trees(
        roots,
        np.concatenate([_array(nodes_featureids, np.int64), padding]),
        np.concatenate([modes, padding]),
        np.concatenate([splits, padding.astype(splits.dtype)]),
        places[0],
        places[1],
        np.concatenate([_array(nodes_missing_value_tracks_true or [0] * inner, np.bool_), padding != 0]),
        np.arange(inner + leaves) >= inner,
        _members(np.flatnonzero(modes == COMPARISONS.index("MEMBER")), membership_values, inner + leaves),
    )
    at = trees.leaves(x, context)
    weights = Weights(
        np.arange(leaves) + inner, _array(leaf_targetids, np.int64), np.asarray(leaf_weights).reshape(-1)
    )
    count = n_targets if n_targets is not None else max(leaf_targetids, default=0) + 1
    total = weights.total(
        at, count, inner + leaves, _chosen(AGGREGATES, "aggregate_function", aggregate_function), context
    )
    return tnp.astype(_transformed(total, _chosen(_TRANSFORMS, "post_transform", post_transform)), x.dtype)


def _older(
    x: Any,
    context: Context,
    ids: Sequence[Sequence[int]],
    modes: Sequence[str],
    values: NumpyArray,
    features: Sequence[int],
    missing: Sequence[int],
) -> tuple[Any, dict[tuple[int, int], int]]:
    """
    Returns the leaves of rows, and the numbers of nodes, each of which is named by its tree and a number.
    `ids` are the trees, the nodes, and where these go to.
    """
    of_trees, of_nodes, on_true, on_false = ids
    count = len(of_nodes)
    if any(len(each) != count for each in (of_trees, on_true, on_false, modes, features)):
        raise TenonError(f"{count} nodes, and attributes of other lengths")
    pairs = {pair: number for number, pair in enumerate(zip(of_trees, of_nodes, strict=True))}
    if len(pairs) != count:
        raise TenonError("two nodes of a tree have one number")
    names = [mode.removeprefix("BRANCH_") for mode in modes]
    for name in names:
        if name != "LEAF":
            _chosen(COMPARISONS[:6], "a mode of nodes", name)
    itself = np.arange(count)
    is_leaf = np.array([name == "LEAF" for name in names], np.bool_)
    places: list[NumpyArray] = []
    for goes in (on_true, on_false):
        aim = [own if leaf else other for own, leaf, other in zip(of_nodes, is_leaf, goes, strict=True)]
        places.append(np.where(is_leaf, itself, numbered(pairs, of_trees, aim)))
    # A tree begins at its first node.
    _, roots = np.unique(_array(of_trees, np.int64), return_index=True)
    trees = Trees(
        roots,
        np.where(is_leaf, 0, _array(features, np.int64)),
        np.array([0 if name == "LEAF" else COMPARISONS.index(name) for name in names], np.int64),
        values if len(values) else np.zeros(count, np.float32),
        places[0],
        places[1],
        _array(missing or [0] * count, np.bool_),
        is_leaf,
    )
    floats = x if x.dtype.kind == "f" else tnp.astype(x, np.dtype(np.float32))
    return trees.leaves(floats, context), pairs


def _either(numbers: Any, tensor: Any) -> NumpyArray:
    """Returns floats, or what stands for them in newer versions."""
    return _array(numbers, np.float32) if tensor is None else np.asarray(tensor).reshape(-1)


def _with_base(total: Any, base: NumpyArray, context: Context) -> Any:
    if not len(base):
        return total
    if len(base) not in (1, total.shape[1]):
        raise TenonError(f"{len(base)} base values for {total.shape[1]} targets")
    return tnp.add(total, context.lift(base))


@onnx_op("TreeEnsembleRegressor", domain=_DOMAIN)
def tree_ensemble_regressor(
    x: Any,
    *,
    aggregate_function: str = "SUM",
    base_values: Any = None,
    base_values_as_tensor: Any = None,
    n_targets: int = 1,
    nodes_falsenodeids: list[int],
    nodes_featureids: list[int],
    nodes_hitrates: Any = None,
    nodes_hitrates_as_tensor: Any = None,
    nodes_missing_value_tracks_true: Any = None,
    nodes_modes: list[str],
    nodes_nodeids: list[int],
    nodes_treeids: list[int],
    nodes_truenodeids: list[int],
    nodes_values: Any = None,
    nodes_values_as_tensor: Any = None,
    post_transform: str = "NONE",
    target_ids: list[int],
    target_nodeids: list[int],
    target_treeids: list[int],
    target_weights: Any = None,
    target_weights_as_tensor: Any = None,
    context: Context,
) -> Any:
    at, pairs = _older(
        x,
        context,
        (nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids),
        nodes_modes,
        _either(nodes_values, nodes_values_as_tensor),
        nodes_featureids,
        nodes_missing_value_tracks_true,
    )
    values = _either(target_weights, target_weights_as_tensor)
    weights = Weights(numbered(pairs, target_treeids, target_nodeids), _array(target_ids, np.int64), values)
    aggregate = _chosen(AGGREGATES, "aggregate_function", aggregate_function)
    total = weights.total(at, n_targets, len(pairs), aggregate, context)
    total = _with_base(total, _either(base_values, base_values_as_tensor), context)
    found = _transformed(total, _chosen(_TRANSFORMS, "post_transform", post_transform))
    return tnp.astype(found, np.dtype(np.float32))


@onnx_op("TreeEnsembleClassifier", domain=_DOMAIN)
def tree_ensemble_classifier(
    x: Any,
    *,
    base_values: Any = None,
    base_values_as_tensor: Any = None,
    class_ids: list[int],
    class_nodeids: list[int],
    class_treeids: list[int],
    class_weights: Any = None,
    class_weights_as_tensor: Any = None,
    classlabels_int64s: list[int] | None = None,
    nodes_falsenodeids: list[int],
    nodes_featureids: list[int],
    nodes_hitrates: Any = None,
    nodes_hitrates_as_tensor: Any = None,
    nodes_missing_value_tracks_true: Any = None,
    nodes_modes: list[str],
    nodes_nodeids: list[int],
    nodes_treeids: list[int],
    nodes_truenodeids: list[int],
    nodes_values: Any = None,
    nodes_values_as_tensor: Any = None,
    post_transform: str = "NONE",
    context: Context,
) -> tuple[Any, Any]:
    """The label with the greatest score, and all scores. Labels that are text are not supported."""
    labels = _array(classlabels_int64s, np.int64)
    if len(labels) < 2:
        raise TenonError(f"{len(labels)} labels, expected two or more integers")
    if len(set(class_ids)) == 1:
        raise TenonError("all weights are of one class, where libraries differ in what the others get")
    at, pairs = _older(
        x,
        context,
        (nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids),
        nodes_modes,
        _either(nodes_values, nodes_values_as_tensor),
        nodes_featureids,
        nodes_missing_value_tracks_true,
    )
    values = _either(class_weights, class_weights_as_tensor)
    weights = Weights(numbered(pairs, class_treeids, class_nodeids), _array(class_ids, np.int64), values)
    total = weights.total(at, len(labels), len(pairs), "SUM", context)
    total = _with_base(total, _either(base_values, base_values_as_tensor), context)
    chosen = tnp.take(context.lift(labels), tnp.argmax(total, axis=1), axis=0)
    scores = _transformed(total, _chosen(_TRANSFORMS, "post_transform", post_transform))
    return chosen, tnp.astype(scores, np.dtype(np.float32))

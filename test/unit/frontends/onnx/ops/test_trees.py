"""Trees of decisions, beside a walk through their nodes in Python; and what is wrong with them."""

from __future__ import annotations

import operator
import time
from typing import Any

import numpy as np
import pytest
from tenon.errors import TenonError
from tenon.frontends.onnx.ops.trees import Trees
from tenon.test.unit.frontends.onnx.models import Array
from tenon.test.unit.frontends.onnx.ops.test_optimizers import run_in

ML = "ai.onnx.ml"

X = np.array([[1, 5], [2, 5], [3, -1], [np.nan, 0], [2, np.nan]], np.float32)

HOW = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}

# Two trees: 0 asks feature 0, then feature 1; the other one is asked once. Nodes of a tree are in no order.
NODES: dict[str, Any] = {
    "nodes_treeids": [0, 0, 0, 0, 0, 7, 7, 7],
    "nodes_nodeids": [4, 1, 2, 3, 0, 0, 1, 2],
    "nodes_featureids": [0, 0, 1, 0, 0, 1, 0, 0],
    "nodes_values": [2.0, 0.0, 4.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 3, 0, 0, 1, 0, 0],
    "nodes_falsenodeids": [2, 0, 0, 0, 0, 2, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_GT", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
}

LEAVES: dict[str, Any] = {
    "treeids": [0, 0, 0, 0, 7, 7],
    "nodeids": [1, 3, 0, 0, 1, 2],
    "ids": [0, 1, 0, 1, 1, 0],
    "weights": [1.5, -2.0, 0.25, 3.0, 10.0, -20.0],
}


def given(kind: str, **changed: Any) -> dict[str, Any]:
    return {**NODES, **{f"{kind}_{key}": each for key, each in LEAVES.items()}, **changed}


def walked(nodes: dict[str, Any], row: Array) -> list[tuple[int, float]]:
    """Returns the targets and weights of the leaves that a row ends at."""
    found: list[tuple[int, float]] = []
    for tree in (0, 7):
        here = nodes["nodes_treeids"].index(tree)
        while nodes["nodes_modes"][here] != "LEAF":
            value = row[nodes["nodes_featureids"][here]]
            goes_on = HOW[nodes["nodes_modes"][here]](value, nodes["nodes_values"][here])
            goes_on = goes_on or (
                np.isnan(value) and nodes.get("nodes_missing_value_tracks_true", [0] * 8)[here]
            )
            to = nodes["nodes_truenodeids" if goes_on else "nodes_falsenodeids"][here]
            here = next(
                k for k in range(8) if (nodes["nodes_treeids"][k], nodes["nodes_nodeids"][k]) == (tree, to)
            )
        place = (tree, nodes["nodes_nodeids"][here])
        for pair, target, weight in zip(
            zip(LEAVES["treeids"], LEAVES["nodeids"], strict=True),
            LEAVES["ids"],
            LEAVES["weights"],
            strict=True,
        ):
            if pair == place:
                found.append((target, weight))
    return found


def together(nodes: dict[str, Any], aggregate: str) -> Array:
    found = np.zeros((len(X), 2))
    for number, row in enumerate(X):
        for target in range(2):
            weights = [weight for at, weight in walked(nodes, row) if at == target]
            if weights:
                found[number, target] = {"MIN": min, "MAX": max}.get(aggregate, sum)(weights)
    return found / 2 if aggregate == "AVERAGE" else found


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("mode", HOW)
def test_a_regressor_of_trees(mode: str, aggregate: str):
    modes = [mode if each == "BRANCH_LEQ" else each for each in NODES["nodes_modes"]]
    options = given("target", nodes_modes=modes, nodes_missing_value_tracks_true=[1, 0, 0, 0, 0, 1, 0, 0])
    expected = together(options, aggregate)
    options |= {"aggregate_function": aggregate, "n_targets": 2, "base_values": [0.5, -1.0]}
    (found,) = run_in(ML, 3, "TreeEnsembleRegressor", [X], 1, **options)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected + np.array([0.5, -1]), rtol=1e-6)


@pytest.mark.parametrize("transform", ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"])
def test_a_classifier_of_trees(transform: str):
    options = given("class", classlabels_int64s=[-7, 4], post_transform=transform)
    options["class_weights"] = [each / 100 + 0.3 for each in LEAVES["weights"]]
    scores = run_in(ML, 3, "TreeEnsembleRegressor", [X], 1, n_targets=2, **{
        key.replace("class_", "target_"): each
        for key, each in options.items()
        if key not in ("classlabels_int64s", "post_transform")
    })[0].astype(np.float64)  # fmt: skip
    labels, found = run_in(ML, 3, "TreeEnsembleClassifier", [X], 2, **options)
    np.testing.assert_array_equal(labels, np.array([-7, 4])[scores.argmax(1)])
    powers = np.exp(scores - scores.max(1, keepdims=True))
    zeros = np.where(scores == 0, 0, powers)
    inner = (1 - (2 * scores - 1)) * (2 * scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        half = 2 / (np.pi * 0.147) + np.log(inner) / 2
        probit = np.sign(2 * scores - 1) * np.sqrt(np.sqrt(half * half - np.log(inner) / 0.147) - half)
    expected = {
        "NONE": scores,
        "SOFTMAX": powers / powers.sum(1, keepdims=True),
        "LOGISTIC": 1 / (1 + np.exp(-scores)),
        "SOFTMAX_ZERO": zeros / zeros.sum(1, keepdims=True),
        "PROBIT": probit * 2**0.5,
    }[transform]
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)


def ensemble(**changed: Any) -> dict[str, Any]:
    """Returns two trees: feature 0 is among 1 and 3, else feature 1 is at most 2; and a leaf."""
    return {
        "nodes_featureids": [0, 1, 0],
        "nodes_modes": np.array([6, 0, 0], np.uint8),
        "nodes_splits": np.array([0, 2, 0], np.float32),
        "nodes_truenodeids": [0, 1, 2],
        "nodes_trueleafs": [1, 1, 1],
        "nodes_falsenodeids": [1, 2, 2],
        "nodes_falseleafs": [0, 1, 1],
        "membership_values": np.array([1, 3, np.nan], np.float32),
        "leaf_targetids": [0, 1, 0],
        "leaf_weights": np.array([5, 7, -1], np.float32),
        "tree_roots": [0, 2],
        "n_targets": 2,
        **changed,
    }


def ensembled(**changed: Any) -> Array:
    from onnx import numpy_helper

    options = {
        key: numpy_helper.from_array(each) if isinstance(each, np.ndarray) else each
        for key, each in ensemble(**changed).items()
    }
    return run_in(ML, 5, "TreeEnsemble", [X], 1, **options)[0]


def test_trees_with_members():
    expected = [[4, 0], [-2, 0], [4, 0], [-1, 7], [-2, 0]]
    np.testing.assert_array_equal(ensembled(), expected)
    np.testing.assert_array_equal(
        ensembled(aggregate_function=3), [[5, 0], [-1, 0], [5, 0], [-1, 7], [-1, 0]]
    )


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tree_roots": [-1]}, "a node goes to a node that is not there"),
    ({"nodes_falsenodeids": [9, 2, 2]}, "a node goes to a node that is not there"),
    ({"nodes_falsenodeids": [0, 2, 2]}, "a tree goes round in a circle"),
    ({"nodes_truenodeids": [0, 1, 2], "nodes_trueleafs": [0, 1, 1]}, "a tree goes round in a circle"),
    ({"tree_roots": [0, 3]}, "a tree begins at a node that is not there"),
    ({"nodes_modes": np.array([6, 0, 0, 0, 0, 0, 6], np.uint8)}, "3 nodes, and 7 modes"),
    ({"nodes_featureids": [0, 2, 0]}, "a node asks for a feature that is not there"),
    ({"nodes_featureids": [0, 1]}, "2 nodes, that go to 3 nodes"),
    ({"nodes_modes": np.array([6, 9, 0], np.uint8)}, "a comparison is none of LEQ"),
    ({"nodes_splits": np.array([0, 2], np.float32)}, "nodes, and attributes of"),
    ({"membership_values": np.array([1, 3], np.float32)}, "1 nodes look for members, and there are 0 lists"),
    ({"leaf_targetids": [0, 2, 0]}, "a weight is of a target that is not there"),
    ({"leaf_weights": np.array([5, 7], np.float32)}, "3 targets, 2 weights"),
    ({"aggregate_function": 4}, "aggregate_function is 4, expected one of AVERAGE"),
    ({"n_targets": 1 << 40}, "weights of leaves: .* elements, expected"),
]


@pytest.mark.parametrize(("changed", "message"), WRONG, ids=[message for _, message in WRONG])
def test_trees_that_are_wrong(changed: dict[str, Any], message: str):
    with pytest.raises(TenonError, match=message):
        ensembled(**changed)


OLDER: list[tuple[dict[str, Any], str]] = [
    ({"nodes_falsenodeids": [9, 0, 0, 0, 0, 2, 0, 0]}, "there is no node 9 in tree 0"),
    ({"nodes_truenodeids": [4, 0, 3, 0, 0, 1, 0, 0]}, "a tree goes round in a circle"),
    ({"nodes_nodeids": [4, 1, 2, 3, 3, 0, 1, 2]}, "two nodes of a tree have one number"),
    ({"nodes_modes": ["BRANCH_LEQ", "LEAF"]}, "8 nodes, and attributes of other lengths"),
    ({"nodes_modes": ["BRANCH_MEMBER", *NODES["nodes_modes"][1:]]}, "a mode of nodes is 'MEMBER'"),
    ({"class_nodeids": [1, 3]}, "6 trees of nodes, and 2 nodes"),
    ({"class_ids": [1] * 6}, "all weights are of one class"),
    ({"classlabels_int64s": [3]}, "1 labels, expected two or more integers"),
    ({"base_values": [1.0, 2.0, 3.0]}, "3 base values for 2 targets"),
]


@pytest.mark.parametrize(("changed", "message"), OLDER, ids=[message for _, message in OLDER])
def test_older_trees_that_are_wrong(changed: dict[str, Any], message: str):
    with pytest.raises(TenonError, match=message):
        run_in(
            ML,
            3,
            "TreeEnsembleClassifier",
            [X],
            2,
            **{**given("class", classlabels_int64s=[1, 2]), **changed},
        )


def test_no_trees_are_none():
    none = np.zeros(0, np.int64)
    trees = Trees(none, none, none, none.astype(np.float32), none, none, none > 0, none > 0)
    with pytest.raises(TenonError, match="there are no trees"):
        trees.check()


def test_a_large_circle_is_found_at_once():
    count = 20_000
    zeros, nodes = np.zeros(count, np.int64), np.arange(count)
    others = np.random.default_rng(0).integers(0, count, count)
    trees = Trees(
        zeros[:1], zeros, zeros, zeros, (nodes + 1) % count, others, zeros > 0, nodes == count, None
    )
    start = time.process_time()
    with pytest.raises(TenonError, match="a tree goes round in a circle"):
        trees.check()
    assert time.process_time() - start < 5


def test_trees_ask_rows():
    with pytest.raises(TenonError, match="expected rows of a known number of features"):
        run_in(ML, 3, "TreeEnsembleRegressor", [X[0]], 1, **given("target", n_targets=2))

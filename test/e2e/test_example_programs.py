"""examples/programs: each program gives what its numpy version gives, on every backend."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.random as trandom

FOLDER = Path(tenon.__file__).parent / "examples" / "programs"
sys.path.insert(0, str(FOLDER))

import clusters  # noqa: E402
import transformer  # noqa: E402

BACKENDS = ["llvm", "opencl", "reference"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_clusters_are_those_of_numpy(backend: str, dtype: Any):
    find = tenon.jit(clusters.clusters, static_argnames=("count", "most_steps"), backend=backend)
    points = clusters.blobs(60, 3, dtype)
    key = trandom.key(5)
    centres, labels, steps = find(key, points, count=3)
    first = points[np.asarray(trandom.permutation(key, 60))[:3]]
    expected, expected_labels, expected_steps = clusters.clusters_of_numpy(first, points)
    assert centres.dtype == dtype
    np.testing.assert_allclose(np.asarray(centres), expected, rtol=1e-5)
    np.testing.assert_array_equal(np.asarray(labels), expected_labels)
    assert int(steps) == expected_steps > 1


def test_clusters_end_after_the_most_steps():
    points = clusters.blobs(60, 3)
    _, _, steps = clusters.find_clusters(trandom.key(5), points, count=3, most_steps=1)
    assert int(steps) == 1


def test_a_centre_without_points_stays():
    points = np.array([[0.0, 0.0], [0.0, 0.0], [4.0, 0.0]])
    centres = np.array([[1.0, 0.0], [4.0, 0.0], [9.0, 9.0]])
    labels = clusters.nearest(points, tenon.numpy.asarray(centres))
    moved = clusters.means(points, labels, tenon.numpy.asarray(centres))
    assert np.asarray(moved).tolist() == [[0.0, 0.0], [4.0, 0.0], [9.0, 9.0]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_one_transformer_serves_all_lengths(backend: str):
    weights = transformer.random_weights(width=16, heads=2, layers=3)
    dims = {"tokens": {0: transformer.TOKENS}}
    predict = tenon.jit(transformer.next_token, dynamic=dims, backend=backend)
    for length in (1, 2, 9) if backend != "llvm" else (*range(1, 20), 128):
        tokens = np.arange(length) * 7 % transformer.VOCABULARY
        found = np.asarray(predict(tokens, weights))
        assert found.dtype == np.float32
        expected = transformer.next_token_of_numpy(tokens, weights)
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-7)
    assert len(predict.explain_misses()) == 1


def test_a_token_sees_none_after_it():
    weights = transformer.random_weights(width=16, heads=2, layers=2)
    tokens = np.arange(8)
    short, long = transformer.predict(tokens[:5], weights), transformer.predict(tokens, weights)
    np.testing.assert_allclose(np.asarray(short), np.asarray(long)[:5], rtol=1e-5)


def test_drawn_tokens_have_their_probabilities():
    probabilities = np.array([0.5, 0.0, 0.25, 0.25], np.float32)
    key = trandom.key(0)
    draw = tenon.jit(lambda step: transformer.drawn(trandom.fold_in(key, step), probabilities))
    counts = np.bincount([int(draw(step)) for step in range(2000)], minlength=4)
    assert counts[1] == 0
    np.testing.assert_allclose(counts / 2000, probabilities, atol=0.05)


@pytest.mark.parametrize("name", ["clusters", "transformer"])
def test_programs_run_as_commands(name: str):
    root = Path(tenon.__file__).parent
    found = subprocess.run(
        [sys.executable, f"examples/programs/{name}.py"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout

"""
k-means: points find their nearest centre, centres become the means of their points, until none moves.

The loop is one of the program (`tenon.while_loop`), and the first centres are drawn with a key.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import tenon
import tenon.numpy as tnp
import tenon.random as trandom

NumpyArray = npt.NDArray[Any]


def nearest(points: Any, centres: Any) -> Any:
    """Returns the number of the nearest centre of each point, the first of equally near ones."""
    offsets = points[:, None, :] - centres[None, :, :]
    return tnp.argmin(tnp.sum(offsets**2, axis=-1), axis=1)


def means(points: Any, labels: Any, centres: Any) -> Any:
    """Returns the mean of the points of each label, the old centre where it has none."""
    members = tnp.astype(labels[None, :] == tnp.arange(centres.shape[0])[:, None], points.dtype)
    counts = tnp.sum(members, axis=1, keepdims=True)
    return tnp.where(counts > 0, members @ points / tnp.maximum(counts, 1), centres)


def clusters(key: Any, points: Any, count: int, most_steps: int = 100) -> tuple[Any, Any, Any]:
    """Returns the centres, the label of each point, and how many steps were made until no centre moved."""

    def moves(state: Any) -> Any:
        _, moved, steps = state
        return moved & (steps < most_steps)

    def step(state: Any) -> Any:
        centres, _, steps = state
        following = means(points, nearest(points, centres), centres)
        return following, tnp.any(following != centres), steps + 1

    first = tnp.take(points, trandom.permutation(key, points.shape[0])[:count], axis=0)
    centres, _, steps = tenon.while_loop(moves, step, (first, True, 0))
    return centres, nearest(points, centres), steps


find_clusters = tenon.jit(clusters, static_argnames=("count", "most_steps"))


def clusters_of_numpy(first: NumpyArray, points: NumpyArray, most_steps: int = 100) -> tuple[Any, Any, int]:
    """The same in numpy, from the centres `first` on."""
    centres = first

    def labels() -> NumpyArray:
        return np.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1).argmin(axis=1)

    for step in range(most_steps):
        members = (labels()[None, :] == np.arange(len(centres))[:, None]).astype(points.dtype)
        counts = members.sum(axis=1, keepdims=True)
        following = np.where(counts > 0, members @ points / np.maximum(counts, 1), centres)
        moved, centres = bool(np.any(following != centres)), following
        if not moved:
            return centres, labels(), step + 1
    return centres, labels(), most_steps


def blobs(point_count: int, blob_count: int, dtype: npt.DTypeLike = np.float64) -> NumpyArray:
    """Returns points around the corners of a circle's polygon."""
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, blob_count, endpoint=False)[np.arange(point_count) % blob_count]
    around = rng.normal(scale=0.1, size=(point_count, 2))
    return (np.stack([np.cos(angles), np.sin(angles)], axis=1) + around).astype(dtype)


def main() -> None:
    points = blobs(4000, 5)
    centres, labels, steps = find_clusters(trandom.key(7), points, count=5)
    print(f"{int(steps)} steps; the centres have {np.bincount(np.asarray(labels)).tolist()} points")
    for x, y in np.asarray(centres):
        print(f"  {x:6.3f} {y:6.3f}")


if __name__ == "__main__":
    main()

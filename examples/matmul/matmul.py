"""
A product of matrices that are split in both dims, over a grid of ranks, and the same on one rank.

    mpiexec -n 4 python examples/matmul/matmul.py --mesh 2 2

Prints how long a product takes, saves a picture of who has what, and compares the result with that of one
rank: the exit status is 1 where they differ by more than rounding explains.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tenon


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A product of matrices over a grid of ranks.")
    parser.add_argument("--extent", type=int, default=512, help="of each dim (default: %(default)s)")
    parser.add_argument("--mesh", type=int, nargs=2, help="ranks along rows and columns (default: as square)")
    parser.add_argument("--output", type=Path, default=Path("out"), help="the folder for the picture")
    options = parser.parse_args()
    ranks = tenon.current_world().size
    rows = max(count for count in range(1, ranks + 1) if ranks % count == 0 and count * count <= ranks)
    options.mesh = tuple(options.mesh or (rows, ranks // rows))
    return options


def matrix(seed: int, index: tuple[slice, ...], extent: int) -> np.ndarray[Any, Any]:
    """Returns a part of a matrix whose rows are drawn one by one, so that no rank draws the others' rows."""
    rows, columns = index
    drawn = [
        np.random.default_rng((seed, row)).standard_normal(extent) for row in range(rows.start, rows.stop)
    ]
    return np.stack(drawn)[:, columns].astype(np.float32)


def product(a: Any, b: Any, result: tenon.Sharding) -> Any:
    return tenon.shard(a @ b, result)


def multiplied(extent: int, axes: tuple[int, int]) -> tuple[tenon.ShardedArray, float]:
    """Returns a product on a mesh of these extents, and the seconds that it took."""
    mesh = tenon.Mesh(axes, ("rows", "columns"))
    blocks = tenon.sharding(mesh, "rows", "columns")
    shape = (extent, extent)
    a = tenon.shard_from(lambda index: matrix(1, index, extent), shape, np.float32, blocks)
    b = tenon.shard_from(lambda index: matrix(2, index, extent), shape, np.float32, blocks)
    program = tenon.jit(lambda a, b: product(a, b, blocks))
    program(a, b)
    start = time.perf_counter()
    result = program(a, b)
    return result, time.perf_counter() - start


def main() -> bool:
    """Does the job. Returns whether all ranks together give what one gives, within rounding."""
    options = parse_arguments()
    extent = options.extent
    result, seconds = multiplied(extent, options.mesh)
    found = tenon.gather(result).numpy()
    mesh = result.sharding.mesh
    if mesh.rank:
        return True
    ((alone, seconds_alone),) = tenon.run_ranks(1, multiplied, extent, (1, 1))
    wanted = alone.local.numpy()
    # A sum of products in any order is off by at most so many roundings of the sum of their magnitudes.
    every = (slice(0, extent),) * 2
    magnitude = np.abs(matrix(1, every, extent)) @ np.abs(matrix(2, every, extent))
    bound = 2 * extent * float(np.finfo(np.float32).eps) * magnitude
    agrees = bool(np.all(np.abs(found - wanted) <= bound))
    print(f"{mesh.size} ranks, {mesh}: {seconds * 1e3:.3f} ms; one rank: {seconds_alone * 1e3:.3f} ms")
    print(f"largest difference: {np.max(np.abs(found - wanted)):.3g} (bound {np.min(bound):.3g} and up)")
    print(f"within the bound: {agrees}")
    save_picture(options.output / "matmul.png", found, result.sharding)
    return agrees


def save_picture(path: Path, result: np.ndarray[Any, Any], parts: tenon.Sharding) -> None:
    """Saves a picture of the product and of which rank has which block, where matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed (hint: pip install 'tenon[pictures]')")
        return
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    axes.set_title(f"a product of matrices, on {parts.mesh.size} ranks")
    figure.colorbar(axes.imshow(result, cmap="viridis"), ax=axes)
    for rank in range(parts.mesh.size):
        rows, columns = parts.box(result.shape, rank)
        axes.axhline(rows.start - 0.5, color="white")
        axes.axvline(columns.start - 0.5, color="white")
        middle = ((columns.start + columns.stop) / 2, (rows.start + rows.stop) / 2)
        axes.text(*middle, f"rank {rank}", color="white", ha="center", va="center")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"saved {path}")


if __name__ == "__main__":
    sys.exit(not main())

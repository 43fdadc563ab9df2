"""
Heat that spreads in a cube, over any number of ranks or devices, and the same on one.

    mpiexec -n 4 python examples/heat/heat.py
    python examples/heat/heat.py --devices 2

Each has a slab of the cube and gets a plane of each neighbour's in every step. Prints how long a step
takes, saves a picture, and compares the result with that of one bit by bit: the exit status is 1 where they
differ.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tenon
import tenon.numpy as tnp

RATE = 0.1
"""How much of the difference to its neighbours an element takes on in a step; up to 1/6 is stable."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Heat that spreads in a cube, over all ranks or devices.")
    parser.add_argument("--extent", type=int, default=96, help="of each side (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=50, help="how many (default: %(default)s)")
    parser.add_argument("--mesh", type=int, nargs="+", help="ranks along each axis (default: slabs)")
    parser.add_argument("--devices", type=int, help="how many of this process, in place of ranks")
    parser.add_argument("--backend", default="llvm", help="of these devices (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=Path("out"), help="the folder for the picture")
    options = parser.parse_args()
    if options.extent < 2 or options.steps < 1:
        parser.error("--extent is at least 2, --steps at least 1")
    options.mesh = tuple(options.mesh or [options.devices or tenon.current_world().size])
    return options


def hot_corner(index: tuple[slice, ...], extent: int) -> np.ndarray[Any, Any]:
    """Returns a part of the cube as it begins: hot around a place that is not the middle."""
    planes = np.ogrid[index]
    middle = (0.3, 0.4, 0.5)
    distance = sum((plane / extent - place) ** 2 for plane, place in zip(planes, middle, strict=True))
    return np.exp(-60 * distance).astype(np.float32)


def spread(u: Any, steps: int) -> Any:
    """Returns the cube after some steps; around it all is cold."""

    def step(_: Any, u: Any) -> Any:
        around = tnp.pad(u, 1)
        inside = slice(1, -1)
        total = -6 * u
        for axis in range(3):
            for shifted in (slice(None, -2), slice(2, None)):
                index = [inside] * 3
                index[axis] = shifted
                total = total + around[tuple(index)]
        return u + RATE * total

    return tenon.fori_loop(0, steps, step, u)


def cube_after(
    extent: int, steps: int, axes: tuple[int, ...], devices: Any = None
) -> tuple[tenon.ShardedArray, float]:
    """Returns the cube after some steps, on a mesh of these extents, and the seconds that they took."""
    mesh = tenon.Mesh(axes, ("x", "y", "z")[: len(axes)], devices=devices)
    parts = tenon.sharding(mesh, *mesh.axis_names)
    u = tenon.shard_from(lambda index: hot_corner(index, extent), (extent,) * 3, np.float32, parts)
    program = tenon.jit(spread, static_argnames="steps")
    program(u, steps=steps)
    start = time.perf_counter()
    result = program(u, steps=steps)
    return result, time.perf_counter() - start


def main() -> bool:
    """Does the job. Returns whether all ranks or devices together give what one gives."""
    options = parse_arguments()
    devices = None
    if options.devices is not None:
        devices = tenon.open_platform(options.backend, num_devices=options.devices).devices
    result, seconds = cube_after(options.extent, options.steps, options.mesh, devices)
    found = tenon.gather(result).numpy()
    mesh = result.sharding.mesh
    if 0 not in mesh.here:
        return True
    if devices is None:
        what = "rank"
        ((alone, seconds_alone),) = tenon.run_ranks(1, cube_after, options.extent, options.steps, (1,))
    else:
        what = "device"
        alone, seconds_alone = cube_after(options.extent, options.steps, (1,), devices[:1])
    is_same = np.array_equal(found, tenon.gather(alone).numpy())
    each = 1e3 / options.steps
    print(
        f"{mesh.size} {what}s, {mesh}: {seconds * each:.3f} ms a step; one {what}: "
        f"{seconds_alone * each:.3f} ms"
    )
    print(f"the same bits as on one {what}: {is_same}")
    save_picture(options.output / "heat.png", found, result.sharding)
    return is_same


def save_picture(path: Path, cube: np.ndarray[Any, Any], parts: tenon.Sharding) -> None:
    """Saves a picture of the middle plane, with the borders of ranks, where matplotlib is installed."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: matplotlib is not installed (hint: pip install 'tenon[pictures]')")
        return
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.subplots()
    axes.set_title(f"heat in a cube, in {parts.mesh.size} parts")
    figure.colorbar(axes.imshow(cube[:, :, cube.shape[2] // 2], cmap="inferno"), ax=axes)
    for rank in range(parts.mesh.size):
        rows, columns, _ = parts.box(cube.shape, rank)
        axes.axhline(rows.start - 0.5, color="white", linewidth=0.5)
        axes.axvline(columns.start - 0.5, color="white", linewidth=0.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"saved {path}")


if __name__ == "__main__":
    sys.exit(not main())

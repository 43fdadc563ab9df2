"""
Trains the digits model on one device and on several, and compares the parameters that come out.

Prints the loss of every step of both, the accuracy of both on digits held out, and the largest difference of
a parameter beside the bound for rounding; saves a plot of the losses and a timeline. The exit status is 1
where the parameters differ by more than the bound.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tenon
from data_parallel import DataParallel, compile_step, load_data
from shards import SHARD_COUNT, SHARD_SIZE, Array, initial_parameters, load_digits

MODEL = Path(__file__).parent.parent / "digits" / "digits.mlir"
LEARNING_RATE = 0.2


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Trains the digits model on one device and on several.")
    parser.add_argument("--devices", type=int, default=2, help="how many (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=30, help="steps of training (default: %(default)s)")
    parser.add_argument(
        "--backend", choices=tenon.BACKENDS, default="llvm", help="what to run on (default: %(default)s)"
    )
    parser.add_argument(
        "--batch", type=int, default=96, help=f"images per step, in {SHARD_SIZE}s (default: %(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("out"), help="the folder for plot and timeline (default: out)"
    )
    options = parser.parse_args()
    if options.devices < 2:
        parser.error(f"--devices is {options.devices}, which leaves nothing to compare (at least 2)")
    if options.steps < 1:
        parser.error(f"--steps is {options.steps} (at least 1)")
    shards, rest = divmod(options.batch, SHARD_SIZE)
    if rest or not options.devices <= shards <= SHARD_COUNT:
        parser.error(
            f"--batch is {options.batch}: expected a multiple of {SHARD_SIZE} from "
            f"{options.devices * SHARD_SIZE} (a shard for every device) to {SHARD_COUNT * SHARD_SIZE}"
        )
    return options


def largest_difference(left: Mapping[str, Array], right: Mapping[str, Array]) -> float:
    """Returns it over all parameters; NaN where one of them is NaN."""
    return float(np.max([np.max(np.abs(left[name] - right[name])) for name in left]))


def rounding_bound(parameters: Mapping[str, Array], steps: int, shards_per_step: int) -> float:
    """
    Returns by how much two runs may differ in a parameter that add up the shards' gradients in different
    orders.

    A step rounds `shards_per_step - 1` sums of gradients, their product with the rate, and the difference
    that is the new parameter: each time by at most half an epsilon of a number that, times the rate, is no
    larger than the largest parameter, in each of the runs. While the rate is small enough for the loss to
    fall, a step makes the distance of two nearby runs no larger, so the errors of all steps add up.
    """
    largest = max(float(np.max(np.abs(value))) for value in parameters.values())
    return steps * (shards_per_step + 1) * float(np.finfo(np.float32).eps) * largest


def train(options: argparse.Namespace) -> bool:
    """Does the job. Returns whether both runs agree within rounding."""
    scheduler = None if options.backend == "opencl" else "multicore"
    platform = tenon.open_platform(options.backend, scheduler=scheduler, num_devices=options.devices)
    shards_per_step = options.batch // SHARD_SIZE
    digits = load_digits()

    losses: dict[str, list[float]] = {}
    results: dict[str, dict[str, Array]] = {}
    with tenon.record_timeline() as timeline:
        code = compile_step(platform)
        contexts = load_data(code, platform.devices, digits)
        for used in (contexts[:1], contexts):
            name = "1 device" if len(used) == 1 else f"{len(used)} devices"
            trainer = DataParallel(
                code,
                used,
                initial_parameters(),
                shards_per_step=shards_per_step,
                learning_rate=LEARNING_RATE,
            )
            losses[name] = [trainer.step(number) for number in range(options.steps)]
            results[name] = trainer.values()
    timeline.save(options.output / "data_parallel.json")
    print(f"timeline: {options.output / 'data_parallel.json'} (for ui.perfetto.dev)")

    one, many = results.values()
    print(f"step  {'  '.join(name.rjust(12) for name in losses)}    mean cross-entropy")
    for number, pair in enumerate(zip(*losses.values(), strict=True)):
        print(f"{number:4d}  {'  '.join(f'{loss:12.8f}' for loss in pair)}")
    model = tenon.compile(MODEL.read_text(), backend=options.backend, filename=str(MODEL))
    for name, parameters in results.items():
        predictions = np.asarray(model(images=digits.held_out_images, **parameters)).argmax(axis=1)
        accuracy = float(np.mean(predictions == digits.held_out_labels))
        print(f"{name}: accuracy {accuracy:.2%} on {len(predictions)} held-out images")

    difference = largest_difference(one, many)
    bound = rounding_bound(one, options.steps, shards_per_step)
    agreed = difference <= bound
    print(f"largest difference of a parameter: {difference:.3g} (rounding allows {bound:.3g})")
    if not agreed:
        print("FAILED: the parameters differ by more than rounding explains")
    save_plot(options.output / "data_parallel.png", losses)
    return agreed


def save_plot(path: Path, losses: Mapping[str, list[float]]) -> None:
    """Saves the plot, or says that the package for it is missing."""
    try:
        from loss_plot import save_loss_plot
    except ModuleNotFoundError as error:
        if error.name != "matplotlib":
            raise
        print("no plot: matplotlib is missing (pip install 'tenon[examples]')")
        return
    save_loss_plot(path, losses)
    print(f"plot: {path}")


def main() -> int:
    options = parse_arguments()
    options.output.mkdir(parents=True, exist_ok=True)
    try:
        return 0 if train(options) else 1
    except tenon.TenonError as error:
        print(f"train.py: error: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())

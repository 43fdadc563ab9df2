"""examples/data_parallel: training on several devices gives what one device gives, and what numpy gives."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon

FOLDER = Path(tenon.__file__).parent / "examples" / "data_parallel"
sys.path.insert(0, str(FOLDER))

import data_parallel  # noqa: E402
import shards  # noqa: E402
import train  # noqa: E402

Array = npt.NDArray[Any]

DIGITS = shards.load_digits()
SHARDS_PER_STEP = 6
CONFIGURATIONS = [("llvm", 2, 5), ("llvm", 3, 5), ("opencl", 2, 5), ("reference", 2, 1)]
FLOAT64_TOLERANCE = 2e-6
"""Sums of up to 128 products in f32, over a few steps, in parameters below 1."""


def open_platform(backend: str, device_count: int) -> tenon.Platform:
    scheduler = None if backend == "opencl" else "multicore"
    return tenon.open_platform(backend, scheduler=scheduler, num_devices=device_count)


@pytest.fixture
def platform() -> Iterator[tenon.Platform]:
    opened = open_platform("llvm", 2)
    yield opened
    opened.close()


def trainers_on(platform: tenon.Platform, *device_counts: int) -> list[data_parallel.DataParallel]:
    code = data_parallel.compile_step(platform)
    contexts = data_parallel.load_data(code, platform.devices, DIGITS)
    return [
        data_parallel.DataParallel(
            code,
            contexts[:device_count],
            shards.initial_parameters(),
            shards_per_step=SHARDS_PER_STEP,
            learning_rate=train.LEARNING_RATE,
        )
        for device_count in device_counts
    ]


def float64_parameters() -> dict[str, Array]:
    return {name: value.astype(np.float64) for name, value in shards.initial_parameters().items()}


def float64_gradients(
    parameters: Mapping[str, Array], images: Array, labels: Array
) -> tuple[float, dict[str, Array], float]:
    """Returns the sum of the cross-entropies, its gradients, and the relu input that is closest to zero."""
    pixels = images / 16.0
    sum_1 = pixels @ parameters["w1"] + parameters["b1"]
    hidden_1 = np.maximum(sum_1, 0)
    sum_2 = hidden_1 @ parameters["w2"] + parameters["b2"]
    hidden_2 = np.maximum(sum_2, 0)
    scores = hidden_2 @ parameters["w3"] + parameters["b3"]
    log_total = np.log(np.exp(scores).sum(axis=1))
    rows = np.arange(len(labels))
    d_scores = np.exp(scores - log_total[:, np.newaxis])
    d_scores[rows, labels] -= 1
    d_sum_2 = (d_scores @ parameters["w3"].T) * (sum_2 > 0)
    d_sum_1 = (d_sum_2 @ parameters["w2"].T) * (sum_1 > 0)
    gradients = {
        "w1": pixels.T @ d_sum_1,
        "b1": d_sum_1.sum(axis=0),
        "w2": hidden_1.T @ d_sum_2,
        "b2": d_sum_2.sum(axis=0),
        "w3": hidden_2.T @ d_scores,
        "b3": d_scores.sum(axis=0),
    }
    closest = min(np.abs(sum_1).min(), np.abs(sum_2).min())
    return float((log_total - scores[rows, labels]).sum()), gradients, float(closest)


def float64_training(steps: int) -> tuple[list[float], dict[str, Array], float]:
    """Returns the losses before the steps, the parameters after them, and the relu input closest to zero."""
    parameters = float64_parameters()
    losses: list[float] = []
    closest = np.inf
    for step in range(steps):
        numbers = [(step * SHARDS_PER_STEP + shard) % shards.SHARD_COUNT for shard in range(SHARDS_PER_STEP)]
        labels = DIGITS.labels[numbers].ravel()
        images = DIGITS.images[numbers].reshape(len(labels), -1)
        loss, gradients, nearest = float64_gradients(parameters, images, labels)
        losses.append(loss / len(labels))
        closest = min(closest, nearest)
        for name, gradient in gradients.items():
            parameters[name] = parameters[name] - train.LEARNING_RATE / len(labels) * gradient
    return losses, parameters, closest


@pytest.mark.parametrize(("backend", "device_count", "steps"), CONFIGURATIONS)
def test_several_devices_train_to_what_one_device_and_numpy_train_to(
    backend: str, device_count: int, steps: int
) -> None:
    platform = open_platform(backend, device_count)
    one, many = trainers_on(platform, 1, device_count)
    one_losses = [one.step(number) for number in range(steps)]
    many_losses = [many.step(number) for number in range(steps)]
    losses, parameters, _ = float64_training(steps)

    bound = train.rounding_bound(one.values(), steps, SHARDS_PER_STEP)
    assert train.largest_difference(one.values(), many.values()) <= bound < 1e-5
    assert train.largest_difference(many.values(), parameters) <= FLOAT64_TOLERANCE
    np.testing.assert_allclose(one_losses, losses, rtol=1e-6)
    np.testing.assert_allclose(many_losses, losses, rtol=1e-6)
    platform.close()


def test_all_devices_hold_the_same_parameters_after_a_step(platform: tenon.Platform) -> None:
    (trainer,) = trainers_on(platform, 2)
    trainer.step(0)
    first, second = trainer.values(replica=0), trainer.values(replica=1)
    assert {name: value.tobytes() for name, value in first.items()} == {
        name: value.tobytes() for name, value in second.items()
    }
    assert train.largest_difference(first, shards.initial_parameters()) > 1e-3


def test_without_its_merges_a_run_is_far_outside_the_bound(platform: tenon.Platform) -> None:
    one, many = trainers_on(platform, 1, 2)
    many.merges.clear()
    for trainer in (one, many):
        trainer.step(0)
    bound = train.rounding_bound(one.values(), 1, SHARDS_PER_STEP)
    assert train.largest_difference(one.values(), many.values()) > 100 * bound


def test_gradients_of_a_shard_are_those_of_numpy(platform: tenon.Platform) -> None:
    (trainer,) = trainers_on(platform, 1)
    trainer.first.clear.run()
    trainer.first.gradients.run(shard=5)
    found = trainer.values(data_parallel.SUMS)
    loss, gradients, _ = float64_gradients(float64_parameters(), DIGITS.images[5], DIGITS.labels[5])
    np.testing.assert_allclose(found["loss"], loss, rtol=1e-6)
    for name, expected in gradients.items():
        np.testing.assert_allclose(found[f"{name}_grad"], expected, rtol=1e-5, atol=1e-5, err_msg=name)


def test_gradients_in_numpy_are_the_derivatives_of_the_loss() -> None:
    images, labels = DIGITS.images[0], DIGITS.labels[0]
    _, gradients, _ = float64_gradients(float64_parameters(), images, labels)
    generator = np.random.default_rng(0)
    for name, gradient in gradients.items():
        place = tuple(int(generator.integers(extent)) for extent in gradient.shape)
        moved: list[float] = []
        for change in (1e-6, -1e-6):
            parameters = float64_parameters()
            parameters[name][place] += change
            moved.append(float64_gradients(parameters, images, labels)[0])
        np.testing.assert_allclose((moved[0] - moved[1]) / 2e-6, gradient[place], rtol=1e-5, atol=1e-7)


def test_the_seed_keeps_every_relu_input_away_from_zero() -> None:
    assert float64_training(30)[2] > 1e-5


@pytest.mark.parametrize("count", range(1, 10))
def test_merging_in_pairs_leaves_every_sum_in_the_first_once(count: int) -> None:
    sums = [[number] for number in range(count)]
    for target, source in data_parallel.merge_pairs(count):
        sums[target] += sums[source]
        sums[source] = []
    assert sorted(sums[0]) == list(range(count))
    assert not any(sums[1:])


def run_command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(FOLDER / "train.py"), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


def test_the_command_reports_and_saves_what_it_did(tmp_path: Path) -> None:
    done = run_command("--steps", "2", "--batch", "48", "--devices", "3", "--output", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 device: accuracy" in done.stdout
    assert "3 devices: accuracy" in done.stdout
    assert "largest difference of a parameter:" in done.stdout
    assert (tmp_path / "data_parallel.png").read_bytes().startswith(b"\x89PNG")
    timeline = (tmp_path / "data_parallel.json").read_text()
    assert all(f"llvm:{ordinal}" in timeline for ordinal in range(3))


def test_the_command_fails_where_the_runs_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(data_parallel, "merge_pairs", lambda count: [])
    monkeypatch.setattr(sys, "argv", ["train.py", "--steps", "1", "--output", str(tmp_path)])
    assert train.main() == 1
    assert "FAILED: the parameters differ by more than rounding explains" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--devices", "1", "--devices is 1, which leaves nothing to compare (at least 2)"),
        ("--steps", "0", "--steps is 0 (at least 1)"),
        ("--batch", "40", "--batch is 40: expected a multiple of 16 from 32 (a shard for every device)"),
        ("--batch", "16", "--batch is 16: expected a multiple of 16 from 32 (a shard for every device)"),
        ("--batch", "1440", "--batch is 1440: expected a multiple of 16 from 32 (a shard for every device)"),
    ],
)
def test_the_command_says_which_option_is_wrong(
    option: str,
    value: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", option, value])
    with pytest.raises(SystemExit, match="2"):
        train.main()
    assert message in capsys.readouterr().err


def test_the_command_prints_what_a_backend_lacks(tmp_path: Path) -> None:
    done = run_command(
        "--backend", "opencl", "--output", str(tmp_path), TENON_OPENCL_DEVICE="no device is called this"
    )
    assert done.returncode == 1
    assert done.stderr.startswith("train.py: error: ")
    assert "no device is called this" in done.stderr

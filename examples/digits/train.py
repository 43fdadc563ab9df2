"""
Trains the digits model and writes weights.npz: an MLP 64 -> 128 -> 64 -> 10 with relu, in plain numpy.

The settings were chosen by the lowest loss in a cross-validation within the training images (`--validate`).
The final weights come from all training images. The held-out images serve only to print the accuracy after
training.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

FOLDER = Path(__file__).parent
LAYER_SIZES = (64, 128, 64, 10)
LEARNING_RATE = 2e-3
BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8
BATCH_SIZE = 64
FOLD_COUNT = 5
EPOCH_COUNT = 150
SEED = 7

Array = npt.NDArray[np.float32]
Parameters = dict[str, Array]


@dataclass(frozen=True)
class Settings:
    """What validation chooses."""

    weight_decay: float = 0.3
    shift: float = 0.5
    """By up to how many pixels training images are moved, along each axis, anew in each epoch."""


def load_split(path: Path) -> tuple[tuple[Array, npt.NDArray[np.uint8]], tuple[Array, npt.NDArray[np.uint8]]]:
    """Returns (images, labels) of the training part and of the held-out part, with pixels scaled to 0..1."""
    with np.load(path, allow_pickle=False) as data:
        images = data["images"].astype(np.float32) / np.float32(16)
        labels = data["labels"]
        is_held_out = np.zeros(len(labels), dtype=bool)
        is_held_out[data["held_out"]] = True
    return (images[~is_held_out], labels[~is_held_out]), (images[is_held_out], labels[is_held_out])


def initial_parameters(generator: np.random.Generator) -> Parameters:
    """Returns He-initialised weights and zero biases, named w1, b1, w2, ..."""
    parameters: Parameters = {}
    for layer, (rows, columns) in enumerate(pairwise(LAYER_SIZES), start=1):
        scale = np.sqrt(2 / rows)
        parameters[f"w{layer}"] = (generator.standard_normal((rows, columns)) * scale).astype(np.float32)
        parameters[f"b{layer}"] = np.zeros(columns, dtype=np.float32)
    return parameters


def forward(parameters: Parameters, images: Array) -> tuple[Array, Array, Array]:
    """Returns the activations of both hidden layers and the class probabilities."""
    hidden_1 = np.maximum(images @ parameters["w1"] + parameters["b1"], 0)
    hidden_2 = np.maximum(hidden_1 @ parameters["w2"] + parameters["b2"], 0)
    scores = hidden_2 @ parameters["w3"] + parameters["b3"]
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return hidden_1, hidden_2, exponentials / exponentials.sum(axis=1, keepdims=True)


def gradients(parameters: Parameters, images: Array, labels: npt.NDArray[np.uint8]) -> Parameters:
    """Returns the gradient of the mean cross-entropy with respect to every parameter."""
    hidden_1, hidden_2, probabilities = forward(parameters, images)
    d_scores = probabilities.copy()
    d_scores[np.arange(len(labels)), labels] -= 1
    d_scores /= np.float32(len(labels))
    d_hidden_2 = (d_scores @ parameters["w3"].T) * (hidden_2 > 0)
    d_hidden_1 = (d_hidden_2 @ parameters["w2"].T) * (hidden_1 > 0)
    return {
        "w1": images.T @ d_hidden_1,
        "b1": d_hidden_1.sum(axis=0),
        "w2": hidden_1.T @ d_hidden_2,
        "b2": d_hidden_2.sum(axis=0),
        "w3": hidden_2.T @ d_scores,
        "b3": d_scores.sum(axis=0),
    }


def loss_and_accuracy(
    parameters: Parameters, images: Array, labels: npt.NDArray[np.uint8]
) -> tuple[float, float]:
    """Returns the mean cross-entropy and the part of `images` classified as their label."""
    probabilities = forward(parameters, images)[2]
    likelihoods = probabilities[np.arange(len(labels)), labels]
    loss = -np.log(np.maximum(likelihoods, np.finfo(np.float32).tiny)).mean()
    return float(loss), float((probabilities.argmax(axis=1) == labels).mean())


def shifted(images: Array, generator: np.random.Generator, largest: float) -> Array:
    """Returns the images, each moved by up to `largest` <= 1 pixels along both axes; zeros move in."""
    count = len(images)
    moved = np.zeros((count, 10, 10), dtype=np.float32)
    moved[:, 1:9, 1:9] = images.reshape(count, 8, 8)
    distances = generator.uniform(-largest, largest, (count, 2)).astype(np.float32)
    for axis in (1, 2):
        distance = distances[:, axis - 1, np.newaxis, np.newaxis]
        neighbour = np.where(distance > 0, np.roll(moved, 1, axis), np.roll(moved, -1, axis))
        moved = (1 - np.abs(distance)) * moved + np.abs(distance) * neighbour
    return moved[:, 1:9, 1:9].reshape(count, 64)


def train(images: Array, labels: npt.NDArray[np.uint8], settings: Settings) -> Parameters:
    """Returns parameters trained by Adam with decoupled weight decay; the learning rate falls as a cosine."""
    generator = np.random.default_rng(SEED)
    parameters = initial_parameters(generator)
    mean = {name: np.zeros_like(value) for name, value in parameters.items()}
    square = {name: np.zeros_like(value) for name, value in parameters.items()}
    step = 0
    for epoch in range(EPOCH_COUNT):
        rate = LEARNING_RATE * 0.5 * (1 + np.cos(np.pi * epoch / EPOCH_COUNT))
        order = generator.permutation(len(labels))
        moved = shifted(images, generator, settings.shift)
        for start in range(0, len(labels), BATCH_SIZE):
            batch = order[start : start + BATCH_SIZE]
            step += 1
            for name, gradient in gradients(parameters, moved[batch], labels[batch]).items():
                mean[name] += np.float32(1 - BETA_1) * (gradient - mean[name])
                square[name] += np.float32(1 - BETA_2) * (gradient * gradient - square[name])
                update = (mean[name] / (1 - BETA_1**step)) / (
                    np.sqrt(square[name] / (1 - BETA_2**step)) + EPSILON
                )
                if name.startswith("w"):
                    update = update + settings.weight_decay * parameters[name]
                parameters[name] = (parameters[name] - rate * update).astype(np.float32)
    return parameters


def validate(images: Array, labels: npt.NDArray[np.uint8]) -> None:
    """Prints the cross-validated loss and accuracy on the training images for a grid of settings."""
    folds = np.array_split(np.random.default_rng(SEED).permutation(len(labels)), FOLD_COUNT)
    for shift in (0.0, 0.25, 0.5, 0.75, 1.0):
        for weight_decay in (0.0, 0.1, 0.3):
            results: list[tuple[float, float]] = []
            for fold in folds:
                kept = np.setdiff1d(np.arange(len(labels)), fold)
                parameters = train(images[kept], labels[kept], Settings(weight_decay, shift))
                results.append(loss_and_accuracy(parameters, images[fold], labels[fold]))
            loss, accuracy = np.mean(results, axis=0)
            settings = f"shift {shift:.2f}  weight decay {weight_decay:.1f}"
            print(f"{settings}  loss {loss:.4f}  accuracy {accuracy:.2%}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the digits model and writes weights.npz.")
    parser.add_argument("--validate", action="store_true", help="cross-validate settings instead")
    parser.add_argument("--output", type=Path, default=FOLDER / "weights.npz", help="where the weights go")
    arguments = parser.parse_args()
    (images, labels), (held_images, held_labels) = load_split(FOLDER / "digits.npz")
    if arguments.validate:
        validate(images, labels)
        return
    parameters = train(images, labels, Settings())
    np.savez(arguments.output, **parameters)
    for part, part_images, part_labels in (("train", images, labels), ("held-out", held_images, held_labels)):
        loss, accuracy = loss_and_accuracy(parameters, part_images, part_labels)
        print(f"{part:8s}  {len(part_labels):4d} images  loss {loss:.4f}  accuracy {accuracy:.2%}")


if __name__ == "__main__":
    main()

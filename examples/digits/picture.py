"""Draws some digits with their predictions, and the size of the program at each level."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tenon import parse_module

matplotlib.use("Agg")

ROWS, COLUMNS = 3, 8
RIGHT, WRONG = "tab:green", "tab:red"

Array = npt.NDArray[Any]


def save_picture(
    path: Path, images: Array, labels: Array, probabilities: Array, stages: Mapping[str, str]
) -> None:
    """
    Saves the picture at `path`, whose folder is made if need be. It shows `ROWS * COLUMNS` images, wrong
    predictions first, and for each of `stages` (name and text) the number of ops and of lines.
    """
    predictions = probabilities.argmax(axis=1)
    # False sorts before True and the sort is stable: wrong ones first, each part in its own order.
    shown = np.argsort(predictions == labels, kind="stable")[: ROWS * COLUMNS]
    figure = Figure(figsize=(1.6 * COLUMNS, 2.0 * ROWS + 4), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=(2.0 * ROWS, 4))
    wrong_count = int(np.sum(predictions != labels))
    top.suptitle(f"{len(labels)} held-out digits, {wrong_count} wrong (shown first)")
    for axes, index in zip(top.subplots(ROWS, COLUMNS).flat, shown, strict=True):
        _draw_digit(axes, images[index], int(labels[index]), probabilities[index])
    _draw_sizes(bottom.subplots(1, 2), stages)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _draw_digit(axes: Axes, image: Array, label: int, probabilities: Array) -> None:
    prediction = int(probabilities.argmax())
    colour = RIGHT if prediction == label else WRONG
    title = f"{prediction}  ({probabilities[prediction]:.1%})"
    if prediction != label:
        title += f"\nis {label}  ({probabilities[label]:.1%})"
    axes.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
    axes.set_title(title, color=colour, fontsize=10)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=colour, linewidth=2)


def _draw_sizes(both_axes: Array, stages: Mapping[str, str]) -> None:
    op_counts = [sum(1 for _ in parse_module(text, name).walk()) for name, text in stages.items()]
    line_counts = [len(text.splitlines()) for text in stages.values()]
    for axes, title, counts in zip(both_axes, ("ops", "lines"), (op_counts, line_counts), strict=True):
        axes.bar_label(axes.bar(list(stages), counts, color=("tab:blue", "tab:orange", "tab:purple")))
        axes.set_title(f"the program at each level: {title}", fontsize=10)
        axes.margins(y=0.15)

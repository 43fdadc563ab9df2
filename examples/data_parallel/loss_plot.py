"""Draws how the loss falls, and how little the number of devices changes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

matplotlib.use("Agg")


def save_loss_plot(path: Path, losses: Mapping[str, Sequence[float]]) -> None:
    """Saves a picture of two runs' losses by step (the run's name: its losses) and of their difference."""
    (one_name, one), (many_name, many) = losses.items()
    figure = Figure(figsize=(7, 6), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    top.plot(one, color="tab:blue", linewidth=4, alpha=0.4, label=one_name)
    top.plot(many, color="tab:orange", linestyle="--", label=many_name)
    top.set_ylabel("mean cross-entropy")
    top.set_ylim(bottom=0)
    top.legend()
    top.set_title("the digits model, trained on one device and on several")
    bottom.bar(range(len(one)), np.abs(np.subtract(one, many)), color="tab:grey")
    bottom.axhline(np.finfo(np.float32).eps, color="tab:red", linewidth=1, label="the rounding unit of f32")
    bottom.set_ylabel("difference of the two")
    bottom.set_xlabel("step")
    bottom.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)

"""Draws a memory plan: steps to the right, bytes upward, one panel for each pool."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ...errors import MissingExtraError, TenonError
from .planned_memory import PlannedBuffer, PlannedPool

SUFFIXES = (".svg", ".png", ".pdf")
"""The formats that a plan is drawn in."""

_STYLE = {"svg.hashsalt": "tenon", "font.size": 8, "text.parse_math": False}
_COLOURS = {
    "argument": "#7aa6d8",
    "constant": "#b9b9b9",
    "temporary": "#f2b36d",
    "result": "#86bf86",
    "node": "#b79bd6",
    "merge": "#d98c8c",
}
_PANEL_INCHES = 2.4
_MOST_TICKS = 25
_MOST_BYTE_TICKS = 8
_LEAST_LABEL_SHARE = 0.045
"""The part of a panel's height that a buffer has at least, to have its name written into it."""


def save_picture(
    path: Path, name: str, n_steps: int, pools: Sequence[PlannedPool], buffers: Sequence[PlannedBuffer]
) -> None:
    """
    Draws the memory of a program in the format that the suffix of `path` names. The same plan gives the same
    bytes.

    Raises:
        MissingExtraError: matplotlib is not installed.
        TenonError: the suffix is not in `SUFFIXES`, or the file cannot be written.
    """
    if path.suffix not in SUFFIXES:
        raise TenonError(f"memory plan: cannot draw {path} (its suffix is none of {', '.join(SUFFIXES)})")
    panels = max(len(pools), 1)
    with _matplotlib("matplotlib").rc_context(_STYLE):
        width = max(6.0, min(24.0, 2 + 0.35 * n_steps))
        figure: Any = _matplotlib("matplotlib.figure").Figure(figsize=(width, 0.8 + _PANEL_INCHES * panels))
        grid = figure.subplots(panels, 1, sharex=True, squeeze=False)
        for number, pool in enumerate(pools):
            _draw_pool(grid[number, 0], n_steps, pool, buffers)
        figure.suptitle(f"@{name}: {sum(pool.nbytes for pool in pools)} bytes", x=0.02, ha="left")
        grid[-1, 0].set_xlabel("step (the last is the return)")
        figure.tight_layout()
        drawn = {buffer.kind for buffer in buffers if buffer.pool_id is not None}
        patch: Any = _matplotlib("matplotlib.patches").Patch
        handles = [patch(color=colour, label=kind) for kind, colour in _COLOURS.items() if kind in drawn]
        if handles:
            figure.legend(handles=handles, loc="upper right", ncols=len(handles), frameon=False)
        metadata = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}.get(path.suffix)
        try:
            figure.savefig(path, metadata=metadata)
        except OSError as error:
            raise TenonError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from error


def _matplotlib(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        message = "memory plan: matplotlib is not installed; pip install 'tenon[pictures]'"
        raise MissingExtraError(message) from None


def _draw_pool(axes: Any, n_steps: int, pool: PlannedPool, buffers: Sequence[PlannedBuffer]) -> None:
    ticker = _matplotlib("matplotlib.ticker")
    for buffer in buffers:
        if buffer.pool_id == pool.pool_id and buffer.first_step is not None:
            _draw_buffer(axes, buffer, pool)
    sizes = f"{pool.nbytes} bytes, {pool.peak_nbytes} live at most"
    axes.set_title(f"pool {pool.pool_id}: {pool.content}, {sizes}", loc="left")
    n_columns = n_steps + 1
    axes.set_xlim(0, n_columns)
    axes.set_ylim(0, max(pool.nbytes, 1))
    axes.set_ylabel("byte")
    labelled = range(0, n_columns, -(-n_columns // _MOST_TICKS))
    axes.set_xticks([step + 0.5 for step in labelled], list(map(str, labelled)))
    # Round numbers in hexadecimal: the power of two that leaves few enough of them.
    between = 1 << (pool.nbytes // _MOST_BYTE_TICKS).bit_length()
    axes.yaxis.set_major_locator(ticker.MultipleLocator(between))
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(_hexadecimal))


def _draw_buffer(axes: Any, buffer: PlannedBuffer, pool: PlannedPool) -> None:
    assert buffer.first_step is not None and buffer.last_step is not None
    width, height = buffer.last_step + 1 - buffer.first_step, buffer.end - buffer.offset
    axes.broken_barh(
        [(buffer.first_step, width)],
        (buffer.offset, height),
        facecolors=_COLOURS[buffer.kind],
        edgecolors="#444444",
        linewidth=0.5,
    )
    if height >= _LEAST_LABEL_SHARE * pool.nbytes:
        middle = (buffer.first_step + width / 2, buffer.offset + height / 2)
        axes.text(*middle, buffer.name or str(buffer.number), ha="center", va="center", clip_on=True)


def _hexadecimal(value: float, _: object) -> str:
    return f"{int(value):#x}"

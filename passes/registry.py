"""
Every pass by its name on the command line.

A pass's name gives its file and its class: `expand-math` is `ExpandMathPass` in `expand_math.py`. The file is
imported when the pass is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

TENON_PASS_NAMES: tuple[str, ...] = (
    "analyze-schedule",
    "apply-schedules",
    "build-dependencies",
    "canonicalize-graph",
    "compute-at",
    "convert-graph-to-sched",
    "convert-sched-to-low",
    "decompose-composites",
    "distribute-axis",
    "expand-math",
    "expand-tiles",
    "expand-vectors",
    "fuse-axes",
    "fuse-kernels",
    "fuse-stages",
    "hoist-invariant-ops",
    "hoist-loop-invariants",
    "infer-memory-modes",
    "infer-precision",
    "inline-calls",
    "inline-virtual-nodes",
    "map-axes",
    "map-axis",
    "map-work-groups",
    "merge-axes",
    "merge-equal-ops",
    "merge-kernels",
    "pack-buffer",
    "pack-convolutions",
    "pack-operands",
    "pack-panels",
    "plan-memory",
    "prefetch-rows",
    "recognize-gathers",
    "reorder-axes",
    "schedule-kernels",
    "simplify-contractions",
    "simplify-low",
    "simplify-nodes",
    "specialize-dims",
    "split-axis",
    "split-borders",
    "stage-buffer",
    "stage-images",
    "tile-columns",
    "tile-contractions",
    "tile-convolutions",
    "verify-stage",
)
"""Tenon's own passes, sorted."""

XDSL_PASS_NAMES: tuple[str, ...] = ("canonicalize", "cse", "dce", "licm")
"""xDSL's passes that work on Tenon's dialects, sorted."""


def file_name_of(pass_name: str) -> str:
    """Returns the name of a pass's file, without its suffix: `expand_math` for `expand-math`."""
    return pass_name.replace("-", "_")


def class_name_of(pass_name: str) -> str:
    """Returns the name of a pass's class: `ExpandMathPass` for `expand-math`."""
    return "".join(word.capitalize() for word in pass_name.split("-")) + "Pass"


def _load(pass_name: str) -> type[ModulePass]:
    pass_type = getattr(import_module(f".{file_name_of(pass_name)}", __package__), class_name_of(pass_name))
    assert issubclass(pass_type, ModulePass), f"{pass_name}: {pass_type} is no pass"
    return pass_type


TENON_PASSES: dict[str, Callable[[], type[ModulePass]]] = {
    name: partial(_load, name) for name in TENON_PASS_NAMES
}
"""Tenon's own passes; what the entry point `xdsl.universe` adds to xDSL's."""

ALL_PASSES: dict[str, Callable[[], type[ModulePass]]] = dict(
    sorted((TENON_PASSES | {name: get_all_passes()[name] for name in XDSL_PASS_NAMES}).items())
)
"""Tenon's and xDSL's passes."""

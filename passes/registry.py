"""
Every pass by its name on the command line.

A pass's name gives its file and its class: `expand-math` is `ExpandMathPass` in `expand_math.py`, in the room
that the table says. The file is imported when the pass is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from xdsl.passes import ModulePass
from xdsl.transforms import get_all_passes

_ROOMS: dict[str, tuple[str, ...]] = {
    "rewriting": (
        "eliminate-common-subexpressions",
        "specialize-dims",
        "verify-stage",
    ),
    "graph": (
        "canonicalize-graph",
        "decompose-composites",
        "infer-precision",
        "inline-calls",
        "inline-virtual-nodes",
        "mark-symmetric-products",
        "recognize-gathers",
        "relax-maxima",
        "separate-preparation",
        "simplify-contractions",
        "simplify-nodes",
        "split-reductions",
    ),
    "graph.loops": (
        "carry-older-values",
        "copy-carried-parts",
        "double-buffer-loops",
        "expand-updates",
        "hoist-loop-invariants",
        "share-matrix-reads",
    ),
    "graph.packing": (
        "gather-in-pieces",
        "lay-channels-last",
        "multiply-nibbles",
        "pack-convolutions",
        "pack-operands",
        "pack-panels",
        "widen-rows",
        "winograd-convolutions",
    ),
    "sharding": (
        "drop-sharding",
        "partition-graph",
        "propagate-sharding",
    ),
    "sched.planning": (
        "convert-graph-to-sched",
        "infer-memory-modes",
    ),
    "sched.steps.passes": (
        "apply-schedules",
        "compute-at",
        "distribute-axis",
        "fuse-axes",
        "map-axis",
        "pack-buffer",
        "partition-axis",
        "prefetch-buffer",
        "record-recipes",
        "reorder-axes",
        "schedule-kernels",
        "split-axis",
        "stage-buffer",
    ),
    "sched.steps.borders": ("split-halos",),
    "sched.mapping": (
        "collapse-axes",
        "deduplicate-kernels",
        "fuse-loops",
        "fuse-producers",
        "map-axes",
        "merge-launches",
        "narrow-loops",
        "prefetch-rows",
        "skip-padding",
        "split-borders",
        "stage-images",
        "strip-columns",
        "tile-columns",
        "tile-convolutions",
    ),
    "sched.mapping.contractions": ("tile-contractions",),
    "sched.mapping.gpu": ("map-work-groups",),
    "sched.mapping.inlining": ("inline-elements", "inline-launches", "inline-shared-elements"),
    "sched.host": (
        "analyze-schedule",
        "hand-over-rows",
        "rearrange-on-host",
        "schedule-collectives",
        "build-dependencies",
        "plan-memory",
    ),
    "low": (
        "exit-searches",
        "expand-math",
        "expand-tiles",
        "expand-vectors",
        "fuse-sibling-loops",
        "hoist-invariant-ops",
        "predict-indices",
        "promote-scalars",
        "simplify-low",
        "stream-stores",
    ),
    "low.lowering": ("convert-sched-to-low",),
    "stablehlo": ("convert-stablehlo-to-graph",),
}
"""Tenon's own passes by the package that they stand in, in the order of the levels."""

_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

TENON_PASS_NAMES: tuple[str, ...] = tuple(sorted(_ROOM_OF))
"""Tenon's own passes, sorted."""

XDSL_PASS_NAMES: tuple[str, ...] = ("canonicalize", "cse", "dce", "licm")
"""xDSL's passes that work on Tenon's dialects, sorted."""


RENAMED_PASSES: dict[str, str] = {
    "fuse-stages": "fuse-loops",
    "fuse-kernels": "fuse-producers",
    "merge-equal-ops": "eliminate-common-subexpressions",
    "merge-kernels": "deduplicate-kernels",
    "merge-axes": "collapse-axes",
}
"""What passes were called before, and what they are called now."""


def module_of(pass_name: str) -> str:
    """Returns the module of a pass, from this package on: `low.expand_math` for `expand-math`."""
    return f"{_ROOM_OF[pass_name]}.{pass_name.replace('-', '_')}"


def class_name_of(pass_name: str) -> str:
    """Returns the name of a pass's class: `ExpandMathPass` for `expand-math`."""
    return "".join(word.capitalize() for word in pass_name.split("-")) + "Pass"


def _load(pass_name: str) -> type[ModulePass]:
    pass_type = getattr(import_module(f".{module_of(pass_name)}", __package__), class_name_of(pass_name))
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

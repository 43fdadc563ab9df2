"""The kinds of programs, by name."""

from __future__ import annotations

from ..program import MakeProgram
from . import (
    branches,
    clusters,
    convnet,
    digits,
    indexing,
    mlp,
    quantised,
    random_arrays,
    recurrent,
    solver,
    stacked,
    statistics,
    stencil,
    training,
    transformer,
    unet,
    written,
)

KINDS: dict[str, MakeProgram] = {
    "transformer": transformer.make,
    "convnet": convnet.make,
    "mlp": mlp.make,
    "recurrent": recurrent.make,
    "stencil": stencil.make,
    "solver": solver.make,
    "branches": branches.make,
    "unet": unet.make,
    "quantised": quantised.make,
    "stacked": stacked.make,
    "training": training.make,
    "indexing": indexing.make,
    "statistics": statistics.make,
    "clusters": clusters.make,
    "written": written.make,
    "random": random_arrays.make,
    "digits": digits.make,
}

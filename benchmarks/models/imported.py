"""The models as other frameworks have them, taken by Tenon's importers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..findings import TENON
from ..harness import Thunk
from .contenders import Maker, onnx_model, torch_module, traceable
from .model import Array, Model, Scale, Weights


def of_onnx(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what runs the file that onnxruntime runs too."""
    import tenon

    imported = tenon.from_onnx(onnx_model(model, scale, weights, inputs))
    return partial(imported, *inputs.values())


def of_torch(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what runs the module that torch compiles too, exported."""
    import tenon
    import torch

    module, *given = torch_module(model, scale, weights, inputs)
    program = tenon.from_torch(torch.export.export(module, tuple(given)))
    return partial(program, *inputs.values())


def of_jax(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what runs the function that jax compiles too, with its weights as constants."""
    import tenon

    work, values = traceable(model, scale, weights, inputs)
    held, given = values[: len(weights)], values[len(weights) :]
    made: list[Thunk] = []

    def call() -> object:
        if not made:
            # In the first call, as all others compile there.
            made.append(partial(tenon.from_jax(partial(work, *held), *given), *inputs.values()))
        return made[0]()

    return call


IMPORTED: Mapping[str, tuple[str, Maker]] = {
    f"{TENON}, from ONNX": ("onnxruntime", of_onnx),
    f"{TENON}, from torch": ("torch.compile", of_torch),
    f"{TENON}, from jax": ("jax", of_jax),
}
"""By the name of the contender: the peer that runs the same program, and what makes it ready."""

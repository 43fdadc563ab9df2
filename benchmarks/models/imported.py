"""The models as other frameworks have them, taken by Tenon's importers."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..findings import TENON
from ..harness import Thunk
from .contenders import Maker, made_in_first_call, onnx_model, torch_module, traceable
from .model import Array, Model, Scale, Weights


def of_onnx(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what runs the file that onnxruntime runs too."""
    import tenon

    content = onnx_model(model, scale, weights, inputs)
    return made_in_first_call(lambda: partial(tenon.from_onnx(content), *inputs.values()))


def of_torch(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what runs the module that torch compiles too, exported."""
    import tenon
    import torch

    module, *given = torch_module(model, scale, weights, inputs)

    def make() -> Thunk:
        return partial(tenon.from_torch(torch.export.export(module, tuple(given))), *inputs.values())

    return made_in_first_call(make)


def of_jax(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what runs the function that jax compiles too, with its weights as constants."""
    import tenon

    work, values = traceable(model, scale, weights, inputs)
    held, given = values[: len(weights)], values[len(weights) :]
    return made_in_first_call(lambda: partial(tenon.from_jax(partial(work, *held), *given), *inputs.values()))


IMPORTED: Mapping[str, tuple[str, Maker]] = {
    f"{TENON}, from ONNX": ("onnxruntime", of_onnx),
    f"{TENON}, from torch": ("torch.compile", of_torch),
    f"{TENON}, from jax": ("jax", of_jax),
}
"""By the name of the contender: the peer that runs the same program, and what makes it ready."""

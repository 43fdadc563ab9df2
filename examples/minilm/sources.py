"""The model from four frameworks: as it runs there, and as it runs in Tenon."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
import tenon
import tenon.numpy as tnp
from encoder import embed
from numpy.typing import NDArray
from tenon import nn

Embedder = Callable[[NDArray[np.int64], NDArray[np.float32]], Any]
Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True)
class Source:
    """What a model was written for, its name there, and the two functions."""

    original: str
    runs_there: Embedder
    runs_here: Embedder


def from_tenon(weights: Weights) -> Source:
    """The function of encoder.py, with weights that do not change; numpy runs it too."""
    frozen = tenon.freeze(dict(weights))
    return Source(
        "numpy", partial(embed, np, _gelu, weights), tenon.jit(partial(embed, tnp, nn.gelu, frozen))
    )


def _gelu(x: NDArray[np.float32]) -> Any:
    from math import erf

    return x * (0.5 + 0.5 * np.vectorize(erf, otypes=[np.float32])(x * np.float32(0.5**0.5)))


def from_jax(weights: Weights) -> Source:
    """The same function, traced and compiled by jax, or traced by jax and compiled by Tenon."""
    import jax

    there = partial(embed, jax.numpy, partial(jax.nn.gelu, approximate=False), dict(weights))
    return Source("jax", jax.jit(there), tenon.jax_compile(there))


def from_torch(weights: Weights) -> Source:
    """The module of torch_encoder.py, run by torch, or compiled by `torch.compile(backend="tenon")`."""
    import torch
    from torch_encoder import encoder_of

    module = encoder_of(weights)
    return Source("torch", partial(_run, module), partial(_run, torch.compile(module, backend="tenon")))


def in_torch(weights: Weights) -> Embedder:
    """Returns that module alone, which the others are compared with."""
    from torch_encoder import encoder_of

    return partial(_run, encoder_of(weights))


def _run(module: Any, ids: NDArray[np.int64], mask: NDArray[np.float32]) -> Any:
    import torch

    with torch.no_grad():
        return module(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()


def from_onnx(weights: Weights) -> Source:
    """The file that torch writes of that module, run by onnxruntime, or imported."""
    import onnxruntime

    model = _onnx_model(weights)
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    def there(ids: NDArray[np.int64], mask: NDArray[np.float32]) -> Any:
        return session.run(None, {"ids": ids, "mask": mask})[0]

    return Source("onnxruntime", there, tenon.from_onnx(model))


def _onnx_model(weights: Weights) -> bytes:
    import torch
    from torch_encoder import encoder_of

    examples = torch.zeros((2, 7), dtype=torch.int64), torch.ones((2, 7))
    axes = {0: torch.export.Dim("texts", min=1, max=64), 1: torch.export.Dim("words", min=2, max=512)}
    written = BytesIO()
    program = torch.onnx.export(
        encoder_of(weights),
        examples,
        input_names=["ids", "mask"],
        dynamic_shapes=(axes, axes),
        dynamo=True,
        verbose=False,
    )
    assert program is not None, "torch exported nothing"
    program.save(written)
    return written.getvalue()


SOURCES: dict[str, Callable[[Weights], Source]] = {
    "tenon": from_tenon,
    "jax": from_jax,
    "torch": from_torch,
    "onnx": from_onnx,
}

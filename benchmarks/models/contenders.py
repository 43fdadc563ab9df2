"""Makes a model ready to be called in each library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from ..findings import TENON
from ..harness import Thunk
from .model import Array, Model, Scale, Weights

Maker = Callable[[Model, Scale, Weights, Mapping[str, Array]], Thunk]
"""
Takes a model, its scale, weights and inputs, and returns what runs it: the first call compiles, and
each returns arrays once they are done.
"""

NAMED = f"{TENON}, named dims"


def of_numpy(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns what computes in f64."""
    from .numpy_layers import NumpyLayers

    def call() -> Any:
        wide = {name: array.astype(np.float64) for name, array in weights.items()}
        given = [each.astype(np.float64) if each.dtype.kind == "f" else each for each in inputs.values()]
        return model.forward(NumpyLayers(), wide, scale.config, *given)

    return call


def of_tenon(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    return _tenon(model, scale, weights, inputs, None)


def of_tenon_named(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    """Returns the program of which all extents that rows differ in are named dims."""
    import tenon

    dims = {name: tenon.Dim(name, 1, most) for name, most in scale.dims.items()}
    dynamic = {name: {axis: dims[dim] for axis, dim in axes.items()} for name, axes in model.axes.items()}
    return _tenon(model, scale, weights, inputs, dynamic)


def _tenon(
    model: Model,
    scale: Scale,
    weights: Weights,
    inputs: Mapping[str, Array],
    dynamic: Mapping[str, Mapping[int, Any]] | None,
) -> Thunk:
    import tenon
    import tenon.numpy as tnp

    from .tenon_layers import TenonLayers

    function = partial(model.forward, TenonLayers(), tenon.freeze(weights), scale.config)
    compiled = tenon.jit(function, dynamic=dynamic, name="model")
    given = [tnp.asarray(each) for each in inputs.values()]
    return lambda: compiled(*given)


def of_torch(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    return partial(*torch_module(model, scale, weights, inputs))


def of_torch_compile(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    import torch
    from torch._inductor import config as inductor

    # As weights do not change, it may lay them out as it likes, and fold batch norms.
    inductor.freezing = True
    # Else it gives up after a few versions of what it takes for one function.
    torch.compiler.reset()
    module, *given = torch_module(model, scale, weights, inputs)
    return partial(torch.compile(module, dynamic=False), *given)


def torch_module(
    model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]
) -> tuple[Any, ...]:
    """Returns the model as a module of torch, and its inputs."""
    import torch

    from .torch_layers import TorchLayers

    torch.set_grad_enabled(False)
    torch.set_num_threads(1)

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, array in weights.items():
                # As its own modules have the matrices of an LSTM.
                stored = array.T.copy() if name.endswith("_gates") else array
                parameter = torch.nn.Parameter(torch.from_numpy(stored), requires_grad=False)
                self.register_parameter(_plain(name), parameter)

        def forward(self, *values: Any) -> Any:
            named = {name: getattr(self, _plain(name)) for name in weights}
            return model.forward(TorchLayers(), named, scale.config, *values)

    return (Module().eval(), *(torch.from_numpy(each) for each in inputs.values()))


def _plain(name: str) -> str:
    return "w_" + name.replace(".", "_")


def made_in_first_call(make: Callable[[], Thunk]) -> Thunk:
    """Returns what makes a program in its first call, as all contenders compile there, and then runs it."""
    made: list[Thunk] = []

    def call() -> object:
        if not made:
            made.append(make())
        return made[0]()

    return call


def onnx_model(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> bytes:
    """Returns the model as a file of ONNX."""
    from .onnx_layers import OnnxLayers

    layers = OnnxLayers()
    return layers.model(weights, inputs, lambda w, *values: model.forward(layers, w, scale.config, *values))


def of_onnxruntime(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    import onnxruntime

    content = onnx_model(model, scale, weights, inputs)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3

    def make() -> Thunk:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        return lambda: tuple(session.run(None, inputs))

    return made_in_first_call(make)


def of_jax(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    import jax

    work, values = traceable(model, scale, weights, inputs)
    compiled = jax.jit(work)
    return lambda: jax.block_until_ready(compiled(*values))


def of_iree(model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]) -> Thunk:
    from iree import runtime

    from ..peers.iree_peer import compiled_entry

    work, values = traceable(model, scale, weights, inputs)

    def make() -> Thunk:
        function, device = compiled_entry(work, values, "local-sync")
        given = [runtime.asdevicearray(device, np.asarray(value)) for value in values]
        return lambda: function(*given)

    return made_in_first_call(make)


def traceable(
    model: Model, scale: Scale, weights: Weights, inputs: Mapping[str, Array]
) -> tuple[Callable[..., Any], list[Any]]:
    """Returns the model as a function of weights and inputs that jax can trace, and these."""
    import jax.numpy as jnp

    from .jax_layers import JaxLayers

    names = list(weights)

    def work(*values: Any) -> Any:
        named = dict(zip(names, values[: len(names)], strict=True))
        return model.forward(JaxLayers(), named, scale.config, *values[len(names) :])

    return work, [jnp.asarray(each) for each in (*weights.values(), *inputs.values())]


MAKERS: Mapping[str, Maker] = {
    TENON: of_tenon,
    NAMED: of_tenon_named,
    "torch": of_torch,
    "torch.compile": of_torch_compile,
    "onnxruntime": of_onnxruntime,
    "jax": of_jax,
    "iree": of_iree,
}
"""By the name of the contender."""

_MODULES = {
    "torch": ("torch", "torch"),
    "torch.compile": ("torch", "torch"),
    "onnxruntime": ("onnxruntime", "onnxruntime"),
    "jax": ("jax", "jax"),
    "iree": ("iree.compiler", "iree-base-compiler"),
}
"""Of the peers: what to import, and the package whose version that has."""

PEER_NAMES = tuple(_MODULES)


def find_peers(names: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the versions of the peers that are installed, and why the others are not there."""
    installed: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name in names:
        module, package = _MODULES.get(name, (name, name))
        try:
            import_module(module)
            installed[name] = version(package)
        except ImportError as error:
            missing[name] = str(error)
    return installed, missing

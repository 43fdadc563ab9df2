"""
Who does the work on a GPU: Tenon by OpenCL, torch and jax by their own kernels and CUDA's libraries. All keep
arguments and results in the device's memory and compute in f32, without the shorter floats of tensor cores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import tenon
from tenon.backends.interface import Backend, DeviceKind
from tenon.backends.opencl.compile import OpenCLCompiler
from tenon.backends.registry import get_backend

from ..peers import tenon_peer
from ..workloads.workload import Array, Workload
from .queued import Queued

Maker = Callable[[Workload, Mapping[str, Array]], Queued]


class NoGpuError(Exception):
    """A library finds no GPU."""


def gpu_backend() -> Backend:
    """Returns the OpenCL backend. Raises `NoGpuError` where its device is no GPU."""
    backend = get_backend("opencl")
    if backend.device.kind is not DeviceKind.GPU:
        name = backend.device.name
        raise NoGpuError(f"the OpenCL device {name} is no GPU; TENON_OPENCL_DEVICE chooses another")
    return backend


def driver_version(backend: Backend) -> str:
    """Returns the version of the OpenCL driver."""
    assert isinstance(backend.compiler, OpenCLCompiler), f"{backend.name} compiles no OpenCL C"
    return backend.compiler.device.driver_version


def of_tenon(workload: Workload, arguments: Mapping[str, Array]) -> Queued:
    executable = tenon_peer.program(workload, arguments, "opencl")
    backend = executable.backend
    assert backend is not None, "opencl does not interpret"
    given = [
        tenon.DeviceArray.of(backend, array)
        for name, array in arguments.items()
        if name not in workload.constants
    ]

    def call() -> tenon.DeviceArray:
        return executable.execute(given)[0]

    return Queued(call, lambda _: backend.driver.synchronize(), lambda result: result.read())


def of_torch(workload: Workload, arguments: Mapping[str, Array]) -> Queued:
    import torch

    from ..peers import torch_peer

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    work, tensors = torch_peer.eager(workload, arguments)
    given = [tensor.cuda() for tensor in tensors]
    wait, to_host = torch.cuda.synchronize, torch.Tensor.cpu
    return Queued(partial(work, *given), lambda _: wait(), lambda result: to_host(result).numpy())


def of_jax(workload: Workload, arguments: Mapping[str, Array]) -> Queued:
    import jax
    import numpy as np

    from ..peers import jax_peer

    jax.config.update("jax_default_matmul_precision", "highest")
    work, values = jax_peer.traceable(workload, arguments)
    return Queued(partial(jax.jit(work), *values), lambda result: result.block_until_ready(), np.asarray)


MAKERS: Mapping[str, Maker] = {"tenon": of_tenon, "torch": of_torch, "jax": of_jax}


def versions_of(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the versions of the libraries that find a GPU, and why the others do not take part."""
    versions, missing = {"tenon": "this one"}, dict[str, str]()
    for name in names:
        try:
            versions[name] = _VERSIONS[name]()
        except (ImportError, NoGpuError) as error:
            missing[name] = str(error)
    return versions, missing


def _torch_version() -> str:
    import torch

    if not torch.cuda.is_available():
        raise NoGpuError("torch finds no GPU")
    return str(torch.__version__)


def _jax_version() -> str:
    import jax

    if jax.default_backend() == "cpu":
        raise NoGpuError("jax finds no GPU")
    return jax.__version__


_VERSIONS: Mapping[str, Callable[[], str]] = {"torch": _torch_version, "jax": _jax_version}

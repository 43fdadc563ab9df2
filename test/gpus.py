"""GPUs for tests on machines that have none."""

from dataclasses import replace
from functools import cache

from tenon.backends.interface import Backend, DeviceKind
from tenon.backends.registry import get_backend


@cache
def opencl_as_gpu() -> Backend:
    """Returns the OpenCL device as one that is said to be a GPU."""
    found = get_backend("opencl")
    device = replace(
        found.device,
        kind=DeviceKind.GPU,
        vector_nbytes=16,
        max_items=64,
        max_shared_nbytes=32 << 10,
        group_multiple=32,
        n_units=16,
    )
    return replace(found, device=device)

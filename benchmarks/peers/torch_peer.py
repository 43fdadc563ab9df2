"""
PyTorch: eager, and by `torch.compile` where a compiler of C++ is there and it may fuse something. Images of
NHWC are tensors in the memory format `channels_last`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch.nn import functional

from ..workloads.workload import Array, Workload
from .interface import Thunk

VERSION = str(torch.__version__)
FAILURES: tuple[type[Exception], ...] = (RuntimeError,)

torch.set_grad_enabled(False)


def matmul(a: Any, b: Any) -> Any:
    return a @ b


def matmul_tn(a: Any, b: Any) -> Any:
    return a.t() @ b


def matmul_nt(a: Any, b: Any) -> Any:
    return a @ b.t()


def matmul_bias_gelu(a: Any, b: Any, bias: Any) -> Any:
    return gelu(torch.addmm(bias, a, b))


def conv2d(x: Any, w: Any, *, layout: str, groups: int, padding: int) -> Any:
    return functional.conv2d(x, w, padding=padding, groups=groups)


def gelu(x: Any) -> Any:
    return functional.gelu(x, approximate="tanh")


def softmax(x: Any) -> Any:
    return torch.softmax(x, dim=-1)


def layernorm(x: Any, gamma: Any, beta: Any) -> Any:
    return functional.layer_norm(x, gamma.shape, gamma, beta, eps=1e-5)


def rmsnorm(x: Any, gamma: Any) -> Any:
    return functional.rms_norm(x, gamma.shape, gamma, eps=1e-5)


def logsumexp(x: Any) -> Any:
    return torch.logsumexp(x, dim=-1)


def attention(q: Any, k: Any, v: Any) -> Any:
    return functional.scaled_dot_product_attention(q, k, v)


def mlp(x: Any, gamma: Any, beta: Any, w1: Any, b1: Any, w2: Any, b2: Any) -> Any:
    hidden = gelu(torch.addmm(b1, layernorm(x, gamma, beta), w1))
    return x + torch.addmm(b2, hidden, w2)


def chain(x: Any, y: Any) -> Any:
    a = torch.sqrt(torch.clamp_min(x * 1.5 + y, 0.1))
    b = torch.abs(a * x - y) + 1
    c = torch.clamp_max(x / b, 2)
    return c * c - a


def reduce_sum(x: Any, *, axis: int) -> Any:
    return x.sum(axis)


def transpose(x: Any) -> Any:
    return x.t().contiguous()


KERNELS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        matmul,
        matmul_tn,
        matmul_nt,
        matmul_bias_gelu,
        conv2d,
        gelu,
        softmax,
        layernorm,
        rmsnorm,
        logsumexp,
        attention,
        mlp,
        chain,
        reduce_sum,
        transpose,
    )
}

_FUSABLE = (
    "matmul_bias_gelu",
    "gelu",
    "softmax",
    "layernorm",
    "rmsnorm",
    "logsumexp",
    "mlp",
    "chain",
    "reduce_sum",
    "transpose",
)


def _prepared(workload: Workload, arguments: Mapping[str, Array]) -> dict[str, Any]:
    tensors = {name: torch.from_numpy(array) for name, array in arguments.items()}
    if workload.parameters.get("layout") == "NHWC":
        tensors["x"] = tensors["x"].permute(0, 3, 1, 2)
        tensors["w"] = tensors["w"].permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
    return tensors


class _Constant(torch.nn.Module):
    """A product with a matrix that does not change, which torch may lay out as it likes."""

    def __init__(self, b: Any) -> None:
        super().__init__()
        self.b = torch.nn.Parameter(b, requires_grad=False)

    def forward(self, a: Any) -> Any:
        return a @ self.b


def _result(workload: Workload, value: Any) -> Any:
    return value.permute(0, 2, 3, 1) if workload.parameters.get("layout") == "NHWC" else value


def eager(workload: Workload, arguments: Mapping[str, Array]) -> tuple[Callable[..., Any], list[Any]]:
    """Returns the work as a function of tensors, and these, on the processor."""
    tensors = _prepared(workload, arguments)
    function = partial(KERNELS[workload.kind], **workload.parameters)
    names = list(tensors)

    def work(*values: Any) -> Any:
        return _result(workload, function(**dict(zip(names, values, strict=True))))

    return work, list(tensors.values())


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    torch.set_num_threads(threads)
    work, tensors = eager(workload, arguments)
    found: dict[str, Thunk] = {"torch": partial(work, *tensors)}
    if shutil.which("g++") is None:
        return found
    # Else it gives up after a few versions of what it takes for one function.
    torch.compiler.reset()
    if workload.constants:
        from torch._inductor import config

        config.freezing = True
        compiled = torch.compile(_Constant(tensors[1]).eval(), dynamic=False)
        found["torch.compile"] = partial(compiled, tensors[0])
        # Compiled at the first call, while the option holds.
        found["torch.compile"]()
        config.freezing = False
    elif workload.kind in _FUSABLE:
        found["torch.compile"] = partial(torch.compile(work, dynamic=False), *tensors)
    return found


def compiler(workload: Workload, arguments: Mapping[str, Array]) -> Thunk | None:
    if workload.kind not in _FUSABLE or shutil.which("g++") is None:
        return None
    function, tensors = KERNELS[workload.kind], _prepared(workload, arguments)
    # It compiles at the first call, and has no way to compile without one.
    return lambda: torch.compile(function, dynamic=False)(**tensors, **workload.parameters)

"""`torch.compile(model, backend="tenon")`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from .composites import composites
from .foreach import foreach_ops
from .graph_program import GraphProgram
from .library import torch_library
from .open_factors import ops_with_factors
from .ops.table import TABLE

_DECOMPOSED = (
    "_adaptive_avg_pool2d",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training",
    "_scaled_dot_product_flash_attention_for_cpu",
    "adaptive_max_pool2d",
    "grid_sampler_2d",
    "native_batch_norm",
    "native_group_norm",
    "native_layer_norm",
    "upsample_bilinear2d",
    "upsample_nearest1d",
    "upsample_nearest2d",
    "upsample_nearest3d",
)
"""Ops that torch can write with others, but does not for every compiler."""

_RANDOM = ("bernoulli", "native_dropout")
"""Ops that draw random numbers, and would draw other ones as they are written with others."""


@cache
def decompositions() -> dict[Any, Any]:
    """Returns how torch writes ops with other ones: all that it can, but for those that are in the table."""
    torch = torch_library()
    known = import_module("torch._decomp")
    found = dict(known.core_aten_decompositions().items())
    more = [getattr(torch.ops.aten, name) for name in _DECOMPOSED if hasattr(torch.ops.aten, name)]
    found.update(known.get_decompositions(more))
    for op in list(found):
        # What is here is compiled as it is, and what draws random numbers is torch's.
        name = str(op).removeprefix("aten.")
        if getattr(op, "namespace", "") == "aten" and (name in TABLE or name.partition(".")[0] in _RANDOM):
            del found[op]
    found.update(composites())
    found.update(foreach_ops())
    found.update(ops_with_factors())
    return found


def tenon(module: Any, example_inputs: list[Any], **options: Any) -> Any:
    """
    Compiles a graph that torch captured, and the one of its gradients. This is what `backend="tenon"` means.
    With the option `keep`, what is made of parameters and buffers alone is kept until they change. It is off
    by default: a few elements that are written through `tensor.data` or numpy change without being seen.

    Raises:
        TypeError: another option is given, or one that is no bool.
    """
    chosen: dict[str, Any] = options.get("options") or {}
    for name, value in chosen.items():
        if name != "keep":
            raise TypeError(f"tenon: the backend has no option '{name}' (it has: keep)")
        if not isinstance(value, bool):
            raise TypeError(f"tenon: the option keep is {value!r}, expected a bool")
    return compiled_by(module, example_inputs, _forget, **chosen)


def compiled_by(
    module: Any, example_inputs: list[Any], note: Callable[[GraphProgram], None], keep: bool = False
) -> Any:
    """
    Compiles a graph and the one of its gradients, and hands each program to `note`. With `keep`, what graphs
    without gradients make of parameters and buffers alone is kept; those of training find other ones at each
    step.
    """
    common = import_module("torch._dynamo.backends.common")
    partitioners = import_module("torch._functorch.partitioners")
    attention = import_module("torch.nn.attention")
    compiler = common.aot_autograd(
        fw_compiler=_compiler("forward", note),
        bw_compiler=_compiler("backward", note),
        inference_compiler=_compiler("inference", note, _static_inputs if keep else None),
        decompositions=decompositions(),
        partition_fn=partitioners.min_cut_rematerialization_partition,
    )
    # Attention is seen as the products and the softmax that it is.
    with attention.sdpa_kernel(attention.SDPBackend.MATH):
        return compiler(module, example_inputs)


def _forget(program: GraphProgram) -> None:
    pass


def _static_inputs() -> list[int]:
    """
    Returns the numbers of the arguments of the graph that is compiled now which are parameters and buffers,
    but for those that the graph itself changes.
    """
    context = import_module("torch._guards").TracingContext.try_get()
    if context is None or context.fw_metadata is None:
        return []
    known = context.fw_metadata
    return [
        number for number in known.static_input_indices if number not in known.mutated_inp_runtime_indices
    ]


def _compiler(
    kind: str, note: Callable[[GraphProgram], None], weights: Callable[[], list[int]] | None = None
) -> Any:
    def compiled(module: Any, example_inputs: list[Any]) -> Any:
        program = GraphProgram(module, kind, weights=weights() if weights else ())
        note(program)

        def run(arguments: list[Any]) -> tuple[Any, ...]:
            return program(arguments)

        run._boxed_call = True  # type: ignore[attr-defined]  # It empties the list of its arguments.
        return run

    return compiled

"""Says where one element of what a module gives comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from ...semantics.host_calls import HostFunctions
from ...semantics.numpy_types import Array
from .element_watch import ElementWatch, watching
from .execute import run_module


def element_origin(
    module: ModuleOp,
    name: str,
    inputs: Sequence[Array],
    nodes: dict[str, Array],
    merge: Array | None,
    symbols: Mapping[str, int],
    result: int | str,
    index: tuple[int, ...],
    callbacks: HostFunctions | None = None,
) -> Sequence[str]:
    """
    Runs a module as `run_module` does, and returns what computed the element at `index` of a result (by its
    number) or of a node (by its name): an op with the values of its operands there, then the ops that these
    come from. Returns nothing where no op did, such as for an argument that is returned.
    """
    watch = ElementWatch(result, index)
    with watching(watch):
        run_module(module, name, inputs, nodes, merge, symbols, callbacks)
    return watch.origin

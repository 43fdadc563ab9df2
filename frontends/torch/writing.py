"""Nodes of torch's graphs, written into a trace: each is a call of its function of the table."""

from __future__ import annotations

from typing import Any

from ...errors import TenonError
from ..tracing.trace import Trace, TracedArray
from . import ops as ops  # Which fills the table.
from .alike import alike_extents, whole_shapes, with_extents
from .extents import Dims, is_symbolic
from .graph_nodes import Node, is_tensor, location_of, op_name, parts_of, value_of, wanted_of
from .library import torch_library
from .ops.table import TABLE, Layout, NotCoveredError, Wanted
from .tensors import dtypes, has_gaps, memory_order

_LEFT_OUT = frozenset(
    ("device", "layout", "memory_format", "names", "non_blocking", "pin_memory", "generator")
)
"""Arguments that are about where tensors lie, of which there is one place."""


class Writer:
    """Writes nodes into the trace that is open; `values` has what they give."""

    def __init__(self, trace: Trace, dims: Dims) -> None:
        self.trace = trace
        self.dims = dims
        self.values: dict[Node, Any] = {}

    def write(self, node: Node) -> None:
        """
        Writes one node.

        Raises:
            NotCoveredError: it is left to torch.
        """
        self.trace.place = location_of(node)
        try:
            self.values[node] = self._called(node)
        except NotCoveredError:
            raise
        except (TenonError, TypeError, ValueError, LookupError, ArithmeticError) as error:
            raise NotCoveredError(str(error).partition("\n")[0]) from error
        finally:
            self.trace.place = None

    def _called(self, node: Node) -> Any:
        name = op_name(node)
        if name == "getitem":
            source, index = node.args
            return self.values[source][index]
        op = TABLE.get(name)
        if op is None:
            raise NotCoveredError("it is not in the table")
        for each in node.all_input_nodes:
            # What the op reads must be such that there are arrays of it.
            wanted_of(value_of(each), self.dims.extent)
        wanted = wanted_of(value_of(node), self.dims.extent)
        alike = alike_extents(node, self.dims)
        arguments = [with_extents(self._argument(each), alike) for each in node.args]
        left_out = _LEFT_OUT - op.parameters
        named = {
            key: with_extents(self._argument(each), alike)
            for key, each in node.kwargs.items()
            if key not in left_out
        }
        if "wanted" in op.parameters:
            named["wanted"] = wanted
        if "is_guarded" in op.parameters:
            named["is_guarded"] = self.dims.is_guarded
        if "whole" in op.parameters:
            named["whole"] = whole_shapes(node, self.dims)
        if "layouts" in op.parameters:
            named["layouts"] = [
                Layout(memory_order(each.shape, each.stride()), has_gaps(each), each.storage_offset())
                for each in map(value_of, node.all_input_nodes)
                if is_tensor(each)
            ]
        if "fits" in op.parameters:
            # A tensor of rank 0 has one element along its only axis here.
            shapes = [value_of(each).shape or (1,) for each in node.args[2:4]]
            named["fits"] = self.dims.are_at_most(*shapes)
        found = op.function(*arguments, **named)
        return _checked(found, wanted)

    def _argument(self, value: Any) -> Any:
        torch = torch_library()
        if isinstance(value, torch.fx.Node):
            known = value_of(value)
            if value in self.values:
                return self.values[value]
            if is_symbolic(known):
                return self.dims.extent(known)
            if isinstance(known, bool | int | float):
                return known
            raise NotCoveredError(f"an argument is {type(known).__name__}")
        if isinstance(value, list | tuple):
            return [self._argument(each) for each in parts_of(value)]
        if isinstance(value, torch.dtype):
            if value not in dtypes():
                raise NotCoveredError(f"the dtype {value}")
            return dtypes()[value]
        if isinstance(value, complex):
            raise NotCoveredError("a complex number")
        return value


def _checked(found: Any, wanted: Any) -> Any:
    """
    Returns what a function gave, None where torch gives none.

    Raises:
        NotCoveredError: it has another dtype or shape than torch says.
    """
    if isinstance(wanted, tuple) and not isinstance(wanted, Wanted):
        several = parts_of(wanted)
        if not isinstance(found, tuple | list) or len(parts_of(found)) < len(several):
            raise NotCoveredError(f"it gives {len(several)} tensors")
        return tuple([_checked(*pair) for pair in zip(parts_of(found), several, strict=False)])
    if wanted is None:
        return None
    if not isinstance(found, TracedArray):
        raise NotCoveredError("it gives no tensor here")
    if found.weak or found.dtype != wanted.dtype or tuple(found.aval.shape) != wanted.shape:
        raise NotCoveredError(
            f"it would be {found.dtype} of shape {_text(found.aval.shape)}, and torch's is {wanted.dtype} of "
            f"shape {_text(wanted.shape)}"
        )
    return found


def _text(shape: Any) -> str:
    return f"({', '.join(map(str, shape))})"

"""What a program exchanges with other ranks: how many bytes, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import TensorType

from ...dialects import graph, sched
from ...dialects.dims.expressions import DimSymbol, bounded, upper_bound
from ...dialects.element_types import NBYTES, element_type_of
from ...dialects.modules.parsing import location_text
from ...semantics.collectives import collective_of


def exchange_text(item: sched.CollectiveOp) -> str:
    """Returns how many bytes a rank sends for what begins, and which op of `graph` asked for it."""
    place = location_text(item.location)
    why = "" if place is None else f" for graph.{item.collective.data.kind} at {place}"
    dims = graph.dims_around(item)
    types = [graph.tensor_type_of(type, item.name) for type in item.function_type.inputs]
    is_exact = all(isinstance(extent, int) for type in types for extent in graph.shape_of(type))
    return f"sends {'' if is_exact else 'at most '}{round(_sent(item, dims))} bytes{why}"


def _sent(item: sched.CollectiveOp, dims: Mapping[str, DimSymbol]) -> float:
    collective, type = collective_of(item), item.function_type
    return sum(
        collective.sent_nbytes(_shape(source, dims), _shape(result, dims), NBYTES[element_type_of(source)])
        for source, result in zip(
            (graph.tensor_type_of(each, item.name) for each in type.inputs),
            (graph.tensor_type_of(each, item.name) for each in type.outputs),
            strict=True,
        )
    )


def _shape(type: TensorType[Any], dims: Mapping[str, DimSymbol]) -> list[int]:
    return [upper_bound(bounded(extent, dims)) for extent in graph.shape_of(type)]

"""
Plans as data that JSON can say, and back.

Numbers, text, None and lists are themselves; all else is an object of one key that says what it is: a record
of `_RECORDS` with its fields in order, a choice of `_CHOICES` with its value, a mapping, a dtype, an extent
made of dims, or an array, whose bytes stand among the `sections`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from enum import Enum
from typing import Any, cast

import numpy as np

from ...backends.steps import (
    BranchStep,
    CopyStep,
    HostStep,
    JumpStep,
    LaunchStep,
    LoopStep,
    NextStep,
    PlaceStep,
    RowPlace,
    SyncStep,
)
from ...dialects.collective import Collective
from ...dialects.dims.expressions import DimExpr, DimSymbol, Greatest, Least, Quotient, Remainder
from ...dialects.memory_modes import HostedKind, MemoryMode, ModeKind, Sharing
from ...dialects.modules.dim_values import DimSource, DimTable
from ...dialects.rearrangement import Rearrangement
from ...semantics.numpy_types import DTYPES_BY_NAME
from ..timeline.step_cost import StepCost
from .host_calls import HostCall
from .program_plan import BufferKind, BufferPlan, NodePlan, ProgramPlan, SymbolIndex, SymbolPlan, VaryingSizes
from .signature import Array, ArrayType, Signature

_RECORDS: dict[str, type[Any]] = {
    record.__name__: record
    for record in (
        ArrayType,
        BranchStep,
        BufferPlan,
        Collective,
        CopyStep,
        DimSource,
        DimSymbol,
        DimTable,
        Greatest,
        HostCall,
        HostStep,
        JumpStep,
        LaunchStep,
        Least,
        LoopStep,
        MemoryMode,
        NextStep,
        NodePlan,
        PlaceStep,
        ProgramPlan,
        Quotient,
        Rearrangement,
        Remainder,
        RowPlace,
        Signature,
        StepCost,
        SymbolIndex,
        SymbolPlan,
        SyncStep,
        VaryingSizes,
    )
}
_CHOICES: dict[str, type[Enum]] = {
    choice.__name__: choice for choice in (BufferKind, HostedKind, ModeKind, Sharing)
}
_FIELDS: dict[type[Any], tuple[str, ...]] = {
    record: tuple(field.name for field in fields(record) if field.init and field.name != "function")
    for record in _RECORDS.values()
}

_MAPPING, _DTYPE, _EXTENT, _ARRAY = "mapping", "dtype", "extent", "array"


class UnknownDataError(ValueError):
    """Data that no plan was written as."""


def encode(value: Any, sections: list[bytes]) -> Any:
    """Returns `value` as data; the bytes of its arrays are added to `sections`."""
    match value:
        case Enum():
            return {type(value).__name__: value.value}
        case None | bool() | str() | int() | float():
            return value
        case tuple() | list():
            return [encode(element, sections) for element in cast(Sequence[Any], value)]
        case np.ndarray():
            array = cast(Array, value)
            sections.append(array.tobytes())
            return {_ARRAY: [array.dtype.name, list(array.shape), len(sections) - 1]}
        case np.dtype():
            return {_DTYPE: value.name}
        case DimExpr():
            terms = [[encode(monomial, sections), factor] for monomial, factor in value.terms.items()]
            return {_EXTENT: terms}
        case Mapping():
            entries = cast(Mapping[Any, Any], value).items()
            return {_MAPPING: [[encode(key, sections), encode(each, sections)] for key, each in entries]}
        case _:
            record = cast(type[Any], type(value))
            names = _FIELDS.get(record)
            assert names is not None, f"{record.__name__} is no part of a plan"
            return {record.__name__: [encode(getattr(value, name), sections) for name in names]}


def decode(data: Any, sections: Sequence[bytes]) -> Any:
    """
    Returns what `encode` was given; lists are tuples.

    Raises:
        UnknownDataError: it was given nothing that gives this.
    """
    if isinstance(data, list):
        return tuple([decode(element, sections) for element in cast(list[Any], data)])
    if not isinstance(data, dict):
        return data
    try:
        ((kind, content),) = cast(dict[str, Any], data).items()
        record = _RECORDS.get(kind)
        if record is not None:
            return record(*[decode(element, sections) for element in content])
        if kind in _CHOICES:
            return _CHOICES[kind](content)
        match kind:
            case "mapping":
                return {decode(key, sections): decode(each, sections) for key, each in content}
            case "dtype":
                return DTYPES_BY_NAME[content]
            case "extent":
                return DimExpr({decode(monomial, sections): factor for monomial, factor in content})
            case "array":
                name, shape, number = content
                section: bytes = sections[cast(int, number)]
                return np.frombuffer(section, DTYPES_BY_NAME[name]).reshape(cast("tuple[int, ...]", shape))
            case _:
                raise UnknownDataError(f"no part of a plan is called {kind!r}")
    except UnknownDataError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise UnknownDataError(f"no part of a plan: {error}") from error

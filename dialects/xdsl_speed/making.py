"""Making an op or an attribute, and putting an op into a block."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, wraps
from typing import Any, cast

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Data, Operation, OpResult, ParametrizedAttribute, Region, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl.operations import IRDLOperation, OptionalDef

_NO_RESULTS: SSAValues[Any] = SSAValues()


def _initialize(
    self: Operation,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    self.operands = operands
    self.results = (
        SSAValues([OpResult(type, self, number) for number, type in enumerate(result_types)])
        if result_types
        else _NO_RESULTS
    )
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = list(successors)
    self.regions = ()
    for region in regions:
        self.add_region(region)
    self.__post_init__()


@cache
def _defaults_of(kind: type[IRDLOperation]) -> tuple[tuple[tuple[str, Attribute], ...], ...]:
    """Returns the properties, and the attributes, that ops of a class have where they are given no others."""
    definition = kind.get_irdl_definition()
    return tuple(
        tuple(
            (name, each.default_value)
            for name, each in found.items()
            if not isinstance(each, OptionalDef) and each.default_value is not None
        )
        for found in (definition.properties, definition.attributes)
    )


def _fill_in(self: IRDLOperation) -> None:
    properties, attributes = _defaults_of(type(self))
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    # Builders of xDSL put ops where they are then.
    Operation.__post_init__(self)


@cache
def _is_known_kind(kind: type[Attribute]) -> bool:
    return issubclass(kind, Data | ParametrizedAttribute)


def _check_attribute(self: Attribute) -> None:
    self._verify()
    if not _is_known_kind(type(self)):
        raise TypeError("Attributes should only be Data or ParametrizedAttribute")


def _attaching(attach: Any) -> Any:
    """Returns a method of blocks that takes in an op: only one with regions may be around the block."""

    @wraps(attach)
    def attach_op(self: Block, operation: Operation) -> None:
        if operation.regions or operation.parent is not None:
            attach(self, operation)
        else:
            operation.parent = self

    return attach_op


def apply() -> None:
    """Installs it."""
    Operation.__init__ = _initialize
    IRDLOperation.__post_init__ = _fill_in
    Attribute.__post_init__ = _check_attribute
    block = cast(Any, Block)
    block._attach_op = _attaching(block._attach_op)

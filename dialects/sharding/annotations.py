"""What a function says of the shardings of its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType
from xdsl.dialects.shard import ShardAxesArrayAttr, ShardingOp, ShardOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import TenonError
from ..graph.types import shape_of, tensor_type_of
from ..modules.parsing import location_text
from .mesh import Mesh
from .sharding import Sharding

ARGUMENT_SHARDING = "tenon.sharding"
"""The attribute of an argument or a result that says how it is split."""


def said_by(op: ShardOp, mesh: Mesh) -> Sharding:
    """
    Returns what a `shard.shard` says of its operand, without axes that split nothing.

    Raises TenonError, with the place, where no `shard.sharding` gives it, or it does not fit the operand.
    """
    where = location_text(op.location)
    said = op.sharding.owner
    if not isinstance(said, ShardingOp):
        raise TenonError(f"{op.name}: its sharding is given by no shard.sharding", location=where)
    return checked_sharding(Sharding.of_op(said, mesh), op.src, mesh, op)


def checked_sharding(sharding: Sharding, value: SSAValue, mesh: Mesh, op: Operation) -> Sharding:
    """
    Returns what is said of a value, without axes that split nothing. An index has no dims.

    Raises TenonError, with the place of `op`, where it does not fit the value.
    """
    shape = () if isinstance(value.type, IndexType) else shape_of(tensor_type_of(value, op.name))
    name = f"%{value.name_hint}" if value.name_hint else "the value"
    return sharding.checked(mesh, shape, name, location_text(op.location))


def argument_shardings(function: func.FuncOp) -> tuple[Sharding | None, ...]:
    """
    Returns how each argument is split, None where that is not said.

    Raises TenonError, with the place, where the attribute is no sharding.
    """
    return _shardings(function, "argument", function.arg_attrs, len(function.function_type.inputs))


def result_shardings(function: func.FuncOp) -> tuple[Sharding | None, ...]:
    """
    Returns how each result is split, None where that is not said.

    Raises TenonError, with the place, where the attribute is no sharding.
    """
    return _shardings(function, "result", function.res_attrs, len(function.function_type.outputs))


def _shardings(
    function: func.FuncOp, what: str, attributes: Attribute | None, count: int
) -> tuple[Sharding | None, ...]:
    found: list[Sharding | None] = []
    for number, each in enumerate(_dictionaries(attributes, count)):
        written = each.get(ARGUMENT_SHARDING)
        if written is not None and not isinstance(written, ShardAxesArrayAttr):
            raise TenonError(
                f"@{function.sym_name.data}: {ARGUMENT_SHARDING} of {what} {number} is {written}, expected "
                "#shard<axisarray[...]>",
                location=location_text(function.location),
            )
        found.append(None if written is None else Sharding.of(written))
    return tuple(found)


def _dictionaries(attributes: Attribute | None, count: int) -> list[dict[str, Attribute]]:
    if not isinstance(attributes, ArrayAttr):
        return [{} for _ in range(count)]
    written = cast("ArrayAttr[Attribute]", attributes).data
    return [dict(each.data) if isinstance(each, DictionaryAttr) else {} for each in written]


def set_shardings(
    function: func.FuncOp,
    arguments: Sequence[Sharding | None],
    results: Sequence[Sharding | None] | None = None,
) -> None:
    """
    Writes down how the arguments of a function are split, and its results where that is given; their other
    attributes stay, and all of them where it is None.
    """
    for name, shardings in (("arg_attrs", arguments), ("res_attrs", results)):
        if shardings is None:
            continue
        written = _dictionaries(function.properties.get(name), len(shardings))
        function.properties[name] = ArrayAttr(
            [
                DictionaryAttr(each | ({} if sharding is None else {ARGUMENT_SHARDING: sharding.attribute}))
                for each, sharding in zip(written, shardings, strict=True)
            ]
        )

"""The origins of launches: the ops of `graph` that they compute."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import sched
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.parsing import location_text
from .fusion_rules import Decision


def origin_of(op: Operation, names: dict[SSAValue, str], decision: Decision | None) -> sched.OriginAttr:
    """Returns what is said of an op; one that nothing was decided of has a kernel of its own."""
    value = op.results[0]
    return sched.OriginAttr(
        f"%{names[value]}",
        operation_text(op),
        _type_text(value.type),
        ModeKind.MATERIALIZED if decision is None else decision.mode,
        "computed by a kernel of its own" if decision is None else decision.why,
        "own-kernel" if decision is None else decision.rule,
        location_text(op.location) or "",
    )


def operation_text(op: Operation) -> str:
    """Returns what an op does, in a word or two: `exp`, `reduce add`."""
    name = op.name.removeprefix("graph.")
    kind = op.properties.get("kind")
    return f"{name} {cast(Any, kind).data.value}" if isinstance(kind, EnumAttribute) else name


def _type_text(type: Attribute) -> str:
    """Returns the shape and the element type: `4x8xf32`."""
    if not isinstance(type, TensorType):
        return str(type)
    text = str(cast(Attribute, type))
    return text.removeprefix("tensor<").partition(",")[0].removesuffix(">")

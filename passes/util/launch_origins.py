"""What launches say of the ops of `graph` that they compute."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects import sched
from ...dialects.memory_modes import ModeKind
from ...dialects.parsing import location_text
from .kernel_planning import Decision


def value_names(function: Operation) -> dict[SSAValue, str]:
    """
    Returns what the values in an op are called: their hints, those that are taken with a number after
    them, and numbers for values without one, all in the order of the text.
    """
    names: dict[SSAValue, str] = {}
    taken: dict[str, int] = {}
    n_unnamed = 0
    for op in function.walk():
        arguments = [argument for region in op.regions for block in region.blocks for argument in block.args]
        for value in (*op.results, *arguments):
            hint = value.name_hint
            if hint is None:
                names[value] = f"%{n_unnamed}"
                n_unnamed += 1
                continue
            number = taken.get(hint, 0)
            taken[hint] = number + 1
            names[value] = f"%{hint}_{number}" if number else f"%{hint}"
    return names


def origin_of(op: Operation, names: dict[SSAValue, str], decision: Decision | None) -> sched.OriginAttr:
    """Returns what is said of an op; one that nothing was decided of has a kernel of its own."""
    value = op.results[0]
    return sched.OriginAttr(
        names[value],
        operation_text(op),
        _type_text(value.type),
        ModeKind.MATERIALIZED if decision is None else decision.mode,
        "computed by a kernel of its own" if decision is None else decision.why,
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

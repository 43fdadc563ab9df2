"""
What steps made the schedule of a kernel, so that it can be read, edited and done again.

    sched.kernel @f_0(...) attributes {tenon.recipe = [{axes = ["j", "i"], step = "reorder"}]} {

`record-recipes` puts an empty recipe on each kernel, to which every step that changes its loops adds itself,
whoever does it: a default schedule, a search, or a user. How loops are mapped, and what is fetched ahead, is
read from the kernel as it is in the end. A kernel that a pass changes in a way that is no step has the reason
instead of a recipe.
"""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects import sched
from ....dialects.low.prefetch import LEVELS, prefetch_distance, prefetch_level, prefetch_rows
from ...indices.analysis import Loop
from ...rewriting.value_names import value_names
from .loop_nests.loops import KernelLoop, index_of, is_mapped, kernel_around
from .loop_nests.reassociation import rounds

RECIPE = "tenon.recipe"

UNNOTED = "nobody noted its steps"
"""Why a kernel has no recipe that was scheduled before anybody asked for one."""


def begin_recipe(kernel: sched.KernelOp) -> None:
    """Has a kernel note the steps that are done to it from here on, unless it is mapped already."""
    if not is_mapped(kernel):
        kernel.attributes[RECIPE] = ArrayAttr([])


def note(op: Operation, step: str, **arguments: Any) -> None:
    """
    Notes a step that is about to be done to the kernel around an op, if that notes any. Loops and buffers
    among the arguments, and in lists of them, are called as they print now; what is false is left out.
    """
    kernel = kernel_around(op)
    noted = kernel.attributes.get(RECIPE)
    if not isinstance(noted, ArrayAttr):
        return
    names = value_names(kernel)

    def attribute(value: Any) -> Attribute:
        match value:
            case bool():
                return BoolAttr.from_bool(value)
            case int():
                return IntegerAttr(value, i64)
            case str():
                return StringAttr(value)
            case SSAValue():
                return StringAttr(names[value])
            case Operation():
                return StringAttr(names[index_of(cast(KernelLoop, value))])
            case _:
                return ArrayAttr([attribute(each) for each in value])

    given = {name: attribute(value) for name, value in arguments.items() if value is not False}
    steps = cast("ArrayAttr[Attribute]", noted).data
    kernel.attributes[RECIPE] = ArrayAttr([*steps, DictionaryAttr({"step": StringAttr(step), **given})])


def end_recipe(kernel: sched.KernelOp, why: str) -> None:
    """Says that a kernel is changed in a way that is no step, and which."""
    if RECIPE in kernel.attributes:
        kernel.attributes[RECIPE] = StringAttr(why)


def recipe_of(kernel: sched.KernelOp) -> list[dict[str, Any]] | str:
    """
    Returns the steps that make a kernel what it is, from where its recipe began, or why there are none. They
    are what `tenon.Schedule.replay` and `tenon.compile(schedules=)` take.
    """
    noted = kernel.attributes.get(RECIPE)
    if isinstance(noted, StringAttr):
        return noted.data
    if not isinstance(noted, ArrayAttr):
        return UNNOTED
    steps = [_plain(step) for step in cast("ArrayAttr[Attribute]", noted).data]
    names = value_names(kernel)
    mapped = [op for op in kernel.walk() if isinstance(op, Loop) and op.mapping.words()]
    if mapped:
        step: dict[str, Any] = {
            "step": "map",
            "axes": [names[op.index] for op in mapped],
            "mappings": [op.mapping.words() for op in mapped],
        }
        changed = (op for op in mapped if isinstance(op, sched.ReduceOp) and op.mapping.partials != 1)
        if any(rounds(op) for op in changed):
            step["allow_reorder"] = True
        steps.append(step)
    for op in kernel.walk():
        loop = op.parent_op()
        # No step has a load fetch that stands in no loop: whoever wrote the kernel had it do so.
        if isinstance(op, memref.LoadOp) and isinstance(loop, KernelLoop):
            distance = prefetch_distance(op)
            if distance is not None:
                place = {"axis": names[index_of(loop)], "buffer": names[op.memref]}
                told = {"level": prefetch_level(op), "rows": prefetch_rows(op)}
                defaults = {"level": LEVELS[0], "rows": 1}
                told = {name: number for name, number in told.items() if number != defaults[name]}
                steps.append({"step": "prefetch", **place, "distance": distance, **told})
    return steps


def _plain(value: Attribute) -> Any:
    match value:
        case StringAttr():
            return value.data
        case IntegerAttr():
            is_bool = value.type == IntegerType(1)
            return bool(value.value.data) if is_bool else value.value.data
        case DictionaryAttr():
            step = {name: _plain(each) for name, each in value.data.items()}
            return {"step": step.pop("step"), **step}
        case _:
            return [_plain(each) for each in cast("ArrayAttr[Attribute]", value).data]

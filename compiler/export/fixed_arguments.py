"""Programs of which some arguments do not change: these become constants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ...backends.steps import LoopStep, PlaceStep, buffers_of
from ...errors import TenonError
from ...runtime.memory.segments import aligned
from ...runtime.plan.lowered_program import LoweredProgram
from ...runtime.plan.program_plan import BufferKind, BufferPlan, ProgramPlan, VaryingSizes
from ...runtime.plan.signature import Array, checked_array


def with_fixed_arguments(lowered: LoweredProgram, fixed: Mapping[str, Array]) -> LoweredProgram:
    """
    Returns a program that holds some arguments itself, given by their names, and takes the others.

    Raises:
        TenonError: there is no such argument, or one is donated or tells the value of a dim.
        CallError: a value does not fit its argument.
    """
    return replace(lowered, plan=_with_constants(lowered.plan, fixed)) if fixed else lowered


def _with_constants(plan: ProgramPlan, fixed: Mapping[str, Array]) -> ProgramPlan:
    signature = plan.signature
    names, types = signature.argument_names, signature.argument_types
    for name in fixed:
        if name not in names:
            raise TenonError(f"export: there is no argument '{name}' (arguments: {', '.join(names)})")
    kept = [number for number, name in enumerate(names) if name not in fixed]
    places = {number: place for place, number in enumerate(kept)}
    if donated := [names[number] for number in plan.donated if number not in places]:
        raise TenonError(f"export: argument '{donated[0]}' is written to, so that it is no constant")
    used = _used(plan)
    offsets: dict[int, int] = {}
    parts = [plan.constants]
    end = plan.constants.nbytes
    for number, name in enumerate(names):
        if name in fixed:
            array = checked_array(fixed[name], types[number], f"constant '{name}'")
            if number not in used:
                # As weights are of which the program takes something that was made before.
                offsets[number] = 0
                continue
            contents = np.frombuffer(array.tobytes(), np.uint8)
            padding = aligned(end) - end if end else 0
            offsets[number] = end + padding
            parts += [np.zeros(padding, np.uint8), contents]
            end += padding + contents.nbytes

    def moved(buffer: BufferPlan) -> BufferPlan:
        if buffer.kind is not BufferKind.ARGUMENT:
            return buffer
        if buffer.number in places:
            return replace(buffer, number=places[buffer.number])
        return replace(buffer, kind=BufferKind.CONSTANT, offset=offsets[buffer.number], number=0)

    return replace(
        plan,
        signature=replace(
            signature,
            argument_names=tuple([names[number] for number in kept]),
            argument_types=tuple([types[number] for number in kept]),
        ),
        buffers=tuple(map(moved, plan.buffers)),
        constants=np.concatenate(parts),
        donated=tuple([places[number] for number in plan.donated]),
        varying=None if plan.varying is None else _told_by(plan.varying, names, places),
    )


def _used(plan: ProgramPlan) -> set[int]:
    """Returns the arguments that steps use, or that are results."""
    buffers = {*plan.returned}
    for step in plan.steps:
        buffers.update(buffers_of(step))
        if isinstance(step, LoopStep | PlaceStep):
            buffers.update(row.source for row in step.rows)
    found = (plan.buffers[index] for index in buffers)
    return {buffer.number for buffer in found if buffer.kind is BufferKind.ARGUMENT}


def _told_by(varying: VaryingSizes, names: tuple[str, ...], places: Mapping[int, int]) -> VaryingSizes:
    """Returns the sizes where the dims are told by the arguments that are left."""
    dims = varying.dims
    for source in dims.sources:
        if source.argument not in places:
            raise TenonError(
                f"export: argument '{names[source.argument]}' tells the value of dim @{source.symbol.name}, "
                "so that it is no constant"
            )
    sources = tuple([replace(source, argument=places[source.argument]) for source in dims.sources])
    arguments = tuple([dims.arguments[number] for number in places])
    return replace(varying, dims=replace(dims, sources=sources, arguments=arguments))

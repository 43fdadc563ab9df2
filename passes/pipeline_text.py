"""
Reads pipelines from text, with errors that say what was meant or what there is to choose from.

Besides passes the text may name a phase of the default pipeline: `sched-pipeline{vector-nbytes=16}` stands
for the passes of `sched`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa, type_repr

from ..errors import TenonError
from .machine.target import DEFAULT_TARGET, Target, figures_for
from .named_pipelines import NAMED_PIPELINES
from .registry import RENAMED_PASSES

_NESTED = re.compile(r"([\w.-]+)\s*\((.*)\)", re.DOTALL)

_QUOTED_OR_DOTTED = re.compile(r'"(?:\\.|[^"\\])*"|(?<=[=,])[A-Za-z_][\w-]*(?:\.[\w-]+)+')
"""A quoted value, or one with dots in it such as an op's name, which xDSL reads only in quotes."""


def parse_passes(
    text: str,
    available: Mapping[str, Callable[[], type[ModulePass]]],
    target: Target = DEFAULT_TARGET,
) -> tuple[ModulePass, ...]:
    """
    Returns the passes that `text` lists: `a,b{x=1 y=true}`, or the same in `builtin.module(...)`; spaces
    and line breaks around the commas do not matter. `target` is the machine of named pipelines, but for what
    their options say.

    Raises `TenonError` for text that is no pipeline, unknown passes and options, and values of a wrong type.
    """
    passes: list[ModulePass] = []
    for spec in _specs(text):
        if spec.name in NAMED_PIPELINES:
            passes += make_named_pipeline(spec, target)
        else:
            passes.append(make_pass(spec, available))
    return tuple(passes)


def _specs(text: str) -> Iterable[ArgSpec]:
    text = text.strip()
    if nested := _NESTED.fullmatch(text):
        anchor, text = nested.groups()
        if anchor != "builtin.module":
            raise TenonError(f"pipeline: passes run on builtin.module, not on {anchor}")
    if not text.strip():
        return
    for piece in _split(text):
        if nested := _NESTED.fullmatch(piece):
            raise TenonError(f"pipeline: passes run on builtin.module, not on {nested[1]} within it")
        if not piece:
            raise TenonError(f"pipeline: a pass name is missing in '{text}'")
        try:
            yield from parse_pipeline(_QUOTED_OR_DOTTED.sub(_quote, piece))
        except ArgSpecParseError as error:
            reason = str(error).splitlines()[-1].strip()
            reason = reason[:1].lower() + reason[1:]
            raise TenonError(f"pipeline: cannot read '{piece}' ({reason})") from error


def _quote(value: re.Match[str]) -> str:
    return value[0] if value[0].startswith('"') else f'"{value[0]}"'


def _split(text: str) -> Iterable[str]:
    """Yields what stands between the commas that are not inside braces, brackets or quotes."""
    depth, quoted, start = 0, False, 0
    for index, char in enumerate(text):
        if char == '"' and text[index - 1 : index] != "\\":
            quoted = not quoted
        elif quoted:
            continue
        elif char in "{[(":
            depth += 1
        elif char in "}])":
            depth -= 1
        elif char == "," and depth == 0:
            yield text[start:index].strip()
            start = index + 1
    yield text[start:].strip()


def make_pass(spec: ArgSpec, available: Mapping[str, Callable[[], type[ModulePass]]]) -> ModulePass:
    """
    Returns the pass that `spec` names, with the options it gives.

    Raises `TenonError` for an unknown pass or option, a missing option and a value of a wrong type.
    """
    if spec.name not in available:
        known = (*available, *NAMED_PIPELINES)
        raise TenonError(f"pipeline: {unknown_pass(spec.name, known)}")
    pass_type = available[spec.name]()
    options = {field.name.replace("_", "-"): field for field in dataclasses.fields(pass_type) if field.init}
    given = {name.replace("_", "-") for name in spec.parameters}
    _check_names(spec, options)
    for name in sorted(option.replace("_", "-") for option in pass_type.required_fields()):
        if name not in given:
            raise TenonError(f"{spec.name}: option '{name}' is missing")
    _check_values(spec, get_type_hints(pass_type))
    try:
        return pass_type.from_spec(spec)
    except ValueError as error:
        raise TenonError(f"{spec.name}: {error}") from error


def make_named_pipeline(spec: ArgSpec, target: Target = DEFAULT_TARGET) -> tuple[ModulePass, ...]:
    """
    Returns the passes of the named pipeline that `spec` names, for a machine, but for what its options say.

    Raises `TenonError` for an unknown option and a value of a wrong type.
    """
    pipeline = NAMED_PIPELINES[spec.name]
    options = [field.name for field in dataclasses.fields(pipeline)]
    _check_names(spec, [name.replace("_", "-") for name in options])
    _check_values(spec, get_type_hints(pipeline))
    given = figures_for(pipeline, target)
    given.update((name.replace("-", "_"), value) for name, (value,) in spec.parameters.items())
    return pipeline(**given).passes()


def _check_names(spec: ArgSpec, options: Collection[str]) -> None:
    for name in spec.parameters:
        if name.replace("_", "-") not in options:
            choice = f"options: {', '.join(options)}" if options else "it has no options"
            raise TenonError(f"{spec.name}: unknown option '{name}' ({choice}){did_you_mean(name, options)}")


def _check_values(spec: ArgSpec, types: Mapping[str, Any]) -> None:
    for name, value in spec.parameters.items():
        type_ = types[name.replace("-", "_")]
        if not _fits(value, type_):
            found = ",".join(map(str, value)) or "no value"
            raise TenonError(f"{spec.name}: option '{name}' takes {type_repr(type_)}, found {found}")


def _fits(value: ParameterListType, type_: Any) -> bool:
    if not value:
        return isa(None, type_) or isa(value, type_)
    if isinstance(value[0], bool) and type_ is int:
        return False
    return (len(value) == 1 and isa(value[0], type_)) or isa(value, type_)


def unknown_pass(name: str, known: Iterable[str]) -> str:
    """Returns that `name` is no pass in `known`, and what it is called now or may be meant to be."""
    now = RENAMED_PASSES.get(name)
    hint = did_you_mean(name, known) if now is None else f", it is called '{now}' now"
    return f"unknown pass '{name}'{hint}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """
    Returns `, did you mean 'x'?` with the name in `known` that is nearest to `name`, or nothing if none is
    near.
    """
    nearest = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f", did you mean '{nearest[0]}'?" if nearest else ""

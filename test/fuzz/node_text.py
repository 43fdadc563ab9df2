"""A traced function as a program over nodes: arguments are read from nodes, results written to nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_SIGNATURE = re.compile(r"^  func\.func @(?P<name>[\w$.]+)\((?P<arguments>.*)\) -> (?P<results>.*) \{$")
_MODES = ("mode on_device", "mode hosted", "")


@dataclass(frozen=True)
class NodeProgram:
    """The text, and the nodes of arguments and results: those of arguments that are fed back are both."""

    text: str
    arguments: tuple[str, ...]
    results: tuple[str, ...]


def _parts(text: str) -> list[str]:
    """Splits at the commas that are in no brackets."""
    parts, depth, first = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "<([{":
            depth += 1
        elif letter in ">)]}" and text[place - 1] != "-":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[first:place].strip())
            first = place + 1
    return [*parts, text[first:].strip()] if text.strip() else []


@dataclass(frozen=True)
class TracedText:
    """The one function of a module, of static shapes, in parts: values with their types, and lines."""

    arguments: list[tuple[str, str]]
    body: list[str]
    results: list[tuple[str, str]]

    @staticmethod
    def of(text: str) -> TracedText:
        lines = text.splitlines()
        (start,) = [number for number, line in enumerate(lines) if _SIGNATURE.match(line)]
        match = _SIGNATURE.match(lines[start])
        assert match is not None
        arguments = [part.split(":", 1) for part in _parts(match["arguments"])]
        (end,) = [number for number, line in enumerate(lines) if line.startswith("    func.return")]
        returned, _, types = lines[end].removeprefix("    func.return").partition(" : ")
        return TracedText(
            [(name.strip(), type.replace("{tenon.donated}", "").strip()) for name, type in arguments],
            lines[start + 1 : end],
            list(zip(_parts(returned), _parts(types), strict=True)),
        )


def node(name: str, type: str, number: int) -> str:
    """Returns the declaration of a node; `number` varies its mode."""
    return f"graph.tnode @{name} : {type} {_MODES[number % len(_MODES)]}".rstrip()


def module(declared: Iterable[str], functions: Mapping[str, Iterable[str]]) -> str:
    """Returns the text of a module: functions without results, by what stands between name and body."""
    lines = ["builtin.module {", *declared]
    for signature, body in functions.items():
        lines += [f"  func.func @{signature} {{", *body, "    func.return", "  }"]
    return "\n".join([*lines, "}", ""])


def with_nodes(text: str, feedback: Mapping[int, int], first_mode: int) -> NodeProgram:
    """
    Returns the module `text`, of one function of static shapes, over nodes; `first_mode` varies their modes.
    """
    traced = TracedText.of(text)
    fed = {result: argument for argument, result in feedback.items()}
    declared = [node(f"a{k}", type, first_mode + k) for k, (_, type) in enumerate(traced.arguments)]
    body = [f"    {name} = graph.read @a{k} : {type}" for k, (name, type) in enumerate(traced.arguments)]
    body += traced.body
    results: list[str] = []
    for k, (value, type) in enumerate(traced.results):
        name = f"a{fed[k]}" if k in fed else f"r{k}"
        if k not in fed:
            declared.append(node(name, type, first_mode + k + 1))
        body.append(f"    graph.write @{name}, {value} : {type}")
        results.append(name)
    arguments = tuple(f"a{k}" for k in range(len(traced.arguments)))
    return NodeProgram(module(declared, {"step()": body}), arguments, tuple(results))

"""A traced function as a program over nodes: arguments are read from nodes, results written to nodes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_SIGNATURE = re.compile(r"^  func\.func @(?P<name>[\w$.]+)\((?P<arguments>.*)\) -> (?P<results>.*) \{$")
_MODES = ("mode on_device ", "mode hosted ", "")


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


def with_nodes(text: str, feedback: Mapping[int, int], first_mode: int) -> NodeProgram:
    """
    Returns the module `text`, of one function of static shapes, over nodes; `first_mode` varies their modes.
    """
    lines = text.splitlines()
    (start,) = [number for number, line in enumerate(lines) if _SIGNATURE.match(line)]
    match = _SIGNATURE.match(lines[start])
    assert match is not None
    arguments = [part.split(":", 1) for part in _parts(match["arguments"])]
    types = [type.replace("{tenon.donated}", "").strip() for _, type in arguments]
    given = [name.strip() for name, _ in arguments]
    (end,) = [number for number, line in enumerate(lines) if line.startswith("    func.return")]
    returned, _, of_results = lines[end].removeprefix("    func.return").partition(" : ")
    values, result_types = _parts(returned), _parts(of_results)
    fed = {result: argument for argument, result in feedback.items()}

    declared = [
        f"graph.tnode @a{k} : {type} {_mode(first_mode + k)}".rstrip() for k, type in enumerate(types)
    ]
    body = [
        f"    {name} = graph.read @a{k} : {type}"
        for k, (name, type) in enumerate(zip(given, types, strict=True))
    ]
    body += lines[start + 1 : end]
    results: list[str] = []
    for k, (value, type) in enumerate(zip(values, result_types, strict=True)):
        node = f"r{k}"
        if k in fed:
            body.append(f"    graph.write @a{fed[k]}, {value} : {type}")
            results.append(f"a{fed[k]}")
            continue
        declared.append(f"graph.tnode @{node} : {type} {_mode(first_mode + k + 1)}".rstrip())
        body.append(f"    graph.write @{node}, {value} : {type}")
        results.append(node)
    whole = ["builtin.module {", *declared, "  func.func @step() {", *body, "    func.return", "  }", "}", ""]
    return NodeProgram("\n".join(whole), tuple(f"a{k}" for k in range(len(types))), tuple(results))


def _mode(number: int) -> str:
    return _MODES[number % len(_MODES)].strip()

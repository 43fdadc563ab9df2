"""Tests ask what any user can: no private name of another file, but for those that are listed here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tenon.test.unit.library import ROOT

_FORK = "a lock that another thread holds at a fork: what takes it lets go before it returns"

NEEDED = {
    ("conformance/torch_ops.py", "_internal"): "torch has its database of ops there",
    ("conformance/torch_ops.py", "_pytree"): "torch has its trees of arguments there",
    ("frameworks/torch/test_foreach.py", "_foreach_"): "torch has no public name for ops of lists",
    ("frameworks/torch/test_ops.py", "_inductor"): "torch has its fused multiply-add there",
    ("unit/backends/cache/test_folder.py", "_LOOKUPS"): _FORK,
    ("unit/backends/cache/test_folder.py", "_loading"): _FORK,
    ("unit/backends/cache/test_folder.py", "_adding"): _FORK,
    (
        "unit/backends/opencl/error_records.py",
        "_cl",
    ): "pyopencl has no public name for the module of its records",
    ("unit/backends/opencl/error_records.py", "_ErrorRecord"): (
        "a record of the test's own would not show that those of pyopencl changed"
    ),
}
"""What is reached into, by file and name, and why nothing that is public shows the same."""

PUBLIC = {"_exit", "_fields", "_replace", "_asdict", "_make", "_fields_", "_pack_", "_type_", "_length_"}
"""Documented names of Python's own: of `os`, of named tuples, of `ctypes`."""

BY_NAME = {
    "getattr",
    "setattr",
    "hasattr",
    "delattr",
    "attrgetter",
    "methodcaller",
    "object",
    "import_module",
}
"""Functions that take the name of an attribute, or of a module."""


def is_private(name: str) -> bool:
    is_special = name.startswith("__") and name.endswith("__")
    return name.startswith("_") and name.strip("_") != "" and not is_special and name not in PUBLIC


def is_own(value: ast.expr) -> bool:
    """Returns whether an attribute of `value` is one of the class around."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "super"
    return isinstance(value, ast.Name) and value.id in ("self", "cls")


def named_by(argument: ast.expr) -> str:
    """Returns the name that an argument spells, as far as it does."""
    if isinstance(argument, ast.JoinedStr) and argument.values:
        argument = argument.values[0]
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else ""


def private_names(tree: ast.AST) -> Iterator[str]:
    """Yields the private names that code, and code in its strings, takes of other objects and modules."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=name) if not is_own(value):
                yield from filter(is_private, [name])
            case ast.Import(names=names):
                yield from filter(is_private, [part for each in names for part in each.name.split(".")])
            case ast.ImportFrom(module=module, names=names):
                parts = [*(module or "").split("."), *(each.name for each in names)]
                yield from filter(is_private, parts)
            case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called in BY_NAME:
                for argument in node.args:
                    yield from filter(is_private, named_by(argument).split("."))
            case ast.Constant(value=str(text)) if "\n" in text:
                try:
                    inside = ast.parse(text)
                except SyntaxError:
                    continue
                yield from private_names(inside)
            case _:
                pass


def reaches(path: Path) -> set[tuple[str, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {(path.relative_to(ROOT / "test").as_posix(), name) for name in private_names(tree)}


def test_tests_reach_for_the_private_names_that_are_listed_and_no_others():
    found = set().union(*(reaches(path) for path in (ROOT / "test").rglob("*.py")))
    assert found - NEEDED.keys() == set(), "ask for something public, or say in NEEDED why there is nothing"
    assert NEEDED.keys() - found == set(), "is not reached for any more: take it out of NEEDED"


@pytest.mark.parametrize(
    "code",
    [
        "thing._kept",
        "thing.part._kept.append(1)",
        "from tenon.runtime import _kept",
        "from tenon._kept import thing",
        "import tenon._kept",
        "setattr(thing, '_kept', 1)",
        "monkeypatch.setattr(thing, '_kept', 1)",
        "monkeypatch.setattr('tenon.thing._kept', 1)",
        "monkeypatch.setattr(thing, f'_kept_{number}', 1)",
        r"SCRIPT = 'import tenon\ntenon._kept\n'",
    ],
)
def test_a_reach_is_noticed_however_it_is_written(code: str):
    assert len(list(private_names(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "self._kept = cls._kept",
        "super()._kept()",
        "def _kept(_, __): return __name__",
        "pair._replace(x=1)",
        "os._exit(1)",
        "thing.__dict__",
        "TEXT = '''\nno program: thing._kept\n'''",
        "setattr(thing, 'kept', '')",
    ],
)
def test_what_is_ones_own_or_public_is_none(code: str):
    assert list(private_names(ast.parse(code))) == []

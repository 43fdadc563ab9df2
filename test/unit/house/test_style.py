"""The style rules that a machine can check."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import pytest
from tenon.backends.registry import DEVICE_NAMES
from tenon.dialects.graph import GRAPH
from tenon.dialects.low import LOW
from tenon.dialects.sched import SCHED
from tenon.passes.registry import TENON_PASS_NAMES, TENON_PASSES, class_name_of, module_of
from tenon.test.unit.library import ROOT, library_files
from xdsl.ir import Operation
from xdsl.passes import ModulePass

PYTHON_FILES = library_files()

CONTRACT = sorted((ROOT / "test" / "contract").glob("*.py"))

OPERATIONS = sorted(
    (op for dialect in (GRAPH, SCHED, LOW) for op in dialect.operations), key=lambda op: op.name
)


def test_every_pass_file_is_in_the_registry():
    pattern = re.compile(r"^class \w+Pass\((ModulePass|KernelStep)\)", re.MULTILINE)
    files = {
        ".".join(path.relative_to(ROOT / "passes").with_suffix("").parts)
        for path in (ROOT / "passes").rglob("*.py")
        if pattern.search(path.read_text(encoding="utf-8"))
    }
    assert files == set(map(module_of, TENON_PASS_NAMES))
    assert list(TENON_PASS_NAMES) == sorted(TENON_PASS_NAMES)


@pytest.mark.parametrize("name", TENON_PASS_NAMES)
def test_one_name_for_pass_file_class_and_test(name: str):
    pass_type = TENON_PASSES[name]()
    assert pass_type.name == name
    assert pass_type.__name__ == class_name_of(name)
    assert pass_type.__module__ == f"tenon.passes.{module_of(name)}"
    assert (ROOT / "test" / "filecheck" / "passes" / f"{name}.mlir").exists()


@pytest.mark.parametrize("name", TENON_PASS_NAMES)
def test_a_pass_file_holds_one_frozen_pass_and_says_what_it_does(name: str):
    pass_type = TENON_PASSES[name]()
    module = inspect.getmodule(pass_type)
    assert module is not None
    defined = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, ModulePass) and value.__module__ == module.__name__
    ]
    assert defined == [pass_type]
    assert dataclasses.is_dataclass(pass_type)
    assert pass_type.__dataclass_params__.frozen  # pyright: ignore
    assert "Requires:" in (module.__doc__ or "")
    assert "Ensures:" in (module.__doc__ or "")
    assert (pass_type.__doc__ or "").strip().split("\n")[0].endswith((".", ",")) or "." in pass_type.__doc__


@pytest.mark.parametrize("op", OPERATIONS, ids=lambda op: op.name)
def test_an_op_has_an_example_and_is_named_for_what_it_is(op: type[Operation]):
    assert "```mlir" in (op.__doc__ or "") or getattr(op, "EXAMPLE", "")
    words = re.split(r"[._]", op.name)[1:]
    assert op.__name__ == "".join(word.capitalize() for word in words) + "Op"


RUNS_CODE_OF_THE_USER = {"frontends/calls/guards.py", "tools/plugins.py", "tools/reduce/trial.py"}
"""
Files that look at properties of the user's, import modules of theirs, or run what is known to fail, which may
raise anything.
"""


@pytest.mark.parametrize("path", PYTHON_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_what_it_is_and_leaves_nothing_undone(path: Path):
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree) or not tree.body
    assert "TODO" not in text
    assert "NotImplementedError" not in text
    assert not re.search(r"^\s*#\s*[-=#*]{4,}", text, re.MULTILINE), "a banner"
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "everything"
            if caught == "Exception" and path.relative_to(ROOT).as_posix() in RUNS_CODE_OF_THE_USER:
                continue
            assert caught not in ("Exception", "everything"), f"line {node.lineno} catches {caught}"


def test_every_test_file_of_lit_runs_something():
    for path in (ROOT / "test" / "filecheck").rglob("*.mlir"):
        assert "// RUN: " in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("path", CONTRACT, ids=lambda path: path.name)
def test_the_contract_of_backends_names_none(path: Path):
    """What a backend can is asked of it, so that the suite runs on those that are registered from outside."""
    name = re.compile(rf"({'|'.join(DEVICE_NAMES)})([:-].*)?")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not name.fullmatch(node.value), f"line {node.lineno} has {node.value!r}"

"""A unit test is called for what it tests: a file or a room of the library, or what its docstring says."""

import ast
from pathlib import Path

import pytest
from tenon.test.unit.library import ROOT

UNIT = ROOT / "test" / "unit"

TESTS = sorted(path.relative_to(UNIT) for path in UNIT.rglob("test_*.py"))

OF_PROPERTIES = ("house", "levels")
"""Folders whose files are called for what holds of many files, or for one kind of program."""

OTHER_NAMES = {
    "backends/llvm/test_matches_reference.py": "all ops, from the text to the bits",
    "backends/llvm/test_scattered_memory.py": "where machine code lies, compiled or from the cache",
    "frontends/onnx/test_quantised_net.py": "the room quantised/ as a whole, to the last bit",
    "frontends/onnx/test_quantised_recurrent.py": "quantised/recurrent.py",
    "frontends/sharding/test_meshes.py": "meshes of ranks and of devices, from the arrays to the bits",
    "frontends/test_error_places.py": "the user's line in errors of every function",
    "frontends/test_pickling.py": "all objects that users have",
    "frontends/test_rank_places.py": "searches along dims that ranks share, from tenon.numpy to the bits",
    "frontends/test_traps.py": "docs/jit-traps.md",
    "frontends/test_wrong_arguments.py": "every function of tenon.numpy",
    "passes/indices/test_expressions_of_dims.py": "expressions.py, over extents with named dims",
    "passes/indices/test_expressions_of_elements.py": "expressions.py, over elements of tensors",
    "passes/stablehlo/test_mutated_text.py": "text that is wrong, from the parser to the results",
}
"""What the other files test that are not called for a file of the library."""


def is_named_for_the_library(path: Path) -> bool:
    """Returns whether a file or a room has the name of a test, in the folder of the library or below it."""
    name = path.stem.removeprefix("test_")
    room = ROOT / path.parent
    return any(
        found.is_file() or (found / "__init__.py").exists()
        for end in ("", ".py", ".ll")
        for found in room.rglob(f"{name}{end}")
    )


@pytest.mark.parametrize("path", TESTS, ids=str)
def test_a_unit_test_is_called_for_what_it_tests(path: Path):
    says = ast.get_docstring(ast.parse((UNIT / path).read_text(encoding="utf-8")))
    if path.parts[0] in OF_PROPERTIES:
        assert says, f"{path}: no docstring says what it tests"
    elif path.as_posix() in OTHER_NAMES:
        assert says and not is_named_for_the_library(path), f"{path} need not be in OTHER_NAMES"
    else:
        name = path.stem.removeprefix("test_")
        assert is_named_for_the_library(path), (
            f"{path}: {path.parent}/ has no {name}, and OTHER_NAMES lacks it"
        )


def test_what_is_called_for_something_else_is_there():
    assert OTHER_NAMES.keys() <= {path.as_posix() for path in TESTS}

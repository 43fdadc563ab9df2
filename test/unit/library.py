"""What the library is, as pyproject.toml says: one list for all tests that look at all of it."""

import tomllib
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]

_TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]

FOLDERS: tuple[str, ...] = tuple(
    dict.fromkeys(name.split(".")[1] for name in _TOOLS["setuptools"]["packages"] if "." in name)
)
"""The folders of the root that are of the library."""

TYPED: tuple[str, ...] = tuple(_TOOLS["basedpyright"]["include"])
"""What the type checker is given."""


def library_files() -> list[Path]:
    """Returns the Python files of the library, sorted."""
    files = list(ROOT.glob("*.py"))
    for folder in FOLDERS:
        files += (ROOT / folder).rglob("*.py")
    return sorted(files)


@cache
def reference_of_ops() -> ModuleType:
    """Returns `docs/reference.py`."""
    spec = spec_from_file_location("reference_of_ops", ROOT / "docs" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

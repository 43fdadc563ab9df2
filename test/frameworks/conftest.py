"""
Reports the tests of a framework that is not installed as skipped, one by one: a file that cannot be imported
would be an error, and one that is left out would be silence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


class MissingFrameworkTest(pytest.Item):
    """A test that cannot be imported here."""

    framework: str

    def runtest(self) -> None:
        pytest.skip(f"{self.name}: {self.framework} is not installed")

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, self.name


class MissingFrameworkModule(pytest.File):
    """A file of tests of a framework that is not installed: what it holds is read, and not imported."""

    framework: str

    def collect(self) -> Iterator[pytest.Item]:
        for node in ast.parse(self.path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                item = MissingFrameworkTest.from_parent(self, name=node.name)
                item.framework = self.framework
                yield item


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    folder = module_path.resolve().relative_to(HERE).parts[0]
    if find_spec(folder) is not None:
        return None
    module = MissingFrameworkModule.from_parent(parent, path=module_path)
    module.framework = folder
    return module

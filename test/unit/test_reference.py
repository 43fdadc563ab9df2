"""The reference of the ops, and the pages of the IRs, name every op."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

import pytest
from xdsl.ir import Dialect

from .library import ROOT


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = spec_from_file_location("reference_of_ops", ROOT / "docs" / "reference.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_classes_say(writer: ModuleType):
    page = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert page == writer.reference(), "run python docs/reference.py"


def test_the_page_of_each_ir_names_its_ops(writer: ModuleType):
    pages: tuple[tuple[Dialect, str], ...] = writer.DIALECTS
    for dialect, page in pages:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        missing = [
            op.name
            for op in dialect.operations
            if not re.search(rf"\b{re.escape(op.name.split('.', 1)[1])}\b", text)
        ]
        assert not missing, f"docs/{page}"

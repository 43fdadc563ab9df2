"""The reference of the ops, and the pages of the IRs, name every op."""

import re

from xdsl.ir import Dialect

from .library import ROOT, reference_of_ops


def test_the_reference_is_what_the_classes_say():
    page = (ROOT / "docs" / "ops.md").read_text(encoding="utf-8")
    assert page == reference_of_ops().reference(), "run python docs/reference.py"


def test_the_page_of_each_ir_names_its_ops():
    pages: tuple[tuple[Dialect, str], ...] = reference_of_ops().DIALECTS
    for dialect, page in pages:
        text = (ROOT / "docs" / page).read_text(encoding="utf-8")
        missing = [
            op.name
            for op in dialect.operations
            if not re.search(rf"\b{re.escape(op.name.split('.', 1)[1])}\b", text)
        ]
        assert not missing, f"docs/{page}"

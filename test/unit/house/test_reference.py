"""The references of ops and passes are what the code says, and the pages of the IRs name every op."""

import re

import pytest
from tenon import Schedule
from tenon.dialects.graph import GRAPH
from tenon.passes.named_pipelines import NAMED_PIPELINES
from tenon.passes.registry import TENON_PASS_NAMES
from tenon.test.unit.library import ROOT, reference_of_ops
from xdsl.ir import Dialect

NO_STEPS = {"steps", "keeps_order", "axes", "buffers", "replay"}
"""What a `Schedule` has besides its steps."""


@pytest.mark.parametrize("name", ["ops.md", "pass-reference.md"])
def test_a_reference_is_what_the_classes_say(name: str):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == reference_of_ops().PAGES[name](), "run python docs/reference.py"


def test_every_pass_and_pipeline_has_a_section():
    headings = re.findall(r"^### (.+)$", reference_of_ops().reference_of_passes(), re.MULTILINE)
    assert sorted(headings) == sorted((*TENON_PASS_NAMES, *NAMED_PIPELINES))


def test_names_elsewhere_are_of_ops_that_there_are():
    assert set(reference_of_ops().IN_STABLEHLO) <= {op.name for op in GRAPH.operations}


def test_schedules_say_what_others_call_every_step():
    text = (ROOT / "docs" / "schedules.md").read_text(encoding="utf-8")
    table = text.partition("## What others call it")[2]
    steps = {name for name in vars(Schedule) if not name.startswith("_")} - NO_STEPS
    assert steps <= set(re.findall(r"^\| `(\w+)`", table, re.MULTILINE))


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

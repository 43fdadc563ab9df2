"""docs/coverage.md says what `tenon.numpy` has of the Array API, and why the rest is not there."""

import sys

import pytest
from tenon.test.unit.library import ROOT

sys.path.insert(0, str(ROOT / "test" / "conformance"))

from coverage_document import ABSENT, DOCUMENT, NOTES, has, qualified, text
from exceptions import EXEMPT
from standard import SECTIONS

NAMES = [(section, name) for section, names in SECTIONS.items() for name in names]


def test_the_document_is_what_the_namespace_has():
    assert DOCUMENT.read_text(encoding="utf-8") == text(), "run python test/conformance/coverage_document.py"


@pytest.mark.parametrize(("section", "name"), NAMES, ids=[qualified(*each) for each in NAMES])
def test_a_name_is_there_or_has_a_reason(section, name):
    assert has(section, name) != (qualified(section, name) in ABSENT)


def test_notes_are_of_names_that_are_there():
    there = {qualified(section, name) for section, name in NAMES if has(section, name)}
    assert set(NOTES) <= there


def test_exempt_tests_are_found_by_their_ids():
    special = "array_api_tests/test_special_cases.py::"
    reasons = {
        f"{special}test_unary[acos(real(x_i) is NaN and imag(x_i) is NaN) -> NaN + NaN j]": "complex",
        f"{special}test_binary[floor_divide(x1_i is +infinity and isfinite(x2_i) and x2_i > 0) -> inf]": (
            "numpy"
        ),
        f"{special}test_iop[__ifloordiv__(isfinite(x1_i) and x1_i > 0 and x2_i is -infinity) -> -0]": "numpy",
        "array_api_tests/test_array_object.py::test_setitem_masking": "immutable",
    }
    for test_id, word in reasons.items():
        assert [word in each.reason for each in EXEMPT if each.matches(test_id)] == [True], test_id
    for test_id in (
        "test_linalg.py::test_matmul",
        "test_special_cases.py::test_binary[add(x1_i is NaN) -> NaN]",
    ):
        assert not any(each.matches(test_id) for each in EXEMPT)

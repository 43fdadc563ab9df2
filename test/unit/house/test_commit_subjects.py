"""What the subjects of commits must be like."""

import pytest
from tenon.test.commit_subjects import problem_of

FORM = "expected `area: what it does`, in small letters and without a full stop"


@pytest.mark.parametrize(
    "subject",
    [
        "low: add atomic_rmw, an update of an element in one piece",
        "passes, test: say what a reorder refuses",
        "tenon-opt: --run-reproducer loads nothing",
        f"a: {'b' * 69}",
    ],
)
def test_what_names_its_area_is_a_subject(subject: str):
    assert problem_of(subject) is None


@pytest.mark.parametrize(
    ("subject", "problem"),
    [
        (f"a: {'b' * 70}", "73 characters, expected at most 72"),
        ("Passes are mended", FORM),
        ("passes:mend", FORM),
        ("passes: Mend", FORM),
        ("passes: mend.", FORM),
        ("passes: ", FORM),
        ("", FORM),
    ],
)
def test_what_is_wrong_is_said(subject: str, problem: str):
    assert problem_of(subject) == problem

"""Each row of docs/interfaces.md names a test that is there."""

import re
from collections import defaultdict

from .doc_blocks import ROOT

LINES = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8").splitlines()

ROWS = [
    line.strip("| ").split(" | ")
    for line in LINES
    if line.startswith("| ") and line != "| name | here | test |"
]
"""The cells of each row."""


def present_tests() -> dict[str, set[str]]:
    """Returns the names of the tests in all files of a name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in ROOT.glob("test/*/test_*.py"):
        found[path.stem] |= set(
            re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
    return found


def test_each_row_names_a_test_that_is_there():
    present = present_tests()
    for name, _, test in ROWS:
        file, _, function = test.strip("`").partition("::")
        assert function in present[file], f"{name}: there is no {test}"


def test_no_row_is_there_twice():
    named = [name for name, *_ in ROWS if not name.startswith("...")]
    assert len(named) == len(set(named)), sorted(name for name in named if named.count(name) > 1)

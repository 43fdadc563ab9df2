"""Each row of docs/interfaces.md names a test that is there."""

import re

from .doc_blocks import ROOT

LINES = (ROOT / "docs" / "interfaces.md").read_text(encoding="utf-8").splitlines()

ROWS = [
    line.strip("| ").split(" | ")
    for line in LINES
    if line.startswith("| ") and line != "| name | here | test |"
]
"""The cells of each row."""


def names_of_tests() -> dict[str, set[str]]:
    """Returns what the tests of each file are called, by its path without `.py`."""
    return {
        path.relative_to(ROOT).with_suffix("").as_posix(): set(
            re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
        )
        for path in ROOT.glob("test/**/test_*.py")
    }


def test_each_row_names_a_test_that_is_there():
    tests = names_of_tests()
    for name, _, test in ROWS:
        file, _, function = test.strip("`").partition("::")
        named = [path for path in tests if path.endswith(f"/{file}")]
        assert len(named) == 1, f"{name}: {file} is one of {named}"
        assert function in tests[named[0]], f"{name}: there is no {test}"


def test_no_row_is_there_twice():
    named = [name for name, *_ in ROWS if not name.startswith("...")]
    assert len(named) == len(set(named)), sorted(name for name in named if named.count(name) > 1)

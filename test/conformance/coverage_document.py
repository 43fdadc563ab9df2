"""
Writes docs/coverage.md: every name of the Python Array API standard, whether `tenon.numpy` has it, and why
not.

    python test/conformance/coverage_document.py
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parent))

import tenon.numpy as tnp
from exceptions import EXEMPT
from standard import SECTIONS

DOCUMENT = Path(__file__).parents[2] / "docs" / "coverage.md"

_VALUES = "of arrays with values; of traced ones an error, as the shape depends on the values"

_NOT_RAISED = "a matrix that has none gives NaN or infinities, and no error"

NOTES = {
    "nonzero": _VALUES,
    "unique_all": _VALUES,
    "unique_counts": _VALUES,
    "unique_inverse": _VALUES,
    "unique_values": _VALUES,
    "repeat": "`repeats` must be known when tracing",
    "arange": "the arguments must be known when tracing",
    "reshape": "`copy=False` is an error: no view is promised",
    "asarray": "`copy=None` copies numpy arrays, which may change; `copy=False` shares their memory",
    "imag": "an error: there are no complex dtypes",
    "pow": "an integer to a negative power in an array gives 0, but for bases 1 and -1",
    "floor_divide": "infinities as numpy: `inf // 1` is nan, `-1 // inf` is -1; an integer by zero gives 0",
    "remainder": "an integer by zero gives 0",
    "linalg.cholesky": _NOT_RAISED,
    "linalg.inv": _NOT_RAISED,
    "linalg.solve": _NOT_RAISED,
    "__getitem__": "masks index arrays with values; traced indices are moved into range",
    "__complex__": "of arrays with values",
}
"""What is to be said of names that are there."""

ABSENT = {
    "__setitem__": "arrays are immutable: `x.at[index].set(value)` makes a copy",
    "complex64": "there are no complex dtypes",
    "complex128": "there are no complex dtypes",
    **{f"fft.{name}": "there is no fft extension" for name in SECTIONS["Extension fft"]},
}
"""Why names are not there."""

_INTRODUCTION = """# Coverage of the Array API

`tenon.numpy` follows the [Python Array API standard](https://data-apis.org/array-api/2024.12/), version
2024.12. These are its names, as `python test/conformance/coverage_document.py` finds them in the namespace;
`test/conformance/run.py` runs the standard's own
[test suite](https://github.com/data-apis/array-api-tests), which passes but for what is listed at the end.
"""


def qualified(section: str, name: str) -> str:
    """Returns a name as it is written after the namespace."""
    return f"{section.removeprefix('Extension ')}.{name}" if section.startswith("Extension ") else name


def has(section: str, name: str) -> bool:
    """Returns whether the namespace, or its arrays, have a name."""
    if section.startswith("Extension "):
        extension: ModuleType | None = getattr(tnp, section.removeprefix("Extension "), None)
        return hasattr(extension, name)
    if section.startswith("Attributes"):
        return name not in ABSENT and hasattr(type(tnp.zeros(())), name)
    return hasattr(tnp, name)


def text() -> str:
    """Returns what the document should say."""
    lines = [_INTRODUCTION]
    for section, names in SECTIONS.items():
        found = {name: has(section, name) for name in names}
        lines.append(f"## {section}\n\n{sum(found.values())} of {len(found)}.\n")
        lines += ["| name | there | |", "|---|---|---|"]
        for name, is_there in found.items():
            full = qualified(section, name)
            note = (NOTES if is_there else ABSENT).get(full, "")
            lines.append(f"| `{full}` | {'yes' if is_there else 'no'} | {note} |")
        lines.append("")
    lines.append("## Tests of the suite that are not run\n")
    lines += ["| tests | why |", "|---|---|"]
    lines += [f"| {exempt.tests} | {exempt.reason} |" for exempt in EXEMPT]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(text(), encoding="utf-8")

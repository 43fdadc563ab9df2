"""
Puts what the benchmarks found into a document: the text of each part between `<!-- begin part -->` and
`<!-- end part -->`.

    python -m benchmarks.document out/bench docs/performance.md
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from .sections import SECTIONS


def filled(text: str, parts: Mapping[str, str]) -> str:
    """
    Returns a document with the parts in their places.

    Raises:
        ValueError: it has no place, or several ones, for a part.
    """
    for name, part in parts.items():
        place = re.compile(rf"(<!-- begin {name} -->\n).*?(<!-- end {name} -->\n)", re.DOTALL)
        found = len(place.findall(text))
        if found != 1:
            raise ValueError(f"document: {found} places for {name}, expected 1")
        text = place.sub(lambda match, part=part: f"{match[1]}\n{part.strip()}\n\n{match[2]}", text)
    return text


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.document", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the benchmarks wrote their files")
    parser.add_argument("document", type=Path)
    options = parser.parse_args(arguments)
    parts = {
        name: section.text(json.loads((options.folder / f"{name}.json").read_text()))
        for name, section in SECTIONS.items()
        if (options.folder / f"{name}.json").exists()
    }
    options.document.write_text(filled(options.document.read_text(), parts))


if __name__ == "__main__":
    main()

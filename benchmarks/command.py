"""What the commands share: what is chosen by name, and the file with what was found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path


def is_chosen(name: str, beginnings: Sequence[str]) -> bool:
    """Returns whether a name begins with one of `beginnings`; without any, all are chosen."""
    return not beginnings or name.startswith(tuple(beginnings))


def record(path: Path | None, found: object) -> None:
    """Writes what was found to the file that was asked for, if one was."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1) + "\n")

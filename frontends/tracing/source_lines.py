"""The place in the user's program that an op comes from."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from ...errors import TenonError

_OWN_FOLDER = str(Path(__file__).parents[1])

_IS_OWN: dict[CodeType, bool] = {}
_LOCATIONS: dict[tuple[CodeType, int], FileLineColLoc] = {}
_FILENAMES: dict[str, StringAttr] = {}
_POSITIONS: dict[CodeType, list[tuple[int | None, int | None, int | None, int | None]]] = {}
_MOST_LOCATIONS = 4096


def user_location() -> FileLineColLoc:
    """Returns the place of the innermost call that is not made by the front end itself."""
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    code = frame.f_code
    while True:
        own = _IS_OWN.get(code)
        if own is None:
            own = _IS_OWN[code] = code.co_filename.startswith(_OWN_FOLDER)
        if not own:
            break
        frame = frame.f_back
        assert frame is not None, "a trace without a program"
        code = frame.f_code
    key = (code, frame.f_lasti)
    return _LOCATIONS.get(key) or _new_location(*key)


def _new_location(code: CodeType, instruction: int) -> FileLineColLoc:
    positions = _POSITIONS.get(code)
    if positions is None:
        positions = _POSITIONS[code] = list(code.co_positions())
    line, _, column, _ = positions[instruction // 2]
    name = code.co_filename
    filename = _FILENAMES.setdefault(name, StringAttr(name))
    location = FileLineColLoc(
        filename, IntAttr(line or code.co_firstlineno), IntAttr(0 if column is None else column + 1)
    )
    if len(_LOCATIONS) > _MOST_LOCATIONS:
        # Programs that make functions without end must not fill the memory.
        _LOCATIONS.clear()
        _POSITIONS.clear()
        _IS_OWN.clear()
        _FILENAMES.clear()
    _LOCATIONS[code, instruction] = location
    return location


def excerpt(location: str) -> str | None:
    """Returns the source line of `file:line:col` with a caret below, None where it cannot be read."""
    file, _, rest = location.rpartition(":")[0].rpartition(":")
    column = location.rpartition(":")[2]
    if not file or not rest.isdigit() or not column.isdigit():
        return None
    line = linecache.getline(file, int(rest)).rstrip("\n")
    if not line:
        return None
    before = line.encode()[: max(int(column) - 1, 0)].decode(errors="ignore")
    indent = "".join("\t" if char == "\t" else " " for char in before)
    return f"{line}\n{indent}^"


def with_excerpt(error: TenonError) -> TenonError:
    """Gives an error the source line of its place, where that can be read, and returns it."""
    if error.excerpt is None and error.location is not None:
        error.excerpt = excerpt(error.location)
    return error


def note_place(error: Exception) -> None:
    """
    Notes the user's line, with a caret, on an error that the front end raised while a function is traced.
    What the user's own code raised is left as it is.
    """
    place: tuple[CodeType, int] | None = None
    before: TracebackType | None = None
    at = error.__traceback__
    while at is not None:
        if _is_own(at.tb_frame.f_code):
            if before is not None and not _is_own(before.tb_frame.f_code):
                place = (before.tb_frame.f_code, before.tb_lasti)
        elif at.tb_next is None:
            return
        before, at = at, at.tb_next
    if place is not None:
        location = frame_text(_new_location(*place))
        error.add_note("\n".join([f"{location}: here", *filter(None, [excerpt(location)])]))


def _is_own(code: CodeType) -> bool:
    return code.co_filename.startswith(_OWN_FOLDER)


def frame_text(location: Any) -> str:
    return f"{location.filename.data}:{location.line.data}:{location.column.data}"

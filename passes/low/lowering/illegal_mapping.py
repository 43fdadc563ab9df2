"""The error for an axis that cannot run as it is mapped."""

from __future__ import annotations

from typing import NoReturn

from xdsl.utils.exceptions import PassFailedException

from ...indices.analysis import Loop


def refuse_mapping(op: Loop, why: str) -> NoReturn:
    """Raises PassFailedException: the axis of `op` cannot be what its mapping says."""
    name = op.index.name_hint or "?"
    raise PassFailedException(f"{op.name}: axis %{name} cannot be {op.mapping.words()} ({why})")

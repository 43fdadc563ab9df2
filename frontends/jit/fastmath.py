"""The fast-math flags that a jitted function asks for."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.utils import FastMathFlag

ALL_FLAGS = "fast"


def fastmath_flags(flags: str | Iterable[str]) -> FastMathFlagsAttr | None:
    """Returns the flags of some names; None without any. Raises ValueError where one is no flag's."""
    names = flags.split() if isinstance(flags, str) else list(flags)
    if not names:
        return None
    known = {flag.value: flag for flag in FastMathFlag}
    for name in names:
        if name not in known and name != ALL_FLAGS:
            raise ValueError(
                f"jit: {name!r} is no fast-math flag, expected {ALL_FLAGS} or some of {', '.join(known)}"
            )
    return FastMathFlagsAttr(ALL_FLAGS if ALL_FLAGS in names else [known[name] for name in names])

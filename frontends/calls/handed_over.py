"""
Which functions inside of a function are for the host only: they are made to be the first argument of
`pure_callback`, and nothing else is done with them. They do not run while the function is traced.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType
from typing import Any, cast

HANDING_OVER = "pure_callback"
"""What takes a function as its first argument that runs when the program does."""

_NO_VALUES = ("PRECALL", "CACHE", "PUSH_NULL", "NOP", "EXTENDED_ARG", "NOT_TAKEN")
_OF_CLOSURES = ("LOAD_CLOSURE", "BUILD_TUPLE", "COPY_FREE_VARS", "MAKE_CELL")
_MAKING = ("MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE")


def codes_handed_over(codes: tuple[CodeType, ...]) -> frozenset[CodeType]:
    """Returns which of `codes`, a function's and those of the functions inside it, are for the host only."""
    made: dict[str, CodeType] = {}
    handed: set[CodeType] = set()
    others: set[str] = set()
    """The names that something else is done with."""
    for code in codes:
        for kind, name, value in _uses(code):
            if kind == "store" and isinstance(value, CodeType) and name not in made:
                made[name] = value
            elif kind == "hand" and value is not None:
                handed.add(value)
            elif kind != "hand":
                others.add(name)
    handed.update(code for name, code in made.items() if name not in others)
    return frozenset(handed)


def _uses(code: CodeType) -> Iterator[tuple[str, str, CodeType | None]]:
    """
    Yields what is done with functions inside: `store` one in a variable, `hand` one over, by its name or as
    it is made, or `load` a variable for something else.
    """
    is_first = False
    last: CodeType | None = None
    cells = (*code.co_cellvars, *code.co_freevars)
    for instruction in dis.get_instructions(code):
        opname, value = instruction.opname, instruction.argval
        if opname in _NO_VALUES or opname in _OF_CLOSURES or opname in _MAKING:
            continue
        names = [each for each in cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))]
        if opname.startswith("STORE_") and "LOAD" not in opname:
            yield "store", str(names[0]), last
            is_first, last = False, None
        elif isinstance(value, CodeType):
            if is_first:
                yield "hand", "", value
                is_first = False
            else:
                last = value
        elif instruction.opcode in dis.haslocal or instruction.opcode in dis.hasfree:
            if "DEREF" not in opname and names[0] in cells:
                continue  # It is a cell, that is passed on to a function inside.
            for name in names:
                yield "hand" if is_first else "load", str(name), None
                is_first = False
        else:
            last = None
            is_first = value == HANDING_OVER and instruction.opcode in dis.hasname

"""
The LLVM IR of what runs programs, made of the `.ll` files beside this one for a processor, a system and an
interpreter. Each file is valid as it stands: it declares what it calls of another one, and a number that
differs from one machine to the next is the address of something external.
"""

from __future__ import annotations

import re
from pathlib import Path

from ....errors import TenonError

_FUTEX_NUMBERS = {"x86_64": 202, "aarch64": 98, "riscv64": 98, "loongarch64": 98}
"""The system call `futex`, of processors whose lower half of an i64 comes first."""

_PAUSES = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
"""How a thread that looks again and again says so."""

_TUPLE_COUNT_END = 24
_TUPLE_GAP = "[0 x i8]"

_DECLARATION = re.compile(r"^declare [^@\n]*@(\w+)\(.*\n", re.MULTILINE)
_TYPE = re.compile(r"^(%\w+ = type \{.*\}).*\n", re.MULTILINE)
"""A type of one line."""
_DEFINITION = re.compile(r"^define [^@\n]*@(\w+)\(", re.MULTILINE)


def native_text(machine: str, system: str, clock: int, tuple_items: int) -> str:
    """
    Returns the functions for a processor and a system, by the names that `platform` has for them, which ask
    the clock of a number, and for an interpreter whose tuples have their items from byte `tuple_items` on.
    """
    gap = f"[{tuple_items - _TUPLE_COUNT_END} x i8]"
    files = (
        _filled("steps", {}),
        _system_text(clock),
        _process_pool_text(machine, system),
        _filled("call", {_TUPLE_GAP: gap}),
        _filled("same_objects", {_TUPLE_GAP: gap}),
        _filled("method", {_TUPLE_GAP: gap}),
        *([_filled("memory", {})] if system == "Linux" else []),
    )
    return joined("\n".join(files))


def library_text(machine: str, clock: int) -> str:
    """
    Returns the functions that an exported library has besides its kernels, for a processor on Linux whose
    clock has this number.

    Raises:
        TenonError: it is not known how threads of such a processor wait.
    """
    pool = _pool_text(machine, "Linux")
    if pool is None:
        raise TenonError(f"export: threads of processor {machine} are not known (hint: backend='opencl')")
    return joined("\n".join((_system_text(clock), pool, _filled("library_pool", {}))))


def interpreter_functions(text: str) -> list[str]:
    """Returns the names of the interpreter's functions that a text calls."""
    return [name for name in _DECLARATION.findall(text) if name.startswith("Py")]


def _process_pool_text(machine: str, system: str) -> str:
    pool = _pool_text(machine, system)
    if pool is None:
        return _filled("serial_pool", {})
    return f"{pool}\n{_filled('process_pool', {})}"


def _system_text(clock: int) -> str:
    return _filled("system", {"ptrtoint (ptr @clock.number to i32)": str(clock)})


def _pool_text(machine: str, system: str) -> str | None:
    """Returns what a pool does; None where it is not known how threads wait."""
    futex = _FUTEX_NUMBERS.get(machine) if system == "Linux" else None
    if futex is None:
        return None
    pause = _PAUSES.get(machine, "")
    number = "ptrtoint (ptr @futex.number to i64)"
    return _filled("pool", {number: str(futex), "call void @pause()": pause})


def _filled(name: str, numbers: dict[str, str]) -> str:
    """Returns the text of a file, with what stands for numbers replaced by them."""
    text = Path(__file__).with_name(f"{name}.ll").read_text(encoding="utf-8")
    for stands_for, number in numbers.items():
        assert stands_for in text, f"{name}.ll has no {stands_for}"
        text = text.replace(stands_for, number)
    return text


def joined(text: str) -> str:
    """
    Returns several files as one, where a name has one definition or else one declaration, and a type that
    several describe in the same way is described once.
    """
    known = set(_DEFINITION.findall(text))

    def kept(match: re.Match[str]) -> str:
        name = match.group(1)
        if name in known:
            return ""
        known.add(name)
        return match.group()

    types: set[str] = set()

    def kept_type(match: re.Match[str]) -> str:
        if match.group(1) in types:
            return ""
        types.add(match.group(1))
        return match.group()

    return _TYPE.sub(kept_type, _DECLARATION.sub(kept, text))

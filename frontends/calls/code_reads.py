"""
The places that code reads: names, closures' variables and arguments, with the attributes and constant items
that are taken of them.

What an instruction takes (a local, a name, a constant) is what the running interpreter's `dis` says, so that
versions which fuse or rename instructions are read as well. Known by its name here is only how a place goes
on: by an attribute, by an item, by `super`. At an instruction that is not known the place counts as read as
it is, and a name that it takes as an attribute of it and as a global: rather too much than too little.
"""

from __future__ import annotations

import dis
import inspect
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from types import CodeType
from typing import Any, cast

from .handed_over import HANDING_OVER, codes_handed_over

LAST_KNOWN = (3, 14)
"""The last version of Python whose instructions were looked through."""

_IS_KNOWN = sys.version_info[:2] <= LAST_KNOWN

_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_SUPER_ATTRIBUTES = ("LOAD_SUPER_ATTR",)
_GLOBALS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
_NO_READS = ("STORE_", "DELETE_", "IMPORT_", "MAKE_CELL", "COPY_FREE_VARS")
_SKIPPED = ("PRECALL", "CACHE", "PUSH_NULL", "NOP", "EXTENDED_ARG", "NOT_TAKEN")
_CALLS = ("CALL",)
_ENDING = ("CALL", "STORE_", "RETURN_", "POP_", "BINARY_", "COMPARE_", "UNARY_")
"""What takes values from the stack: what is loaded before is called with nothing that is loaded after it."""

Step = tuple[str, Any]


@dataclass(frozen=True, slots=True)
class Chain:
    """A place: where it begins, and the attributes and items that are read from there."""

    kind: str
    """`global`, `variable` of a closure, `argument`, or `super`."""
    name: str
    steps: tuple[Step, ...] = ()
    arguments: tuple[Chain, ...] = ()
    """Of `super`: the class and the object that it is called with."""
    is_handed_over: bool = False
    """Whether it is the first argument of `pure_callback`: a function that runs when the program does."""
    inside: CodeType | None = None
    """The function inside this one that reads it, where that is for the host only."""
    callee: Chain | None = None
    """What is called with it, where that is loaded before it and nothing is called in between."""

    def then(self, kind: str, name: Any) -> Chain:
        return replace(self, steps=(*self.steps, (kind, name)))

    @property
    def text(self) -> str:
        """How Python writes it: `self.table['a']`."""
        return text_of(self.name, self.steps)

    @property
    def is_of_argument(self) -> bool:
        return self.kind == "argument" or any(each.is_of_argument for each in self.arguments)


def text_of(name: str, steps: tuple[Step, ...]) -> str:
    """Returns how Python writes what is reached from `name` by `steps`."""
    return name + "".join(f".{step}" if what == "attribute" else f"[{step!r}]" for what, step in steps)


_SUPER = Chain("global", "super")


@lru_cache(4096)
def chains_of(code: CodeType) -> tuple[Chain, ...]:
    """Returns the places that code reads, each once: of functions inside it all but their arguments."""
    found: dict[Chain, None] = {}
    handed = codes_handed_over(tuple(_codes(code))) if _IS_KNOWN else frozenset[CodeType]()
    for each, inside in _codes_inside(code, None, handed):
        for chain in Reader(each).chains(dis.get_instructions(each)):
            if each is code or not chain.is_of_argument:
                found[replace(chain, inside=inside)] = None
    return tuple(found)


def _codes_inside(
    code: CodeType, around: CodeType | None, handed: frozenset[CodeType]
) -> Iterator[tuple[CodeType, CodeType | None]]:
    """Yields code and that inside of it, each with what of `handed` it lies in."""
    inside = code if around is None and code in handed else around
    yield code, inside
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes_inside(constant, inside, handed)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


class Reader:
    """
    Reads the instructions of one code object in their order; `is_known` says whether they are of a version
    that was looked through.
    """

    def __init__(self, code: CodeType, is_known: bool = _IS_KNOWN) -> None:
        self._code = code
        self._is_known = is_known
        self._open: list[Chain] = []
        """What the value on top of the stack may be."""
        self._constant: list[str | int] = []
        """The constant above it, if one was loaded."""
        self._closed: list[Chain] = []
        self._callee: Chain | None = None
        """What is called next, if it lies on the stack."""
        self._names: set[str] = set()

    def chains(self, instructions: Iterable[dis.Instruction]) -> list[Chain]:
        for instruction in instructions:
            if instruction.opname not in _SKIPPED:
                self._read(instruction)
                if instruction.opname.startswith(_ENDING):
                    self._callee = None
        self._close()
        if not self._is_known:
            self._closed.extend(self._not_met())
        return self._closed

    def _read(self, instruction: dis.Instruction) -> None:
        opname, opcode, value = instruction.opname, instruction.opcode, instruction.argval
        if opcode in dis.hasname and isinstance(value, str):
            self._names.add(value)
            self._read_name(opname, value)
        elif opcode in dis.haslocal or opcode in dis.hasfree:
            self._read_local(opname, value)
        elif self._open and not self._constant and _is_key(instruction):
            self._constant.append(value)
        elif self._open and self._constant and _is_subscript(instruction):
            key = self._constant.pop()
            self._open = [chain.then("item", key) for chain in self._open]
        elif opname in _CALLS and (given := self._super_arguments()):
            self._open = [Chain("super", "super()", (), given)]
        else:
            self._close()

    def _read_local(self, opname: str, value: Any) -> None:
        """Begins with what is loaded: of several locals in one instruction the last one lies on top."""
        self._close()
        if opname.startswith(_NO_READS) and "LOAD" not in opname:
            return
        taken = cast("tuple[Any, ...]", value if isinstance(value, tuple) else (value,))
        names = [each for each in taken if isinstance(each, str)]
        self._names.update(names)
        for name in names:
            if self._is_known and "DEREF" not in opname and self._is_cell(name):
                continue  # It is passed on to a function inside, whose code says what is read of it.
            self._close()
            self._open = [self._local(name)]

    def _is_cell(self, name: str) -> bool:
        return name in self._code.co_cellvars or name in self._code.co_freevars

    def _local(self, name: str) -> Chain:
        return Chain("variable" if name in self._code.co_freevars else "argument", name)

    def _read_name(self, opname: str, name: str) -> None:
        if opname.startswith(_NO_READS):
            self._close()
        elif opname in _GLOBALS:
            self._close()
            self._open = [Chain("global", name)]
        elif opname in _SUPER_ATTRIBUTES and (given := self._super_arguments()):
            self._open = [Chain("super", "super()", (("attribute", name),), given)]
        elif opname in _ATTRIBUTES:
            if self._constant:
                self._close()
            self._open = [chain.then("attribute", name) for chain in self._open]
        else:
            attributes = [chain.then("attribute", name) for chain in self._open]
            self._close()
            self._open = [*attributes, Chain("global", name)]

    def _close(self) -> None:
        if self._is_known and self._closed and self._open and _hands_over(self._closed[-1]):
            self._open = [replace(chain, is_handed_over=True) for chain in self._open]
        if self._callee is not None:
            self._open = [replace(chain, callee=self._callee) for chain in self._open]
        elif len(self._open) == 1:
            (self._callee,) = self._open
        self._closed.extend(self._open)
        self._open, self._constant = [], []

    def _super_arguments(self) -> tuple[Chain, ...]:
        """Returns what `super` gets, where its attribute or its call comes now, else nothing."""
        if self._constant:
            return ()
        if self._open == [_SUPER] and self._code.co_varnames:
            return Chain("variable", "__class__"), Chain("argument", self._code.co_varnames[0])
        if len(self._open) == 1 and [replace(each, callee=None) for each in self._closed[-2:-1]] == [_SUPER]:
            return replace(self._closed[-1], callee=None), replace(self._open[0], callee=None)
        return ()

    def _not_met(self) -> Iterator[Chain]:
        """Returns the names that no instruction took, as far as it was understood."""
        code = self._code
        n_arguments = code.co_argcount + code.co_kwonlyargcount
        n_arguments += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
        for name in (*code.co_varnames[:n_arguments], *code.co_freevars):
            if name not in self._names:
                yield self._local(name)
        yield from (Chain("global", name) for name in code.co_names if name not in self._names)


def _hands_over(chain: Chain) -> bool:
    return (chain.steps[-1][1] if chain.steps else chain.name) == HANDING_OVER


def _is_key(instruction: dis.Instruction) -> bool:
    is_constant = instruction.opcode in dis.hasconst or instruction.opname == "LOAD_SMALL_INT"
    return is_constant and type(instruction.argval) in (str, int)


def _is_subscript(instruction: dis.Instruction) -> bool:
    return instruction.opname == "BINARY_SUBSCR" or (
        instruction.opname == "BINARY_OP" and instruction.argrepr == "[]"
    )

"""Attributes and types of the `sched` dialect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, cast

from xdsl.dialects.builtin import IntAttr
from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import (
    Attribute,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

__all__ = [
    "AnalysisAttr",
    "CombineKind",
    "CombineKindAttr",
    "Level",
    "LevelAttr",
    "LifetimeAttr",
    "MappingAttr",
    "MemoryPlanAttr",
    "Role",
    "RoleAttr",
    "Scope",
    "ScopeAttr",
    "SlabAttr",
    "SummaryAttr",
    "TokenType",
]


MOST_MAPPINGS = 4096
"""How many mappings are kept to be given again: a program has the same few for most of its axes."""


def _integer(value: int | IntAttr) -> IntAttr:
    return value if isinstance(value, IntAttr) else IntAttr(value)


class Level(StrEnum):
    """Where the iterations of an axis run: one after the other, or as work-groups, or as work-items."""

    SERIAL = "serial"
    BLOCK = "block"
    THREAD = "thread"


@irdl_attr_definition
class LevelAttr(EnumAttribute[Level], SpacedOpaqueSyntaxAttribute):
    """`#sched<level block>`."""

    name = "sched.level"


@irdl_attr_definition
class MappingAttr(ParametrizedAttribute):
    """
    How an axis runs: `#sched.mapping<block(4096) vector(8) unroll(2)>`.

    * `block(c)`, `thread(c)`: each work-group or work-item takes `c` consecutive iterations; else serial
    * `tile(t)`: `t` iterations at once as one dim of a register tile of sums of products: its rows, or, for
      the axis in that one or the only such axis, its columns; what fills no tile is a smaller one. A sum
      takes `t` steps for all tiles of a work-item before the next ones, which changes no order
    * `prefetch`, of the rows or columns of tiles: what the next tile along them reads is fetched while one is
      computed, where it lies together; of one that is a single tile, the next panel along an axis outside of
      the tiles; which changes no result
    * `items(t)`: the `t` work-items of a work-group share what the group takes; vectors are dealt out to them
      in turn, so that neighbours work on neighbours
    * `vector(w)`: `w` iterations at once in vector lanes; of the columns of a tile, in what follows the sums;
      of its rows: the sums themselves are vectors along the rows, and are stored along the columns
    * `unroll(u)`: `u` such steps written out side by side; a reduction keeps an accumulator for each

    Iterations that do not fill a step of `w * u` run one by one after those that do; of an axis that `t`
    work-items share, a step is `t * w * u` iterations.
    """

    name = "sched.mapping"
    level: LevelAttr
    chunk: IntAttr = param_def(converter=_integer)
    vector: IntAttr = param_def(converter=_integer)
    unroll: IntAttr = param_def(converter=_integer)
    items: IntAttr = param_def(converter=_integer)
    tile: IntAttr = param_def(converter=_integer)
    prefetch: IntAttr = param_def(converter=_integer)

    @staticmethod
    @lru_cache(maxsize=MOST_MAPPINGS)
    def get(
        level: Level = Level.SERIAL,
        chunk: int = 1,
        vector: int = 1,
        unroll: int = 1,
        items: int = 1,
        tile: int = 0,
        prefetch: bool = False,
    ) -> MappingAttr:
        """Returns a mapping; a `tile` of 0 is none."""
        numbers = (chunk, vector, unroll, items, tile, int(prefetch))
        return MappingAttr(LevelAttr(level), *(IntAttr(number) for number in numbers))

    @property
    def step(self) -> int:
        """Iterations that run side by side in one work-item."""
        return self.vector.data * self.unroll.data

    @property
    def partials(self) -> int:
        """Partial results of a reduction that is mapped so."""
        return self.items.data * self.step

    @staticmethod
    def parse_mapping(parser: AttrParser) -> MappingAttr:
        """Parses the words that stand for a mapping in an op; no word at all is the serial mapping."""

        def argument() -> int:
            if parser.parse_optional_punctuation("(") is None:
                return 1
            value = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_punctuation(")")
            return value

        level, chunk = Level.SERIAL, 1
        for word in (Level.BLOCK, Level.THREAD, Level.SERIAL):
            if parser.parse_optional_keyword(word.value) is not None:
                level, chunk = word, 1 if word is Level.SERIAL else argument()
                break
        tile = argument() if parser.parse_optional_keyword("tile") is not None else 0
        prefetch = parser.parse_optional_keyword("prefetch") is not None
        items = argument() if parser.parse_optional_keyword("items") is not None else 1
        vector = argument() if parser.parse_optional_keyword("vector") is not None else 1
        unroll = argument() if parser.parse_optional_keyword("unroll") is not None else 1
        return MappingAttr.get(level, chunk, vector, unroll, items, tile, prefetch)

    def words(self) -> str:
        """The mapping as written in an op: empty for serial."""
        words: list[str] = []
        level = self.level.data
        if level is not Level.SERIAL:
            words.append(level.value if self.chunk.data == 1 else f"{level.value}({self.chunk.data})")
        if self.tile.data != 0:
            words.append(f"tile({self.tile.data})")
        if self.prefetch.data:
            words.append("prefetch")
        if self.items.data != 1:
            words.append(f"items({self.items.data})")
        if self.vector.data != 1:
            words.append(f"vector({self.vector.data})")
        if self.unroll.data != 1:
            words.append(f"unroll({self.unroll.data})")
        return " ".join(words)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_mapping(parser).parameters

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.words() or "serial")

    def verify(self) -> None:
        if self.vector.data not in (1, 2, 4, 8, 16):
            raise VerifyException(f"{self.name}: vector({self.vector.data}) is not 1, 2, 4, 8 or 16 lanes")
        if self.chunk.data < 1 or self.unroll.data < 1:
            raise VerifyException(
                f"{self.name}: chunk {self.chunk.data} and unroll {self.unroll.data} must be 1 or more"
            )
        if self.tile.data < 0:
            raise VerifyException(f"{self.name}: tile({self.tile.data}) is negative")
        if self.tile.data and (self.unroll.data != 1 or self.items.data != 1):
            raise VerifyException(f"{self.name}: {self.words()} (a tile is neither unrolled nor shared)")
        if self.prefetch.data and not self.tile.data:
            raise VerifyException(f"{self.name}: prefetch without tile (it fetches what a tile reads)")
        if self.items.data < 1:
            raise VerifyException(f"{self.name}: items({self.items.data}) is no number of work-items")
        if self.items.data > 1 and self.level.data is Level.THREAD:
            raise VerifyException(
                f"{self.name}: thread({self.chunk.data}) has work-items of its own, "
                f"not items({self.items.data})"
            )
        if self.level.data is Level.SERIAL and self.chunk.data != 1:
            raise VerifyException(f"{self.name}: chunk {self.chunk.data} is for block and thread, not serial")


class CombineKind(StrEnum):
    """
    How a reduction combines: by the `arith` op on two values, or by adding products, of floats unrounded
    (`fma`), of integers wrapping (`muladdi`).
    """

    FMA = "fma"
    MULADDI = "muladdi"
    ADDF = "addf"
    MULF = "mulf"
    MAXIMUMF = "maximumf"
    MINIMUMF = "minimumf"
    ADDI = "addi"
    MULI = "muli"
    MAXSI = "maxsi"
    MINSI = "minsi"
    MAXUI = "maxui"
    MINUI = "minui"
    ANDI = "andi"
    ORI = "ori"

    @property
    def adds_products(self) -> bool:
        """Whether it takes two values and adds their product."""
        return self in (CombineKind.FMA, CombineKind.MULADDI)


@irdl_attr_definition
class CombineKindAttr(EnumAttribute[CombineKind], SpacedOpaqueSyntaxAttribute):
    """`#sched<combine addf>`; printed bare (`addf`) by `sched.reduce`."""

    name = "sched.combine"


class Scope(StrEnum):
    """Who sees a buffer: the whole device, a work-group, or one iteration of the axes around it."""

    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"


@irdl_attr_definition
class ScopeAttr(EnumAttribute[Scope], SpacedOpaqueSyntaxAttribute):
    """`#sched<scope global>`; printed bare (`global`) by the ops that use it."""

    name = "sched.scope"


class Role(StrEnum):
    """What a program's buffer is for: a result of the program, or a value between two of its items."""

    RESULT = "result"
    TEMPORARY = "temporary"


@irdl_attr_definition
class RoleAttr(EnumAttribute[Role], SpacedOpaqueSyntaxAttribute):
    """`#sched<role result>`; printed bare (`result`) by `sched.buffer`."""

    name = "sched.role"


@irdl_attr_definition
class LifetimeAttr(ParametrizedAttribute):
    """The first and the last item, counted from 0, that use a buffer: `#sched.lifetime<0, 3>`."""

    name = "sched.lifetime"
    first: IntAttr = param_def(converter=_integer)
    last: IntAttr = param_def(converter=_integer)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_pair(parser)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.first.data}, {self.last.data}>")

    def verify(self) -> None:
        if not 0 <= self.first.data <= self.last.data:
            raise VerifyException(f"{self.name}: {self.first.data} to {self.last.data} is not a lifetime")


@irdl_attr_definition
class SlabAttr(ParametrizedAttribute):
    """A place in device memory, pool and byte offset: `#sched.slab<1, 4096>`."""

    name = "sched.slab"
    pool: IntAttr = param_def(converter=_integer)
    offset: IntAttr = param_def(converter=_integer)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        return _parse_pair(parser)

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.pool.data}, {self.offset.data}>")

    def verify(self) -> None:
        if self.pool.data < 0 or self.offset.data < 0:
            raise VerifyException(
                f"{self.name}: pool {self.pool.data}, offset {self.offset.data} is negative"
            )


def _parse_pair(parser: AttrParser) -> Sequence[Attribute]:
    with parser.in_angle_brackets():
        first = parser.parse_integer(allow_boolean=False)
        parser.parse_punctuation(",")
        return IntAttr(first), IntAttr(parser.parse_integer(allow_boolean=False))


class _Counts(ParametrizedAttribute):
    """Named counts, printed as `<flops 10, ...>` in the order of `FIELDS`."""

    FIELDS: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        values: list[Attribute] = []
        with parser.in_angle_brackets():
            for index, field in enumerate(cls.FIELDS):
                if index:
                    parser.parse_punctuation(",")
                parser.parse_keyword(field)
                values.append(IntAttr(parser.parse_integer(allow_boolean=False)))
        return values

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            values = [cast(IntAttr, parameter).data for parameter in self.parameters]
            printer.print_string(
                ", ".join(f"{field} {value}" for field, value in zip(self.FIELDS, values, strict=True))
            )


@irdl_attr_definition
class AnalysisAttr(_Counts):
    """
    What one item costs: arithmetic operations, bytes read and written in global memory (each element of each
    buffer once), scalar values live at the same time in one iteration, bytes of work-group memory, work-items
    that can run at once, and an estimate of the time in nanoseconds.
    """

    name = "sched.analysis"
    FIELDS = (
        "flops",
        "read_nbytes",
        "written_nbytes",
        "registers",
        "shared_nbytes",
        "occupancy",
        "estimated_ns",
    )
    flops: IntAttr = param_def(converter=_integer)
    read_nbytes: IntAttr = param_def(converter=_integer)
    written_nbytes: IntAttr = param_def(converter=_integer)
    registers: IntAttr = param_def(converter=_integer)
    shared_nbytes: IntAttr = param_def(converter=_integer)
    occupancy: IntAttr = param_def(converter=_integer)
    estimated_ns: IntAttr = param_def(converter=_integer)


@irdl_attr_definition
class SummaryAttr(_Counts):
    """
    What a program costs: the longest chain of dependent items and all of them together, in estimated ns.
    """

    name = "sched.summary"
    FIELDS = ("critical_path_ns", "total_ns", "flops")
    critical_path_ns: IntAttr = param_def(converter=_integer)
    total_ns: IntAttr = param_def(converter=_integer)
    flops: IntAttr = param_def(converter=_integer)


@irdl_attr_definition
class MemoryPlanAttr(_Counts):
    """
    The device memory a program needs beside its arguments and results: bytes of the temporary pool, bytes
    that its buffers would take without reuse, and the largest sum of bytes live at one item.
    """

    name = "sched.memory_plan"
    FIELDS = ("pool_nbytes", "unshared_nbytes", "peak_nbytes")
    pool_nbytes: IntAttr = param_def(converter=_integer)
    unshared_nbytes: IntAttr = param_def(converter=_integer)
    peak_nbytes: IntAttr = param_def(converter=_integer)


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """The completion of a program's item: `!sched.token`."""

    name = "sched.token"

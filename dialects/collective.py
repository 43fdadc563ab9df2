"""What a program asks of the other ranks in a collective, as plain data, and how it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from xdsl.parser import AttrParser

from .grids import member_of

KINDS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute")
"""The kinds of collectives: the names of their ops in `graph`."""

BUNDLE = "bundle"
"""The attribute of sums that begin as one, in `graph` and in `sched`: a number that is theirs alone."""

DIVERGENT = "divergent"
"""
The attribute of collectives, in `graph` and in `sched`, in a branch or a loop that some groups of
ranks run and others do not.
"""

REDUCTIONS = ("add", "mul", "max", "min", "and", "or")


@dataclass(frozen=True)
class Collective:
    """
    What a program asks of the other ranks, as the op of `graph` of this `kind` does: its reduction, if it is
    one, the dim that it gathers or splits along, and for `all_to_all` the one that it puts together along.
    `where` is the place of the op, for errors, `rank` the one whose program it is, and `program` a digest of
    that of all ranks, where the module says so, and `is_divergent` says that not all ranks may begin it; two
    that differ in these only are the same to the ranks.
    """

    kind: str
    channel: int
    grid: tuple[int, ...]
    axes: tuple[int, ...]
    reduction: str | None = None
    dim: int | None = None
    concat_dim: int | None = None
    pairs: tuple[tuple[int, int], ...] = ()
    where: str = ""
    rank: int | None = None
    program: str = ""
    is_divergent: bool = False

    @property
    def parts(self) -> tuple[int, ...]:
        """The extents of the grid along `axes`."""
        return tuple(self.grid[axis] for axis in self.axes)

    @property
    def n_members(self) -> int:
        return prod(self.parts)

    @property
    def n_ranks(self) -> int:
        return prod(self.grid)

    @property
    def gives(self) -> bool:
        """Whether the rank of the program gives anybody anything: where not, its operand does not matter."""
        if self.kind != "collective_permute" or self.rank is None:
            return True
        mine = member_of(self.grid, self.axes, self.rank)
        return any(source == mine for source, _ in self.pairs)

    @property
    def asked(self) -> Collective:
        """What is asked, without where and of whom: what all members must have alike."""
        return replace(self, where="", rank=None, program="", is_divergent=False)

    def __str__(self) -> str:
        reduction = "" if self.reduction is None else f" {self.reduction}"
        return f"graph.{self.kind}{reduction} on channel {self.channel}"

    def sent_nbytes(self, source: Sequence[int], result: Sequence[int], itemsize: int) -> float:
        """
        Returns the bytes that the rank of the program sends for an operand and a result of these shapes: the
        fewest that any algorithm sends from a rank on average. Of a `collective_permute` whose
        program is no rank's it is what a member sends that is a source.
        """
        nbytes, count = itemsize * prod(source), self.n_members
        match self.kind:
            case "all_reduce":
                return 2 * nbytes * (count - 1) / count
            case "all_gather":
                return nbytes * (count - 1)
            case "reduce_scatter":
                return nbytes - itemsize * prod(result)
            case "all_to_all":
                assert self.dim is not None, f"{self}: splits no dim"
                return nbytes - nbytes * result[self.dim] // source[self.dim] if nbytes else 0
            case _:
                mine = None if self.rank is None else member_of(self.grid, self.axes, self.rank)
                is_sent = any(source != target and mine in (None, source) for source, target in self.pairs)
                return nbytes if is_sent else 0

    @property
    def text(self) -> str:
        """How `sched` writes it, without `where`, `rank`, `program` and `is_divergent`."""
        words = [self.kind]
        if self.reduction is not None:
            words.append(self.reduction)
        words.append(f"on {list(self.grid)} axes = {list(self.axes)}")
        if self.dim is not None:
            words.append(f"dim = {self.dim}")
        if self.concat_dim is not None:
            words.append(f"concat_dim = {self.concat_dim}")
        if self.kind == "collective_permute":
            words.append(f"pairs = {[list(pair) for pair in self.pairs]}")
        words.append(f"channel = {self.channel}")
        return " ".join(words)

    @staticmethod
    def parse(parser: AttrParser) -> Collective:
        """Returns what `text` says."""
        kind = _parse_word(parser, KINDS)
        reduces = kind in ("all_reduce", "reduce_scatter")
        reduction = _parse_word(parser, REDUCTIONS) if reduces else None
        parser.parse_keyword("on")
        grid = parse_ints(parser)
        parser.parse_keyword("axes")
        parser.parse_punctuation("=")
        axes = parse_ints(parser)
        dim = _parse_number(parser, "dim") if kind not in ("all_reduce", "collective_permute") else None
        concat_dim = _parse_number(parser, "concat_dim") if kind == "all_to_all" else None
        pairs: list[tuple[int, int]] = []
        if kind == "collective_permute":
            parser.parse_keyword("pairs")
            parser.parse_punctuation("=")
            pos = parser.pos
            written = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_ints(parser))
            for pair in written:
                if len(pair) != 2:
                    parser.raise_error(f"expected pairs, found {list(pair)}", pos)
                pairs.append((pair[0], pair[1]))
        channel = _parse_number(parser, "channel")
        return Collective(kind, channel, grid, axes, reduction, dim, concat_dim, tuple(pairs))


def _parse_word(parser: AttrParser, words: Sequence[str]) -> str:
    pos = parser.pos
    word = parser.parse_identifier()
    if word not in words:
        parser.raise_error(f"expected one of {', '.join(words)}, found {word}", pos)
    return word


def parse_ints(parser: AttrParser) -> tuple[int, ...]:
    """Parses `[1, 2]`."""
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
        )
    )


def _parse_number(parser: AttrParser, name: str) -> int:
    parser.parse_keyword(name)
    parser.parse_punctuation("=")
    return parser.parse_integer(allow_boolean=False)

"""Where the members of a group meet: what each has begun, until all have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...errors import RankError
from ..collectives import Collective, transfer
from ..numpy_types import Array


@dataclass(frozen=True, slots=True)
class Gift:
    """What a member gives, and where it wants what it gets."""

    collective: Collective
    operand: Array
    result: Array


@dataclass(slots=True)
class Meeting:
    """One collective of one group. It belongs to the world, whose lock is held where it is used."""

    group: Sequence[int]
    gifts: dict[int, Gift] = field(default_factory=dict[int, Gift])
    is_done: bool = False
    error: RankError | None = None

    @property
    def missing(self) -> list[int]:
        """The ranks that have not begun it."""
        return [rank for rank in self.group if rank not in self.gifts]

    def join(self, rank: int, gift: Gift) -> None:
        """Adds what a rank gives; where it is the last one, all get their results, or all the error."""
        self.gifts[rank] = gift
        self.error = self.error or self._disagreement()
        if self.error is None and not self.missing:
            try:
                self._exchange()
            except RankError as error:
                self.error = error

    def _disagreement(self) -> RankError | None:
        """Returns the error of members that begin different collectives, None while they agree."""
        first, *others = sorted(self.gifts)
        mine = self.gifts[first].collective
        for rank in others:
            theirs = self.gifts[rank].collective
            if theirs.asked != mine.asked:
                return RankError(
                    f"rank {first} begins {described(mine)} where rank {rank} begins {described(theirs)}",
                    rank,
                )
        return None

    def _exchange(self) -> None:
        gifts = [self.gifts[rank] for rank in self.group]
        operands, results = [gift.operand for gift in gifts], [gift.result for gift in gifts]
        transfer(gifts[0].collective, operands, results, self.group)
        self.is_done = True


def described(collective: Collective) -> str:
    """Returns a collective as errors name it, with its place and what there is of its details."""
    details = [
        f"{name} = {value}"
        for name, value in (
            ("axes", list(collective.axes)),
            ("dim", collective.dim),
            ("concat_dim", collective.concat_dim),
            ("pairs", [list(pair) for pair in collective.pairs] or None),
        )
        if value is not None
    ]
    at = f" at {collective.where}" if collective.where else ""
    return f"{collective} ({', '.join(details)}){at}"

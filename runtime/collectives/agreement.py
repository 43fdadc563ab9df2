"""Whether all ranks call the same programs, in the same order."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256

from ...dialects.collective import Collective
from ...semantics.world import World


class SameCalls:
    """
    Compares, in each call of a program with collectives, that all ranks call that one. The comparison begins
    with the call and is waited for at its end, before anyone sees a result; in the first call it is waited
    for before anything is sent. It may be used by several threads.
    """

    def __init__(self, world: World, name: str, collectives: Sequence[Collective]) -> None:
        """The programs of all ranks have the digest alike that the collectives name, else these."""
        self._world = world
        self._what = f"program @{name}"
        programs = dict.fromkeys(collective.program for collective in collectives)
        alike = [each for each in programs if each] or [each.asked.text for each in collectives]
        self._digest = sha256("\n".join((name, *alike)).encode()).digest()
        self._is_known = False

    @contextmanager
    def call(self) -> Generator[None]:
        """
        While a call runs.

        Raises:
            RankError: ranks call other programs than rank 0.
        """
        check = self._world.begin_check(self._digest, self._what)
        if not self._is_known:
            check.wait()
            self._is_known = True
            yield
            return
        yield
        check.wait()

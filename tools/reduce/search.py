"""
The search for the least module that is still interesting.

Each reduction lists the places where it can change a module, and can change any of them at once. The search
tries all places together, then halves, quarters and so on down to single ones, and keeps what is still
interesting: the order of delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing
Input", 2002). All reductions run in turn until none of them finds anything (Regehr et al., "Test-Case
Reduction for C Compiler Bugs", 2012). Nothing is random: the same module and answers give the same result.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ...dialects.modules.parsing import verify_module
from ...errors import TenonError
from .measure import Measure

Question = Callable[[ModuleOp], bool]
"""Answers whether a module is interesting. It must not change the module."""

Edit = Callable[[], None]
"""Changes one place of the module that it was made for, and nothing where an edit before took that away."""


_FEW = 2
"""At how many places at once a reduction is tried that has come to nothing before."""


class Reduction(ABC):
    """A way to make modules smaller."""

    name: str

    @abstractmethod
    def count(self, module: ModuleOp) -> int:
        """Returns at how many places it can change a module."""
        ...

    @abstractmethod
    def apply(self, module: ModuleOp, places: range) -> None:
        """
        Changes some of the places of a module, given by their numbers.

        Raises `NotApplicable` where they cannot be changed together.
        """
        ...


class Edits(Reduction):
    """A reduction whose places can be changed one after the other."""

    @abstractmethod
    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        """Returns what changes each place of `module`, in the order in which they are to be tried."""
        ...

    def count(self, module: ModuleOp) -> int:
        return len(self.edits(module))

    def apply(self, module: ModuleOp, places: range) -> None:
        edits = self.edits(module)
        for place in places:
            edits[place]()


class NotApplicable(Exception):
    """What a reduction raises where a place cannot be changed, alone or together with the others."""


@dataclass(frozen=True)
class Progress:
    """
    How far a search is: which reduction has just succeeded, how many trials there were, and how many ops are
    left, those with regions too, and as which text.
    """

    reduction: str
    n_trials: int
    n_ops: int
    text: str


class Search:
    """A search from a verified module that is interesting; `module` is the least one so far."""

    def __init__(
        self, module: ModuleOp, is_interesting: Question, report: Callable[[Progress], None] | None = None
    ) -> None:
        self.module = module
        self.n_trials = 0
        self._is_interesting = is_interesting
        self._report = report
        text = str(module)
        self._measure = Measure.of(module, text)
        self._tried = {_digest(text)}

    def run(self, reductions: Sequence[Reduction]) -> None:
        """Applies all reductions until none makes the module smaller."""
        sizes = [reduction.count(self.module) for reduction in reductions]
        while True:
            text = self._measure.text
            for number, reduction in enumerate(reductions):
                sizes[number] = self._run(reduction, sizes[number])
            if self._measure.text == text:
                return

    def _run(self, reduction: Reduction, largest: int) -> int:
        """
        Applies one reduction wherever it can be, to at most `largest` places at once. Returns that number for
        the next time: where nothing came of many places at once now, few are tried.
        """
        worth_while = _FEW
        count = reduction.count(self.module)
        size = min(count, largest)
        while size:
            start = 0
            while start < count:
                if self._try(reduction, range(start, min(start + size, count))):
                    worth_while = max(worth_while, size * 2)
                    # What stood behind the places that are gone has their numbers now.
                    count = reduction.count(self.module)
                else:
                    start += size
            size //= 2
        return worth_while

    def _try(self, reduction: Reduction, places: range) -> bool:
        candidate = self.module.clone()
        try:
            reduction.apply(candidate, places)
            verify_module(candidate)
        except (NotApplicable, VerifyException, TenonError):
            return False
        text = str(candidate)
        digest, measure = _digest(text), Measure.of(candidate, text)
        if measure >= self._measure or digest in self._tried:
            return False
        self._tried.add(digest)
        self.n_trials += 1
        if not self._is_interesting(candidate):
            return False
        self.module, self._measure = candidate, measure
        if self._report is not None:
            self._report(Progress(reduction.name, self.n_trials, measure.ops - 1, text))
        return True


def _digest(text: str) -> bytes:
    return sha256(text.encode()).digest()

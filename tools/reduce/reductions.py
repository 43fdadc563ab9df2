"""All reductions, in the order in which they are tried: what takes most away comes first."""

from __future__ import annotations

from collections.abc import Sequence

from .functions import CutOps, DropArguments, DropResults, DropSymbols, InlineCalls, MergeArguments
from .operands import BypassOps, EraseDeadOps, UseConstants
from .search import Reduction

ALL_REDUCTIONS: Sequence[Reduction] = (
    DropSymbols(),
    InlineCalls(),
    DropResults(),
    # Keeping first: what fails may be in the first half as well as in the second.
    CutOps(keeps=True),
    DropResults(),
    CutOps(keeps=False),
    BypassOps(0),
    BypassOps(1),
    DropArguments(),
    MergeArguments(),
    EraseDeadOps(),
    UseConstants(1),
    UseConstants(0),
)

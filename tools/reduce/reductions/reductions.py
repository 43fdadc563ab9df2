"""All reductions, in the order in which they are tried: what takes most away comes first."""

from __future__ import annotations

from collections.abc import Sequence

from ..search import Reduction
from .attributes import DropAttributes, DropNames, SimpleConstants, SimpleTypes
from .bodies import MAPPING_WORDS, DropMappings, EraseEffects, SmallBlocks, UnwrapLoops
from .control import TakeRegion
from .functions import CutOps, DropArguments, DropResults, DropSymbols, InlineCalls, MergeArguments
from .operands import BypassOps, EraseDeadOps, UseConstants
from .programs import (
    BranchItems,
    DropDependencies,
    DropItems,
    DropKernelArguments,
    DropProgramArguments,
    DropProgramResults,
    MergeProgramArguments,
)
from .sizes import SHRINK_BUFFERS, SHRINK_TENSORS, FixDims

ALL_REDUCTIONS: Sequence[Reduction] = (
    # First: what declares the dims may be dropped.
    FixDims(),
    DropSymbols(),
    DropAttributes(),
    InlineCalls(),
    DropResults(),
    # Keeping first: what fails may be in the first half as well as in the second.
    CutOps(keeps=True),
    DropResults(),
    CutOps(keeps=True, together=True),
    BypassOps(0, together=True),
    DropResults(),
    TakeRegion(),
    DropDependencies(),
    DropProgramResults(),
    DropItems(keeps=True),
    DropProgramResults(),
    DropItems(keeps=False),
    BranchItems(),
    # Before all that takes many trials, which are quicker on small tensors.
    *SHRINK_TENSORS,
    *SHRINK_BUFFERS,
    CutOps(keeps=False),
    EraseEffects(cascades=True),
    EraseEffects(cascades=False),
    UnwrapLoops(),
    BypassOps(0),
    BypassOps(1),
    BypassOps(1, together=True),
    UseConstants(1),
    UseConstants(0),
    EraseDeadOps(),
    DropArguments(),
    MergeArguments(),
    DropKernelArguments(),
    DropProgramArguments(),
    MergeProgramArguments(),
    DropMappings(),
    *map(DropMappings, MAPPING_WORDS),
    SmallBlocks(),
    SimpleTypes(),
    SimpleConstants(0),
    SimpleConstants(1),
    DropNames(),
)

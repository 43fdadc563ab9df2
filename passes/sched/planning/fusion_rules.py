"""
The fusion policy: the ordered rules that give each value of a function its memory mode.

A value is planned after all that read it. The first rule that has a reason decides; `infer-memory-modes` and
`tenon.explain` tell the rule and its reason. A mode that is written on an op is obeyed in place of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph
from ....dialects.dims.expressions import upper_bound
from ....dialects.graph import MemoryModeAttr
from ....dialects.memory_modes import ModeKind
from ...graph.masks import is_mask
from ...graph.same_bits import is_same_bits
from ...indices.access import shape_of
from ...machine.target import DEFAULT_TARGET, Target
from .accesses import Access, element_count, hoisted_loops, is_all_of_kernel, repetitions
from .fusion_cost import Estimate
from .known_estimates import KnownEstimates
from .local_values import Hoisting, LocalBuffer, hoisting, local_buffer
from .op_kinds import FOLDING_OPS, UPDATING_OPS, VIEW_OPS
from .own import OWN_KERNELS
from .product_tiles import has_tiles, is_worth_tiles, parted_product

# `python -m benchmarks.thresholds` shows what each limit is worth; times here: one core, AVX-512.

# LLVM takes more than linear time: 1600 sums of products compile in 5.0 s, and in 7.1 s as one kernel.
KERNEL_OPS_LIMIT = 192
"""The most ops in one kernel."""

# 8 reads of a value of six ops take 127 us by way of a buffer, 249 us with the ops done at each of them.
RECOMPUTE_LIMIT = 4
"""The most places in one kernel where a cheap op is done again rather than stored and loaded."""

# Windows of 3x3 of 16 images of 512x512 take 831 us through the pad, 1385 us of a padded copy.
INSIDE_OF_ROWS = 8
"""How many times as many elements as are padded a dim has, at least, where windows read through the pad."""

# Vectors stop at a pad: windows of 3x3 of 16 images of 56x56 take 36 us through it, 19 us of a padded copy.
INSIDE_OF_VECTORS = 128
"""The same for the last dim."""

# A softmax of columns of 512x512 takes 163 us with exp done twice, 173 us with it in a buffer; estimated are
# 203 and 171 us (`python -m benchmarks.fusion`).
CHEAPER = 0.8
"""The share of the time together that a value must be estimated to take apart, to be kept apart."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The memory mode of an op's value, the rule that decided, and the rule's reason."""

    mode: ModeKind
    rule: str
    why: str


@dataclass(eq=False)
class Candidate:
    """A value that rules decide about: the op that computes it, and every use of it that is an access."""

    op: Operation
    accesses: Sequence[Access]
    needed: str | None
    """Why it has to be in a buffer, whatever its accesses are."""
    known: KnownEstimates = field(default_factory=lambda: KnownEstimates(DEFAULT_TARGET))
    """The estimates for the function so far, for the machine."""

    @property
    def target(self) -> Target:
        return self.known.target

    @property
    def is_heavy(self) -> bool:
        return isinstance(self.op, graph.GraphOp) and self.op.IS_HEAVY

    @property
    def is_folding(self) -> bool:
        return isinstance(self.op, FOLDING_OPS)

    @cached_property
    def repeated(self) -> int:
        """How often each element would be computed where the value is read."""
        elements = upper_bound(element_count(self.op.results[0], self.op.name))
        return max(repetitions(access, elements) for access in self.accesses)

    @cached_property
    def place(self) -> Hoisting | LocalBuffer | str:
        """Where the one kernel that reads the value computes it once, or why nowhere."""
        if len(self.accesses) == 1:
            return hoisting(self.op, self.accesses[0])
        return local_buffer(self.op, self.accesses)

    @cached_property
    def estimate(self) -> Estimate:
        """What the kernels take that compute the value and read it."""
        place = self.place if self.is_heavy else ""
        return self.known.estimate(self.op, self.accesses, place)

    @property
    def obstacle(self) -> str | None:
        """Why the kernel that reads a heavy value cannot compute it once."""
        return self.place if self.is_heavy and isinstance(self.place, str) else None


@dataclass(frozen=True, slots=True)
class FusionRule:
    """A rule: its name, the mode that it gives, and the function that returns its reason, if it has one."""

    name: str
    mode: ModeKind
    reason: Callable[[Candidate], str | None]


def _needed(value: Candidate) -> str | None:
    return value.needed


def _unread(value: Candidate) -> str | None:
    return None if value.accesses else "never read"


def _update(value: Candidate) -> str | None:
    return "stored over a copy of its source" if isinstance(value.op, UPDATING_OPS) else None


def _own_kernel(value: Candidate) -> str | None:
    return "computed by a kernel of its own" if type(value.op) in OWN_KERNELS else None


def _splat(value: Candidate) -> str | None:
    op = value.op
    is_splat = isinstance(op, graph.ConstantOp) and op.value.is_splat()
    return "one value, written where it is used" if is_splat else None


def _constant(value: Candidate) -> str | None:
    return "a constant of several values" if isinstance(value.op, graph.ConstantOp) else None


def _full_kernel(value: Candidate) -> str | None:
    for access in value.accesses:
        n_ops = len(access.kernel.members)
        if n_ops >= KERNEL_OPS_LIMIT:
            return f"its kernel has {n_ops} ops already"
    return None


def _view(value: Candidate) -> str | None:
    if is_same_bits(value.op):
        return "the same bits, read as signed or not"
    return "a view: only the index changes" if isinstance(value.op, VIEW_OPS) else None


def _gathered(value: Candidate) -> str | None:
    if not isinstance(value.op, graph.GatherOp) or not _is_multiplied_in_tiles(value.op):
        return None
    return "gathered for a product of matrices, whose tiles have rows in even steps"


def _mask(value: Candidate) -> str | None:
    return "made of indices: nothing is loaded for it" if is_mask(value.op) else None


def _several_consumers(value: Candidate) -> str | None:
    n_kernels = len({id(access.kernel) for access in value.accesses})
    return f"read by {n_kernels} kernels" if n_kernels > 1 else None


def _tiled_product(value: Candidate) -> str | None:
    op = value.op
    if not isinstance(op, graph.ContractOp) or not is_worth_tiles(op):
        return None
    if not is_all_of_kernel(value.accesses):
        return "a product of matrices, which is a kernel, or a stage, of its own"
    if not has_tiles(op, value.accesses[0]):
        return "a product of matrices, read in an order that its tiles do not have"
    is_windowed, members = _is_windowed(op), value.accesses[0].kernel.members
    others = (each for each in members if isinstance(each, graph.ContractOp))
    if any((is_windowed or _is_windowed(each)) and is_worth_tiles(each) for each in others):
        return "a kernel has the tiles of one convolution only"
    return None


def _parts_tiles(value: Candidate) -> str | None:
    if not value.is_folding or len(value.accesses) > 1 or parted_product(value.op, value.accesses[0]) is None:
        return None
    return "beside a product of matrices, of whose tiles it would leave one row or column"


def _no_place(value: Candidate) -> str | None:
    return value.obstacle if len(value.accesses) == 1 else None


def _halo(value: Candidate) -> str | None:
    op = value.op
    if not isinstance(op, graph.ConcatOp):
        return None
    sent = [operand for operand in op.operands if _is_sent(operand)]
    if not sent:
        return None
    n_sent = sum(upper_bound(element_count(operand, op.name)) for operand in sent)
    is_thin = 2 * n_sent < upper_bound(element_count(op.result, op.name))
    return "what other ranks send at a border: the inside does not wait for it" if is_thin else None


def _is_sent(value: SSAValue) -> bool:
    """Returns whether a value is a part of what another rank sends."""
    while isinstance(value.owner, graph.SliceOp):
        value = value.owner.source
    if isinstance(value.owner, graph.ConcatOp):
        return all(map(_is_sent, value.owner.operands))
    return isinstance(value.owner, graph.CollectivePermuteOp)


def _cheaper_apart(value: Candidate) -> str | None:
    if not _may_cost(value):
        return None
    otherwise = _first(FUSION_RULES[FUSION_RULES.index(COST_RULE) + 1 :], value)
    if otherwise is None or otherwise.mode is ModeKind.MATERIALIZED:
        return None
    found = value.estimate
    # Whether vectors are made of borders and gathers, passes decide that come later.
    is_cheaper = found.is_sure and found.apart_ps < CHEAPER * found.together_ps
    return f"cheaper apart: {found}" if is_cheaper else None


def _reduction(value: Candidate) -> str | None:
    if not value.is_folding or len(value.accesses) > 1:
        return None
    hints = ", ".join(axis.hint for axis in value.accesses[0].dependences()) or "kernel"
    return f"combined in registers, once for each ({hints})"


def _local_buffer(value: Candidate) -> str | None:
    if not value.is_heavy or not isinstance(value.place, LocalBuffer):
        return None
    place = ", in its result's memory" if value.place.is_in_result else ""
    return f"a buffer that is read in {len(value.accesses)} ways by one kernel{place}"


def _computed_twice(value: Candidate) -> str | None:
    if value.obstacle is None or value.is_folding or len(value.accesses) > 2 or value.repeated > 1:
        return None
    return f"computed twice, as {value.obstacle}"


def _no_local_buffer(value: Candidate) -> str | None:
    return value.obstacle


def _thin_padding(value: Candidate) -> str | None:
    op, accesses = value.op, value.accesses
    if value.repeated == 1 or not isinstance(op, graph.PadOp) or len(accesses) > 1:
        return None
    return "read in windows, most of which pad nothing" if _is_mostly_inside(op, accesses[0]) else None


def _repeated(value: Candidate) -> str | None:
    return f"would be computed {value.repeated} times inside a reduction" if value.repeated > 1 else None


def _many_reads(value: Candidate) -> str | None:
    if value.is_heavy or len(value.accesses) <= RECOMPUTE_LIMIT:
        return None
    return f"read in {len(value.accesses)} ways by one kernel"


def _inline(value: Candidate) -> str | None:
    return "computed where it is read"


FORCED_RULES: tuple[FusionRule, ...] = (
    FusionRule("needed", ModeKind.MATERIALIZED, _needed),
    # Before the rules below and all others, which take a value to have an access.
    FusionRule("unread", ModeKind.VIRTUAL, _unread),
    FusionRule("update", ModeKind.MATERIALIZED, _update),
    FusionRule("own-kernel", ModeKind.MATERIALIZED, _own_kernel),
    FusionRule("splat", ModeKind.VIRTUAL, _splat),
    # After `splat`: a kernel writes one number where it uses it, and loads what several are in.
    FusionRule("constant", ModeKind.MATERIALIZED, _constant),
)
"""The rules that leave no choice: a mode that is asked for cannot go against those that materialize."""

REQUEST = "request"
"""The rule of modes that are asked for."""

COST_RULE = FusionRule("cheaper-apart", ModeKind.MATERIALIZED, _cheaper_apart)
"""The rule that compares times. A mode that is asked for goes against it."""

FUSION_RULES: tuple[FusionRule, ...] = (
    *FORCED_RULES,
    # Before all rules that add to a kernel.
    FusionRule("full-kernel", ModeKind.MATERIALIZED, _full_kernel),
    # Before `view`: a product of 128x384 by 384x1152 takes 370 us, 1550 us where it gathers the rows itself.
    FusionRule("gathered", ModeKind.MATERIALIZED, _gathered),
    # Before `several-consumers`: a copy of a view would cost each kernel more than the index does.
    FusionRule("view", ModeKind.VIRTUAL, _view),
    # Before `several-consumers`, likewise: a mask in a buffer would have to be loaded.
    FusionRule("mask", ModeKind.VIRTUAL, _mask),
    # Before all rules below, which ask what the one kernel does with the value.
    FusionRule("several-consumers", ModeKind.MATERIALIZED, _several_consumers),
    # Before `reduction`: a product of matrices that another kernel sums up per element has no register tiles.
    FusionRule("tiled-product", ModeKind.MATERIALIZED, _tiled_product),
    # Before `reduction`: one row of columns at a time is no register tile.
    FusionRule("parts-tiles", ModeKind.MATERIALIZED, _parts_tiles),
    # The kernel computes a heavy value once, hoisted or in a local buffer; else the value is materialized. A
    # value with two uses is the exception: arithmetic done twice costs less than a pass over memory.
    FusionRule("no-place", ModeKind.MATERIALIZED, _no_place),
    # Before COST_RULE, which does not know that split-halos cuts the kernel where the index is another one.
    FusionRule("halo", ModeKind.VIRTUAL, _halo),
    COST_RULE,
    FusionRule("reduction", ModeKind.LOCAL, _reduction),
    FusionRule("local-buffer", ModeKind.LOCAL, _local_buffer),
    FusionRule("computed-twice", ModeKind.VIRTUAL, _computed_twice),
    FusionRule("no-local-buffer", ModeKind.MATERIALIZED, _no_local_buffer),
    # A light value is computed wherever it is read. Before `repeated`, to which windows through a pad are an
    # exception.
    FusionRule("thin-padding", ModeKind.VIRTUAL, _thin_padding),
    FusionRule("repeated", ModeKind.MATERIALIZED, _repeated),
    FusionRule("many-reads", ModeKind.MATERIALIZED, _many_reads),
    # Last: what nothing speaks against.
    FusionRule("inline", ModeKind.VIRTUAL, _inline),
)
"""The rules in the order in which they are asked; the last one always has a reason."""


WITHOUT_CHOICE = frozenset({*(rule.name for rule in FORCED_RULES), "full-kernel", "view", "mask"})
"""The rules that decide about values whose way nobody would choose otherwise."""


def decide(value: Candidate) -> Decision:
    """Returns what the first rule says that has a reason."""
    decision = _first(FUSION_RULES, value)
    assert decision is not None, f"{value.op.name}: no rule decides"
    return decision


def with_figures(value: Candidate, decision: Decision) -> Decision:
    """Returns a decision whose reason tells both times, where there was a choice."""
    if decision.rule in WITHOUT_CHOICE or decision.rule == COST_RULE.name:
        return decision
    # A mode that was asked for may be that of a value without a choice.
    if _first(FORCED_RULES, value) is not None:
        return decision
    if value.is_folding and isinstance(value.place, str):
        return decision
    return Decision(decision.mode, decision.rule, f"{decision.why}; {value.estimate}")


def _first(rules: Sequence[FusionRule], value: Candidate) -> Decision | None:
    for rule in rules:
        why = rule.reason(value)
        if why is not None:
            return Decision(rule.mode, rule.name, why)
    return None


def obey(value: Candidate, requested: MemoryModeAttr) -> Decision:
    """
    Returns the memory mode that an op asks for. Raises PassFailedException where that is impossible: a rule
    leaves no choice, or a value that is to be local has no place, or costs nothing, in its kernel.
    """
    mode, why = requested.mode.data, requested.why.data
    decision = Decision(mode, requested.rule.data or REQUEST, why)
    if mode is ModeKind.MATERIALIZED:
        return decision
    forced = _first(FORCED_RULES, value)
    if forced is None and mode is ModeKind.VIRTUAL and not value.is_folding:
        return decision
    inferred = forced or _first([rule for rule in FUSION_RULES if rule is not COST_RULE], value)
    assert inferred is not None, f"{value.op.name}: no rule decides"
    if inferred.mode is mode or (not value.accesses and value.needed is None):
        return decision
    reason = inferred.why
    if forced is None or forced.mode is not ModeKind.MATERIALIZED:
        reason = f"{inferred.mode.value}: {reason}"
    raise PassFailedException(f'{value.op.name}: cannot be {mode.value} ({reason}), asked for by "{why}"')


def _is_multiplied_in_tiles(op: Operation) -> bool:
    """Returns whether a product of matrices reads a value, or views of it."""
    for use in op.results[0].uses:
        user = use.operation
        if isinstance(user, graph.ContractOp) and is_worth_tiles(user):
            return True
        if isinstance(user, graph.ReshapeOp | graph.PermuteOp) and _is_multiplied_in_tiles(user):
            return True
    return False


def _may_cost(value: Candidate) -> bool:
    """
    Returns whether it may take longer to compute a value where it is read: in loops that are turned for it,
    one element at a time inside of a reduction, or more often than it has elements. Nothing is estimated of
    most values, which are read once, element by element.
    """
    if len(value.accesses) > 1:
        return True
    (access,) = value.accesses
    if value.is_folding and not all(axis in access.kernel.axes for axis in access.loops):
        return True
    return set(access.dependences()) != set(access.loops)


def _is_windowed(op: graph.ContractOp) -> bool:
    """Returns whether an operand is read in windows, or in steps of more than one."""
    return any(graph.LinearIndex.of(expr).is_stepped for map in op.operand_maps for expr in map.results)


def _is_mostly_inside(op: graph.PadOp, access: Access) -> bool:
    """
    Returns whether what reads a pad reads each element of it in its windows only, and in most of the windows
    no padding; along the last dim, where neighbours run as vectors, in nearly all of them.
    """
    dependences = access.dependences()
    if not all(axis in dependences for axis in hoisted_loops(access)):
        return False
    if any(step != 1 for step in op.steps):
        return False
    shape = shape_of(op.source, op.name)
    last = max((dim for dim, extent in enumerate(shape) if extent != 1), default=0)
    for dim, (extent, low, high) in enumerate(zip(shape, op.low.data, op.high.data, strict=True)):
        if (low, high) == (0, 0):
            continue
        share = INSIDE_OF_VECTORS if dim == last else INSIDE_OF_ROWS
        if not isinstance(extent, int) or extent < (low + high) * share:
            return False
        if not all(isinstance(axis.extent, int) for axis in access.indices[dim].axes()):
            return False
    return True

"""
Fuses the kernels that produce a buffer into the kernel that consumes it, block by block.

    sched.kernel @f_0(%x, %y, %s) {                       sched.kernel @f_1(%x, %y, %v, %r) {
      sched.axis %i = 96 {                                  sched.axis %i = 96 {
        sched.axis %j = 128 {                                 %s = sched.alloc local : memref<128x128xf32>
          ... store %s[%i, %j, ...]                           sched.axis %j = 128 {
      }}}                                          -->          ... store %s[%j, ...]
    sched.kernel @f_1(%s, %v, %r) {                           }
      sched.axis %i = 96 {                                    sched.axis %j_1 = 128 {
        sched.axis %j = 128 {                                   ... load %s[%j_1, ...]
          ... load %s[%i, %j, ...]                            }
      }}}                                                 }}

A product of matrices, the softmax of its rows and the product of that with other matrices become one kernel;
the scores never leave the cache.

The buffer must be a temporary that nobody else reads. The outer axes of all kernels must count the same
blocks of it, be it in other steps (8 by 12 here, 96 there), and each iteration must touch its own block only.
How many the outermost axis counts may vary from call to call. The blocks must be enough to keep a device
busy, and small enough for a core's caches. A block that is too large is taken in parts: the pass splits the
next axis, the rows of a product, where a cache holds the side that stays.

One of the kernels must sum up products of two sides that both differ from block to block. Planning has fused
kernels without such sums as far as it pays. A side that stays is shared best by all rows of one kernel. A
kernel that reads an array in steps along its innermost axis stays alone: LLVM makes vectors of such reads
only in kernels without vectors.

The rules of handovers.py and kernel_stages.py keep kernels apart; `tenon.explain` tells which one did.

Requires: unmapped `sched` kernels, before `build-dependencies`.
Ensures: what each program computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.memory_modes import ModeKind
from ....dialects.modules.hazards import item_blocks
from ....dialects.modules.kernel_access import KernelAccess, access_of
from ....dialects.sched import OriginAttr
from ...machine.kernel_memory import BLOCKS_NBYTES_LIMIT
from ...machine.target import L2_NBYTES, N_THREADS, check_positive
from ...rewriting.kernel_names import KernelNames
from .handovers import Handover, Handovers, kernel_name, obstacle_of, takes_steps
from .kernel_stages import Obstacle, StagePlan, StageSource, plan_stages, write_stages

_Key = tuple[sched.KernelOp | int, ...]


@dataclass(frozen=True)
class FuseProducersPass(ModulePass):
    """Fuses the kernels that produce a buffer into the kernel that consumes it, block by block."""

    name = "fuse-producers"
    l2_nbytes: int = L2_NBYTES
    n_threads: int = N_THREADS
    local_nbytes: int = BLOCKS_NBYTES_LIMIT
    # By design: so few blocks are shared unevenly by two threads as well.
    least_blocks: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "l2_nbytes", "n_threads", "local_nbytes", "least_blocks")
        fuser = _Fuser(op, self)
        for program in [inner for inner in op.ops if isinstance(inner, sched.ProgramOp)]:
            for block in item_blocks(program):
                fuser.fuse_block(block)
        fuser.erase_unused()


class _Fuser:
    def __init__(self, module: ModuleOp, options: FuseProducersPass):
        self.local_nbytes = min(options.local_nbytes, options.l2_nbytes // 2)
        self.least_blocks = max(options.least_blocks, options.n_threads)
        self.staying_nbytes = options.l2_nbytes // 2
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
        self.accesses: dict[str, KernelAccess] = {
            name: access_of(kernel) for name, kernel in self.kernels.items()
        }
        self.launches: dict[str, int] = {}
        """How many launches of each kernel there are."""
        for op in module.walk():
            if isinstance(op, sched.LaunchOp):
                name = kernel_name(op)
                self.launches[name] = self.launches.get(name, 0) + 1
        self.plans: dict[_Key, StagePlan | Obstacle] = {}
        self.fused: dict[_Key, sched.KernelOp] = {}
        """What was found and made of kernels, for other launches of the same."""
        self.obstacles: dict[sched.LaunchOp, Obstacle] = {}
        """What kept the launches of a block apart from what reads their result."""
        self.names = KernelNames(module)
        self.base_names: dict[sched.KernelOp, str] = {}
        """What a fused kernel is named after: the kernel of the last launch that it takes the place of."""

    def fuse_block(self, block: Block) -> None:
        handovers = Handovers(block, self.kernels, self.accesses)
        # The last first: what it reads may be blocks of what another one computes as a whole.
        for consumer in reversed(handovers.launches):
            while consumer.parent is not None and (fused := self._fuse_into(consumer, handovers)) is not None:
                consumer = fused
        for launch, obstacle in self.obstacles.items():
            if launch.parent is not None:
                _note_obstacle(launch, obstacle)
        self.obstacles.clear()

    def erase_unused(self) -> None:
        for name, kernel in self.kernels.items():
            if self.launches.get(name) == 0:
                kernel.detach()
                kernel.erase()

    def _fuse_into(self, consumer: sched.LaunchOp, handovers: Handovers) -> sched.LaunchOp | None:
        """Fuses a launch with those that fill a buffer for it; returns the launch of all, if it can."""
        if kernel_name(consumer) not in self.kernels:
            return None
        for handover in handovers.to(consumer):
            obstacle = obstacle_of(handover)
            if obstacle is None:
                key = _key(handover)
                plan = self.plans.get(key)
                if plan is None:
                    plan = self.plans[key] = self._plan(handover)
                if isinstance(plan, StagePlan):
                    new = self._launch_fused(handover, plan, key)
                    handovers.replace(handover.launches, new)
                    _erase(handover)
                    return new
                obstacle = plan
            self.obstacles[handover.first_producer] = obstacle
        return None

    def _plan(self, handover: Handover) -> StagePlan | Obstacle:
        kernels = handover.kernels_of()
        sources = [
            StageSource(kernel, list(launch.arguments).index(handover.buffer), self.staying_nbytes)
            for kernel, launch in zip(kernels, handover.launches, strict=True)
        ]
        plan = plan_stages(sources, self.local_nbytes, self.least_blocks)
        if isinstance(plan, StagePlan) and any(map(takes_steps, kernels)):
            return Obstacle("steps", "a kernel reads an array in steps along its innermost axis")
        return plan

    def _launch_fused(self, handover: Handover, plan: StagePlan, key: _Key) -> sched.LaunchOp:
        """Puts a launch of a kernel that does what launches do in front of the last of them."""
        launches, buffer = handover.launches, handover.buffer
        arguments: dict[tuple[SSAValue, Attribute], int] = {}
        operands: list[SSAValue] = []
        numbers: list[list[int | None]] = []
        for launch in launches:
            kernel = self.kernels[kernel_name(launch)]
            # The values of dims come first; those of one name are one value in a program.
            for operand, size in zip(launch.arguments, kernel.sizes.values(), strict=False):
                if arguments.setdefault((operand, size.type), len(operands)) == len(operands):
                    operands.append(operand)
        for launch in launches:
            kernel = self.kernels[kernel_name(launch)]
            own: list[int | None] = []
            for operand, argument in zip(launch.arguments, kernel.body.block.args, strict=True):
                if operand is buffer:
                    own.append(None)
                    continue
                number = arguments.setdefault((operand, argument.type), len(operands))
                if number == len(operands):
                    operands.append(operand)
                own.append(number)
            numbers.append(own)
        consumer = launches[-1]
        for launch in launches:
            self.launches[kernel_name(launch)] -= 1
        kernel = self.fused.get(key)
        if kernel is None:
            kernel = self.fused[key] = self._write(launches, plan, numbers)
        name = kernel.sym_name.data
        assert self.kernels[name] is kernel, f"@{name} is the name of two kernels"
        self.launches[name] = self.launches.get(name, 0) + 1
        new = sched.LaunchOp(name, operands)
        new.location = consumer.location
        new.token.name_hint = consumer.token.name_hint
        new.attributes.update(consumer.attributes)
        _join_origins(new, launches)
        block = consumer.parent
        assert block is not None, "a launch that stands nowhere"
        block.insert_op_before(new, consumer)
        return new

    def _write(
        self, launches: Sequence[sched.LaunchOp], plan: StagePlan, numbers: Sequence[Sequence[int | None]]
    ) -> sched.KernelOp:
        """Writes the fused kernel in front of the consumer's, under a name of its own."""
        old = self.kernels[kernel_name(launches[-1])]
        base = self.base_names.get(old, old.sym_name.data)
        name = self.names.fresh(f"{base}_fused")
        new = write_stages(plan, numbers, name)
        module = old.parent
        assert module is not None, "a kernel that stands nowhere"
        module.insert_op_before(new, old)
        self.base_names[new] = base
        self.kernels[name] = new
        self.accesses[name] = access_of(new)
        return new


def _key(handover: Handover) -> _Key:
    """Returns what the fused kernel is made of: the kernels, and which of their arguments are the same."""
    numbers: dict[SSAValue, int] = {handover.buffer: 0}
    arguments = (
        numbers.setdefault(operand, len(numbers))
        for launch in handover.launches
        for operand in launch.arguments
    )
    return (*handover.kernels_of(), *arguments)


def _erase(handover: Handover) -> None:
    """Erases launches, and the buffer between them."""
    owner = handover.buffer.owner
    assert isinstance(owner, sched.BufferOp), "a buffer of no program"
    for op in (*handover.launches, owner):
        op.detach()
        op.erase()


def _note_obstacle(launch: sched.LaunchOp, obstacle: Obstacle) -> None:
    """Says of the result of a launch, where it says what it computes, what keeps it a buffer."""
    if launch.origins is not None and len(launch.origins):
        *others, last = launch.origins
        why = f"{last.why.data}; not handed on block by block, as {obstacle.why} ({obstacle.rule})"
        launch.origins = ArrayAttr([*others, last.decided(last.mode.data, why, last.rule.data)])


def _join_origins(new: sched.LaunchOp, launches: Sequence[sched.LaunchOp]) -> None:
    """Says of a launch all that was said of those that it takes the place of."""
    joined: list[OriginAttr] = []
    for launch in launches:
        if launch.origins is None:
            return
        origins = list(launch.origins)
        if launch is not launches[-1] and origins:
            last = origins[-1]
            why = "handed from stage to stage of one kernel, block by block"
            origins[-1] = last.decided(ModeKind.LOCAL, why, FuseProducersPass.name)
        joined.extend(origins)
    new.origins = ArrayAttr(joined)

"""
Runs loops over small kernels as one kernel, into which the others are inlined.

    sched.for %i = 1000 counter %n after() {           sched.kernel @f_loop_0(%s, %v) {
      %t1 = sched.launch @next(%s, %v, %n) ...           scf.for %i = %c0 to %c1000 step %c1 {
      %t2 = sched.transfer %s to %old ...        -->       ... what @next does ...
    }                                                      %x = memref.load %s[] : memref<f32>
                                                           memref.store %x, %old[] : memref<f32>
                                                         }
                                                       }
                                                       ...
                                                       %t = sched.launch @f_loop_0(%s, %v) ...

What a launch takes beside the work of its kernel is spent once, and what an iteration hands to the next one
may stay in registers (promote-scalars). A kernel of many elements is better off alone: it gets a schedule of
its own, and may be shared out among threads.

Only loops whose kernels compute a few elements each, with branches and other loops in them; counted ones have
numbers of iterations that are known.

How long a loop takes that goes on while a condition holds is not known. The kernel of one, of a loop that
counts far, or of one that has such loops inside, pauses when it did enough, and is launched again while it is
paused:

    sched.for %i = 8 after(%t0) {                      %t1 = sched.launch @f_loop_0_begin(%paused) after(%t0)
      sched.while %more after() {                      %t2 = sched.while %paused after(%t1) {
        %t2 = sched.launch @is_more(%n, %more) ...       %t3 = sched.launch @f_loop_0(%n, %more, ...) ...
      } do {                                     -->   } do {
        %t3 = sched.launch @next(%n) ...               }
      }
    }

Requires: unmapped `sched` kernels. Ensures: what the programs compute is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, StringAttr, i8
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from .....dialects import sched
from ....rewriting.kernel_names import KernelNames
from ...planning.code import KernelCode
from ..handovers import erase_unlaunched
from ..reasons import add_reason
from .loop_cost import LoopCosts
from .loop_kernel import INDEX, MOST_PAUSES, PAUSED, LoopKernel


@dataclass(frozen=True)
class InlineLaunchesPass(ModulePass):
    """Runs loops over small kernels as one kernel, into which the others are inlined."""

    name = "inline-launches"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = {kernel.sym_name.data: kernel for kernel in op.ops if isinstance(kernel, sched.KernelOp)}
        costs, names = LoopCosts(kernels), KernelNames(op)
        for program in [each for each in op.ops if isinstance(each, sched.ProgramOp)]:
            for number, writer in enumerate(_outermost(program.body.block, costs)):
                prefix = f"{program.sym_name.data}_loop_{number}"
                for kernel in _launch_kernel(program, writer, names, prefix):
                    op.body.block.insert_op_before(kernel, program)
        erase_unlaunched(op, kernels.values())


def _outermost(block: Block, costs: LoopCosts) -> Iterator[LoopKernel]:
    """Yields what writes the kernels of the loops that can be one, and stand in no other such loop."""
    for op in list(block.ops):
        if isinstance(op, sched.ForOp | sched.WhileOp):
            cost = costs.of(op)
            if cost is not None and cost.is_small:
                writer = LoopKernel(op, costs)
                if len(writer.pausing) <= MOST_PAUSES:
                    yield writer
                    continue
        for region in op.regions:
            yield from _outermost(region.block, costs)


def _launch_kernel(
    program: sched.ProgramOp, writer: LoopKernel, names: KernelNames, prefix: str
) -> list[sched.KernelOp]:
    """
    Puts a launch in the place of a loop, and again while its kernel is paused, where that pauses; returns the
    kernels.
    """
    loop = writer.loop
    if not writer.pausing:
        kernel = writer.write(names.fresh(prefix))
        _replace(loop, _launch(kernel, writer, loop.after))
        return [kernel]
    paused = _temporary(program, loop, PAUSED, "paused")
    indices = {each: _temporary(program, each, INDEX, "at") for each in writer.counted}
    begin = _begin_kernel(names.fresh(f"{prefix}_begin"), loop)
    kernel = writer.write_pausing(names.fresh(prefix), paused, indices)
    add_reason(begin, "no loop is paused yet")
    add_reason(kernel, "all iterations at once, but for a pause after each tenth of a second or so (paused)")
    first = sched.LaunchOp(begin.sym_name.data, [paused], loop.after)
    again = _launch(kernel, writer, ())
    # Where no item says what it waits for, the order of the text counts.
    has_order = bool(loop.after) or loop.token.first_use is not None
    after = [first.token] if has_order else []
    _replace(loop, first, sched.WhileOp(paused, after, Region(Block([again]))))
    return [begin, kernel]


def _begin_kernel(name: str, loop: Operation) -> sched.KernelOp:
    """Returns a kernel that says that a kernel is not paused."""
    code = KernelCode(loop)
    code.op.sym_name = StringAttr(name)
    code.store(code.b.constant(0, i8), code.buffer(PAUSED, "paused"), ())
    return code.op


def _temporary(program: sched.ProgramOp, loop: Operation, type: MemRefType[Attribute], hint: str) -> SSAValue:
    """Adds a temporary buffer to a program."""
    buffer = sched.BufferOp(sched.Role.TEMPORARY, type)
    buffer.location, buffer.result.name_hint = loop.location, hint
    first = program.body.block.first_op
    assert first is not None, "a program without a loop"
    program.body.block.insert_op_before(buffer, first)
    return buffer.result


def _launch(kernel: sched.KernelOp, writer: LoopKernel, after: Sequence[SSAValue]) -> sched.LaunchOp:
    """Returns the launch of the kernel of a loop, with the origins of the launches in it."""
    launch = sched.LaunchOp(kernel.sym_name.data, writer.operands, after)
    _locate(launch, writer.loop)
    origins = [inner.origins for inner in writer.loop.walk() if isinstance(inner, sched.LaunchOp)]
    if origins and all(each is not None for each in origins):
        launch.origins = ArrayAttr([origin for each in origins if each is not None for origin in each])
    return launch


def _locate(item: sched.LaunchOp | sched.WhileOp, loop: Operation) -> None:
    item.location = loop.location
    item.token.name_hint = "t"


def _replace(loop: sched.ForOp | sched.WhileOp, *items: sched.LaunchOp | sched.WhileOp) -> None:
    """Puts items in the place of a loop; what waited for it waits for the last of them."""
    assert loop.parent is not None, f"{loop.name}: stands in no block"
    for item in items:
        _locate(item, loop)
    loop.parent.insert_ops_before(items, loop)
    loop.token.replace_all_uses_with(items[-1].token)
    loop.detach()
    loop.erase()

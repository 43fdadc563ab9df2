"""The host program of a function in words: its steps, what its kernels hand over, and its memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue

from ...dialects import graph, sched
from ...dialects.buffer_size import nbytes_bound, nbytes_of
from ...dialects.dims.expressions import DimSymbol
from ...dialects.modules.hazards import Item, accessed_buffers, all_items, base_of, items_in
from ...dialects.modules.kernel_access import KernelAccess, accesses_of, kernels_of
from ...passes.rewriting.value_names import value_names
from ...passes.sched.steps.recipe import UNNOTED, recipe_of
from ...runtime.reports.explanation import (
    Explanation,
    FusedOp,
    HandedOver,
    KernelExplanation,
    PassEffect,
    Temporary,
)
from .exchanges import exchange_text
from .products import products_of
from .schedule import schedule_lines
from .words import place_text


def explained_program(
    module: ModuleOp, program: sched.ProgramOp, n_arguments: int, n_ops: int, effects: Sequence[PassEffect]
) -> Explanation:
    """
    Returns what is to be said of a program of `sched` kernels, made of `n_ops` ops of `graph` in a function
    of `n_arguments`: what it takes besides was prepared.
    """
    return _Program(module, program).explained(n_arguments, n_ops, effects)


class _Program:
    def __init__(self, module: ModuleOp, program: sched.ProgramOp) -> None:
        self.program = program
        self.dims: Mapping[str, DimSymbol] = graph.dims_of(module)
        self.kernels = kernels_of(module)
        self.accesses: Mapping[str, KernelAccess] = accesses_of(module)
        self.names = {value: f"%{name}" for value, name in value_names(program).items()}
        self.items = list(all_items(program.body.block))
        self.launches: dict[str, list[sched.LaunchOp]] = {}
        for item in self.items:
            if isinstance(item, sched.LaunchOp):
                self.launches.setdefault(_kernel_name(item), []).append(item)
                self._name_stored(item)

    def explained(self, n_arguments: int, n_ops: int, effects: Sequence[PassEffect]) -> Explanation:
        plan = self.program.attributes.get("memory_plan")
        is_planned = isinstance(plan, sched.MemoryPlanAttr)
        return Explanation(
            self.program.sym_name.data,
            n_ops,
            tuple(effects),
            tuple(self._kernel(name, launches) for name, launches in self.launches.items()),
            tuple(self._steps(self.program.body.block, "")),
            tuple(self._handed_over()),
            tuple(self._temporaries()),
            plan.pool_nbytes.data if is_planned else 0,
            plan.unshared_nbytes.data if is_planned else 0,
            tuple(
                (self.names[op.result], nbytes_of(op.result.type))
                for op in self.program.body.block.ops
                if isinstance(op, sched.ConstantOp)
            ),
            tuple(
                (self.names[argument], nbytes_of(argument.type))
                for argument in self.program.body.block.args[n_arguments:]
            ),
        )

    def _name_stored(self, launch: sched.LaunchOp) -> None:
        """Calls a buffer without a name what the value is called that is stored there."""
        _, written = accessed_buffers(launch, self.accesses)
        ops = _ops_of(launch)
        for buffer in written if ops and len(written) == 1 else ():
            if buffer.name_hint is None:
                self.names[buffer] = ops[-1].value

    def _kernel(self, name: str, launches: Sequence[sched.LaunchOp]) -> KernelExplanation:
        kernel, first = self.kernels[name], launches[0]
        is_scheduled = isinstance(kernel, sched.KernelOp)
        reasons = kernel.schedule.data.split("; ") if is_scheduled and kernel.schedule is not None else []
        analysis = first.analysis
        names = [self.names[buffer] for buffer in first.arguments]
        return KernelExplanation(
            name,
            len(launches),
            _ops_of(first),
            schedule_lines(kernel, names) if is_scheduled else ("explicit loops, written by hand",),
            tuple(reasons),
            None if analysis is None else analysis.flops.data,
            None if analysis is None else analysis.read_nbytes.data + analysis.written_nbytes.data,
            _recipe(kernel) if is_scheduled else (),
            products_of(kernel, names) if is_scheduled else (),
        )

    def _steps(self, block: Block, indent: str) -> Iterator[str]:
        for item in items_in(block):
            yield indent + self._step_text(item)
            if isinstance(item, sched.ControlItem):
                for number, inner in enumerate(item.blocks):
                    if number:
                        yield f"{indent}{'do' if isinstance(item, sched.WhileOp) else 'else'}"
                    yield from self._steps(inner, f"{indent}  ")

    def _step_text(self, item: Item) -> str:
        match item:
            case sched.LaunchOp():
                reads, writes = (self._names_of(buffers) for buffers in accessed_buffers(item, self.accesses))
                return f"@{_kernel_name(item)}({reads}) -> {writes or 'nothing'}"
            case sched.TransferOp():
                why = "" if item.why is None else f": {item.why.data}"
                return f"copy {self.names[item.source]} to {self.names[item.target]}{why}"
            case sched.SyncOp():
                return "wait for all of the above"
            case sched.CallbackOp():
                reads, writes = (self._names_of(buffers) for buffers in accessed_buffers(item, self.accesses))
                return f"call @{item.callee.data}({reads}) on the host -> {writes or 'nothing'}"
            case sched.RearrangeOp():
                reads, writes = (self._names_of(buffers) for buffers in (item.arguments, item.targets))
                return f"rearrange {reads} as {writes} on the host"
            case sched.PrintOp():
                return f"print {item.format.data!r} of {self._names_of(item.arguments) or 'nothing'}"
            case sched.CollectiveOp():
                reads, writes = (self._names_of(buffers) for buffers in accessed_buffers(item, self.accesses))
                return f"begin {item.collective.data.text}: {reads} -> {writes}, {exchange_text(item)}"
            case sched.AwaitOp():
                return f"wait for channel {item.channel.data}: {self._names_of(item.targets)}"
            case sched.ForOp():
                order = ", from the last to the first" if item.is_reverse else ""
                return f"{item.trip_count} times{order}"
            case sched.WhileOp():
                return "while what this computes holds"
            case sched.IfOp():
                return f"if {self.names[item.condition]}"
            case _:
                return item.name

    def _names_of(self, buffers: Sequence[SSAValue]) -> str:
        return ", ".join(dict.fromkeys(self.names[buffer] for buffer in buffers))

    def _handed_over(self) -> Iterator[HandedOver]:
        """Yields the buffers that a kernel stores and a later one loads, each once."""
        producers: dict[SSAValue, sched.LaunchOp] = {}
        consumers: dict[SSAValue, dict[str, None]] = {}
        for item in self.items:
            if not isinstance(item, sched.LaunchOp):
                continue
            reads, writes = accessed_buffers(item, self.accesses)
            for buffer in map(base_of, reads):
                producer = producers.get(buffer)
                if producer is not None and producer is not item:
                    consumers.setdefault(buffer, {})[_kernel_name(item)] = None
            for buffer in map(base_of, writes):
                producers.setdefault(buffer, item)
        for buffer, names in consumers.items():
            producer = producers[buffer]
            ops = _ops_of(producer)
            yield HandedOver(
                self.names[buffer],
                nbytes_bound(buffer.type, self.dims),
                _kernel_name(producer),
                tuple(names),
                ops[-1].why if ops else "they were kernels of their own",
            )

    def _temporaries(self) -> Iterator[Temporary]:
        planned = [
            op
            for op in self.program.body.block.ops
            if isinstance(op, sched.BufferOp) and op.slab is not None and op.lifetime is not None
        ]
        spans = {
            op: (op.slab.offset.data, op.slab.offset.data + nbytes_bound(op.result.type, self.dims))
            for op in planned
            if op.slab is not None
        }
        for op in planned:
            assert op.lifetime is not None
            begin, end = spans[op]
            others = [
                self.names[other.result]
                for other in planned
                if other is not op and spans[other][0] < end and begin < spans[other][1]
            ]
            yield Temporary(
                self.names[op.result],
                end - begin,
                op.lifetime.first.data,
                op.lifetime.last.data,
                begin,
                tuple(others),
            )


def _kernel_name(launch: sched.LaunchOp) -> str:
    return launch.kernel.root_reference.data


def _ops_of(launch: sched.LaunchOp) -> tuple[FusedOp, ...]:
    if launch.origins is None:
        return ()
    return tuple(
        FusedOp(
            origin.value.data,
            origin.operation.data,
            origin.type.data,
            origin.mode.data.value,
            origin.rule.data,
            origin.why.data,
            place_text(origin.place.data),
        )
        for origin in launch.origins
    )


def _recipe(kernel: sched.KernelOp) -> tuple[Mapping[str, Any], ...] | str:
    """Returns the steps that made a schedule, or why there are none; nothing where nobody asked."""
    recipe = recipe_of(kernel)
    if isinstance(recipe, str):
        return () if recipe == UNNOTED else recipe
    return tuple(recipe)

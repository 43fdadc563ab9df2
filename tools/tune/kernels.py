"""The kernels of a program, each alone, as passes see them before they are scheduled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...backends.interface import Backend
from ...compiler.lowering import default_phases
from ...dialects import context, graph, low, sched
from ...dialects.modules.dim_values import DimTable
from ...dialects.modules.entry import Entry, find_entry
from ...dialects.modules.hazards import all_items
from ...dialects.modules.level import IRLevel
from ...errors import TenonError
from ...passes.pass_manager import PassManager
from ...passes.sched.host.build_dependencies import BuildDependenciesPass
from ...passes.sched.steps.database import kernel_digest
from ...passes.sched.steps.loop_nests.loops import is_mapped
from ...passes.sched.steps.passes.apply_schedules import ApplySchedulesPass
from ...passes.sched.steps.passes.record_recipes import RecordRecipesPass


@dataclass(frozen=True)
class TunableKernel:
    """
    A kernel before it is scheduled: what it is known by, how often its program launches it, and what the
    analysis of the program expects a launch to take, which decides whether threads share it; 0 without one.
    """

    name: str
    op: sched.KernelOp
    digest: str
    launches: int
    expected_ns: int = 0


@dataclass(frozen=True)
class TunableProgram:
    """
    A program's kernels in the order of their first launches, and the passes that they go through: those that
    give default schedules, and those that make `low` of them. `dims` are the declarations of named dims, and
    `vector_nbytes` is how wide the vectors of the device are. Kernels that are mapped by hand are none of it.
    """

    name: str
    signature: str
    kernels: tuple[TunableKernel, ...]
    dims: tuple[graph.DimOp, ...]
    table: DimTable | None
    mapping_passes: tuple[ModulePass, ...]
    low_passes: tuple[ModulePass, ...]
    vector_nbytes: int

    def mapped(self, kernel: sched.KernelOp) -> list[sched.KernelOp]:
        """Returns what the default schedules make of a copy of a kernel, with the recipe of that."""
        module = self._module(kernel)
        PassManager((RecordRecipesPass(), *self.mapping_passes), verify_each=False).run(context(), module)
        return [op for op in module.ops if isinstance(op, sched.KernelOp)]

    def lowered(self, kernel: sched.KernelOp) -> tuple[ModuleOp, low.KernelOp]:
        """
        Returns a module with what passes make of a copy of a kernel that may be scheduled, and that.

        Raises:
            TenonError: a pass cannot handle it, or leaves other than one kernel.
        """
        module = self._module(kernel)
        PassManager((*self.mapping_passes, *self.low_passes), verify_each=False).run(context(), module)
        kernels = [op for op in module.ops if isinstance(op, low.KernelOp)]
        if len(kernels) != 1:
            raise TenonError(f"tune: @{kernel.sym_name.data} becomes {len(kernels)} kernels, expected one")
        return module, kernels[0]

    def _module(self, kernel: sched.KernelOp) -> ModuleOp:
        return ModuleOp([*(dim.clone() for dim in self.dims), kernel.clone()])


def tunable_program(module: ModuleOp, entry: Entry, backend: Backend) -> TunableProgram:
    """
    Returns the kernels of a program; the module becomes that of them.

    Raises:
        TenonError: a pass cannot handle the module, or it is at `low` already.
    """
    name = entry.sym_name.data
    phases = default_phases(module, entry, IRLevel.LOW, backend.device, ApplySchedulesPass("", ""))
    passes = [pass_ for phase in phases.values() for pass_ in phase]
    here = next(n for n, pass_ in enumerate(passes) if isinstance(pass_, ApplySchedulesPass))
    table = DimTable.of(module, entry)
    PassManager(passes[:here], verify_each=False).run(context(), module)
    end = next((n for n, pass_ in enumerate(passes) if isinstance(pass_, BuildDependenciesPass)), here)
    program = find_entry(module, name)
    assert isinstance(program, sched.ProgramOp), f"@{name} is no program of kernels"
    launches: dict[str, int] = {}
    for item in all_items(program.body.block):
        if isinstance(item, sched.LaunchOp):
            kernel = item.kernel.root_reference.data
            launches[kernel] = launches.get(kernel, 0) + 1
    kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
    if launches and not kernels:
        raise TenonError(f"tune: the kernels of @{name} are at low, where all schedules are chosen")
    expected = _expected_nanoseconds(
        module, name, passes[here + 1 : len(passes) - len(phases.get("low", ()))]
    )
    return TunableProgram(
        name,
        str(program.function_type),
        tuple(
            TunableKernel(
                kernel, kernels[kernel], kernel_digest(kernels[kernel]), count, expected.get(kernel, 0)
            )
            for kernel, count in launches.items()
            if kernel in kernels and not is_mapped(kernels[kernel])
        ),
        tuple(op for op in module.ops if isinstance(op, graph.DimOp)),
        table,
        tuple(passes[here + 1 : end]),
        tuple(phases.get("low", ())),
        max(backend.device.vector_nbytes, 1),
    )


def _expected_nanoseconds(module: ModuleOp, name: str, passes: Sequence[ModulePass]) -> dict[str, int]:
    """Returns what a launch of each kernel is expected to take, the most of several, by default schedules."""
    scheduled = module.clone()
    PassManager(passes, verify_each=False).run(context(), scheduled)
    program = find_entry(scheduled, name)
    assert isinstance(program, sched.ProgramOp), f"@{name} is no program of kernels"
    expected: dict[str, int] = {}
    for item in all_items(program.body.block):
        if isinstance(item, sched.LaunchOp) and item.analysis is not None:
            kernel = item.kernel.root_reference.data
            expected[kernel] = max(expected.get(kernel, 0), item.analysis.estimated_ns.data)
    return expected


def sizes_of(program: TunableProgram, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
    """
    Returns the values of the dims of a program for arguments of these shapes; without arguments the greatest
    that they may have.

    Raises:
        TenonError: the shapes do not fit the dims.
    """
    if program.table is None:
        return {}
    if shapes:
        return program.table.solve(shapes)
    return {source.symbol.name: source.symbol.maximum for source in program.table.sources}

"""From what is asked of a compile to what interprets a module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

from ..backends.reference.execute import run_module
from ..backends.registry import REFERENCE
from ..dialects import graph, sched
from ..dialects.collective import Collective
from ..dialects.dims.expressions import DimExpr
from ..passes.sharding.manual import ops_over_mesh
from ..runtime.collectives.agreement import SameCalls
from ..runtime.executables.executable import CompiledFunction, Executable
from ..runtime.executables.reference_executable import ReferenceExecutable
from ..runtime.plan.entry_state import nodes_of, symbols_of
from ..runtime.plan.signature import Array
from ..runtime.plan.stages import Stages
from ..semantics.collectives import collective_of
from ..semantics.errors import describe
from ..semantics.host_calls import function_called
from ..semantics.world import check_world
from .lowering import ModuleLowering
from .sized import Sizes, for_sizes
from .source import CompileRequest, signature_of


def interpreted(request: CompileRequest, keeper: Executable | None) -> tuple[Executable, tuple[DimExpr, ...]]:
    """Returns what interprets a function, and the extents that a program of its own has where they are 0."""
    work = ModuleLowering(request)
    signature, symbols = signature_of(work.entry), symbols_of(work.entry)
    nodes = nodes_of(work.module, work.entry)
    work.run()
    callbacks, world = request.source.callbacks, request.source.world
    collectives: list[Collective] = []
    for op in ops_over_mesh(work.module):
        if isinstance(op, graph.CallbackOp | sched.CallbackOp):
            function_called(op.callee.data, callbacks, describe(op))
        elif isinstance(op, graph.CollectiveOp | sched.CollectiveOp):
            collectives.append(collective_of(op))
    check_world(collectives, world)
    same = SameCalls(world, work.entry_name, collectives) if world is not None and collectives else None
    makers = work.stages()
    function = CompiledFunction(signature, REFERENCE, Stages(makers), symbols, [*makers][-1])

    def interpret(
        arrays: Sequence[Array], nodes: dict[str, Array], symbols: Mapping[str, int]
    ) -> Sequence[Array]:
        with nullcontext() if same is None else same.call():
            return run_module(
                work.module, work.entry_name, arrays, nodes, symbols=symbols, callbacks=callbacks, world=world
            )

    def make(sizes: Sizes | None, keeper: Executable | None) -> Executable:
        assert keeper is None or isinstance(keeper, ReferenceExecutable), f"{keeper!r} is no interpreter"
        own = function if sizes is None else replace(function, signature=signature.at(sizes))
        return ReferenceExecutable(own, interpret, nodes, keeper)

    return for_sizes(function, work.dims, bool(nodes), make, keeper), work.vanishing

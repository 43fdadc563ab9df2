"""Runs the passes of a program again and tells what they did."""

from __future__ import annotations

from dataclasses import replace

from xdsl.passes import ModulePass

from ...dialects import context, sched
from ...dialects.modules.entry import find_entry, preparation_name
from ...dialects.modules.level import IRLevel
from ...errors import TenonError
from ...passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from ...passes.pass_manager import PassManager
from ...passes.sched.mapping.deduplicate_kernels import DeduplicateKernelsPass
from ...passes.sched.mapping.fuse_loops import FuseLoopsPass
from ...passes.sched.mapping.fuse_producers import FuseProducersPass
from ...passes.sched.planning.convert_graph_to_sched import ConvertGraphToSchedPass
from ...passes.sched.planning.infer_memory_modes import InferMemoryModesPass
from ...passes.sched.steps.passes.record_recipes import RecordRecipesPass
from ...runtime.reports.explanation import Explanation
from ..lowering import default_phases
from ..source import CompileRequest
from .program import explained_program
from .recorder import Recorder

_BEFORE_SCHEDULES = (ConvertGraphToSchedPass, DeduplicateKernelsPass, FuseLoopsPass, FuseProducersPass)
"""The passes that make the kernels which schedules, the default ones and those of users, begin from."""


def explain_request(request: CompileRequest) -> Explanation:
    """
    Returns what the passes do with a function, up to its kernels at `sched`.

    Raises:
        TenonError: a pass cannot handle it, or they leave no program of kernels.
    """
    module, entry = request.source.prepared()
    entry_name, n_arguments = entry.sym_name.data, len(entry.body.block.args)
    pipeline = request.pipeline
    if isinstance(pipeline, str):
        pipeline = PassManager(pipeline)
    if pipeline is None:
        schedule = request.source.schedule
        phases = default_phases(module, entry, IRLevel.LOW, request.device, schedule, request.part)
        passes = tuple(pass_ for phase in phases.values() for pass_ in phase)
    else:
        passes = tuple(pipeline.passes)
    wanted: list[ModulePass] = []
    for pass_ in passes:
        if isinstance(pass_, ConvertSchedToLowPass):
            break
        if isinstance(pass_, ConvertGraphToSchedPass):
            pass_ = replace(pass_, origins=True)
        elif isinstance(pass_, InferMemoryModesPass):
            pass_ = replace(pass_, figures=True)
        wanted.append(pass_)
    made = max((n for n, pass_ in enumerate(wanted, 1) if isinstance(pass_, _BEFORE_SCHEDULES)), default=0)
    wanted.insert(made, RecordRecipesPass())
    recorder = Recorder()
    PassManager(wanted, (recorder,), verify_each=False).run(context(), module)
    if request.part == "preparation":
        entry_name = preparation_name(entry_name)
    entry = find_entry(module, entry_name)
    if not isinstance(entry, sched.ProgramOp):
        raise TenonError(f"explain: the passes leave @{entry_name} at graph, where there are no kernels yet")
    return explained_program(module, entry, n_arguments, recorder.n_ops, recorder.effects)

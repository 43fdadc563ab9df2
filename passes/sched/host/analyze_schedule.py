"""
Says what each item of a program costs, and what the program costs.

    %t = sched.launch @double(%x, %y) after() : ...

    -->

    %t = sched.launch @double(%x, %y) after() analysis<flops 128, read_nbytes 512, written_nbytes 512,
           registers 2, shared_nbytes 0, occupancy 128, estimated_ns 1052> : ...
    and on the program {summary = #sched.summary<critical_path_ns 1052, total_ns 1052, flops 128>}

* `flops`: operations on floats and on integers other than `index`, in all work-items (`low.FLOPS`)
* `read_nbytes`, `written_nbytes`: as if each element of each buffer moved once, and no more than are accessed
* `registers`: the most scalar or vector values, constants apart, that one iteration holds at once
* `shared_nbytes`: memory of one work-group
* `occupancy`: work-items that may run at once; of stages side by side the most
* `estimated_ns`: `launch_ns`, and the longer of the operations at `gflops` and the bytes at `gbps`. The
  defaults are one present-day CPU core's. It is for comparing schedules, not a forecast.

The critical path is the dearest chain of items that `after` links. A sync costs nothing. A loop costs what
its iterations cost one after the other, a branch as much as its dearer region. A `sched.while` counts as one
iteration: how many there are is known when the program runs. In a kernel, a loop whose bounds depend on data
counts as `UNKNOWN_TRIPS` iterations.

The costs of extents of named dims are those of their greatest values.

Requires: `after` as `build-dependencies` leaves it.
Ensures: nothing but `analysis` and `summary` changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from ....dialects import graph, sched
from ....dialects.buffer_size import nbytes_bound
from ....dialects.dims.expressions import DimSymbol, bounded, upper_bound
from ....dialects.modules.hazards import items_in
from ....dialects.modules.kernel_access import kernels_of
from .kernel_cost import KernelCost, accessed_nbytes, cost_of


@dataclass(frozen=True)
class AnalyzeSchedulePass(ModulePass):
    """Counts operations, bytes and registers of every item, and estimates its time and the program's."""

    name = "analyze-schedule"

    gflops: int = 50
    gbps: int = 20
    launch_ns: int = 1000

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.gflops < 1 or self.gbps < 1 or self.launch_ns < 0:
            raise PassFailedException(
                f"{self.name}: gflops {self.gflops} and gbps {self.gbps} must be 1 or more, "
                f"launch-ns {self.launch_ns} 0 or more"
            )
        dims = graph.dims_of(op)
        costs = {name: cost_of(kernel, dims) for name, kernel in kernels_of(op).items()}
        for program in op.body.ops:
            if isinstance(program, sched.ProgramOp):
                self._analyze(program, costs, dims)

    def _analyze(
        self, program: sched.ProgramOp, costs: Mapping[str, KernelCost], dims: Mapping[str, DimSymbol]
    ) -> None:
        total, critical_path_ns = self._analyze_block(program.body.block, costs, dims)
        program.attributes["summary"] = sched.SummaryAttr(
            critical_path_ns, total.estimated_ns.data, total.flops.data
        )

    def _analyze_block(
        self, block: Block, costs: Mapping[str, KernelCost], dims: Mapping[str, DimSymbol]
    ) -> tuple[sched.AnalysisAttr, int]:
        """Analyzes the items of a block; returns the cost of all, and the longest chain of them in ns."""
        finish: dict[SSAValue, int] = {}
        critical_path_ns = 0
        analyses: list[sched.AnalysisAttr] = []
        for item in items_in(block):
            nanoseconds = 0
            if not isinstance(item, sched.SyncOp | sched.HostItem):
                analysis = self._analysis(item, costs, dims)
                item.analysis = analysis
                analyses.append(analysis)
                nanoseconds = analysis.estimated_ns.data
            finish[item.token] = nanoseconds + max((finish[token] for token in item.after), default=0)
            critical_path_ns = max(critical_path_ns, finish[item.token])
        return _sum(analyses), critical_path_ns

    def _analysis(
        self,
        item: sched.LaunchOp | sched.TransferOp | sched.ControlItem,
        costs: Mapping[str, KernelCost],
        dims: Mapping[str, DimSymbol],
    ) -> sched.AnalysisAttr:
        if isinstance(item, sched.ControlItem):
            return self._control_analysis(item, costs, dims)
        if isinstance(item, sched.TransferOp):
            cost = KernelCost()
            read = written = nbytes_bound(item.source.type, dims)
        else:
            cost = costs[item.kernel.root_reference.data]
            read = accessed_nbytes(cost.loads, item.arguments, dims)
            written = accessed_nbytes(cost.stores, item.arguments, dims)
        estimated_ns = self.launch_ns + max(-(-cost.flops // self.gflops), -(-(read + written) // self.gbps))
        return sched.AnalysisAttr(
            cost.flops, read, written, cost.registers, cost.shared_nbytes, cost.work_items, estimated_ns
        )

    def _control_analysis(
        self, item: sched.ControlItem, costs: Mapping[str, KernelCost], dims: Mapping[str, DimSymbol]
    ) -> sched.AnalysisAttr:
        regions = [self._analyze_block(block, costs, dims)[0] for block in item.blocks]
        if isinstance(item, sched.ForOp):
            return _sum(regions, upper_bound(bounded(item.trip_count, dims)))
        if isinstance(item, sched.IfOp):
            return max(regions, key=lambda analysis: analysis.estimated_ns.data)
        return _sum(regions)


def _sum(analyses: Sequence[sched.AnalysisAttr], times: int = 1) -> sched.AnalysisAttr:
    """Returns the cost of items that run one after the other, all of them so many times."""

    def total(field: str) -> int:
        return times * sum(getattr(analysis, field).data for analysis in analyses)

    def most(field: str) -> int:
        return max((getattr(analysis, field).data for analysis in analyses), default=0)

    return sched.AnalysisAttr(
        total("flops"),
        total("read_nbytes"),
        total("written_nbytes"),
        most("registers"),
        most("shared_nbytes"),
        most("occupancy"),
        total("estimated_ns"),
    )

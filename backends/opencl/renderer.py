"""
Renders a module of `low.kernel`s as OpenCL C 1.2 in one walk.

    low.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<8xf32>
      %d = arith.addf %v, %v : f32
      memref.store %d, %y[%i] : memref<8xf32>
    }

becomes

    __attribute__((reqd_work_group_size(1, 1, 1)))
    __kernel void k_double(__global const uchar *p0, ulong o0,
                           __global uchar *p1, ulong o1) {
        __global const float *restrict x = (__global const float *)(p0 + o0);
        __global float *restrict y = (__global float *)(p1 + o1);
        const long i = (long)get_group_id(0);
        const float v = x[i];
        const float d = v + v;
        y[i] = d;
    }

Every memref argument is a pool and a byte offset into it. One statement per op, in the order of the ops;
scalar constants stand where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException

from ...dialects import low
from ..interface import DeviceInfo
from .device import I64_ATOMICS
from .emission import arithmetic, control, conversions, memory
from .emission.atomic_rmw import atomic_rmw
from .emission.helpers import Helpers
from .emission.kernel import KernelWriter, Rule
from .emission.names import kernel_name
from .emission.source import Source
from .emission.tile_fma import tile_fma

RULES: dict[type[Operation], Rule] = {
    **dict.fromkeys(arithmetic.COMBINERS, arithmetic.binary),
    arith.AddfOp: arithmetic.total,
    arith.SubfOp: arithmetic.total,
    arith.MulfOp: arithmetic.product,
    arith.DivSIOp: arithmetic.division("/", signed=True),
    arith.DivUIOp: arithmetic.division("/", signed=False),
    arith.RemSIOp: arithmetic.division("%", signed=True),
    arith.RemUIOp: arithmetic.division("%", signed=False),
    math.AbsFOp: arithmetic.call(Helpers.absolute),
    math.SqrtOp: arithmetic.call(Helpers.sqrt),
    math.FmaOp: arithmetic.call(Helpers.fma),
    math.FloorOp: arithmetic.rounding("floor"),
    math.CeilOp: arithmetic.rounding("ceil"),
    math.TruncOp: arithmetic.rounding("trunc"),
    math.RoundEvenOp: arithmetic.rounding("roundeven"),
    scf.ForOp: control.for_loop,
    scf.IfOp: control.if_else,
    scf.WhileOp: control.while_loop,
    memref.LoadOp: memory.load,
    memref.StoreOp: memory.store,
    low.AllocaOp: memory.alloca,
    low.AtomicRmwOp: atomic_rmw,
    vector.LoadOp: memory.vector_load,
    vector.StoreOp: memory.vector_store,
    vector.BroadcastOp: memory.broadcast,
    vector.ReductionOp: memory.reduction,
    arith.ConstantOp: arithmetic.constant,
    arith.CmpiOp: arithmetic.cmpi,
    arith.CmpfOp: arithmetic.cmpf,
    arith.NegfOp: arithmetic.negf,
    arith.BitcastOp: conversions.bitcast,
    arith.ExtFOp: conversions.extf,
    arith.TruncFOp: conversions.truncf,
    arith.IndexCastOp: conversions.index_cast,
    low.BlockIdOp: lambda kernel, op: control.work_item_id(kernel, op, "get_group_id"),
    low.ThreadIdOp: lambda kernel, op: control.work_item_id(kernel, op, "get_local_id"),
    low.BarrierOp: control.barrier,
    low.SelectOp: arithmetic.select,
    low.ConvertOp: conversions.convert,
    low.TileFmaOp: tile_fma,
    low.ReverseOp: arithmetic.reverse,
    low.TransposeOp: arithmetic.transpose,
}


@dataclass(frozen=True)
class OpenCLRenderer:
    """Prints `low` as OpenCL C 1.2. `who` begins every message."""

    who: str = "opencl"

    @property
    def suffix(self) -> str:
        return ".cl"

    def render(self, module: ModuleOp, device: DeviceInfo) -> str:
        """
        Returns the source of every `low.kernel` of `module`; a `sched.program` beside them is no part of it.

        Raises:
            DiagnosticException: an op has no rule, or uses what `device` lacks.
        """
        source = Source(self.who, device)
        symbols: dict[str, str] = {}
        kernels: list[str] = []
        for op in module.body.block.ops:
            if isinstance(op, low.KernelOp):
                symbol = op.sym_name.data
                name = kernel_name(symbol)
                if name in symbols:
                    raise source.fail(op, f"@{symbols[name]} and @{symbol} are both called {name} in C")
                symbols[name] = symbol
                kernels.append(KernelWriter(source, RULES, op).text(name))
            elif op.name not in ("sched.program", "graph.dim", "graph.tnode"):
                raise DiagnosticException(f"{self.who}: no rule for {op.name}")
        pragmas = "#pragma OPENCL FP_CONTRACT OFF\n"
        if source.uses_f64:
            pragmas += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
        if source.uses_i64_atomics:
            pragmas += f"#pragma OPENCL EXTENSION {I64_ATOMICS} : enable\n"
        helpers = source.helpers.text()
        return "\n".join([pragmas, *([helpers] if helpers else []), *kernels])

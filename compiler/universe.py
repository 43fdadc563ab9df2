"""
What stock `xdsl-opt` sees of Tenon, through the entry point `xdsl.universe`: its dialects, passes and
targets.

Everything is imported when it is first asked for.
"""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.universe import Universe
from xdsl.utils.target import Target

from ..passes.registry import TENON_PASSES


def _graph() -> Dialect:
    from ..dialects.graph import GRAPH

    return GRAPH


def _sched() -> Dialect:
    from ..dialects.sched import SCHED

    return SCHED


def _low() -> Dialect:
    from ..dialects.low import LOW

    return LOW


def _stablehlo() -> Dialect:
    from ..dialects.stablehlo import STABLEHLO

    return STABLEHLO


def _chlo() -> Dialect:
    from ..dialects.stablehlo import CHLO

    return CHLO


def _sdy() -> Dialect:
    from ..dialects.stablehlo import SDY

    return SDY


def _llvm_ir() -> type[Target]:
    from ..backends.llvm.target import LLVMIRTarget

    return LLVMIRTarget


def _asm() -> type[Target]:
    from ..backends.llvm.target import AsmTarget

    return AsmTarget


def _obj() -> type[Target]:
    from ..backends.llvm.target import ObjectTarget

    return ObjectTarget


def _opencl_c() -> type[Target]:
    from ..backends.opencl.target import OpenCLCTarget

    return OpenCLCTarget


TENON = Universe(
    all_dialects={
        "graph": _graph,
        "sched": _sched,
        "low": _low,
        "stablehlo": _stablehlo,
        "chlo": _chlo,
        "sdy": _sdy,
    },
    all_passes=dict(TENON_PASSES),
    all_targets={"asm": _asm, "llvm-ir": _llvm_ir, "obj": _obj, "opencl-c": _opencl_c},
)

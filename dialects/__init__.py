"""What the IRs are: the dialects `graph`, `sched` and `low`, what is imported, and how text is read."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.ir import Dialect

from . import assembly_formats as assembly_formats  # First: ops are defined with it.
from . import xdsl_fixes, xdsl_speed, xdsl_vector_compare

xdsl_fixes.apply()
xdsl_vector_compare.apply()
xdsl_speed.apply()


CUSTOM_DIALECTS: set[str] = set()
"""The names of the dialects that were registered, whose ops mean what their user's code says."""


def _builtin() -> Dialect:
    from xdsl.dialects.builtin import Builtin

    return Builtin


def _func() -> Dialect:
    from xdsl.dialects.func import Func

    return Func


def _arith() -> Dialect:
    from xdsl.dialects.arith import Arith

    return Arith


def _math() -> Dialect:
    from xdsl.dialects.math import Math

    return Math


def _scf() -> Dialect:
    from xdsl.dialects.scf import Scf

    return Scf


def _memref() -> Dialect:
    from xdsl.dialects.memref import MemRef

    return MemRef


def _vector() -> Dialect:
    from xdsl.dialects.vector import Vector

    return Vector


def _graph() -> Dialect:
    from .graph import GRAPH

    return GRAPH


def _sched() -> Dialect:
    from .sched import SCHED

    return SCHED


def _low() -> Dialect:
    from .low import LOW

    return LOW


def _shard() -> Dialect:
    from xdsl.dialects.shard import Shard

    return Shard


def _stablehlo() -> Dialect:
    from .stablehlo import STABLEHLO

    return STABLEHLO


def _chlo() -> Dialect:
    from .stablehlo import CHLO

    return CHLO


def _sdy() -> Dialect:
    from .stablehlo import SDY

    return SDY


DIALECTS = {
    "builtin": _builtin,
    "func": _func,
    "arith": _arith,
    "math": _math,
    "scf": _scf,
    "memref": _memref,
    "vector": _vector,
    "graph": _graph,
    "sched": _sched,
    "low": _low,
    "shard": _shard,
    "stablehlo": _stablehlo,
    "chlo": _chlo,
    "sdy": _sdy,
}
"""Every dialect that a module may use, each imported when it is first met."""


def context() -> Context:
    """Returns a new context that knows `DIALECTS`."""
    ctx = Context()
    for name, load in DIALECTS.items():
        ctx.register_dialect(name, load)
    return ctx

"""
Tenon: an array compiler you can read.

    executable = tenon.compile(text, backend="llvm")
    result = executable(x, w=weights)
"""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from . import dataclass_speed as dataclass_speed  # Before xDSL is imported, which makes many data classes.
from . import import_time as import_time  # First: sources that change from here on may be others.
from .dialects.modules.parsing import parse_module, verify_module
from .errors import (
    CallError,
    ContextError,
    DeviceError,
    DeviceLostError,
    KernelCompileError,
    MemoryModeError,
    MissingExtraError,
    OutOfMemoryError,
    RankError,
    RoutineError,
    TenonError,
    TracingError,
)

if TYPE_CHECKING:
    from .backends.llvm.thread_limit import num_threads
    from .backends.llvm.threads import get_num_threads, set_num_threads
    from .backends.registry import register_backend
    from .compiler.compile import BACKENDS, compile
    from .compiler.compile_many import compile_many
    from .compiler.custom import register_op, register_pass
    from .compiler.export.export import Exported
    from .compiler.export.load import load
    from .compiler.kept_programs import cache_info
    from .compiler.platforms import open_platform
    from .frontends.arrays.tree import register_tree
    from .frontends.callbacks import ShapeDtype, debug_print, pure_callback
    from .frontends.control_flow import cond, fori_loop, scan, switch, while_loop
    from .frontends.freeze import freeze
    from .frontends.jit.dims import Dim
    from .frontends.jit.jit import clear_caches, jit
    from .frontends.jit.shard_map import shard_map
    from .frontends.onnx.imported import from_onnx
    from .frontends.sharding.axis_collectives import (
        all_gather,
        all_to_all,
        axis_index,
        axis_size,
        permute,
        pmax,
        pmean,
        pmin,
        ppermute,
        psum,
        psum_scatter,
        reduce_scatter,
    )
    from .frontends.sharding.checkpoints import load_checkpoint, save_checkpoint
    from .frontends.sharding.mesh import Mesh
    from .frontends.sharding.placing import gather, reshard, shard, shard_from, with_sharding_constraint
    from .frontends.sharding.sharded_array import ShardedArray
    from .frontends.sharding.sharding import PartitionSpec, Sharding, sharding
    from .frontends.stablehlo.jax_compile import jax_compile
    from .frontends.stablehlo.jax_export import from_jax
    from .frontends.stablehlo.text import from_stablehlo
    from .frontends.torch.exported import from_torch
    from .passes.pass_manager import PassManager
    from .passes.sched.steps.schedule import Schedule
    from .runtime.collectives.worlds import current_world, run_ranks
    from .runtime.executables.device_array import DeviceArray
    from .runtime.executables.executable import Executable
    from .runtime.nodes.tensor_node import TensorNode
    from .runtime.platforms.code import Code, CodeBatch
    from .runtime.platforms.context import Context
    from .runtime.platforms.device import Device, Stream
    from .runtime.platforms.optimize_context import OptimizeContext
    from .runtime.platforms.platform import Platform
    from .runtime.platforms.routine import Routine
    from .runtime.reports.gathered_timeline import gather_timeline
    from .runtime.streams.event import Event
    from .runtime.timeline.timeline import record_timeline
    from .tools.explain import explain
    from .tools.export import export
    from .tools.tune.report import TuningReport
    from .tools.tune.tune import tune

__all__ = [
    "BACKENDS",
    "CallError",
    "Code",
    "CodeBatch",
    "Context",
    "ContextError",
    "Device",
    "DeviceArray",
    "DeviceError",
    "DeviceLostError",
    "Dim",
    "Event",
    "Executable",
    "Exported",
    "KernelCompileError",
    "MemoryModeError",
    "Mesh",
    "MissingExtraError",
    "OptimizeContext",
    "OutOfMemoryError",
    "PartitionSpec",
    "PassManager",
    "Platform",
    "RankError",
    "Routine",
    "RoutineError",
    "Schedule",
    "ShapeDtype",
    "ShardedArray",
    "Sharding",
    "Stream",
    "TenonError",
    "TensorNode",
    "TracingError",
    "TuningReport",
    "all_gather",
    "all_to_all",
    "axis_index",
    "axis_size",
    "cache_info",
    "clear_caches",
    "compile",
    "compile_many",
    "cond",
    "current_world",
    "debug_print",
    "explain",
    "export",
    "fori_loop",
    "freeze",
    "from_jax",
    "from_onnx",
    "from_stablehlo",
    "from_torch",
    "gather",
    "gather_timeline",
    "get_num_threads",
    "jax_compile",
    "jit",
    "load",
    "load_checkpoint",
    "num_threads",
    "open_platform",
    "parse_module",
    "permute",
    "pmax",
    "pmean",
    "pmin",
    "ppermute",
    "psum",
    "psum_scatter",
    "pure_callback",
    "record_timeline",
    "reduce_scatter",
    "register_backend",
    "register_op",
    "register_pass",
    "register_tree",
    "reshard",
    "run_ranks",
    "save_checkpoint",
    "scan",
    "set_num_threads",
    "shard",
    "shard_from",
    "shard_map",
    "sharding",
    "switch",
    "tune",
    "verify_module",
    "while_loop",
    "with_sharding_constraint",
]

# `tenon.numpy` lies there: beside this file it would be what `import numpy` finds from this folder.
__path__.append(str(Path(__file__).parent / "frontends" / "public"))

_WHEN_ASKED_FOR = {
    "BACKENDS": "compiler.compile",
    "compile": "compiler.compile",
    "compile_many": "compiler.compile_many",
    "explain": "tools.explain",
    "export": "tools.export",
    "Exported": "compiler.export.export",
    "load": "compiler.export.load",
    "tune": "tools.tune.tune",
    "TuningReport": "tools.tune.report",
    "Executable": "runtime.executables.executable",
    "PassManager": "passes.pass_manager",
    "Schedule": "passes.sched.steps.schedule",
    "record_timeline": "runtime.timeline.timeline",
    "gather_timeline": "runtime.reports.gathered_timeline",
    "Code": "runtime.platforms.code",
    "CodeBatch": "runtime.platforms.code",
    "Context": "runtime.platforms.context",
    "Device": "runtime.platforms.device",
    "DeviceArray": "runtime.executables.device_array",
    "Dim": "frontends.jit.dims",
    "Event": "runtime.streams.event",
    "OptimizeContext": "runtime.platforms.optimize_context",
    "Platform": "runtime.platforms.platform",
    "Routine": "runtime.platforms.routine",
    "Stream": "runtime.platforms.device",
    "TensorNode": "runtime.nodes.tensor_node",
    "cache_info": "compiler.kept_programs",
    "ShapeDtype": "frontends.callbacks",
    "debug_print": "frontends.callbacks",
    "pure_callback": "frontends.callbacks",
    "cond": "frontends.control_flow",
    "from_jax": "frontends.stablehlo.jax_export",
    "from_stablehlo": "frontends.stablehlo.text",
    "jax_compile": "frontends.stablehlo.jax_compile",
    "fori_loop": "frontends.control_flow",
    "freeze": "frontends.freeze",
    "from_onnx": "frontends.onnx.imported",
    "from_torch": "frontends.torch.exported",
    "scan": "frontends.control_flow",
    "switch": "frontends.control_flow",
    "while_loop": "frontends.control_flow",
    "get_num_threads": "backends.llvm.threads",
    "num_threads": "backends.llvm.thread_limit",
    "clear_caches": "frontends.jit.jit",
    "jit": "frontends.jit.jit",
    "register_tree": "frontends.arrays.tree",
    "open_platform": "compiler.platforms",
    "register_backend": "backends.registry",
    "register_op": "compiler.custom",
    "register_pass": "compiler.custom",
    "set_num_threads": "backends.llvm.threads",
    "Mesh": "frontends.sharding.mesh",
    "PartitionSpec": "frontends.sharding.sharding",
    "Sharding": "frontends.sharding.sharding",
    "sharding": "frontends.sharding.sharding",
    "ShardedArray": "frontends.sharding.sharded_array",
    "shard": "frontends.sharding.placing",
    "shard_from": "frontends.sharding.placing",
    "gather": "frontends.sharding.placing",
    "reshard": "frontends.sharding.placing",
    "with_sharding_constraint": "frontends.sharding.placing",
    "save_checkpoint": "frontends.sharding.checkpoints",
    "load_checkpoint": "frontends.sharding.checkpoints",
    "shard_map": "frontends.jit.shard_map",
    "current_world": "runtime.collectives.worlds",
    "run_ranks": "runtime.collectives.worlds",
    "psum": "frontends.sharding.axis_collectives",
    "pmax": "frontends.sharding.axis_collectives",
    "pmin": "frontends.sharding.axis_collectives",
    "pmean": "frontends.sharding.axis_collectives",
    "all_gather": "frontends.sharding.axis_collectives",
    "reduce_scatter": "frontends.sharding.axis_collectives",
    "psum_scatter": "frontends.sharding.axis_collectives",
    "all_to_all": "frontends.sharding.axis_collectives",
    "permute": "frontends.sharding.axis_collectives",
    "ppermute": "frontends.sharding.axis_collectives",
    "axis_index": "frontends.sharding.axis_collectives",
    "axis_size": "frontends.sharding.axis_collectives",
}
"""Imported when first used, as it takes some time."""


def __getattr__(name: str) -> object:
    if name not in _WHEN_ASKED_FOR:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f".{_WHEN_ASKED_FOR[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""
Runs a function of a module in numpy, whatever level the module is at.

A host program runs its items in the order of the text. Where memory is planned, buffers share memory as the
plan says; where items say what they wait for, a hazard that this leaves open is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, BlockArgument, SSAValue

from ...dialects import low, sched
from ...dialects.buffer_size import nbytes_of, strides_of
from ...dialects.entry import find_entry
from ...dialects.kernel_access import KernelAccess, accesses_of, kernels_of
from ...errors import TenonError
from ...semantics.numpy_types import array_of, dtype_of, storage_dtype
from . import low as low_interpreter
from . import sched as sched_interpreter
from .dependency_check import check_dependencies
from .graph import run_graph

Array = npt.NDArray[Any]


def run_module(module: ModuleOp, name: str | None, inputs: Sequence[Array]) -> list[Array]:
    """
    Returns what the function or program `@name` (for None: the only one) gives for `inputs`, which fit its
    type.

    Raises:
        TenonError: there is no such function, or a program's dependencies leave a hazard open.
    """
    entry = find_entry(module, name)
    if isinstance(entry, func.FuncOp):
        return list(run_graph(module, entry.sym_name.data, inputs))
    return _Program(module, entry).run(inputs)


class _Program:
    """
    One run of a host program. `_buffers` are rows of stored elements, `_memory` the bytes of the planned
    temporaries.
    """

    def __init__(self, module: ModuleOp, program: sched.ProgramOp) -> None:
        self._module = module
        self._program = program
        self._kernels = kernels_of(module)
        self._buffers: dict[SSAValue, Array] = {}
        self._memory = np.full(_planned_nbytes(program), 0xFF, np.uint8)

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        program = self._program
        for argument, array in zip(program.body.block.args, inputs, strict=True):
            stored = np.ascontiguousarray(array).reshape(-1).view(storage_dtype(argument.type))
            stored.flags.writeable = False
            self._buffers[argument] = stored
        accesses = accesses_of(self._module)
        check_dependencies(program, accesses)
        self._check_targets(accesses)
        for op in program.body.block.ops:
            match op:
                case sched.BufferOp():
                    self._buffers[op.result] = self._allocate(op)
                case sched.ConstantOp():
                    self._buffers[op.result] = _constant(op)
                case sched.LaunchOp():
                    self._launch(op)
                case sched.TransferOp():
                    np.copyto(self._buffers[op.target], self._buffers[op.source], casting="no")
                case sched.SyncOp():
                    pass
                case sched.ReturnOp():
                    return [
                        _logical(_view(self._buffers[buffer], buffer.type), type)
                        for buffer, type in zip(op.buffers, program.function_type.outputs, strict=True)
                    ]
                case _:
                    raise TenonError(f"reference: cannot run {op.name} in a program")
        raise AssertionError(f"@{program.sym_name.data} ends in no sched.return")

    def _check_targets(self, accesses: Mapping[str, KernelAccess]) -> None:
        """Raises TenonError where the program writes to an argument or a constant."""
        for op in self._program.body.block.ops:
            targets: list[SSAValue] = []
            if isinstance(op, sched.LaunchOp):
                writes = accesses[op.kernel.root_reference.data].writes
                targets = [op.arguments[index] for index in writes]
            elif isinstance(op, sched.TransferOp):
                targets = [op.target]
            for target in targets:
                if not isinstance(target.owner, sched.BufferOp):
                    kind = "argument" if isinstance(target, BlockArgument) else "constant"
                    raise TenonError(
                        f"{op.name}: @{self._program.sym_name.data} writes to its {kind} '{target.name_hint}'"
                    )

    def _allocate(self, op: sched.BufferOp) -> Array:
        """Returns memory for a buffer; every byte of it is 0xff, which is NaN in every float type."""
        nbytes = nbytes_of(op.result.type)
        if op.slab is None:
            memory = np.full(nbytes, 0xFF, np.uint8)
        else:
            memory = self._memory[op.slab.offset.data : op.slab.offset.data + nbytes]
        return memory.view(storage_dtype(op.result.type))

    def _launch(self, op: sched.LaunchOp) -> None:
        kernel = self._kernels[op.kernel.root_reference.data]
        arrays = [
            _view(self._buffers[buffer], argument.type)
            for buffer, argument in zip(op.arguments, kernel.body.block.args, strict=True)
        ]
        if isinstance(kernel, low.KernelOp):
            low_interpreter.run_kernel(kernel, arrays)
        else:
            sched_interpreter.run_kernel(kernel, arrays)


def _planned_nbytes(program: sched.ProgramOp) -> int:
    ends = [0]
    for op in program.body.block.ops:
        if isinstance(op, sched.BufferOp) and op.slab is not None:
            ends.append(op.slab.offset.data + nbytes_of(op.result.type))
    return max(ends)


def _view(stored: Array, type: Attribute) -> Array:
    """Returns the elements of a buffer, stored as one row with its gaps, in the shape of its type."""
    strides = [stride * stored.itemsize for stride in strides_of(type)]
    assert isinstance(type, MemRefType), f"{type} is no buffer"
    shape = type.get_shape()
    return np.lib.stride_tricks.as_strided(stored, shape, strides, writeable=stored.flags.writeable)


def _constant(op: sched.ConstantOp) -> Array:
    array = np.ascontiguousarray(array_of(op.value)).reshape(-1)
    stored = array.view(storage_dtype(op.result.type))
    stored.flags.writeable = False
    return stored


def _logical(stored: Array, type: Attribute) -> Array:
    """Returns a copy of a buffer as an array of the tensor type that it holds."""
    return np.array(stored, order="C").view(dtype_of(type))

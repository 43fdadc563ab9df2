"""Tenon: functions of `tenon.numpy`, compiled, which write their results to memory that is given."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.dialects import graph
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    TensorType,
)
from xdsl.utils.hints import isa

from ..workloads.workload import Array, Workload
from .array_kernels import array_kernels
from .interface import Thunk

VERSION = "this one"
FAILURES: tuple[type[Exception], ...] = ()


def conv2d(x: Any, w: Any, *, layout: str, groups: int, padding: int) -> Any:
    if layout == "NCHW":
        return nn.conv(x, w, padding=padding, groups=groups)
    images, kernel = tnp.permute_dims(x, (0, 3, 1, 2)), tnp.permute_dims(w, (3, 2, 0, 1))
    return tnp.permute_dims(nn.conv(images, kernel, padding=padding, groups=groups), (0, 2, 3, 1))


KERNELS = array_kernels(tnp, conv2d=conv2d, softmax=nn.softmax)


def program(workload: Workload, arguments: Mapping[str, Array], backend: str = "llvm") -> tenon.Executable:
    """Returns the work as a program of the arguments that are not constant."""
    return tenon.compile(traced(workload, arguments), backend=backend)


def traced(workload: Workload, arguments: Mapping[str, Array]) -> ModuleOp:
    function = KERNELS[workload.kind]

    def work(*values: Any) -> Any:
        return function(*values, **workload.parameters)

    module = tenon.jit(work, name=workload.kind).lower(*arguments.values()).module
    for number, name in reversed(list(enumerate(arguments))):
        if name in workload.constants:
            make_constant(module, number, arguments[name])
    return module


def make_constant(module: ModuleOp, number: int, values: Array) -> None:
    """Replaces an argument of the module's only function."""
    function = module.body.ops.first
    assert isinstance(function, func.FuncOp)
    block = function.body.block
    argument = block.args[number]
    assert isa(argument.type, TensorType[AnyFloat])
    constant = graph.ConstantOp(DenseIntOrFPElementsAttr(argument.type, BytesAttr(values.tobytes())))
    first = block.first_op
    assert first is not None
    block.insert_op_before(constant, first)
    argument.replace_all_uses_with(constant.result)
    block.erase_arg(argument)
    function.update_function_type()
    if function.arg_attrs is not None:
        function.arg_attrs = ArrayAttr([each for i, each in enumerate(function.arg_attrs) if i != number])


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    executable = program(workload, arguments)
    given = [array for name, array in arguments.items() if name not in workload.constants]
    return {"tenon": partial(executable, *given, out=workload.result())}


def compiler(workload: Workload, arguments: Mapping[str, Array]) -> Thunk:
    return lambda: program(workload, arguments)


def loader(workload: Workload, arguments: Mapping[str, Array]) -> Thunk:
    """Returns what makes a program of what was traced already: from the cache, where that has it."""
    module = traced(workload, arguments)
    return lambda: tenon.compile(module)

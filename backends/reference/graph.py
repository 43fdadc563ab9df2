"""
Runs functions of `graph` ops on numpy arrays, op by op.

Extents written `?` are what the arrays at run time make them; where an op would need to know one that nothing
tells, that is an error. Fast-math flags allow other results than these and are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp
from xdsl.dialects.shard import ShardingOp, ShardOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects import graph
from ...dialects.graph.types import shape_text
from ...dialects.grids import coordinates_of
from ...dialects.modules.entry import argument_names, check_single_block
from ...errors import CallError, RankError
from ...semantics.collectives import collective_of, part_of
from ...semantics.errors import InterpreterError, describe
from ...semantics.host_calls import HostFunctions, call_function, function_called, print_values
from ...semantics.numerics import add
from ...semantics.numpy_types import Array, dtype_of
from ...semantics.ranks.local_ranks import run_ranks
from ...semantics.tensor_ops import evaluate, shape_of
from ...semantics.world import World, check_world
from .control import run_control
from .element_watch import element_watch
from .node_memory import NodeMemory, place_of


def run_graph(
    module: ModuleOp,
    name: str,
    inputs: Sequence[Array],
    memory: NodeMemory | None = None,
    callbacks: HostFunctions | None = None,
    world: World | None = None,
) -> list[Array]:
    """
    Returns the results of function `@name` of `module` for `inputs`; see `run_function`.

    Raises InterpreterError if there is no such function.
    """
    return run_function(_function_called(module, name, "reference"), inputs, memory, callbacks, world)


def run_function(
    function: func.FuncOp,
    inputs: Sequence[Array],
    memory: NodeMemory | None = None,
    callbacks: HostFunctions | None = None,
    world: World | None = None,
) -> list[Array]:
    """
    Returns the results of `function` for `inputs`, one for each argument, in new arrays. Static symbols are
    arrays of rank 0. The function reads and writes nodes in `memory`, calls the host's `callbacks`, and meets
    the other ranks in `world`.

    Raises:
        CallError: the inputs do not fit the arguments in number, dtype or shape, or a callback gives what
            does not fit.
        TenonError: no function is given for a callback.
        RankError: a collective without a world, or in which the ranks do not meet.
        InterpreterError: an op without a rule, extents that do not fit one another at run time, an index of a
            node that is out of bounds, or a node that holds nothing yet.
    """
    _check_inputs(function, inputs)
    if memory is None:
        module = function.parent_op()
        memory = NodeMemory(module if isinstance(module, ModuleOp) else ModuleOp([]), {})
    run = _Run(memory, callbacks or {}, world)
    with np.errstate(all="ignore"):
        results = run.run(function, inputs, ())
    if (watch := element_watch()) is not None:
        watch.returned(results)
    return [np.array(result, order="C") for result in results]


def _check_inputs(function: func.FuncOp, inputs: Sequence[Array]) -> None:
    name, arguments = function.sym_name.data, function.body.block.args
    if len(inputs) != len(arguments):
        raise CallError(f"{name}: takes {len(arguments)} arguments, found {len(inputs)}")
    for argument, written, array in zip(arguments, argument_names(function), inputs, strict=True):
        dtype, shape = dtype_of(argument.type), _shape_of_argument(argument)
        if array.dtype != dtype:
            raise CallError(f"{name}: argument '{written}' has dtype {array.dtype}, expected {dtype}")
        if not _fits(array.shape, shape):
            raise CallError(
                f"{name}: argument '{written}' has shape {list(array.shape)}, expected {shape_text(shape)}"
            )


def _fits(shape: Sequence[int], written: Sequence[int]) -> bool:
    return len(shape) == len(written) and all(
        wanted in (DYNAMIC_INDEX, extent) for extent, wanted in zip(shape, written, strict=True)
    )


def _shape_of_argument(argument: SSAValue) -> Sequence[int]:
    return () if isinstance(argument.type, IndexType) else shape_of(argument)


_NO_VALUE: Array = np.zeros(())
"""Stands for what says where values are."""


class _Run:
    def __init__(
        self, memory: NodeMemory, callbacks: HostFunctions, world: World | None, is_watched: bool = True
    ) -> None:
        self._memory = memory
        self._world = world
        self._watch = element_watch() if is_watched else None
        self._callbacks = callbacks
        self._callers_errors: Any = np.geterr()
        """What the caller wants to hear of errors of arithmetic, in its own functions too."""

    def run(
        self, function: func.FuncOp, inputs: Sequence[Array], callers: tuple[func.FuncOp, ...]
    ) -> Sequence[Array]:
        """Runs a function that `callers` wait for."""
        values: dict[SSAValue, Array] = dict(zip(function.body.block.args, inputs, strict=True))
        return self._block(function.body.block, values, (*callers, function))

    def _block(
        self, block: Block, values: dict[SSAValue, Array], callers: tuple[func.FuncOp, ...]
    ) -> Sequence[Array]:
        """Runs a block whose arguments are in `values`, and returns the operands of the op that ends it."""
        for op in block.ops:
            operands = [values[operand] for operand in op.operands]
            match op:
                case func.ReturnOp() | graph.YieldOp() | graph.ConditionOp():
                    return operands
                case func.CallOp():
                    results = self._call(op, operands, callers)
                case graph.ControlOp():
                    results = run_control(op, operands, partial(self._region, values, callers))
                case graph.ReadOp():
                    results = [self._read(op, operands)]
                case graph.WriteOp():
                    self._write(op, operands)
                    results = []
                case graph.CallbackOp():
                    results = self._call_back(op, operands)
                case graph.PrintOp():
                    print_values(op.format.data, operands)
                    results = []
                case graph.CollectiveOp():
                    results = [self._meet(op, *operands)]
                case graph.AxisIndexOp():
                    results = [self._axis_index(op)]
                case graph.ManualComputationOp():
                    results = self._all_ranks(op, operands)
                case ShardingOp():
                    values[op.result] = _NO_VALUE
                    continue
                case ShardOp():
                    results = [values[op.src]]
                case graph.MergeOp():
                    # A copy: a value of `graph` never changes, and the merge buffer may.
                    results = [self._memory.merged(op.node_name, describe(op)).copy()]
                case _:
                    results = [evaluate(op, operands)]
            if self._watch is not None:
                self._watch.computed(op, operands, results)
            for result, value in zip(op.results, results, strict=True):
                _check_result(op, result, value)
                values[result] = value
        raise AssertionError("a block ends in no func.return and in no graph.yield")

    def _region(
        self,
        values: dict[SSAValue, Array],
        callers: tuple[func.FuncOp, ...],
        block: Block,
        arguments: Sequence[Array],
    ) -> Sequence[Array]:
        """Runs the block of a region, which sees `values`."""
        values.update(zip(block.args, arguments, strict=True))
        return self._block(block, values, callers)

    def _read(self, op: graph.ReadOp, indices: Sequence[Array]) -> Array:
        name = op.node_name
        contents = self._memory.contents(name)
        self._memory.check_filled(name, describe(op))
        return contents[place_of(indices, contents.shape, name, describe(op))].copy()

    def _write(self, op: graph.WriteOp, operands: Sequence[Array]) -> None:
        name = op.node_name
        *indices, value = operands
        contents = self._memory.contents(name)
        place = place_of(indices, contents.shape, name, describe(op))
        if self._watch is not None:
            self._watch.written(name, place, value)
        if op.accumulate is not None:
            self._memory.check_filled(name, describe(op))
            value = add(np.asarray(contents[place]), value)
        contents[place] = value
        self._memory.note_write(name)

    def _call_back(self, op: graph.CallbackOp, operands: Sequence[Array]) -> list[Array]:
        name = op.callee.data
        who = f"{describe(op)}: callback @{name}"
        types = [(dtype_of(result.type), shape_of(result)) for result in op.res]
        function = function_called(name, self._callbacks, describe(op))
        with np.errstate(**self._callers_errors):
            return call_function(who, function, operands, types)

    def _meet(self, op: graph.CollectiveOp, operand: Array) -> Array:
        shape = shape_of(op.result)
        if DYNAMIC_INDEX in shape:
            raise InterpreterError(f"{describe(op)}: {op.result.type} has an extent that is not known")
        collective = collective_of(op)
        check_world([collective], self._world)
        assert self._world is not None, "a program without a world has no collectives"
        result: Array = np.empty(shape, operand.dtype)
        self._world.begin(collective, np.ascontiguousarray(operand).reshape(operand.shape), result).wait()
        return result

    def _axis_index(self, op: graph.AxisIndexOp) -> Array:
        own = graph.rank_around(op)
        rank = self._world.rank if own is None and self._world is not None else own
        if rank is None:
            raise RankError(f"{describe(op)}: the module is no rank's, and no world is given")
        place = coordinates_of(graph.grid_extents(op, op.grid_name), rank)[op.axis.data]
        return np.array(place, dtype_of(op.result.type))

    def _all_ranks(self, op: graph.ManualComputationOp, operands: Sequence[Array]) -> list[Array]:
        """Runs the region on each rank, all of them threads, and returns what they give together."""
        grid, block = graph.grid_extents(op, op.grid_name), op.body.block

        def rank(world: World) -> Sequence[Array]:
            # A watch sees the ops of one program.
            run = _Run(self._memory, self._callbacks, world, is_watched=False)
            arguments = [
                operand[part_of(operand.shape, grid, split, world.rank)]
                for operand, split in zip(operands, op.in_splits.data, strict=True)
            ]
            with np.errstate(all="ignore"):
                return run._block(block, dict(zip(block.args, arguments, strict=True)), ())

        given = run_ranks([rank] * prod(grid))
        results: list[Array] = []
        for number, (result, split) in enumerate(zip(op.results, op.out_splits.data, strict=True)):
            whole: Array = np.empty(shape_of(result), given[0][number].dtype)
            owners: dict[tuple[Any, ...], int] = {}
            for at, parts in enumerate(given):
                box = part_of(whole.shape, grid, split, at)
                owner = owners.setdefault(tuple((each.start, each.stop) for each in box), at)
                if parts[number].tobytes() != given[owner][number].tobytes():
                    raise RankError(
                        f"{describe(op)}: result {number} of rank {at} is not that of rank {owner}", at
                    )
                whole[box] = parts[number]
            results.append(whole)
        return results

    def _call(
        self, op: func.CallOp, operands: Sequence[Array], callers: tuple[func.FuncOp, ...]
    ) -> Sequence[Array]:
        module = callers[0].parent_op()
        name = op.callee.string_value()
        if not isinstance(module, ModuleOp):
            raise InterpreterError(f"{describe(op)}: there is no module to find @{name} in")
        callee = _function_called(module, name, describe(op))
        if callee in callers:
            raise InterpreterError(f"{describe(op)}: @{name} calls itself")
        return self.run(callee, operands, callers)


def _function_called(module: ModuleOp, name: str, who: str) -> func.FuncOp:
    for op in module.body.block.ops:
        if isinstance(op, func.FuncOp) and op.sym_name.data == name:
            if op.is_declaration:
                raise InterpreterError(f"{who}: @{name} has no body")
            check_single_block(op)
            return op
    raise InterpreterError(f"{who}: there is no function @{name}")


def _check_result(op: Operation, result: SSAValue, value: Array) -> None:
    assert value.dtype == dtype_of(result.type), f"{op.name}: computed {value.dtype} for {result.type}"
    shape = shape_of(result)
    if not _fits(value.shape, shape):
        raise InterpreterError(
            f"{describe(op)}: the result has shape {list(value.shape)} at run time, "
            f"expected {shape_text(shape)}"
        )

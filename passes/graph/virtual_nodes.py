"""
The computations of virtual tensor nodes: taken out of the functions that write them, and put in where they
are read.

A computation is a private function without arguments that returns what the node holds:

    func.func private @v() -> tensor<4xf32> {
      %x = graph.read @x : tensor<4xf32>
      %e = graph.exp %x : tensor<4xf32>
      func.return %e : tensor<4xf32>
    }

One that cannot be done elsewhere is a declaration with the reason as its attribute `obstacle`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import PassFailedException

from ...dialects import graph
from ...dialects.modules.entry import check_single_block
from .node_accesses import accessed_nodes

OBSTACLE = "obstacle"


def extract_virtual(module: ModuleOp) -> dict[str, func.FuncOp]:
    """
    Returns the computation of every virtual node that a function of `module` writes, by the node's name. The
    module is left as it is.

    Raises:
        PassFailedException: a virtual node is written twice.
        TenonError: a function has several blocks.
    """
    nodes = _virtual_nodes(module)
    found: dict[str, func.FuncOp] = {}
    for function in _functions(module) if nodes else ():
        written = _writes(function, nodes)
        for name, op in written.items():
            if name in found:
                raise PassFailedException(f"{op.name}: virtual node @{name} is written by two functions")
            found[name] = _computation(name, op)
    return found


def inline_virtual(module: ModuleOp, computations: Mapping[str, func.FuncOp]) -> None:
    """
    Replaces what `module` reads of virtual nodes: by the value where the function has written it before, else
    by the computation in `computations`, whose own reads of virtual nodes are replaced likewise. Drops the
    virtual nodes. Nodes that a computation reads and the module does not declare are declared as there.

    Raises:
        PassFailedException: a virtual node is written twice, or read where its computation is not known or
            cannot be done again.
        TenonError: a function has several blocks.
    """
    nodes = _virtual_nodes(module)
    if not nodes:
        return
    for function in _functions(module):
        written = _writes(function, nodes)
        _Inliner(module, nodes, computations, written).inline(function)
    for node in nodes.values():
        node.detach()
        node.erase()


def _virtual_nodes(module: ModuleOp) -> dict[str, graph.TnodeOp]:
    return {op.sym_name.data: op for op in module.body.ops if isinstance(op, graph.TnodeOp) and op.is_virtual}


def _functions(module: ModuleOp) -> list[func.FuncOp]:
    functions = [op for op in module.body.ops if isinstance(op, func.FuncOp) and not op.is_declaration]
    for function in functions:
        check_single_block(function)
    return functions


def _writes(function: func.FuncOp, nodes: Mapping[str, graph.TnodeOp]) -> dict[str, graph.WriteOp]:
    """Returns the write of each virtual node. Raises `PassFailedException` where there are two."""
    written: dict[str, graph.WriteOp] = {}
    for op in function.walk():
        if isinstance(op, graph.WriteOp) and op.node_name in nodes:
            if op.parent is not function.body.block:
                raise PassFailedException(
                    f"{op.name}: virtual node @{op.node_name} is written in a region (hint: yield the value, "
                    "and write it outside)"
                )
            if op.accumulate is not None:
                raise PassFailedException(f"{op.name} add: virtual node @{op.node_name} cannot be added to")
            if op.node_name in written:
                raise PassFailedException(
                    f"{op.name}: virtual node @{op.node_name} is written twice in @{function.sym_name.data}"
                )
            written[op.node_name] = op
    return written


def _computation(name: str, write: graph.WriteOp) -> func.FuncOp:
    """Returns what computes the value of `write`, a write of a virtual node."""
    type = FunctionType.from_lists([], [write.value.type])
    needed = _needed(write.value)
    if isinstance(needed, str):
        declared = func.FuncOp(name, type, Region(), visibility="private")
        declared.attributes[OBSTACLE] = StringAttr(needed)
        declared.location = write.location
        return declared
    block = Block()
    values: dict[SSAValue, SSAValue] = {}
    for op in needed:
        if isinstance(op, graph.ReadOp) and (known := _written_value(op)) is not None:
            values[op.result] = values[known]
            continue
        copy = op.clone(values)
        copy.attributes.pop("memory_mode", None)
        block.add_op(copy)
    ending = func.ReturnOp(values[write.value])
    ending.location = write.location
    block.add_op(ending)
    made = func.FuncOp(name, type, Region(block), visibility="private")
    made.location = write.location
    return made


def _needed(value: SSAValue) -> list[Operation] | str:
    """Returns the ops that `value` is computed by, in order, or why that cannot be done elsewhere."""
    ops: dict[Operation, None] = {}
    waiting = [value]
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Block):
            return "it depends on an argument of its function"
        if owner in ops:
            continue
        ops[owner] = None
        waiting.extend(owner.operands)
        # The ops run again in other programs, at other times: only what gives the same value there may be
        # taken.
        match owner:
            case graph.GraphOp():
                pass
            case graph.ReadOp():
                if owner.indices:
                    return f"it depends on which part of @{owner.node_name} is read"
                known = _written_value(owner)
                if known is not None:
                    waiting.append(known)
                elif _is_local(owner):
                    return f"what it reads of @{owner.node_name}, which is local, was not written at once"
                elif _is_overwritten(owner):
                    return f"@{owner.node_name}, which it reads, is overwritten afterwards"
            case _:
                return f"it depends on a {owner.name}"
    block = value.owner.parent if isinstance(value.owner, Operation) else None
    assert block is not None, "a value of no block"
    return [op for op in block.ops if op in ops]


def _written_value(read: graph.ReadOp) -> SSAValue | None:
    """
    Returns the value that the function has written to a virtual or local node before it reads that node. None
    for other nodes, and where the value was added to or a call may have changed it.
    """
    node = graph.find_node(read, read.node_name)
    if node is None or not node.lives_within_a_run:
        return None
    op = read.prev_op
    while op is not None:
        if isinstance(op, graph.WriteOp) and op.node_name == read.node_name:
            return op.value if op.accumulate is None else None
        if isinstance(op, func.CallOp) and node.is_local:
            return None
        op = op.prev_op
    return None


def _is_local(read: graph.ReadOp) -> bool:
    node = graph.find_node(read, read.node_name)
    return node is not None and node.is_local


def _is_overwritten(read: graph.ReadOp) -> bool:
    """Returns whether a node is written after it is read, or may be by a call."""
    op = read.next_op
    while op is not None:
        if isinstance(op, func.CallOp) or (isinstance(op, graph.WriteOp) and op.node_name == read.node_name):
            return True
        if isinstance(op, graph.ControlOp) and read.node_name in accessed_nodes(op)[1]:
            return True
        op = op.next_op
    return False


@dataclass
class _Inliner:
    """Works through one function. `values` are the virtual nodes known at the place it has reached."""

    module: ModuleOp
    nodes: Mapping[str, graph.TnodeOp]
    computations: Mapping[str, func.FuncOp]
    written: Mapping[str, graph.WriteOp]
    values: dict[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    overwritten: set[str] = field(default_factory=set[str])
    """The nodes that the function has written, or may have by a call."""

    def inline(self, function: func.FuncOp) -> None:
        for op in list(function.body.block.ops):
            if isinstance(op, func.CallOp):
                self.overwritten.update(_names_of_nodes(self.module))
            if isinstance(op, graph.ControlOp):
                self._inline_into_regions(op)
            if not isinstance(op, graph.NodeAccessOp):
                continue
            if op.node_name not in self.nodes:
                if isinstance(op, graph.WriteOp):
                    self.overwritten.add(op.node_name)
                continue
            match op:
                case graph.WriteOp():
                    self.values[op.node_name] = op.value
                case graph.ReadOp():
                    op.result.replace_all_uses_with(self._value(op.node_name, op, ()))
                case _:
                    raise AssertionError(f"{op.name}: of a virtual node")
            op.detach()
            op.erase()

    def _inline_into_regions(self, around: graph.ControlOp) -> None:
        """Replaces the reads in the regions of an op; what they read is computed before it."""
        self.overwritten.update(accessed_nodes(around)[1])
        for op in list(around.walk()):
            if isinstance(op, graph.ReadOp) and op.node_name in self.nodes:
                op.result.replace_all_uses_with(self._value(op.node_name, around, ()))
                op.detach()
                op.erase()

    def _value(self, name: str, place: Operation, callers: tuple[str, ...]) -> SSAValue:
        """Returns the value of a virtual node, computing it before `place` where it is not known there."""
        known = self.values.get(name)
        if known is not None:
            return known
        computation = self.computations.get(name)
        if computation is None:
            raise PassFailedException(
                f"{place.name}: virtual node @{name} is read, but nothing is known to write it"
            )
        if name in callers:
            raise PassFailedException(f"{place.name}: virtual node @{name} is computed from itself")
        obstacle = computation.attributes.get(OBSTACLE)
        if isinstance(obstacle, StringAttr):
            raise PassFailedException(
                f"{place.name}: virtual node @{name} cannot be computed here: {obstacle.data}"
            )
        self.values[name] = value = self._copy(computation, place, (*callers, name))
        return value

    def _copy(self, computation: func.FuncOp, place: Operation, callers: tuple[str, ...]) -> SSAValue:
        values: dict[SSAValue, SSAValue] = {}
        block = place.parent
        assert block is not None, f"{place.name}: stands in no block"
        for step in computation.body.block.ops:
            if isinstance(step, func.ReturnOp):
                return values[step.operands[0]]
            if isinstance(step, graph.ReadOp):
                if step.node_name in self.nodes or step.node_name in self.computations:
                    values[step.result] = self._value(step.node_name, place, callers)
                    continue
                self._check_input(step, place, callers[-1])
            block.insert_op_before(step.clone(values), place)
        raise AssertionError(f"@{computation.sym_name.data} ends in no func.return")

    def _check_input(self, read: graph.ReadOp, place: Operation, name: str) -> None:
        """Declares a node that the computation of virtual node `@name` reads, or checks that it fits."""
        node = graph.find_node(place, read.node_name)
        if node is None:
            node = graph.TnodeOp(read.node_name, graph.tensor_type_of(read.result, read.name))
            node.location = read.location
            first = self.module.body.block.first_op
            assert first is not None, "a module without ops has no node"
            self.module.body.block.insert_op_before(node, first)
        elif node.tensor_type != read.result.type:
            raise PassFailedException(
                f"{place.name}: virtual node @{name} is computed from @{read.node_name} of type "
                f"{read.result.type}, which is {node.tensor_type} here"
            )
        if read.node_name in self.overwritten:
            raise PassFailedException(
                f"{place.name}: virtual node @{name} is computed from @{read.node_name}, which is "
                "overwritten before"
            )


def _names_of_nodes(module: ModuleOp) -> list[str]:
    return [op.sym_name.data for op in module.body.ops if isinstance(op, graph.TnodeOp)]

"""
Ops and passes that are defined outside of the package.

    import tenon
    from tenon.compiler.custom import CustomOp, register_op

    @irdl_op_definition
    class SoftshrinkOp(CustomOp):
        name = "mine.softshrink"
        ...

    register_op(SoftshrinkOp, interpret=softshrink, lower=in_graph_ops)

Such an op prints, parses, verifies and runs like those of `graph`: see docs/add-an-op.md and
examples/custom_op. A pass that `register_pass` makes known can be named in the text of pipelines: see
docs/add-a-pass.md and examples/custom_pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isabstract
from typing import Any, TypeVar

import numpy as np
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import VarResultDef
from xdsl.passes import ModulePass

from ..dialects import CUSTOM_DIALECTS, DIALECTS, graph
from ..dialects.graph import CustomOp
from ..dialects.graph.types import ANY, FLOATS, INTEGERS, NUMBERS, TENSOR, TENSOR_T, shape_of, tensor_of
from ..dialects.modules.parsing import location_text
from ..errors import TenonError
from ..passes.graph.builder import GraphBuilder
from ..passes.graph.decompositions import RULES as DECOMPOSITIONS
from ..passes.named_pipelines import NAMED_PIPELINES
from ..passes.registry import ALL_PASSES
from ..passes.rewriting.located_rewriter import rewrite_greedily
from ..passes.sched.planning.code import KernelCode
from ..passes.sched.planning.own import OWN_KERNELS, ProgramPart
from ..semantics.errors import InterpreterError, describe
from ..semantics.numpy_types import Array, dtype_of
from ..semantics.tensor_ops import RULES as SEMANTICS

__all__ = [
    "ANY",
    "FLOATS",
    "INTEGERS",
    "NUMBERS",
    "TENSOR",
    "TENSOR_T",
    "CustomOp",
    "GraphBuilder",
    "KernelCode",
    "ProgramPart",
    "graph",
    "register_op",
    "register_pass",
    "rewrite_greedily",
    "shape_of",
    "tensor_of",
    "unregister_pass",
]

_OPS: dict[str, dict[str, type[CustomOp]]] = {}
"""The ops that are registered: by dialect, then by name."""
_ATTRIBUTES: dict[str, dict[str, type[Attribute]]] = {}
_PASSES: dict[str, type[ModulePass]] = {}
"""The passes that are registered."""

_PassType = TypeVar("_PassType", bound=type[ModulePass])


def register_op(
    op_class: type[CustomOp],
    *,
    interpret: Callable[..., Any],
    lower: Callable[[GraphBuilder, Any], SSAValue] | None = None,
    emit: Callable[[ProgramPart, Any], None] | None = None,
    attributes: Sequence[type[Attribute]] = (),
) -> None:
    """
    Registers an op of a dialect of the user's own, for all programs that are read and compiled from now on.

    Args:
        op_class: an op definition that derives from `CustomOp`, named `dialect.op`, with one result.
        interpret: `interpret(op, *arrays)` returns the result for the values of the operands, a numpy array
            of the dtype and shape of the result's type.
        lower: `lower(builder, op)` adds ops of `graph` that compute the same, and returns their value. They
            are fused and scheduled as all others.
        emit: `emit(part, op)` writes kernels instead, with `KernelCode`, and launches them.
        attributes: attributes and types of the dialect that the op's text needs.

    With neither `lower` nor `emit` only the reference backend runs the op.

    Raises TenonError for a class that is none, for a name that is taken, and for both `lower` and `emit`.
    """
    name = _checked_name(op_class)
    if lower is not None and emit is not None:
        raise TenonError(f"register_op: {name} has both lower and emit, expected at most one of them")
    dialect = name.split(".")[0]
    _OPS.setdefault(dialect, {})[name] = op_class
    CUSTOM_DIALECTS.add(dialect)
    for attribute in attributes:
        _ATTRIBUTES.setdefault(dialect, {})[attribute.name] = attribute
    DIALECTS[dialect] = lambda: Dialect(
        dialect, [*_OPS[dialect].values()], [*_ATTRIBUTES.get(dialect, {}).values()]
    )
    SEMANTICS[op_class] = _checked(interpret)
    DECOMPOSITIONS.pop(op_class, None)
    OWN_KERNELS.pop(op_class, None)
    if lower is not None:
        DECOMPOSITIONS[op_class] = _checked_lowering(lower)
    if emit is not None:
        OWN_KERNELS[op_class] = emit


def register_pass(pass_type: _PassType) -> _PassType:
    """
    Registers a pass of the user's own, for the text of all pipelines from now on, and returns it: so it may
    stand above the class.

        @register_pass
        @dataclass(frozen=True)
        class ExpandDoublingPass(ModulePass):
            name = "expand-doubling"
            ...

    Raises TenonError for a class that is no pass or has no name, and for a name that is taken.
    """
    if not _is_pass(pass_type):
        raise TenonError(f"register_pass: {pass_type!r} is no pass that derives from ModulePass")
    name = getattr(pass_type, "name", None)
    if not isinstance(name, str) or not name:
        raise TenonError(f"register_pass: {pass_type.__name__} has no name")
    if name in _PASSES:
        if _PASSES[name] is not pass_type:
            raise TenonError(f"register_pass: {name} is registered already (as {_PASSES[name].__qualname__})")
    elif name in ALL_PASSES or name in NAMED_PIPELINES:
        raise TenonError(f"register_pass: {name} is a name of Tenon's own")
    _PASSES[name] = pass_type
    ALL_PASSES[name] = lambda: pass_type
    return pass_type


def unregister_pass(name: str) -> None:
    """Forgets a pass that `register_pass` made known. Raises TenonError where there is none of that name."""
    if name not in _PASSES:
        raise TenonError(f"unregister_pass: no pass {name!r} was registered")
    del _PASSES[name], ALL_PASSES[name]


def registered_classes() -> tuple[type, ...]:
    """Returns the ops and passes that were registered."""
    return (*(op for ops in _OPS.values() for op in ops.values()), *_PASSES.values())


def _checked_name(op_class: type[CustomOp]) -> str:
    if not _is_custom(op_class):
        raise TenonError(f"register_op: {op_class!r} is no op that derives from CustomOp")
    if "get_irdl_definition" not in vars(op_class):
        raise TenonError(f"register_op: {op_class.__name__} is no op definition (hint: @irdl_op_definition)")
    name = op_class.name
    dialect, dot, _ = name.partition(".")
    if not dot:
        raise TenonError(f"register_op: {name} has no dialect (expected a name like mine.{name})")
    if dialect in DIALECTS and dialect not in _OPS:
        raise TenonError(f"register_op: {name}: dialect {dialect} is there already")
    known = _OPS.get(dialect, {}).get(name, op_class)
    if known is not op_class:
        raise TenonError(f"register_op: {name} is registered already (as {known.__qualname__})")
    results = op_class.get_irdl_definition().results
    if len(results) != 1 or isinstance(results[0][1], VarResultDef):
        raise TenonError(f"register_op: {name} has {len(results)} results, expected one")
    return name


def _is_custom(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, CustomOp)


def _is_pass(candidate: object) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, ModulePass) and not isabstract(candidate)


def _checked(interpret: Callable[..., Any]) -> Callable[[Operation, Sequence[Array]], Array]:
    """Returns a rule that checks what the user's function returns."""

    def rule(op: Operation, operands: Sequence[Array]) -> Array:
        result = np.asarray(interpret(op, *operands))
        dtype = dtype_of(op.results[0].type)
        if result.dtype != dtype:
            raise InterpreterError(
                f"{describe(op)}: its interpreter returned {result.dtype}, expected {dtype}"
            )
        return result

    return rule


def _checked_lowering(
    lower: Callable[[GraphBuilder, Any], SSAValue],
) -> Callable[[GraphBuilder, Any], SSAValue]:
    """Returns a lowering that checks what the user's function returns."""

    def rule(builder: GraphBuilder, op: Operation) -> SSAValue:
        value = lower(builder, op)
        expected = op.results[0].type
        if (found := getattr(value, "type", None)) != expected:
            raise TenonError(
                f"{op.name}: its lowering returned {found or value}, expected {expected}",
                location=location_text(op.location),
            )
        return value

    return rule

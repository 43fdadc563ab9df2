"""What the ops of `graph` have in common."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import TensorType, f32, i8, i32
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .types import FLOATS, ElementKind, difference, tensor_type_of

__all__ = ["ElementwiseOp", "GraphOp", "MovementOp"]


class GraphOp(IRDLOperation, ABC):
    """
    An op of the `graph` dialect: pure, with one tensor as its result. `IS_HEAVY` says whether it is worth a
    store and a load to not do it twice.
    """

    IS_HEAVY: ClassVar[bool] = False
    traits = traits_def(Pure())


class ElementwiseOp(GraphOp, ABC):
    """
    An op whose result has at each index what it makes of the elements of its operands at that index. Each op,
    or its family, says which element types its operands may have (`ELEMENTS`) and whether it is heavy.
    """

    ELEMENTS: ClassVar[ElementKind]
    MATH: ClassVar[type[Operation] | None] = None
    """The op of `math` that computes one element of a float, in f32 for narrower ones."""
    EXAMPLE: ClassVar[str] = ""
    """How an op of the family is written, with `{name}` and `{type}`; empty where the docstring shows it."""

    @classmethod
    def example(cls) -> str:
        """Returns the op of this class as `EXAMPLE` writes it, on a type that it takes."""
        types = cls.ELEMENTS.types
        element_type = next((type for type in (f32, i32) if type in types), i8)
        return cls.EXAMPLE.format(name=cls.name, type=f"tensor<4x{element_type}>")

    def verify_(self) -> None:
        type = tensor_type_of(self.operands[-1], self.name)
        self.ELEMENTS.check(self.name, type)
        check_fastmath(self, type)


class MovementOp(GraphOp, ABC):
    """An op whose result has elements of its operands at other indices, and computes none."""


def fastmath_properties(fastmath: FastMathFlagsAttr | None) -> dict[str, Attribute]:
    return {} if fastmath is None else {"fastmath": fastmath}


def fastmath_of(op: Operation) -> FastMathFlagsAttr | None:
    """Returns the fast-math flags of an op, None where it has none."""
    flags = op.properties.get("fastmath")
    return flags if isinstance(flags, FastMathFlagsAttr) else None


def check_fastmath(op: IRDLOperation, type: TensorType[Any]) -> None:
    """Raises `VerifyException` if `op` has fastmath flags and the elements of `type` are no floats."""
    if "fastmath" in op.properties and type.element_type not in FLOATS.types:
        raise VerifyException(
            f"{op.name}: fastmath is for floats only (element type {type.element_type} of {type})"
        )


def check_result(op: IRDLOperation, expected: TensorType[Any], why: str) -> None:
    """Raises `VerifyException` if the result of `op` disagrees with the type it should have; `why` tells."""
    found = tensor_type_of(op.results[0], op.name)
    where = difference(found, expected)
    if where is not None:
        raise VerifyException(f"{op.name}: result is {found}, expected {expected} ({where}; {why})")


def check_exact_result(op: IRDLOperation, expected: TensorType[Any], why: str) -> None:
    """As `check_result`, for results whose type is not printed: they must be `expected` to the last `?`."""
    check_result(op, expected, why)
    found = op.results[0].type
    if found != expected:
        raise VerifyException(
            f"{op.name}: result is {found}, expected {expected} (`?` in one of them; {why})"
        )


def set_fastmath(around: Operation, flags: FastMathFlagsAttr) -> None:
    """Gives the flags to all ops in another one that may have some: those of floats."""
    for op in around.walk():
        if not isinstance(op, GraphOp) or "fastmath" not in op.get_irdl_definition().properties:
            continue
        # The verifier goes by the last operand too.
        if tensor_type_of(op.operands[-1], op.name).element_type in FLOATS.types:
            op.properties["fastmath"] = flags

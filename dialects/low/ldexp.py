"""A float times a power of two, `low.ldexp`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..element_types import element_type_of


@irdl_op_definition
class LdexpOp(IRDLOperation):
    """
    `x` times 2 to the power of `n`, rounded once, lane by lane: the last step of an exponential. `x` is as a
    significand, of a size from 1/2 to 2. `n` is an integer, as a float, of no more than twice the exponent's
    bias: from -254 to 254 in f32, from -2046 to 2046 in f64. `n` may be anything if `x` is NaN.

    ```mlir
    %y = low.ldexp %x, %n : vector<8xf32>
    ```
    """

    name = "low.ldexp"
    T: ClassVar = VarConstraint("T", AnyAttr())
    x = operand_def(T)
    n = operand_def(T)
    result = result_def(T)
    traits = traits_def(Pure())
    assembly_format = "$x `,` $n attr-dict `:` type($result)"

    def __init__(self, x: SSAValue, n: SSAValue):
        Operation.__init__(self, operands=(x, n), result_types=(x.type,))

    def verify_(self) -> None:
        if element_type_of(self.result.type) not in (f32, f64):
            raise VerifyException(f"{self.name}: {self.result.type} is not f32, f64 or a vector of them")

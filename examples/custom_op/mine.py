"""
A dialect of two ops, defined outside of Tenon: one that is lowered to ops of `graph`, and one with a
kernel of its own.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from tenon.compiler.custom import (
    FLOATS,
    INTEGERS,
    TENSOR,
    TENSOR_T,
    CustomOp,
    GraphBuilder,
    KernelCode,
    ProgramPart,
    graph,
    register_op,
    tensor_of,
)
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

Array = npt.NDArray[Any]


@irdl_op_definition
class SoftshrinkOp(CustomOp):
    """
    Moves each element towards 0 by a threshold, and to 0 what is nearer than that.

    ```mlir
    %y = mine.softshrink %x by %t : tensor<4xf32>, tensor<f32>
    ```
    """

    name = "mine.softshrink"
    source = operand_def(TENSOR_T)
    threshold = operand_def(TENSOR)
    result = result_def(TENSOR_T)
    assembly_format = "$source `by` $threshold attr-dict `:` type($source) `,` type($threshold)"

    def verify_(self) -> None:
        source = self.source.type
        assert isinstance(source, TensorType)
        FLOATS.check(self.name, source)
        expected = tensor_of(source.element_type, ())
        if self.threshold.type != expected:
            raise VerifyException(f"{self.name}: threshold is {self.threshold.type}, expected {expected}")


def softshrink(op: SoftshrinkOp, source: Array, threshold: Array) -> Array:
    """What the op means, on numpy arrays."""
    return np.sign(source) * np.maximum(np.abs(source) - threshold, source.dtype.type(0))


def lower_softshrink(builder: GraphBuilder, op: SoftshrinkOp) -> SSAValue:
    """The same in ops of `graph`, which are fused with what stands around them."""
    by = builder.add(graph.BroadcastOp(op.threshold, op.source.type))
    rest = builder.add(graph.SubOp(builder.add(graph.AbsOp(op.source)), by))
    shrunk = builder.add(graph.MaxOp(rest, builder.splat_like(0.0, op.source)))
    return builder.add(graph.MulOp(builder.add(graph.SignOp(op.source)), shrunk))


@irdl_op_definition
class HistogramOp(CustomOp):
    """
    How often each of 0, 1, 2, ... is among the elements; others are not counted.

    ```mlir
    %h = mine.histogram %x : tensor<100xi32> -> tensor<8xi64>
    ```
    """

    name = "mine.histogram"
    source = operand_def(TENSOR)
    result = result_def(TENSOR)
    assembly_format = "$source attr-dict `:` type($source) `->` type($result)"

    def verify_(self) -> None:
        source, result = self.source.type, self.result.type
        assert isinstance(source, TensorType) and isinstance(result, TensorType)
        INTEGERS.check(self.name, source)
        if source.get_num_dims() != 1 or result.get_num_dims() != 1 or result.element_type != i64:
            raise VerifyException(f"{self.name}: cannot count {source} into {result}")


def histogram(op: HistogramOp, source: Array) -> Array:
    """What the op means, on numpy arrays."""
    assert isinstance(op.result.type, TensorType)
    bins = op.result.type.get_shape()[0]
    counted = source[(source >= 0) & (source < bins)].astype(np.int64)
    return np.bincount(counted, minlength=bins).astype(np.int64)


def emit_histogram(part: ProgramPart, op: HistogramOp) -> None:
    """Sets all bins to 0, side by side; then counts element by element."""
    assert isinstance(op.source.type, TensorType) and isinstance(op.result.type, TensorType)
    (extent,), (bins,) = op.source.type.get_shape(), op.result.type.get_shape()
    code = KernelCode(op)
    source, result = code.buffer(op.source.type, "x"), code.buffer(op.result.type, "bins")
    with code.axis(bins, "i") as bin:
        code.store(code.b.constant(0, i64), result, [bin])

    def count(arguments: Any) -> Any:
        value = code.load(source, [arguments[0]])
        at, is_inside = code.index_in(value, op.source.type.element_type, bins)

        def add_one() -> None:
            more = code.integer(arith.AddiOp, code.load(result, [at]), code.b.constant(1, i64))
            code.store(more, result, [at])

        code.branch(is_inside, add_one)
        return ()

    code.count(extent, (), count)
    part.launch(code, [part.buffer_of(op.source), part.buffer_of(op.result)])


register_op(SoftshrinkOp, interpret=softshrink, lower=lower_softshrink)
register_op(HistogramOp, interpret=histogram, emit=emit_histogram)

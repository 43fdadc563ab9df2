"""What expansions put at a kernel's front: each constant once, and 0.0 is not -0.0."""

from tenon.passes.low.kernel_front import KernelFront
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, UnknownLoc, f32, f64
from xdsl.ir import Block

NOWHERE = UnknownLoc()


def test_equal_constants_are_one_and_zeros_are_two():
    block = Block()
    front = KernelFront(block)
    zero, negative, again, wide = (
        front.constant(FloatAttr(value, type), type, "cst", NOWHERE)
        for value, type in ((0.0, f32), (-0.0, f32), (0.0, f32), (0.0, f64))
    )
    assert zero is again
    front.insert()
    assert [str(op.value) for op in block.ops if isinstance(op, arith.ConstantOp)] == [
        "0.000000e+00 : f32",
        "-0.000000e+00 : f32",
        "0.000000e+00 : f64",
    ]
    assert [op.results[0] for op in block.ops] == [zero, negative, wide]


def test_integers_that_are_at_the_front_already_are_used():
    there = arith.ConstantOp(IntegerAttr(3, IndexType()))
    block = Block([there])
    front = KernelFront(block)
    assert front.index(3, NOWHERE) is there.result
    four = front.index(4, NOWHERE)
    front.insert()
    assert [op.results[0] for op in block.ops] == [four, there.result]
    assert four.name_hint == "c4"

"""Constants that Python takes for one number are several."""

from struct import unpack

import numpy as np
import pytest
import tenon
from tenon.dialects.float_layout import F32
from tenon.passes.low.kernel_front import KernelFront
from tenon.passes.low.math.emitter import Emitter, KernelConstants
from tenon.passes.scalar.number_key import number_key
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.ir import Block

BITS = (0x7FC00000, 0x7FC00001, 0xFFC00000, 0, 0x80000000)
"""NaNs with and without a payload and a sign, and both zeros."""


def test_numbers_that_are_equal_have_keys_of_their_own():
    numbers = [*(unpack("<f", bits.to_bytes(4, "little"))[0] for bits in BITS), 0, 1, 1.0, True]
    keys = [number_key(number) for number in numbers]
    assert len(set(keys)) == len(numbers)
    assert keys == [number_key(number) for number in numbers]


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_a_kernel_has_each_of_such_constants(backend: str):
    chosen = "%v0"
    text = "".join(
        f"  %v{n} = graph.constant dense<0x{bits:08x}> : tensor<2xf32>\n" for n, bits in enumerate(BITS)
    )
    for number in range(1, len(BITS)):
        text += f"  %s{number} = graph.select %c{number}, %v{number}, {chosen} : tensor<2xf32>\n"
        chosen = f"%s{number}"
    arguments = ", ".join(f"%c{number}: tensor<2xi1>" for number in range(1, len(BITS)))
    text += f"  %b = graph.bitcast {chosen} : tensor<2xf32> -> tensor<2xi32>\n"
    executable = tenon.compile(
        f"func.func @f({arguments}) -> tensor<2xi32> {{\n{text}  func.return %b : tensor<2xi32>\n}}",
        backend=backend,
        level="sched" if backend == "reference" else None,
    )
    for number, bits in enumerate(BITS):
        found = executable(*[np.full(2, number == other) for other in range(1, len(BITS))])
        assert np.asarray(found).view(np.uint32).tolist() == [bits, bits]


def test_expansions_have_both_zeros():
    op = arith.ConstantOp(FloatAttr(1.0, f32))
    constants = KernelConstants(KernelFront(Block([op])))
    for value in (0.0, -0.0, 0.0):
        made = Emitter(op, F32, None, constants).float_constant(value).owner
        assert isinstance(made, arith.ConstantOp) and isinstance(made.value, FloatAttr)
        assert str(made.value.value.data) == str(value)

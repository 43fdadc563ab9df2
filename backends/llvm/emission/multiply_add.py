"""
Products that are added unrounded. Where a processor has no instruction for that, LLVM calls a routine of the
C library for each lane, which takes some 100 ns where it has none to use either: 1762 ms for a product of
matrices of 256 x 256.

For f32 there is a shorter way (22 ms) to the same bits. Its products are exact in f64, and so is what their
sum loses there. The sum is rounded to odd: of the two floats around an inexact one, that whose last bit is
set. With more than two bits to spare the rounding to f32 is then the only one.
"""

from __future__ import annotations

from collections.abc import Sequence

from .emitter import Emitter
from .types import shaped, splat


def write_multiply_add(
    emitter: Emitter, type: str, operands: Sequence[str], hint: str | None = None, flags: str = ""
) -> str:
    """Returns the first operand times the second plus the third, rounded once; all are of an LLVM type."""
    if emitter.processor.multiplies_and_adds or not type.rstrip(">").endswith("float"):
        return emitter.emit(emitter.call_same_type("fma", type, operands, flags), hint)
    lanes = int(type[1:].split(" ")[0]) if type[0] == "<" else None
    double, i64, i1 = shaped("double", lanes), shaped("i64", lanes), shaped("i1", lanes)

    def double_of(instruction: str, lhs: str, rhs: str) -> str:
        return emitter.emit(f"{instruction} {double} {lhs}, {rhs}")

    a, b, c = (emitter.emit(f"fpext {type} {operand} to {double}") for operand in operands)
    product = double_of("fmul", a, b)
    sum = double_of("fadd", product, c)
    of_c = double_of("fsub", sum, product)
    of_product = double_of("fsub", sum, of_c)
    lost = double_of("fadd", double_of("fsub", product, of_product), double_of("fsub", c, of_c))
    # False for infinities and NaN, of which what is lost is NaN.
    inexact = emitter.emit(f"fcmp one {double} {lost}, zeroinitializer")
    bits = emitter.emit(f"bitcast {double} {sum} to {i64}")
    lost_bits = emitter.emit(f"bitcast {double} {lost} to {i64}")
    # One less where the exact sum is nearer to zero, and then the last bit: the odd one of the two around it.
    signs = emitter.emit(f"xor {i64} {bits}, {lost_bits}")
    nearer = emitter.emit(f"ashr {i64} {signs}, {splat('63', 'i64', lanes)}")
    below = emitter.emit(f"add {i64} {bits}, {nearer}")
    odd = emitter.emit(f"or {i64} {below}, {splat('1', 'i64', lanes)}")
    chosen = emitter.emit(f"select {i1} {inexact}, {i64} {odd}, {i64} {bits}")
    rounded = emitter.emit(f"bitcast {i64} {chosen} to {double}")
    return emitter.emit(f"fptrunc {double} {rounded} to {type}", hint)

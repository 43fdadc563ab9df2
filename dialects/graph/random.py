"""Random bits that are a function of a counter: threefry."""

from __future__ import annotations

from typing import ClassVar

from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from ..element_types import ui32
from .attributes import CountAttr
from .base import GraphOp
from .types import TENSOR, TENSOR_T, ElementKind, are_equal_extents, shape_of, tensor_of, tensor_type_of

__all__ = ["THREEFRY_PARITY", "THREEFRY_ROTATIONS", "ThreefryOp"]

_WORD = ui32

MAX_ROUNDS = 72

THREEFRY_ROTATIONS = ((10, 26), (11, 21), (13, 27), (23, 5), (6, 20), (17, 11), (25, 10), (18, 20))
"""By how many bits the two halves of round n (modulo 8) rotate."""

THREEFRY_PARITY = 0x1BD11BDA
"""What the fifth word of the key is made of, beside the other four."""


@irdl_op_definition
class ThreefryOp(GraphOp):
    """
    Threefry4x32 of every counter under one key (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
    as 1, 2, 3", 2011): 128 random bits for each. The leading dim of `counter` and of the result, of extent
    4, are the words, the first the least significant. 20 rounds are the recommended ones, 12 or 13 pass all
    known tests of randomness, and 2 merely mix; from 1 to 72 rounds can be asked for.

    ```mlir
    %bits = graph.threefry %key, %counter rounds 20 : tensor<4xui32>, tensor<4x100xui32>
    ```

    The result is a `tensor<4x100xui32>`.
    """

    name = "graph.threefry"
    ELEMENTS: ClassVar[ElementKind] = ElementKind("ui32", frozenset((_WORD,)))
    key = operand_def(TENSOR)
    counter = operand_def(TENSOR_T)
    rounds = prop_def(CountAttr)
    result = result_def(TENSOR_T)
    assembly_format = "$key `,` $counter `rounds` $rounds attr-dict `:` type($key) `,` type($counter)"

    def __init__(self, key: SSAValue, counter: SSAValue, rounds: int | CountAttr = 20):
        Operation.__init__(
            self,
            operands=(key, counter),
            result_types=(counter.type,),
            properties={"rounds": rounds if isinstance(rounds, CountAttr) else CountAttr(rounds)},
        )

    def verify_(self) -> None:
        key, counter = tensor_type_of(self.key, self.name), tensor_type_of(self.counter, self.name)
        expected = tensor_of(_WORD, (4,))
        if key.element_type != _WORD or len(shape_of(key)) != 1 or not are_equal_extents(shape_of(key)[0], 4):
            raise VerifyException(f"{self.name}: key is {key}, expected {expected}")
        shape = shape_of(counter)
        if counter.element_type != _WORD or not shape or not are_equal_extents(shape[0], 4):
            raise VerifyException(
                f"{self.name}: counter is {counter}, expected elements of ui32 and 4 words in dim 0"
            )
        rounds = self.rounds.data
        if not 1 <= rounds <= MAX_ROUNDS:
            raise VerifyException(f"{self.name}: {rounds} rounds, expected 1 to {MAX_ROUNDS}")

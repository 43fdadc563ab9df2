"""Memory of a kernel's own, `low.alloca`."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, NoneAttr, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, result_def, traits_def
from xdsl.traits import MemoryAllocEffect
from xdsl.utils.exceptions import VerifyException

from ..buffer_size import is_strided, verify_element

SHARED = StringAttr("shared")
"""The memory space of what all work-items of a work-group share."""


@irdl_op_definition
class AllocaOp(IRDLOperation):
    """
    A row of elements that is there until the kernel ends; nothing is known of them before they are stored to:
    one for each work-item, or, with the memory space `"shared"`, one for each work-group.

    ```mlir
    %row = low.alloca : memref<16xf32>
    %tile = low.alloca : memref<256xf32, "shared">
    ```
    """

    name = "low.alloca"
    memref = result_def(MemRefType)
    traits = traits_def(MemoryAllocEffect())
    assembly_format = "attr-dict `:` type($memref)"

    def __init__(self, type: MemRefType[Any]):
        Operation.__init__(self, result_types=(type,))

    @property
    def type(self) -> MemRefType[Attribute]:
        return self.memref.type

    @property
    def is_shared(self) -> bool:
        """Whether a work-group has one, and not each of its work-items."""
        return self.type.memory_space == SHARED

    def verify_(self) -> None:
        type = self.type
        verify_element(self.name, type)
        if len(type.get_shape()) != 1 or DYNAMIC_INDEX in type.get_shape() or is_strided(type):
            raise VerifyException(f"{self.name}: cannot allocate {type} (expected one static extent)")
        if not self.is_shared and not isinstance(type.memory_space, NoneAttr):
            raise VerifyException(f'{self.name}: {type.memory_space} is no memory space (expected "shared")')

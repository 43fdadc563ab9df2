"""What all kernels of one OpenCL C text share: the helpers, the types, what the device lacks."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, VectorType, f64, i1
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import DiagnosticException

from ....dialects.element_types import element_type_of
from ...interface import DeviceInfo
from .helpers import Helpers
from .types import LANES, SCALARS

_INDEX = IndexType()


class Source:
    """
    One text to be: its helper functions, and the types it may use on its device.

    `who` begins every message.
    """

    def __init__(self, who: str, device: DeviceInfo):
        self.who = who
        self.device = device
        self.helpers = Helpers()
        self.uses_f64 = False
        self.uses_i64_atomics = False
        self._types: dict[Attribute, str] = {}

    def fail(self, op: Operation, what: str) -> DiagnosticException:
        """Returns the error to raise about `op`."""
        return DiagnosticException(f"{self.who}: {op.name}: {what}")

    def element(self, type: Attribute, op: Operation) -> str:
        """
        Returns the C type of one element of a scalar or vector type.

        Raises:
            DiagnosticException: C or the device has no such type; names `op`.
        """
        spelled = self._types.get(type)
        if spelled is not None:
            return spelled
        element = element_type_of(type)
        if element not in SCALARS:
            raise self.fail(op, f"no C type for {type}")
        if isinstance(type, VectorType) and (type.get_num_dims() != 1 or type.get_shape()[0] not in LANES):
            raise self.fail(op, f"no C type for {type} (1-d vectors of {', '.join(map(str, LANES))} lanes)")
        if element not in (i1, _INDEX) and not self.device.supports(element):
            raise self.fail(op, f"device {self.device.name} lacks {element}")
        self.uses_f64 |= element == f64
        self._types[type] = SCALARS[element]
        return SCALARS[element]

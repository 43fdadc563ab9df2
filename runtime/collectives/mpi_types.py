"""What MPI is told of arrays: element types, arrays, and how elements are combined."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...dialects.graph import ReduceKind
from ...semantics.numpy_types import is_floating
from ...semantics.reductions import reduce

Array = npt.NDArray[Any]

_OWN_TYPES = {
    "float64": "DOUBLE",
    "float32": "FLOAT",
    "int64": "INT64_T",
    "int32": "INT32_T",
    "int16": "INT16_T",
    "int8": "INT8_T",
    "uint64": "UINT64_T",
    "uint32": "UINT32_T",
    "uint16": "UINT16_T",
    "uint8": "UINT8_T",
}
"""MPI's names of the dtypes that it knows."""

_OWN_OPS = {"add": "SUM", "mul": "PROD", "max": "MAX", "min": "MIN", "and": "BAND", "or": "BOR"}
"""MPI's names of reductions, by those of `graph.reduce`."""


class MpiTypes:
    """
    The datatypes and operations of one process, made once. Used by the thread that begins collectives; the
    functions that MPI calls back to may run in any thread.
    """

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self._elements: dict[np.dtype[Any], Any] = {}
        self._dtypes: list[tuple[Any, np.dtype[Any]]] = []
        self._ops: dict[str, Any] = {}
        self._known_ops: dict[tuple[str, np.dtype[Any]], Any] = {}

    def element(self, dtype: np.dtype[Any]) -> Any:
        """Returns the datatype of one element; one of as many bytes where MPI has no type for it."""
        found = self._elements.get(dtype)
        if found is None:
            name = _OWN_TYPES.get(dtype.name)
            if name is None:
                found = self.mpi.BYTE.Create_contiguous(dtype.itemsize)
                found.Commit()
            else:
                found = getattr(self.mpi, name)
            self._elements[dtype] = found
            self._dtypes.append((found, dtype))
        return found

    def whole(self, array: Array) -> list[Any]:
        """Returns an array as mpi4py takes it: its memory, the number of its elements, their type."""
        return [array.reshape(-1).view(np.uint8), array.size, self.element(array.dtype)]

    def op(self, reduction: str, dtype: np.dtype[Any]) -> Any:
        """
        Returns what combines elements: MPI's own operation, or one of Tenon's where MPI's is not that of
        `graph.reduce`: of floats that MPI does not know; the greatest and least of floats, which are NaN
        where an element is and know -0.0 from 0.0; and of integers of 8 and 16 bits, which wrap: the vectors
        of Open MPI 5 keep them at their limits.
        """
        known = self._known_ops.get((reduction, dtype))
        if known is None:
            known = self._known_ops[reduction, dtype] = self._op(reduction, dtype)
        return known

    def _op(self, reduction: str, dtype: np.dtype[Any]) -> Any:
        is_float = is_floating(dtype)
        differs = reduction in ("max", "min") if is_float else dtype.itemsize < 4
        if dtype.name in _OWN_TYPES and not differs:
            return getattr(self.mpi, _OWN_OPS[reduction])
        found = self._ops.get(reduction)
        if found is None:
            found = self._ops[reduction] = self.mpi.Op.Create(self._combiner(reduction), commute=True)
        return found

    def _combiner(self, reduction: str) -> Any:
        def combined(left: Any, right: Any, datatype: Any) -> None:
            dtype = next(dtype for known, dtype in self._dtypes if known == datatype)
            source, target = np.frombuffer(left, dtype), np.frombuffer(right, dtype)
            with np.errstate(all="ignore"):
                if reduction in ("add", "mul"):
                    (np.add if reduction == "add" else np.multiply)(source, target, out=target)
                else:
                    target[...] = reduce(ReduceKind(reduction), np.stack([source, target]), (0,), False)

        return combined

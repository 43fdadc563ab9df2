"""A kernel that copies between any two strided places."""

from __future__ import annotations

from itertools import product
from math import gcd, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from ..strided_box import StridedBox
from .device import OpenCLDeviceInfo

if TYPE_CHECKING:
    import pyopencl

_AXES = 4
"""The axes that one launch runs over; those before them take one launch for each point."""

_UNITS = {8: "ulong", 4: "uint", 2: "ushort", 1: "uchar"}

_SOURCE = """
__kernel void copy_UNIT(
    __global uchar *target, ulong target_at, __global const uchar *source, ulong source_at,
    ulong4 extents, long4 target_strides, long4 source_strides, ulong run
) {
  ulong point = get_global_id(0);
  ulong unit = point % run;
  point /= run;
  ulong w = point % extents.w;
  point /= extents.w;
  ulong z = point % extents.z;
  point /= extents.z;
  ulong y = point % extents.y;
  ulong x = point / extents.y;
  long4 at = (long4)((long)x, (long)y, (long)z, (long)w);
  long4 t = at * target_strides, s = at * source_strides;
  ((__global UNIT *)(target + (target_at + (ulong)(t.x + t.y + t.z + t.w))))[unit] =
      ((__global const UNIT *)(source + (source_at + (ulong)(s.x + s.y + s.z + s.w))))[unit];
}
"""


class StridedKernels:
    """
    The kernel for each size of what one work-item moves, built when it is first asked for. Used by one thread
    at a time.
    """

    def __init__(self, context: pyopencl.Context, info: OpenCLDeviceInfo) -> None:
        self._context = context
        self._info = info
        self._kernels: dict[int, pyopencl.Kernel] = {}

    def copy(
        self,
        queue: pyopencl.CommandQueue,
        box: StridedBox,
        target: pyopencl.Buffer,
        target_at: int,
        source: pyopencl.Buffer,
        source_at: int,
    ) -> None:
        """Queues a copy of `box`, which is not empty, from the byte `source_at` to the byte `target_at`."""
        import pyopencl

        strides = (*box.target_strides, *box.source_strides)
        unit = gcd(8, box.run_nbytes, target_at, source_at, *strides)
        kernel = self._kernel(unit)
        n_outer = max(len(box.extents) - _AXES, 0)
        extents = _vector(np.uint64, box.extents[n_outer:], 1)
        target_strides = _vector(np.int64, box.target_strides[n_outer:], 0)
        source_strides = _vector(np.int64, box.source_strides[n_outer:], 0)
        n_items = prod(box.extents[n_outer:]) * (box.run_nbytes // unit)
        run = np.uint64(box.run_nbytes // unit)
        for point in product(*map(range, box.extents[:n_outer])):
            to = np.uint64(target_at + _distance(point, box.target_strides))
            origin = np.uint64(source_at + _distance(point, box.source_strides))
            kernel.set_args(target, to, source, origin, extents, target_strides, source_strides, run)
            pyopencl.enqueue_nd_range_kernel(queue, kernel, (n_items,), None)

    def _kernel(self, unit: int) -> pyopencl.Kernel:
        import pyopencl

        if unit not in self._kernels:
            from .compile import OpenCLCompiler

            compiler = OpenCLCompiler(self._context, self._context.devices[0])
            artifact = compiler.compile(_SOURCE.replace("UNIT", _UNITS[unit]), self._info)
            self._kernels[unit] = pyopencl.Kernel(artifact.native, f"copy_{_UNITS[unit]}")
        return self._kernels[unit]


def _distance(point: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return sum(at * stride for at, stride in zip(point, strides, strict=False))


def _vector(dtype: Any, values: tuple[int, ...], filler: int) -> bytes:
    """Returns `values`, with fillers before them, as the bytes of a vector of OpenCL C."""
    return np.array((filler,) * (_AXES - len(values)) + values, dtype).tobytes()

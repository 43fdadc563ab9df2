"""
Pads the images of convolutions where they are read, some rows at a time.

    sched.kernel @pad(%x: memref<8x64x56x56xf32>, %padded: memref<8x64x58x58xf32>) { ... }
    sched.kernel @conv(%w: ..., %padded: memref<8x64x58x58xf32>, %y: memref<8x64x56x56xf32>) {
      sched.axis %n = 8 block {
        sched.axis %i = 56 block {
          sched.axis %o = 64 tile(32) vector(16) {
            sched.axis %j = 56 tile(14) vector(8) { ... %padded[%n, %c, %i + %k, %j + %l] ... }
          }
        }
      }
    }

-->

    sched.kernel @conv(%w: ..., %x: memref<8x64x56x56xf32>, %y: memref<8x64x56x56xf32>) {
      sched.axis %n = 8 block {
        sched.axis %i_outer = 14 block {
          %rows = sched.alloc local : memref<1x64x6x58xf32>
          sched.axis %rows_at = 1 { ... memref.store %element_or_zero, %rows[...] ... }
          sched.axis %i_inner = 4 {
            sched.axis %o = 64 tile(32) vector(16) {
              sched.axis %j = 56 tile(14) vector(8) { ... %rows[0, %c, %i_inner + %k, %j + %l] ... }
            }
          }
        }
      }
    }

A padded copy of all images leaves the second cache before it is read; and of an image whose channels are
apart, a row is read in many short pieces that no prefetcher foresees. So many rows are copied at a time that
they take `staged-nbytes` or less, and what two groups of rows share is copied twice. Blocks of channels that
run within a row read what is staged for all of them, unless each is a work-group of its own.

The kernel that fills the buffer must be one that computes each element of it in a few steps, for that
convolution alone, and nothing in between may change what it reads. An image that is filled in another way is
copied as it is, where its channels are apart. Images that take a quarter of the second cache or less together
stay as they are.

Requires: kernels that `tile-convolutions` has mapped, and programs whose items do not wait for one another
yet. Ensures: what each program computes is unchanged, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument
from xdsl.passes import ModulePass

from ....dialects import sched
from ....dialects.buffer_size import nbytes_bound
from ....dialects.element_types import NBYTES, element_type_of
from ....dialects.modules.kernel_access import accesses_of, kernels_of, launches_of
from ....dialects.sched import Level, MappingAttr
from ...indices.access import planned_dims
from ...indices.analysis import IndexAnalysis
from ...indices.nests import nest_of
from ...machine.kernel_memory import IMAGE_NBYTES_LIMIT
from ...machine.target import L2_NBYTES, VECTOR_NBYTES, check_positive
from ...rewriting.kernel_names import KernelNames
from ..steps.loop_nests.errors import ScheduleError
from ..steps.loop_nests.loops import kernel_around
from ..steps.loop_nests.region import read_region, reads_of
from ..steps.primitives.partition import cut, pieces_along
from ..steps.primitives.split import split
from ..steps.primitives.stage import stage
from ..steps.recipe import end_recipe
from .producing_kernels import (
    ElementCode,
    compute_argument,
    copied_kernel,
    element_code,
    launch_without,
    producer_of,
)
from .reasons import add_reason

MOST_ROWS_COPIED = 1.75
"""How many times as many rows as the image has may be copied."""


@dataclass(frozen=True)
class StageImagesPass(ModulePass):
    """Pads the images of convolutions where they are read, some rows at a time."""

    name = "stage-images"
    vector_nbytes: int = VECTOR_NBYTES
    l2_nbytes: int = L2_NBYTES
    staged_nbytes: int = IMAGE_NBYTES_LIMIT

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_positive(self, "vector_nbytes", "l2_nbytes", "staged_nbytes")
        launches = launches_of(op)
        kernels = {name: each for name, each in kernels_of(op).items() if isinstance(each, sched.KernelOp)}
        names = KernelNames(op)
        for name, kernel in list(kernels.items()):
            found = self._image(kernel) if name in launches else None
            if found is not None and self._rows_at_once(*found) is not None:
                self._stage_launches(op, kernel, found[1], launches, kernels, names)

    def _stage_launches(
        self,
        module: ModuleOp,
        kernel: sched.KernelOp,
        image: BlockArgument,
        launches: dict[str, list[sched.LaunchOp]],
        kernels: Mapping[str, sched.KernelOp],
        names: KernelNames,
    ) -> None:
        """Stages the image in a kernel, one for each way in which those of its launches are padded."""
        accesses, number, name = accesses_of(module), image.index, kernel.sym_name.data
        groups: dict[str, list[tuple[sched.LaunchOp, sched.LaunchOp]]] = {}
        codes: dict[str, ElementCode] = {}
        for launch in launches[name]:
            producer = producer_of(launch, number, accesses)
            filler = "" if producer is None else producer.kernel.root_reference.data
            code = codes.get(filler) if producer is None else element_code(kernels[filler])
            is_same = code is not None and code.result.type == image.type and code.may_be_in(kernel)
            if producer is not None and code is not None and is_same and not code.before:
                codes[filler] = code
                groups.setdefault(filler, []).append((launch, producer))
        left = len(launches[name])
        for filler, pairs in groups.items():
            left -= len(pairs)
            staged = kernel if left == 0 else copied_kernel(kernel, names.fresh(f"{name}_staged"))
            again = self._image(staged)
            assert again is not None, f"{kernel.name}: a copy of @{name} is another kernel"
            self._stage(*again, codes[filler])
            for launch, producer in pairs:
                launch_without(launch, producer, staged.sym_name.data, number, codes[filler], {})
                launches[filler].remove(producer)
            if not launches[filler]:
                kernels[filler].detach()
                kernels[filler].erase()
        if left and _is_read_apart(image):
            again = self._image(kernel)
            assert again is not None, f"{kernel.name}: @{name} is another kernel"
            self._stage(*again, None)

    def _image(self, kernel: sched.KernelOp) -> tuple[sched.AxisOp, BlockArgument] | None:
        """Returns the rows around the tiles of a convolution, and the argument that they move through."""
        nest = nest_of(kernel)
        tiled = [number for number, axis in enumerate(nest) if axis.mapping.tile.data]
        if len(tiled) != 2 or tiled[0] == 0 or tiled != [len(nest) - 2, len(nest) - 1]:
            return None
        # Blocks of channels may run within a row: all of them read what is staged for it.
        for number in reversed(range(tiled[0])):
            image = self._moved_through(nest[: number + 1], nest[number + 1 : tiled[0]], nest[-1])
            if image is not None:
                return nest[number], image
        return None

    def _moved_through(
        self, around: Sequence[sched.AxisOp], inside: Sequence[sched.AxisOp], innermost: sched.AxisOp
    ) -> BlockArgument | None:
        """Returns the large argument of which all axes `around` read other parts, but none `inside`."""
        rows, analysis = around[-1], IndexAnalysis()
        if rows.count is not None:
            return None
        loads = [op for op in innermost.walk() if isinstance(op, memref.LoadOp)]
        axis = analysis.axis(rows)
        moved = [op for op in loads if any(axis in analysis.expr(index).axes() for index in op.indices)]
        within = [op for op in moved if isinstance(op.parent_op(), sched.ReduceOp)]
        if len(within) != 1 or not isinstance(within[0].memref, BlockArgument):
            return None
        (load,) = within
        image = load.memref
        assert isinstance(image, BlockArgument), "checked"
        if nbytes_bound(image.type, planned_dims(kernel_around(rows))) <= self.l2_nbytes // 4:
            return None
        if any(use.operation is not load for use in image.uses):
            return None
        # The tiles of any other axis would each be staged again.
        address = analysis.address(load)
        if any(address.stride(analysis.axis(each)) in (0, None) for each in around):
            return None
        # Several work-groups would each stage the same rows.
        if any(
            address.stride(analysis.axis(each)) != 0 or each.mapping.level.data is not Level.SERIAL
            for each in inside
        ):
            return None
        return image

    def _stage(self, rows: sched.AxisOp, image: BlockArgument, code: ElementCode | None) -> None:
        """Stages an image some rows at a time, computed by `code`, or as it is."""
        at_once = self._rows_at_once(rows, image)
        assert at_once is not None, f"{rows.name}: too few rows fit"
        kernel, mapping = kernel_around(rows), rows.mapping
        rows.mapping = MappingAttr.get()
        outer, _ = split(rows, at_once)
        outer.mapping = mapping
        innermost = stage(outer, image)[-1]
        if code is not None:
            end_recipe(kernel, "the image is computed where it is staged, by what was another kernel")
            compute_argument(kernel, image, code, {})
        self._map_copy(kernel, innermost, NBYTES[element_type_of(image.type)])
        add_reason(kernel, f"{at_once} rows of the image at a time in a local buffer")

    def _rows_at_once(self, rows: sched.AxisOp, image: BlockArgument) -> int | None:
        """Returns for how many iterations what they read is staged together, None if for too few."""
        analysis = IndexAnalysis()
        reads, axis, extent = reads_of(image, rows), analysis.axis(rows), rows.extent
        try:
            box = read_region(self.name, analysis, image, rows, reads)
        except ScheduleError:
            return None
        (load,) = reads
        steps = [analysis.expr(index).stride(axis) for index in load.indices]
        moved = [dim for dim, step in enumerate(steps) if step != 0]
        # A copy of rows whose length varies would be no vectors: their borders are not known.
        if len(moved) != 1 or not isinstance(box.limits[-1], int):
            return None
        step, one = steps[moved[0]], box.extents[moved[0]]
        if not isinstance(step, int) or step < 0:
            return None
        row_nbytes = prod(box.extents) // one * NBYTES[element_type_of(image.type)]
        most = (min(self.staged_nbytes, self.l2_nbytes // 4) // row_nbytes - one) // step + 1
        if most < 1:
            return None
        # Rows of a number that varies are not shared out evenly.
        at_once = (
            -(-extent // -(-extent // most)) if isinstance(extent, int) else min(most, analysis.most(rows))
        )
        copied = one + (at_once - 1) * step
        is_all = at_once == analysis.most(rows)
        return None if copied > MOST_ROWS_COPIED * at_once * step and not is_all else at_once

    def _map_copy(self, kernel: sched.KernelOp, axis: sched.AxisOp, nbytes: int) -> None:
        """Maps the innermost axis that fills a buffer to vectors, but for what is at the borders."""
        pieces = None if axis.count is not None else pieces_along(axis)
        if pieces is None:
            return
        for piece, part in zip(pieces, cut(axis, pieces), strict=True):
            assert isinstance(part, sched.AxisOp), "a piece of an axis"
            widths = [1]
            while widths[-1] * 2 <= min(piece.extent, 16, self.vector_nbytes // max(nbytes, 4)):
                widths.append(widths[-1] * 2)
            lanes = min(widths, key=lambda width: piece.extent // width + piece.extent % width)
            if piece.is_linear and lanes > 1:
                part.mapping = MappingAttr.get(vector=lanes)


def _is_read_apart(image: BlockArgument) -> bool:
    """Returns whether windows are read of an image whose neighbours are not what is folded innermost."""
    (load,) = [use.operation for use in image.uses]
    assert isinstance(load, memref.LoadOp), f"{load.name}: an image is loaded"
    analysis, inner = IndexAnalysis(), load.parent_op()
    assert isinstance(inner, sched.ReduceOp), "an image is loaded in a sum"
    around = inner.parent_op()
    return isinstance(around, sched.ReduceOp) and analysis.address(load).stride(analysis.axis(inner)) != 1

"""Reductions of extents: smaller tensors, buffers and loops, all that belong together at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp

from ....dialects import low, sched
from ....dialects.graph import dims_of
from ....dialects.modules.dim_specialization import specialize
from ..search import Edit, Edits, Reduction
from .extents import ExtentClasses, NewExtent, Place
from .graph_extents import extents_of_functions, resize_functions
from .program_extents import extents_of_programs, resize_programs


class Shrink(Reduction):
    """
    Makes extents smaller, by `less`, wherever they are: all that are equal to one, and those that follow from
    it. `classes_of` finds out which these are, and `resize` changes them.
    """

    def __init__(
        self,
        name: str,
        less: Callable[[int], int],
        classes_of: Callable[[ModuleOp], ExtentClasses],
        resize: Callable[[ModuleOp, NewExtent], None],
    ) -> None:
        self.name = name
        self._less = less
        self._classes_of = classes_of
        self._resize = resize

    def count(self, module: ModuleOp) -> int:
        return len(self._places(self._classes_of(module)))

    def apply(self, module: ModuleOp, places: range) -> None:
        classes = self._classes_of(module)
        free = self._places(classes)
        chosen = [free[number] for number in places]
        self._resize(module, classes.solve({place: self._less(classes.extent(place)) for place in chosen}))

    def _places(self, classes: ExtentClasses) -> list[Place]:
        return [
            place for place in classes.free() if 0 < self._less(classes.extent(place)) < classes.extent(place)
        ]


class FixDims(Edits):
    """Replaces named dims of functions by numbers, the least that they may have but for 0."""

    name = "fix named dims"

    def edits(self, module: ModuleOp) -> Sequence[Edit]:
        if any(isinstance(op, sched.ProgramOp | sched.KernelOp | low.KernelOp) for op in module.body.ops):
            return ()
        return [
            lambda name=name, least=symbol.minimum: specialize(module, {name: max(1, least)})
            for name, symbol in dims_of(module).items()
        ]


_LESS: Sequence[tuple[str, Callable[[int], int]]] = (
    ("extents of 1", lambda extent: 1),
    ("extents of 2", lambda extent: 2),
    ("extents of 3", lambda extent: 3),
    ("halves of extents", lambda extent: extent // 2),
    ("three quarters of extents", lambda extent: extent - extent // 4),
    ("seven eighths of extents", lambda extent: extent - extent // 8),
    ("extents less 1", lambda extent: extent - 1),
)
"""How an extent is made smaller, in the order of what takes most away."""

SHRINK_TENSORS = tuple(Shrink(name, less, extents_of_functions, resize_functions) for name, less in _LESS)

SHRINK_BUFFERS = tuple(Shrink(name, less, extents_of_programs, resize_programs) for name, less in _LESS)

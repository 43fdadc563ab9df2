"""
Watches one element of what a module gives, for the op that it got its value from.

At `graph` that is the op whose result is returned or written to a node. In a program it is what the last
store that changed the element's bytes had computed, or the transfer that changed them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from xdsl.ir import Operation, SSAValue

from ...semantics.errors import describe
from ...semantics.numpy_types import Array

_MOST_LINES = 5
"""How many ops are told of at most: the one that computed the element, and those that gave it values."""

_MOST_NUMBERS = 8
"""An operand of another shape is shown whole where it has no more elements than this."""

Known = Callable[[SSAValue], object | None]
"""Returns the value of an operand where an element was computed, None where it has none."""


class ElementWatch:
    """
    Watches the element at `index` of the result of that number, or of the node of that name. `origin` says
    afterwards where its value comes from, a line for each op; it has none where no op computed it.
    """

    def __init__(self, result: int | str, index: tuple[int, ...]) -> None:
        self.result = result
        self.index = index
        self.origin: Sequence[str] = ()
        self._computed: dict[int, tuple[Array, Operation, Sequence[Array]]] = {}
        """What computed each array of `graph`, which is kept so that its `id` stays its own."""
        self._element: Array | None = None
        self._bytes = b""

    def computed(self, op: Operation, operands: Sequence[Array], results: Sequence[Array]) -> None:
        """Is told of each op of `graph`; an op around others is told of after them and has their arrays."""
        for result in results:
            self._computed.setdefault(id(result), (result, op, operands))

    def returned(self, results: Sequence[Array]) -> None:
        """Is told of what a function of `graph` returns."""
        if isinstance(self.result, int):
            self._note(results[self.result], self.index)

    def written(self, node: str, place: tuple[int, ...], value: Array) -> None:
        """Is told of what is written to a part of a node."""
        if node == self.result and self.index[: len(place)] == place:
            self._note(value, self.index[len(place) :])

    def _note(self, array: Array, index: tuple[int, ...]) -> None:
        lines: list[str] = []
        waiting = [array]
        while waiting and len(lines) < _MOST_LINES:
            found = self._computed.get(id(waiting.pop(0)))
            if found is None:
                continue
            result, op, operands = found
            shown = [_shown(operand, result, index) for operand in operands]
            if operands:
                lines.append(_line(op, dict(zip(op.operands, shown, strict=True)).get))
            waiting += [operand for operand in operands if operand.shape == result.shape]
        self.origin = lines

    def begin(self, elements: Array) -> None:
        """Is told where the result, or the node, lies; of several times the first one counts."""
        if self._element is None:
            self._element = elements[(*self.index, ...)]
            self._bytes = self._element.tobytes()

    @property
    def address(self) -> int:
        """Where the element is."""
        assert self._element is not None, "nothing is watched yet"
        return self._element.ctypes.data

    def has_changed(self) -> bool:
        """Returns whether the bytes of the element are others than the last time."""
        if self._element is None:
            return False
        previous, self._bytes = self._bytes, self._element.tobytes()
        return self._bytes != previous


def origin_of_stored(store: Operation, stored: SSAValue, known: Known) -> list[str]:
    """
    Returns the ops of a kernel that computed what `store` has stored, a line for each, from the last one on;
    of operands those of the same type are followed.
    """
    lines = [_line(store, known)]
    waiting = [stored]
    while waiting and len(lines) <= _MOST_LINES:
        value = waiting.pop(0)
        op = value.owner
        if isinstance(op, Operation) and op.operands and not op.regions:
            lines.append(_line(op, known))
            waiting += [operand for operand in op.operands if operand.type == value.type]
    return lines


def _line(op: Operation, known: Known) -> str:
    """Returns an op, its place, and the values of its operands that are known."""
    values = [(operand, known(operand)) for operand in op.operands]
    given = [f"{_name(operand)} = {value}" for operand, value in values if value is not None]
    result = f"{_name(op.results[0])} = " if op.results else ""
    return result + describe(op) + (f" of {', '.join(given)}" if given else "")


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint or '_'}"


def _shown(operand: Array, result: Array, index: tuple[int, ...]) -> object | None:
    if operand.shape == result.shape:
        return operand[index]
    return operand.tolist() if operand.size <= _MOST_NUMBERS else None


_WATCH: ContextVar[ElementWatch | None] = ContextVar("element watch", default=None)


@contextmanager
def watching(watch: ElementWatch) -> Generator[None]:
    """Lets what runs inside tell `watch`."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)


def element_watch() -> ElementWatch | None:
    """Returns what is to be told now, None where nobody asks."""
    return _WATCH.get()

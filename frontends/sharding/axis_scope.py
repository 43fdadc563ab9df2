"""The mesh whose axes a function of `shard_map` names while it is traced."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from threading import local

from ...errors import TenonError
from .mesh import Mesh


class AxisScope:
    """A mesh, and how many collectives were written so far."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self._n_channels = 0

    def channel(self) -> int:
        """Returns the next number by which ranks find one another, from 1."""
        self._n_channels += 1
        return self._n_channels

    def axes(self, names: str | Sequence[str], who: str) -> tuple[int, ...]:
        """Returns the numbers of axes. Raises ValueError, for `who`, where the mesh has no such axis."""
        return tuple(self.mesh.axis(name, who) for name in ([names] if isinstance(names, str) else names))


class _Open(local):
    def __init__(self) -> None:
        self.scopes: list[AxisScope] = []


_OPEN = _Open()


@contextmanager
def axis_scope(mesh: Mesh) -> Generator[AxisScope]:
    """Makes the axes of a mesh those that collectives of this thread name."""
    scope = AxisScope(mesh)
    _OPEN.scopes.append(scope)
    try:
        yield scope
    finally:
        _OPEN.scopes.pop()


def current_scope(who: str) -> AxisScope:
    """Returns the innermost scope. Raises TenonError, for `who`, outside of all."""
    if not _OPEN.scopes:
        raise TenonError(f"{who}: no mesh has axes here (hint: inside of a function of tenon.shard_map)")
    return _OPEN.scopes[-1]


def is_on_parts() -> bool:
    """Returns whether a function of parts is traced in this thread: its arrays are those of one rank."""
    return bool(_OPEN.scopes)

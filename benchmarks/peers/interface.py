"""What a peer is, and which are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

PEER_NAMES = ("numexpr", "numba", "torch", "jax")
"""For each name there is `<name>_peer.py`, which imports the library at once."""


class Peer(Protocol):
    """A module of this folder."""

    KERNELS: Mapping[str, Callable[..., Any]]
    """By workload: takes prepared arguments by name and returns what `numpy.asarray` understands."""

    @staticmethod
    def prepare(array: Any) -> Any:
        """Returns the library's own form of a numpy array. Not timed."""
        ...


def find_peers() -> tuple[dict[str, Peer], list[str]]:
    """Returns the peers whose library is installed, and the names of the others."""
    installed: dict[str, Peer] = {}
    missing: list[str] = []
    for name in PEER_NAMES:
        try:
            installed[name] = import_module(f".{name}_peer", __package__)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            missing.append(name)
    return installed, missing

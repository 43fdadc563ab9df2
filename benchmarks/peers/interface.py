"""What a peer is, and which are installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Protocol

from ..workloads.workload import Array, Workload

Thunk = Callable[[], Any]

PEER_NAMES = ("numpy", "numexpr", "numba", "jax", "torch", "onnxruntime", "iree", "tinygrad")
"""For each name there is `<name>_peer.py`, which imports the library at once."""


class Peer(Protocol):
    """A module of this folder."""

    VERSION: str
    FAILURES: tuple[type[Exception], ...]
    """What the library raises for work that it cannot compile or run."""

    @staticmethod
    def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> Mapping[str, Thunk]:
        """
        Returns the library's ways of doing the work, by name, ready to be called: arguments are in the
        library's own form and programs are compiled. There is none for work that the library is not for.
        A call returns, once it is done, what `numpy.asarray` understands.
        """
        ...


class CompilingPeer(Peer, Protocol):
    """A peer that compiles: how long that takes is timed too."""

    @staticmethod
    def compiler(workload: Workload, arguments: Mapping[str, Array]) -> Thunk | None:
        """
        Returns what compiles the work, from the user's function to what can be called, each time it is called
        as if it had never been; None where the library is not for that work.
        """
        ...


def find_peers(names: tuple[str, ...] = PEER_NAMES) -> tuple[dict[str, Peer], dict[str, str]]:
    """Returns the peers whose library is installed, and for the others why they are not there."""
    installed: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            installed[name] = import_module(f".{name}_peer", __package__)
        except ImportError as error:
            missing[name] = str(error)
    return installed, missing

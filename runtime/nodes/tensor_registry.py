"""All tensor nodes of the process that are still used."""

from __future__ import annotations

import gc
import logging
import sys
from collections.abc import Callable
from threading import RLock
from typing import Generic, Protocol, Self, TextIO, TypeVar
from weakref import WeakValueDictionary

from ...errors import TenonError

LOGGER = logging.getLogger("tenon.tensor_node")
"""Where tensor nodes are logged."""


class Registered(Protocol):
    """What the registry knows of a tensor node."""

    @property
    def id(self) -> int: ...

    @property
    def ident(self) -> str: ...

    @property
    def debug_name(self) -> str: ...

    @property
    def header(self) -> str: ...

    def __lt__(self, other: Self, /) -> bool: ...


NodeT = TypeVar("NodeT", bound=Registered)


class TensorRegistry(Generic[NodeT]):
    """
    Finds tensor nodes by id without keeping them alive. Any thread may call; nothing blocks for long. Ids
    that it chooses count up from 1 and are never used twice.
    """

    def __init__(self) -> None:
        self._nodes: WeakValueDictionary[int, NodeT] = WeakValueDictionary()
        self._last_id = 0
        # The garbage collector may run finalizers that make nodes, in a thread that holds the lock.
        self._lock = RLock()

    def reserve_id(self) -> int:
        """Returns an id that no node has or had."""
        with self._lock:
            self._last_id += 1
            return self._last_id

    def add(self, node: NodeT) -> None:
        """
        Makes a node found by its id.

        Raises:
            TenonError: another node has that id.
        """
        with self._lock:
            other = self._nodes.get(node.id)
            if other is not None and other is not node:
                raise TenonError(f"tensor node {node.ident}: {other.debug_name} has this id already")
            self._last_id = max(self._last_id, node.id)
            self._nodes[node.id] = node

    def find(self, id: int) -> NodeT | None:
        """Returns the node with an id, None where there is none or it is used no more."""
        return self._nodes.get(id)

    def nodes(self, predicate: Callable[[NodeT], bool] | None = None) -> list[NodeT]:
        """Returns the nodes that are still used and of which `predicate` is true, by id."""
        with self._lock:
            found = list(self._nodes.values())
        return sorted(node for node in found if predicate is None or predicate(node))

    def print_accessible_headers(
        self, predicate: Callable[[NodeT], bool] | None = None, file: TextIO | None = None
    ) -> None:
        """Collects garbage, then prints the headers of `nodes(predicate)`, one per line."""
        gc.collect()
        for node in self.nodes(predicate):
            print(node.header, file=sys.stdout if file is None else file)

    def log_accessible_headers(
        self, predicate: Callable[[NodeT], bool] | None = None, level: int = logging.INFO
    ) -> None:
        """Collects garbage, then logs the headers of `nodes(predicate)`, one record each."""
        gc.collect()
        for node in self.nodes(predicate):
            LOGGER.log(level, "%s", node.header)

"""An array whose parts the ranks of a mesh have."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn

import numpy as np

from ..arrays.aval import Aval
from ..arrays.concrete import ConcreteArray
from .sharding import Sharding


class ShardedArray:
    """
    An immutable array of which each rank has a part. `shape` is that of the whole; `local` is what this rank
    has of it, from `offsets` on. Made by `shard`, `shard_from`, `load_checkpoint` and by calls of sharded
    programs.
    """

    __slots__ = ("__weakref__", "aval", "local", "sharding")

    aval: Aval
    """The dtype and the shape of the whole."""
    sharding: Sharding
    local: ConcreteArray
    """What this rank has."""

    def __init__(self, aval: Aval, sharding: Sharding, local: ConcreteArray) -> None:
        assert local.shape == sharding.local_shape(aval.shape), f"a part of {aval} of shape {local.shape}"
        self.aval = aval
        self.sharding = sharding
        self.local = local

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return prod(self.aval.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the whole."""
        return self.size * self.dtype.itemsize

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where in the whole the part of this rank begins."""
        return tuple(each.start for each in self.sharding.box(self.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise TypeError(
            f"an array of shape {self.shape} is spread over {self.sharding.mesh.size} ranks "
            "(hint: x.local for the part of this rank, tenon.gather(x) for all of it)"
        )

    def __repr__(self) -> str:
        return f"<sharded {self.aval} by {self.sharding}>"

"""An array whose parts the ranks of a mesh have."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from ..arrays.aval import Aval
from ..arrays.concrete import ConcreteArray
from .sharding import Sharding


class ShardedArray:
    """
    An immutable array of which each rank has a part. `shape` is that of the whole; `local` is what this rank
    has of it, from `offsets` on; on devices of this process `parts` are those of all. Made by `shard`,
    `shard_from`, `load_checkpoint` and by calls of sharded programs.
    """

    __slots__ = ("__weakref__", "aval", "parts", "sharding")

    aval: Aval
    """The dtype and the shape of the whole."""
    sharding: Sharding
    parts: tuple[ConcreteArray, ...]
    """What the ranks of `mesh.here` have: the part of this one, or those on all devices of this process."""

    def __init__(self, aval: Aval, sharding: Sharding, parts: Sequence[ConcreteArray]) -> None:
        for rank, part in zip(sharding.mesh.here, parts, strict=True):
            assert part.shape == sharding.local_shape(aval.shape, rank), f"a part of {aval}: {part.shape}"
        self.aval = aval
        self.sharding = sharding
        self.parts = tuple(parts)

    @property
    def local(self) -> ConcreteArray:
        """What this rank has. Raises TenonError on devices, which are all here."""
        mesh = self.sharding.mesh
        return self.parts[mesh.here.index(mesh.rank)]

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
        """Where in the whole the part of this rank begins. Raises TenonError on devices."""
        return tuple(each.start for each in self.sharding.box(self.shape))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        mesh = self.sharding.mesh
        hint = (
            "x.local for the part of this rank" if mesh.group is None else "x.parts for those on each device"
        )
        raise TypeError(
            f"an array of shape {self.shape} is spread over {mesh.size_text} "
            f"(hint: {hint}, tenon.gather(x) for all of it)"
        )

    def refuse(self, *_: object) -> NoReturn:
        """Raises TypeError: what computes with the array is a program of all ranks, which takes it."""
        raise TypeError(
            f"an array of shape {self.shape} is spread over {self.sharding.mesh.size_text}: it is computed "
            "with in a function of tenon.jit or tenon.shard_map that takes it as an argument "
            "(hint: tenon.jit(f)(x), or tenon.gather(x))"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = refuse
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __neg__ = __abs__ = __invert__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __getitem__ = refuse

    def __eq__(self, other: object) -> Any:
        return True if self is other else self.refuse()

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<sharded {self.aval} by {self.sharding}>"

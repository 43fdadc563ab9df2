"""An array whose parts the ranks of a mesh have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ...errors import TenonError
from ..arrays.array import Array
from ..arrays.aval import Aval
from ..arrays.concrete import ConcreteArray
from ..arrays.tracing_state import note_values_read
from ..tracing.trace import Trace, TracedArray, current_trace
from .axis_scope import is_on_parts
from .sharding import Sharding


class ShardedArray(Array):
    """
    An immutable array of which each rank has a part. `shape` is that of the whole; `local` is what this rank
    has of it, from `offsets` on; on devices of this process `parts` are those of all. Made by `shard`,
    `shard_from`, `load_checkpoint` and by calls of sharded programs.

    A function that is traced computes with it as with any array, whether it is an argument or one that the
    function reads from outside. Elsewhere operators and methods raise TypeError.
    """

    __slots__ = ("__weakref__", "_parts", "sharding")

    sharding: Sharding

    def __init__(self, aval: Aval, sharding: Sharding, parts: Sequence[ConcreteArray]) -> None:
        for rank, part in zip(sharding.mesh.here, parts, strict=True):
            assert part.shape == sharding.local_shape(aval.shape, rank), f"a part of {aval}: {part.shape}"
        self.aval = aval
        self.sharding = sharding
        self._parts = tuple(parts)

    @property
    def parts(self) -> tuple[ConcreteArray, ...]:
        """What the ranks of `mesh.here` have: the part of this one, or those on all devices."""
        note_values_read(self)
        return self._parts

    @property
    def local(self) -> ConcreteArray:
        """What this rank has. Raises TenonError on devices, which are all here."""
        mesh = self.sharding.mesh
        return self.parts[mesh.here.index(mesh.rank)]

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
            "with in a function of tenon.jit, or in one of tenon.shard_map that takes it as an argument "
            "(hint: tenon.jit(f)(x), or tenon.gather(x))"
        )

    def in_trace(self, trace: Trace) -> TracedArray:
        """
        Returns what stands for the array in a function that is traced and reads it from outside: an argument
        of the program, split as the array is.

        Raises:
            TracingError: the function is one of parts, which has no whole arrays.
            TenonError: the function has arrays on another mesh.
        """
        mesh = self.sharding.mesh
        if is_on_parts():
            raise trace.error(
                f"an array of shape {self.shape} is spread over {mesh.size_text}, and a function of parts "
                "reads it from outside (hint: give it to the function of tenon.shard_map as an argument)"
            )
        if trace.mesh not in (None, mesh):
            raise TenonError(
                f"{trace.name}: an array that is read from outside is on {mesh}, others are on {trace.mesh}"
            )
        trace.mesh = mesh
        return trace.capture(self, self.sharding)

    def __bool__(self) -> bool:
        trace = current_trace()
        return self.refuse() if trace is None else bool(self.in_trace(trace))

    def __eq__(self, other: object) -> Any:
        if current_trace() is not None:
            return Array.__eq__(self, other)
        return True if self is other else self.refuse()

    def __ne__(self, other: object) -> Any:
        if current_trace() is not None:
            return Array.__ne__(self, other)
        return False if self is other else self.refuse()

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<sharded {self.aval} by {self.sharding}>"

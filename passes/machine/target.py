"""
The machine that schedules are made for: all that a pass may know of it.

A `Target` is made once, from a device or from the options of a named pipeline, and gives its figures to the
passes that have options of the same names. So a pass has no number of a machine in it but the defaults here,
which stand for a processor of today with AVX2, and its text says what it was told.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from .groups import GroupLimits

P = TypeVar("P", bound=ModulePass)

VECTOR_NBYTES = 32
L1_NBYTES = 48 << 10
L2_NBYTES = 1 << 20
L3_NBYTES = 32 << 20
N_THREADS = 2


def figures_for(kind: type[Any], source: object) -> dict[str, Any]:
    """Returns the attributes of `source` that have the names of fields of a dataclass."""
    return {each.name: getattr(source, each.name) for each in fields(kind) if hasattr(source, each.name)}


def usual_registers(vector_nbytes: int) -> int:
    """Returns how many vectors x86 has registers for: 32 with AVX-512, else 16."""
    return 32 if vector_nbytes >= 64 else 16


@dataclass(frozen=True, slots=True)
class Target:
    """
    One machine. Arithmetic is done in vectors of `vector_nbytes`, of which `vector_registers` are at hand: as
    many as x86 has with such vectors where that is 0. `l1_nbytes` and `l2_nbytes` are bytes of the caches
    that a core has to itself, `l3_nbytes` of the one that cores share, and `n_threads` is how many
    work-groups run at once.
    """

    vector_nbytes: int = VECTOR_NBYTES
    vector_registers: int = 0
    l1_nbytes: int = L1_NBYTES
    l2_nbytes: int = L2_NBYTES
    l3_nbytes: int = L3_NBYTES
    n_threads: int = N_THREADS
    multiplies_bytes: bool = False
    """Whether products of bytes without a sign by those with one are added up four at a time."""
    lacks: tuple[str, ...] = ()
    """The ops that its backend has no rules for, by name."""
    groups: GroupLimits | None = field(default=None)
    """The work-groups of a GPU; None for a processor."""

    @property
    def registers(self) -> int:
        """How many vectors there are registers for."""
        return self.vector_registers or usual_registers(self.vector_nbytes)

    @classmethod
    def told(cls, options: object) -> Target:
        """Returns the machine as a pass, or a pipeline, was told of it by its options."""
        return cls(**figures_for(cls, options))

    def pass_of(self, kind: type[P]) -> P:
        """Returns a pass of a kind, which is told what it has options for."""
        return kind(**figures_for(kind, self))


DEFAULT_TARGET = Target()
"""What text is made for where no machine is named, so that it is the same everywhere."""


def check_positive(pass_: ModulePass, *names: str) -> None:
    """Raises PassFailedException, with all of them, where one of these options is less than 1."""
    values = {name: getattr(pass_, name) for name in names}
    if min(values.values()) < 1:
        texts = [f"{name.replace('_', '-')} {value}" for name, value in values.items()]
        *most, last = texts
        listed = f"{', '.join(most)} and {last}" if most else last
        raise PassFailedException(f"{pass_.name}: {listed} must be 1 or more")

"""Why calls of a jitted function were traced again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .call_signature import CallSignature


@dataclass(frozen=True)
class Miss:
    """
    A call that was traced: the reasons, one for each component that differs from the nearest signature that
    was known, and what it cost. The first call has the reason that there was none.
    """

    function: str
    number: int
    reasons: tuple[str, ...]
    tracing_seconds: float
    compiling_seconds: float

    def __str__(self) -> str:
        cost = f"tracing {self.tracing_seconds * 1e3:.1f} ms, compiling {self.compiling_seconds * 1e3:.1f} ms"
        return f"{self.function}: trace {self.number}: {'; '.join(self.reasons)} ({cost})"


class Misses(tuple[Miss, ...]):
    """The misses of a function, in order; as text one line each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) or "no call was traced"


def nearest_difference(signature: CallSignature, known: Sequence[CallSignature]) -> tuple[str, ...]:
    """Returns how a signature differs from the nearest one that is known, the latest of several."""
    if not known:
        return ("the first call",)
    return min((differences(signature, other) for other in reversed(known)), key=len)


def differences(new: CallSignature, old: CallSignature) -> tuple[str, ...]:
    """Returns each component in which two signatures differ."""
    found: list[str] = []
    before = {name: (key, value) for name, key, value in old.static}
    for name, key, value in new.static:
        if name not in before:
            found.append(f"static argument '{name}' is {value!r}, was not given")
        elif before[name][0] != key:
            found.append(f"static argument '{name}' is {value!r}, was {before[name][1]!r}")
    now = {name for name, _, _ in new.static}
    found += [
        f"static argument '{name}' is not given, was {before[name][1]!r}"
        for name in before
        if name not in now
    ]
    if new.structure is not old.structure:
        old_paths, new_paths = old.paths(), new.paths()
        gone = [path for path in old_paths if path not in new_paths]
        come = [path for path in new_paths if path not in old_paths]
        detail = ", ".join([*(f"{path} is new" for path in come), *(f"{path} is gone" for path in gone)])
        # A static argument that is not given is one place less, and said already.
        if detail or now == set(before):
            found.append(f"the structure of the arguments differs ({detail or 'other containers'})")
    old_avals = dict(zip(old.paths(), old.avals, strict=True))
    for path, aval in zip(new.paths(), new.avals, strict=True):
        was = old_avals.get(path)
        if was is None or was is aval:
            continue
        if was.dtype != aval.dtype:
            found.append(f"{path}: dtype {aval.dtype}, was {was.dtype}")
        if was.shape != aval.shape:
            found.append(f"{path}: shape {list(aval.shape)}, was {list(was.shape)}")
        if was.weak != aval.weak:
            kinds = ("an array", "a Python scalar")
            found.append(f"{path}: {kinds[aval.weak]}, was {kinds[was.weak]}")
    old_shardings = dict(zip(old.paths(), old.shardings, strict=False))
    for path, sharding in zip(new.paths(), new.shardings or [None] * len(new.avals), strict=True):
        if path in old_avals and sharding != old_shardings.get(path):
            found.append(
                f"{path}: {sharding or 'not sharded'}, was {old_shardings.get(path) or 'not sharded'}"
            )
    if not found and new.world is not old.world:
        found.append("it is of another rank of this process")
    return tuple(found) or ("nothing the signature shows",)

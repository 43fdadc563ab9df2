"""
The memory modes of tensor nodes and of values: where they live, and who changes them.

    mode    ::= `effectively_constant` | `virtual` | `never_virtual` | `local` | `device_only`
              | `on_device` (`(` sharing `)`)? | `materialized` | `hosted` (`(` type `)`)?
    type    ::= `constant` | `nonconstant` | `changed_on_devices` (`(` sharing `)`)? | `volatile`
    sharing ::= `per_stream` | `shared_cross_streams`

What is left out is not decided yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.utils.str_enum import StrEnum

from ..errors import MemoryModeError


class ModeKind(StrEnum):
    """Where a tensor lives. Some kinds leave a choice: their docstrings say between what."""

    EFFECTIVELY_CONSTANT = "effectively_constant"
    """Hosted and constant, or virtual."""
    VIRTUAL = "virtual"
    """Nowhere: computed where it is read."""
    NEVER_VIRTUAL = "never_virtual"
    """Local, on a device, or hosted."""
    LOCAL = "local"
    """Within one run of one program."""
    DEVICE_ONLY = "device_only"
    """Local, or on a device."""
    ON_DEVICE = "on_device"
    """On the devices that compute with it, from one run to the next."""
    MATERIALIZED = "materialized"
    """On a device, or hosted."""
    HOSTED = "hosted"
    """On devices as above, and the host keeps a copy."""


class Sharing(StrEnum):
    """Whether the streams of a device share one buffer of a tensor."""

    UNSET = "unset"
    PER_STREAM = "per_stream"
    SHARED_CROSS_STREAMS = "shared_cross_streams"


class HostedKind(StrEnum):
    """Who changes a hosted tensor."""

    UNSET = "unset"
    CONSTANT = "constant"
    """Nobody, once it is initialised."""
    NONCONSTANT = "nonconstant"
    """Devices or the host."""
    CHANGED_ON_DEVICES = "changed_on_devices"
    """Devices; the host's copy changes only when it is fetched."""
    VOLATILE = "volatile"
    """The host; a device's copy changes only when it is sent."""


@dataclass(frozen=True, slots=True)
class MemoryMode:
    """
    A memory mode. `hosted` means something for kind `HOSTED` only; `sharing` for kind `ON_DEVICE`, and for
    kind `HOSTED` that is changed on devices.

    Raises:
        MemoryModeError: `hosted` or `sharing` is set where it means nothing.
    """

    kind: ModeKind
    hosted: HostedKind = HostedKind.UNSET
    sharing: Sharing = Sharing.UNSET

    def __post_init__(self) -> None:
        if self.hosted is not HostedKind.UNSET and self.kind is not ModeKind.HOSTED:
            raise MemoryModeError(f"memory mode: {self.kind} cannot be {self.hosted}, only hosted can")
        if self.sharing is not Sharing.UNSET and not self._has_sharing:
            kind = self.kind if self.hosted is HostedKind.UNSET else f"{self.kind}({self.hosted})"
            raise MemoryModeError(
                f"memory mode: {kind} cannot be {self.sharing}, only on_device and "
                "hosted(changed_on_devices) can"
            )

    @property
    def _has_sharing(self) -> bool:
        return self.kind is ModeKind.ON_DEVICE or self.hosted is HostedKind.CHANGED_ON_DEVICES

    def __str__(self) -> str:
        """Returns the mode's text, as `parse` reads it."""
        parts = [self.kind.value]
        if self.hosted is not HostedKind.UNSET:
            parts.append(self.hosted.value)
        if self.sharing is not Sharing.UNSET:
            parts.append(self.sharing.value)
        return "(".join(parts) + ")" * (len(parts) - 1)

    @staticmethod
    def parse(text: str) -> MemoryMode:
        """
        Returns the mode that `text` names, in the grammar at the top of this file. Spaces mean nothing.

        Raises:
            MemoryModeError: `text` names no memory mode.
        """
        mode = _MODES_BY_TEXT.get("".join(text.split()))
        if mode is None:
            raise MemoryModeError(f"memory mode: '{text}' is none of {', '.join(_MODES_BY_TEXT)}")
        return mode


def _on_device(sharing: Sharing = Sharing.UNSET) -> MemoryMode:
    return MemoryMode(ModeKind.ON_DEVICE, sharing=sharing)


def _hosted(hosted: HostedKind = HostedKind.UNSET, sharing: Sharing = Sharing.UNSET) -> MemoryMode:
    return MemoryMode(ModeKind.HOSTED, hosted, sharing)


EFFECTIVELY_CONSTANT = MemoryMode(ModeKind.EFFECTIVELY_CONSTANT)
VIRTUAL = MemoryMode(ModeKind.VIRTUAL)
NEVER_VIRTUAL = MemoryMode(ModeKind.NEVER_VIRTUAL)
LOCAL = MemoryMode(ModeKind.LOCAL)
DEVICE_ONLY = MemoryMode(ModeKind.DEVICE_ONLY)
ON_DEVICE = _on_device()
ON_DEVICE_PER_STREAM = _on_device(Sharing.PER_STREAM)
ON_DEVICE_SHARED = _on_device(Sharing.SHARED_CROSS_STREAMS)
MATERIALIZED = MemoryMode(ModeKind.MATERIALIZED)
HOSTED = _hosted()
HOSTED_CONSTANT = _hosted(HostedKind.CONSTANT)
HOSTED_NONCONSTANT = _hosted(HostedKind.NONCONSTANT)
HOSTED_CHANGED = _hosted(HostedKind.CHANGED_ON_DEVICES)
HOSTED_CHANGED_PER_STREAM = _hosted(HostedKind.CHANGED_ON_DEVICES, Sharing.PER_STREAM)
HOSTED_CHANGED_SHARED = _hosted(HostedKind.CHANGED_ON_DEVICES, Sharing.SHARED_CROSS_STREAMS)
HOSTED_VOLATILE = _hosted(HostedKind.VOLATILE)

_CHANGED = (HOSTED_CHANGED_PER_STREAM, HOSTED_CHANGED_SHARED)
_ON_DEVICE = (ON_DEVICE_PER_STREAM, ON_DEVICE_SHARED)
_HOSTED = (HOSTED_CONSTANT, HOSTED_VOLATILE, *_CHANGED)

CHOICES: Mapping[MemoryMode, frozenset[MemoryMode]] = {
    EFFECTIVELY_CONSTANT: frozenset((VIRTUAL, HOSTED_CONSTANT)),
    VIRTUAL: frozenset((VIRTUAL,)),
    NEVER_VIRTUAL: frozenset((LOCAL, *_ON_DEVICE, *_HOSTED)),
    LOCAL: frozenset((LOCAL,)),
    DEVICE_ONLY: frozenset((LOCAL, *_ON_DEVICE)),
    ON_DEVICE: frozenset(_ON_DEVICE),
    ON_DEVICE_PER_STREAM: frozenset((ON_DEVICE_PER_STREAM,)),
    ON_DEVICE_SHARED: frozenset((ON_DEVICE_SHARED,)),
    MATERIALIZED: frozenset((*_ON_DEVICE, *_HOSTED)),
    HOSTED: frozenset(_HOSTED),
    HOSTED_CONSTANT: frozenset((HOSTED_CONSTANT,)),
    HOSTED_NONCONSTANT: frozenset((HOSTED_VOLATILE, *_CHANGED)),
    HOSTED_CHANGED: frozenset(_CHANGED),
    HOSTED_CHANGED_PER_STREAM: frozenset((HOSTED_CHANGED_PER_STREAM,)),
    HOSTED_CHANGED_SHARED: frozenset((HOSTED_CHANGED_SHARED,)),
    HOSTED_VOLATILE: frozenset((HOSTED_VOLATILE,)),
}
"""Every memory mode, and the fully decided modes that it leaves to choose from."""

MEMORY_MODES: tuple[MemoryMode, ...] = tuple(CHOICES)
"""Every memory mode."""

OPEN_MODES: tuple[MemoryMode | None, ...] = (None, NEVER_VIRTUAL, DEVICE_ONLY)
"""The modes that leave open whether a tensor lives within a run, or outlives it."""

_MODES_BY_TEXT = {str(mode): mode for mode in CHOICES}
_MODES_BY_CHOICES = {choices: mode for mode, choices in CHOICES.items()}

MERGED: Mapping[tuple[MemoryMode, MemoryMode], MemoryMode] = {
    (first, second): _MODES_BY_CHOICES[CHOICES[first] & CHOICES[second]]
    for first in CHOICES
    for second in CHOICES
    if CHOICES[first] & CHOICES[second]
}
"""
The update lattice: what two modes that are both asked for come to. Pairs that are not here are in conflict.
The choices that two modes both allow are a mode, so merging is the intersection of `CHOICES`: it is
idempotent, commutative and associative, and it only ever narrows.
"""


def merge(old: MemoryMode | None, new: MemoryMode) -> MemoryMode | None:
    """Returns the mode that satisfies both, None where none does. An `old` of None asks for nothing."""
    return new if old is None else MERGED.get((old, new))


def merge_sharing(old: MemoryMode | None, sharing: Sharing) -> MemoryMode | None:
    """
    Returns `old` with its sharing decided, None where that cannot be. A tensor with a sharing is in the
    memory of devices. It is then not hosted if it may be either, and changes on devices if it is hosted and
    may change. Constants and volatiles are shared by all streams. `UNSET` decides nothing more than that; it
    cannot undo a sharing that is decided.
    """
    mode = merge(old, MATERIALIZED)
    if mode is None:
        return None
    if mode in (HOSTED_CONSTANT, HOSTED_VOLATILE):
        return mode if sharing is Sharing.SHARED_CROSS_STREAMS else None
    if sharing is Sharing.UNSET and mode.sharing is not Sharing.UNSET:
        return None
    return merge(mode, _on_device(sharing)) or merge(mode, _hosted(HostedKind.CHANGED_ON_DEVICES, sharing))


def most_local(mode: MemoryMode | None, *, fits_locally: bool) -> MemoryMode:
    """
    Returns the most local mode that `mode` leaves to choose from; what may be local is on a device unless it
    `fits_locally`. Sharing, and who changes what is hosted, stay open.
    """
    match None if mode is None else mode.kind:
        case None | ModeKind.EFFECTIVELY_CONSTANT:
            return VIRTUAL
        case ModeKind.NEVER_VIRTUAL | ModeKind.DEVICE_ONLY:
            return LOCAL if fits_locally else ON_DEVICE
        case ModeKind.MATERIALIZED:
            return ON_DEVICE
        case _:
            assert mode is not None, "the first case takes None"
            return mode


def known_not_materialized(mode: MemoryMode | None) -> bool:
    """Returns whether nothing is kept from one run to the next."""
    return mode in (VIRTUAL, LOCAL)


def known_constant(mode: MemoryMode | None) -> bool:
    """Returns whether nobody changes the tensor once it is initialised."""
    return mode in (EFFECTIVELY_CONSTANT, HOSTED_CONSTANT)


def known_volatile(mode: MemoryMode | None) -> bool:
    """Returns whether only the host changes the tensor."""
    return mode == HOSTED_VOLATILE


def known_changed_on_devices(mode: MemoryMode | None) -> bool:
    """Returns whether only devices change the tensor."""
    return mode is not None and mode.hosted is HostedKind.CHANGED_ON_DEVICES


def known_virtual(mode: MemoryMode | None) -> bool:
    return mode == VIRTUAL


def known_non_virtual(mode: MemoryMode | None) -> bool:
    return mode is not None and VIRTUAL not in CHOICES[mode]


def known_shared_cross_streams(mode: MemoryMode | None) -> bool:
    """Returns whether the streams of a device share one buffer."""
    return mode in (ON_DEVICE_SHARED, HOSTED_CHANGED_SHARED, HOSTED_CONSTANT, HOSTED_VOLATILE)


def known_non_cross_stream(mode: MemoryMode | None) -> bool:
    """Returns whether every stream of a device has a buffer of its own."""
    return mode in (ON_DEVICE_PER_STREAM, HOSTED_CHANGED_PER_STREAM)


def potentially_cross_stream(mode: MemoryMode | None) -> bool:
    """Returns whether streams may still come to share a buffer."""
    return not known_not_materialized(mode) and not known_non_cross_stream(mode)


def mode_is_unspecified(mode: MemoryMode | None) -> bool:
    """Returns whether too little is asked for to tell where the tensor lives and who changes it."""
    return mode in (None, NEVER_VIRTUAL, EFFECTIVELY_CONSTANT, HOSTED)

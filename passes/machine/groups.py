"""The limits of the work-groups of a GPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GroupLimits:
    """
    How many work-items a work-group may have, along each dimension too, and bytes that they share. They run
    `multiple` at a time in each of `n_units` processors, and load `vector_nbytes` at once.
    """

    max_items: int = 256
    max_block: tuple[int, ...] = (256, 256, 64)
    shared_nbytes: int = 32 << 10
    vector_nbytes: int = 16
    multiple: int = 32
    n_units: int = 16


def power_up_to(number: int) -> int:
    """Returns the greatest power of two that is no greater than a number from 1 up."""
    return 1 << number.bit_length() - 1


def power_from(number: int) -> int:
    """Returns the least power of two that is no less than a number, 1 for 0."""
    return 1 << max(number - 1, 0).bit_length()

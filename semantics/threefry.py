"""`graph.threefry` on numpy arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dialects.graph import THREEFRY_PARITY, THREEFRY_ROTATIONS
from .numpy_types import Array

_Words = npt.NDArray[np.uint32]


def threefry(key: Array, counter: Array, rounds: int) -> Array:
    """Returns Threefry4x32 of every counter; the words are along dim 0."""
    keys: list[_Words] = [np.asarray(word, np.uint32) for word in key]
    keys.append(np.bitwise_xor.reduce([np.uint32(THREEFRY_PARITY), *keys]))
    words: list[_Words] = [np.add(word, keys[number]) for number, word in enumerate(counter)]
    for number in range(rounds):
        first, second = (1, 3) if number % 2 == 0 else (3, 1)
        left, right = THREEFRY_ROTATIONS[number % len(THREEFRY_ROTATIONS)]
        words[0] = np.add(words[0], words[first])
        words[first] = _rotated(words[first], left) ^ words[0]
        words[2] = np.add(words[2], words[second])
        words[second] = _rotated(words[second], right) ^ words[2]
        if number % 4 == 3:
            injected = number // 4 + 1
            words = [np.add(word, keys[(injected + place) % 5]) for place, word in enumerate(words)]
            words[3] = np.add(words[3], np.uint32(injected))
    return np.stack(words)


def _rotated(words: _Words, by: int) -> _Words:
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by))

"""Squares of lanes turned on llvm: what the written shuffles do, and which they are."""

import re
from typing import cast

import numpy as np
import pytest
from tenon.backends.llvm.emission.emitter import Emitter
from tenon.backends.llvm.emission.transposition import NOTHING, transposed

SHUFFLE = re.compile(r"shufflevector (?:T|<[^>]*>) (\S+), (?:T|<[^>]*>) (\S+), <(\d+) x i32> <(.*)>")


class FakeEmitter:
    """Runs the shuffles that are written, on arrays."""

    def __init__(self, rows: dict[str, np.ndarray]) -> None:
        self.values = rows
        self.masks: list[list[int]] = []
        self.fences: list[str] = []
        self.casts = 0

    def call_same_type(self, intrinsic: str, type: str, operands: list[str]) -> str:
        assert intrinsic == "arithmetic.fence"
        (value,) = operands
        self.fences.append(f"{type} {value}")
        return f"same {value}"

    def emit(self, text: str) -> str:
        if not text.startswith("shufflevector"):
            # A fence, or a cast of all bits.
            _, *words = text.split()
            is_fence = text.startswith("same")
            self.casts += not is_fence
            value = words[-1] if is_fence else words[words.index("to") - 1]
            name = f"%{len(self.values)}"
            self.values[name] = self.values[value]
            return name
        found = SHUFFLE.fullmatch(text)
        assert found is not None, text
        first, second, count, lanes = found.groups()
        mask = [int(lane.removeprefix("i32 ")) for lane in lanes.split(", ")]
        assert len(mask) == int(count)
        length = len(next(iter(self.values.values())))
        nothing = np.full(length, -1)
        both = np.concatenate([self.values.get(first, nothing), self.values.get(second, nothing)])
        name = f"%{len(self.values)}"
        self.values[name] = both[mask]
        self.masks.append(mask)
        return name


def turn(n: int, n_rows: int, nbytes: int) -> tuple[np.ndarray, list[list[int]]]:
    square = np.arange(n * n).reshape(n, n)
    emitter = FakeEmitter({f"%r{row}": square[row] for row in range(n_rows)})
    rows = [f"%r{row}" if row < n_rows else NOTHING for row in range(n)]
    return np.stack(
        [emitter.values[name] for name in transposed(cast(Emitter, emitter), "T", rows, nbytes)]
    ), emitter.masks


@pytest.mark.parametrize("nbytes", [1, 2, 4, 8])
@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_rows_become_columns(n: int, nbytes: int) -> None:
    found, masks = turn(n, n, nbytes)
    np.testing.assert_array_equal(found, np.arange(n * n).reshape(n, n).T)
    assert len(masks) == n * (n - 1).bit_length()


@pytest.mark.parametrize("n_rows", [1, 3, 8, 14])
def test_rows_that_are_not_there_are_not_wanted(n_rows: int) -> None:
    found, masks = turn(16, n_rows, 4)
    np.testing.assert_array_equal(found[:, :n_rows], np.arange(256).reshape(16, 16).T[:, :n_rows])
    assert len(masks) < 64 or n_rows > 12


def test_lanes_are_mixed_in_blocks_of_16_bytes_and_then_blocks_are_picked() -> None:
    _, masks = turn(8, 8, 4)
    assert masks[0] == [0, 8, 1, 9, 4, 12, 5, 13] and masks[1] == [2, 10, 3, 11, 6, 14, 7, 15]
    assert masks[8] == [0, 1, 8, 9, 4, 5, 12, 13] and masks[9] == [2, 3, 10, 11, 6, 7, 14, 15]
    assert masks[16] == [0, 1, 2, 3, 8, 9, 10, 11] and masks[17] == [4, 5, 6, 7, 12, 13, 14, 15]


@pytest.mark.parametrize(
    ("n", "n_rows", "nbytes", "type", "fences"),
    [
        (16, 16, 4, "<16 x float>", 16),
        (16, 16, 4, "<16 x i32>", 16),
        (16, 4, 4, "<16 x float>", 4),
        (8, 8, 4, "<8 x float>", 0),
        (16, 16, 2, "<16 x half>", 0),
    ],
)
def test_squares_of_four_blocks_have_a_fence_of_floats(
    n: int, n_rows: int, nbytes: int, type: str, fences: int
) -> None:
    rows = [f"%r{row}" if row < n_rows else NOTHING for row in range(n)]
    emitter = FakeEmitter({row: np.arange(n) for row in rows if row != NOTHING})
    transposed(cast(Emitter, emitter), type, rows, nbytes)
    assert len(emitter.fences) == fences
    assert all(fence.startswith("<16 x float> ") for fence in emitter.fences)
    assert emitter.casts == (2 * fences if type == "<16 x i32>" else 0)

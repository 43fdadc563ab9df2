"""What the interpreter of `low` finds wrong with kernels of `low.atomic_rmw`: races, and accesses outside."""

from __future__ import annotations

import numpy as np
import pytest
from tenon.semantics.errors import InterpreterError
from tenon.test.kernels import parsed
from tenon.test.unit.atomic_kernels import Array, run_reference, scatter


def run(text: str, *arrays: Array) -> None:
    run_reference(parsed(text), {"k": list(arrays)})


RACES = """
low.kernel @k(%x: memref<64xi32>, %y: memref<8xi32>) grid [4, 1, 1] block [16, 1, 1] {
  %b = low.block_id x
  %t = low.thread_id x
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %is_first = arith.cmpi eq, %t, %c0 : index
  %b4 = arith.addi %b, %c4 : index
  %s = low.alloca : memref<2xi32, "shared">
  scf.if %is_first {
    memref.store %zero, %s[%c0] : memref<2xi32, "shared">
  }
  BODY
}"""


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%o = low.atomic_rmw addi %one, %y[%b] : memref<8xi32>\n%v = memref.load %y[%b] : memref<8xi32>",
            "memref.load at t.mlir:17:.*: reads element 0, which another work-item updates without a barrier",
        ),
        (
            "%v = memref.load %y[%b] : memref<8xi32>\n%o = low.atomic_rmw addi %one, %y[%b] : memref<8xi32>",
            "low.atomic_rmw at .*: updates element 0, which another work-item loads or stores without a",
        ),
        (
            "%o = low.atomic_rmw addi %one, %y[%b] : memref<8xi32>\n"
            "memref.store %one, %y[%b] : memref<8xi32>",
            "memref.store at .*: writes element 0, which another work-item updates without a barrier",
        ),
        (  # a barrier orders the work-items of one group, not the groups
            "%o = low.atomic_rmw addi %one, %y[%c0] : memref<8xi32>\nlow.barrier\n"
            "%v = memref.load %y[%c0] : memref<8xi32>",
            "memref.load at .*: reads element 0, which another work-item updates without a barrier",
        ),
        (
            "%w = vector.load %y[%c0] : memref<8xi32>, vector<8xi32>\n"
            "%o = low.atomic_rmw addi %one, %y[%b4] : memref<8xi32>",
            "low.atomic_rmw at .*: updates element 4, which another work-item loads or stores",
        ),
        (
            '%o = low.atomic_rmw addi %one, %s[%c0] : memref<2xi32, "shared">',
            "low.atomic_rmw at .*: updates shared element 0, which another work-item wrote since the last",
        ),
        (
            '%v = memref.load %s[%c1] : memref<2xi32, "shared">\n'
            '%o = low.atomic_rmw addi %one, %s[%c1] : memref<2xi32, "shared">',
            "low.atomic_rmw at .*: updates shared element 1, which another work-item read since the last",
        ),
        (
            '%o = low.atomic_rmw addi %one, %s[%c1] : memref<2xi32, "shared">\n'
            '%v = memref.load %s[%c1] : memref<2xi32, "shared">',
            "memref.load at .*: reads shared element 1, which another work-item updated since the last",
        ),
        (
            '%o = low.atomic_rmw addi %one, %s[%c1] : memref<2xi32, "shared">\n'
            'scf.if %is_first {\nmemref.store %one, %s[%c1] : memref<2xi32, "shared">\n}',
            "memref.store at .*: writes shared element 1, which another work-item updated since the last",
        ),
    ],
)
def test_plain_accesses_beside_updates_are_races(body: str, message: str):
    with pytest.raises(InterpreterError, match=f"^{message}"):
        run(RACES.replace("BODY", body), np.zeros(64, np.int32), np.zeros(8, np.int32))


@pytest.mark.parametrize(
    "body",
    [
        "%o = low.atomic_rmw addi %one, %y[%c0] : memref<8xi32>\n"
        "%p = low.atomic_rmw maxs %one, %y[%c0] : memref<8xi32>",
        # others than those that are combined
        "%o = low.atomic_rmw addi %one, %y[%b] : memref<8xi32>\n"
        "scf.if %is_first {\nmemref.store %one, %y[%b4] : memref<8xi32>\n}",
        # what only one work-group uses, on both sides of barriers
        "scf.if %is_first {\nmemref.store %one, %y[%b] : memref<8xi32>\n}\nlow.barrier\n"
        "%o = low.atomic_rmw addi %one, %y[%b] : memref<8xi32>\nlow.barrier\n"
        "%v = memref.load %y[%b] : memref<8xi32>",
        'low.barrier\n%o = low.atomic_rmw addi %one, %s[%c0] : memref<2xi32, "shared">\nlow.barrier\n'
        '%v = memref.load %s[%c0] : memref<2xi32, "shared">',
        # one work-item's own
        "scf.if %is_first {\nmemref.store %one, %y[%b] : memref<8xi32>\n"
        "%o = low.atomic_rmw addi %one, %y[%b] : memref<8xi32>\n"
        "%v = memref.load %y[%b] : memref<8xi32>\n}",
    ],
)
def test_updates_alone_or_behind_barriers_are_no_races(body: str):
    run(RACES.replace("BODY", body), np.zeros(64, np.int32), np.zeros(8, np.int32))


def test_races_across_pieces_of_a_grid_are_found(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tenon.backends.reference.kernels.low.ELEMENTS_LIMIT", 1)
    body = """
      %is_last = arith.cmpi eq, %i, %j : index
      scf.if %is_last {
        memref.store %v, %y[%j] : memref<8xi32>
      }
    }"""
    text = scatter("addi", "i32", 8, 8)
    x, at, y = np.ones(8, np.int32), np.full(8, 7, np.int32), np.zeros(8, np.int32)
    run(text, x, at, y, np.zeros(8, np.int32))
    assert y[7] == 8
    with pytest.raises(InterpreterError, match="writes element 7, which another work-item updates"):
        run(text.rstrip().removesuffix("}") + body, x, at, y, np.zeros(8, np.int32))


def test_a_read_only_array_is_not_updated():
    y = np.zeros(8, np.int32)
    y.flags.writeable = False
    x = np.zeros(8, np.int32)
    with pytest.raises(InterpreterError, match=r"^low.atomic_rmw at .*: the buffer is read-only$"):
        run(scatter("addi", "i32", 8, 8), x, x, y, x.copy())


def test_an_index_outside_is_an_error():
    x, at, y = np.zeros(8, np.int32), np.full(8, 8, np.int32), np.zeros(8, np.int32)
    with pytest.raises(InterpreterError, match=r"^low.atomic_rmw at .*: index 8 out of bounds of 8 elements"):
        run(scatter("addi", "i32", 8, 8), x, at, y, x.copy())

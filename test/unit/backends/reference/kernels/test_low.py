"""The interpreter of `low`: control, memory, and what it finds out about wrong kernels."""

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from tenon.backends.reference.kernels import low as interpreter
from tenon.backends.reference.kernels.low import run_kernel
from tenon.backends.reference.kernels.scalars import SCALAR_RULES
from tenon.dialects.low import BODY_OPS, EXPANDED_OPS, KernelOp
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import CallError
from tenon.semantics.errors import InterpreterError
from xdsl.dialects import scf
from xdsl.utils.exceptions import VerifyException

Array = npt.NDArray[Any]


def run(text: str, *arrays: Array, is_sound: bool = True, **options: Any) -> None:
    """Interprets a kernel; one that is not `is_sound` does not verify, as its accesses are outside."""
    module = parse_module(text, "t.mlir")
    if is_sound:
        module.verify()
    else:
        with pytest.raises(VerifyException, match="out of bounds"):
            module.verify()
    kernel = module.body.block.first_op
    assert isinstance(kernel, KernelOp)
    run_kernel(kernel, arrays, **options)


def kernel(arguments: str, body: str, grid: int = 1, block: int = 1) -> str:
    """A kernel that starts with the ids %b and %t, and constants %c0 to %c8; `body` begins in line 9."""
    return f"""low.kernel @k({arguments}) grid [{grid}, 1, 1] block [{block}, 1, 1] {{
      %b = low.block_id x
      %t = low.thread_id x
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
{body}
}}"""


def test_every_op_of_a_body_is_known():
    known = {*SCALAR_RULES, *interpreter.STEPS, scf.ConditionOp, scf.YieldOp}
    assert known == set(BODY_OPS)
    assert known >= set(EXPANDED_OPS)


SOFTMAX = kernel(
    "%x: memref<160xf32>, %y: memref<160xf32>",
    """
      %n = arith.constant 16 : index
      %base = arith.muli %b, %n : index
      %least = arith.constant dense<0xFF800000> : vector<8xf32>
      %maxima = scf.for %j = %c0 to %n step %c8 iter_args(%acc = %least) -> (vector<8xf32>) {
        %i = arith.addi %base, %j : index
        %v = vector.load %x[%i] : memref<160xf32>, vector<8xf32>
        %r = arith.maximumf %acc, %v : vector<8xf32>
        scf.yield %r : vector<8xf32>
      }
      %max = vector.reduction <maximumf>, %maxima : vector<8xf32> into f32
      %base_line = vector.broadcast %max : f32 to vector<8xf32>
      %zero = arith.constant dense<0.0> : vector<8xf32>
      %row = low.alloca : memref<16xf32>
      %sums = scf.for %j = %c0 to %n step %c8 iter_args(%acc = %zero) -> (vector<8xf32>) {
        %i = arith.addi %base, %j : index
        %v = vector.load %x[%i] : memref<160xf32>, vector<8xf32>
        %d = arith.subf %v, %base_line : vector<8xf32>
        %e = math.exp %d : vector<8xf32>
        vector.store %e, %row[%j] : memref<16xf32>, vector<8xf32>
        %r = arith.addf %acc, %e : vector<8xf32>
        scf.yield %r : vector<8xf32>
      }
      %sum = vector.reduction <add>, %sums : vector<8xf32> into f32
      %divisor = vector.broadcast %sum : f32 to vector<8xf32>
      scf.for %j = %c0 to %n step %c8 {
        %i = arith.addi %base, %j : index
        %v = vector.load %row[%j] : memref<16xf32>, vector<8xf32>
        %q = arith.divf %v, %divisor : vector<8xf32>
        vector.store %q, %y[%i] : memref<160xf32>, vector<8xf32>
      }""",
    grid=10,
)


def test_softmax_is_computed_in_the_order_that_is_written():
    x = np.random.default_rng(0).standard_normal((10, 16)).astype(np.float32)
    y = np.zeros_like(x)
    run(SOFTMAX, x.reshape(-1), y.reshape(-1))
    e = np.exp((x - x.max(axis=1, keepdims=True)).astype(np.float64)).astype(np.float32)
    lanes = e[:, :8] + e[:, 8:]
    while lanes.shape[1] > 1:
        half = lanes.shape[1] // 2
        lanes = lanes[:, :half] + lanes[:, half:]
    total = lanes[:, 0]
    assert y.tobytes() == (e / total[:, np.newaxis]).tobytes()


@pytest.mark.parametrize("limit", [1, 40, 1 << 18])
def test_a_large_grid_runs_in_pieces(limit: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interpreter, "ELEMENTS_LIMIT", limit)
    x = np.random.default_rng(0).standard_normal((10, 16)).astype(np.float32)
    pieces, whole = np.zeros_like(x), np.zeros_like(x)
    run(SOFTMAX, x.reshape(-1), pieces.reshape(-1))
    monkeypatch.undo()
    run(SOFTMAX, x.reshape(-1), whole.reshape(-1))
    assert pieces.tobytes() == whole.tobytes()


def test_ids_count_x_first():
    text = """low.kernel @k(%x: memref<720xi64>) grid [2, 3, 4] block [5, 3, 2] {
      %bx = low.block_id x
      %by = low.block_id y
      %bz = low.block_id z
      %tx = low.thread_id x
      %ty = low.thread_id y
      %tz = low.thread_id z
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %a = arith.muli %bz, %c3 : index
      %b = arith.addi %a, %by : index
      %c = arith.muli %b, %c2 : index
      %d = arith.addi %c, %bx : index
      %e = arith.muli %d, %c2 : index
      %f = arith.addi %e, %tz : index
      %g = arith.muli %f, %c3 : index
      %h = arith.addi %g, %ty : index
      %i = arith.muli %h, %c5 : index
      %j = arith.addi %i, %tx : index
      %v = arith.index_cast %j : index to i64
      memref.store %v, %x[%j] : memref<720xi64>
    }"""
    x = np.full(720, -1, np.int64)
    run(text, x)
    np.testing.assert_array_equal(x, np.arange(720))


def test_a_grid_with_an_extent_of_zero_runs_nothing():
    x = np.zeros(1, np.float32)
    text = kernel("%x: memref<1xf32>", "%v = memref.load %x[%c8] : memref<1xf32>")
    run(text.replace("grid [1, 1, 1]", "grid [0, 1, 1]"), x)
    with pytest.raises(InterpreterError):
        run(text, x, is_sound=False)


# loops and branches


COLLATZ = kernel(
    "%x: memref<64xi64>, %n: memref<64xi64>",
    """
      %limit = arith.constant 200 : index
      %one = arith.constant 1 : i64
      %two = arith.constant 2 : i64
      %three = arith.constant 3 : i64
      %zero = arith.constant 0 : i64
      %start = memref.load %x[%b] : memref<64xi64>
      %v, %count = scf.for %j = %c0 to %limit step %c1 iter_args(%v0 = %start, %n0 = %zero) -> (i64, i64) {
        %goes_on = arith.cmpi ne, %v0, %one : i64
        %v1, %n1 = scf.if %goes_on -> (i64, i64) {
          %bit = arith.andi %v0, %one : i64
          %is_odd = arith.cmpi eq, %bit, %one : i64
          %next = scf.if %is_odd -> (i64) {
            %tripled = arith.muli %v0, %three : i64
            %more = arith.addi %tripled, %one : i64
            scf.yield %more : i64
          } else {
            %half = arith.divsi %v0, %two : i64
            scf.yield %half : i64
          }
          %n2 = arith.addi %n0, %one : i64
          scf.yield %next, %n2 : i64, i64
        } else {
          scf.yield %v0, %n0 : i64, i64
        }
        scf.yield %v1, %n1 : i64, i64
      }
      memref.store %count, %n[%b] : memref<64xi64>""",
    grid=64,
)


def test_branches_run_under_masks():
    def collatz(value: int) -> int:
        count = 0
        while value != 1:
            value, count = (3 * value + 1 if value % 2 else value // 2), count + 1
        return count

    x, n = np.arange(1, 65, dtype=np.int64), np.zeros(64, np.int64)
    run(COLLATZ, x, n)
    assert n.tolist() == [collatz(int(value)) for value in x]


def test_loops_may_have_other_bounds_for_each_work_item():
    """A triangle: item b sums x[b], x[b + s], ... below n[b], with step s[b]."""
    text = kernel(
        "%x: memref<32xf32>, %n: memref<6xi32>, %s: memref<6xi32>, %y: memref<6xf32>, %last: memref<6xi32>",
        """
          %m = memref.load %n[%b] : memref<6xi32>
          %step = memref.load %s[%b] : memref<6xi32>
          %low = arith.index_cast %b : index to i32
          %zero = arith.constant 0.0 : f32
          %none = arith.constant -1 : i32
          %sum, %at = scf.for %j = %low to %m step %step
              iter_args(%acc = %zero, %prev = %none) -> (f32, i32) : i32 {
            %i = arith.index_cast %j : i32 to index
            %v = memref.load %x[%i] : memref<32xf32>
            %r = arith.addf %acc, %v : f32
            scf.yield %r, %j : f32, i32
          }
          memref.store %sum, %y[%b] : memref<6xf32>
          memref.store %at, %last[%b] : memref<6xi32>""",
        grid=6,
    )
    x = np.arange(32, dtype=np.float32)
    n, s = np.array([0, 5, 32, -7, 6, 32], np.int32), np.array([1, 2, 3, 1, 1, 100], np.int32)
    y, last = np.zeros(6, np.float32), np.zeros(6, np.int32)
    run(text, x, n, s, y, last)
    ranges = [range(b, n[b], s[b]) for b in range(6)]
    assert y.tolist() == [float(sum(indices)) for indices in ranges]
    assert last.tolist() == [indices[-1] if indices else -1 for indices in ranges]


def test_loop_bounds_may_span_more_than_half_of_the_integers():
    text = kernel(
        "%lo: memref<2xi64>, %s: memref<2xi64>, %y: memref<2xi64>",
        """
          %l = memref.load %lo[%b] : memref<2xi64>
          %step = memref.load %s[%b] : memref<2xi64>
          %u = arith.constant 9223372036854775807 : i64
          %one = arith.constant 1 : i64
          %zero = arith.constant 0 : i64
          %n = scf.for %j = %l to %u step %step iter_args(%acc = %zero) -> (i64) : i64 {
            %r = arith.addi %acc, %one : i64
            scf.yield %r : i64
          }
          memref.store %n, %y[%b] : memref<2xi64>""",
        grid=2,
    )
    lower, step = np.array([-(2**63), 0], np.int64), np.array([2**62, 2**62], np.int64)
    y = np.zeros(2, np.int64)
    run(text, lower, step, y)
    assert y.tolist() == [4, 2]


@pytest.mark.parametrize("items", [1, 4])
def test_a_step_that_is_not_positive_is_an_error(items: int):
    text = kernel(
        "%s: memref<4xi32>",
        """
          %step = memref.load %s[%b] : memref<4xi32>
          %zero = arith.constant 0 : i32
          scf.for %j = %zero to %zero step %step : i32 {
          }""",
        grid=items,
    )
    with pytest.raises(InterpreterError, match=r"^scf.for at t.mlir:12:\d+: step -2 is not positive$"):
        run(text, np.array([-2, 1, 1, 1], np.int32))


BOUNDED = kernel(
    "%x: memref<5xf32>, %y: memref<8xf32>",
    """
      %n = arith.constant 5 : index
      %fits = arith.cmpi slt, %b, %n : index
      %v = scf.if %fits -> (f32) {
        %w = memref.load %x[%b] : memref<5xf32>
        memref.store %w, %y[%b] : memref<8xf32>
        scf.yield %w : f32
      } else {
        %zero = arith.constant 7.0 : f32
        scf.yield %zero : f32
      }
      %s = arith.addf %v, %v : f32
      memref.store %s, %y[%b] : memref<8xf32>""",
    grid=8,
)


def test_inactive_work_items_touch_no_memory():
    y = np.zeros(8, np.float32)
    run(BOUNDED, np.arange(5, dtype=np.float32), y)
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 14.0, 14.0, 14.0]


@pytest.mark.parametrize(("grid", "expected"), [(5, [1.0] * 5 + [0.0] * 3), (8, [1.0] * 5 + [0.0] * 3)])
def test_a_branch_may_store_what_is_the_same_for_all(grid: int, expected: list[float]):
    text = kernel(
        "%y: memref<8xf32>",
        """
          %n = arith.constant 5 : index
          %one = arith.constant 1.0 : f32
          %fits = arith.cmpi slt, %b, %n : index
          scf.if %fits {
            memref.store %one, %y[%b] : memref<8xf32>
          }""",
        grid=grid,
    )
    y = np.zeros(8, np.float32)
    run(text, y)
    assert y.tolist() == expected


def test_divisions_of_inactive_work_items_do_not_trap():
    text = kernel(
        "%x: memref<4xi32>, %y: memref<4xi32>",
        """
          %d = memref.load %x[%b] : memref<4xi32>
          %zero = arith.constant 0 : i32
          %hundred = arith.constant 100 : i32
          %is_safe = arith.cmpi ne, %d, %zero : i32
          %q = scf.if %is_safe -> (i32) {
            %r = arith.divsi %hundred, %d : i32
            scf.yield %r : i32
          } else {
            scf.yield %zero : i32
          }
          memref.store %q, %y[%b] : memref<4xi32>""",
        grid=4,
    )
    y = np.zeros(4, np.int32)
    run(text, np.array([3, 0, -7, 0], np.int32), y)
    assert y.tolist() == [33, 0, -14, 0]


@pytest.mark.parametrize("grid", [1, 3])
@pytest.mark.parametrize(
    ("op", "divisor", "message"),
    [
        ("divsi", 0, "division by zero"),
        ("divui", 0, "division by zero"),
        ("remsi", 0, "division by zero"),
        ("remui", 0, "division by zero"),
        ("divsi", -1, "-2147483648 / -1 overflows"),
        ("remsi", -1, "-2147483648 / -1 overflows"),
    ],
)
def test_divisions_that_trap_are_errors(grid: int, op: str, divisor: int, message: str):
    text = kernel(
        "%x: memref<3xi32>",
        f"""
          %d = memref.load %x[%b] : memref<3xi32>
          %least = arith.constant -2147483648 : i32
          %q = arith.{op} %least, %d : i32""",
        grid=grid,
    )
    with pytest.raises(InterpreterError, match=rf"^arith.{op} at t.mlir:12:\d+: {message}$"):
        run(text, np.array([divisor, 1, 1], np.int32))


# memory


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%v = memref.load %x[%c8] : memref<8xf32>",
            "memref.load at t.mlir:9:.*: index 8 out of bounds of 8 elements",
        ),
        (
            "%i = arith.subi %b, %c1 : index\n%v = memref.load %x[%i] : memref<8xf32>",
            "memref.load at t.mlir:10:.*: index -1 out of bounds of 8 elements",
        ),
        (
            "%v = vector.load %x[%b] : memref<8xf32>, vector<4xf32>",
            "vector.load at t.mlir:9:.*: 4 elements from index 5 out of bounds of 8 elements",
        ),
        (
            "%v = arith.constant dense<0.0> : vector<4xf32>\n"
            "vector.store %v, %x[%b] : memref<8xf32>, vector<4xf32>",
            "vector.store at t.mlir:10:.*: 4 elements from index 5 out of bounds of 8 elements",
        ),
        (
            "%v = arith.constant 0.0 : f32\nmemref.store %v, %x[%c8] : memref<8xf32>",
            "memref.store at t.mlir:10:.*: index 8 out of bounds of 8 elements",
        ),
        (
            "%a = low.alloca : memref<2xf32>\n%v = memref.load %a[%b] : memref<2xf32>",
            "memref.load at t.mlir:10:.*: index 2 out of bounds of 2 elements",
        ),
        (
            "%a = low.alloca : memref<2xf32>\n%v = vector.load %a[%c1] : memref<2xf32>, vector<8xf32>",
            "vector.load at t.mlir:10:.*: 8 elements from index 1 out of bounds of 2 elements",
        ),
    ],
)
def test_an_index_out_of_bounds_is_an_error(body: str, message: str):
    with pytest.raises(InterpreterError, match=f"^{message}$"):
        run(kernel("%x: memref<8xf32>", body, grid=8), np.zeros(8, np.float32), is_sound=False)


def test_private_memory_is_undefined_until_it_is_stored_to():
    text = kernel(
        "%x: memref<2xf32>, %y: memref<2xi32>, %z: memref<2xbf16>",
        """
          %a = low.alloca : memref<4xf32>
          %n = low.alloca : memref<4xi32>
          %h = low.alloca : memref<4xbf16>
          %v = memref.load %a[%c1] : memref<4xf32>
          %w = memref.load %n[%c1] : memref<4xi32>
          %u = memref.load %h[%c1] : memref<4xbf16>
          memref.store %v, %x[%b] : memref<2xf32>
          memref.store %w, %y[%b] : memref<2xi32>
          memref.store %u, %z[%b] : memref<2xbf16>""",
        grid=2,
    )
    x, y, z = np.zeros(2, np.float32), np.zeros(2, np.int32), np.zeros(2, ml_dtypes.bfloat16)
    run(text, x, y, z)
    assert np.isnan(x).all() and np.isnan(z).all()
    assert y.tolist() == [np.int32(-0x5A5A5A5B)] * 2


@pytest.mark.parametrize("grid", [1, 3])
def test_vectors_are_stored_and_loaded_as_they_were(grid: int):
    text = kernel(
        "%x: memref<24xf32>, %y: memref<24xf32>",
        """
          %base = arith.muli %b, %c8 : index
          %a = low.alloca : memref<16xf32>
          %v = vector.load %x[%base] : memref<24xf32>, vector<8xf32>
          vector.store %v, %a[%b] : memref<16xf32>, vector<8xf32>
          %zero = arith.constant dense<0.0> : vector<8xf32>
          vector.store %zero, %x[%base] : memref<24xf32>, vector<8xf32>
          %w = vector.load %a[%b] : memref<16xf32>, vector<8xf32>
          %s = arith.addf %v, %w : vector<8xf32>
          vector.store %s, %y[%base] : memref<24xf32>, vector<8xf32>""",
        grid=grid,
    )
    before = np.arange(24, dtype=np.float32) + 1
    x, y = before.copy(), np.zeros(24, np.float32)
    run(text, x, y)
    done = 8 * grid
    assert (y[:done] == 2 * before[:done]).all() and not y[done:].any()
    assert not x[:done].any() and (x[done:] == before[done:]).all()


def test_storing_to_a_read_only_array_is_an_error():
    x = np.zeros(4, np.float32)
    x.flags.writeable = False
    text = kernel(
        "%x: memref<4xf32>", "%v = arith.constant 1.0 : f32\nmemref.store %v, %x[%b] : memref<4xf32>", 4
    )
    with pytest.raises(InterpreterError, match=r"^memref.store at t.mlir:10:\d+: the buffer is read-only$"):
        run(text, x)
    run(kernel("%x: memref<4xf32>", "%v = vector.load %x[%c0] : memref<4xf32>, vector<4xf32>", 4), x)


def test_storing_different_values_to_one_element_is_a_race():
    text = kernel(
        "%x: memref<4xi32>",
        "%v = arith.index_cast %b : index to i32\nmemref.store %v, %x[%c2] : memref<4xi32>",
        grid=4,
    )
    message = (
        r"^memref.store at t.mlir:10:\d+: work-items race to store different values at index 2 \(0 and 3\)$"
    )
    with pytest.raises(InterpreterError, match=message):
        run(text, np.zeros(4, np.int32))
    run(text, np.zeros(4, np.int32), check_races=False)


def test_overlapping_vectors_of_different_values_are_a_race():
    text = kernel(
        "%x: memref<8xf32>, %y: memref<8xf32>",
        """
          %v = memref.load %x[%b] : memref<8xf32>
          %w = vector.broadcast %v : f32 to vector<4xf32>
          vector.store %w, %y[%b] : memref<8xf32>, vector<4xf32>""",
        grid=2,
    )
    message = r"^vector.store at .*: work-items race to store different values at index 1 \(0.0 and 1.0\)$"
    with pytest.raises(InterpreterError, match=message):
        run(text, np.arange(8, dtype=np.float32), np.zeros(8, np.float32))


def test_storing_equal_values_to_one_element_is_no_race():
    text = kernel(
        "%x: memref<4xf32>, %y: memref<1xf32>",
        """
          %v = memref.load %x[%b] : memref<4xf32>
          memref.store %v, %y[%c0] : memref<1xf32>""",
        grid=4,
    )
    for value in (3.0, np.nan):
        y = np.zeros(1, np.float32)
        run(text, np.full(4, value, np.float32), y)
        np.testing.assert_array_equal(y, [value])


# work-groups


REVERSE = kernel(
    "%x: memref<32xf32>, %y: memref<32xf32>",
    """
      %shared = low.alloca : memref<8xf32, "shared">
      %base = arith.muli %b, %c8 : index
      %i = arith.addi %base, %t : index
      %v = memref.load %x[%i] : memref<32xf32>
      memref.store %v, %shared[%t] : memref<8xf32, "shared">
      low.barrier
      %seven = arith.subi %c8, %c1 : index
      %mirrored = arith.subi %seven, %t : index
      %w = memref.load %shared[%mirrored] : memref<8xf32, "shared">
      memref.store %w, %y[%i] : memref<32xf32>""",
    grid=4,
    block=8,
)


@pytest.mark.parametrize("limit", [1, 1 << 18])
def test_work_items_exchange_shared_memory_at_barriers(limit: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(interpreter, "ELEMENTS_LIMIT", limit)
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    run(REVERSE, x, y)
    np.testing.assert_array_equal(y.reshape(4, 8), x.reshape(4, 8)[:, ::-1])


TREE = kernel(
    "%x: memref<32xf32>, %y: memref<4xf32>",
    """
      %shared = low.alloca : memref<8xf32, "shared">
      %base = arith.muli %b, %c8 : index
      %i = arith.addi %base, %t : index
      %v = memref.load %x[%i] : memref<32xf32>
      memref.store %v, %shared[%t] : memref<8xf32, "shared">
      low.barrier
      %three = arith.addi %c2, %c1 : index
      scf.for %level = %c0 to %three step %c1 {
        %half = arith.shrui %c4, %level : index
        %joins = arith.cmpi ult, %t, %half : index
        scf.if %joins {
          %other = arith.addi %t, %half : index
          %p = memref.load %shared[%t] : memref<8xf32, "shared">
          %q = memref.load %shared[%other] : memref<8xf32, "shared">
          %s = arith.addf %p, %q : f32
          memref.store %s, %shared[%t] : memref<8xf32, "shared">
        }
        low.barrier
      }
      %is_first = arith.cmpi eq, %t, %c0 : index
      scf.if %is_first {
        %total = memref.load %shared[%c0] : memref<8xf32, "shared">
        memref.store %total, %y[%b] : memref<4xf32>
      }""",
    grid=4,
    block=8,
)


def test_a_tree_of_sums_over_a_work_group():
    x, y = np.arange(32, dtype=np.float32), np.zeros(4, np.float32)
    run(TREE, x, y)
    np.testing.assert_array_equal(y, x.reshape(4, 8).sum(axis=1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            REVERSE.replace("low.barrier\n", "\n"),
            "memref.load at t.mlir:18:.*: reads shared element 7, which another work-item wrote",
        ),
        (
            TREE.replace("        low.barrier\n", "\n"),
            "memref.load at t.mlir:23:.*: reads shared element 2, which another work-item wrote",
        ),
        (
            REVERSE.replace(
                "memref.store %w, %y[%i] : memref<32xf32>",
                'memref.store %w, %shared[%t] : memref<8xf32, "shared">',
            ),
            "memref.store at t.mlir:19:.*: writes shared element 0, which another work-item read",
        ),
        (
            REVERSE.replace("low.barrier", 'memref.store %v, %shared[%c0] : memref<8xf32, "shared">'),
            "memref.store at t.mlir:15:.*: writes shared element 0, which another work-item wrote",
        ),
    ],
)
def test_a_missing_barrier_is_an_error(text: str, message: str):
    with pytest.raises(InterpreterError, match=f"^{message} since the last barrier$"):
        run(text, np.zeros(32, np.float32), np.zeros(32, np.float32)[: 4 if "memref<4xf32>" in text else 32])


def test_all_may_read_what_one_wrote_before_the_barrier():
    text = kernel(
        "%x: memref<4xf32>, %y: memref<4xf32>",
        """
          %shared = low.alloca : memref<2xf32, "shared">
          %is_first = arith.cmpi eq, %t, %c0 : index
          scf.if %is_first {
            %v = memref.load %x[%c2] : memref<4xf32>
            memref.store %v, %shared[%c1] : memref<2xf32, "shared">
          }
          low.barrier
          %w = memref.load %shared[%c1] : memref<2xf32, "shared">
          %u = memref.load %shared[%c1] : memref<2xf32, "shared">
          %s = arith.addf %w, %u : f32
          memref.store %s, %y[%t] : memref<4xf32>""",
        block=4,
    )
    y = np.zeros(4, np.float32)
    run(text, np.arange(4, dtype=np.float32), y)
    assert y.tolist() == [4.0] * 4


def test_a_barrier_that_part_of_a_work_group_reaches_is_an_error():
    message = r"^low.barrier at t.mlir:12:\d+: only 2 of the 4 work-items of a work-group arrive$"
    with pytest.raises(InterpreterError, match=message):
        run(kernel("", "\n%few = arith.cmpi slt, %t, %c2 : index\nscf.if %few {\nlow.barrier\n}", 4, 4))


def test_a_barrier_that_some_work_groups_reach_is_fine():
    run(kernel("", "%few = arith.cmpi slt, %b, %c2 : index\nscf.if %few {\nlow.barrier\n}", 4, 4))


# calls and unknown ops


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ([], r"^@k: 0 arguments given, expected 1$"),
        ([np.zeros(4)], r"^@k: argument 0 is float64 \[4\], expected memref<4xf32>$"),
        ([np.zeros(3, np.float32)], r"^@k: argument 0 is float32 \[3\], expected memref<4xf32>$"),
        ([np.zeros((2, 2), np.float32)], r"^@k: argument 0 is float32 \[2, 2\], expected memref<4xf32>$"),
    ],
)
def test_arrays_that_do_not_fit_are_errors(arrays: list[Array], message: str):
    with pytest.raises(CallError, match=message):
        run(kernel("%x: memref<4xf32>", ""), *arrays)


def test_a_dynamic_argument_takes_any_size():
    text = kernel(
        "%x: memref<?xf32>", "%v = arith.constant 1.0 : f32\nmemref.store %v, %x[%b] : memref<?xf32>", 3
    )
    x = np.zeros(3, np.float32)
    run(text, x)
    assert x.tolist() == [1.0] * 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%v = arith.constant 1 : i32\n%w = math.ctpop %v : i32",
            r"reference: no rule for math.ctpop at t.mlir:10:\d+",
        ),
        (
            "%f = arith.constant true\n%a = low.alloca : memref<2xf32>\n"
            "%c = scf.if %f -> (memref<2xf32>) {\nscf.yield %a : memref<2xf32>\n} else {\n"
            "scf.yield %a : memref<2xf32>\n}",
            r"scf.if at t.mlir:11:\d+: cannot yield a memref",
        ),
        (
            "%v = arith.constant dense<1.0> : vector<4xf32>\n"
            "%s = vector.reduction <and>, %v : vector<4xf32> into f32",
            r"vector.reduction at t.mlir:10:\d+: cannot combine vector<4xf32> by and",
        ),
        (
            "%v = arith.constant 1 : i32\n%w = arith.bitcast %v : i32 to index",
            r"arith.bitcast at t.mlir:10:\d+: cannot bitcast i32 to index",
        ),
    ],
)
def test_what_no_kernel_may_hold_is_an_error(body: str, message: str):
    with pytest.raises(InterpreterError, match=f"^{message}$"):
        run(kernel("", body))


def test_several_indices_are_an_error():
    text = kernel("%x: memref<2x2xf32>", "%v = memref.load %x[%b, %b] : memref<2x2xf32>")
    with pytest.raises(
        InterpreterError, match=r"^memref.load at t.mlir:9:.*: 2 indices, expected one linear index$"
    ):
        kernel_op = parse_module(text, "t.mlir").body.block.first_op
        assert isinstance(kernel_op, KernelOp)
        run_kernel(kernel_op, [])

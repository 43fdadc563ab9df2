"""What kernels hold besides arithmetic: vectors, loops, branches, memory, the numbers of work-items."""

import functools
from collections.abc import Callable

import numpy as np
import pytest
from tenon.backends.interface import Backend
from tenon.test.bits import assert_same_bits

from .op_cases import (
    DTYPES,
    Array,
    N,
    floats,
    integers,
    maximum,
    minimum,
    need,
    on_unsigned,
    run,
)


def test_dense_constant_keeps_its_order(device: Backend):
    out = np.zeros(8, np.int32)
    run(
        device,
        """low.kernel @k(%out: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
          %zero = arith.constant 0 : index
          %lanes = arith.constant dense<[7, -6, 5, 4, 3, 2, 1, 0]> : vector<8xi32>
          %mask = arith.constant dense<[true, false, true, true, true, true, true, false]> : vector<8xi1>
          %other = arith.constant dense<9> : vector<8xi32>
          %r = low.select %mask, %lanes, %other : vector<8xi32>
          vector.store %r, %out[%zero] : memref<8xi32>, vector<8xi32>
        }""",
        out,
    )
    assert out.tolist() == [7, 9, 5, 4, 3, 2, 1, 9]


Combine = Callable[[Array, Array], Array]

FLOAT_KINDS: dict[str, Combine] = {
    "add": np.add,
    "mul": np.multiply,
    "maximumf": maximum,
    "minimumf": minimum,
}
INTEGER_KINDS: dict[str, Combine] = {
    "add": np.add,
    "mul": np.multiply,
    "minsi": np.minimum,
    "maxsi": np.maximum,
    "minui": on_unsigned(np.minimum),
    "maxui": on_unsigned(np.maximum),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def halved(combine: Combine, rows: Array) -> Array:
    """Returns what `vector.reduction` makes of the vectors that are rows."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = combine(rows[:, :half], rows[:, half:])
    return rows[:, 0]


@pytest.mark.parametrize("lanes", [2, 8, 16])
@pytest.mark.parametrize("type", ["f32", "f64", "i8", "i16", "i32", "i64"])
def test_reduction_halves_its_lanes(device: Backend, type: str, lanes: int):
    """Each kind, without and with what to begin with, on numbers and on special ones."""
    need(device, type)
    is_float = type[0] == "f"
    tame = np.random.default_rng(7).standard_normal(N).astype(DTYPES[type])
    x = tame if is_float else integers(type, 1)
    if is_float:
        x[:128:5], x[1:128:5], x[16] = 0.0, -0.0, np.nan
    start = x[-1:] * DTYPES[type](3)
    kinds, n = FLOAT_KINDS if is_float else INTEGER_KINDS, N // lanes
    lines: list[str] = []
    for number, (kind, begin) in enumerate((kind, begin) for kind in kinds for begin in ("", ", %start")):
        lines.append(f"""
          %r{number} = vector.reduction <{kind}>, %v{begin} : vector<{lanes}x{type}> into {type}
          %row{number} = arith.constant {number * n} : index
          %at{number} = arith.addi %g, %row{number} : index
          memref.store %r{number}, %out[%at{number}] : memref<{2 * len(kinds) * n}x{type}>""")
    out = np.zeros(2 * len(kinds) * n, DTYPES[type])
    run(
        device,
        f"""low.kernel @k(%x: memref<{N}x{type}>, %s: memref<1x{type}>, %out: memref<{out.size}x{type}>)
              grid [{n}, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %zero = arith.constant 0 : index
          %w = arith.constant {lanes} : index
          %i = arith.muli %g, %w : index
          %start = memref.load %s[%zero] : memref<1x{type}>
          %v = vector.load %x[%i] : memref<{N}x{type}>, vector<{lanes}x{type}>
          {"".join(lines)}
        }}""",
        x,
        start,
        out,
    )
    for (kind, combine), found in zip(kinds.items(), out.reshape(len(kinds), 2, n), strict=True):
        total = halved(combine, x.reshape(n, lanes))
        assert_same_bits(found[0], total, kind)
        assert_same_bits(found[1], combine(start.repeat(n), total), f"{kind} from a start")


def test_boolean_vectors_combine_and_reduce(device: Backend):
    x, out = floats("f32", 1), np.zeros(N // 8, np.int8)
    run(
        device,
        f"""low.kernel @k(%x: memref<{N}xf32>, %out: memref<{N // 8}xi8>)
              grid [{N // 8}, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %w = arith.constant 8 : index
          %i = arith.muli %g, %w : index
          %v = vector.load %x[%i] : memref<{N}xf32>, vector<8xf32>
          %zero = arith.constant dense<0.0> : vector<8xf32>
          %a = "arith.cmpf"(%v, %zero) <{{predicate = 4 : i64}}>
            : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
          %b = "arith.cmpf"(%v, %v) <{{predicate = 14 : i64}}>
            : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
          %c = arith.ori %a, %b : vector<8xi1>
          %r = vector.reduction <or>, %c : vector<8xi1> into i1
          %n = low.convert extui %r : i1 to i8
          memref.store %n, %out[%g] : memref<{N // 8}xi8>
        }}""",
        x,
        out,
    )
    expected = ((x < 0) | np.isnan(x)).reshape(-1, 8).any(axis=1)
    assert out.astype(bool).tolist() == expected.tolist()


def test_boolean_vectors_are_constants_and_broadcast(device: Backend):
    chosen, bits = np.zeros(2, np.int32), np.zeros(2, np.int32)
    run(
        device,
        """low.kernel @k(%m: memref<2xi32>, %b: memref<2xi32>) grid [1, 1, 1] block [1, 1, 1] {
          %0 = arith.constant 0 : index
          %1 = arith.constant 1 : index
          %ramp = arith.constant dense<[10, 20]> : vector<2xi32>
          %many = arith.constant dense<7> : vector<2xi32>
          %mask = arith.constant dense<[true, false]> : vector<2xi1>
          %all = vector.reduction <and>, %mask : vector<2xi1> into i1
          %true = arith.constant true
          %any = vector.reduction <or>, %mask, %true : vector<2xi1> into i1
          %both = vector.broadcast %any : i1 to vector<2xi1>
          %some = low.select %mask, %ramp, %many : vector<2xi32>
          %last = low.select %both, %some, %ramp : vector<2xi32>
          vector.store %last, %m[%0] : memref<2xi32>, vector<2xi32>
          %all_bit = low.convert extui %all : i1 to i32
          memref.store %all_bit, %b[%0] : memref<2xi32>
          %any_bit = low.convert extui %any : i1 to i32
          memref.store %any_bit, %b[%1] : memref<2xi32>
        }""",
        chosen,
        bits,
    )
    assert (chosen.tolist(), bits.tolist()) == ([10, 7], [0, 1])


def test_broadcast_fills_every_lane(device: Backend):
    x, out = np.array([3.5, -1.0], np.float64), np.zeros(8)
    run(
        device,
        """low.kernel @k(%x: memref<2xf64>, %out: memref<8xf64>) grid [2, 1, 1] block [1, 1, 1] {
          %g = low.block_id x
          %w = arith.constant 4 : index
          %i = arith.muli %g, %w : index
          %v = memref.load %x[%g] : memref<2xf64>
          %r = vector.broadcast %v : f64 to vector<4xf64>
          vector.store %r, %out[%i] : memref<8xf64>, vector<4xf64>
        }""",
        x,
        out,
    )
    assert out.tolist() == [3.5] * 4 + [-1.0] * 4


def test_loops_carry_scalars_and_vectors_through_one_another(device: Backend):
    x = np.random.default_rng(5).standard_normal((6, 16)).astype(np.float32)
    sums, total = np.zeros(8, np.float32), np.zeros(2, np.float32)
    run(
        device,
        """low.kernel @k(%x: memref<96xf32>, %sums: memref<8xf32>, %total: memref<2xf32>)
              grid [1, 1, 1] block [1, 1, 1] {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c6 = arith.constant 6 : index
          %c8 = arith.constant 8 : index
          %c16 = arith.constant 16 : index
          %zeros = arith.constant dense<0.0> : vector<8xf32>
          %zero = arith.constant 0.0 : f32
          %acc, %sum = scf.for %i = %c0 to %c6 step %c1
              iter_args(%a = %zeros, %s = %zero) -> (vector<8xf32>, f32) {
            %row = arith.muli %i, %c16 : index
            %b, %t = scf.for %j = %c0 to %c16 step %c8 iter_args(%p = %a, %q = %s) -> (vector<8xf32>, f32) {
              %at = arith.addi %row, %j : index
              %v = vector.load %x[%at] : memref<96xf32>, vector<8xf32>
              %p2 = arith.addf %p, %v : vector<8xf32>
              %q2 = vector.reduction <add>, %v, %q : vector<8xf32> into f32
              scf.yield %p2, %q2 : vector<8xf32>, f32
            }
            scf.yield %b, %t : vector<8xf32>, f32
          }
          vector.store %acc, %sums[%c0] : memref<8xf32>, vector<8xf32>
          memref.store %sum, %total[%c0] : memref<2xf32>
          %none = scf.for %i2 = %c6 to %c0 step %c1 iter_args(%n = %sum) -> (f32) {
            scf.yield %zero : f32
          }
          memref.store %none, %total[%c1] : memref<2xf32>
        }""",
        x.reshape(-1),
        sums,
        total,
    )
    assert_same_bits(sums, functools.reduce(np.add, x.reshape(-1, 8), np.zeros(8, np.float32)))
    in_order = functools.reduce(np.add, x.reshape(-1), np.float32(0))
    assert_same_bits(total, np.array([in_order, in_order], np.float32))


def test_loops_carry_values_all_at_once(device: Backend):
    out = np.zeros(8, np.float32)
    masks = np.zeros(4, np.int8)
    text = """
    low.kernel @k(%out: memref<8xf32>, %bits: memref<4xi8>) grid [1, 1, 1] block [1, 1, 1] {
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %2 = arith.constant 2 : index
      %4 = arith.constant 4 : index
      %5 = arith.constant 5 : index
      %a = arith.constant 1.0 : f32
      %b = arith.constant 2.0 : f32
      %c = arith.constant 3.0 : f32
      %x, %y, %z = scf.for %i = %0 to %5 step %1 iter_args(%p = %a, %q = %b, %r = %c) -> (f32, f32, f32) {
        %inner = scf.for %j = %0 to %i step %2 iter_args(%acc = %p) -> (f32) {
          %next = arith.addf %acc, %q : f32
          scf.yield %next : f32
        }
        scf.yield %q, %r, %inner : f32, f32, f32
      }
      memref.store %x, %out[%0] : memref<8xf32>
      memref.store %y, %out[%1] : memref<8xf32>
      memref.store %z, %out[%2] : memref<8xf32>
      %none = scf.for %i = %5 to %0 step %1 iter_args(%kept = %c) -> (f32) {
        scf.yield %a : f32
      }
      memref.store %none, %out[%4] : memref<8xf32>
      %true = arith.constant dense<true> : vector<4xi1>
      %flipping = arith.constant dense<[true, false, true, false]> : vector<4xi1>
      %mask = scf.for %i = %0 to %5 step %1 iter_args(%m = %flipping) -> (vector<4xi1>) {
        %n = arith.xori %m, %true : vector<4xi1>
        scf.yield %n : vector<4xi1>
      }
      %bytes = low.convert extui %mask : vector<4xi1> to vector<4xi8>
      vector.store %bytes, %bits[%0] : memref<4xi8>, vector<4xi8>
    }"""
    run(device, text, out, masks)
    p, q, r = 1.0, 2.0, 3.0
    for i in range(5):
        p, q, r = q, r, p + q * len(range(0, i, 2))
    assert out[[0, 1, 2, 4]].tolist() == [p, q, r, 3.0]
    assert masks.tolist() == [0, 1, 0, 1]


def test_branches_in_branches_give_the_values_of_the_one_taken(device: Backend):
    x, out = floats("f32", 1), np.zeros(N, np.float32)
    run(
        device,
        f"""low.kernel @k(%x: memref<{N}xf32>, %out: memref<{N}xf32>) grid [{N}, 1, 1] block [1, 1, 1] {{
          %i = low.block_id x
          %v = memref.load %x[%i] : memref<{N}xf32>
          %zero = arith.constant 0.0 : f32
          %two = arith.constant 2.0 : f32
          %negative = arith.cmpf olt, %v, %zero : f32
          %a, %b = scf.if %negative -> (f32, f32) {{
            %large = arith.cmpf olt, %v, %two : f32
            %n = arith.negf %v : f32
            %inner = scf.if %large -> (f32) {{
              scf.yield %n : f32
            }} else {{
              scf.yield %zero : f32
            }}
            scf.yield %inner, %two : f32, f32
          }} else {{
            scf.yield %v, %zero : f32, f32
          }}
          %r = arith.addf %a, %b : f32
          scf.if %negative {{
            memref.store %r, %out[%i] : memref<{N}xf32>
          }}
          scf.if %negative {{
          }} else {{
            memref.store %a, %out[%i] : memref<{N}xf32>
          }}
        }}""",
        x,
        out,
    )
    with np.errstate(invalid="ignore"):
        expected = np.where(x < 0, -x + np.float32(2), x).astype(np.float32)
    assert_same_bits(out, expected)


def test_branches_give_results(device: Backend):
    x = np.array([-2.0, 3.0], np.float32)
    y = np.zeros(4, np.float32)
    text = """
    low.kernel @k(%x: memref<2xf32>, %y: memref<4xf32>) grid [2, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %2 = arith.constant 2 : index
      %zero = arith.constant 0.0 : f32
      %v = memref.load %x[%i] : memref<2xf32>
      %c = arith.cmpf olt, %v, %zero : f32
      %r, %s = scf.if %c -> (f32, f32) {
        %n = arith.negf %v : f32
        scf.yield %n, %v : f32, f32
      } else {
        scf.yield %v, %zero : f32, f32
      }
      memref.store %r, %y[%i] : memref<4xf32>
      %j = arith.addi %i, %2 : index
      scf.if %c {
        memref.store %s, %y[%j] : memref<4xf32>
      }
      scf.if %c {
      } else {
        memref.store %r, %y[%j] : memref<4xf32>
      }
    }"""
    run(device, text, x, y)
    assert y.tolist() == [2.0, 3.0, -2.0, 3.0]


def test_alloca_holds_a_row_in_private_and_shared_memory(device: Backend):
    need(device, "bf16")
    x, out = floats("f32", 1), np.zeros(N, np.float32)
    run(
        device,
        f"""low.kernel @k(%x: memref<{N}xf32>, %out: memref<{N}xf32>)
              grid [{N // 16}, 1, 1] block [1, 1, 1] {{
          %g = low.block_id x
          %t = low.thread_id x
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c16 = arith.constant 16 : index
          %c15 = arith.constant 15 : index
          %row = low.alloca : memref<16xf32>
          %half = low.alloca : memref<16xbf16, "shared">
          %base = arith.muli %g, %c16 : index
          scf.for %j = %c0 to %c16 step %c1 {{
            %at = arith.addi %base, %j : index
            %v = memref.load %x[%at] : memref<{N}xf32>
            memref.store %v, %row[%j] : memref<16xf32>
            %s = arith.truncf %v : f32 to bf16
            memref.store %s, %half[%j] : memref<16xbf16, "shared">
          }}
          low.barrier
          scf.for %j2 = %c0 to %c16 step %c1 {{
            %k = arith.subi %c15, %j2 : index
            %v2 = memref.load %row[%k] : memref<16xf32>
            %h = memref.load %half[%k] : memref<16xbf16, "shared">
            %w = arith.extf %h : bf16 to f32
            %d = arith.subf %v2, %w : f32
            %at2 = arith.addi %base, %j2 : index
            %at3 = arith.addi %at2, %t : index
            memref.store %d, %out[%at3] : memref<{N}xf32>
          }}
        }}""",
        x,
        out,
    )
    with np.errstate(all="ignore"):
        expected = x - x.astype(DTYPES["bf16"]).astype(np.float32)
    assert_same_bits(out, expected.reshape(-1, 16)[:, ::-1].reshape(-1))


def test_private_rows_and_shared_tiles(device: Backend):
    need_block(device, 16, 1, 1)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    text = """
    low.kernel @reverse(%x: memref<64xf32>, %y: memref<64xf32>) grid [4, 1, 1] block [16, 1, 1] {
      %tile = low.alloca : memref<16xf32, "shared">
      %row = low.alloca : memref<2xf32>
      %b = low.block_id x
      %t = low.thread_id x
      %0 = arith.constant 0 : index
      %1 = arith.constant 1 : index
      %15 = arith.constant 15 : index
      %16 = arith.constant 16 : index
      %base = arith.muli %b, %16 : index
      %i = arith.addi %base, %t : index
      %v = memref.load %x[%i] : memref<64xf32>
      memref.store %v, %tile[%t] : memref<16xf32, "shared">
      low.barrier
      %u = arith.subi %15, %t : index
      %w = memref.load %tile[%u] : memref<16xf32, "shared">
      memref.store %w, %row[%1] : memref<2xf32>
      %double = arith.addf %w, %w : f32
      memref.store %double, %row[%0] : memref<2xf32>
      %pair = vector.load %row[%0] : memref<2xf32>, vector<2xf32>
      %sum = vector.reduction <add>, %pair : vector<2xf32> into f32
      memref.store %sum, %y[%i] : memref<64xf32>
    }"""
    run(device, text, x, y)
    assert y.tolist() == (3 * x.reshape(4, 16)[:, ::-1]).ravel().tolist()


@pytest.mark.parametrize("height", [1, 2])
def test_all_three_dimensions_have_ids(device: Backend, height: int):
    need_block(device, 1, height, 1)
    y = np.zeros(2 * 3 * 4 * height, np.int64)
    text = f"""
    low.kernel @k(%y: memref<{y.size}xi64>) grid [2, 3, 4] block [1, {height}, 1] {{
      %x = low.block_id x
      %b = low.block_id y
      %z = low.block_id z
      %t = low.thread_id y
      %2 = arith.constant 2 : index
      %6 = arith.constant 6 : index
      %12 = arith.constant {6 * height} : index
      %u = arith.muli %b, %2 : index
      %v = arith.muli %t, %6 : index
      %w = arith.muli %z, %12 : index
      %xu = arith.addi %x, %u : index
      %vw = arith.addi %v, %w : index
      %i = arith.addi %xu, %vw : index
      %n = arith.index_cast %i : index to i64
      memref.store %n, %y[%i] : memref<{y.size}xi64>
    }}"""
    run(device, text, y)
    assert y.tolist() == list(range(y.size))


@pytest.mark.parametrize(
    ("op", "order", "signs"),
    [
        ("addf", "%t, %c", (1, 1)),
        ("addf", "%c, %t", (1, 1)),
        ("subf", "%t, %c", (1, -1)),
        ("subf", "%c, %t", (-1, 1)),
    ],
)
def test_a_product_may_be_contracted_into_a_sum(device: Backend, op: str, order: str, signs: tuple[int, int]):
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=N).astype(np.float32) for _ in "abc")
    out = np.zeros(N, np.float32)
    run(
        device,
        f"""
    low.kernel @k(%x: memref<{N}xf32>, %y: memref<{N}xf32>, %z: memref<{N}xf32>, %out: memref<{N}xf32>)
        grid [{N}, 1, 1] block [1, 1, 1] {{
      %i = low.block_id x
      %a = memref.load %x[%i] : memref<{N}xf32>
      %b = memref.load %y[%i] : memref<{N}xf32>
      %c = memref.load %z[%i] : memref<{N}xf32>
      %t = arith.mulf %a, %b fastmath<contract> : f32
      %r = arith.{op} {order} fastmath<contract> : f32
      memref.store %r, %out[%i] : memref<{N}xf32>
    }}""",
        a,
        b,
        c,
        out,
    )
    expected = signs[0] * a.astype(np.float64) * b + signs[1] * c
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def need_block(device: Backend, *block: int) -> None:
    """Skips the test where the device has no work-groups of so many work-items."""
    if np.prod(block) > device.device.max_items:
        pytest.skip(f"{device.name} has no block of {list(block)}")

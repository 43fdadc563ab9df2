"""Integers of 2 and 4 bits compute as numbers of so many bits do, carried in those of 8."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon import TenonError

Numbers = npt.NDArray[np.int64]

TYPES = ("i2", "ui2", "i4", "ui4")


def width_of(type: str) -> int:
    return int(type[-1])


def carrier(type: str) -> type[np.generic]:
    return np.uint8 if type.startswith("u") else np.int8


def wrap(type: str, x: npt.ArrayLike) -> Numbers:
    """Returns the number that the low bits of an integer are."""
    width = width_of(type)
    low = np.asarray(x, np.int64) & ((1 << width) - 1)
    return low if type.startswith("u") else np.where(low >> (width - 1), low - (1 << width), low)


def bits(type: str, x: Numbers) -> Numbers:
    return x & ((1 << width_of(type)) - 1)


def all_of(type: str) -> Numbers:
    return wrap(type, np.arange(1 << width_of(type)))


def run(text: str, *arguments: npt.NDArray[np.generic], backend: str = "llvm"):
    return tenon.compile(text, backend=backend)(*arguments)


BINARY: dict[str, Callable[[str, Numbers, Numbers], Numbers]] = {
    "add": lambda type, x, y: x + y,
    "subtract": lambda type, x, y: x - y,
    "multiply": lambda type, x, y: x * y,
    "maximum": lambda type, x, y: np.maximum(x, y),
    "minimum": lambda type, x, y: np.minimum(x, y),
    "and": lambda type, x, y: x & y,
    "or": lambda type, x, y: x | y,
    "xor": lambda type, x, y: x ^ y,
    "power": lambda type, x, y: x ** np.maximum(y, 0),
    "divide": lambda type, x, y: np.trunc(x / np.where(y == 0, 1, y)).astype(np.int64),
    "remainder": lambda type, x, y: np.fmod(x, np.where(y == 0, 1, y)),
    "shift_left": lambda type, x, y: x << bits(type, y),
    "shift_right_logical": lambda type, x, y: bits(type, x) >> bits(type, y),
    "shift_right_arithmetic": lambda type, x, y: wrap(f"i{type[-1]}", x) >> bits(type, y),
}


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("op", BINARY)
def test_all_pairs_of_numbers(op: str, type: str, backend: str):
    x, y = (each.ravel() for each in np.meshgrid(all_of(type), all_of(type)))
    if op in ("divide", "remainder"):
        x, y = x[y != 0], y[y != 0]
    elif op == "power":
        x, y = x[y >= 0], y[y >= 0]
    t = f"tensor<{len(x)}x{type}>"
    text = f"func.func @f(%x: {t}, %y: {t}) -> {t} {{ %z = stablehlo.{op} %x, %y : {t}\n return %z : {t} }}"
    found = run(text, x.astype(carrier(type)), y.astype(carrier(type)), backend=backend)
    assert found.dtype == carrier(type)
    np.testing.assert_array_equal(found, wrap(type, BINARY[op](type, x, y)))


UNARY: dict[str, Callable[[str, Numbers], Numbers]] = {
    "stablehlo.negate": lambda type, x: -x,
    "stablehlo.not": lambda type, x: ~x,
    "stablehlo.abs": lambda type, x: np.abs(x),
    "stablehlo.sign": lambda type, x: np.sign(x),
    "stablehlo.popcnt": lambda type, x: np.array([int(each).bit_count() for each in bits(type, x)]),
    "stablehlo.count_leading_zeros": lambda type, x: np.array(
        [width_of(type) - int(each).bit_length() for each in bits(type, x)]
    ),
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("op", UNARY)
def test_all_numbers(op: str, type: str):
    x = all_of(type)
    t = f"tensor<{len(x)}x{type}>"
    found = run(
        f"func.func @f(%x: {t}) -> {t} {{ %z = {op} %x : {t}\n return %z : {t} }}", x.astype(carrier(type))
    )
    np.testing.assert_array_equal(found, wrap(type, UNARY[op](type, x)))


@pytest.mark.parametrize("type", TYPES)
def test_upper_halves_of_products(type: str):
    x, y = (each.ravel() for each in np.meshgrid(all_of(type), all_of(type)))
    t = f"tensor<{len(x)}x{type}>"
    text = f"""func.func @f(%x: {t}, %y: {t}) -> {t} {{
      %z = chlo.mulhi %x, %y : {t}, {t} -> {t}
      return %z : {t} }}"""
    found = run(text, x.astype(carrier(type)), y.astype(carrier(type)))
    np.testing.assert_array_equal(found, (x * y) >> width_of(type))


@pytest.mark.parametrize("type", TYPES)
def test_arguments_count_by_their_low_bits(type: str):
    x = np.arange(256).astype(np.uint8).view(carrier(type))
    t = f"tensor<256x{type}>"
    text = (
        f"func.func @f(%x: {t}) -> {t} {{ %y = stablehlo.optimization_barrier %x : {t}\n return %y : {t} }}"
    )
    found = run(text, x)
    np.testing.assert_array_equal(found, wrap(type, x))


@pytest.mark.parametrize("type", TYPES)
def test_conversions(type: str):
    x = np.arange(-40, 40, dtype=np.int32)
    t, wide, real = (f"tensor<80x{each}>" for each in (type, "i32", "f32"))
    text = f"""func.func @f(%x: {wide}) -> ({t}, {wide}, {real}, tensor<80xi1>) {{
      %a = stablehlo.convert %x : ({wide}) -> {t}
      %b = stablehlo.convert %a : ({t}) -> {wide}
      %c = stablehlo.convert %a : ({t}) -> {real}
      %d = stablehlo.convert %a : ({t}) -> tensor<80xi1>
      return %a, %b, %c, %d : {t}, {wide}, {real}, tensor<80xi1> }}"""
    for found in run(text, x)[:3]:
        np.testing.assert_array_equal(found, wrap(type, x))
    np.testing.assert_array_equal(run(text, x)[3], wrap(type, x) != 0)


@pytest.mark.parametrize(("narrow", "wide"), [("i4", "i8"), ("ui4", "i32"), ("i2", "ui16"), ("i2", "ui4")])
def test_bits_of_wider_integers_and_back(narrow: str, wide: str):
    width = int(wide.lstrip("ui"))
    n = width // width_of(narrow)
    dtype = carrier(wide) if width < 8 else np.dtype(f"{'u' if wide[0] == 'u' else ''}int{width}")
    low = np.random.default_rng(0).integers(0, 1 << min(width, 31), 9)
    x = (wrap(wide, low) if width < 8 else low).astype(dtype)
    text = f"""func.func @f(%x: tensor<9x{wide}>) -> (tensor<9x{n}x{narrow}>, tensor<9x{wide}>) {{
      %a = stablehlo.bitcast_convert %x : (tensor<9x{wide}>) -> tensor<9x{n}x{narrow}>
      %b = stablehlo.bitcast_convert %a : (tensor<9x{n}x{narrow}>) -> tensor<9x{wide}>
      return %a, %b : tensor<9x{n}x{narrow}>, tensor<9x{wide}> }}"""
    parts, back = run(text, x)
    shifted = x[:, None].astype(np.int64) >> (np.arange(n) * width_of(narrow))
    np.testing.assert_array_equal(parts, wrap(narrow, shifted))
    np.testing.assert_array_equal(back, x)


def test_signs_are_read_as_bits():
    text = """func.func @f(%x: tensor<16xui4>) -> tensor<16xi4> {
      %a = stablehlo.bitcast_convert %x : (tensor<16xui4>) -> tensor<16xi4>
      return %a : tensor<16xi4> }"""
    found = run(text, np.arange(16, dtype=np.uint8))
    np.testing.assert_array_equal(found, wrap("i4", np.arange(16)))


def test_bits_of_booleans():
    x = np.random.default_rng(1).standard_normal(3)
    text = """func.func @f(%x: tensor<3xf64>) -> (tensor<3x64xi1>, tensor<3xf64>) {
      %a = stablehlo.bitcast_convert %x : (tensor<3xf64>) -> tensor<3x64xi1>
      %b = stablehlo.bitcast_convert %a : (tensor<3x64xi1>) -> tensor<3xf64>
      return %a, %b : tensor<3x64xi1>, tensor<3xf64> }"""
    parts, back = run(text, x)
    np.testing.assert_array_equal(parts, (x.view(np.uint64)[:, None] >> np.arange(64, dtype=np.uint64)) & 1)
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(("type", "dtype"), [("i64", np.int64), ("ui64", np.uint64)])
def test_upper_halves_of_products_of_64_bits(type: str, dtype: type[np.generic]):
    rng = np.random.default_rng(2)
    info = np.iinfo(np.dtype(dtype))
    ends = np.array([info.min, info.max, 0, 1, info.max // 2], dtype)
    x, y = (np.concatenate([rng.integers(info.min, info.max, 200, dtype), np.tile(ends, 5)]) for _ in "xy")
    y[200:] = np.repeat(ends, 5)
    t = "tensor<225x" + type + ">"
    text = f"""func.func @f(%x: {t}, %y: {t}) -> {t} {{
      %z = chlo.mulhi %x, %y : {t}, {t} -> {t}
      return %z : {t} }}"""
    expected = [(int(a) * int(b)) >> 64 for a, b in zip(x, y, strict=True)]
    np.testing.assert_array_equal(run(text, x, y), np.array(expected, dtype))


def test_constants_hold_their_low_bits_however_they_are_written():
    text = """func.func @f() -> (tensor<3xi4>, tensor<2x2xi4>, tensor<2xui2>) {
      %a = stablehlo.constant dense<"0x0F0803"> : tensor<3xi4>
      %b = stablehlo.constant dense<-8> : tensor<2x2xi4>
      %c = stablehlo.constant dense<[3, 1]> : tensor<2xui2>
      return %a, %b, %c : tensor<3xi4>, tensor<2x2xi4>, tensor<2xui2> }"""
    a, b, c = run(text)
    assert a.tolist() == [-1, -8, 3]
    assert b.tolist() == [[-8, -8], [-8, -8]]
    assert c.tolist() == [3, 1]


def test_sums_products_and_loops():
    rng = np.random.default_rng(3)
    x, y = wrap("i4", rng.integers(0, 16, (7, 33))), wrap("i4", rng.integers(0, 16, (33, 5)))
    text = """func.func @f(%x: tensor<7x33xi4>, %y: tensor<33x5xi4>)
        -> (tensor<7xi4>, tensor<7xi4>, tensor<7x5xi4>, tensor<7x5xi32>, tensor<i4>) {
      %zero = stablehlo.constant dense<0> : tensor<i4>
      %least = stablehlo.constant dense<-8> : tensor<i4>
      %one = stablehlo.constant dense<1> : tensor<i4>
      %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<7x33xi4>, tensor<i4>) -> tensor<7xi4>
      %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1]
        : (tensor<7x33xi4>, tensor<i4>) -> tensor<7xi4>
      %p = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<7x33xi4>, tensor<33x5xi4>) -> tensor<7x5xi4>
      %q = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<7x33xi4>, tensor<33x5xi4>) -> tensor<7x5xi32>
      %w = stablehlo.while(%c = %one) : tensor<i4>
      cond {
        %t = stablehlo.compare GT, %c, %zero : (tensor<i4>, tensor<i4>) -> tensor<i1>
        stablehlo.return %t : tensor<i1>
      } do {
        %n = stablehlo.add %c, %c : tensor<i4>
        stablehlo.return %n : tensor<i4>
      }
      return %s, %m, %p, %q, %w
        : tensor<7xi4>, tensor<7xi4>, tensor<7x5xi4>, tensor<7x5xi32>, tensor<i4> }"""
    sums, most, narrow, wide, last = run(text, x.astype(np.int8), y.astype(np.int8))
    np.testing.assert_array_equal(sums, wrap("i4", x.sum(1)))
    np.testing.assert_array_equal(most, x.max(1))
    np.testing.assert_array_equal(narrow, wrap("i4", x @ y))
    np.testing.assert_array_equal(wide, x @ y)
    assert last == -8


def test_what_has_no_rule_for_narrow_integers_is_an_error():
    text = """func.func @f(%x: tensor<2xui64>) -> (tensor<2xui64>, tensor<4xi4>) {
      %s, %y = stablehlo.rng_bit_generator %x, algorithm = THREE_FRY
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xi4>)
      return %s, %y : tensor<2xui64>, tensor<4xi4> }"""
    with pytest.raises(TenonError, match=r"stablehlo.rng_bit_generator \(of i4\)"):
        tenon.compile(text, backend="reference")

"""Complex values are taken apart wherever they stand: constants, loops, branches, regions, and arguments."""

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon import TenonError

RNG = np.random.default_rng(0)

Z = "tensor<6xcomplex<f32>>"


def complex_numbers(*shape: int) -> npt.NDArray[np.complex64]:
    return (RNG.normal(size=shape) + 1j * RNG.normal(size=shape)).astype(np.complex64)


def parts(z: npt.NDArray[np.complexfloating]) -> npt.NDArray[np.floating]:
    return np.ascontiguousarray(z).reshape(-1).view(z.real.dtype).reshape(*z.shape, 2)


def whole(x: npt.NDArray[np.floating]) -> npt.NDArray[np.complexfloating]:
    return x.reshape(-1).view(np.complex64).reshape(x.shape[:-1])


def run(body: str, *arguments: np.ndarray, result: str = Z, backend: str = "llvm") -> np.ndarray:
    """Returns what a function of %z and perhaps more gives, in its parts."""
    names = ("%z", "%w", "%n")
    types = [
        f"tensor<{'x'.join([*map(str, each.shape), 'complex<f32>' if each.dtype.kind == 'c' else 'i32'])}>"
        for each in arguments
    ]
    declared = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=False))
    given = [parts(each) if each.dtype.kind == "c" else each for each in arguments]
    return tenon.compile(f"func.func @f({declared}) -> {result} {{ {body} }}", backend=backend)(*given)


@pytest.mark.parametrize(
    ("op", "result", "wanted"),
    [
        ("stablehlo.reverse %z, dims = [0] : " + Z, Z, lambda z: z[::-1]),
        (
            f"stablehlo.slice %z [1:5:2] : ({Z}) -> tensor<2xcomplex<f32>>",
            "tensor<2xcomplex<f32>>",
            lambda z: z[1:5:2],
        ),
        (
            f"stablehlo.reshape %z : ({Z}) -> tensor<2x3xcomplex<f32>>",
            "tensor<2x3xcomplex<f32>>",
            lambda z: z.reshape(2, 3),
        ),
        (
            f"stablehlo.concatenate %z, %z, dim = 0 : ({Z}, {Z}) -> tensor<12xcomplex<f32>>",
            "tensor<12xcomplex<f32>>",
            lambda z: np.tile(z, 2),
        ),
        (f"stablehlo.negate %z : {Z}", Z, lambda z: -z),
        (f"stablehlo.add %z, %z : {Z}", Z, lambda z: z + z),
        (f"stablehlo.subtract %z, %z : {Z}", Z, lambda z: z - z),
        (f"stablehlo.optimization_barrier %z : {Z}", Z, lambda z: z),
    ],
)
def test_movement_is_of_both_parts(op: str, result: str, wanted):
    z = complex_numbers(6)
    np.testing.assert_array_equal(
        whole(run(f"%y = {op}\n return %y : {result}", z, result=result)), wanted(z)
    )


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_constants_have_their_parts_side_by_side(backend: str):
    numbers = "[(1.0, 2.0), (0x7F800000, -0.0), (3.0, 0x00000001)]"
    body = f"""%c = stablehlo.constant dense<{numbers}> : tensor<3xcomplex<f32>>
      return %c : tensor<3xcomplex<f32>>"""
    found = run(body, result="tensor<3xcomplex<f32>>", backend=backend)
    np.testing.assert_array_equal(found, np.array([[1, 2], [np.inf, -0.0], [3, 1e-45]], np.float32))
    assert np.signbit(found[1, 1])


def test_loops_carry_both_parts():
    body = f"""%zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %r:2 = stablehlo.while(%i = %zero, %s = %z) : tensor<i32>, {Z}
        cond {{
          %more = stablehlo.compare LT, %i, %ten : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %more : tensor<i1>
        }} do {{
          %next = stablehlo.add %i, %one : tensor<i32>
          %p = stablehlo.multiply %s, %w : {Z}
          stablehlo.return %next, %p : tensor<i32>, {Z}
        }}
      return %r#1 : {Z}"""
    z, w = complex_numbers(6), complex_numbers(6)
    np.testing.assert_allclose(whole(run(body, z, w)), z * w**10, rtol=1e-4)


def test_branches_give_both_parts():
    body = f"""%zero = stablehlo.constant dense<0> : tensor<i32>
      %c = stablehlo.compare GT, %n, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %r = "stablehlo.if"(%c) ({{
        %p = stablehlo.multiply %z, %w : {Z}
        stablehlo.return %p : {Z}
      }}, {{
        stablehlo.return %z : {Z}
      }}) : (tensor<i1>) -> {Z}
      return %r : {Z}"""
    z, w = complex_numbers(6), complex_numbers(6)
    np.testing.assert_allclose(whole(run(body, z, w, np.array(1, np.int32))), z * w, rtol=1e-6)
    np.testing.assert_array_equal(whole(run(body, z, w, np.array(0, np.int32))), z)


@pytest.mark.parametrize(
    ("op", "init", "wanted"), [("add", "(0.0, 0.0)", np.sum), ("multiply", "(1.0, 0.0)", np.prod)]
)
def test_reductions(op: str, init: str, wanted):
    body = f"""%init = stablehlo.constant dense<{init}> : tensor<complex<f32>>
      %s = stablehlo.reduce(%z init: %init) applies stablehlo.{op} across dimensions = [0]
        : ({Z}, tensor<complex<f32>>) -> tensor<complex<f32>>
      return %s : tensor<complex<f32>>"""
    z = complex_numbers(6)
    found = whole(run(body, z, result="tensor<complex<f32>>"))
    assert found.shape == ()
    np.testing.assert_allclose(found, wanted(z), rtol=1e-5)


@pytest.mark.parametrize("op", ["add", "multiply"])
def test_scatters_combine_numbers(op: str):
    z, w = complex_numbers(6), complex_numbers(3)
    body = f"""%i = stablehlo.constant dense<[[4], [1], [4]]> : tensor<3x1xi32>
      %y = "stablehlo.scatter"(%z, %i, %w) <{{scatter_dimension_numbers = #stablehlo.scatter<
        inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> ({{
      ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
        %p = stablehlo.{op} %a, %b : tensor<complex<f32>>
        stablehlo.return %p : tensor<complex<f32>>
      }}) : ({Z}, tensor<3x1xi32>, tensor<3xcomplex<f32>>) -> {Z}
      return %y : {Z}"""
    wanted = z.copy()
    for place, value in zip((4, 1, 4), w, strict=True):
        wanted[place] = wanted[place] + value if op == "add" else wanted[place] * value
    np.testing.assert_allclose(whole(run(body, z, w)), wanted, rtol=1e-5)


def test_sorts_compare_pairs_of_elements():
    body = f"""%s:2 = "stablehlo.sort"(%z, %n) <{{dimension = 0 : i64, is_stable = true}}> ({{
      ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>, %c: tensor<i32>, %d: tensor<i32>):
        %x = stablehlo.imag %a : (tensor<complex<f32>>) -> tensor<f32>
        %y = stablehlo.imag %b : (tensor<complex<f32>>) -> tensor<f32>
        %less = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }}) : ({Z}, tensor<6xi32>) -> ({Z}, tensor<6xi32>)
      return %s#0, %s#1 : {Z}, tensor<6xi32>"""
    text = f"func.func @f(%z: {Z}, %n: tensor<6xi32>) -> ({Z}, tensor<6xi32>) {{ {body} }}"
    z = complex_numbers(6)
    numbers, places = tenon.compile(text)(parts(z), np.arange(6, dtype=np.int32))
    order = np.argsort(z.imag)
    np.testing.assert_array_equal(whole(numbers), z[order])
    np.testing.assert_array_equal(places, order)


@pytest.mark.parametrize(
    ("op", "wanted"),
    [
        ("stablehlo.real %z : (tensor<6xcomplex<f32>>) -> tensor<6xf32>", lambda z: z.real),
        ("stablehlo.imag %z : (tensor<6xcomplex<f32>>) -> tensor<6xf32>", lambda z: z.imag),
        ("stablehlo.abs %z : (tensor<6xcomplex<f32>>) -> tensor<6xf32>", np.abs),
        ("stablehlo.convert %z : (tensor<6xcomplex<f32>>) -> tensor<6xf32>", lambda z: z.real),
    ],
)
def test_parts_and_sizes_are_real(op: str, wanted):
    z = complex_numbers(6)
    found = run(f"%y = {op}\n return %y : tensor<6xf32>", z, result="tensor<6xf32>")
    np.testing.assert_allclose(found, wanted(z), rtol=2e-7)


def test_numbers_are_made_of_parts_and_of_real_ones():
    text = """
      func.func @f(%x: tensor<3xf32>, %y: tensor<3xf32>) -> (tensor<3xcomplex<f32>>, tensor<3xcomplex<f64>>) {
      %z = stablehlo.complex %x, %y : tensor<3xcomplex<f32>>
      %r = stablehlo.convert %x : (tensor<3xf32>) -> tensor<3xcomplex<f64>>
      return %z, %r : tensor<3xcomplex<f32>>, tensor<3xcomplex<f64>> }"""
    x, y = RNG.normal(size=(2, 3)).astype(np.float32)
    both, real = tenon.compile(text)(x, y)
    np.testing.assert_array_equal(both, np.stack([x, y], -1))
    np.testing.assert_array_equal(real, np.stack([x, 0 * x], -1))
    assert real.dtype == np.float64


@pytest.mark.parametrize(("left", "right"), [("c", "c"), ("c", "f"), ("f", "c")])
def test_products_of_matrices_of_real_and_complex_numbers(left: str, right: str):
    a, b = complex_numbers(5, 7), complex_numbers(7, 3)
    a, b = (each if kind == "c" else each.real.copy() for each, kind in ((a, left), (b, right)))
    first, second = ("complex<f32>" if kind == "c" else "f32" for kind in (left, right))
    text = f"""func.func @f(%a: tensor<5x7x{first}>, %b: tensor<7x3x{second}>) -> tensor<5x3xcomplex<f32>> {{
      %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
        : (tensor<5x7x{first}>, tensor<7x3x{second}>) -> tensor<5x3xcomplex<f32>>
      return %c : tensor<5x3xcomplex<f32>> }}"""
    given = [parts(each) if each.dtype.kind == "c" else each for each in (a, b)]
    np.testing.assert_allclose(whole(tenon.compile(text)(*given)), a @ b, rtol=1e-4, atol=1e-5)


DTYPES = {
    "complex<f32>": np.complex64,
    "complex<f64>": np.complex128,
    "i64": np.int64,
    "i32": np.int32,
    "i16": np.int16,
}


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("2xcomplex<f64>", "2x2xcomplex<f32>"),
        ("2x2xcomplex<f32>", "2xcomplex<f64>"),
        ("2xcomplex<f32>", "2xi64"),
        ("2xcomplex<f32>", "2x2xi32"),
        ("2xcomplex<f32>", "2x4xi16"),
        ("2xi64", "2xcomplex<f32>"),
        ("2x4xi16", "2xcomplex<f32>"),
        ("2xcomplex<f32>", "2xcomplex<f32>"),
    ],
)
def test_bits_of_numbers(source: str, result: str):
    (*shape, element), (*wanted_shape, wanted_element) = (
        each.replace("complex", "C").split("x") for each in (source, result)
    )
    dtype, wanted_dtype = (DTYPES[each.replace("C", "complex")] for each in (element, wanted_element))
    n_words = int(np.prod([*map(int, shape)])) * np.dtype(dtype).itemsize // 4
    x = RNG.integers(1, 2**30, n_words, dtype=np.int32).view(dtype)
    text = f"""func.func @f(%x: tensor<{source}>) -> tensor<{result}> {{
      %y = stablehlo.bitcast_convert %x : (tensor<{source}>) -> tensor<{result}>
      return %y : tensor<{result}> }}"""
    given, wanted = x.reshape([*map(int, shape)]), x.view(wanted_dtype).reshape([*map(int, wanted_shape)])
    found = tenon.compile(text)(parts(given) if given.dtype.kind == "c" else given)
    np.testing.assert_array_equal(found, parts(wanted) if wanted.dtype.kind == "c" else wanted)


def test_an_op_without_a_rule_for_complex_numbers_is_an_error_that_lists_all():
    body = f"""%a = stablehlo.floor %z : {Z}
      %b = stablehlo.floor %a : {Z}
      %c = stablehlo.custom_call @elsewhere(%b) : ({Z}) -> {Z}
      return %c : {Z}"""
    with pytest.raises(TenonError) as caught:
        run(body, complex_numbers(6))
    text = str(caught.value)
    assert "no conversion for 3 ops" in text
    assert "stablehlo.floor (of complex numbers): 2" in text
    assert "stablehlo.custom_call (@elsewhere of complex numbers): 1" in text


def test_arguments_of_a_program_over_devices_are_not_complex():
    text = """sdy.mesh @mesh = <["x"=2]>
      func.func @f(%z: tensor<4xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
        -> tensor<4xcomplex<f32>> { return %z : tensor<4xcomplex<f32>> }"""
    with pytest.raises(TenonError, match="complex numbers of several devices"):
        tenon.compile(text)

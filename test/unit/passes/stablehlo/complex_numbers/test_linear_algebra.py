"""LAPACK's functions of complex matrices as jax calls them, and `stablehlo`'s ops for complex triangles."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError

ELEMENTS = {"f32": np.complex64, "f64": np.complex128}


def type_of(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def complex_type(shape: tuple[int, ...], dtype: Any) -> str:
    return type_of(shape, f"complex<f{32 if dtype == np.complex64 else 64}>")


def parts_of(z: np.ndarray) -> np.ndarray:
    """Returns complex numbers as an array of their parts."""
    return np.ascontiguousarray(z).view(z.real.dtype).reshape(*z.shape, 2)


def ran(call: str, results: list[str], *arrays: np.ndarray, backend: str = "llvm") -> list[np.ndarray]:
    """Returns what a call of `%a0`, `%a1`, ... gives."""
    types = [complex_type(each.shape, each.dtype) for each in arrays]
    arguments = ", ".join(f"%a{number}: {type}" for number, type in enumerate(types))
    listed, n = ", ".join(results), len(results)
    returned = ", ".join(f"%r#{number}" for number in range(n)) if n > 1 else "%r"
    name = f"%r:{n}" if n > 1 else "%r"
    text = f"""func.func @f({arguments}) -> ({listed}) {{
      {name} = {call} : ({", ".join(types)}) -> ({listed})
      return {returned} : {listed} }}"""
    found = tenon.from_stablehlo(text, backend=backend)(*map(parts_of, arrays))
    return [
        each[..., 0] + 1j * each[..., 1] if "complex" in type else each
        for each, type in zip(found if n > 1 else (found,), results, strict=True)
    ]


def called(name: str, results: list[str], *arrays: np.ndarray, backend: str = "llvm", **options: str) -> Any:
    """Returns what a function of LAPACK gives; options are letters."""
    config = ", ".join(f"{key} = {ord(letter)} : ui8" for key, letter in options.items())
    names = ", ".join(f"%a{number}" for number in range(len(arrays)))
    call = f"stablehlo.custom_call @{name}({names}) {{mhlo.backend_config = {{{config}}}}}"
    return ran(call, results, *arrays, backend=backend)


def random(*shape: int, dtype: Any = np.complex128) -> np.ndarray:
    parts = np.random.default_rng(shape).normal(size=(2, *shape))
    return (parts[0] + 1j * parts[1]).astype(dtype)


def near(found: Any, wanted: Any, times: float = 50) -> None:
    epsilon = np.finfo(wanted.dtype).eps
    limit = times * epsilon * max(1, np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=limit)


def positive(n: int, dtype: Any = np.complex128) -> np.ndarray:
    a = random(3, n, n, dtype=dtype)
    return a @ a.conj().transpose(0, 2, 1) + np.eye(n, dtype=dtype)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(1, 1), (4, 4), (5, 3), (3, 5)])
def test_getrf_gives_both_triangles_and_the_rows_that_were_exchanged(
    backend: str, element: str, shape: tuple[int, int]
):
    m, n = shape
    dtype, k = ELEMENTS[element], min(shape)
    a = random(2, m, n, dtype=dtype)
    types = [complex_type(a.shape, dtype), f"tensor<2x{k}xi32>", "tensor<2xi32>"]
    name = f"lapack_{'c' if element == 'f32' else 'z'}getrf_ffi"
    factors, pivots, info = called(name, types, a, backend=backend)
    for number in range(2):
        rows = list(range(m))
        for at, pivot in enumerate(pivots[number]):
            rows[at], rows[pivot - 1] = rows[pivot - 1], rows[at]
        lower = np.tril(factors[number][:, :k], -1) + np.eye(m, k, dtype=dtype)
        near(lower @ np.triu(factors[number][:k]), a[number][rows])
        # As LAPACK has it, the pivot is the largest sum of sizes.
        assert np.abs(lower).max() <= np.sqrt(2)
    assert not info.any()


def test_getrf_says_which_pivot_is_0_and_takes_large_and_small_numbers():
    a = np.zeros((2, 3, 3), np.complex128)
    a[0] = [[0, 2j, 1], [0, 4j, 3], [0, 1j, 0.5]]
    a[1] = np.array([[1e200 + 1e200j, 1e-200j, 0], [0, 1e-200 + 1e-200j, 0], [0, 0, 1j]])
    types = [complex_type(a.shape, a.dtype), "tensor<2x3xi32>", "tensor<2xi32>"]
    factors, pivots, info = called("lapack_zgetrf_ffi", types, a)
    assert info.tolist() == [1, 0] and pivots[0, 1] == 2
    assert np.isfinite(factors).all()
    np.testing.assert_array_equal(factors[1], a[1])


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_potrf_keeps_the_other_triangle_and_says_where_it_fails(element: str, uplo: str, backend: str):
    dtype = ELEMENTS[element]
    a = positive(4, dtype)
    a[1, 2, 2] = -1
    # What is in the other triangle, and the imaginary part of the diagonal, is not read.
    other = np.triu_indices(4, 1) if uplo == "L" else np.tril_indices(4, -1)
    wanted = np.linalg.cholesky(a[2])
    a[(slice(None), *other)] = 7j
    types = [complex_type(a.shape, dtype), "tensor<3xi32>"]
    name = f"lapack_{'c' if element == 'f32' else 'z'}potrf_ffi"
    found, info = called(name, types, a + 1j * np.eye(4, dtype=dtype), backend=backend, uplo=uplo)
    assert info.tolist() == [0, 3, 0]
    wanted = wanted if uplo == "L" else wanted.conj().T
    wanted[other] = 7j
    near(found[2], wanted)
    diagonal = found[2].diagonal()
    assert not diagonal.imag.any() and (diagonal.real > 0).all()


@pytest.mark.parametrize(
    ("n", "side", "uplo", "trans", "diag"),
    [
        *((3, *each) for each in product("LR", "LU", "NTC", "NU")),
        # By blocks.
        (50, "L", "U", "N", "N"),
        (50, "R", "U", "C", "U"),
        (1, "L", "L", "T", "N"),
    ],
)
def test_trsm_solves_triangles(n: int, side: str, uplo: str, trans: str, diag: str):
    a, b = random(2, n, n) / n + 4j * np.eye(n), random(2, n, n)
    options = {"side": side, "uplo": uplo, "trans_x": trans, "diag": diag}
    (x,) = called("lapack_ztrsm_ffi", [complex_type(b.shape, b.dtype)], a, b, **options)
    triangle = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        triangle[:, range(n), range(n)] = 1
    triangle = triangle if trans == "N" else triangle.transpose(0, 2, 1)
    triangle = triangle.conj() if trans == "C" else triangle
    near(triangle @ x if side == "L" else x @ triangle, b)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (1, 1)])
def test_geqrf_and_ungqr_give_reflections(shape: tuple[int, int], element: str, backend: str):
    m, n = shape
    dtype, k, letter = ELEMENTS[element], min(shape), "c" if element == "f32" else "z"
    a = random(2, m, n, dtype=dtype)
    types = [complex_type(a.shape, dtype), complex_type((2, k), dtype)]
    reflected, factors = called(f"lapack_{letter}geqrf_ffi", types, a, backend=backend)
    vectors = np.ascontiguousarray(reflected[:, :, :k])
    (q,) = called(
        f"lapack_{letter}ungqr_ffi", [complex_type((2, m, k), dtype)], vectors, factors, backend=backend
    )
    near(q.conj().transpose(0, 2, 1) @ q, np.broadcast_to(np.eye(k, dtype=dtype), (2, k, k)))
    near(q @ np.triu(reflected[:, :k]), a)
    near(np.triu(reflected[0, :k]), np.linalg.qr(a[0])[1])
    assert not reflected[:, range(k), range(k)].imag.any()


def test_columns_that_are_real_vanish_or_are_large_are_reflected():
    a = np.stack(
        [np.zeros((3, 2)), np.eye(3, 2), 1j * np.eye(3, 2), 1e200 * random(3, 2), 1e-200 * random(3, 2)]
    )
    types = [complex_type(a.shape, a.dtype), complex_type((5, 2), a.dtype)]
    reflected, factors = called("lapack_zgeqrf_ffi", types, a)
    assert not reflected[0].any() and not factors[:2].any() and (reflected[1] == np.eye(3, 2)).all()
    np.testing.assert_array_equal(np.triu(reflected[2]), -np.eye(3, 2))
    for number in (3, 4):
        wanted = np.linalg.qr(a[number])[1]
        np.testing.assert_allclose(
            np.triu(reflected[number])[:2], wanted, rtol=1e-14, atol=1e-14 * np.abs(wanted).max()
        )


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("uplo", "LU")
@pytest.mark.parametrize("n", [1, 4])
def test_heevd_gives_eigenvectors_in_ascending_order(n: int, uplo: str, element: str, backend: str):
    dtype, letter = ELEMENTS[element], "c" if element == "f32" else "z"
    a = random(2, n, n, dtype=dtype)
    triangle = np.tril(a, -1) if uplo == "L" else np.triu(a, 1)
    hermitian = triangle + triangle.conj().transpose(0, 2, 1) + np.eye(n) * a.real
    types = [complex_type(a.shape, dtype), type_of((2, n), element), "tensor<2xi32>"]
    vectors, values, info = called(
        f"lapack_{letter}heevd_ffi", types, a, backend=backend, uplo=uplo, mode="V"
    )
    near(values, np.linalg.eigvalsh(hermitian).astype(values.dtype))
    adjoint = vectors.conj().transpose(0, 2, 1)
    near((vectors * values[:, None]) @ adjoint, hermitian.astype(dtype))
    near(adjoint @ vectors, np.broadcast_to(np.eye(n, dtype=dtype), a.shape))
    assert not info.any()


def test_heevd_of_equal_and_vanishing_eigenvalues_and_of_what_is_not_finite():
    a = np.stack([np.eye(4), np.zeros((4, 4)), np.ones((4, 4)), np.eye(4)]).astype(np.complex128)
    a[2] *= np.outer([1, 1j, -1, -1j], [1, -1j, -1, 1j])
    a[3, 2, 1] = np.nan
    types = [complex_type(a.shape, a.dtype), "tensor<4x4xf64>", "tensor<4xi32>"]
    vectors, values, _ = called("lapack_zheevd_ffi", types, a, uplo="L", mode="V")
    near(values[:3], np.array([[1.0] * 4, [0.0] * 4, [0.0] * 3 + [4.0]]))
    near(vectors[:3].conj().transpose(0, 2, 1) @ vectors[:3], np.broadcast_to(np.eye(4), (3, 4, 4)))
    assert np.isnan(values[3]).all() and np.isnan(vectors[3]).all()


@pytest.mark.parametrize(
    ("backend", "mode", "shape"),
    [
        *product(["llvm"], "AS", [(5, 3), (3, 6), (4, 1), (1, 4), (4, 4)]),
        ("llvm", "N", (3, 2)),
        *product(["reference"], "AS", [(3, 2), (2, 3)]),
    ],
)
def test_gesdd_gives_singular_values_in_descending_order(shape: tuple[int, int], mode: str, backend: str):
    m, n = shape
    k = min(shape)
    a = np.stack([random(m, n), 1j * np.ones((m, n)), np.zeros((m, n))])
    u_shape, v_shape = ((m, m), (n, n)) if mode == "A" else ((m, k), (k, n))
    types = [complex_type(a.shape, a.dtype), f"tensor<3x{k}xf64>"]
    types += [complex_type((3, *each), a.dtype) for each in (u_shape, v_shape)]
    _, values, u, v, info = called(
        "lapack_zgesdd_ffi", [*types, "tensor<3xi32>"], a, backend=backend, mode=mode
    )
    near(values, np.linalg.svd(a, compute_uv=False))
    assert not info.any()
    if mode != "N":
        near((u[:, :, :k] * values[:, None]) @ v[:, :k], a)
        for each, size in (
            (u.conj().transpose(0, 2, 1) @ u, u_shape[1]),
            (v @ v.conj().transpose(0, 2, 1), v_shape[0]),
        ):
            near(each, np.broadcast_to(np.eye(size, dtype=a.dtype), (3, size, size)))


def test_values_alone_are_the_bits_of_those_with_vectors_which_are_not_made():
    a = positive(5)
    hermitian = [complex_type(a.shape, a.dtype), "tensor<3x5xf64>", "tensor<3xi32>"]
    several = [hermitian[0], "tensor<3x5xf64>", hermitian[0], hermitian[0], "tensor<3xi32>"]
    for name, types, modes, options in (
        ("lapack_zheevd_ffi", hermitian, "NV", {"uplo": "L"}),
        ("lapack_zgesdd_ffi", several, "NA", {}),
    ):
        (same, alone, *_), (_, values, *_) = (called(name, types, a, mode=mode, **options) for mode in modes)
        assert alone.tobytes() == values.tobytes()
        np.testing.assert_array_equal(same, a)


@pytest.mark.parametrize("mode", "AS")
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_gesdd_of_no_rows_or_columns(shape: tuple[int, int], mode: str):
    m, n = shape
    u_shape, v_shape = ((m, m), (n, n)) if mode == "A" else ((m, 0), (0, n))
    dtype = np.complex64
    types = [complex_type((2, m, n), dtype), "tensor<2x0xf32>"]
    types += [complex_type((2, *each), dtype) for each in (u_shape, v_shape)]
    a = np.zeros((2, m, n), dtype)
    _, _, u, v, _ = called("lapack_cgesdd_ffi", [*types, "tensor<2xi32>"], a, mode=mode)
    np.testing.assert_array_equal(u, np.broadcast_to(np.eye(*u_shape), u.shape))
    np.testing.assert_array_equal(v, np.broadcast_to(np.eye(*v_shape), v.shape))


def test_what_cannot_be_solved_is_not_finite():
    a = np.diag(np.array([1, 0, 2j]))
    options = {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"}
    (x,) = called("lapack_ztrsm_ffi", [complex_type((3, 2), a.dtype)], a, random(3, 2), **options)
    assert np.isfinite(x[0]).all() and not np.isfinite(x[1]).any()


@pytest.mark.parametrize("transposition", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_triangular_solve(transposition: str, backend: str):
    a, b = random(3, 3) + 4 * np.eye(3), random(3, 2)
    call = f"""\"stablehlo.triangular_solve\"(%a0, %a1) <{{left_side = true, lower = true,
        unit_diagonal = false, transpose_a = #stablehlo<transpose {transposition}>}}>"""
    (x,) = ran(call, [complex_type(b.shape, b.dtype)], a, b, backend=backend)
    triangle = np.tril(a)
    triangle = triangle if transposition == "NO_TRANSPOSE" else triangle.T
    near((triangle.conj() if transposition == "ADJOINT" else triangle) @ x, b)


@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(lower: bool):
    a = positive(5)
    call = f'"stablehlo.cholesky"(%a0) <{{lower = {str(lower).lower()}}}>'
    (found,) = ran(call, [complex_type(a.shape, a.dtype)], a)
    wanted = np.linalg.cholesky(a)
    near(found, wanted if lower else wanted.conj().transpose(0, 2, 1))


SQUARE = "tensor<3x3xcomplex<f64>>"


@pytest.mark.parametrize(
    ("name", "types", "shapes", "options", "message"),
    [
        ("lapack_zgetrf_ffi", [SQUARE], [(3, 3)], {}, "expected 4"),
        ("lapack_ztrsm_ffi", [SQUARE], [(3, 3)], {"trans_x": "N"}, "@lapack_ztrsm_ffi has 1 operands"),
        ("lapack_zpotrf_ffi", [SQUARE], [(3, 2)], {"uplo": "L"}, "@lapack_zpotrf_ffi of tensor<3x2xf64>"),
        ("lapack_zpotrf_ffi", [SQUARE], [(3,)], {"uplo": "L"}, "is not of matrices of f32 or f64"),
        ("lapack_zpotrf_ffi", [SQUARE, "tensor<i32>"], [(3, 3)], {}, "uplo None, expected LU"),
        (
            "lapack_ztrsm_ffi",
            [SQUARE],
            [(3, 3), (4, 3)],
            {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"},
            "operands are complex numbers by their parts of tensor<3x3xf64> and",
        ),
        (
            "lapack_ztrsm_ffi",
            [SQUARE],
            [(3, 3), (2, 3, 3)],
            {"side": "L", "uplo": "L", "trans_x": "N", "diag": "N"},
            "operands are complex numbers by their parts of tensor<3x3xf64> and",
        ),
        ("lapack_zheevd_ffi", [SQUARE], [(3, 3)], {"uplo": "L"}, "mode None, expected NV"),
        ("lapack_zheevd_ffi", [SQUARE], [(3, 2)], {"uplo": "L", "mode": "V"}, "of tensor<3x2xf64>"),
        ("lapack_zgesdd_ffi", [SQUARE], [(3, 3)], {"mode": "O"}, "mode 79 : ui8, expected ASN"),
        ("lapack_zungqr_ffi", [SQUARE], [(3, 3), (4,)], {}, "@lapack_zungqr_ffi of tensor<4xf64>"),
        ("lapack_zgees_ffi", [SQUARE], [(3, 3)], {}, "(@lapack_zgees_ffi of complex numbers): 1"),
    ],
)
def test_a_wrong_call_is_an_error_that_names_it(
    name: str, types: list[str], shapes: list[tuple[int, ...]], options: dict[str, str], message: str
):
    with pytest.raises(TenonError) as caught:
        called(name, types, *(random(*shape) for shape in shapes), **options)
    assert message in str(caught.value) and "stablehlo.custom_call" in str(caught.value)


def test_wrong_operands_of_the_ops_are_errors_that_name_them():
    with pytest.raises(TenonError, match=r"stablehlo.cholesky: tensor<3x2xf64> is not of square matrices"):
        ran('"stablehlo.cholesky"(%a0) <{lower = true}>', ["tensor<3x2xcomplex<f64>>"], random(3, 2))
    text = """func.func @f(%a: tensor<3x3xcomplex<f64>>, %b: tensor<3x2xf64>) -> tensor<3x2xf64> {
      %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, unit_diagonal = false,
        transpose_a = #stablehlo<transpose NO_TRANSPOSE>}>
        : (tensor<3x3xcomplex<f64>>, tensor<3x2xf64>) -> tensor<3x2xf64>
      return %r : tensor<3x2xf64> }"""
    with pytest.raises(TenonError, match=r"solve \(of a complex and a real operand\): 1"):
        tenon.from_stablehlo(text)

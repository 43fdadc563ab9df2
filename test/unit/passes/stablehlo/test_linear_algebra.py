"""LAPACK's functions as jax calls them: what they give is what their documentation says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError

DTYPES = {"f32": np.float32, "f64": np.float64}


def called(name: str, results: list[str], *arrays: np.ndarray, backend: str = "llvm", **options: str) -> Any:
    """Returns what a function gives; options are letters."""
    types = [f"tensor<{'x'.join([*map(str, each.shape), _element(each)])}>" for each in arrays]
    names = [f"%a{number}" for number in range(len(arrays))]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, types, strict=True))
    config = ", ".join(f"{key} = {ord(letter)} : ui8" for key, letter in options.items())
    listed = ", ".join(results)
    found = ", ".join(f"%r#{number}" for number in range(len(results)))
    given = ", ".join(names)
    text = f"""func.func @f({arguments}) -> ({listed}) {{
      %r:{len(results)} = stablehlo.custom_call @{name}({given}) {{mhlo.backend_config = {{{config}}}}}
        : ({", ".join(types)}) -> ({listed})
      return {found} : {listed}
    }}"""
    return tenon.from_stablehlo(text, backend=backend)(*arrays)


def _element(array: np.ndarray) -> str:
    return {"float32": "f32", "float64": "f64", "float16": "f16", "int32": "i32"}[array.dtype.name]


def random(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


def near(found: Any, wanted: Any, times: float = 50) -> None:
    epsilon = np.finfo(wanted.dtype).eps if wanted.dtype.kind == "f" else 0
    np.testing.assert_allclose(
        found, wanted, rtol=0, atol=times * epsilon * max(1, np.abs(wanted).max(initial=0))
    )


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
def test_getrf_gives_both_triangles_and_the_rows_that_were_exchanged(element: str, shape: tuple[int, int]):
    m, n = shape
    a, k = random(2, m, n, dtype=DTYPES[element]), min(shape)
    types = [f"tensor<2x{m}x{n}x{element}>", f"tensor<2x{k}xi32>", "tensor<2xi32>"]
    factors, pivots, info = called(f"lapack_{'s' if element == 'f32' else 'd'}getrf_ffi", types, a)
    for number in range(2):
        rows = list(range(m))
        for at, pivot in enumerate(pivots[number]):
            rows[at], rows[pivot - 1] = rows[pivot - 1], rows[at]
        lower = np.tril(factors[number][:, :k], -1) + np.eye(m, k, dtype=a.dtype)
        near(lower @ np.triu(factors[number][:k]), a[number][rows])
        assert np.abs(lower).max() <= 1
    assert info.tolist() == [0, 0]


def test_getrf_says_which_pivot_is_0():
    a = np.array([[0, 2.0, 1], [0, 4, 3], [0, 1, 0.5]])
    types = ["tensor<3x3xf64>", "tensor<3xi32>", "tensor<i32>"]
    factors, pivots, info = called("lapack_dgetrf_ffi", types, a)
    assert info == 1 and pivots[1] == 2
    assert np.isfinite(factors).all()


@pytest.mark.parametrize("uplo", "LU")
def test_potrf_keeps_the_other_triangle_and_says_where_it_fails(uplo: str):
    x = random(3, 4, 4)
    a = x @ x.transpose(0, 2, 1) + np.eye(4)
    a[1, 2, 2] = -1
    types = ["tensor<3x4x4xf64>", "tensor<3xi32>"]
    found, info = called("lapack_dpotrf_ffi", types, a, uplo=uplo)
    assert info.tolist() == [0, 3, 0]
    wanted = np.linalg.cholesky(a[2])
    near(
        found[2], np.tril(wanted) + np.triu(a[2], 1) if uplo == "L" else np.triu(wanted.T) + np.tril(a[2], -1)
    )


@pytest.mark.parametrize(("side", "uplo", "trans", "diag"), ["LLNN", "LUTU", "RLTN", "RUNU", "LLCN"])
def test_trsm_solves_triangles(side: str, uplo: str, trans: str, diag: str):
    a, b = random(4, 4) + 4 * np.eye(4), random(4, 4)
    options = {"side": side, "uplo": uplo, "trans_x": trans, "diag": diag}
    (x,) = [called("lapack_dtrsm_ffi", ["tensor<4x4xf64>"], a, b, **options)]
    triangle = np.tril(a) if uplo == "L" else np.triu(a)
    if diag == "U":
        np.fill_diagonal(triangle, 1)
    triangle = triangle if trans == "N" else triangle.T
    near(triangle @ x if side == "L" else x @ triangle, b)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_geqrf_and_orgqr_give_reflections(shape: tuple[int, int], backend: str):
    m, n = shape
    k = min(shape)
    a = random(2, m, n)
    types = [f"tensor<2x{m}x{n}xf64>", f"tensor<2x{k}xf64>"]
    reflected, factors = called("lapack_dgeqrf_ffi", types, a, backend=backend)
    vectors = np.ascontiguousarray(reflected[:, :, :k])
    q = called("lapack_dorgqr_ffi", [f"tensor<2x{m}x{k}xf64>"], vectors, factors, backend=backend)
    near(q.transpose(0, 2, 1) @ q, np.broadcast_to(np.eye(k), (2, k, k)))
    near(q @ np.triu(reflected[:, :k]), a)
    near(np.triu(reflected[0, :k]), np.linalg.qr(a[0])[1])


def test_a_column_of_zeros_is_reflected_by_nothing():
    reflected, factors = called(
        "lapack_sgeqrf_ffi", ["tensor<3x2xf32>", "tensor<2xf32>"], np.zeros((3, 2), np.float32)
    )
    assert not reflected.any() and not factors.any()


def test_squares_of_large_and_small_columns_neither_overflow_nor_vanish():
    a = np.array([[3e30, 1e-30], [4e30, 2e-30], [0, 2e-30]], np.float32)
    reflected, _ = called("lapack_sgeqrf_ffi", ["tensor<3x2xf32>", "tensor<2xf32>"], a)
    np.testing.assert_allclose(np.abs(reflected[0, 0]), 5e30, rtol=1e-6)
    assert np.isfinite(reflected).all() and reflected[1, 1]


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_syevd_gives_eigenvectors_in_ascending_order(element: str, n: int):
    a = random(2, n, n, dtype=DTYPES[element])
    symmetric = np.tril(a) + np.tril(a, -1).transpose(0, 2, 1)
    types = [f"tensor<2x{n}x{n}x{element}>", f"tensor<2x{n}x{element}>", "tensor<2xi32>"]
    name = f"lapack_{'s' if element == 'f32' else 'd'}syevd_ffi"
    vectors, values, info = called(name, types, a, uplo="L", mode="V")
    near(values, np.linalg.eigvalsh(symmetric))
    near((vectors * values[:, None]) @ vectors.transpose(0, 2, 1), symmetric)
    near(vectors.transpose(0, 2, 1) @ vectors, np.broadcast_to(np.eye(n, dtype=a.dtype), a.shape))
    assert not info.any()


def test_syevd_of_equal_and_vanishing_eigenvalues_and_of_the_upper_triangle():
    types = ["tensor<4x5x5xf64>", "tensor<4x5xf64>", "tensor<4xi32>"]
    a = np.stack([np.eye(5), np.zeros((5, 5)), np.ones((5, 5)), 1e-200 * np.diag(np.arange(5.0))])
    vectors, values, _ = called("lapack_dsyevd_ffi", types, a, uplo="U", mode="V")
    near(values, np.array([[1.0] * 5, [0.0] * 5, [0.0] * 4 + [5.0], [0.0] * 5]))
    np.testing.assert_allclose(values[3], 1e-200 * np.arange(5), rtol=1e-14, atol=0)
    near(vectors.transpose(0, 2, 1) @ vectors, np.broadcast_to(np.eye(5), a.shape))


def test_nan_is_that_of_its_matrix():
    a = np.stack([np.eye(3), np.eye(3), np.eye(3)])
    a[1, 2, 0], a[2, 1, 0] = np.nan, np.inf
    types = ["tensor<3x3x3xf64>", "tensor<3x3xf64>", "tensor<3xi32>"]
    vectors, values, _ = called("lapack_dsyevd_ffi", types, a, uplo="L", mode="V")
    assert values[0].tolist() == [1, 1, 1] and np.isnan(values[1:]).all() and np.isnan(vectors[1:]).all()
    types = [
        "tensor<3x3x3xf64>",
        "tensor<3x3xf64>",
        "tensor<3x3x3xf64>",
        "tensor<3x3x3xf64>",
        "tensor<3xi32>",
    ]
    _, values, u, v, _ = called("lapack_dgesdd_ffi", types, a, mode="A")
    assert values[0].tolist() == [1, 1, 1] and all(np.isnan(each[1:]).all() for each in (values, u, v))


@pytest.mark.parametrize("mode", "ASN")
@pytest.mark.parametrize("shape", [(5, 3), (3, 6), (4, 1)])
def test_gesdd_gives_singular_values_in_descending_order(mode: str, shape: tuple[int, int]):
    m, n = shape
    k = min(shape)
    a = np.stack([random(m, n), np.ones((m, n)), np.zeros((m, n))])
    u_shape, v_shape = ((m, m), (n, n)) if mode == "A" else ((m, k), (k, n))
    types = [
        f"tensor<3x{m}x{n}xf64>",
        f"tensor<3x{k}xf64>",
        f"tensor<3x{u_shape[0]}x{u_shape[1]}xf64>",
        f"tensor<3x{v_shape[0]}x{v_shape[1]}xf64>",
        "tensor<3xi32>",
    ]
    _, values, u, v, info = called("lapack_dgesdd_ffi", types, a, mode=mode)
    near(values, np.linalg.svd(a, compute_uv=False))
    assert not info.any()
    if mode != "N":
        near((u[:, :, :k] * values[:, None]) @ v[:, :k], a)
        near(u.transpose(0, 2, 1) @ u, np.broadcast_to(np.eye(u_shape[1]), (3, u_shape[1], u_shape[1])))
        near(v @ v.transpose(0, 2, 1), np.broadcast_to(np.eye(v_shape[0]), (3, v_shape[0], v_shape[0])))


def three_diagonals(lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Returns the matrices that these are the diagonals of, in f64."""
    n = diagonal.shape[-1]
    a, at = np.zeros((*diagonal.shape, n)), np.arange(n)
    a[..., at, at] = diagonal
    a[..., at[1:], at[:-1]] = lower[..., 1:]
    a[..., at[:-1], at[1:]] = upper[..., :-1]
    return a


def tridiagonal(element: str, *arrays: np.ndarray, backend: str = "llvm") -> Any:
    *vectors, b = (f"tensor<{'x'.join([*map(str, each.shape), element])}>" for each in arrays)
    info = "x".join([*map(str, arrays[1].shape[:-1]), "i32"])
    name = f"lapack_{'s' if element == 'f32' else 'd'}gtsv_ffi"
    return called(name, [*vectors, b, f"tensor<{info}>"], *arrays, backend=backend)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
@pytest.mark.parametrize(("n", "columns"), [(1, 2), (2, 1), (3, 3), (17, 2)])
def test_gtsv_solves_systems_of_three_diagonals(
    backend: str, element: str, batch: tuple[int, ...], n: int, columns: int
):
    # Small diagonals: rows are exchanged.
    dtype = DTYPES[element]
    lower, upper = random(1, *batch, n, dtype=dtype)[0], random(2, *batch, n, dtype=dtype)[0]
    diagonal, b = random(3, *batch, n, dtype=dtype)[0] / 4, random(*batch, n, columns, dtype=dtype)
    lower[..., 0] = upper[..., -1] = np.nan
    _, _, _, x, info = tridiagonal(element, lower, diagonal, upper, b, backend=backend)
    a = three_diagonals(lower, diagonal, upper)
    assert x.dtype == dtype and not info.any()
    residue = np.abs(a @ x - b).max() / (np.abs(a).max() * np.abs(x).max())
    assert residue < 4 * np.finfo(dtype).eps


def test_gtsv_gives_the_triangle_as_lapack_leaves_it():
    # Of scipy.linalg.lapack.dgtsv: the first two rows are exchanged, the others are not.
    lower, diagonal, upper = np.array([9.0, 2, 1, 1]), np.array([1.0, 4, 4, 4]), np.array([1.0, 3, 1, 9])
    second, pivots, above, x, info = tridiagonal("f64", lower, diagonal, upper, np.ones((4, 1)))
    # The last element of the lower diagonal is left as it was.
    assert second.tolist() == [9, 3, 0, 1] and info == 0
    a = three_diagonals(lower, diagonal, upper)
    assert pivots[0] == 2 and above[0] == 4 and above[3] == 9
    near(abs(np.prod(pivots)), np.abs(np.linalg.det(a)))
    near(x, np.linalg.solve(a, np.ones((4, 1))))


def test_gtsv_says_which_pivot_is_0():
    lower = np.array([[0, 0, 0], [0, 1, 1.0], [0, 0, 0], [0, 0, 0]])
    diagonal = np.array([[1, 0.0, 2], [1, 1, 1], [1, 2, 0], [0, 0, 0]])
    upper = np.array([[1, 0, 0], [1, 1, 0.0], [0, 0, 0], [1, 1, 0]])
    info = tridiagonal("f64", lower, diagonal, upper, np.ones((4, 3, 1)))[4]
    assert info.tolist() == [2, 0, 3, 1]


@pytest.mark.parametrize("shape", [(3, 0, 2), (0, 4, 2), (3, 4, 0)])
def test_gtsv_of_nothing(shape: tuple[int, int, int]):
    vector = np.ones(shape[:-1])
    found = tridiagonal("f64", vector / 4, vector, vector / 4, np.ones(shape))
    assert found[3].shape == shape and not found[4].any()


SQUARE = "tensor<3x3xf64>"
VECTOR = "tensor<3xf64>"


@pytest.mark.parametrize(
    ("name", "types", "arrays", "options", "message"),
    [
        ("lapack_dpotrf_ffi", [SQUARE, "tensor<i32>"], [(3, 3)], {}, "uplo None, expected LU"),
        ("lapack_dpotrf_ffi", [SQUARE, "tensor<i32>"], [(3, 3)], {"uplo": "X"}, "uplo 88 : ui8, expected LU"),
        (
            "lapack_dpotrf_ffi",
            ["tensor<3x2xf64>", "tensor<i32>"],
            [(3, 2)],
            {"uplo": "L"},
            "of tensor<3x2xf64>",
        ),
        (
            "lapack_dpotrf_ffi",
            ["tensor<3xf64>", "tensor<i32>"],
            [(3,)],
            {"uplo": "L"},
            "is not of matrices of f32 or f64",
        ),
        ("lapack_dgetrf_ffi", [SQUARE, "tensor<3xi32>"], [(3, 3)], {}, "declares 2 results, expected 3"),
        ("lapack_dgetrf_ffi", [SQUARE], [], {}, "@lapack_dgetrf_ffi has no operand"),
        ("lapack_dtrsm_ffi", [SQUARE], [(3, 3)], {}, "@lapack_dtrsm_ffi has 1 operands"),
        ("lapack_dorgqr_ffi", [SQUARE], [(3, 3), (4,)], {}, "@lapack_dorgqr_ffi of tensor<4xf64>"),
        ("lapack_dgtsv_ffi", [VECTOR], [(3,), (3,), (3,)], {}, "@lapack_dgtsv_ffi has 3 operands"),
        (
            "lapack_dgtsv_ffi",
            [VECTOR],
            [(3,), (2,), (3,), (3, 1)],
            {},
            "@lapack_dgtsv_ffi of tensor<2xf64> and tensor<3x1xf64>",
        ),
        (
            "lapack_dgeev_ffi",
            [SQUARE],
            [(3, 3)],
            {},
            "no conversion for 1 op (stablehlo.custom_call (@lapack_dgeev_ffi): 1)",
        ),
    ],
)
def test_a_wrong_call_is_an_error_that_names_it(
    name: str, types: list[str], arrays: list[tuple[int, ...]], options: dict[str, str], message: str
):
    with pytest.raises(TenonError) as caught:
        called(name, types, *(random(*shape) for shape in arrays), **options)
    assert message in str(caught.value) and "stablehlo.custom_call" in str(caught.value)


TRSM = """func.func @f(%a: tensor<?x3x3xf64>, %b: tensor<{batch}x3x1xf64>) -> tensor<?x3x1xf64> {{
  %x = stablehlo.custom_call @lapack_dtrsm_ffi(%a, %b) {{mhlo.backend_config =
      {{side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8}}}}
    : (tensor<?x3x3xf64>, tensor<{batch}x3x1xf64>) -> tensor<?x3x1xf64>
  return %x : tensor<?x3x1xf64>
}}"""


def test_batches_that_are_open_are_those_of_all_operands():
    with pytest.raises(TenonError, match=r"stablehlo.custom_call: @lapack_dtrsm_ffi of batches of \[.*\]"):
        tenon.from_stablehlo(TRSM.format(batch=2))

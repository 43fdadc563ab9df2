"""Fourier transforms give what numpy's do, for all kinds of numbers of elements."""

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon import TenonError

RNG = np.random.default_rng(0)


def complex_numbers(*shape: int) -> npt.NDArray[np.complex128]:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


def fft(kind: str, x: np.ndarray, lengths: tuple[int, ...], backend: str = "llvm") -> np.ndarray:
    """Returns the transform of real or complex numbers of f64 or f32."""
    last = {"RFFT": lengths[-1] // 2 + 1}.get(kind, lengths[-1])
    shape = (*x.shape[: x.ndim - len(lengths)], *lengths[:-1], last)
    real = f"f{4 * x.itemsize}" if np.iscomplexobj(x) else f"f{8 * x.itemsize}"
    of = f"complex<{real}>" if np.iscomplexobj(x) else real
    to = real if kind == "IRFFT" else f"complex<{real}>"
    source, result = (
        "x".join([*map(str, extents), element]) for extents, element in ((x.shape, of), (shape, to))
    )
    text = f"""func.func @f(%x: tensor<{source}>) -> tensor<{result}> {{
      %y = stablehlo.fft %x, type = {kind}, length = {list(lengths)} : (tensor<{source}>) -> tensor<{result}>
      return %y : tensor<{result}> }}"""
    parts = (
        np.ascontiguousarray(x).reshape(-1).view(x.real.dtype).reshape(*x.shape, 2)
        if np.iscomplexobj(x)
        else x
    )
    found = tenon.compile(text, backend=backend)(parts)
    dtype = np.complex64 if real == "f32" else np.complex128
    return found if kind == "IRFFT" else found.reshape(-1).view(dtype).reshape(found.shape[:-1])


def assert_near(found: np.ndarray, wanted: np.ndarray, eps: float = 2.0**-52):
    assert found.shape == wanted.shape
    assert np.max(np.abs(found - wanted), initial=0.0) <= 30 * eps * np.max(np.abs(wanted), initial=0.0)


# One element, primes, products of small and of large primes, a prime that is a convolution, several levels.
@pytest.mark.parametrize(
    "n", [1, 2, 3, 16, 31, 33, 37, 60, 101, 210, 257, 514, 1024, 1009, 2 * 3 * 5 * 7 * 11]
)
def test_transforms_of_n_elements(n: int):
    x, half = complex_numbers(3, n), complex_numbers(3, n // 2 + 1)
    assert_near(fft("FFT", x, (n,)), np.fft.fft(x))
    assert_near(fft("IFFT", x, (n,)), np.fft.ifft(x))
    assert_near(fft("RFFT", x.real.copy(), (n,)), np.fft.rfft(x.real))
    assert_near(fft("IRFFT", half, (n,)), np.fft.irfft(half, n))


def test_transforms_along_several_dims():
    x, half = complex_numbers(2, 6, 35, 10), complex_numbers(2, 6, 35, 6)
    axes = (1, 2, 3)
    assert_near(fft("FFT", x, (6, 35, 10)), np.fft.fftn(x, axes=axes))
    assert_near(fft("IFFT", x, (35, 10)), np.fft.ifftn(x, axes=(2, 3)))
    assert_near(fft("RFFT", x.real.copy(), (6, 35, 10)), np.fft.rfftn(x.real, axes=axes))
    assert_near(fft("IRFFT", half, (6, 35, 10)), np.fft.irfftn(half, (6, 35, 10), axes))


@pytest.mark.parametrize("backend", ["reference", "llvm"])
def test_transforms_of_f32_are_as_exact_as_f32(backend: str):
    x = complex_numbers(2, 360).astype(np.complex64)
    found = fft("FFT", x, (360,), backend)
    assert found.dtype == np.complex64
    assert_near(found, np.fft.fft(x.astype(np.complex128)), 2.0**-23)


def test_transforms_of_nothing_are_nothing_or_zeros():
    assert fft("FFT", complex_numbers(0, 8), (8,)).shape == (0, 8)
    assert fft("FFT", complex_numbers(3, 0), (0,)).shape == (3, 0)
    np.testing.assert_array_equal(fft("RFFT", np.zeros((3, 0)), (0,)), np.zeros((3, 1)))


def test_a_transform_along_dims_whose_rows_are_open():
    type = "tensor<?x64xcomplex<f64>>"
    text = f"""func.func @f(%x: {type}) -> {type} {{
      %y = stablehlo.fft %x, type = FFT, length = [64] : {type}
      return %y : {type} }}"""
    run = tenon.compile(text)
    for rows in (1, 7):
        x = complex_numbers(rows, 64)
        found = run(x.view(np.float64).reshape(rows, 64, 2))
        assert_near(found.reshape(-1).view(np.complex128).reshape(rows, 64), np.fft.fft(x))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "type = FFT, length = [8] : (tensor<4xcomplex<f32>>) -> tensor<8xcomplex<f32>>",
            r"transforms \[4\], expected \[8\]",
        ),
        (
            "type = IRFFT, length = [8] : (tensor<4xcomplex<f32>>) -> tensor<8xf32>",
            r"transforms \[4\], expected \[5\]",
        ),
        (
            "type = RFFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<3xcomplex<f32>>",
            "RFFT is not of such numbers",
        ),
        (
            "type = FFT, length = [2, 4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>",
            "2 lengths, expected 1 to 3",
        ),
        (
            "type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<5xcomplex<f32>>",
            "declared|result 0",
        ),
    ],
)
def test_lengths_and_numbers_that_do_not_fit_are_errors(line: str, expected: str):
    source, _, result = line.partition(" : (")[2].partition(") -> ")
    text = (
        f"func.func @f(%x: {source}) -> {result} {{ %y = stablehlo.fft %x, {line}\n return %y : {result} }}"
    )
    with pytest.raises(TenonError, match=expected) as caught:
        tenon.compile(text)
    assert "stablehlo.fft" in str(caught.value)


def test_a_transform_along_an_open_dim_is_an_error():
    text = """func.func @f(%x: tensor<?xcomplex<f64>>) -> tensor<?xcomplex<f64>> {
      %y = stablehlo.fft %x, type = FFT, length = [64] : (tensor<?xcomplex<f64>>) -> tensor<?xcomplex<f64>>
      return %y : tensor<?xcomplex<f64>> }"""
    with pytest.raises(
        TenonError, match=r"stablehlo.fft \(the extent that is transformed is known at run time only\)"
    ):
        tenon.compile(text)

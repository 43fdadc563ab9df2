"""Convolutions of any shape give the sums of products, with the interpreter's bits, in register tiles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tenon import nn
from tenon.passes.graph.packing import pack_convolutions

Array = npt.NDArray[Any]

DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
}


@dataclass(frozen=True)
class Convolution:
    """One convolution with a bias and a relu after it; `last` says whether channels are last."""

    images: int
    channels: int
    extents: tuple[int, int]
    out: int
    window: tuple[int, int]
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: int = 1
    last: bool = False
    dtype: str = "f32"

    def apply(self, x: Any, kernel: Any, bias: Any) -> Any:
        if self.last:
            x = tnp.permute_dims(x, (0, 3, 1, 2))
        y = nn.conv(
            x, kernel, strides=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups
        )
        y = nn.relu(y + bias[:, None, None])
        return tnp.permute_dims(y, (0, 2, 3, 1)) if self.last else y

    def arrays(self) -> tuple[Array, Array, Array]:
        """Small whole numbers, whose sums are exact in any order and type."""
        rng = np.random.default_rng(0)
        shapes = (
            (self.images, self.channels, *self.extents),
            (self.out, self.channels // self.groups, *self.window),
            (self.out,),
        )
        x, kernel, bias = (rng.integers(-2, 3, shape).astype(DTYPES[self.dtype]) for shape in shapes)
        return (np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if self.last else x), kernel, bias

    def expected(self, x: Array, kernel: Array, bias: Array) -> Array:
        x, kernel = x.astype(np.float64), kernel.astype(np.float64)
        if self.last:
            x = x.transpose(0, 3, 1, 2)
        p, step, apart = self.padding, self.stride, self.dilation
        x = np.pad(x, ((0, 0), (0, 0), (p, p), (p, p)))
        rows, columns = (
            (extent + 2 * p - (size - 1) * apart - 1) // step + 1
            for extent, size in zip(self.extents, self.window, strict=True)
        )
        result = np.zeros((self.images, self.out, rows, columns))
        inner, outer = self.channels // self.groups, self.out // self.groups
        for group in range(self.groups):
            seen = slice(group * inner, (group + 1) * inner)
            made = slice(group * outer, (group + 1) * outer)
            for i, j in np.ndindex(self.window):
                part = x[:, seen, i * apart :, j * apart :][:, :, : (rows - 1) * step + 1 : step]
                part = part[..., : (columns - 1) * step + 1 : step]
                result[:, made] += np.einsum("nchw,oc->nohw", part, kernel[made, :, i, j])
        result = np.maximum(result + bias.astype(np.float64)[:, None, None], 0).astype(DTYPES[self.dtype])
        return result.transpose(0, 2, 3, 1) if self.last else result


def assert_computes(convolution: Convolution) -> tenon.Executable:
    arrays = convolution.arrays()
    module = tenon.jit(convolution.apply).lower(*arrays).text("traced")
    executable = tenon.compile(module)
    found = np.asarray(executable(*arrays))
    np.testing.assert_array_equal(found, convolution.expected(*arrays), err_msg=str(convolution))
    # Now sums are rounded: the bits are those of the serial order.
    rng = np.random.default_rng(1)
    arrays = tuple(rng.standard_normal(array.shape).astype(array.dtype) for array in arrays)
    interpreted = tenon.compile(executable.stages["sched"], backend="reference")
    assert np.asarray(executable(*arrays)).tobytes() == np.asarray(interpreted(*arrays)).tobytes()
    return executable


@pytest.fixture(autouse=True)
def small_convolutions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_convolutions, "LEAST_PRODUCTS", 1)


TILED = [
    Convolution(1, 16, (9, 14), 33, (3, 3)),
    Convolution(2, 8, (7, 7), 40, (3, 3), last=True),
    # Lines of 32 channels 1 KiB or 4 KiB apart, which a first cache of 32 KiB does not hold.
    Convolution(2, 64, (14, 14), 16, (3, 3)),
    Convolution(1, 33, (30, 30), 17, (3, 3), stride=2),
    Convolution(1, 32, (14, 30), 8, (3, 3), dtype="f64"),
    Convolution(1, 3, (15, 16), 24, (5, 5), stride=2, padding=2),
    Convolution(1, 3, (15, 16), 24, (5, 5), stride=2, padding=2, last=True),
    Convolution(1, 12, (10, 11), 32, (3, 2), dilation=2, groups=2),
    Convolution(1, 12, (10, 11), 32, (3, 2), dilation=2, groups=2, last=True),
    Convolution(3, 9, (6, 5), 17, (1, 1), stride=2, padding=0),
    Convolution(1, 5, (6, 31), 19, (1, 7), padding=3, dtype="f64"),
    Convolution(1, 5, (6, 31), 19, (1, 7), padding=3, dtype="f64", last=True),
    Convolution(1, 8, (6, 9), 20, (3, 3), dtype="f16"),
    Convolution(1, 8, (6, 9), 20, (3, 3), dtype="bf16", last=True),
]


@pytest.mark.parametrize("convolution", TILED, ids=str)
def test_convolutions_run_in_tiles(convolution: Convolution) -> None:
    executable = assert_computes(convolution)
    assert "tile(" in executable.stages["sched"]


@pytest.mark.parametrize("convolution", TILED[:2], ids=str)
def test_opencl_gives_the_bits_of_llvm(convolution: Convolution) -> None:
    pytest.importorskip("pyopencl")
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal(array.shape).astype(array.dtype) for array in convolution.arrays()]
    module = tenon.jit(convolution.apply).lower(*arrays).text("traced")
    found = [np.asarray(tenon.compile(module, backend=name)(*arrays)) for name in ("llvm", "opencl")]
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("last", [False, True])
def test_depthwise_convolutions_run_in_vectors(last: bool) -> None:
    executable = assert_computes(Convolution(2, 24, (9, 18), 24, (3, 3), groups=24, last=last))
    assert "vector(" in executable.stages["sched"]


@pytest.mark.parametrize(
    "convolution",
    [
        Convolution(1, 24, (18, 17), 24, (3, 3), groups=24, last=True),
        Convolution(2, 9, (33, 40), 9, (5, 3), stride=2, padding=2, groups=9, last=True),
        Convolution(1, 8, (34, 36), 8, (3, 3), dilation=2, padding=2, groups=8, last=True, dtype="bf16"),
        Convolution(1, 3, (17, 260), 3, (3, 3), groups=3, dtype="f64"),
    ],
    ids=str,
)
def test_depthwise_convolutions_read_through_the_padding(convolution: Convolution) -> None:
    schedule = assert_computes(convolution).stages["sched"]
    # Windows inside clamp nothing; those across the borders do.
    assert "low.select" in schedule
    assert schedule.count("memref.load %x") > schedule.count("low.select")


def test_depthwise_convolutions_of_small_images_copy_the_padding():
    executable = assert_computes(Convolution(1, 24, (15, 15), 24, (3, 3), groups=24, last=True))
    assert "memref<1x17x17x24xf32>" in executable.stages["sched"]


def test_what_reads_in_steps_is_a_kernel_of_its_own():
    one, two = (
        assert_computes(Convolution(1, 64, (30, 30), 64, (3, 3), stride=stride, groups=64)).stages["sched"]
        for stride in (1, 2)
    )
    assert "sched.alloc" in one and "sched.alloc" not in two


UNEVEN = """
func.func @f(%w: tensor<8x2x2xf32>, %x: tensor<2x3x3x2xf32>) -> tensor<8x2x2xf32> {
  %rows = graph.slice %x offsets [0, 0, 0, 0] sizes [2, 2, 3, 2] strides [1, 1, 1, 1] : tensor<2x3x3x2xf32>
  %y = graph.contract %rows, %w maps [affine_map<(o, h, v, c, u) -> (c, u, h * 2, v)>,
    affine_map<(o, h, v, c, u) -> (o, c, u)>, affine_map<(o, h, v, c, u) -> (o, h, v)>]
    : tensor<2x2x3x2xf32>, tensor<8x2x2xf32> -> tensor<8x2x2xf32>
  func.return %y : tensor<8x2x2xf32>
}
"""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_summands_at_uneven_distances_are_no_tiles(backend: str) -> None:
    rng = np.random.default_rng(5)
    w = rng.standard_normal((8, 2, 2), np.float32)
    x = rng.standard_normal((2, 3, 3, 2), np.float32)
    expected = tenon.compile(UNEVEN, backend="reference", level="sched")(w, x)
    found = tenon.compile(UNEVEN, backend=backend)(w, x)
    assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    np.testing.assert_allclose(found, np.einsum("ocu,cuhv->ohv", w, x[:, :2, ::2]), rtol=1e-5)


def test_a_window_of_one_is_a_product_of_matrices():
    executable = assert_computes(Convolution(1, 16, (9, 7), 33, (1, 1), padding=0))
    assert "= 63" in executable.stages["sched"]


def test_constant_weights_are_packed_when_compiling():
    text = """func.func @f(%x: tensor<8x6x6xf32>) -> tensor<10x4x4xf32> {
      %w = graph.constant dense<WEIGHTS> : tensor<10x8x3x3xf32>
      %c = graph.contract %x, %w maps [affine_map<(o, y, x, c, i, j) -> (c, y + i, x + j)>,
        affine_map<(o, y, x, c, i, j) -> (o, c, i, j)>, affine_map<(o, y, x, c, i, j) -> (o, y, x)>]
        bounds [10, 4, 4, 8, 3, 3] : tensor<8x6x6xf32>, tensor<10x8x3x3xf32> -> tensor<10x4x4xf32>
      func.return %c : tensor<10x4x4xf32>
    }"""
    weights = np.arange(720.0).reshape(10, 8, 3, 3) % 7
    executable = tenon.compile(text.replace("WEIGHTS", str(weights.tolist())))
    assert executable.stages["sched"].count("sched.launch") == 1
    x = (np.arange(288.0) % 5).reshape(8, 6, 6).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))
    np.testing.assert_array_equal(executable(x), np.einsum("cyxij,ocij->oyx", windows, weights))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_convolutions(data: st.DataObject) -> None:
    def integer(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    groups = integer(1, 3)
    window = integer(1, 4), integer(1, 4)
    dilation, padding = integer(1, 2), integer(0, 2)
    least = max((size - 1) * dilation + 1 for size in window)
    assert_computes(
        Convolution(
            integer(1, 2),
            groups * integer(1, 6),
            (least + integer(0, 4), least + integer(0, 20)),
            groups * integer(1, 20),
            window,
            integer(1, 3),
            dilation,
            groups,
            padding,
            data.draw(st.booleans()),
            data.draw(st.sampled_from(sorted(DTYPES))),
        )
    )

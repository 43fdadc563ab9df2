"""`tenon.nn` against windows of numpy arrays."""

import math
import platform
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tenon
import tenon.nn as nn
import tenon.numpy as tnp

RNG = np.random.default_rng(0)


def windows_of(x: np.ndarray, sizes: Any, strides: Any, dilation: Any) -> np.ndarray:
    """Returns the windows over the last axes, their elements in axes at the end."""
    count = len(sizes)
    reach = [(k - 1) * d + 1 for k, d in zip(sizes, dilation, strict=True)]
    axes = tuple(range(x.ndim - count, x.ndim))
    view = np.lib.stride_tricks.sliding_window_view(x, reach, axes)
    places = tuple(slice(None, None, s) for s in strides)
    inside = tuple(slice(None, None, d) for d in dilation)
    return view[(..., *places, *inside)]


def reference_conv(x: Any, w: Any, strides: Any, widths: Any, dilation: Any, groups: int) -> np.ndarray:
    count = x.ndim - 2
    x = np.pad(x, ((0, 0), (0, 0), *widths))
    out = []
    for group in range(groups):
        channels = slice(group * w.shape[1], (group + 1) * w.shape[1])
        size = w.shape[0] // groups
        seen = windows_of(x[:, channels], w.shape[2:], strides, dilation)
        inside = [1, *range(2 + count, 2 + 2 * count)]
        weights = w[group * size : (group + 1) * size]
        found = np.tensordot(seen, weights, (inside, [1, *range(2, 2 + count)]))
        out.append(np.moveaxis(found, -1, 1))
    return np.concatenate(out, axis=1)


@pytest.mark.parametrize(
    ("shape", "kernel", "strides", "padding", "dilation", "groups"),
    [
        ((2, 3, 9), (4, 3, 3), (1,), ((0, 0),), (1,), 1),
        ((2, 4, 9), (6, 2, 3), (2,), ((1, 2),), (2,), 2),
        ((1, 2, 6, 7), (3, 2, 3, 2), (1, 2), ((1, 1), (0, 1)), (1, 1), 1),
        ((2, 2, 5, 5), (2, 1, 3, 3), (2, 1), ((2, 2), (1, 1)), (1, 2), 2),
        ((1, 1, 4, 4, 4), (2, 1, 2, 3, 1), (1, 1, 2), ((0, 0), (1, 1), (0, 0)), (2, 1, 1), 1),
    ],
)
def test_conv_is_a_sum_over_windows(shape, kernel, strides, padding, dilation, groups):
    x, w = RNG.normal(size=shape), RNG.normal(size=kernel)
    found = nn.conv(
        tnp.asarray(x),
        tnp.asarray(w),
        strides=strides,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    expected = reference_conv(x, w, strides, padding, dilation, groups)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)


def test_conv_of_integers_wraps_and_same_keeps_the_extents():
    x = np.arange(2 * 5 * 4, dtype=np.int32).reshape(1, 2, 5, 4)
    w = np.ones((1, 2, 3, 3), np.int32)
    found = np.asarray(nn.conv(tnp.asarray(x), tnp.asarray(w), padding="same"))
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found, reference_conv(x, w, (1, 1), ((1, 1), (1, 1)), (1, 1), 1))


@pytest.mark.parametrize("target", [None, "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize(
    "dtypes", [("uint8", "int8"), ("int8", "int8"), ("int8", "uint8"), ("int16", "int8")]
)
@pytest.mark.parametrize(("channels", "groups", "size"), [(6, 1, 9), (8, 2, 18), (3, 1, 30)])
def test_conv_of_narrow_integers_adds_up_in_a_wide_type(target, dtypes, channels, groups, size):
    shapes = (2, channels, size, size), (34, channels // groups, 3, 3)
    x, w = (
        RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)
        for dtype, shape in zip(dtypes, shapes, strict=True)
    )
    options = {"strides": 2, "padding": ((1, 2), (0, 1)), "groups": groups}
    function = tenon.jit(
        lambda x, w: nn.conv(x, w, preferred_element_type=tnp.int32, **options), target=target
    )
    if target is not None and platform.machine() != "x86_64":
        pytest.skip("the target is not of this machine's kind")
    found = np.asarray(function(x, w))
    assert found.dtype == np.int32
    wide = (x.astype(np.int64), w.astype(np.int64))
    np.testing.assert_array_equal(found, reference_conv(*wide, (2, 2), ((1, 2), (0, 1)), (1, 1), groups))


def test_conv_is_told_what_to_add_up_in():
    x, w = (np.ones(shape, np.float32) for shape in ((1, 2, 4), (1, 2, 2)))
    with pytest.raises(TypeError, match="conv: preferred_element_type int32 does not hold what float32 does"):
        nn.conv(x, w, preferred_element_type=np.int32)
    with pytest.raises(TypeError, match="conv"):
        nn.conv(x > 0, w > 0, preferred_element_type=bool)


@pytest.mark.parametrize(
    ("shape", "kernel", "strides", "padding", "more", "dilation", "groups"),
    [
        ((2, 3, 5), (3, 4, 3), (1,), ((0, 0),), (0,), (1,), 1),
        ((1, 4, 5), (4, 3, 3), (2,), ((1, 1),), (1,), (1,), 2),
        ((1, 2, 3, 4), (2, 3, 2, 3), (2, 3), ((0, 1), (1, 0)), (0, 2), (2, 1), 1),
        # Windows of a whole number of steps: one, and several.
        ((2, 3, 4, 3), (3, 5, 2, 3), (2, 3), ((0, 0), (0, 0)), (0, 0), (1, 1), 1),
        ((1, 4, 3, 5), (4, 3, 4, 3), (2, 1), ((1, 0), (1, 1)), (1, 0), (1, 1), 2),
        ((1, 2, 2, 3, 2), (2, 3, 2, 2, 4), (2, 1, 2), ((0, 0), (0, 1), (2, 1)), (0, 0, 1), (1, 1, 1), 1),
    ],
)
def test_conv_transpose_is_the_transpose_of_conv(shape, kernel, strides, padding, more, dilation, groups):
    y, w = RNG.normal(size=shape), RNG.normal(size=kernel)
    found = np.asarray(
        nn.conv_transpose(
            tnp.asarray(y),
            tnp.asarray(w),
            strides=strides,
            padding=padding,
            output_padding=more,
            dilation=dilation,
            groups=groups,
        )
    )
    x = RNG.normal(size=found.shape)
    forward = reference_conv(x, w, strides, padding, dilation, groups)
    assert forward.shape == y.shape
    np.testing.assert_allclose(np.vdot(forward, y), np.vdot(x, found), rtol=1e-10)


@pytest.mark.parametrize("target", [None, "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("is_named", [False, True])
def test_convolutions_after_one_another_give_the_same_for_any_number_of_images(is_named: bool, target: Any):
    """The first one is stored in panels, for the padding of the second, to which a third one is added."""
    weights = {"a": (40, 24, 3, 3), "b": (40, 40, 3, 3), "skip": (40, 24, 1, 1)}
    frozen = {name: RNG.integers(-2, 3, shape).astype(np.float32) for name, shape in weights.items()}
    a, b, skip = (tenon.freeze(frozen[name].copy()) for name in weights)

    def block(x: Any) -> Any:
        inner = nn.relu(nn.conv(x, a, strides=2, padding=1))
        return nn.relu(nn.conv(inner, b, padding=1) + nn.conv(x, skip, strides=2))

    dynamic = {"x": {0: tenon.Dim("n", 1, 9)}} if is_named else None
    compiled = tenon.jit(block, dynamic=dynamic, target=target)
    for images in (1, 3, 9):
        x = RNG.integers(-2, 3, (images, 24, 13, 13)).astype(np.float32)
        one, two = ((1, 1), (1, 1)), ((0, 0), (0, 0))
        inner = np.maximum(reference_conv(x, frozen["a"], (2, 2), one, (1, 1), 1), 0)
        expected = reference_conv(inner, frozen["b"], (1, 1), one, (1, 1), 1)
        expected = np.maximum(expected + reference_conv(x, frozen["skip"], (2, 2), two, (1, 1), 1), 0)
        # Small integers: sums are exact in any order.
        np.testing.assert_array_equal(np.asarray(compiled(x)), expected)


def test_pooling_takes_windows_of_the_last_axes():
    x = RNG.normal(size=(2, 3, 7, 6))
    seen = windows_of(x, (2, 3), (2, 3), (1, 1))
    np.testing.assert_array_equal(np.asarray(nn.max_pool(tnp.asarray(x), (2, 3))), seen.max((-2, -1)))
    np.testing.assert_allclose(
        np.asarray(nn.avg_pool(tnp.asarray(x), (2, 3))), seen.mean((-2, -1)), rtol=1e-12
    )


def test_padded_elements_are_in_no_mean_and_no_maximum():
    x = -np.ones((1, 1, 4, 4), np.float32)
    for pool in (nn.max_pool, nn.avg_pool):
        found = np.asarray(pool(tnp.asarray(x), 3, strides=2, padding=1))
        np.testing.assert_array_equal(found, -np.ones((1, 1, 2, 2), np.float32))
        assert found.dtype == np.float32


def test_max_pool_of_integers_pads_with_the_least_and_nan_wins():
    low = np.full((1, 1, 3), np.iinfo(np.int8).min, np.int8)
    np.testing.assert_array_equal(np.asarray(nn.max_pool(tnp.asarray(low), 3, strides=1, padding=1)), low)
    x = np.array([[[1.0, np.nan, 3.0, 4.0]]])
    np.testing.assert_array_equal(np.asarray(nn.max_pool(tnp.asarray(x), 2)), [[[np.nan, 4.0]]])


def test_activations_are_their_formulas():
    x = np.linspace(-30, 30, 13)
    given, powers = tnp.asarray(x), np.exp(x - 30)
    pairs = {
        nn.relu: np.maximum(x, 0),
        nn.sigmoid: 1 / (1 + np.exp(-x)),
        nn.silu: x / (1 + np.exp(-x)),
        nn.softplus: np.logaddexp(x, 0),
        nn.gelu: x * np.vectorize(lambda each: math.erfc(-each / math.sqrt(2)) / 2)(x),
        nn.softmax: powers / powers.sum(),
        nn.log_softmax: x - 30 - math.log(powers.sum()),
    }
    for function, expected in pairs.items():
        np.testing.assert_allclose(np.asarray(function(given)), expected, rtol=1e-9, atol=1e-12)


# What jax.nn.gelu of jax 0.10 gives in float64, by its approximation.
JAX_GELU = {
    -30.0: -0.0,
    -5.0: -2.2917961944868281e-07,
    -2.5: -0.0150842660899983,
    -1.0: -0.1588080093917233,
    -0.25: -0.100324649298315,
    -0.0: -0.0,
    1e-3: 0.000500398942213582,
    0.5: 0.3457140098251439,
    1.0: 0.8411919906082768,
    2.5: 2.4849157339100016,
    6.0: 5.9999999999156035,
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_gelu_by_tanh_is_that_of_jax(dtype: str):
    x = np.array(list(JAX_GELU)).astype(dtype)
    found = np.asarray(nn.gelu(tnp.asarray(x), approximate=True))
    assert found.dtype == x.dtype
    tolerance = {"float64": 1e-14, "float32": 1e-6, "bfloat16": 1e-2}[dtype]
    np.testing.assert_allclose(found, list(JAX_GELU.values()), rtol=tolerance * 4, atol=tolerance)
    exact = np.asarray(nn.gelu(tnp.asarray(x)))
    assert np.abs(exact - found.astype(exact.dtype)).max() < 1e-2
    # bfloat16 is too short to tell the two apart everywhere.
    assert dtype == "bfloat16" or (exact != found).any()


def test_one_hot_puts_a_one_at_the_index_and_nothing_for_others():
    x = tnp.asarray(np.array([[0, 2], [-1, 3]], np.int32))
    found = np.asarray(nn.one_hot(x, 3, axis=0, dtype=tnp.float32))
    assert found.shape == (3, 2, 2) and found.dtype == np.float32
    expected = np.zeros((3, 2, 2), np.float32)
    expected[0, 0, 0] = expected[2, 0, 1] = 1
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x, w: nn.conv(x, w, strides=0), "conv: strides must be 1 or more (0)"),
        (lambda x, w: nn.conv(x, w, strides=(1, 2)), "conv: 2 strides for 1 spatial axes"),
        (lambda x, w: nn.conv(x, w, padding="full"), "conv: padding 'full' is not 'valid', 'same' or widths"),
        (lambda x, w: nn.conv(x, w, padding=(1, 2)), "conv: 2 paddings for 1 spatial axes"),
        (lambda x, w: nn.conv(x, w, padding=((1, 2, 3),)), "conv: a padding must be an integer or a pair"),
        (
            lambda x, w: nn.conv(x, w, groups=2),
            "conv: 2 channels of x, 3 output channels and 2 input channels",
        ),
        (lambda x, w: nn.conv(x, w, dilation=5), "conv: the window of 11 elements is larger than the padded"),
        (lambda x, w: nn.conv(x[0], w), "conv: x and the kernel must have one rank, 3 to 5"),
        (lambda x, w: nn.conv(x, w[:, :, :0]), "conv: the kernel has no elements"),
        (lambda x, w: nn.conv_transpose(x, w), "conv_transpose: 2 channels of x and 3 input channels"),
        (lambda x, w: nn.conv_transpose(x, w[:2], padding=7), "conv_transpose: the padding leaves nothing"),
        (lambda x, w: nn.conv_transpose(x, w, padding="same"), "conv_transpose: padding must be widths"),
        (lambda x, w: nn.max_pool(x, (1, 1, 1, 1)), "max_pool: windows have one to three axes"),
        (lambda x, w: nn.one_hot(tnp.asarray([1]), -1), "one_hot: num_classes must not be negative (-1)"),
    ],
)
def test_wrong_calls_say_what_disagrees(call, message):
    x, w = tnp.ones((1, 2, 5)), tnp.ones((3, 2, 3))
    with pytest.raises(ValueError, match=re.escape(message)):
        call(x, w)


def test_booleans_and_floats_are_rejected_where_they_make_no_sense():
    mask = tnp.ones((1, 1, 3), dtype=tnp.bool)
    for call in (
        lambda: nn.conv(mask, mask),
        lambda: nn.conv_transpose(mask, mask),
        lambda: nn.max_pool(mask, 2),
    ):
        with pytest.raises(TypeError, match="not supported for the input types"):
            call()
    with pytest.raises(
        TypeError, match=re.escape("one_hot: not supported for the input types (float64) (hint: indices")
    ):
        nn.one_hot(tnp.ones(2), 3)


def test_padded_max_pool_of_a_dtype_without_infinities():
    x = -np.ones((1, 1, 4), ml_dtypes.float8_e4m3fn)
    found = np.asarray(nn.max_pool(x, 3, strides=1, padding="same"))
    np.testing.assert_array_equal(found.astype(np.float32), -np.ones((1, 1, 4), np.float32))

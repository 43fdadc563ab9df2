"""Convolutional networks: odd sizes, strides, dilation, groups, pools, batch norms, residuals."""

from __future__ import annotations

from typing import Any

from ..program import Builder, Layer, Program
from .blocks import activation, classified, linear


def batch_norm(b: Builder, name: str, channels: int, how: str) -> Layer:
    """The norm of inference, by four arguments or by two that they were folded into; or of training."""
    if how == "none":
        return lambda t, a, x: x
    d = b.draws
    scale = b.input(d.normal(f"{name}.scale", (channels,), 0.2) + 1)
    shift = b.normal(f"{name}.shift", (channels,), 0.2)
    kept = None
    if how == "kept":
        mean = b.normal(f"{name}.mean", (channels,), 0.3)
        kept = mean, b.input(d.normal(f"{name}.var", (channels,), 0.2) ** 2 + 0.5)

    def applied(t: Any, a: Any, x: Any) -> Any:
        ones = (1,) * (x.ndim - 2)

        def each(v: Any) -> Any:
            return t.np.reshape(v, (channels, *ones))

        if how == "folded":
            return x * each(a[scale]) + each(a[shift])
        if kept is not None:
            factor = a[scale] / t.np.sqrt(a[kept[1]] + 1e-2)
            return (x - each(a[kept[0]])) * each(factor) + each(a[shift])
        axes = (0, *range(2, x.ndim))
        centered = x - t.np.mean(x, axis=axes, keepdims=True)
        variance = t.np.mean(centered * centered, axis=axes, keepdims=True)
        return centered / t.np.sqrt(variance + 1e-2) * each(a[scale]) + each(a[shift])

    return applied


def convolution(
    b: Builder,
    name: str,
    inputs: int,
    outputs: int,
    sizes: tuple[int, ...],
    groups: int,
    has_bias: bool,
    **how: Any,
) -> Layer:
    count = inputs // groups
    fan_in = count
    for size in sizes:
        fan_in *= size
    kernel = b.weight(f"{name}.w", (outputs, count, *sizes), fan_in)
    bias = b.normal(f"{name}.b", (outputs, *(1,) * len(sizes)), 0.3) if has_bias else None

    def applied(t: Any, a: Any, x: Any) -> Any:
        y = t.nn.conv(x, a[kernel], groups=groups, **how)
        return y if bias is None else y + a[bias]

    return applied


def make(b: Builder) -> Program:
    d = b.draws
    scale = d.pick("scale", ("small", "medium", "large"), (90, 9, 1))
    layers = d.integer("layers", 1, {"small": 5, "medium": 12, "large": 40}[scale])
    rank = d.pick("rank", (2, 1, 3), (6, 2, 1))
    batch = d.small("batch", 1, 3)
    channels = d.small("channels", 1, 9)
    most = {1: 60, 2: 19, 3: 7}[rank]
    extents = [d.integer(f"extent{axis}", 1, most) for axis in range(rank)]
    has_bias = d.flag("bias")
    norm_how = d.pick("norm", ("none", "folded", "kept", "batch"), (3, 1, 1, 1))
    has_residual = d.flag("residual")
    act_name = d.pick("activation", ("relu", "silu", "gelu", "none", "tanh"))
    ending = d.pick("ending", ("plain", "pooled", "dense", "global"))

    x_in = b.normal("x", (batch, channels, *extents), dims={0: "batch"})
    made: list[Layer] = []
    outputs: list[bool] = []
    for number in range(layers):
        with b.scope(f"layer{number}"):
            made.append(_block(b, rank, channels, extents, has_bias, norm_how, act_name, has_residual))
            channels, extents = made[-1].gives  # type: ignore[attr-defined]
            outputs.append(d.flag("is_result", 0.1))
    dense = None
    if ending == "dense":
        size = channels
        for extent in extents:
            size *= extent
        if size <= 600:
            dense = linear(b, "dense", size, d.integer("classes", 1, 11), True)

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in]
        results: list[Any] = []
        for layer, is_result in zip(made, outputs, strict=True):
            x = layer(t, a, x)
            if is_result:
                results.append(x)
        if ending == "dense" and dense is not None:
            x = dense(t, a, t.np.reshape(x, (x.shape[0], size)))
            return (*results, *classified(t, x, "softmax"))
        if ending == "global":
            axes = tuple(range(2, 2 + rank))
            return (*results, t.np.mean(x, axis=axes), t.np.max(x, axis=axes))
        if ending == "pooled":
            return (*results, t.np.sum(x, axis=0))
        return (*results, x)

    return b.program(function)


def _block(
    b: Builder,
    rank: int,
    channels: int,
    extents: list[int],
    has_bias: bool,
    norm_how: str,
    act_name: str,
    has_residual: bool,
) -> Layer:
    d = b.draws
    kind = d.pick("kind", ("conv", "max_pool", "avg_pool", "pointwise", "depthwise"), (6, 1, 1, 2, 1))
    if kind.endswith("pool"):
        window = tuple(d.integer(f"window{axis}", 1, min(3, extent)) for axis, extent in enumerate(extents))
        strides = tuple(d.integer(f"stride{axis}", 1, 3) for axis in range(rank))
        padding = d.pick("padding", ("valid", "same"))

        def pooled(t: Any, a: Any, x: Any) -> Any:
            return getattr(t.nn, kind)(x, window, strides=strides, padding=padding)

        pooled.gives = channels, _extents(extents, window, strides, (1,) * rank, padding)  # type: ignore[attr-defined]
        return pooled
    groups = {"conv": 1, "pointwise": 1, "depthwise": channels}[kind]
    if kind == "conv" and channels % 2 == 0 and d.flag("groups", 0.2):
        groups = 2
    keeps = has_residual or d.flag("keeps")
    outputs = (
        channels if keeps and kind != "pointwise" else groups * d.small("outputs", 1, 4 if groups > 1 else 12)
    )
    sizes = tuple(
        1 if kind == "pointwise" else d.pick(f"size{axis}", (1, 3, 2, 5), (1, 5, 2, 1))
        for axis in range(rank)
    )
    strides = tuple(1 if keeps else d.pick(f"stride{axis}", (1, 2, 3), (4, 2, 1)) for axis in range(rank))
    dilation = tuple(d.pick(f"dilation{axis}", (1, 2), (5, 1)) for axis in range(rank))
    spans = [(size - 1) * apart + 1 for size, apart in zip(sizes, dilation, strict=True)]
    padding: Any = "same"
    if not keeps:
        padding = d.pick("padding", ("valid", "same", "widths"))
        if padding == "widths" or any(span > extent for span, extent in zip(spans, extents, strict=True)):
            padding = tuple((d.integer(f"low{k}", 0, 2), span - 1) for k, span in enumerate(spans))
    conv = convolution(
        b,
        "conv",
        channels,
        outputs,
        sizes,
        groups,
        has_bias,
        strides=strides,
        padding=padding,
        dilation=dilation,
    )
    normed = batch_norm(b, "norm", outputs, norm_how)
    act = activation(act_name)

    def block(t: Any, a: Any, x: Any) -> Any:
        y = normed(t, a, conv(t, a, x))
        if has_residual and outputs == channels and keeps:
            y = y + x
        return act(t, a, y)

    block.gives = outputs, _extents(extents, sizes, strides, dilation, padding)  # type: ignore[attr-defined]
    return block


def _extents(
    extents: list[int],
    sizes: tuple[int, ...],
    strides: tuple[int, ...],
    dilation: tuple[int, ...],
    padding: Any,
) -> list[int]:
    found: list[int] = []
    for axis, extent in enumerate(extents):
        span = (sizes[axis] - 1) * dilation[axis] + 1
        if padding == "same":
            found.append(-(-extent // strides[axis]))
            continue
        low, high = (0, 0) if padding == "valid" else padding[axis]
        found.append((extent + low + high - span) // strides[axis] + 1)
    return found

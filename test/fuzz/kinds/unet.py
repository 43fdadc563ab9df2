"""U-nets: images that become smaller and larger again, with skips that are concatenated."""

from __future__ import annotations

from typing import Any

from ..program import Builder, Program
from .blocks import activation
from .convnet import batch_norm, convolution


def make(b: Builder) -> Program:
    d = b.draws
    rank = d.pick("rank", (2, 1, 3), (6, 2, 1))
    levels = d.pick("levels", (1, 2, 3), (6, 3, 1))
    batch = d.small("batch", 1, 2)
    extents = [d.integer(f"extent{axis}", 2**levels, {1: 50, 2: 21, 3: 9}[rank]) for axis in range(rank)]
    channels = d.small("channels", 1, 4)
    wider = d.pick("wider", (2, 1))
    depth = d.pick("depth", (1, 2))
    up = d.pick("up", ("transposed", "repeated"))
    down = d.pick("down", ("max_pool", "avg_pool", "strided"))
    act = activation(d.pick("activation", ("relu", "silu", "gelu")))
    norm_how = d.pick("norm", ("none", "folded", "batch"))
    skips = d.pick("skips", ("concat", "add"))
    inputs = d.small("inputs", 1, 3)

    x_in = b.normal("x", (batch, inputs, *extents), dims={0: "batch"})

    def convs(name: str, count_in: int, count_out: int) -> Any:
        with b.scope(name):
            parts = []
            for number in range(depth):
                conv = convolution(
                    b,
                    f"conv{number}",
                    count_in,
                    count_out,
                    (3,) * rank,
                    1,
                    d.flag(f"bias{number}"),
                    padding="same",
                )
                parts.append((conv, batch_norm(b, f"norm{number}", count_out, norm_how)))
                count_in = count_out

        def applied(t: Any, a: Any, x: Any) -> Any:
            for conv, normed in parts:
                x = act(t, a, normed(t, a, conv(t, a, x)))
            return x

        return applied

    widths = [channels * wider**level for level in range(levels + 1)]
    downs: list[Any] = []
    ups: list[Any] = []
    known = inputs
    for level in range(levels):
        downs.append(convs(f"down{level}", known, widths[level]))
        known = widths[level]
    strided = [
        convolution(b, f"strided{k}", widths[k], widths[k], (2,) * rank, 1, False, strides=2)
        for k in range(levels)
    ]
    bottom = convs("bottom", known, widths[levels])
    for level in reversed(range(levels)):
        kernel = b.weight(f"up{level}", (widths[level + 1], widths[level], *(2,) * rank), widths[level + 1])
        joined = widths[level] * (2 if skips == "concat" else 1)
        ups.append((level, kernel, convs(f"after{level}", joined, widths[level])))
    last = convolution(b, "last", widths[0], d.integer("classes", 1, 3), (1,) * rank, 1, True)

    def grown(t: Any, a: Any, x: Any, kernel: int) -> Any:
        if up == "transposed":
            return t.nn.conv_transpose(x, a[kernel], strides=2)
        for axis in range(2, 2 + rank):
            x = t.np.repeat(x, 2, axis=axis)
        flat = t.np.mean(a[kernel], axis=tuple(range(2, 2 + rank)))
        return t.np.einsum("ncs,co->nos", t.np.reshape(x, (x.shape[0], x.shape[1], -1)), flat), x.shape[2:]

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in]
        kept: list[Any] = []
        for level, block in enumerate(downs):
            x = block(t, a, x)
            kept.append(x)
            x = strided[level](t, a, x) if down == "strided" else getattr(t.nn, down)(x, 2)
        x = bottom(t, a, x)
        for level, kernel, block in ups:
            skip = kept[level]
            y = grown(t, a, x, kernel)
            if isinstance(y, tuple):
                y = t.np.reshape(y[0], (y[0].shape[0], y[0].shape[1], *y[1]))
            widths_of = [(0, 0), (0, 0)]
            widths_of += [(0, m - n) for m, n in zip(skip.shape[2:], y.shape[2:], strict=True)]
            y = t.np.pad(y, widths_of)
            x = block(t, a, t.np.concat([skip, y], axis=1) if skips == "concat" else skip + y)
        return (last(t, a, x), x)

    return b.program(function)

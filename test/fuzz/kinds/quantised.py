"""Whole numbers: quantised layers of int8 with int32 sums and shifts, tables of bytes, bits, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program


def make(b: Builder) -> Program:
    d = b.draws
    layers = d.integer("layers", 1, d.pick("scale", (5, 14, 40), (90, 9, 1)))
    rows, width = d.small("rows", 1, 20), d.small("width", 1, 40)
    input_type = np.dtype(d.pick("input", ("int8", "uint8", "int16")))
    ending = d.pick("ending", ("floats", "argmax", "bytes", "counts"))
    limits = np.iinfo(input_type)
    x_in = b.input(
        d.integers("x", max(limits.min, -128), min(limits.max, 127) + 1, (rows, width)),
        input_type,
        {0: "rows"},
    )
    made: list[Any] = []
    first = width
    for number in range(layers):
        with b.scope(f"layer{number}"):
            kind = d.pick("kind", ("product", "table", "mask", "bits", "sum", "residual"), (5, 1, 1, 1, 1, 2))
            after = d.small("width", 1, 40) if kind == "product" else width
            arguments: tuple[int, ...] = ()
            if kind in ("product", "residual"):
                arguments = (
                    b.input(d.integers("w", -127, 128, (width, after)), np.int8),
                    b.input(d.integers("bias", -500, 500, (after,)), np.int32),
                )
            elif kind == "table":
                arguments = (b.input(d.integers("table", -127, 128, (256,)), np.int8),)
            shift = d.integer("shift", 3, 9)
            is_relu = d.flag("relu")
            made.append((kind, arguments, shift, is_relu))
            width = after
    classes = b.input(d.integers("scores", -30, 30, (width, 3)), np.int32)

    def layer(
        t: Any, a: Any, x: Any, kind: str, arguments: tuple[int, ...], shift: int, is_relu: bool
    ) -> Any:
        xp = t.np
        if kind in ("product", "residual"):
            wide = xp.astype(x, np.int32) @ xp.astype(a[arguments[0]], np.int32) + a[arguments[1]]
            y = (wide + (1 << (shift - 1))) >> shift
            if kind == "residual":
                y = y + xp.astype(x, np.int32)
            return xp.astype(xp.clip(y, 0 if is_relu else -127, 127), np.int8)
        if kind == "table":
            return xp.take(a[arguments[0]], xp.astype(x, np.int32) + 128, axis=0)
        if kind == "mask":
            return xp.where(x > shift, x, -x)
        if kind == "bits":
            return ((x & shift) | (x >> 2)) ^ 5
        total = xp.sum(xp.astype(x, np.int32), axis=1, keepdims=True)
        return xp.astype(xp.astype(x, np.int32) + total // (shift + first), np.int8)

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in]
        if input_type != np.int8:
            x = t.np.astype(t.np.astype(x, np.int32) - (128 if input_type == np.uint8 else 0), np.int8)
        for each in made:
            x = layer(t, a, x, *each)
        wide = t.np.astype(x, np.int32)
        if ending == "floats":
            return (t.nn.softmax(t.np.astype(wide, b.dtype) * 0.0625, axis=-1), x)
        if ending == "argmax":
            scores = wide @ a[classes]
            return t.np.argmax(scores, axis=1), t.np.max(scores, axis=1)
        if ending == "bytes":
            return t.np.astype(wide + 128, np.uint8), t.np.cumulative_sum(wide, axis=0)
        empty = t.np.zeros((256,), dtype=np.int32)
        return empty.at[wide + 128].add(1), t.np.sort(wide, axis=-1)

    return b.program(function)

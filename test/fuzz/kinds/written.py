"""
Programs as `graph` text, which are compiled as they are: softmaxes over named dims, functions that call one
another, ops of a dialect outside of the package.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Builder, Program


def _contract(a: str, b: str, left: str, right: str, to: str, types: tuple[str, str, str]) -> str:
    maps = ", ".join(f"affine_map<(i, j, k) -> ({each})>" for each in (left, right, to))
    return f"graph.contract {a}, {b} maps [{maps}] : {types[0]}, {types[1]} -> {types[2]}"


def make(b: Builder) -> Program:
    d = b.draws
    b.dtype = np.dtype(np.float32)
    blocks = d.integer("blocks", 1, d.pick("scale", (14, 30, 80), (90, 9, 1)))
    rows, columns = d.small("rows", 1, 20), d.small("columns", 1, 40)
    is_open, is_called, has_own = d.flag("named_dims"), d.flag("called"), d.flag("own_ops", 0.3)
    plan = []
    for number in range(blocks):
        with b.scope(f"block{number}"):
            kinds = ("softmax", "product", "relu", *(("own",) if has_own else ()))
            plan.append((d.pick("kind", kinds), d.integer("weight", 0, 2), d.flag("residual", 0.4)))
    x_in = b.normal("x", (rows, columns), dims={0: "rows"} if is_open else None)
    weights = [b.weight(f"w{k}", (columns, columns), columns) for k in range(3)]

    extent = "?" if is_open else str(rows)

    def tensor(*shape: str) -> str:
        dims = f", #graph.dims<{', '.join('n' if each == '?' else each for each in shape)}>"
        return f"tensor<{'x'.join(shape)}xf32{dims if '?' in shape else ''}>"

    whole, column, square = (
        tensor(extent, str(columns)),
        tensor(extent, "1"),
        f"tensor<{columns}x{columns}xf32>",
    )
    softmax = [
        f"%max = graph.reduce max %x axes [1] keep : {whole} -> {column}",
        f"%base = graph.broadcast %max : {column} -> {whole}",
        f"%difference = graph.sub %x, %base : {whole}",
        f"%exponential = graph.exp %difference : {whole}",
        f"%sum = graph.reduce add %exponential axes [1] keep : {whole} -> {column}",
        f"%all = graph.broadcast %sum : {column} -> {whole}",
        f"%y = graph.div %exponential, %all : {whole}",
    ]

    def renamed(lines: list[str], number: int, x: str) -> list[str]:
        words = ("max", "base", "difference", "exponential", "sum", "all", "y")
        found = []
        for line in lines:
            for word in words:
                line = line.replace(f"%{word} ", f"%{word}{number} ").replace(
                    f"%{word},", f"%{word}{number},"
                )
            found.append(line.replace("%x ", f"{x} ").replace("%x,", f"{x},"))
        return found

    lines: list[str] = []
    value = "%x0"
    for number, (kind, weight, is_residual) in enumerate(plan):
        result = f"%y{number}"
        if kind == "softmax" and is_called:
            lines.append(f"{result} = func.call @softmax({value}) : ({whole}) -> {whole}")
        elif kind == "softmax":
            lines += renamed(softmax, number, value)
        elif kind == "product":
            text = _contract(value, f"%w{weight}", "i, k", "k, j", "i, j", (whole, square, whole))
            lines.append(f"{result} = {text}")
        elif kind == "relu":
            lines.append(f"{result} = graph.relu {value} : {whole}")
        else:
            lines.append(f"%t{number} = graph.constant dense<0.25> : tensor<f32>")
            lines.append(f"{result} = mine.softshrink {value} by %t{number} : {whole}, tensor<f32>")
        following = f"%z{number}"
        if is_residual:
            lines.append(f"{following} = graph.add {result}, {value} : {whole}")
            value = following
        else:
            value = result
    arguments = ", ".join([f"%x0: {whole}", *(f"%w{k}: {square}" for k in range(3))])
    body = "\n".join([*lines, f"func.return {value} : {whole}"])
    text = f"graph.dim @n min 1 max {max(rows, 11) + 2}\n" if is_open else ""
    text += f"func.func @main({arguments}) -> {whole} {{\n{body}\n}}\n"
    if is_called:
        inner = "\n".join([*softmax, f"func.return %y : {whole}"])
        text += f"func.func private @softmax(%x: {whole}) -> {whole} {{\n{inner}\n}}\n"

    def function(t: Any, a: Any) -> tuple[Any, ...]:
        x = a[x_in]
        for kind, weight, is_residual in plan:
            if kind == "softmax":
                y = t.nn.softmax(x, axis=1)
            elif kind == "product":
                y = x @ a[weights[weight]]
            elif kind == "relu":
                y = t.np.relu(x)
            else:
                y = t.np.sign(x) * t.np.maximum(t.np.abs(x) - 0.25, 0.0)
            x = x + y if is_residual else y
        return (x,)

    program = b.program(function)
    program.text, program.has_own_ops = text, has_own
    return program

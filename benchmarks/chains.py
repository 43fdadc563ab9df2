"""Programs of any length, to see how compile time grows with the number of ops."""

from __future__ import annotations

_TENSOR = "tensor<64x64xf32>"
_ROW = "tensor<64x1xf32>"
_MAPS = "[affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]"

# Neighbours differ in kind, so that no identity makes one op of two.
_ELEMENTWISE = ("add {x}, %y", "mul {x}, %y", "max {x}, %y", "sub {x}, %y", "relu {x}")


def elementwise_chain(op_count: int) -> str:
    """Returns a program of `op_count` elementwise ops, each on the result of the one before."""
    lines: list[str] = []
    x = "%x"
    for index in range(op_count):
        kind = _ELEMENTWISE[index % len(_ELEMENTWISE)].format(x=x)
        x = f"%v{index}"
        lines.append(f"{x} = graph.{kind} : {_TENSOR}")
    return _function("elementwise", lines, x)


def mixed_chain(op_count: int) -> str:
    """Returns a program of `op_count` ops: blocks of ten with a matmul, its bias, and a softmax."""
    lines: list[str] = []
    x = "%x"
    while len(lines) < op_count:
        v = f"%v{len(lines)}_"
        block = (
            f"{v}product = graph.contract {x}, %y maps {_MAPS} : {_TENSOR}, {_TENSOR} -> {_TENSOR}",
            f"{v}bias = graph.broadcast %bias : tensor<64xf32> -> {_TENSOR}",
            f"{v}score = graph.add {v}product, {v}bias : {_TENSOR}",
            f"{v}max = graph.reduce max {v}score axes [1] keep : {_TENSOR} -> {_ROW}",
            f"{v}base = graph.broadcast {v}max : {_ROW} -> {_TENSOR}",
            f"{v}difference = graph.sub {v}score, {v}base : {_TENSOR}",
            f"{v}exponential = graph.exp {v}difference : {_TENSOR}",
            f"{v}sum = graph.reduce add {v}exponential axes [1] keep : {_TENSOR} -> {_ROW}",
            f"{v}denominator = graph.broadcast {v}sum : {_ROW} -> {_TENSOR}",
            f"{v}share = graph.div {v}exponential, {v}denominator : {_TENSOR}",
        )
        lines += block
        x = f"{v}share"
    assert len(lines) == op_count, f"mixed_chain: {op_count} is no multiple of 10"
    return _function("mixed", lines, x)


def _function(name: str, lines: list[str], result: str) -> str:
    body = "\n".join(f"  {line}" for line in lines)
    arguments = f"%x : {_TENSOR}, %y : {_TENSOR}, %bias : tensor<64xf32>"
    return f"func.func @{name}({arguments}) -> {_TENSOR} {{\n{body}\n  func.return {result} : {_TENSOR}\n}}\n"


CHAINS = {"elementwise": elementwise_chain, "mixed": mixed_chain}

"""
Changes the bytes of small ONNX models, and runs what comes out:

    python test/onnx_mutations.py --count 10000 [--seed 0] [--models mlp loop]

A model either runs, or ends in a `TenonError`. All else is a failure, which is printed with the seed that
makes it again; so is what takes longer than some seconds, or more memory than such a model has use for.
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np
import onnx
import tenon
from tenon.errors import TenonError
from tenon.test.mutations import campaign_parser, limited_time, mutated_bytes, run_campaigns

TEXTS = {
    "mlp": """
    agraph (float[batch, 4] x) => (float[batch, 2] y)
    <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {0.5, -40}>
    { h = MatMul(x, w) s = Add(h, b) y = Relu(s) }
    """,
    "images": """
    agraph (float[1, 2, 6, 6] x) => (float[1, 3, 3, 3] y)
    <float[3, 2, 1, 1] w = {1, 2, 3, 4, 5, 6}>
    { c = Conv<pads = [0, 0, 0, 0], strides = [1, 1]>(x, w)
      y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c) }
    """,
    "shapes": """
    agraph (float[n, 6] x) => (float[k, 3] y)
    <int64[2] to = {-1, 3}, int64[1] one = {1}>
    {
        s = Shape(x)
        r = Reshape(x, to)
        t = Transpose<perm = [1, 0]>(r)
        u = Transpose<perm = [1, 0]>(t)
        f = Gather<axis = 0>(s, one)
        y = Slice(u, one, f)
    }
    """,
    "loop": """
    agraph (float[3] x) => (float[3] y)
    <int64 count = {4}, bool more = {1}>
    {
        y = Loop<body = inner (int64 i, bool c, float[3] a) => (bool d, float[3] b) {
            d = Identity(c) b = Add(a, a)
        }>(count, more, x)
    }
    """,
    "quantised": """
    agraph (float[2, 4] x) => (float[2, 2] y)
    <int8[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] s = {0.5, 0.25}, int8[2] z = {0, 1}>
    { d = DequantizeLinear<axis = 1>(w, s, z) p = MatMul(x, d) q, k, e = DynamicQuantizeLinear(p)
      y = DequantizeLinear(q, k, e) }
    """,
}
"""Models, in the text that onnx parses."""

_INPUTS = {"mlp": (3, 4), "images": (1, 2, 6, 6), "shapes": (2, 6), "loop": (3,), "quantised": (2, 4)}


@cache
def model_bytes(name: str) -> bytes:
    """Returns one of the models as a file has it."""
    header = '<ir_version: 10, opset_import: ["" : 21]>'
    return onnx.parser.parse_model(f"{header} {TEXTS[name]}").SerializeToString()


def outcome(name: str, data: bytes) -> str:
    """Returns `runs`, or `error` for one that a user may see. All other exceptions are left."""
    shape = _INPUTS[name]
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    try:
        with limited_time():
            tenon.from_onnx(data, backend="reference")(x)
    except TenonError as error:
        assert error.message, "an error without a message"
        return "error"
    return "runs"


def _outcome_of(name: str, seed: int) -> str:
    return outcome(name, mutated_bytes(model_bytes(name), seed))


def main() -> int:
    chosen = campaign_parser(__doc__, list(TEXTS), "models").parse_args()
    return run_campaigns(chosen, __file__, _outcome_of)


if __name__ == "__main__":
    sys.exit(main())

"""
Times products of narrow numbers on one thread: weights of int8 and int4 beside rows of f32, int8 by int8 in
int32 and bfloat16 by bfloat16 in f32, in Tenon, torch and onnxruntime, and what they take in f32.

Weights of onnxruntime's four bits have a scale for 32 of them, those of the others one for a column. torch
rounds what it adds up of bfloat16 to that at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .command import record
from .harness import time_interleaved
from .pinning import use_one_thread
from .tables import markdown_table

Contenders = dict[str, Callable[[], Any]]

WEIGHTS, SQUARE = 2048, 1024
"""How many rows and columns weights have, and all three extents of the other products."""

TOLERANCE = 2e-2
"""Of the greatest element: bfloat16 has 8 bits."""


def rows_of(count: int, bits: int, x: Any, codes: Any, scale: Any) -> Contenders:
    """Returns who multiplies rows of f32 by weights of so many bits, and by those of f32."""
    import numpy as np
    import tenon
    import tenon.numpy as tnp

    wide = codes.astype(np.float32) * scale
    narrow = np.asarray(tnp.pack_int4(codes, axis=0)) if bits == 4 else codes

    def product(x: Any, weights: Any, scale: Any) -> Any:
        weights = tnp.unpack_int4(weights, axis=0) if bits == 4 else weights
        return (x @ weights.astype(tnp.float32)) * scale

    found: Contenders = {
        "tenon": partial(tenon.jit(product), x, narrow, scale),
        "tenon f32": partial(tenon.jit(lambda x, w: x @ w), x, wide),
    }
    torch = _torch()
    if torch is not None:
        tensors = [torch.from_numpy(each) for each in (x, wide)]
        found["torch f32"] = partial(torch.matmul, *tensors)
        if bits == 8:
            turned = torch.from_numpy(np.ascontiguousarray(codes.T))
            found["torch"] = partial(torch._weight_int8pack_mm, tensors[0], turned, torch.from_numpy(scale))
    if bits == 4:
        found.update(_onnxruntime_int4(x, codes, scale))
    return found


def integers(x: Any, y: Any) -> Contenders:
    """Returns who multiplies int8 by int8 in int32."""
    import numpy as np
    import tenon
    import tenon.numpy as tnp

    product = tenon.jit(lambda x, y: tnp.matmul(x, y, preferred_element_type=tnp.int32))
    found: Contenders = {"tenon": partial(product, x, y)}
    torch = _torch()
    if torch is not None:
        found["torch"] = partial(torch._int_mm, torch.from_numpy(x), torch.from_numpy(y))
        wide = [torch.from_numpy(each.astype(np.float32)) for each in (x, y)]
        found["torch f32"] = partial(torch.matmul, *wide)
    found.update(_onnxruntime("MatMulInteger", {"x": x, "y": y}, {}, np.int32, (len(x), y.shape[1])))
    return found


def bfloats(x: Any, y: Any) -> Contenders:
    """Returns who multiplies bfloat16 by bfloat16 in f32."""
    import numpy as np
    import tenon
    import tenon.numpy as tnp

    product = tenon.jit(lambda x, y: tnp.matmul(x, y, preferred_element_type=tnp.float32))
    found: Contenders = {"tenon": partial(product, x, y)}
    torch = _torch()
    if torch is not None:
        wide = [torch.from_numpy(each.astype(np.float32)) for each in (x, y)]
        narrow = [each.to(torch.bfloat16) for each in wide]
        found["torch"] = lambda: torch.matmul(*narrow)
        found["torch f32"] = partial(torch.matmul, *wide)
    return found


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return torch


def _onnxruntime(
    kind: str,
    inputs: Mapping[str, Any],
    constants: Mapping[str, Any],
    dtype: Any,
    shape: tuple[int, int],
    domain: str = "",
    **attributes: Any,
) -> Contenders:
    """Returns a model of one node, if onnxruntime is there."""
    try:
        import onnxruntime
        from onnx import helper, numpy_helper
    except ImportError:
        return {}
    node = helper.make_node(kind, [*inputs, *constants], ["result"], domain=domain, **attributes)
    element = helper.np_dtype_to_tensor_dtype
    graph = helper.make_graph(
        [node],
        kind,
        [helper.make_tensor_value_info(name, element(x.dtype), x.shape) for name, x in inputs.items()],
        [helper.make_tensor_value_info("result", element(dtype().dtype), shape)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 10
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return {"onnxruntime": lambda: session.run(None, dict(inputs))[0]}


def _onnxruntime_int4(x: Any, codes: Any, scale: Any) -> Contenders:
    """Returns a model that multiplies by weights of four bits, adding up in f32."""
    import numpy as np

    depth, columns = codes.shape
    size = 32
    # Numbers from 0 to 15, of which 8 is zero; along the depth, which lies last.
    numbers = (codes.T + 8).astype(np.uint8).reshape(columns, depth // size, size)
    bytes = numbers[..., 0::2] | numbers[..., 1::2] << 4
    scales = np.repeat(scale, depth // size).astype(np.float32)
    sizes = {"K": depth, "N": columns, "bits": 4, "block_size": size}
    return _onnxruntime(
        "MatMulNBits",
        {"x": x},
        {"bytes": bytes, "scales": scales},
        np.float32,
        (len(x), columns),
        domain="com.microsoft",
        **sizes,
    )


def workloads(weights: int = WEIGHTS, square: int = SQUARE) -> dict[str, tuple[Contenders, Any]]:
    """Returns the contenders of each row, and the result in f64."""
    import ml_dtypes
    import numpy as np

    rng = np.random.default_rng(0)
    scale = rng.random(weights, np.float32) + 0.5
    found: dict[str, tuple[Contenders, Any]] = {}
    for bits, limit in ((8, 127), (4, 7)):
        codes = rng.integers(-limit, limit + 1, (weights, weights), np.int8)
        for count in (1, 8):
            x = rng.standard_normal((count, weights), np.float32)
            expected = (x.astype(np.float64) @ codes) * scale
            name = f"{count} x {weights} f32 by int{bits}"
            found[name] = rows_of(count, bits, x, codes, scale), expected
    x, y = (rng.integers(-128, 128, (square, square), np.int8) for _ in range(2))
    found[f"int8 by int8 in int32, {square}"] = integers(x, y), x.astype(np.float64) @ y
    x, y = (rng.standard_normal((square, square)).astype(ml_dtypes.bfloat16) for _ in range(2))
    found[f"bfloat16 by bfloat16 in f32, {square}"] = bfloats(x, y), x.astype(np.float64) @ y.astype(float)
    return found


def check(who: str, value: Any, expected: Any) -> None:
    """Raises ValueError where a result is not the expected one."""
    import numpy as np

    value = value if isinstance(value, np.ndarray) or not hasattr(value, "float") else value.float().numpy()
    error = np.abs(np.asarray(value) - expected).max() / np.abs(expected).max()
    if not error < TOLERANCE:
        raise ValueError(f"{who}: is off by {error:.3g} of the greatest element")


def narrow_text(report: Mapping[str, Mapping[str, float]]) -> str:
    """Returns the table of times in us, and the ratio of the best peer of the same types."""
    names = list(dict.fromkeys(name for times in report.values() for name in times))
    rows = [["on one thread, us", *names, "best peer / Tenon"]]
    for row, times in report.items():
        peers = [each for name, each in times.items() if name not in ("tenon", "tenon f32")]
        ratio = f"{min(peers) / times['tenon']:.2f}" if peers else ""
        rows.append([row, *(f"{times[name]:.0f}" if name in times else "" for name in names), ratio])
    return markdown_table(rows) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.narrow", description=__doc__)
    parser.add_argument("--rounds", type=int, default=15, help="rounds of blocks (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write the times, in us")
    parser.add_argument("--size", choices=("tiny", "full"), default="full", help="tiny: only try it")
    options = parser.parse_args(arguments)
    use_one_thread()
    report: dict[str, dict[str, float]] = {}
    for name, (contenders, expected) in workloads(*((64, 64) if options.size == "tiny" else ())).items():
        for who, call in contenders.items():
            check(f"{name}: {who}", call(), expected)
        times = time_interleaved(contenders, options.rounds)
        report[name] = {who: 1e6 * each.median for who, each in times.items()}
    print(f"\n{narrow_text(report)}")
    record(options.json, report)


if __name__ == "__main__":
    main()

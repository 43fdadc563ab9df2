"""Models of one node, run by Tenon and by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import tenon
from onnx import helper

Array = npt.NDArray[Any]

MICROSOFT = "com.microsoft"


def node_model(
    op: str,
    inputs: Sequence[Array | None],
    known: Sequence[int] = (),
    n_outputs: int = 1,
    domain: str = "",
    opset: int = 21,
    outputs: Sequence[str] = (),
    **attributes: Any,
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """
    Returns the model of a node, whose inputs with the numbers in `known` are initializers, and arrays for the
    others.
    """
    names = ["" if array is None else f"i{number}" for number, array in enumerate(inputs)]
    outputs = list(outputs) or [f"o{number}" for number in range(n_outputs)]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    infos: list[Any] = []
    initializers: list[Any] = []
    given: dict[str, Array] = {}
    for number, (name, array) in enumerate(zip(names, inputs, strict=True)):
        if array is None:
            continue
        if number in known:
            initializers.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        else:
            dtype = helper.np_dtype_to_tensor_dtype(array.dtype)
            infos.append(helper.make_tensor_value_info(name, dtype, array.shape))
            given[name] = np.asarray(array)
    results = [helper.make_empty_tensor_value_info(name) for name in outputs if name]
    graph = helper.make_graph([node], "node", infos, results, initializers)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), given


def both(model: onnx.ModelProto, given: Mapping[str, Array]) -> list[tuple[Array, Array]]:
    """Returns each result that Tenon gives, beside onnxruntime's."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Without it, on processors that have no instructions for products of bytes, it adds up two of them in 16
    # bits, which saturate.
    options.add_session_config_entry("session.x64quantprecision", "1")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    expected = session.run(None, dict(given))
    found = tenon.from_onnx(model)(**given)
    return list(zip(found if isinstance(found, tuple) else (found,), expected, strict=True))


def check(
    op: str,
    inputs: Sequence[Array | None],
    known: Sequence[int] = (),
    *,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    off_by: int = 0,
    **options: Any,
) -> None:
    """Compares a node's results with onnxruntime's; integers may be `off_by` apart by rounding."""
    for found, expected in both(*node_model(op, inputs, known, **options)):
        assert found.dtype == expected.dtype and found.shape == expected.shape
        if found.dtype.kind in "iu":
            apart = np.abs(found.astype(np.int64) - expected.astype(np.int64))
            assert apart.max(initial=0) <= off_by, f"{op}: {np.count_nonzero(apart)} of {apart.size} differ"
            assert np.count_nonzero(apart) <= max(2, 0.01 * apart.size)
        else:
            np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)

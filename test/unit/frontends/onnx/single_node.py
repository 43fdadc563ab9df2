"""Models of one node, of the default domain or onnxruntime's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tenon
from onnx import helper
from tenon.test.unit.frontends.onnx.models import Array


def run(
    op: str,
    inputs: Sequence[Array | None],
    domain: str = "",
    n_outputs: int = 1,
    opset: int = 21,
    **attributes: Any,
) -> Any:
    """Returns what a node gives in the interpreter."""
    names = ["" if each is None else f"i{number}" for number, each in enumerate(inputs)]
    outputs = [f"o{number}" for number in range(n_outputs)]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    given = {name: each for name, each in zip(names, inputs, strict=True) if each is not None}
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in given.items()
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in outputs]
    graph = helper.make_graph([node], "node", infos, results)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return tenon.from_onnx(helper.make_model(graph, opset_imports=opsets), backend="reference")(**given)

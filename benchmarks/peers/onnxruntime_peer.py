"""ONNX Runtime: a model of one or a few nodes, fused ones where it has them, its arrays bound beforehand."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidGraph
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NotThere

from ..workloads.workload import Array, Workload
from .interface import Thunk

VERSION = onnxruntime.__version__
FAILURES: tuple[type[Exception], ...] = (Fail, InvalidGraph, NotThere)

_CONTRIB = "com.microsoft"


def _node(kind: str, inputs: Sequence[str], output: str = "result", **attributes: Any) -> Any:
    return helper.make_node(kind, list(inputs), [output], **attributes)


def _float(name: str, value: float) -> Any:
    return numpy_helper.from_array(np.asarray(value, np.float32), name)


Graph = tuple[list[Any], list[Any]]
"""Nodes and constants."""


def _matmul(workload: Workload) -> Graph:
    return [_node("MatMul", "ab")], []


def _matmul_tn(workload: Workload) -> Graph:
    return [_node("Gemm", "ab", transA=1)], []


def _matmul_nt(workload: Workload) -> Graph:
    return [_node("Gemm", "ab", transB=1)], []


def _matmul_bias_gelu(workload: Workload) -> Graph:
    gemm = _node("Gemm", ("a", "b", "bias"), "product")
    return [gemm, _node("Gelu", ["product"], approximate="tanh")], []


def _conv2d(workload: Workload) -> Graph | None:
    if workload.parameters["layout"] == "NHWC":
        return None
    window, padding = workload.shapes["w"][2:], workload.parameters["padding"]
    attributes = {"kernel_shape": window, "pads": [padding] * 4, "group": workload.parameters["groups"]}
    return [_node("Conv", "xw", **attributes)], []


def _gelu(workload: Workload) -> Graph:
    return [_node("Gelu", "x", approximate="tanh")], []


def _softmax(workload: Workload) -> Graph:
    return [_node("Softmax", "x", axis=-1)], []


def _layernorm(workload: Workload) -> Graph:
    return [_node("LayerNormalization", ("x", "gamma", "beta"), epsilon=1e-5)], []


def _rmsnorm(workload: Workload) -> Graph:
    return [_node("SimplifiedLayerNormalization", ("x", "gamma"), epsilon=1e-5, axis=-1)], []


def _logsumexp(workload: Workload) -> Graph:
    axes = numpy_helper.from_array(np.asarray([-1]), "axes")
    return [_node("ReduceLogSumExp", ("x", "axes"), keepdims=0)], [axes]


def _attention(workload: Workload) -> Graph:
    nodes = [
        _node("Transpose", "k", "k_t", perm=(0, 1, 3, 2)),
        _node("FusedMatMul", ("q", "k_t"), "scores", domain=_CONTRIB, alpha=workload.shapes["q"][-1] ** -0.5),
        _node("Softmax", ["scores"], "shares", axis=-1),
        _node("MatMul", ("shares", "v")),
    ]
    return nodes, []


def _mlp(workload: Workload) -> Graph:
    nodes = [
        _node("LayerNormalization", ("x", "gamma", "beta"), "normal", epsilon=1e-5),
        _node("Gemm", ("normal", "w1", "b1"), "hidden"),
        _node("Gelu", ["hidden"], "active", approximate="tanh"),
        _node("Gemm", ("active", "w2", "b2"), "out"),
        _node("Add", ("x", "out")),
    ]
    return nodes, []


def _chain(workload: Workload) -> Graph:
    constants = {"factor": 1.5, "least": 0.1, "one": 1, "two": 2}
    nodes = [
        _node("Mul", ("x", "factor"), "t0"),
        _node("Add", ("t0", "y"), "t1"),
        _node("Max", ("t1", "least"), "t2"),
        _node("Sqrt", ["t2"], "a"),
        _node("Mul", ("a", "x"), "t3"),
        _node("Sub", ("t3", "y"), "t4"),
        _node("Abs", ["t4"], "t5"),
        _node("Add", ("t5", "one"), "b"),
        _node("Div", ("x", "b"), "t6"),
        _node("Min", ("t6", "two"), "c"),
        _node("Mul", ("c", "c"), "t7"),
        _node("Sub", ("t7", "a")),
    ]
    return nodes, [_float(name, value) for name, value in constants.items()]


def _reduce_sum(workload: Workload) -> Graph:
    axes = numpy_helper.from_array(np.asarray([workload.parameters["axis"]]), "axes")
    return [_node("ReduceSum", ("x", "axes"), keepdims=0)], [axes]


def _transpose(workload: Workload) -> Graph:
    return [_node("Transpose", "x", perm=(1, 0))], []


GRAPHS: Mapping[str, Callable[[Workload], Graph | None]] = {
    "matmul": _matmul,
    "matmul_tn": _matmul_tn,
    "matmul_nt": _matmul_nt,
    "matmul_bias_gelu": _matmul_bias_gelu,
    "conv2d": _conv2d,
    "gelu": _gelu,
    "softmax": _softmax,
    "layernorm": _layernorm,
    "rmsnorm": _rmsnorm,
    "logsumexp": _logsumexp,
    "attention": _attention,
    "mlp": _mlp,
    "chain": _chain,
    "reduce_sum": _reduce_sum,
    "transpose": _transpose,
}


def _model(workload: Workload, graph: Graph, arguments: Mapping[str, Array]) -> bytes:
    nodes, constants = graph
    constants = [*constants, *(numpy_helper.from_array(arguments[n], n) for n in workload.constants)]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in workload.shapes.items()
        if name not in workload.constants
    ]
    result = helper.make_tensor_value_info("result", TensorProto.FLOAT, workload.result_shape)
    model = helper.make_model(
        helper.make_graph(nodes, workload.kind, inputs, [result], constants),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIB, 1)],
    )
    model.ir_version = min(model.ir_version, onnx.IR_VERSION, 10)
    return model.SerializeToString()


def contenders(workload: Workload, arguments: Mapping[str, Array], threads: int) -> dict[str, Thunk]:
    graph = GRAPHS[workload.kind](workload)
    if graph is None:
        return {}
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        _model(workload, graph, arguments), options, providers=["CPUExecutionProvider"]
    )
    binding, result = session.io_binding(), workload.result()
    kept = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in arguments.values()]
    for name, value in zip(arguments, kept, strict=True):
        if name not in workload.constants:
            binding.bind_ortvalue_input(name, value)
    binding.bind_output("result", "cpu", 0, np.float32, result.shape, result.ctypes.data)

    def call() -> Array:
        session.run_with_iobinding(binding)
        return result

    return {"onnxruntime": call}

"""Recurrent layers: in both directions, of sequences of different lengths, with named dims."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import tenon
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, normal

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def layer_of(kind: str, direction: str, *, lengths: bool = False, **attributes: object) -> onnx.ModelProto:
    """Returns a layer from 3 to 5 elements, of sequences and batches of any length."""
    n_directions = 2 if direction == "bidirectional" else 1
    rows = GATES[kind] * 5
    weights = {
        "w": normal(n_directions, rows, 3),
        "r": normal(n_directions, rows, 5) * 0.3,
        "b": normal(n_directions, 2 * rows),
    }
    inputs = ["x", "w", "r", "b", *(["lengths"] if lengths else [])]
    attributes = {"direction": direction, "hidden_size": 5, **attributes}
    node = onnx.helper.make_node(kind, inputs, ["y", "h"], **attributes)
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node],
        kind,
        [info("x", 1, ["t", "n", 3]), *([info("lengths", 6, ["n"])] if lengths else [])],
        [info("y", 1, None), info("h", 1, None)],
        [onnx.numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)])


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def stepped(proto: onnx.ModelProto, x: Array, number: int, reverse: bool) -> Array:
    """Returns what a direction of a layer gives at each step, computed one by one."""
    kind = proto.graph.node[0].op_type
    w, r, b = (
        onnx.numpy_helper.to_array(each)[number].astype(np.float64) for each in proto.graph.initializer
    )
    first, second = np.split(b, 2)
    h = c = np.zeros((x.shape[1], 5))
    found = np.zeros((x.shape[0], x.shape[1], 5))
    steps = range(x.shape[0])
    for t in reversed(steps) if reverse else steps:
        given, carried = x[t] @ w.T + first, h @ r.T + second
        if kind == "RNN":
            h = np.tanh(given + carried)
        elif kind == "LSTM":
            i, o, f, g = np.split(given + carried, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        else:
            z, s = (sigmoid(given[:, k * 5 : k * 5 + 5] + carried[:, k * 5 : k * 5 + 5]) for k in range(2))
            new = np.tanh(given[:, 10:] + (s * h) @ r.T[:, 10:] + second[10:])
            h = (1 - z) * new + z * h
        found[t] = h
    return found


@pytest.mark.parametrize("kind", GATES)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_layers_are_loops_over_the_steps(kind: str, direction: str):
    proto = layer_of(kind, direction)
    model = tenon.from_onnx(proto, backend="reference")
    reverses = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
    for shape in ((4, 2, 3), (7, 1, 3)):
        x = normal(*shape)
        y, h = model(x)
        for number, reverse in enumerate(reverses):
            wanted = stepped(proto, x, number, reverse)
            np.testing.assert_allclose(y[:, number], wanted, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(h[number], wanted[0 if reverse else -1], rtol=1e-4, atol=1e-5)
    assert model.notes == []


def test_a_program_of_machine_code_gives_the_same():
    proto = layer_of("LSTM", "bidirectional")
    x = normal(20, 8, 3)
    for result, wanted in zip(
        tenon.from_onnx(proto)(x), tenon.from_onnx(proto, backend="reference")(x), strict=True
    ):
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_what_is_behind_the_end_of_a_sequence_changes_nothing(direction: str):
    model = tenon.from_onnx(layer_of("GRU", direction, lengths=True), backend="reference")
    x = normal(6, 2, 3)
    y, h = model(x, np.array([6, 4], np.int32))
    short_y, short_h = model(x[:4], np.array([4, 4], np.int32))
    np.testing.assert_allclose(y[:4, :, 1], short_y[:, :, 1], rtol=1e-5)
    np.testing.assert_array_equal(y[4:, :, 1], 0)
    np.testing.assert_allclose(h[:, 1], short_h[:, 1], rtol=1e-5)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"activations": ["Tanh", "Tanh"]}, "2 activations, expected 1"),
        ({"activations": ["Wave"]}, "the activation 'wave' is not known"),
        ({"hidden_size": 6}, "hidden_size is 6, the weights have shape"),
    ],
)
def test_a_layer_that_does_not_fit_its_weights_is_an_error(attributes: dict[str, object], message: str):
    model = tenon.from_onnx(layer_of("RNN", "forward", **attributes), backend="reference")
    with pytest.raises(TenonError, match=f"RNN .node 0.: {message}"):
        model(normal(4, 2, 3))

"""`tenon.from_onnx`: models are called with arrays; what does not fit is an error that names the node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
import tenon
import tenon.numpy as tnp
from tenon.errors import CallError, TenonError
from tenon.test.unit.frontends.onnx.models import model_of, normal

MLP = """
agraph (float[batch, 4] x) => (float[batch, 2] y)
<float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] b = {0.5, -40}>
{
    h = MatMul(x, w)
    s = Add(h, b)
    y = Relu(s)
}
"""

W, B = np.arange(1, 9, dtype=np.float32).reshape(4, 2), np.array([0.5, -40], np.float32)


def mlp(x):
    return np.maximum(x @ W + B, 0)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_one_program_serves_all_extents_of_a_named_dim(backend: str):
    model = tenon.from_onnx(model_of(MLP), backend=backend)
    for count in (1, 3, 17):
        x = normal(count, 4)
        np.testing.assert_allclose(model(x), mlp(x), rtol=1e-5)
    assert model.notes == []
    assert model.n_programs == 1


def test_a_path_bytes_and_a_proto_are_one_model(tmp_path: Path):
    proto = model_of(MLP)
    path = tmp_path / "mlp.onnx"
    path.write_bytes(proto.SerializeToString())
    x = normal(2, 4)
    for source in (proto, proto.SerializeToString(), path, str(path)):
        np.testing.assert_allclose(tenon.from_onnx(source, backend="reference")(x=x), mlp(x), rtol=1e-5)


def test_a_model_is_part_of_a_function_that_is_traced():
    model = tenon.from_onnx(model_of(MLP))
    x = normal(3, 4)
    doubled = tenon.jit(lambda x: tnp.sum(model(x)) * 2)(x)
    np.testing.assert_allclose(np.asarray(doubled), mlp(x).sum() * 2, rtol=1e-5)


def test_shapes_are_computed_when_the_model_is_imported():
    text = """
    agraph (float[n, m] x) => (float[k] y)
    <int64[1] first = {0}, int64 axis0 = {0}, int64[1] rest = {-1}>
    {
        s = Shape(x)
        n = Gather<axis = 0>(s, axis0)
        u = Unsqueeze(n, first)
        wanted = Concat<axis = 0>(u, rest)
        flat = Reshape(x, wanted)
        y = ReduceSum<keepdims = 0>(flat, last)
    }
    """.replace("<int64[1] first", "<int64[1] last = {1}, int64[1] first")
    model = tenon.from_onnx(model_of(text), backend="reference")
    for shape in ((2, 3), (4, 5)):
        x = normal(*shape)
        np.testing.assert_allclose(model(x), x.sum(1), rtol=1e-5)
    assert model.notes == []


def test_a_value_that_a_shape_is_computed_from_has_programs_of_its_own():
    text = "agraph (float[6] x, int64[2] shape) => (float[n, m] y) { y = Reshape(x, shape) }"
    model = tenon.from_onnx(model_of(text), backend="reference")
    x = normal(6)
    for shape in ((2, 3), (3, 2), (2, 3)):
        np.testing.assert_array_equal(model(x, np.array(shape)), x.reshape(shape))
    assert model.notes == ["a program for each value of shape"]
    assert model.n_programs == 2


def test_what_needs_an_extent_gets_a_program_for_each_shape():
    text = """
    agraph (float[n] x) => (float[m] y)
    <int64[1] start = {0}, int64[1] end = {100}, int64[1] step = {2}, int64[1] axis = {0}>
    { y = Slice(x, start, end, axis, step) }
    """
    model = tenon.from_onnx(model_of(text), backend="reference")
    for count in (5, 8):
        x = normal(count)
        np.testing.assert_array_equal(model(x), x[::2])
    assert model.notes[0].startswith("a program for each shape: Slice")


def test_a_dim_is_given_bounds_or_a_number():
    bounded = tenon.from_onnx(model_of(MLP), dims={"batch": tenon.Dim("b", 2, 4)}, backend="reference")
    assert bounded(normal(4, 4)).shape == (4, 2)
    with pytest.raises(CallError, match="the dim 'batch' is 5 in input 'x', expected 2 to 4"):
        bounded(normal(5, 4))
    fixed = tenon.from_onnx(model_of(MLP), dims={"batch": 3}, backend="reference")
    assert fixed(normal(3, 4)).shape == (3, 2)
    with pytest.raises(CallError, match="the dim 'batch' is 2 in input 'x', expected 3"):
        fixed(normal(2, 4))
    with pytest.raises(ValueError, match="dims has 'rows', the model has"):
        tenon.from_onnx(model_of(MLP), dims={"rows": 3})
    with pytest.raises(TypeError, match="dims has 'many' for 'batch', expected a number or a Dim"):
        tenon.from_onnx(model_of(MLP), dims={"batch": "many"})  # type: ignore[dict-item]


def test_no_rows_are_rows_too():
    model = tenon.from_onnx(model_of(MLP), backend="reference")
    assert model(normal(0, 4)).shape == (0, 2)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((), "agraph: no value for the input 'x'"),
        ((normal(2, 4), 1), "agraph: 2 inputs, expected 1"),
        ((normal(2, 4).astype(np.float64),), "input 'x' is float64, expected float32"),
        ((normal(2, 5),), r"input 'x' has shape \(2, 5\), expected x: float32\[batch, 4\]"),
        ((normal(4),), r"input 'x' has shape \(4,\)"),
        (("text",), "input 'x': array: cannot take str"),
    ],
)
def test_inputs_that_do_not_fit_are_an_error(inputs: tuple[object, ...], message: str):
    with pytest.raises(CallError, match=message):
        tenon.from_onnx(model_of(MLP), backend="reference")(*inputs)


def test_names_of_inputs_are_checked():
    model = tenon.from_onnx(model_of(MLP), backend="reference")
    with pytest.raises(CallError, match="'z' is not an input"):
        model(z=normal(2, 4))
    with pytest.raises(CallError, match="'x' is given twice"):
        model(normal(2, 4), x=normal(2, 4))


def test_two_axes_of_one_dim_have_one_extent():
    model = tenon.from_onnx(
        model_of("agraph (float[n] x, float[n] y) => (float[n] z) { z = Add(x, y) }"), backend="reference"
    )
    with pytest.raises(CallError, match="the dim 'n' is 2, and 1 in input 'y'"):
        model(normal(2), normal(1))


def test_all_ops_that_are_not_supported_are_listed_with_their_counts():
    node = onnx.helper.make_node
    nodes = [
        node("Frobnicate", ["x"], ["a"], domain="my.ops"),
        node("Frobnicate", ["a"], ["b"], domain="my.ops"),
        node("StringConcat", ["b", "b"], ["c"]),
        node("Relu", ["c"], ["y"]),
    ]
    info = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, "g", [info("x", 1, [2])], [info("y", 1, [2])])
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("my.ops", 1)]
    model = onnx.helper.make_model(graph, opset_imports=opsets)
    with pytest.raises(TenonError, match=r"not supported: StringConcat \(1\), my.ops.Frobnicate \(2\)"):
        tenon.from_onnx(model)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{ y = Add(x, missing) }", r"Add \(node 0\): input 'missing' is given by no node before it"),
        ("{ y = Relu() }", r"Relu \(node 0\): input 'x' is missing"),
        ("{ y = Relu(x, x) }", r"Relu \(node 0\): 2 inputs, expected 1 or less"),
        ("{ y = Elu<beta = 1.0>(x) }", r"Elu \(node 0\): attribute 'beta' is not supported"),
        ("{ y = Cast(x) }", r"Cast \(node 0\): attribute 'to' is missing"),
        ("{ y, z = Relu(x) }", r"Relu \(node 0\): 2 results are wanted, it has 1"),
        ("{ t = Cast<to = 7>(x) y = Add(x, t) }", r"Add \(node 1\): Add: the inputs are of different types"),
        ("{ z = Relu(x) }", "agraph: its result 'y' is given by no node before it"),
    ],
)
def test_a_wrong_node_is_an_error_that_names_it(text: str, message: str):
    model = model_of("agraph (float[2] x) => (float[2] y) " + text)
    with pytest.raises(TenonError, match=message):
        tenon.from_onnx(model, backend="reference")(normal(2))


def test_what_is_no_model_is_an_error(tmp_path: Path):
    with pytest.raises(TenonError, match="no ONNX model"):
        tenon.from_onnx(b"\xff\xff\xff\xff")
    with pytest.raises(TenonError, match="the model has no graph"):
        tenon.from_onnx(b"")
    with pytest.raises(TenonError, match=r"cannot read .*nothing\.onnx"):
        tenon.from_onnx(tmp_path / "nothing.onnx")
    with pytest.raises(TypeError, match="int, expected a path, bytes or a ModelProto"):
        tenon.from_onnx(3)
    content = model_of(MLP).SerializeToString()
    with pytest.raises(TenonError, match="name is no text"):
        tenon.from_onnx(content.replace(b"agraph", b"agr\xffph"))
    with pytest.raises(TenonError, match="the model is of opset 9000"):
        tenon.from_onnx(model_of(MLP, opset=9000))


def test_functions_of_a_model_are_called():
    text = """
    agraph (float[n] x) => (float[n] y) { y = my.twice<factor = 3.0>(x) }
    """
    function = """
    <domain: "my", opset_import: ["" : 21]>
    twice<factor>(x) => (y)
    {
        f = Constant<value_float: float = @factor>()
        y = Mul(x, f)
    }
    """
    model = tenon.from_onnx(model_of(text, imports=', "my" : 1', functions=function), backend="reference")
    x = normal(3)
    np.testing.assert_allclose(model(x), x * 3, rtol=1e-6)

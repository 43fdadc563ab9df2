"""Nodes that ask for what there is not: each is an error that names its op."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
from onnx.reference import ReferenceEvaluator
from tenon.errors import TenonError
from tenon.test.unit.frontends.onnx.models import Array, model_of, normal

X = "float[2, 3] x"

WRONG = [
    (X, "y = Mod(x, i)", "the inputs are of different types, float32, int64"),
    (X, "y = Gelu<approximate = 'erf'>(x)", "approximate is 'erf', expected none or tanh"),
    (X, "y = Reshape(x, i)", "reshape: cannot reshape array of size 6"),
    (X, "y = Reshape(x, zeros)", "axis 2 keeps an extent"),
    (X, "y = Reshape(x, opens)", "two extents are left open"),
    (X, "y = Flatten<axis = 5>(x)", "axis 5 is out of range for rank 2"),
    (X, "y = Tile(x, i)", "1 repeats for rank 2"),
    (X, "a, y = Split<axis = 1>(x, opens)", "parts of .* elements, axis 1 has 3"),
    (X, "y = Pad(x, i)", "1 widths for 2 axes, expected 4"),
    (X, "y = Pad<mode = 'round'>(x, zeros4)", "mode is 'round', expected constant, edge"),
    (X, "y = Gather(x, nine)", "index 9 is out of range for axis 0"),
    (X, "y = Slice(x, zero, i, zero, zero)", "the step of axis"),
    (X, "y = ScatterND<reduction = 'xor'>(x, at, x)", "reduction is 'xor'"),
    (X, "y, k = TopK(x, nine1)", "k is 9, axis -1 has 3 elements"),
    (X, "y = Gemm(x, v)", r"shapes \(2, 3\) and \(3,\), expected two matrices"),
    (X, "y = Det(x)", r"shape \(2, 3\), expected square matrices"),
    (X, "y = LpNormalization<p = 3>(x)", "p is 3, expected 1 or 2"),
    (X, "y = BitCast<to = 7>(x)", "the bits of float32 as int64 are not supported"),
    (X, "y = Cast<to = 8>(x)", "there are no arrays of STRING"),
    (X, "y = CumSum<axis = 0>(x)", "input 'axis' is missing"),
    (X, "y = Elu<alpha = 1>(x)", "attribute 'alpha' is of another kind than the op says"),
    (X, "b = Cast<to = 22>(x) y = Add(b, b)", "input 'x' is int4: no arithmetic"),
    (X, "q = SequenceConstruct(x) y = Relu(q)", "input 'x' is a sequence, expected a tensor"),
    (X, "y = SequenceAt(x, first)", "a tensor, expected a sequence"),
    (X, "q = SequenceConstruct(x) y = SequenceAt(q, nine)", "position 9 of 1 elements"),
    (X, "q = SequenceEmpty() y = ConcatFromSequence<axis = 0>(q)", "a sequence without elements"),
    (X, "q = SplitToSequence(x, nine1) y = SequenceAt(q, first)", "parts of .9. elements"),
    (X, "y = OptionalGetElement()", "an optional without an element"),
    (X, "y = Constant()", "a constant without a value"),
    (X, "y = ConstantOfShape(opens)", "has a negative extent"),
    (X, "y = Range(first, nine, first)", "delta is 0"),
    (X, "y = Dropout(x, one, yes)", "the ratio is 1.0, expected one from 0 to below 1"),
    ("float[1, 2, 4, 4] x", "y = MaxPool(x)", "attribute 'kernel_shape' is missing"),
    ("float[1, 2, 4, 4] x", "y = MaxPool<kernel_shape = [2, 2], pads = [1]>(x)", "1 pads for 2 spatial axes"),
    ("float[1, 2, 4, 4] x", "y = MaxPool<kernel_shape = [2, 2], auto_pad = 'SOME'>(x)", "auto_pad is 'SOME'"),
    ("float[1, 2, 4, 4] x", "y = Conv<kernel_shape = [2, 2]>(x, x)", "the kernel has shape"),
    ("float[1, 2, 4, 4] x", "y = DepthToSpace<blocksize = 1, mode = 'ABC'>(x)", "mode is 'ABC'"),
    ("float[1, 2, 4, 4] x", "y = Resize(x)", "expected either scales or sizes"),
    ("float[1, 2, 4, 4] x", "y = Resize(x, , twice)", "1 scales or sizes for 4 axes"),
    ("float[1, 2, 4, 4] x", "y = Resize<axes = [3]>(x, , minus)", "scales of .-1.0., expected more than 0"),
    ("float[1, 2, 4, 4] x", "y = Resize<axes = [3], mode = 'sharp'>(x, , twice)", "mode is 'sharp'"),
    (
        "float[1, 2, 4, 4] x",
        "y = Resize<axes = [3], nearest_mode = 'up'>(x, , twice)",
        "nearest_mode is 'up'",
    ),
    ("float[1, 2, 4, 4] x", "y = Resize<axes = [3]>(x, , , huge)", "elements, expected 67108864 or less"),
    ("float[1, 2, 4, 4] x", "y = GroupNormalization<num_groups = 3>(x, v, v)", "2 channels in 3 groups"),
    ("float[1, 2, 4, 4] x", "y = BatchNormalization(x, v, v, v)", "input 'variance' is missing"),
    ("float[4, 1, 3] x", "y, h = RNN<direction = 'up'>(x, x, x)", "direction is 'up'"),
    ("float[4, 1, 3] x", "y, h = RNN(x, x, x)", "weights of shape"),
    ("float[4, 2, 3] x", "y = DFT<onesided = 1>(x, , second)", "axis 1 of shape"),
    ("float[2, 4, 1] x", "y = STFT(x, nine)", "expected a window or frame_length"),
    ("float[2, 4, 1] x", "y = STFT(x, nine, , nine)", "frames of 9 elements"),
]

CONSTANTS = """
<int64[1] i = {4}, int64[3] zeros = {1, 1, 0}, int64[2] opens = {-1, -1}, int64[4] zeros4 = {0, 0, 0, 0},
 int64 nine = {9}, int64[1] nine1 = {9}, int64[1] zero = {0}, int64[2, 1] at = {0, 1}, float[3] v = {1, 2, 3},
 int64 first = {0}, int64 second = {1}, float one = {1}, bool yes = {1}, float[1] twice = {2},
 float[1] minus = {-1}, int64[1] huge = {1000000000000}>
"""


@pytest.mark.parametrize(("inputs", "nodes", "message"), WRONG, ids=[each[1] for each in WRONG])
def test_a_node_that_does_not_fit_is_an_error_that_names_it(inputs: str, nodes: str, message: str):
    proto = model_of(
        f"agraph ({inputs}) => (float[a] y) {CONSTANTS} {{ {nodes.replace(chr(39), chr(34))} }}", opset=24
    )
    model = tenon.from_onnx(proto, backend="reference")
    shape = tuple(each.dim_value for each in proto.graph.input[0].type.tensor_type.shape.dim)
    name = nodes.rpartition(" = ")[2].partition("<")[0].partition("(")[0]
    with pytest.raises(TenonError, match=message) as raised:
        model(normal(*shape))
    assert any(word in str(raised.value) for word in ("(node 0)", "(node 1)")), name


def test_a_sparse_initializer_is_an_error():
    proto = model_of("agraph (float[2] x) => (float[2] y) { y = Relu(x) }")
    sparse = proto.graph.sparse_initializer.add()
    sparse.values.name = "s"
    with pytest.raises(TenonError, match="initializer 's' is sparse"):
        tenon.from_onnx(proto, backend="reference")(normal(2))


def test_a_domain_without_a_version_is_an_error():
    proto = model_of("agraph (float[2] x) => (float[2] y) { y = Relu(x) }")
    del proto.opset_import[:]
    proto.opset_import.add(domain="my", version=1)
    with pytest.raises(TenonError, match="Relu"):
        tenon.from_onnx(proto, backend="reference")(normal(2))


def test_functions_that_call_one_another_without_end_are_an_error():
    body = '<domain: "my", opset_import: ["" : 21, "my" : 1]> again (x) => (y) { y = my.again(x) }'
    text = "agraph (float[2] x) => (float[2] y) { y = my.again(x) }"
    proto = model_of(text, imports=', "my" : 1', functions=body)
    with pytest.raises(TenonError, match="functions call one another without end"):
        tenon.from_onnx(proto, backend="reference")(normal(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [("my.twice(x, x)", "2 inputs, its function has 1"), ("my.twice(x)", "2 results are wanted, it has 1")],
)
def test_a_function_is_called_as_it_is(call: str, message: str):
    body = '<domain: "my", opset_import: ["" : 21]> twice (x) => (y) { y = Add(x, x) }'
    results = "y, z" if "results" in message else "y"
    text = f"agraph (float[2] x) => (float[2] y) {{ {results} = {call} }}"
    proto = model_of(text, imports=', "my" : 1', functions=body)
    with pytest.raises(TenonError, match=message):
        tenon.from_onnx(proto, backend="reference")(normal(2))


def loop_of(body: str, state: Array, count: int | None, backend: str = "reference") -> Array:
    """Runs a loop that carries an array and gives it in each round."""
    proto = model_of(f"""
    agraph (int64 count, float[n] x) => (float[n] last, float[k, n] each)
    <bool yes = {{1}}>
    {{
        last, each = Loop<body = step (int64 i, bool c, float[n] s) => (bool d, float[n] t, float[n] e)
            {body}>
            (count, yes, x)
    }}
    """)
    return tenon.from_onnx(proto, backend=backend)(np.array(count), state)


@pytest.mark.parametrize("count", [0, 3, 40])
def test_a_loop_of_known_length_runs_so_often(count: int):
    x = normal(3)
    last, each = loop_of("{ d = Identity(c) t = Add(s, s) e = Identity(s) }", x, count)
    np.testing.assert_allclose(last, x * 2.0**count, rtol=1e-6)
    np.testing.assert_allclose(each, np.stack([x * 2.0**k for k in range(count)]) if count else x[None][:0])


def test_a_loop_that_ends_by_its_values_stays_a_loop():
    proto = model_of("""
    agraph (float[n] x) => (float[n] last)
    <bool yes = {1}, float limit = {100}>
    { last = Loop<body = step (int64 i, bool c, float[n] s) => (bool d, float[n] t)
        { t = Add(s, s) m = ReduceMax<keepdims = 0>(t) d = Less(m, limit) }>( , yes, x) }
    """)
    model = tenon.from_onnx(proto, backend="reference")
    np.testing.assert_array_equal(model(np.array([1, 3], np.float32)), [64, 192])
    assert model.notes == []


def test_a_branch_that_gives_another_shape_is_chosen_by_value():
    proto = model_of("""
    agraph (bool b, float[4] x) => (float[n] y)
    { y = If<then_branch = a () => (float[n] p) { p = Identity(x) },
             else_branch = o () => (float[m] q) { q = Concat<axis = 0>(x, x) }>(b) }
    """)
    model = tenon.from_onnx(proto, backend="reference")
    x = normal(4)
    assert [len(model(np.array(flag), x)) for flag in (True, False)] == [4, 8]
    assert model.notes == ["a program for each value of b"]


def test_results_agree_with_those_of_onnx_on_a_model_of_many_ops():
    proto = model_of("""
    agraph (float[n, 8, 6] x) => (float[n, 4] y)
    <float[6, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24}, int64[1] axis = {1},
     float[6] g = {1, 1, 2, 2, 3, 3}, float[6] b = {0, 1, 0, 1, 0, 1}>
    {
        h = LayerNormalization(x, g, b)
        t = Tanh(h)
        m = ReduceMean<keepdims = 0>(t, axis)
        p = MatMul(m, w)
        y = Softmax(p)
    }
    """)
    x = normal(5, 8, 6)
    wanted = ReferenceEvaluator(proto).run(None, {"x": x})[0]
    np.testing.assert_allclose(tenon.from_onnx(proto)(x), wanted, rtol=1e-4, atol=1e-6)

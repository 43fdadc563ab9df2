"""`tenon-import`: what it writes, that `tenon-run` takes it, and what it refuses."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import tenon
from tenon.test.unit.frontends.onnx.models import model_of, normal
from tenon.tools import tenon_import, tenon_run
from tenon.tools.exit_codes import DIAGNOSTICS, SUCCESS, USAGE
from tenon.tools.run.input_arrays import read_arrays

NET = """
net (float[batch, 40] xDOT1) => (float[batch, 200] y)
{
    h = MatMul(xDOT1, encoderDOTweight_0)
    s = Add(h, bias)
    y = Relu(s)
}
"""

FREE = "free (float[?, 4] x) => (float[?, 4] y) { y = Neg(x) }"

SHAPED = "shaped (float[n] x, int64[k] shape) => (float[?, ?] y) { y = Reshape(x, shape) }"

W, B = normal(40, 200), normal(200)


def saved(path: Path, text: str, **initializers: np.ndarray) -> str:
    """Saves a model, in whose names a point, which text may not have, is `DOT`; returns its path."""
    proto = model_of(text)
    for each in proto.graph.input:
        each.name = each.name.replace("DOT", ".")
    for node in proto.graph.node:
        node.input[:] = [name.replace("DOT", ".") for name in node.input]
    for name, values in initializers.items():
        proto.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    path.write_bytes(proto.SerializeToString())
    return str(path)


@pytest.fixture
def net(tmp_path: Path) -> str:
    return saved(tmp_path / "net.onnx", NET, **{"encoder.weight_0": W, "bias": B})


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = tenon_import.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_text_and_weights_are_what_tenon_run_takes(
    net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "net.mlir"
    assert called(capsys, net, "-o", str(output)) == (SUCCESS, "", "")
    with np.load(tmp_path / "net.npz", allow_pickle=False) as weights:
        assert sorted(weights) == ["bias", "encoder_weight0"]
        np.testing.assert_array_equal(weights["encoder_weight0"], W)
        given = {name: weights[name] for name in weights.files}
    x = normal(3, 40)
    np.save(tmp_path / "x.npy", x)
    result = tmp_path / "y.npy"
    arguments = [str(output), "--inputs", str(tmp_path / "net.npz"), "--input", str(tmp_path / "x.npy")]
    assert tenon_run.main([*arguments, "--compare", "--print", "none", "--output", str(result)]) == SUCCESS
    expected = np.maximum(x @ W + B, 0)
    np.testing.assert_allclose(np.load(result), expected, rtol=1e-5, atol=1e-5)
    program = tenon.compile(output.read_text())
    assert program.argument_names == ("x1", "encoder_weight0", "bias")
    np.testing.assert_allclose(
        program(x[:1], *[given[name] for name in program.argument_names[1:]]),
        expected[:1],
        rtol=1e-5,
        atol=1e-5,
    )


def test_files_are_the_same_each_time_and_there_as_a_whole(
    net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    output = tmp_path / "net.mlir"
    assert called(capsys, net, "-o", str(output))[0] == SUCCESS
    before = output.read_bytes(), (tmp_path / "net.npz").read_bytes()
    monkeypatch.setattr(time, "time", lambda: 2e9)
    assert called(capsys, net, "-o", str(output))[0] == SUCCESS
    assert (output.read_bytes(), (tmp_path / "net.npz").read_bytes()) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.mlir", "net.npz", "net.onnx"]


def test_a_model_comes_from_standard_input_and_goes_to_standard_output(
    net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    data = Path(net).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    weights = tmp_path / "other.npz"
    code, text, _ = called(capsys, "--weights", str(weights))
    assert code == SUCCESS and "func.func @net(%x1: tensor<?x40xf32" in text
    assert weights.exists()
    error = "tenon-import: error: the model's 2 weights have no file to go to (hint: -o, --weights)\n"
    assert called(capsys, net) == (DIAGNOSTICS, "", error)


def test_small_constants_are_in_the_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(tmp_path / "m.onnx", "m (float[2] x) => (float[2] y) { y = Add(x, b) }", b=normal(2))
    code, text, _ = called(capsys, path, "-o", str(tmp_path / "m.mlir"))
    assert (code, text) == (SUCCESS, "")
    assert tenon.compile((tmp_path / "m.mlir").read_text()).argument_names == ("x",)


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_a_model_without_weights_has_a_file_of_none(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = saved(
        tmp_path / "m.onnx", "m (float[2] x) => (float[2] y) { y = Add(x, b) }", b=np.float32([1, 2])
    )
    text, weights = tmp_path / "m.mlir", tmp_path / f"m.{suffix}"
    weights.write_bytes(b"of another model")
    assert called(capsys, path, "-o", str(text), "--weights", str(weights))[0] == SUCCESS
    np.save(tmp_path / "x.npy", np.float32([3, 4]))
    assert (
        tenon_run.main([str(text), "--inputs", str(weights), "--input", str(tmp_path / "x.npy")]) == SUCCESS
    )
    assert "[4. 6.]" in capsys.readouterr().out
    code, _, error = called(capsys, path, "-o", str(text), "--weights", str(tmp_path / "none" / "w.npz"))
    assert code == DIAGNOSTICS and error.startswith("tenon-import: error: cannot write ")


def test_dims_have_the_bounds_or_the_number_that_is_said(net: str, capsys: pytest.CaptureFixture[str]):
    weights = ("--weights", str(Path(net).with_suffix(".npz")))
    assert "graph.dim @batch min 2 max 8" in called(capsys, net, "--dim", "batch=2:8", *weights)[1]
    assert "%x1: tensor<3x40xf32>" in called(capsys, net, "--dim", "batch=3", *weights)[1]
    code, _, error = called(capsys, net, "--dim", "rows=3", *weights)
    assert (code, error) == (
        DIAGNOSTICS,
        "tenon-import: error: --dim: the model has no dim 'rows' (dims: batch)\n",
    )
    code, _, error = called(capsys, net, "--dim", "batch=8:2", *weights)
    assert code == DIAGNOSTICS and "--dim: Dim: batch has the bounds 8 and 2" in error


def test_axes_without_names_need_a_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(tmp_path / "free.onnx", FREE)
    code, _, error = called(capsys, path)
    assert code == DIAGNOSTICS
    assert "free: the input 'x: float32[?, 4]' has axes without names (hint: a shape for it)" in error
    assert "%x: tensor<7x4xf32>" in called(capsys, path, "--shape", "x=7,4")[1]
    code, _, error = called(capsys, path, "--shape", "x=7,5")
    assert code == DIAGNOSTICS and "the shape (7, 5) does not fit the input 'x: float32[?, 4]'" in error
    code, _, error = called(capsys, path, "--shape", "z=7,5")
    assert code == DIAGNOSTICS and "there is no input 'z' (inputs: x)" in error


def test_a_shape_does_not_say_how_large_a_dim_with_a_name_is(net: str, capsys: pytest.CaptureFixture[str]):
    code, _, error = called(capsys, net, "--shape", "x.1=3,40")
    assert code == DIAGNOSTICS
    assert "axis 0 of input 'x.1' is the dim 'batch' (hint: say how large that is)" in error


def test_inputs_that_shapes_depend_on_need_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(tmp_path / "shaped.onnx", SHAPED)
    code, _, error = called(capsys, path)
    assert code == DIAGNOSTICS
    assert "Reshape (node 0)" in error and "(hint: a value for shape)" in error
    np.save(tmp_path / "shape.npy", np.array([2, 3]))
    arguments = ("--value", f"shape={tmp_path / 'shape.npy'}", "--dim", "n=6")
    code, text, _ = called(capsys, path, *arguments)
    assert code == SUCCESS
    assert "@shaped(%x: tensor<6xf32>) -> tensor<2x3xf32>" in text


def test_what_is_no_array_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    many = "many (seq(float[2]) x) => (float[2] y) { i = Constant<value_int = 0>() y = SequenceAt(x, i) }"
    path = saved(tmp_path / "many.onnx", many)
    code, _, error = called(capsys, path)
    assert code == DIAGNOSTICS and "is no array that a program takes" in error
    several = "several (float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x, x) }"
    path = saved(tmp_path / "several.onnx", several)
    code, _, error = called(capsys, path)
    assert code == DIAGNOSTICS and "the result 'y' is no array, which a program gives" in error


def test_names_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = "odd (float[2] aDOTb, float[2] a_b) => (float[2] y) { y = Sub(aDOTb, a_b) }"
    code, text, _ = called(capsys, saved(tmp_path / "odd.onnx", text))
    assert code == SUCCESS and "@odd(%a_b: tensor<2xf32>, %a_b_v1: tensor<2xf32>)" in text


def test_errors_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"no model")
    cases = {
        str(tmp_path / "none.onnx"): "cannot read",
        str(bad): "no ONNX model",
        saved(tmp_path / "op.onnx", "g (float[2] x) => (float[2] y) { y = Nothing(x) }"): "Nothing (1)",
    }
    for path, expected in cases.items():
        code, _, error = called(capsys, path)
        assert code == DIAGNOSTICS and expected in error and error.count("\n") == 1


def test_a_folder_that_is_not_there_is_an_error(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code, _, error = called(capsys, net, "-o", str(tmp_path / "none" / "net.mlir"))
    assert code == DIAGNOSTICS and "cannot write" in error and "no such file or directory" in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["--dim", "batch"],
        ["--dim", "batch=two"],
        ["--dim", "batch=1", "--dim", "batch=2"],
        ["--shape", "x=a"],
        ["--value", "x="],
        ["--weights", "weights.bin"],
        ["--wrong"],
    ],
)
def test_a_wrong_command_line_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        tenon_import.main(arguments)
    assert caught.value.code == USAGE
    assert "usage: tenon-import" in capsys.readouterr().err


HLO = """
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x200xf32> {
  %w = stablehlo.constant dense_resource<w> : tensor<3x200xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<2x3xf32>, tensor<3x200xf32>) -> tensor<2x200xf32>
  return %y : tensor<2x200xf32>
}
{-# dialect_resources: { builtin: { w: "0x04000000HEX" } } #-}
"""


@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
@pytest.mark.parametrize("is_piped", [False, True])
def test_text_of_stablehlo_is_imported_with_its_weights(
    suffix: str,
    is_piped: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    weight, x = normal(3, 200), normal(2, 3)
    text = HLO.replace("HEX", weight.tobytes().hex())
    source = tmp_path / "source.mlir"
    source.write_text(text)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    output, weights = str(tmp_path / "net.mlir"), str(tmp_path / f"net.{suffix}")
    given = ["-"] if is_piped else [str(source)]
    assert called(capsys, *given, "-o", output, "--weights", weights) == (SUCCESS, "", "")
    np.save(tmp_path / "x.npy", x)
    arguments = [output, "--inputs", weights, "--input", str(tmp_path / "x.npy"), "--print", "none"]
    assert tenon_run.main([*arguments, "--output", str(tmp_path / "y.npy")]) == SUCCESS
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), x @ weight, rtol=1e-5, atol=1e-5)


def test_weights_of_a_model_may_be_safetensors(net: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    weights = tmp_path / "w.safetensors"
    assert called(capsys, net, "-o", str(tmp_path / "m.mlir"), "--weights", str(weights))[0] == SUCCESS
    np.testing.assert_array_equal(read_arrays(weights)["encoder_weight0"], W)


def test_what_is_no_text_of_stablehlo_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "m.mlir"
    path.write_bytes(b"ML\xefR\x06")
    code, _, error = called(capsys, str(path))
    assert (
        code == DIAGNOSTICS and "m.mlir: is bytecode of MLIR, expected text (hint: stablehlo-trans" in error
    )
    path.write_text(HLO)
    code, _, error = called(capsys, str(path), "--dim", "n=4")
    assert code == DIAGNOSTICS and "--dim is for models of ONNX, found text" in error
    code, _, error = called(capsys, str(path))
    assert code == DIAGNOSTICS and "m.mlir:8:" in error and "no hex string" in error

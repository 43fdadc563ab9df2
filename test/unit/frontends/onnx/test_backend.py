"""`tenon.onnx` is a backend of onnx: its functions, and a sample of onnx's tests, which run as they are."""

from __future__ import annotations

import unittest
import warnings
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
import tenon.onnx
from onnx.backend.test import BackendTest
from tenon.test.unit.frontends.onnx.models import model_of, normal

RELU = "agraph (float[2] x) => (float[2] y) { y = Relu(x) }"

SAMPLE = (
    "add_bcast",
    "affine_grid_2d",
    "argmax_keepdims_example_select_last_index",
    "attention_4d_causal",
    "averagepool_2d_ceil",
    "basic_conv_with_padding",
    "cast_FLOAT_to_FLOAT8E4M3FNUZ",
    "cast_INT4_to_FLOAT",
    "center_crop_pad_crop_and_pad",
    "constant_pad_axes",
    "convtranspose_autopad_same",
    "dft",
    "einsum_batch_diagonal",
    "gridsample_reflection_padding",
    "if_seq",
    "layer_normalization_4d_axis1",
    "loop13_seq",
    "lstm_with_peepholes",
    "maxpool_with_argmax_2d_precomputed_pads",
    "nonmaxsuppression_two_classes",
    "reduce_log_sum_exp_empty_set",
    "reshape_zero_and_negative_dim",
    "resize_upsample_sizes_nearest_not_larger",
    "roialign_mode_max",
    "scan9_sum",
    "scatternd_max",
    "sequence_map_identity_1_sequence_expanded",
    "softmax_large_number",
    "top_k_smallest",
    "unique_sorted_with_axis_3d",
)


def results_of(backend: str, *patterns: str) -> unittest.TestResult:
    """Runs tests of onnx whose names fit patterns."""

    def prepare(model, device, **options):
        return tenon.onnx.prepare(model, device, backend=backend, **options)

    module = SimpleNamespace(prepare=prepare, supports_device=tenon.onnx.supports_device)
    results = unittest.TestResult()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        tests = BackendTest(module, __name__)
        for pattern in patterns:
            tests.include(pattern)
        tests.exclude("_cuda$")
        tests.test_suite.run(results)
    return results


def test_a_sample_of_the_tests_of_onnx_pass():
    results = results_of("reference", *[f"^test_{name}_cpu$" for name in SAMPLE])
    assert [each[0].id() for each in (*results.failures, *results.errors)] == []
    assert results.testsRun - len(results.skipped) == len(SAMPLE)


def test_the_simple_models_of_onnx_pass_as_machine_code():
    results = results_of("llvm", "^test_(expand_shape|sequence|sign|single_relu|shrink).*model.*_cpu$")
    assert [each[0].id() for each in (*results.failures, *results.errors)] == []
    assert results.testsRun - len(results.skipped) == 14


def test_a_device_is_one_that_programs_run_on():
    assert tenon.onnx.supports_device("CPU")
    assert tenon.onnx.supports_device("opencl:0")
    assert not tenon.onnx.supports_device("CUDA")
    with pytest.raises(ValueError, match="prepare: device 'CUDA', expected CPU or OPENCL"):
        tenon.onnx.prepare(model_of(RELU), "CUDA")


def test_a_model_is_compatible_whose_ops_are_supported():
    assert tenon.onnx.is_compatible(model_of(RELU))
    assert not tenon.onnx.is_compatible(model_of(RELU.replace("Relu", "Frobnicate")))


def test_a_prepared_model_takes_a_list_names_or_an_array():
    prepared = tenon.onnx.prepare(model_of(RELU), backend="reference")
    x = normal(2)
    for inputs in ([x], {"x": x}, x):
        (result,) = prepared.run(inputs)
        np.testing.assert_array_equal(result, np.maximum(x, 0))
    with pytest.raises(TypeError, match=r"run: unknown arguments \['fast'\]"):
        prepared.run([x], fast=True)


def test_a_model_and_a_node_are_run_at_once():
    x, y = normal(2), normal(2, 1)
    (result,) = tenon.onnx.run_model(model_of(RELU), [x], backend="reference")
    np.testing.assert_array_equal(result, np.maximum(x, 0))
    node = onnx.helper.make_node("Clip", ["x", "", "y"], ["z"])
    (result,) = tenon.onnx.run_node(node, [x, y[0, 0]], backend="reference")
    np.testing.assert_array_equal(result, np.minimum(x, y[0, 0]))
    old = onnx.helper.make_node("Softmax", ["x"], ["y"])
    x = normal(2, 3, 4)
    (result,) = tenon.onnx.run_node(old, [x], opset_version=12, backend="reference")
    np.testing.assert_allclose(result.sum((1, 2)), 1, rtol=1e-5)

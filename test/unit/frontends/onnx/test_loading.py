"""Models whose bytes were changed run, or are errors for users; `test/onnx_mutations.py` has the whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import tenon
from tenon.errors import TenonError
from tenon.test.mutations import mutated_bytes
from tenon.test.onnx_mutations import TEXTS, model_bytes, outcome
from tenon.test.unit.frontends.onnx.models import model_of


@pytest.mark.parametrize("name", TEXTS)
def test_changed_bytes_run_or_are_errors(name: str):
    data = model_bytes(name)
    assert outcome(name, data) == "runs"
    found = Counter(outcome(name, mutated_bytes(data, seed)) for seed in range(300))
    assert found.keys() <= {"runs", "error"} and found["error"]


def test_changes_are_the_same_each_time():
    data = model_bytes("mlp")
    assert mutated_bytes(data, 7) == mutated_bytes(data, 7) != mutated_bytes(data, 8)


def test_names_that_are_no_text_are_errors_that_say_where():
    data = model_of("g (float[2] x) => (float[2] thing) { thing = Neg(x) }").SerializeToString()
    broken = data.replace(b"\x03Neg", b"\x03\xffeg")
    assert broken != data
    with pytest.raises(TenonError, match=r"NodeProto.op_type is no text"):
        tenon.from_onnx(broken)


@pytest.mark.parametrize("version", [-1, 1 << 31])
def test_versions_that_there_cannot_be_are_errors(version: int):
    model = model_of("g (float[2] x) => (float[2] y) { y = Neg(x) }", imports=', "other" : 1')
    model.opset_import[1].version = version
    with pytest.raises(TenonError, match=f"the model is of version {version} of 'other'"):
        tenon.from_onnx(model)
    model.opset_import[1].version = (1 << 31) - 1
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(tenon.from_onnx(model, backend="reference")(x), -x)

"""Models of ONNX as libraries: the dims that a model names are those of the C function."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.errors import CallError, TenonError
from tenon.test.unit.compiler.export.c_programs import built, needs_cc, run
from tenon.test.unit.frontends.onnx.models import model_of, normal

needs_linker = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("ld")), reason="needs a linker")

ATTENTION = """
    g (float[batch, seq, 8] x) => (float[batch, seq, 8] y)
    <float[8, 8] w = {1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1, 1, -2, 3, -4, 5, -6, 7, -8,
      0, 1, 0, 1, 0, 1, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 7, 6, 5, 4, 3, 2, 1, 1, -2, 3, -4, 5, -6, 7, -8,
      0, 1, 0, 1, 0, 1, 0, 1}>
    {
        h = MatMul(x, w)
        t = Transpose<perm = [0, 2, 1]>(h)
        s = MatMul(x, t)
        p = Softmax<axis = -1>(s)
        y = MatMul(p, h)
    }
"""


@needs_cc
def test_dims_of_a_model_are_arguments_in_c(tmp_path: Path) -> None:
    dims = {"batch": tenon.Dim("batch", 1, 4), "seq": tenon.Dim("seq", 2, 40)}
    model = tenon.from_onnx(model_of(ATTENTION), dims=dims)
    exported = tenon.export(model, tmp_path / "m")
    assert "int m_run(const float *x, float *result, int64_t batch, int64_t seq," in (
        " ".join((tmp_path / "m.h").read_text().split())
    )
    program = built(
        """
        #include <stdio.h>
        #include <stdlib.h>
        #include "m.h"
        static float x[4 * 40 * 8], result[4 * 40 * 8];
        int main(int argc, char **argv) {
          int64_t batch = argc > 2 ? atoi(argv[1]) : 0, seq = argc > 2 ? atoi(argv[2]) : 0;
          size_t count = (size_t)(batch * seq * 8);
          if (m_run(x, result, 0, 2, NULL, NULL) != TENON_BAD_DIM) return 1;
          if (m_run(x, result, 5, 2, NULL, NULL) != TENON_BAD_DIM) return 2;
          if (m_run(x, result, 1, 1, NULL, NULL) != TENON_BAD_DIM) return 3;
          if (m_run(x, result, 1, 41, NULL, NULL) != TENON_BAD_DIM) return 4;
          if (m_run(x, result, -1, INT64_MAX, NULL, NULL) != TENON_BAD_DIM) return 5;
          if (m_workspace_size(4, 41) != -TENON_BAD_DIM) return 6;
          if (m_run(NULL, result, 1, 2, NULL, NULL) != TENON_NULL) return 7;
          if (fread(x, sizeof *x, count, stdin) != count) return 8;
          int code = m_run(x, result, batch, seq, NULL, NULL);
          if (code) return 100 + code;
          fwrite(result, sizeof *result, count, stdout);
          return 0;
        }""",
        exported,
        tmp_path,
    )
    for batch, seq in ((1, 2), (2, 7), (3, 17), (4, 40)):
        x = normal(batch, seq, 8)
        assert run(program, x, arguments=(str(batch), str(seq))) == model(x).tobytes()


@needs_linker
def test_axes_without_a_name_have_the_extents_of_an_example(tmp_path: Path) -> None:
    text = """
        g (float[n, ?, 3] x, float[?, 3] b) => (float[n, k, 3] y) <float[3] w = {1, 2, 3}> {
            s = Add(x, b) y = Mul(s, w)
        }"""
    model = tenon.from_onnx(model_of(text))
    with pytest.raises(TenonError, match=r"input 'x: .*' has axes without names \(hint: a shape for it\)"):
        tenon.export(model, tmp_path / "m")
    tenon.export(model, tmp_path / "m", normal(2, 5, 3), b=normal(5, 3))
    loaded = tenon.load(tmp_path / "m.so")
    for n in (1, 2, 9):
        x, b = normal(n, 5, 3), normal(5, 3)
        np.testing.assert_array_equal(loaded(x, b), model(x, b))
    with pytest.raises(CallError):
        loaded(normal(2, 4, 3), normal(4, 3))


def test_wrong_requests_for_models_are_errors(tmp_path: Path) -> None:
    model = tenon.from_onnx(model_of("g (float[n, 3] x) => (float[n, 3] y) { y = Neg(x) }"))
    with pytest.raises(CallError, match="2 inputs, expected 1"):
        tenon.export(model, tmp_path / "m", normal(2, 3), normal(2, 3))
    with pytest.raises(TenonError, match="constants are for executables and modules"):
        tenon.export(model, tmp_path / "m", constants={"x": normal(2, 3)})
    text = """g (float[n, 6] x, int64[2] to) => (float[a, b] y) { y = Reshape(x, to) }"""
    with pytest.raises(TenonError, match=r"hint: a value for to"):
        tenon.export(tenon.from_onnx(model_of(text)), tmp_path / "m")

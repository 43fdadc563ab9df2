"""Names in C, headers that compile whatever a program is called, and the codes that calls from C return."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.compiler.export.c_interface import CNames, ReturnCode, c_identifier

from .c_programs import CC, built, needs_cc, run


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("x", "x"),
        ("params['w 1']", "params_w_1"),
        ("int", "int_"),
        ("class", "class_"),
        ("3d", "x3d"),
        ("*/ #include", "include"),
        ("é", "x"),
        ("", "x"),
        ("__x__", "x"),
    ],
)
def test_an_identifier_is_one_of_c_and_resembles_the_text(text: str, name: str) -> None:
    assert c_identifier(text) == name


def test_names_of_one_function_differ() -> None:
    names = CNames("workspace")
    found = [names.fresh(text) for text in ("a", "a", "a!", "x1", "x1", "workspace", "int", "int")]
    assert found == ["a", "a2", "a3", "x1", "x1_2", "workspace2", "int_", "int_2"]


@needs_cc
@pytest.mark.parametrize("compiler", ["-std=c99", "-std=c11", "c++"])
def test_headers_compile_alone_and_together(tmp_path: Path, compiler: str) -> None:
    assert CC is not None

    def function(int, struct, result):
        return int + struct.astype("float32") * result, tnp.isnan(int)

    one, two = np.ones(3, np.float32), np.ones(3, np.float16)
    dynamic = {"int": {0: tenon.Dim("n", 1, 9)}, "struct": {0: tenon.Dim("n", 1, 9)}}
    tenon.export(tenon.jit(function, dynamic=dynamic), tmp_path / "my-model 1", one, two, one[:1])
    tenon.export(tenon.jit(lambda x: x, name="*/ bad"), tmp_path / "b", one, weights="file")
    header = (tmp_path / "my-model 1.h").read_text()
    assert "int my_model_1_run(const float *int_, const uint16_t *struct_, const float *result," in header
    assert " *   struct_     in, the bits of float16 [n]" in header
    assert " *   result1     out, bool, 0 or 1 [n]" in header
    file = tmp_path / "main.c"
    file.write_text('#include "my-model 1.h"\n#include "b.h"\nint main(void) { return TENON_OK; }\n')
    flags = ["-xc++"] if compiler == "c++" else [compiler]
    command = [
        CC,
        *flags,
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-c",
        str(file),
        "-o",
        str(tmp_path / "o"),
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if compiler == "c++" and "cc1plus" in found.stderr:
        pytest.skip("no compiler of C++")
    assert found.returncode == 0, found.stderr


@needs_cc
def test_calls_from_c_are_checked(tmp_path: Path) -> None:
    function = tenon.jit(
        lambda x: tnp.cumsum(tnp.sort(x)).sum() + x, dynamic={"x": {0: tenon.Dim("n", 2, 4000)}}
    )
    exported = tenon.export(function, tmp_path / "m", np.ones(3, np.float32))
    program = built(
        """
        #include <stdio.h>
        #include <stdlib.h>
        #include "m.h"
        int main(void) {
          float x[4001], result[4001];
          tenon_executor executor;
          for (int i = 0; i < 4001; i++) x[i] = (float)(i % 7);
          int64_t size = m_workspace_size(4000);
          if (size <= 0 || m_workspace_size(1) != -TENON_BAD_DIM) return 1;
          char *memory = aligned_alloc(64, (size_t)size + 64);
          if (!memory) return 2;
          for (int64_t i = 0; i < 64; i++) memory[size + i] = 42;
          if (m_run(x, result, 1, NULL, NULL) != TENON_BAD_DIM) return 3;
          if (m_run(x, result, 4001, NULL, NULL) != TENON_BAD_DIM) return 4;
          if (m_run(NULL, result, 4, NULL, NULL) != TENON_NULL) return 5;
          if (m_run(x, NULL, 4, NULL, NULL) != TENON_NULL) return 6;
          if (m_run((float *)((char *)x + 1), result, 4, NULL, NULL) != TENON_MISALIGNED) return 7;
          if (m_run(x, result, 4, memory + 8, NULL) != TENON_MISALIGNED) return 8;
          if (m_threads_start(&executor, -1) != TENON_BAD_THREADS || executor.context) return 9;
          if (m_threads_start(&executor, 1025) != TENON_BAD_THREADS) return 10;
          if (m_threads_start(&executor, 0) != TENON_OK) return 11;
          /* Four bytes off a line of the cache is as good as any place. */
          if (m_run(x + 1, result + 1, 4000, memory, &executor) != TENON_OK) return 12;
          for (int64_t i = 0; i < 64; i++) if (memory[size + i] != 42) return 13;
          m_threads_stop(&executor);
          m_threads_stop(&executor);
          free(memory);
          fwrite(result + 1, 4, 4000, stdout);
          return 0;
        }""",
        exported,
        tmp_path,
        "-std=c11",
    )
    x = (np.arange(1, 4001) % 7).astype(np.float32)
    assert run(program) == np.asarray(function(x)).tobytes()


@needs_cc
@pytest.mark.parametrize(("has_weights", "code"), [(True, ReturnCode.NULL), (False, ReturnCode.OK)])
def test_a_call_without_weights_is_refused_where_there_are_some(
    tmp_path: Path, has_weights: bool, code: ReturnCode
) -> None:
    weight = tenon.freeze(np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8))
    function = tenon.jit(lambda x: x @ weight if has_weights else x + x)
    exported = tenon.export(function, tmp_path / "m", np.ones(8, np.float32), weights="file")
    program = built(
        """
        #include "m.h"
        int main(int argc, char **argv) {
          float x[8] = {0}, result[8];
          const void *weights;
          int without = m_run(x, result, 0, 0, 0);
          if (argc != 2 || m_weights_open(argv[1], &weights) != TENON_OK) return 20;
          if (m_run(x, result, weights, 0, 0) != TENON_OK) return 21;
          m_weights_close(weights);
          return without;
        }""",
        exported,
        tmp_path,
    )
    found = subprocess.run([program, tmp_path / "m.weights"], check=False)
    assert found.returncode == code
    assert "m_weights_open gave, not NULL" in (tmp_path / "m.h").read_text()


@needs_cc
def test_an_executor_of_the_callers_runs_ranges(tmp_path: Path) -> None:
    exported = tenon.export(
        tenon.jit(lambda x: tnp.exp(x @ x)), tmp_path / "m", np.ones((300, 300), np.float32)
    )
    program = built(
        """
        #include <stdio.h>
        #include "m.h"
        static float x[90000], result[90000];
        static void backwards(void *context, tenon_range function, void *table, int64_t extent,
                              int64_t least) {
          (*(int *)context)++;
          int64_t part = least > 3 ? least : 3;
          for (int64_t end = extent; end > 0; end -= part) function(table, end > part ? end - part : 0, end);
        }
        int main(void) {
          int calls = 0;
          tenon_executor executor = {backwards, &calls};
          if (fread(x, 1, sizeof x, stdin) != sizeof x) return 1;
          if (m_run(x, result, NULL, &executor) != TENON_OK) return 2;
          if (!calls) return 3;
          fwrite(result, 1, sizeof result, stdout);
          return 0;
        }""",
        exported,
        tmp_path,
    )
    x = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32) / 100
    with tenon.compile(str(tenon.jit(lambda x: tnp.exp(x @ x)).lower(x).module)) as executable:
        assert run(program, x) == executable(x).tobytes()


def test_every_code_has_a_meaning() -> None:
    assert all(code.meaning for code in ReturnCode)
    assert len({code.meaning for code in ReturnCode}) == len(ReturnCode)

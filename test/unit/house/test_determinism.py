"""The same input gives the same bytes, whatever the order of hashes."""

import functools
import json
import os
import subprocess
import sys

import pytest
from tenon.test.unit.library import ROOT

PROGRAM = """\
func.func @layer(%x: tensor<6x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>)
    -> (tensor<6x5xf32>, tensor<6xf32>) {
  %product = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, \
affine_map<(m, n, k) -> (m, n)>] : tensor<6x8xf32>, tensor<8x5xf32> -> tensor<6x5xf32>
  %bias = graph.broadcast %b : tensor<5xf32> -> tensor<6x5xf32>
  %sum = graph.add %product, %bias : tensor<6x5xf32>
  %max = graph.reduce max %sum axes [1] keep : tensor<6x5xf32> -> tensor<6x1xf32>
  %base = graph.broadcast %max : tensor<6x1xf32> -> tensor<6x5xf32>
  %shifted = graph.sub %sum, %base : tensor<6x5xf32>
  %e = graph.exp %shifted : tensor<6x5xf32>
  %total = graph.reduce add %e axes [1] : tensor<6x5xf32> -> tensor<6xf32>
  func.return %e, %total : tensor<6x5xf32>, tensor<6xf32>
}
"""

TARGETS = ("llvm-ir", "opencl-c")

DIGITS = (ROOT / "examples" / "digits" / "digits.mlir").read_text()

MIXED = """\
func.func @mixed(%x: tensor<4x6xf32>, %n: tensor<6xi32>, %h: tensor<3x4xf16>)
    -> (tensor<6x4xf32>, tensor<4xi32>, tensor<f32>, tensor<4x6xi1>, tensor<3x4xbf16>) {
  %wide = graph.cast %n : tensor<6xi32> -> tensor<6xf32>
  %rows = graph.broadcast %wide : tensor<6xf32> -> tensor<4x6xf32>
  %less = graph.lt %x, %rows : tensor<4x6xf32>
  %tanh = graph.tanh %x : tensor<4x6xf32>
  %sin = graph.sin %rows : tensor<4x6xf32>
  %chosen = graph.select %less, %tanh, %sin : tensor<4x6xf32>
  %turned = graph.permute %chosen [1, 0] : tensor<4x6xf32>
  %back = graph.flip %turned axes [1] : tensor<6x4xf32>
  %ones = graph.cast %less : tensor<4x6xi1> -> tensor<4x6xi32>
  %count = graph.reduce add %ones axes [1] : tensor<4x6xi32> -> tensor<4xi32>
  %index = graph.iota axis 0 : tensor<4xi32>
  %shifted = graph.shl %count, %index : tensor<4xi32>
  %most = graph.reduce max %back axes [0, 1] : tensor<6x4xf32> -> tensor<f32>
  %root = graph.sqrt %h : tensor<3x4xf16>
  %brain = graph.cast %root : tensor<3x4xf16> -> tensor<3x4xbf16>
  func.return %back, %shifted, %most, %less, %brain
    : tensor<6x4xf32>, tensor<4xi32>, tensor<f32>, tensor<4x6xi1>, tensor<3x4xbf16>
}
"""

PROGRAMS = {"layer": PROGRAM, "digits": DIGITS, "mixed": MIXED}


EVERY_OUTPUT = """
import contextlib, io, json, sys
from tenon.tools.tenon_opt import main

outputs = {}
for name, text in json.load(sys.stdin).items():
    outputs[name] = {}
    for target, prints in (("llvm-ir", ["--mlir-print-ir-after-all"]), ("opencl-c", [])):
        sys.stdin = io.TextIOWrapper(io.BytesIO(text.encode()))
        written = io.StringIO()
        with contextlib.redirect_stdout(written), contextlib.redirect_stderr(written):
            status = main(["-p", "default-pipeline", *prints, "-t", target])
        assert status == 0, written.getvalue()
        outputs[name][target] = written.getvalue()
json.dump(outputs, sys.__stdout__)
"""


@functools.cache
def outputs(seed: int) -> dict[str, dict[str, str]]:
    """Returns the text of each program for each target, and for the first the IR after every pass too."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    command = [sys.executable, "-c", EVERY_OUTPUT]
    result = subprocess.run(
        command, input=json.dumps(PROGRAMS), capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_three_hash_seeds_give_the_same_bytes_after_every_pass(program: str, target: str):
    first, second, third = (outputs(seed)[program][target] for seed in (0, 1, 2))
    names = ("canonicalize-graph", "map-axes", "expand-math") if target == TARGETS[0] else ()
    assert all(f"({name})" in first for name in names)
    assert ("define " if target == TARGETS[0] else "__kernel") in first
    assert first == second == third

"""The same input gives the same bytes, whatever the order of hashes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = str(Path(sys.executable).parent / "tenon-opt")

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

PIPELINES = {
    "graph": ("-p", "graph-pipeline"),
    "sched": ("-p", "graph-pipeline,sched-pipeline"),
    "low": ("-p", "default-pipeline"),
    "llvm-ir": ("-p", "default-pipeline", "-t", "llvm-ir"),
    "opencl-c": ("-p", "default-pipeline", "-t", "opencl-c"),
}


def output(seed: int, *arguments: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    result = subprocess.run(
        [TOOL, *arguments], input=PROGRAM.encode(), capture_output=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr.decode()
    return result.stdout


@pytest.mark.parametrize("level", PIPELINES)
def test_three_hash_seeds_give_the_same_bytes(level: str):
    first, second, third = (output(seed, *PIPELINES[level]) for seed in (0, 1, 12345))
    assert first
    assert first == second == third

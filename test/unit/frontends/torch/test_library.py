"""What is said where torch is not installed."""

import subprocess
import sys

import pytest
import tenon
from tenon.frontends.torch.library import torch_library


def test_a_missing_torch_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        tenon.MissingExtraError, match=r"^torch: torch is not installed; pip install 'tenon\["
    ):
        torch_library()
    with pytest.raises(tenon.MissingExtraError, match=r"^torch: torch is not installed"):
        tenon.from_torch(None)


def test_nothing_imports_torch_before_it_is_asked_for():
    code = "import sys, tenon; tenon.from_torch; tenon.explain; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

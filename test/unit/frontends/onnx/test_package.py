"""The package onnx is imported when a model is read; where it is missing, the error says what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tenon.errors import MissingExtraError
from tenon.frontends.onnx.package import onnx_package


def test_a_missing_package_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(
        MissingExtraError, match=r"onnx is not installed \(hint: pip install 'tenon\[onnx\]'\)"
    ):
        onnx_package()


def test_another_error_of_an_import_is_not_hidden(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        onnx_package("no_such_module")


def test_importing_tenon_and_a_name_of_it_does_not_import_onnx():
    code = "import sys, tenon; tenon.from_onnx; print('onnx' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "False\n"

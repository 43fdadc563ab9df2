"""
Runs onnx's own tests of backends, `onnx.backend.test.BackendTest`, on `tenon.onnx`:

    python test/conformance/onnx_backend.py [pattern] [--backend reference] [--groups Node Simple]

and prints how many pass, and of the others the reason why not. `pattern` is searched in names. Tests that
cannot pass are counted apart: there are no arrays of strings, maps or complex numbers, and no training.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import unittest
import warnings
from collections import Counter
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import tenon.onnx
from onnx import TensorProto
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

GROUPS = ("Node", "Simple", "Real", "PyTorchConverted", "PyTorchOperator")
"""The groups of tests. `Real` are the light models: their architectures with constant weights."""

_STRINGS, _COMPLEX = TensorProto.STRING, (TensorProto.COMPLEX64, TensorProto.COMPLEX128)


def out_of_reach(model: Any) -> str | None:
    """Returns why a model cannot be run, whatever its ops: for what its arrays hold, or for training."""
    if any("training" in each.domain for each in model.opset_import):
        return "training"
    for info in (*model.graph.input, *model.graph.output):
        type = info.type
        while type.WhichOneof("value") in ("sequence_type", "optional_type"):
            type = getattr(type, type.WhichOneof("value")).elem_type
        if type.WhichOneof("value") == "map_type":
            return "maps"
        if type.tensor_type.elem_type == _STRINGS:
            return "strings"
        if type.tensor_type.elem_type in _COMPLEX:
            return "complex numbers"
    return None


class _Results(unittest.TestResult):
    """What became of each test, and what is said of those that fail."""

    def __init__(self) -> None:
        super().__init__()
        self.passed: list[str] = []
        self.failed: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self._start = 0.0

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._start = time.perf_counter()

    def stopTest(self, test: unittest.TestCase) -> None:
        super().stopTest(test)
        self.seconds[_name(test)] = time.perf_counter() - self._start

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.passed.append(_name(test))

    def addFailure(self, test: unittest.TestCase, error: Any) -> None:
        self.failed[_name(test)] = _reason(error[1])

    addError = addFailure


def _name(test: unittest.TestCase) -> str:
    return test.id().rpartition(".")[2]


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, AssertionError):
        return f"wrong: {text[:200]}"
    return f"{type(error).__name__}: {text[:200]}"


def run_tests(groups: list[str], pattern: str, backend: str) -> _Results:
    """Runs the tests of groups whose names `pattern` is found in."""

    def prepare(model: Any, device: str, **options: Any) -> Any:
        return tenon.onnx.prepare(model, device, backend=backend, **options)

    module = SimpleNamespace(prepare=prepare, supports_device=lambda device: device == "CPU")
    results = _Results()
    with warnings.catch_warnings(), np.errstate(all="ignore"), TemporaryDirectory() as models:
        warnings.simplefilter("ignore")
        # The light models are laid there, and not at home.
        os.environ["ONNX_MODELS"] = models
        cases = Runner(module, __name__).test_cases
        for group in groups:
            loaded = unittest.defaultTestLoader.loadTestsFromTestCase(cases[f"OnnxBackend{group}ModelTest"])
            chosen = [test for test in loaded if _name(test).endswith("_cpu")]
            unittest.TestSuite(each for each in chosen if re.search(pattern, _name(each))).run(results)
    return results


def reasons_out_of_reach() -> dict[str, str]:
    """Returns why node tests cannot pass, by their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = {f"{case.name}_cpu": case.model for case in load_model_tests(kind="node")}
    found = {name: out_of_reach(model) for name, model in models.items() if model is not None}
    return {name: reason for name, reason in found.items() if reason is not None}


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs onnx's tests of backends on tenon.onnx.")
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--backend", default="llvm", help="what programs run on")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=list(GROUPS))
    parser.add_argument("--slowest", type=int, default=0, help="how many of the slowest are named")
    chosen = parser.parse_args()
    results = run_tests(chosen.groups, chosen.pattern, chosen.backend)
    apart = reasons_out_of_reach()
    failed = {name: reason for name, reason in results.failed.items() if name not in apart}
    for name, reason in sorted(failed.items(), key=lambda each: each[1]):
        print(f"{name}: {reason}")
    n_run = len(results.passed) + len(results.failed)
    seconds = sum(results.seconds.values())
    print(f"{len(results.passed)} of {n_run} tests pass on {chosen.backend} ({seconds:.0f} s)")
    counts = Counter(apart[name] for name in results.failed if name in apart)
    for reason, count in sorted(counts.items()):
        print(f"{count} cannot: {reason}")
    print(f"{len(failed)} do not")
    for name in sorted(results.seconds, key=lambda each: -results.seconds[each])[: chosen.slowest]:
        print(f"{results.seconds[name]:.2f} s {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

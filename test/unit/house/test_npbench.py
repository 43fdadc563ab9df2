"""NPBench's kernels: every one of them does the same in numpy, in Tenon and as loops; what is an error."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tenon.benchmarks.contest import DisagreementError
from tenon.benchmarks.npbench.contenders import find_peers, of_numba, of_numpy, of_tenon
from tenon.benchmarks.npbench.contest import contest
from tenon.benchmarks.npbench.kernel import Kernel, check, parts, sizes, uniform
from tenon.benchmarks.npbench.registry import KERNELS
from tenon.benchmarks.npbench.report import npbench_text
from tenon.test.unit.library import ROOT

_KERNELS = """
    adi arc_distance atax azimint_hist azimint_naive bicg cavity_flow channel_flow cholesky cholesky2
    compute contour_integral conv2d_bias correlation covariance covariance2 crc16 deriche doitgen durbin
    fdtd_2d floyd_warshall gemm gemver gesummv go_fast gramschmidt hdiff heat_3d jacobi_1d jacobi_2d k2mm
    k3mm lenet lu ludcmp mandelbrot1 mandelbrot2 mlp mvt nbody nussinov resnet scattering_self_energies
    seidel_2d softmax spmv stockham_fft symm syr2k syrk trisolv trmm vadv
"""
NAMES = _KERNELS.split()


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    # Bins without elements have no mean, in numpy either.
    with np.errstate(all="ignore"):
        yield


def test_all_kernels_are_there():
    assert sorted(KERNELS) == NAMES and len(NAMES) == 54
    assert all(set(kernel.sizes) == {"tiny", "S", "M"} for kernel in KERNELS.values())


@pytest.mark.parametrize("name", NAMES)
def test_tenon_gives_what_numpy_gives(name: str):
    kernel = KERNELS[name]
    arguments, options = kernel.arguments("tiny"), kernel.options("tiny")
    right = of_numpy(kernel, arguments, options)()
    check(kernel, "tenon", of_tenon(kernel, arguments, options)(), right)


@pytest.mark.parametrize("name", [name for name in NAMES if KERNELS[name].loops is not None])
def test_loops_give_what_numpy_gives(name: str):
    kernel = KERNELS[name]
    arguments, options = kernel.arguments("tiny"), kernel.options("tiny")
    right = of_numpy(kernel, arguments, options)()
    assert kernel.loops is not None
    check(kernel, "loops", kernel.loops(*arguments.values(), **options), right)


@pytest.mark.parametrize("name", NAMES)
def test_no_argument_is_changed(name: str):
    kernel = KERNELS[name]
    arguments, options = kernel.arguments("tiny"), kernel.options("tiny")
    of_numpy(kernel, arguments, options)()
    if kernel.loops is not None:
        kernel.loops(*arguments.values(), **options)
    for value, fresh in zip(arguments.values(), kernel.arguments("tiny").values(), strict=True):
        np.testing.assert_array_equal(value, fresh)


DOUBLED = Kernel(
    "doubled", sizes({"N": 4}, {"N": 4}, {"N": 4}), uniform(x=("N",)), lambda side, x: side.np.add(x, x)
)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((np.ones(2), np.ones(2)), r"^doubled: tenon gives 2 arrays, expected 1$"),
        (np.ones(3), r"^doubled: tenon gives float64\[3\] as result 0, expected float64\[2\]$"),
        (np.ones(2, np.int64), r"^doubled: tenon gives int64\[2\] as result 0, expected float64\[2\]$"),
        (
            np.array([1, 3.0]),
            r"^doubled: tenon is off by up to 1 in 1 of 2 elements of result 0 \(allowed 2e-09",
        ),
        (np.array([1, np.nan]), r"^doubled: tenon is off by up to nan in 1 of 2 elements"),
    ],
)
def test_other_answers_are_errors(answer: Any, message: str):
    with pytest.raises(DisagreementError, match=message):
        check(DOUBLED, "tenon", answer, np.array([1, 2.0]))


def test_answers_may_differ_where_the_last_bit_decides():
    right = np.arange(10)
    answer = np.where(right == 3, 7, right)
    with pytest.raises(DisagreementError, match=r"in 1 of 10 elements of result 0 \(allowed 0\)$"):
        check(DOUBLED, "tenon", answer, right)
    check(replace(DOUBLED, chaotic_share=0.1), "tenon", answer, right)


def test_a_complex_array_is_the_pair_of_its_parts():
    right = np.array([1 + 2j, 3 - 1j])
    check(DOUBLED, "tenon", parts(right), right)
    check(DOUBLED, "jax", right, right)


def test_numba_has_what_has_loops():
    pytest.importorskip("numba")
    assert of_numba(DOUBLED, {}, {}) is None


def test_a_library_that_is_not_there_is_told():
    installed, missing = find_peers(["numpy", "no_such_library"])
    assert installed == {"numpy": np.__version__}
    assert missing == {"no_such_library": "No module named 'no_such_library'"}


def test_the_report_has_the_ratio_and_who_is_missing(monkeypatch: pytest.MonkeyPatch):
    makers = {"numpy": of_numpy, "numba": lambda *_: None, "jax": lambda *_: lambda: np.ones(3)}
    monkeypatch.setattr("tenon.benchmarks.npbench.contest.MAKERS", makers)
    failing = replace(
        DOUBLED, name="failing", on_numpy=lambda x: x + x, on_arrays=lambda side, x: side.np.fft(x)
    )
    outcomes = {
        kernel.name: contest(kernel, "tiny", tuple(makers), 1, 0, None, 0) for kernel in (DOUBLED, failing)
    }
    # As if they had taken so long.
    outcomes["doubled"]["times"] = {"tenon": {"minimum": 2e-6}, "numpy": {"minimum": 3e-6}}
    text = npbench_text(
        {
            "machine": {"processor": "a processor", "python": "3.13"},
            "size": "S",
            "versions": {"numpy": "2", "numba": "1", "jax": "0"},
            "missing": {},
            "outcomes": outcomes,
        }
    )
    assert "| doubled | 3.00 us |  |  | 2.00 us | numpy | 1.50 | 1.50 |" in text
    assert (
        "Geometric mean of 1 ratios: 1.50 to the best peer, 1.50 to numpy (1). Tenon is the fastest in 1."
        in text
    )
    assert "No source for numba: doubled, failing." in text
    assert "- doubled, jax: doubled: jax gives float64[3] as result 0, expected float64[4]" in text
    assert "- failing, tenon: AttributeError: " in text


def test_the_command_times_kernels_by_name(tmp_path: Path):
    command = [sys.executable, "-m", "benchmarks.npbench", "gemm", "--size", "tiny", "--rounds", "1"]
    command += ["--block", "0.1", "--no-gate", "--peers", "numpy", "--json", str(tmp_path / "npbench.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("gemm: tenon "), done.stderr
    report = json.loads((tmp_path / "npbench.json").read_text())
    assert list(report["outcomes"]) == ["gemm"] and report["size"] == "tiny"
    assert set(report["outcomes"]["gemm"]["times"]) == {"tenon", "numpy"}

"""What `make oclgrind` makes of reports, of failures, and of an Oclgrind that is not there."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from tenon.test.unit.library import ROOT

REPORT = (
    "\nInvalid write of size 4 at global memory address 0x1\n\tKernel: k\n\tEntity: Global(3,0,0)\n1 passed\n"
)


@pytest.fixture
def runner() -> ModuleType:
    path = ROOT / "test" / "oclgrind.py"
    spec = importlib.util.spec_from_file_location("oclgrind_runner", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, outcome: tuple[int, str], sees: bool = True
) -> int:
    """Runs it with tests that end in `outcome`; Oclgrind `sees` what the probes do, or not."""

    def under_oclgrind(command: list[str]) -> tuple[int, str]:
        if "--probe" in command:
            return 0, command[-1] if sees else "nothing"
        return outcome

    monkeypatch.setattr(runner.shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(runner, "under_oclgrind", under_oclgrind)
    monkeypatch.setattr(runner.sys, "argv", ["oclgrind.py"])
    return runner.main()


def test_no_oclgrind_is_told(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runner.shutil, "which", lambda name: None)
    monkeypatch.setattr(runner.sys, "argv", ["oclgrind.py"])
    assert runner.main() == 2
    assert capsys.readouterr().err == "oclgrind: there is none on the PATH (hint: apt-get install oclgrind)\n"


def test_tests_that_pass_without_a_report_pass(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(runner, monkeypatch, (0, "5 passed in 1s\n")) == 0
    assert capsys.readouterr().out.splitlines()[0] == "test/contract: 0 reports; 5 passed in 1s"


@pytest.mark.parametrize(
    ("outcome", "reports"), [((0, REPORT), 1), ((0, REPORT * 2), 2), ((1, "1 failed"), 0)]
)
def test_a_report_or_a_failure_fails(
    outcome: tuple[int, str],
    reports: int,
    runner: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(runner, monkeypatch, outcome) == 1
    assert f"test/contract: {reports} reports; " in capsys.readouterr().out


def test_an_oclgrind_that_sees_nothing_fails(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(runner, monkeypatch, (0, "5 passed"), sees=False) == 1
    assert "oclgrind: does not report 'Invalid write" in capsys.readouterr().err

"""`tenon-cache`: what it prints, removes and refuses."""

from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.backends.cache.place import FOLDER, SWITCH
from tenon.tools import tenon_cache, tenon_run
from tenon.tools.exit_codes import DIAGNOSTICS, SUCCESS

TEXT = "func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> { \
%y = graph.add %x, %x : tensor<4xf32> \n func.return %y : tensor<4xf32> }"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with one program in it, and nothing else."""
    path = tmp_path / "kept"
    monkeypatch.setenv(FOLDER, str(path))
    # What a process loads once is loaded now.
    tenon.compile(TEXT)(np.ones(4, np.float32))
    monkeypatch.setenv(SWITCH, "1")
    tenon.compile(TEXT)(np.ones(4, np.float32))
    return path


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str]]:
    code = tenon_cache.main(arguments)
    captured = capsys.readouterr()
    return code, (captured.out + captured.err).splitlines()


def test_stats(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    size = sum(path.stat().st_size for path in folder.glob("*.entry"))
    expected = [
        f"folder:   {folder}",
        "programs: 1",
        "code:     1",
        f"size:     {size} of at most 1073741824 bytes",
    ]
    assert output(capsys, "stats") == (SUCCESS, expected)
    monkeypatch.setenv(SWITCH, "0")
    expected[0] += " (off, TENON_CACHE is 0)"
    assert output(capsys, "stats") == (SUCCESS, expected)


def test_ls_has_a_line_for_each_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines = output(capsys, "ls", "--dir", str(folder))
    assert code == SUCCESS and len(lines) == 2
    (program,) = [line for line in lines if "program-" in line]
    assert "@twice for " in program and "1 kernels" in program
    (path,) = folder.glob("code-*")
    path.write_bytes(b"nothing")
    _, lines = output(capsys, "ls")
    assert any(line.endswith(path.name[:24]) for line in lines)


def test_verify_finds_and_removes_what_is_damaged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert output(capsys, "verify") == (SUCCESS, ["2 files, 0 damaged"])
    (path,) = folder.glob("code-*")
    path.write_bytes(path.read_bytes()[:-1])
    lines = [f"{path.name}: its checksum is wrong", "2 files, 1 damaged"]
    assert output(capsys, "verify") == (DIAGNOSTICS, lines)
    lines[0] += " (removed)"
    assert output(capsys, "verify", "--remove") == (SUCCESS, lines)
    assert output(capsys, "verify") == (SUCCESS, ["1 files, 0 damaged"])


def test_what_cannot_be_removed_is_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path,) = folder.glob("code-*")
    path.unlink()
    path.mkdir()
    lines = [f"{path.name}: it is no file (cannot be removed)", "2 files, 1 damaged"]
    assert output(capsys, "verify", "--remove") == (DIAGNOSTICS, lines)
    assert output(capsys, "clear") == (SUCCESS, [f"1 files removed from {folder}"])
    assert [left.name for left in folder.iterdir()] == [path.name]


def test_clear_removes_the_cache_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.txt").touch()
    assert output(capsys, "clear") == (SUCCESS, [f"2 files removed from {folder}"])
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]
    assert output(capsys, "clear") == (SUCCESS, [f"0 files removed from {folder}"])


def test_a_folder_that_is_not_there_is_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none"
    assert output(capsys, "ls", "--dir", str(path)) == (SUCCESS, [])
    assert output(capsys, "verify", "--dir", str(path)) == (SUCCESS, ["0 files, 0 damaged"])
    assert output(capsys, "clear", "--dir", str(path)) == (SUCCESS, [f"0 files removed from {path}"])
    assert not path.exists()


def test_a_folder_that_others_may_write_to_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o777)
    error = f"tenon-cache: error: {tmp_path}: others may write to it, mode 777"
    assert output(capsys, "clear", "--dir", str(tmp_path)) == (DIAGNOSTICS, [error])


def test_without_a_home_there_must_be_a_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> None:
        return None

    monkeypatch.setattr(tenon_cache, "cache_path", nowhere)
    error = "tenon-cache: error: there is no home to have a cache in (hint: --dir, TENON_CACHE_DIR)"
    assert output(capsys, "ls") == (DIAGNOSTICS, [error])


def test_a_wrong_command_line_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["prune"], ["ls", "--remove"]):
        with pytest.raises(SystemExit) as caught:
            tenon_cache.main(arguments)
        assert caught.value.code == 2
    assert "invalid choice: 'prune'" in capsys.readouterr().err


def test_tenon_run_says_what_came_from_the_cache_and_dumps_anyway(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.mlir"
    path.write_text(TEXT)
    printed: list[str] = []
    for _ in range(2):
        assert tenon_run.main(["--time", "1", "--print", "none", str(path)]) == SUCCESS
        printed.append(capsys.readouterr().out.splitlines()[0])
    assert [line.endswith(" ms (from the cache)") for line in printed] == [False, True]
    dumped = tmp_path / "dumped"
    assert tenon_run.main(["--dump-dir", str(dumped), "--print", "none", str(path)]) == SUCCESS
    assert (dumped / "00-graph.mlir").exists() and list(dumped.glob("*sched*"))

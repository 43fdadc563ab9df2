"""What programs are kept under says which sources compiled them."""

import os
import time
from pathlib import Path

import pytest
import tenon
from tenon.backends.cache import fingerprint
from tenon.backends.cache.fingerprint import ROOT, fingerprint_of


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for that of Tenon's sources, imported after it was written."""
    folder = tmp_path / "sources"
    (folder / "passes").mkdir(parents=True)
    for name in ("__init__.py", "driver.py", "passes/__init__.py", "passes/fuse.py", "passes/pool.ll"):
        (folder / name).write_text("x = 1\n")
    monkeypatch.setattr(fingerprint, "IMPORT_TIME_NS", time.time_ns() + 10**9)
    return folder


def edit(path: Path, text: str, time_ns: int) -> None:
    path.write_text(text)
    os.utime(path, ns=(time_ns, time_ns))


def test_each_source_counts_and_nothing_else(sources: Path) -> None:
    before = fingerprint_of(sources)
    assert fingerprint_of(sources) == before
    (sources / "venv" / "other").mkdir(parents=True)
    (sources / "venv" / "other" / "__init__.py").write_text("")
    (sources / "notes.txt").write_text("")
    assert fingerprint_of(sources) == before
    for name in ("driver.py", "passes/fuse.py", "passes/pool.ll"):
        changed = (sources / name).stat().st_mtime_ns + 10**9
        edit(sources / name, "x = 2\n", changed)
        assert fingerprint_of(sources) != before
        before = fingerprint_of(sources)
    (sources / "passes" / "new.py").write_text("")
    assert fingerprint_of(sources) != before


def test_sources_without_a_time_count_by_their_text(sources: Path) -> None:
    for year_nothing in (0, 315_532_800 * 10**9):
        edit(sources / "driver.py", "x = 2\n", year_nothing)
        before = fingerprint_of(sources)
        edit(sources / "driver.py", "x = 3\n", year_nothing)
        assert fingerprint_of(sources) != before


def test_a_process_whose_sources_changed_since_it_imported_them_shares_nothing(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs what they said before, and others run what they say now."""
    monkeypatch.setattr(fingerprint, "IMPORT_TIME_NS", time.time_ns() - 10**9)
    mine = fingerprint_of(sources)
    monkeypatch.setattr(fingerprint, "IMPORT_TIME_NS", time.time_ns() + 10**9)
    others = fingerprint_of(sources)
    assert mine != others and others == fingerprint_of(sources)
    # A time that was put back does not hide it.
    edit(sources / "driver.py", "x = 1\n", (sources / "passes" / "fuse.py").stat().st_mtime_ns)
    monkeypatch.setattr(fingerprint, "IMPORT_TIME_NS", time.time_ns() - 10**9)
    assert fingerprint_of(sources) != fingerprint_of(sources)


def test_what_numpy_folds_with_counts(sources: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint_of(sources)
    monkeypatch.setenv("NPY_DISABLE_CPU_FEATURES", "AVX512F")
    assert fingerprint_of(sources) != before


def test_what_is_watched_is_the_whole_package():
    assert (ROOT / "__init__.py").samefile(tenon.__file__)

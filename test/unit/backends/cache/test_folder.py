"""The folder of the cache: what is read is what was written, and nobody else wrote it."""

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from tenon.backends.cache import folder as folder_module
from tenon.backends.cache.folder import CacheFolder
from tenon.backends.cache.frame import CorruptEntryError, Record, decoded, encoded
from tenon.backends.cache.place import DEFAULT_MAX_NBYTES, FOLDER, LIMIT, SWITCH, cache_folder, cache_path
from tenon.backends.cache.private_files import NotPrivateError
from tenon.backends.cache.tally import BLOCK_NBYTES
from tenon.errors import TenonError

KEYS = [f"program-{digit * 64}" for digit in "abcdef0123456789"]
RECORD = Record({"n": [1, None, "x"]}, (b"code", b"", b"\0\1"), "about")


@pytest.fixture
def folder(tmp_path: Path) -> CacheFolder:
    made = CacheFolder(tmp_path / "kept", 1 << 20)
    made.open()
    return made


def entry(folder: CacheFolder, key: str) -> Path:
    return folder.path / f"{key}.entry"


def test_what_is_stored_is_loaded(folder: CacheFolder) -> None:
    assert folder.load(KEYS[0]) is None
    assert folder.store(KEYS[0], RECORD)
    assert folder.load(KEYS[0]) == RECORD
    assert folder.load(KEYS[1]) is None
    assert folder.store(KEYS[0], Record(None))
    assert folder.load(KEYS[0]) == Record(None)
    folder.discard(KEYS[0])
    folder.discard(KEYS[0])
    assert folder.load(KEYS[0]) is None and folder.files() == []


def test_files_are_for_their_owner_only(folder: CacheFolder) -> None:
    previous = os.umask(0)
    try:
        folder.store(KEYS[0], Record(None, (bytes(1 << 17),)))
    finally:
        os.umask(previous)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    modes = [path.stat().st_mode & 0o777 for path in folder.path.iterdir()]
    assert modes == [0o600, 0o600, 0o600]


def test_long_sections_are_kept_once(folder: CacheFolder) -> None:
    section = os.urandom(100_000)
    for key in KEYS[:3]:
        folder.store(key, Record(key, (b"a", section, b"b")))
    assert [info.is_entry for info in folder.files()].count(False) == 1
    assert folder.nbytes() < 110_000
    for key in KEYS[:3]:
        assert folder.load(key) == Record(key, (b"a", section, b"b"))


def test_every_changed_or_missing_byte_is_noticed() -> None:
    parts, _ = encoded(KEYS[0], RECORD)
    data = b"".join(parts)
    assert decoded(KEYS[0], data).record == RECORD
    for position in range(len(data)):
        for wrong in (data[:position], data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]):
            with pytest.raises(CorruptEntryError, match=r"^(it is no entry|its checksum is wrong)$"):
                decoded(KEYS[0], wrong)
    with pytest.raises(CorruptEntryError, match=f"^it is for another key \\({KEYS[0]}\\)$"):
        decoded(KEYS[1], data)


def test_a_damaged_entry_is_removed_and_counts_as_missing(folder: CacheFolder) -> None:
    folder.store(KEYS[0], RECORD)
    path = entry(folder, KEYS[0])
    path.write_bytes(path.read_bytes()[:-1])
    (info,) = folder.files()
    assert folder.problem_of(info) == "its checksum is wrong"
    assert folder.load(KEYS[0]) is None
    assert not path.exists()


def test_an_entry_under_another_name_is_removed(folder: CacheFolder) -> None:
    folder.store(KEYS[0], RECORD)
    entry(folder, KEYS[0]).rename(entry(folder, KEYS[1]))
    assert folder.load(KEYS[1]) is None
    assert folder.files() == []


def test_damaged_and_missing_sections_are_noticed(folder: CacheFolder) -> None:
    section = bytes(1 << 17)
    folder.store(KEYS[0], Record(None, (section,)))
    (data,) = folder.path.glob("*.data")
    data.write_bytes(section[:-1] + b"x")
    problems = {folder.problem_of(info) for info in folder.files()}
    assert problems == {
        "its checksum is wrong",
        f"the checksum of data {data.stem} is wrong",
    }


def test_a_missing_section_is_a_miss(folder: CacheFolder) -> None:
    folder.store(KEYS[0], Record(None, (bytes(1 << 17),)))
    (data,) = folder.path.glob("*.data")
    data.unlink()
    (info,) = folder.files()
    assert folder.problem_of(info) == f"data {data.stem} is missing"
    assert folder.load(KEYS[0]) is None
    assert folder.store(KEYS[0], Record(None, (bytes(1 << 17),)))
    assert folder.load(KEYS[0]) is not None


def test_a_header_that_is_none_is_noticed(folder: CacheFolder) -> None:
    folder.store(KEYS[0], RECORD)
    path = entry(folder, KEYS[0])
    parts, _ = encoded(KEYS[0], Record(None))
    from hashlib import blake2b

    problems = ("its header is wrong", "it is for another key (1)", "it has no section of 9 bytes")
    rest = b'"about":"","data":1,"sections":[9]'
    headers = (b"[]", b"{}", b'{"key":1}', b"nope", b"\xff", b'{"key":"%s",%s}' % (KEYS[0].encode(), rest))
    for header in headers:
        body = len(header).to_bytes(8, "little") + header
        path.write_bytes(parts[0] + blake2b(body, digest_size=32).digest() + body)
        (info,) = folder.files()
        assert folder.problem_of(info) in problems
        assert folder.load(KEYS[0]) is None


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, 10_000)
    folder.open()
    for number, key in enumerate(KEYS[:4]):
        folder.store(key, Record(None, (os.urandom(2000),)))
        os.utime(entry(folder, key), (number, number))
    assert folder.load(KEYS[0]) is not None
    folder.store(KEYS[4], Record(None, (os.urandom(2000),)))
    left = {info.key for info in folder.files()}
    assert left == {KEYS[0], KEYS[3], KEYS[4]}
    assert folder.nbytes() <= 8000


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Whatever folder is looked through."""
    found: list[Path] = []
    listing = os.scandir

    def noted(path: Path) -> object:
        found.append(path)
        return listing(path)

    monkeypatch.setattr(os, "scandir", noted)
    return found


def test_the_first_store_of_a_process_looks_only_where_nobody_has(
    folder: CacheFolder, looks: list[Path]
) -> None:
    folder.store(KEYS[0], RECORD)
    assert looks == [folder.path]
    for key in KEYS[1:9]:
        CacheFolder(folder.path, 1 << 20).store(key, RECORD)
    assert looks == [folder.path]
    folder.clear()
    looks.clear()
    CacheFolder(folder.path, 1 << 20).store(KEYS[0], RECORD)
    assert looks == [folder.path]


def test_what_other_processes_write_counts(tmp_path: Path, looks: list[Path]) -> None:
    limit = 100 * BLOCK_NBYTES
    CacheFolder(tmp_path, limit).store(KEYS[0], RECORD)
    looks.clear()
    for count, key in enumerate(KEYS[1:10], 2):
        CacheFolder(tmp_path, limit).store(key, Record(None, (os.urandom(12 * BLOCK_NBYTES - 400),)))
        assert CacheFolder(tmp_path, limit).nbytes() <= limit
        looks.pop()
        # The last one brings it over the limit, the others stay below.
        assert bool(looks) == (count == 10)
    assert len(CacheFolder(tmp_path, limit).files()) < 10


def test_what_is_replaced_counts_until_somebody_looks(tmp_path: Path, looks: list[Path]) -> None:
    folder = CacheFolder(tmp_path, 10 * BLOCK_NBYTES)
    for _ in range(50):
        folder.store(KEYS[0], Record(None, (os.urandom(3000),)))
    assert folder.load(KEYS[0]) is not None and 3 < len(looks) < 10


def test_a_tally_that_is_none_is_made_again(folder: CacheFolder, looks: list[Path]) -> None:
    folder.store(KEYS[0], RECORD)
    (tally,) = folder.path.glob("*.tally")
    tally.unlink()
    tally.symlink_to(folder.path / "elsewhere")
    looks.clear()
    assert folder.store(KEYS[1], RECORD) and not tally.exists()
    assert folder.store(KEYS[2], RECORD) and tally.stat().st_size == 1
    assert looks == [folder.path]
    assert not (folder.path / "elsewhere").exists()


def test_what_is_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    folder = CacheFolder(tmp_path, 1000)
    folder.open()
    assert not folder.store(KEYS[0], Record(None, (bytes(1000),)))
    assert folder.files() == []


def test_temporary_files_of_writers_that_died_go(folder: CacheFolder) -> None:
    left = folder.path / f"{KEYS[0]}.entry.1-abcd.tmp"
    left.touch()
    foreign = folder.path / "notes.txt"
    foreign.touch()
    folder.store(KEYS[1], RECORD)
    assert left.exists()
    os.utime(left, (1, 1))
    # Whoever looks at all files.
    CacheFolder(folder.path, 1000).store(KEYS[2], RECORD)
    assert not left.exists()
    assert folder.clear() == 2
    assert [path.name for path in folder.path.iterdir()] == ["notes.txt"]


def test_a_folder_that_was_removed_is_made_again(folder: CacheFolder) -> None:
    folder.path.rmdir()
    assert folder.files() == [] and folder.nbytes() == 0
    assert folder.store(KEYS[0], RECORD) and folder.load(KEYS[0]) == RECORD


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_keeps_nothing(folder: CacheFolder) -> None:
    folder.path.chmod(0o500)
    assert not folder.store(KEYS[0], RECORD)
    folder.path.chmod(0o700)


def test_a_full_disk_leaves_nothing_behind(folder: CacheFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert not folder.store(KEYS[0], RECORD)
    assert list(folder.path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "open"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(NotPrivateError, match=f"^others may write to it, mode {mode:o}$"):
        CacheFolder(path, 1).open()


def test_links_and_files_are_refused_as_folders(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotPrivateError, match=r"^it is a symbolic link$"):
        CacheFolder(tmp_path / "link", 1).open()
    with pytest.raises(NotPrivateError, match=r"^it is no folder$"):
        CacheFolder(tmp_path / "file", 1).open()


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(NotPrivateError, match=f"^it belongs to user {owner}$"):
        CacheFolder(tmp_path / "mine", 1).open()


def test_entries_that_others_could_have_written_are_not_read(folder: CacheFolder, tmp_path: Path) -> None:
    folder.store(KEYS[0], RECORD)
    entry(folder, KEYS[0]).chmod(0o666)
    assert folder.load(KEYS[0]) is None and not entry(folder, KEYS[0]).exists()
    folder.store(KEYS[0], RECORD)
    elsewhere = tmp_path / "elsewhere"
    entry(folder, KEYS[0]).rename(elsewhere)
    entry(folder, KEYS[0]).symlink_to(elsewhere)
    assert folder.load(KEYS[0]) is None
    entry(folder, KEYS[1]).mkdir()
    assert folder.load(KEYS[1]) is None
    os.mkfifo(entry(folder, KEYS[2]))
    (info,) = [info for info in folder.files() if info.key == KEYS[2]]
    assert folder.problem_of(info) == "it is no file"
    assert folder.load(KEYS[2]) is None


WRITER = """
import os, sys
from pathlib import Path
from tenon.backends.cache.folder import CacheFolder
from tenon.backends.cache.frame import Record

folder = CacheFolder(Path(sys.argv[1]), 400_000)
folder.open()
seed = int(sys.argv[2])
for round in range(150):
    number = (round * 7 + seed) % 16
    key = "program-" + f"{number:x}" * 64
    expected = Record(number, (bytes([number]) * 70_000, bytes([number]) * 1000))
    found = folder.load(key)
    assert found is None or found == expected, number
    assert folder.store(key, expected)
"""


def test_processes_read_and_write_at_the_same_time(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(seed)], stderr=subprocess.PIPE)
        for seed in range(4)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=600)
        assert writer.returncode == 0, errors.decode()
    folder = CacheFolder(path, 400_000)
    assert folder.files()
    assert {folder.problem_of(info) for info in folder.files() if not info.is_entry} == {None}
    assert not list(path.glob("*.tmp"))
    folder.store(KEYS[0], Record(None))
    assert folder.nbytes() <= 400_000


def test_the_environment_says_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "given"))
    assert cache_path() == tmp_path / "given"
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_path() == tmp_path / "tenon"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_path() == tmp_path / ".cache" / "tenon"
    monkeypatch.setenv(FOLDER, "here")
    monkeypatch.chdir(tmp_path)
    assert cache_path() == tmp_path / "here"


def test_the_environment_turns_the_cache_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "kept"))
    monkeypatch.setenv(SWITCH, "0")
    assert cache_folder() is None and not (tmp_path / "kept").exists()
    monkeypatch.setenv(SWITCH, "1")
    found = cache_folder()
    assert found is not None and found.max_nbytes == DEFAULT_MAX_NBYTES
    assert cache_folder() is found
    monkeypatch.setenv(LIMIT, "1000")
    limited = cache_folder()
    assert limited is not None and limited.max_nbytes == 1000
    for wrong in ("1 GB", "9" * 5000):
        monkeypatch.setenv(LIMIT, wrong)
        text = f"^TENON_CACHE_MAX_NBYTES is '{wrong}', expected a number of bytes$"
        with pytest.raises(TenonError, match=text):
            cache_folder()
    monkeypatch.setenv(SWITCH, "off")
    with pytest.raises(TenonError, match=r"^TENON_CACHE is 'off', expected 0 or 1$"):
        cache_folder()


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert cache_path() is None and cache_folder() is None


def test_a_place_that_cannot_be_made_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setenv(FOLDER, str(tmp_path / "file" / "kept"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder() is None


def test_a_folder_that_is_refused_is_warned_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "open"
    path.mkdir()
    path.chmod(0o777)
    monkeypatch.setenv(SWITCH, "1")
    monkeypatch.setenv(FOLDER, str(path))
    text = rf"^compiled programs are not kept: {path} could hold what others have written \(others may write"
    with pytest.warns(RuntimeWarning, match=text):
        assert cache_folder() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache_folder() is None
    assert folder_module.ENTRY_SUFFIX == ".entry"


FORKED = """
import os, sys, threading
import numpy as np
import tenon
from tenon.backends.llvm.native import library as native_library
from tenon.frontends.arrays import interned
from tenon.compiler.kept_programs import _LOOKUPS

TEXT = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { func.return %x : tensor<4xf32> }"
tenon.compile(TEXT)
with _LOOKUPS.lock, native_library._loading, interned._adding:
    child = os.fork()
    if child == 0:
        tenon.compile(TEXT.replace("@f", "@g"))
        assert tenon.cache_info().misses == 2
        assert tenon.jit(lambda x: x + 1)(np.ones((3, 5, 7))).sum() == 210
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
tenon.compile(TEXT.replace("@f", "@g"))
assert tenon.cache_info()[:2] == (1, 1)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_the_child_of_a_fork_waits_for_no_lock(tmp_path: Path) -> None:
    environment = {**os.environ, FOLDER: str(tmp_path / "kept"), SWITCH: "1"}
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    subprocess.run(command, check=True, env=environment, timeout=600)

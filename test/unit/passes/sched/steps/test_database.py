import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tenon
from tenon.backends.registry import get_backend
from tenon.compiler.tuning import device_key, tuning_pass
from tenon.passes.sched.steps.database import (
    ScheduleEntry,
    TuningError,
    database_text,
    kernel_digest,
    parse_database,
    read_database,
)
from tenon.passes.sched.steps.schedule import Schedule
from tenon.tools.tune.database import save_entries

ENTRY = ScheduleEntry(
    "0" * 64,
    "llvm cpu 32",
    "f",
    "() -> ()",
    "f_0",
    ("i", "j"),
    ({"step": "map", "axes": ["i"], "mappings": ["block(8)"], "allow_reorder": True},),
    1200,
    800,
)


def with_fields(**fields: Any) -> bytes:
    """Returns a database of one entry with other fields; `...` takes one away."""
    entry = {**ENTRY.as_json(), **fields}
    entry = {name: value for name, value in entry.items() if value is not ...}
    return json.dumps({"format": "tenon tuning", "version": 2, "entries": [entry]}).encode()


def error_of(data: bytes) -> str:
    with pytest.raises(TuningError) as error:
        parse_database("db", data)
    return str(error.value)


def test_what_is_written_is_read():
    assert parse_database("db", database_text([ENTRY]).encode()) == (ENTRY,)
    assert parse_database("db", database_text([]).encode()) == ()
    assert ENTRY.gain == 1.5


def test_a_database_is_sorted_and_has_a_line_for_each_entry():
    other = replace(ENTRY, name="a", kernel="1" * 64)
    text = database_text([ENTRY, other])
    assert text == database_text([other, ENTRY])
    assert [entry.name for entry in parse_database("db", text.encode())] == ["a", "f_0"]
    assert len(text.splitlines()) == 5


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"{", "db: no JSON (Expecting property name enclosed in double quotes: line 1 column 2 (char 1))"),
        (b"\xff", "db: no JSON ("),
        (b"[" * 100_000, "db: no JSON ("),
        (b"[]", 'db: no database of schedules (expected "format": "tenon tuning")'),
        (b"{}", 'db: no database of schedules (expected "format": "tenon tuning")'),
        (
            b'{"format": "tenon tuning", "version": 1, "entries": []}',
            "db: version 1 of the format, expected 2 (hint: remove it and tune again)",
        ),
        (b'{"format": "tenon tuning", "version": true, "entries": []}', "db: version True of the format"),
        (b'{"format": "tenon tuning", "version": 2, "entries": {}}', "db: entries is no list"),
        (b'{"format": "tenon tuning", "version": 2, "entries": [1]}', "db: entry 0: no object"),
        (with_fields(kernel=3), "db: entry 0: kernel is 3, expected str"),
        (with_fields(device=...), "db: entry 0: device is None, expected str"),
        (with_fields(kernel="../etc"), "db: entry 0: kernel is '../etc', expected 64 hexadecimal digits"),
        (with_fields(more=1), "db: entry 0: has 'more', expected kernel, device, program, signature"),
        (with_fields(axes=[1]), "db: entry 0: axes is [1], expected names"),
        (with_fields(default_ns=-1), "db: entry 0: times -1 and 800 are negative"),
        (with_fields(tuned_ns=True), "db: entry 0: tuned_ns is True, expected int"),
        (with_fields(steps=[{}] * 65), "db: entry 0: 65 steps, more than 64"),
        (with_fields(steps=["x"]), "db: entry 0: step 'x' is no object"),
        (
            with_fields(steps=[{"step": "split", "axis": "i", "factor": 1 << 40}]),
            "'factor': 1099511627776} has 1099511627776, more than 1048576",
        ),
        (
            with_fields(steps=[{"step": "map", "axes": ["i"], "mappings": ["block(99999999)"]}]),
            "has numbers that are too large",
        ),
        (
            with_fields(steps=[{"step": "map", "axes": ["i"], "mappings": ["vector(4) unroll( 65)"]}]),
            "unrolls by more than 64",
        ),
    ],
)
def test_what_is_no_database_is_told(data: bytes, text: str):
    assert text in error_of(data)


def test_two_entries_for_one_kernel_on_one_device_are_an_error():
    entry = ENTRY.as_json()
    data = json.dumps({"format": "tenon tuning", "version": 2, "entries": [entry, entry]}).encode()
    assert error_of(data) == "db: entries 0 and 1 are for one kernel on one device"


def test_files_that_cannot_be_read_or_written_are_told(tmp_path: Path):
    with pytest.raises(TuningError) as error:
        read_database(tmp_path / "none.json")
    assert str(error.value) == f"{tmp_path}/none.json: cannot read the database (No such file or directory)"
    with pytest.raises(TuningError) as error:
        save_entries(tmp_path / "nowhere" / "db.json", [ENTRY], [])
    assert "cannot write the database" in str(error.value)
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate((16 << 20) + 1)
    with pytest.raises(TuningError) as error:
        read_database(large)
    assert str(error.value) == f"{large}: more than 16777216 bytes, too many for a database of schedules"


def test_entries_are_added_replaced_and_taken_away(tmp_path: Path):
    path = tmp_path / "db.json"
    save_entries(path, [ENTRY], [])
    other = replace(ENTRY, kernel="1" * 64)
    save_entries(path, [other], [(other.kernel, other.device)])
    assert list(read_database(path)[1]) == [ENTRY, other]
    faster = replace(ENTRY, tuned_ns=400)
    save_entries(path, [faster], [(ENTRY.kernel, ENTRY.device)])
    assert list(read_database(path)[1]) == [faster, other]
    save_entries(path, [], [(ENTRY.kernel, ENTRY.device)])
    assert read_database(path)[1] == (other,)
    assert [file.name for file in tmp_path.iterdir()] == ["db.json"]


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from tenon.passes.sched.steps.database import parse_database
from tenon.compiler.tuning import device_key, tuning_pass
from tenon.tools.tune.database import save_entries

path, seed = Path(sys.argv[1]), int(sys.argv[2])
(entry,) = parse_database("", sys.argv[3].encode())
for number in range(25):
    other = replace(entry, kernel=f"{seed:032x}{number:032x}")
    save_entries(path, [other], [(other.kernel, other.device)])
"""


def test_of_several_who_save_at_the_same_time_nobody_is_lost(tmp_path: Path):
    path = tmp_path / "db.json"
    save_entries(path, [ENTRY], [])
    text = path.read_text()
    with ThreadPoolExecutor(3) as pool:
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(path), str(seed), text], stderr=subprocess.PIPE
            )
            for seed in (1, 2)
        ]
        mine = [replace(ENTRY, kernel=f"{3:032x}{number:032x}") for number in range(25)]
        list(pool.map(lambda entry: save_entries(path, [entry], []), mine))
    for writer in writers:
        _, errors = writer.communicate(timeout=600)
        assert writer.returncode == 0, errors.decode()
    assert len(read_database(path)[1]) == 1 + 3 * 25
    assert [file.name for file in tmp_path.iterdir()] == ["db.json"]


def test_another_database_of_the_same_size_and_time_is_read(tmp_path: Path):
    path, backend = tmp_path / "db.json", get_backend("llvm")
    entry = replace(ENTRY, device=device_key(backend))
    found: list[str] = []
    for tuned_ns in (800, 801):
        save_entries(path, [replace(entry, tuned_ns=tuned_ns)], [])
        os.utime(path, ns=(10**18, 10**18))
        schedule = tuning_pass(path, backend)
        assert schedule is not None
        found.append(schedule.digest)
    assert found[0] != found[1] == read_database(path)[0]


def test_a_database_that_is_a_link_stays_one(tmp_path: Path):
    path, link = tmp_path / "db.json", tmp_path / "link.json"
    save_entries(path, [], [])
    link.symlink_to(path)
    save_entries(link, [ENTRY], [])
    assert link.is_symlink() and read_database(path)[1] == (ENTRY,)


def test_a_file_that_is_no_database_is_not_written_over(tmp_path: Path):
    path = tmp_path / "notes.txt"
    path.write_text("my notes")
    with pytest.raises(TuningError, match="no JSON"):
        save_entries(path, [ENTRY], [])
    assert path.read_text() == "my notes"


def test_kernels_that_differ_in_names_only_have_one_digest():
    text = """sched.kernel @{k}(%{x}: memref<8xf32>) {{
      sched.axis %{i} = {n} {{
        %v = memref.load %{x}[%{i}] : memref<8xf32>
        memref.store %v, %{x}[%{i}] : memref<8xf32>
      }}
    }}"""
    first = Schedule(text.format(k="k", x="x", i="i", n=8)).kernel
    renamed = Schedule(text.format(k="f_0", x="y", i="j", n=8)).kernel
    other = Schedule(text.format(k="k", x="x", i="i", n=4)).kernel
    assert kernel_digest(first) == kernel_digest(renamed) != kernel_digest(other)
    assert len(kernel_digest(first)) == 64


def test_errors_of_databases_are_tenons():
    assert issubclass(TuningError, tenon.TenonError)

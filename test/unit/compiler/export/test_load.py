"""What `tenon.load` takes, what it refuses, and that calls are checked as those of every executable are."""

from __future__ import annotations

import json
import shutil
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.llvm.processors import host_processor
from tenon.compiler.export.description import INTERFACE, SECTION, read_description
from tenon.compiler.export.elf import section_of

TEXT = """
func.func @sums(%x: tensor<4x3xf32>, %flag: tensor<i1>) -> (tensor<3xf32>, tensor<4x3xf32>) {
  %s = graph.reduce add %x axes [0] : tensor<4x3xf32> -> tensor<3xf32>
  %f = graph.broadcast %flag : tensor<i1> -> tensor<4x3xi1>
  %z = graph.sub %x, %x : tensor<4x3xf32>
  %y = graph.select %f, %x, %z : tensor<4x3xf32>
  func.return %s, %y : tensor<3xf32>, tensor<4x3xf32>
}"""

pytestmark = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("ld")), reason="needs a linker")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tenon.export(TEXT, tmp_path_factory.mktemp("exported") / "sums").library
    assert found is not None
    return found


X, FLAG = np.arange(12, dtype=np.float32).reshape(4, 3), np.array(True)


def test_calls_are_checked(library: Path) -> None:
    loaded = tenon.load(library)
    for wrong, message in (
        ((X,), r"takes 2 arguments \(x, flag\), found 1"),
        ((X.astype(np.float64), FLAG), "argument 'x': dtype float64, expected float32"),
        ((X[:2], FLAG), r"argument 'x': shape \[2, 3\], expected \[4, 3\]"),
    ):
        with pytest.raises(tenon.CallError, match=message):
            loaded(*wrong)
    total, same = loaded(flag=FLAG, x=X)
    assert total.tolist() == X.sum(axis=0).tolist() and same.tolist() == X.tolist()


def test_arrays_need_not_be_contiguous_or_aligned(library: Path) -> None:
    loaded = tenon.load(library)
    memory = np.zeros(X.nbytes + 1, np.uint8)
    memory[1:] = X.reshape(-1).view(np.uint8)
    odd = memory[1:].view(np.float32).reshape(X.shape)
    for x in (np.asfortranarray(X), X[::-1], odd):
        assert loaded(x, FLAG)[1].tolist() == x.tolist()


def test_results_go_where_out_says(library: Path) -> None:
    loaded = tenon.load(library)
    out = (np.empty(3, np.float32), np.empty((4, 3), np.float32))
    assert loaded(X, FLAG, out=out)[1] is out[1] and out[1].tolist() == X.tolist()
    with pytest.raises(tenon.CallError, match=r"out 0: shape \[4\]"):
        loaded(X, FLAG, out=(np.empty(4, np.float32), out[1]))


def test_threads_call_at_the_same_time(library: Path) -> None:
    loaded = tenon.load(library)
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(200):
            if loaded(X + number, FLAG)[1].tolist() != (X + number).tolist():
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_library_has_no_more_than_calls(library: Path) -> None:
    loaded = tenon.load(library)
    for ask in (
        lambda: loaded.source,
        lambda: loaded.assembly(),
        lambda: loaded.memory_plan(),
        lambda: loaded.launches,
        lambda: loaded.explain(),
        lambda: loaded.execute([X, FLAG]),
    ):
        with pytest.raises(tenon.TenonError):
            ask()
    loaded.close()
    loaded.close()
    with pytest.raises(tenon.CallError, match="is closed"):
        loaded(X, FLAG)


def test_what_is_no_library_of_tenon_is_an_error_of_one_line(library: Path, tmp_path: Path) -> None:
    for name, contents in {
        "empty": b"",
        "text": b"import os\n",
        "elf": b"\x7fELF\x02\x01\x01" + bytes(200),
        "cut": library.read_bytes()[:200],
        "half": library.read_bytes()[: library.stat().st_size // 2],
    }.items():
        (tmp_path / name).write_bytes(contents)
        with pytest.raises(tenon.TenonError, match="is no library that Tenon exported") as error:
            tenon.load(tmp_path / name)
        assert "\n" not in str(error.value)
    with pytest.raises(tenon.TenonError, match=r"cannot read .*no such file"):
        tenon.load(tmp_path / "none.so")
    with pytest.raises(tenon.TenonError, match=r"cannot read .*is a directory"):
        tenon.load(tmp_path)
    for wrong in (3, None):
        with pytest.raises(tenon.TenonError, match="expected the path of a file"):
            tenon.load(wrong)  # type: ignore[arg-type]
    with pytest.raises(tenon.TenonError, match="load: weights is 3"):
        tenon.load(library, weights=3)  # type: ignore[arg-type]


def test_an_object_describes_itself_but_cannot_be_loaded(library: Path) -> None:
    with pytest.raises(tenon.TenonError, match=r"sums\.o: cannot be loaded"):
        tenon.load(library.with_suffix(".o"))


def changed(library: Path, path: Path, fields: Any) -> Path:
    """Writes a library with another description, no longer than it was."""
    contents = bytearray(library.read_bytes())
    place = section_of(contents, SECTION)
    assert place is not None
    offset, nbytes = place
    text = fields if isinstance(fields, bytes) else json.dumps(fields, separators=(",", ":")).encode()
    assert len(text) <= nbytes
    contents[offset : offset + nbytes] = text.ljust(nbytes, b"\0")
    path.write_bytes(contents)
    return path


def description(library: Path) -> dict[str, Any]:
    contents = library.read_bytes()
    place = section_of(contents, SECTION)
    assert place is not None
    return json.loads(contents[place[0] : sum(place)].rstrip(b"\0"))


def test_a_library_of_another_version_is_refused(library: Path, tmp_path: Path) -> None:
    fields = description(library) | {"interface": INTERFACE + 1}
    with pytest.raises(tenon.TenonError, match=f"has interface {INTERFACE + 1}, expected {INTERFACE}"):
        tenon.load(changed(library, tmp_path / "m.so", fields))


def test_a_damaged_description_is_an_error(library: Path, tmp_path: Path) -> None:
    whole = description(library)
    for number, fields in enumerate(
        [
            b"",
            b"[" * 300,
            {},
            {**whole, "is": "x"},
            {key: value for key, value in whole.items() if key != "signature"},
            {**whole, "signature": [1]},
            {**whole, "signature": {"Signature": []}},
            {**whole, "name": 3},
            {**whole, "dims": [2]},
            {**whole, "digest": 1},
            {**whole, "processor": {}},
            {**whole, "processor": {**whole["processor"], "cache_nbytes": [1]}},
            {**whole, "weights_nbytes": "1"},
            {**whole, "name": "", "weights_header": "zz"},
        ]
    ):
        with pytest.raises(tenon.TenonError, match=r"is no library that|about itself is damaged"):
            tenon.load(changed(library, tmp_path / f"{number}.so", fields))


@pytest.mark.parametrize("at", [40, 58, 60, 62])
def test_a_damaged_header_of_the_file_is_an_error(library: Path, tmp_path: Path, at: int) -> None:
    contents = bytearray(library.read_bytes())
    contents[at : at + (8 if at == 40 else 2)] = b"\xff" * (8 if at == 40 else 2)
    damaged = tmp_path / "m.so"
    damaged.write_bytes(contents)
    with pytest.raises(tenon.TenonError, match="is no library that Tenon exported"):
        tenon.load(damaged)


def test_any_byte_of_a_description_may_be_wrong(library: Path) -> None:
    contents = bytearray(library.read_bytes())
    place = section_of(contents, SECTION)
    assert place is not None
    generator = np.random.default_rng(0)
    for _ in range(1000):
        at, byte = int(generator.integers(*(place[0], sum(place)))), int(generator.integers(256))
        kept, contents[at] = contents[at], byte
        with suppress(tenon.TenonError):
            read_description(bytes(contents), "m.so")
        contents[at] = kept


def test_a_library_for_another_processor_is_refused(library: Path, tmp_path: Path) -> None:
    fields = description(library)
    other = "aarch64" if host_processor().arch != "aarch64" else "x86_64"
    fields["processor"] = {**fields["processor"], "arch": other, "features": ""}
    with pytest.raises(tenon.DeviceError, match=f"is for {other} processors"):
        tenon.load(changed(library, tmp_path / "m.so", fields))


def test_a_program_for_no_elements_is_none(tmp_path: Path) -> None:
    function = tenon.jit(lambda x: x * 2, dynamic={"x": {0: tenon.Dim("n", 0, 8)}})
    exported = tenon.export(function, tmp_path / "m", np.ones(3, np.float32))
    assert exported.library is not None
    loaded = tenon.load(exported.library)
    assert loaded(np.ones(8, np.float32)).tolist() == [2] * 8
    with pytest.raises(tenon.CallError, match=r"a dim is out of its range|is 0, for which"):
        loaded(np.ones(0, np.float32))

from pathlib import Path

import pytest
from tenon.backends.cache_sizes import USUAL_CACHES, host_cache_nbytes
from tenon.backends.registry import get_backend


def described(folder: Path, *caches: tuple[str, str, str]) -> Path:
    """Makes the files that Linux has for caches of a level, a type and a size."""
    for number, (level, kind, size) in enumerate(caches):
        index = folder / f"index{number}"
        index.mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (index / name).write_text(f"{text}\n")
    return folder


def test_the_caches_of_data_are_read(tmp_path: Path):
    folder = described(
        tmp_path,
        ("1", "Data", "48K"),
        ("1", "Instruction", "64K"),
        ("2", "Unified", "2048K"),
        ("3", "Unified", "30M"),
    )
    assert host_cache_nbytes(folder) == (48 << 10, 2 << 20, 30 << 20)


def test_a_machine_without_a_third_cache_has_its_second_twice(tmp_path: Path):
    folder = described(tmp_path, ("1", "Data", "128K"), ("2", "Unified", "12M"))
    assert host_cache_nbytes(folder) == (128 << 10, 12 << 20, 12 << 20)


def test_what_is_not_told_is_as_usual(tmp_path: Path):
    assert host_cache_nbytes(tmp_path / "none") == USUAL_CACHES
    folder = described(tmp_path, ("1", "Data", "many"), ("3", "Unified", "16K"))
    first, second, last = host_cache_nbytes(folder)
    assert (first, second, last) == (USUAL_CACHES[0], USUAL_CACHES[1], USUAL_CACHES[1])


@pytest.mark.parametrize("name", ["llvm", "opencl", "reference"])
def test_every_device_has_caches(name: str):
    if name == "opencl":
        pytest.importorskip("pyopencl")
    first, second, last = get_backend(name).device.cache_nbytes
    assert 1024 <= first <= second <= last

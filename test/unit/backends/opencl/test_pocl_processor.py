"""The processor that PoCL compiles for, where its LLVM does not know the one that is there."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pyopencl
import pytest
from tenon.backends.opencl.compile import OpenCLCompiler
from tenon.backends.opencl.device import device_info
from tenon.backends.opencl.pocl_processor import name_processor

FOR_MANY = "OpenCL 3.0 PoCL 3.0-rc2  Linux, Release, RELOC, LLVM 14.0.6, SLEEF, DISTRO, POCL_DEBUG"
TRIPLE = "x86_64-unknown-linux-gnu"
FMA = pyopencl.device_fp_config.FMA


class Record:
    """What a device of PoCL is in memory: words that are numbers, no addresses, and pointers to texts."""

    def __init__(self, triple: str = TRIPLE, processor: str = "generic") -> None:
        self.texts = [ctypes.create_string_buffer(text.encode()) for text in (triple, processor)]
        addresses = [ctypes.addressof(text) for text in self.texts]
        self.words = (ctypes.c_uint64 * 1024)(5, 1 << 63, addresses[1], 0, *addresses, 1 << 40)

    @property
    def processor(self) -> bytes:
        return ctypes.string_at(self.words[5])


def device(
    record: Record,
    width: int = 16,
    fma: bool = True,
    build: str = f"pthread-{TRIPLE}-generic",
    platform: str = FOR_MANY,
) -> Any:
    return SimpleNamespace(
        platform=SimpleNamespace(version=platform),
        version=f"OpenCL 3.0 PoCL HSTR: {build}",
        native_vector_width_float=width,
        single_fp_config=FMA if fma else 0,
        int_ptr=ctypes.addressof(record.words),
    )


@pytest.mark.parametrize(
    ("width", "fma", "name"),
    [(16, True, "skylake-avx512"), (8, True, "haswell"), (8, False, "sandybridge"), (4, False, "x86-64")],
)
def test_an_unknown_processor_gets_the_name_of_the_librarys(width: int, fma: bool, name: str):
    record = Record()
    before = list(record.words)
    assert name_processor(device(record, width, fma=fma)) == name
    assert record.processor == name.encode()
    assert [place for place, word in enumerate(record.words) if word != before[place]] == [5]


def test_a_name_that_was_given_is_kept_and_told_again():
    record = Record()
    found = device(record)
    name_processor(found)
    words = list(record.words)
    assert name_processor(found) == "skylake-avx512"
    assert list(record.words) == words


@pytest.mark.parametrize(
    ("record", "changes"),
    [
        (Record(processor="znver3"), {"build": f"pthread-{TRIPLE}-znver3"}),
        (Record(), {"platform": FOR_MANY.replace("PoCL 3.0-rc2", "PoCL 4.0")}),
        (Record(), {"platform": FOR_MANY.replace("DISTRO, ", "")}),
        (Record(), {"build": "pthread-aarch64-unknown-linux-gnu-generic"}),
        (Record(triple="x86_64-pc-linux-gnu"), {}),
        (Record(processor="znver3"), {}),
    ],
    ids=["known", "from 4.0 on", "made for one", "another kind", "another triple", "another name there"],
)
def test_what_is_not_as_it_is_known_to_be_stays(record: Record, changes: dict[str, Any]):
    words = list(record.words)
    assert name_processor(device(record, **changes)) is None
    assert list(record.words) == words


def test_no_memory_is_written_where_a_record_ends_in_none():
    found = device(Record())
    found.int_ptr = 1 << 46
    assert name_processor(found) is None


def test_memory_that_cannot_be_read_is_left_alone(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> int:
        raise PermissionError

    record = Record()
    monkeypatch.setattr("tenon.backends.opencl.pocl_processor.os.open", refuse)
    assert name_processor(device(record)) is None
    assert record.processor == b"generic"


def test_pocl_builds_on_the_processor_that_is_there(pocl_device: pyopencl.Device):
    compiler = OpenCLCompiler(pyopencl.Context([pocl_device]), pocl_device)
    text = "__kernel void twice(__global float *a) { a[0] = 2.0f * a[0]; }"
    assert compiler.compile(text, device_info(pocl_device)).entry_points == ("twice",)
    if "generic" not in pocl_device.version:
        assert compiler.processor is None

"""The number of threads that kernels run on."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.llvm import thread_limit
from tenon.backends.llvm.native.library import native_library


@pytest.fixture(autouse=True)
def same_number_afterwards() -> Iterator[None]:
    count = tenon.get_num_threads()
    yield
    tenon.set_num_threads(count)


def number_in_a_process(program: str, text: str | None) -> subprocess.CompletedProcess[str]:
    """Runs `program` in a process whose environment says TENON_NUM_THREADS=text."""
    environment = {name: value for name, value in os.environ.items() if name != "TENON_NUM_THREADS"}
    if text is not None:
        environment["TENON_NUM_THREADS"] = text
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_the_number_set_is_the_number_got():
    tenon.set_num_threads(3)
    assert tenon.get_num_threads() == 3
    tenon.set_num_threads(np.int64(1))  # pyright: ignore
    assert tenon.get_num_threads() == 1


@pytest.mark.parametrize("count", [0, -1, 1025, 1.0, "2", None, True, np.array([1, 2])])
def test_what_is_no_number_of_threads_is_refused(count: Any):
    with pytest.raises(tenon.TenonError, match=r"^set_num_threads: .* is no number of threads \(an integer"):
        tenon.set_num_threads(count)


def test_by_default_there_are_as_many_as_processors_to_use():
    program = "import os, tenon; print(tenon.get_num_threads() == len(os.sched_getaffinity(0)))"
    assert number_in_a_process(program, None).stdout == "True\n"


def test_more_processors_than_threads_may_be_used_up_to_the_most():
    program = (
        "import os; os.sched_getaffinity = lambda _: set(range(2000))\n"
        "import tenon; tenon.set_num_threads(tenon.get_num_threads()); print(tenon.get_num_threads())"
    )
    assert number_in_a_process(program, None).stdout == "1024\n"


def test_the_environment_says_how_many_to_begin_with():
    program = "import tenon; n = tenon.get_num_threads; print(n()); tenon.set_num_threads(2); print(n())"
    assert number_in_a_process(program, "5").stdout == "5\n2\n"


@pytest.mark.parametrize("text", ["0", "many", "-1", "1025", "2.0", "1" * 5000])
def test_an_environment_that_says_no_number_is_an_error_of_the_backend(text: str):
    program = (
        "import tenon\n"
        "from tenon.backends.registry import get_backend\n"
        "try:\n    get_backend('llvm')\nexcept tenon.TenonError as error:\n    print(error)\n"
    )
    expected = f"TENON_NUM_THREADS: '{text}' is no number of threads (an integer from 1 to 1024)\n"
    assert number_in_a_process(program, text).stdout == expected


@pytest.mark.parametrize("count", [0, 1025, 1.0, True, None])
def test_what_is_no_number_of_threads_is_no_limit(count: Any):
    with (
        pytest.raises(tenon.TenonError, match=r"^num_threads: .* is no number of threads \(an integer"),
        tenon.num_threads(count),
    ):
        pytest.fail("entered")


def test_a_limit_holds_in_its_with_and_the_inner_one_of_two_counts():
    tenon.set_num_threads(4)
    with tenon.num_threads(2):
        assert tenon.get_num_threads() == 2
        with tenon.num_threads(3):
            assert tenon.get_num_threads() == 3
        assert tenon.get_num_threads() == 2
    assert tenon.get_num_threads() == 4


def test_a_limit_ends_with_an_error_in_its_with():
    tenon.set_num_threads(4)
    with pytest.raises(KeyError), tenon.num_threads(1):
        raise KeyError
    assert tenon.get_num_threads() == 4


def test_a_limit_is_no_more_than_the_process_may_use():
    tenon.set_num_threads(2)
    with tenon.num_threads(8):
        assert tenon.get_num_threads() == 2


def test_a_limit_is_that_of_one_thread():
    tenon.set_num_threads(4)
    with tenon.num_threads(1), ThreadPoolExecutor(1) as executor:
        assert executor.submit(tenon.get_num_threads).result() == 4


def test_a_system_without_room_for_a_limit_is_an_error(monkeypatch: pytest.MonkeyPatch):
    full = replace(native_library(), pool_limit=lambda count: errno.EAGAIN)
    monkeypatch.setattr(thread_limit, "native_library", lambda: full)
    with pytest.raises(tenon.TenonError, match=r"^num_threads: \w+"), tenon.num_threads(1):
        pytest.fail("entered")

"""
Settings of hypothesis for all tests: no deadline, since a busy machine is no defect; and in continuous
integration the same examples each time, since a new find there would hold up a change that it has nothing to
do with.

Tests compile: the cache on disk is off for them and for the processes that they start, and has a folder of
its own where a test, or `TENON_CACHE=1`, turns it on.

The garbage collector does not look at what was made when the tests were collected, nor at what a file leaves
in caches, which lives as long as the process: each full collection would walk through some million objects,
and many tests ask for one.

Programs are scheduled for the usual caches, whatever this machine has: what a test finds in their text is
there everywhere.
"""

import atexit
import gc
import os
import shutil
from collections.abc import Iterator
from tempfile import mkdtemp

import pytest
from hypothesis import settings
from tenon.backends.cache_sizes import USUAL_CACHES
from tenon.backends.llvm import processors
from tenon.backends.opencl import device

settings.register_profile("tenon", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("tenon")

_CACHE = mkdtemp(prefix="tenon-test-cache-")
atexit.register(shutil.rmtree, _CACHE, ignore_errors=True)
os.environ["TENON_CACHE_DIR"] = _CACHE
os.environ.setdefault("TENON_CACHE", "0")

processors.host_cache_nbytes = device.host_cache_nbytes = lambda: USUAL_CACHES


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def _what_a_file_leaves_is_not_walked_through() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    yield
    gc.collect()
    gc.freeze()

"""
A pytest plugin for the Array API test suite: it skips what `exceptions.py` lists, and lets the suite start
for a library without complex dtypes.

The suite looks for the widest complex dtype when it is imported, and has no answer where there is none. That
module is loaded with None for an answer; nothing else of it is changed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest
from exceptions import EXEMPT

_ASKED = """widest_complex_dtype = max(
    [(dt, dtype_nbits[dt]) for dt in complex_dtypes], key=lambda x: x[1]
)[0]"""
_NAME = "array_api_tests.dtype_helpers"


def _use_backend(name: str) -> None:
    """Makes eager calls run on a backend other than the default one."""
    from tenon.compiler import compile as driver
    from tenon.frontends.calls import compiled_trace

    compiled_trace.compile_own = lambda module, **options: driver.compile(module, backend=name, **options)


def _load_without_complex() -> None:
    spec = importlib.util.find_spec(_NAME)
    assert spec is not None and spec.origin is not None, f"{_NAME} is not there (is the checkout complete?)"
    source = Path(spec.origin).read_text(encoding="utf-8").replace(_ASKED, "widest_complex_dtype = None")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    exec(compile(source, spec.origin, "exec"), module.__dict__)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for exempt in EXEMPT:
            if exempt.matches(item.nodeid):
                item.add_marker(pytest.mark.skip(reason=exempt.reason))
                break


if "TENON_CONFORMANCE_BACKEND" in os.environ:
    _use_backend(os.environ["TENON_CONFORMANCE_BACKEND"])
_load_without_complex()

"""
A pytest plugin that lets the Array API test suite start for a library without complex dtypes.

The suite looks for the widest complex dtype when it is imported, and has no answer where there is none. This
loads the module that does so with None for an answer; nothing else of it is changed.
"""

import importlib.util
import sys

_ASKED = """widest_complex_dtype = max(
    [(dt, dtype_nbits[dt]) for dt in complex_dtypes], key=lambda x: x[1]
)[0]"""
_NAME = "array_api_tests.dtype_helpers"


def _load() -> None:
    spec = importlib.util.find_spec(_NAME)
    assert spec is not None and spec.origin is not None, f"{_NAME}: not found"
    with open(spec.origin, encoding="utf-8") as file:  # noqa: PTH123
        source = file.read()
    assert source.count(_ASKED) <= 1
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    exec(compile(source.replace(_ASKED, "widest_complex_dtype = None"), spec.origin, "exec"), module.__dict__)


_load()

"""What kernels are made of: booleans are combined as bytes, of which there are vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

PROGRAMS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "any of columns": (lambda x: tnp.any(x, axis=0), lambda x: x.any(0)),
    "all of columns": (lambda x: tnp.all(x, axis=0), lambda x: x.all(0)),
    "any of rows": (lambda x: tnp.any(x, axis=1), lambda x: x.any(1)),
    "all of rows": (lambda x: tnp.all(x, axis=1), lambda x: x.all(1)),
    "all elements": (lambda x: tnp.any(x) ^ tnp.all(x), lambda x: x.any() ^ x.all()),
    "where columns are true first": (lambda x: tnp.argmax(x, axis=0), lambda x: x.argmax(0)),
    "where rows are false first": (lambda x: tnp.argmin(x, axis=1), lambda x: x.argmin(1)),
    "neighbours": (lambda x: tnp.any(x[1:] & ~x[:-1], axis=0), lambda x: (x[1:] & ~x[:-1]).any(0)),
}


MODES = [("llvm", "x86-64-v2"), ("llvm", "x86-64-v3"), ("llvm", None), ("opencl", None), ("reference", None)]


@pytest.mark.parametrize(("backend", "target"), MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_booleans_are_combined(name: str, backend: str, target: str | None) -> None:
    function, expected = PROGRAMS[name]
    f = tenon.jit(function, backend=backend, target=target)
    rng = np.random.default_rng(0)
    for shape in ((37, 211), (5, 1), (2, 17), (130, 3)):
        for share in (0.5, 0.01, 0.99, 0.0, 1.0):
            x = rng.random(shape) < share
            np.testing.assert_array_equal(np.asarray(f(x)), expected(x))


@pytest.mark.parametrize("name", ["any of columns", "any of rows", "where columns are true first"])
def test_booleans_are_combined_in_vectors_of_bytes(name: str) -> None:
    x = np.zeros((64, 256), bool)
    text = tenon.jit(PROGRAMS[name][0]).lower(x).text("sched")
    (loop,) = (line for line in text.splitlines() if "sched.reduce ori" in line)
    assert loop.endswith(": i8 {")
    assert "vector(" in (text if name != "any of rows" else loop)


def test_a_reduction_of_one_element_is_that_element() -> None:
    x = np.array([[True, False, True]])
    text = tenon.jit(PROGRAMS["any of columns"][0]).lower(x).text("sched")
    assert "sched.reduce" not in text
    np.testing.assert_array_equal(np.asarray(tenon.jit(PROGRAMS["any of columns"][0])(x)), x[0])

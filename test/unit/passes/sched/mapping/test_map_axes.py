"""How many rows of a matrix are multiplied with a vector at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager

AT_ONCE = "each loaded vector is used 4 times"

SMALL, LARGE = 32 << 10, 48 << 10
"""First caches."""


def scheduled(n: int, m: int, l1_nbytes: int, l3_nbytes: int) -> str:
    a, x = np.zeros((n, m), np.float32), np.zeros(m, np.float32)
    module = parse_module(str(tenon.jit(lambda a, x: a @ x).lower(a, x).module))
    options = f"vector-nbytes=64 l1-nbytes={l1_nbytes} l3-nbytes={l3_nbytes}"
    PassManager(f"graph-pipeline,sched-pipeline{{{options}}}").run(context(), module)
    return str(module)


@pytest.mark.parametrize(
    ("n", "m", "l1_nbytes", "l3_nbytes", "are_at_once"),
    [
        # 2 MiB in rows of 4 KiB, and a cache of 4 MiB, or a little less.
        (512, 1024, SMALL, (4 << 20) - 2, False),
        (512, 1024, SMALL, 4 << 20, True),
        (512, 1024, LARGE, (4 << 20) - 2, True),
        # Rows of 12 KiB are long, those of four bytes less are not.
        (512, 3072, SMALL, 1 << 20, True),
        (512, 3071, SMALL, 1 << 20, False),
    ],
)
def test_short_rows_of_large_matrices_are_read_one_by_one_where_the_first_cache_is_small(
    n: int, m: int, l1_nbytes: int, l3_nbytes: int, are_at_once: bool
) -> None:
    assert (AT_ONCE in scheduled(n, m, l1_nbytes, l3_nbytes)) is are_at_once


@pytest.mark.parametrize(("m", "are_at_once"), [(4096, False), (6143, False), (6144, True)])
def test_two_matrices_are_twice_as_many_streams(m: int, are_at_once: bool) -> None:
    a, x = np.zeros((512, m), np.float32), np.zeros(m, np.float32)

    def both(a: Any, b: Any, x: Any) -> Any:
        return a @ x + b @ x

    module = parse_module(str(tenon.jit(both).lower(a, a, x).module))
    options = f"vector-nbytes=64 l1-nbytes={SMALL} l3-nbytes={1 << 20}"
    PassManager(f"graph-pipeline,sched-pipeline{{{options}}}").run(context(), module)
    assert str(module).count("sched.kernel @") == 1
    assert (AT_ONCE in str(module)) is are_at_once


def test_rows_that_are_read_one_by_one_have_the_same_sums() -> None:
    rng = np.random.default_rng(0)
    a, x = rng.standard_normal((700, 1000)).astype(np.float32), rng.standard_normal(1000).astype(np.float32)
    module = str(tenon.jit(lambda a, x: a @ x).lower(a, x).module)
    found: list[bytes] = []
    for l3_nbytes in (1 << 20, 1 << 25):
        one = parse_module(module)
        options = f"vector-nbytes=64 l1-nbytes={SMALL} l3-nbytes={l3_nbytes}"
        PassManager(f"graph-pipeline,sched-pipeline{{{options}}}").run(context(), one)
        assert (AT_ONCE in str(one)) is (l3_nbytes == 1 << 25)
        with tenon.compile(str(one)) as executable:
            found.append(np.asarray(executable(a, x)).tobytes())
    assert found[0] == found[1]

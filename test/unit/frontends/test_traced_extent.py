"""Named extents as traced code sees them: numbers that are known at each call only."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import tenon.frontends.jit.dims  # noqa: F401 (says what an extent is as a number)
from tenon.dialects.dims.expressions import DimExpr, Extent, dim
from tenon.errors import TracingError
from tenon.frontends.tracing.traced_extent import TracedExtent, traced


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda n: n > 4, "whether n > 4 is known at each call only"),
        (lambda n: int(n), "int: the extent n is known at each call only"),
    ],
)
def test_extents_are_no_numbers_outside_of_a_trace(use: Callable[[Extent], object], message: str):
    with pytest.raises(TracingError, match=message):
        use(traced(dim("n")))
    with pytest.raises(TypeError, match="unsupported operand"):
        _ = traced(dim("n")) / 2


def test_an_extent_of_traced_code_stays_one_and_equals_its_polynomial():
    n, plain = traced(dim("n")), dim("n")
    computed = [n + 1, 1 + n, plain + n, n - plain * 2, 3 - n, n * plain, -n, n // 2, n % 3, n**2, 7 // n]
    wanted = [plain + 1, plain + 1, plain * 2, -plain, 3 - plain, plain * plain, -plain, plain // 2]
    wanted += [plain % 3, plain * plain, 7 // plain]
    assert computed == wanted and list(map(hash, computed)) == list(map(hash, wanted))
    assert {type(each) for each in computed} == {TracedExtent}
    assert {type(each) for each in wanted} == {DimExpr}
    assert traced(n - plain) == 0

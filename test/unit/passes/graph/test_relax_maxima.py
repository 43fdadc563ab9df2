"""Maxima of which nobody sees that they are NaN: results are the same bits, and the same NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.passes.graph.relax_maxima import RelaxMaximaPass

Array = npt.NDArray[Any]
Function = Callable[..., Any]


def greatest(x: Any, axis: int = 1) -> Any:
    return tnp.max(x, axis=axis, keepdims=True)


def softmax(x: Any) -> Any:
    e = tnp.exp(x - greatest(x))
    return e / tnp.sum(e, axis=1, keepdims=True)


def of_columns(x: Any) -> Any:
    return nn.softmax(x, axis=0)


def by_reciprocals(x: Any) -> Any:
    e = tnp.exp(x - tnp.max(x, axis=1)[:, None])
    return e * (1.0 / tnp.sum(e, axis=1))[:, None]


def logsumexp(x: Any) -> Any:
    m = greatest(x)
    return tnp.log(tnp.sum(tnp.exp(x - m), axis=1)) + m[:, 0]


def log_softmax(x: Any) -> Any:
    d = x - greatest(x)
    return d - tnp.log(tnp.sum(tnp.exp(d), axis=1, keepdims=True))


def attention(x: Any) -> Any:
    e = tnp.exp(x - greatest(x))
    return (e @ x.T[:, :5]) / tnp.sum(e, axis=1, keepdims=True)


def half(x: Any) -> Any:
    e = tnp.exp(x - greatest(x)).astype(tnp.bfloat16)
    return e / tnp.sum(e, axis=1, keepdims=True)


UNSEEN = (softmax, of_columns, by_reciprocals, logsumexp, log_softmax, attention, half)


def returned(x: Any) -> Any:
    m = greatest(x)
    e = tnp.exp(x - m)
    return e / tnp.sum(e, axis=1, keepdims=True), m


def no_sum(x: Any) -> Any:
    return tnp.exp(x - greatest(x))


def beside_the_sum(x: Any) -> Any:
    e = tnp.exp(x - greatest(x))
    return e + 1.0, tnp.sum(e, axis=1)


def of_other_rows(x: Any) -> Any:
    x = x[:, : x.shape[0]]
    e = tnp.exp(x - greatest(x))
    return e / tnp.sum(e, axis=1, keepdims=True).T


def over_other_axes(x: Any) -> Any:
    e = tnp.exp(x - greatest(x))
    return e / tnp.sum(e, axis=0, keepdims=True)


def of_something_else(x: Any) -> Any:
    e = tnp.exp(x * 0.5 - greatest(x))
    return e / tnp.sum(e, axis=1, keepdims=True)


def where_finite(x: Any) -> Any:
    m = greatest(x)
    total = tnp.sum(tnp.exp(x - m), axis=1, keepdims=True)
    return tnp.where(tnp.isfinite(m), tnp.log(total) + m, m)


def rounded(x: Any) -> Any:
    """An integer of NaN is none."""
    e = tnp.exp(x - greatest(x))
    return e * tnp.sum(e, axis=1, keepdims=True).astype(tnp.int32).astype(tnp.float32)


def parts_of_rows(x: Any) -> Any:
    """A contraction that does not add up the row."""
    e = tnp.exp(x - greatest(x))
    return tnp.einsum("ij,ij->ij", e, x) + 0 * tnp.sum(e), e @ x.T


SEEN = (
    returned,
    no_sum,
    beside_the_sum,
    of_other_rows,
    over_other_axes,
    of_something_else,
    where_finite,
    rounded,
    parts_of_rows,
)


def rows() -> Array:
    """Rows of usual numbers, of zeros of both signs, of infinities, and of NaN in places of all kinds."""
    x = np.random.default_rng(0).standard_normal((12, 131)).astype("f4")
    x[1] = 0.0
    x[2] = -0.0
    x[3, :], x[3, 70] = -0.0, 0.0
    x[4] = -np.inf
    x[5, 7] = np.inf
    x[6, 7], x[6, 100] = np.inf, np.nan
    x[7, 130] = np.nan
    x[8, 0] = np.nan
    x[9] = np.nan
    x[10, 1:], x[10, 0] = -np.inf, -0.0
    x[11, :129] = -np.inf
    return x


def graph_of(function: Function, x: Array) -> str:
    return tenon.jit(function).lower(x).text("graph")


@pytest.mark.parametrize("function", UNSEEN, ids=lambda each: each.__name__)
def test_maxima_that_nobody_sees_are_told_so(function: Function) -> None:
    text = graph_of(function, rows())
    assert text.count("graph.reduce max") == text.count("fastmath<nnan,nsz>") == 1


@pytest.mark.parametrize("function", SEEN, ids=lambda each: each.__name__)
def test_others_are_not(function: Function) -> None:
    assert "nnan" not in graph_of(function, rows())


@pytest.mark.parametrize("options", [{}, {"target": "x86-64-v3"}, {"backend": "opencl"}], ids=str)
@pytest.mark.parametrize("function", [*UNSEEN, *SEEN], ids=lambda each: each.__name__)
def test_results_are_the_same_bits(
    function: Function, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = rows()
    module = tenon.jit(function).lower(x).module

    def results() -> list[Array]:
        with tenon.compile(module, **options) as executable:
            found = executable(x)
            return [
                np.asarray(each).astype("f4") for each in (found if isinstance(found, tuple) else (found,))
            ]

    found = results()
    monkeypatch.setattr(RelaxMaximaPass, "apply", lambda *_: None)
    for one, other in zip(found, results(), strict=True):
        assert np.array_equal(np.isnan(one), np.isnan(other))
        assert np.where(np.isnan(one), 0, one).tobytes() == np.where(np.isnan(other), 0, other).tobytes()


def test_named_dims_and_flags_that_there_are() -> None:
    n = tenon.Dim("n", 1, 200)
    text = tenon.jit(softmax, dynamic={"x": {1: n}}).lower(rows()).text("graph")
    assert "fastmath<nnan,nsz>" in text
    module = """
    func.func @f(%x: tensor<4x50xf32>) -> tensor<4x50xf32> {
      %m = graph.reduce max %x axes [1] keep fastmath<reassoc> : tensor<4x50xf32> -> tensor<4x1xf32>
      %b = graph.broadcast %m : tensor<4x1xf32> -> tensor<4x50xf32>
      %d = graph.sub %x, %b : tensor<4x50xf32>
      %e = graph.exp %d : tensor<4x50xf32>
      %s = graph.reduce add %e axes [1] keep : tensor<4x50xf32> -> tensor<4x1xf32>
      %c = graph.broadcast %s : tensor<4x1xf32> -> tensor<4x50xf32>
      %r = graph.div %e, %c : tensor<4x50xf32>
      func.return %r : tensor<4x50xf32>
    }"""
    with tenon.compile(module) as executable:
        assert "fastmath<reassoc,nnan,nsz>" in str(executable.stages["graph"])


def test_a_row_through_a_permutation() -> None:
    def turned(x: Any) -> Any:
        x = tnp.reshape(x, (3, 4, 131))
        m = tnp.max(x, axis=2)
        e = tnp.exp(x - m[:, :, None])
        return tnp.permute_dims(e, (1, 0, 2)) / tnp.permute_dims(tnp.sum(e, axis=2), (1, 0))[:, :, None]

    x = rows()
    expected = x.reshape(3, 4, 131).astype("f8")
    with np.errstate(all="ignore"):
        expected = np.exp(expected - expected.max(axis=2, keepdims=True))
        expected = (expected / expected.sum(axis=2, keepdims=True)).transpose(1, 0, 2)
    np.testing.assert_allclose(np.asarray(tenon.jit(turned)(x)), expected, rtol=1e-5, atol=1e-7)

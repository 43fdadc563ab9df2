"""Branches and loops of traced functions: what they compute, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

X = np.arange(8, dtype=np.float32)

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cond": (lambda x: tenon.cond(tnp.sum(x) > 0, lambda y: y * 2, lambda y: y - 1, x), (X,)),
    "cond on a constant": (lambda x: tenon.cond(True, lambda: x * 2, lambda: x[:3]), (X,)),
    "cond that closes over arrays": (
        lambda x, c: tenon.cond(c, lambda: (x, x + 1), lambda: (x * x, x)),
        (X, True),
    ),
    "cond with a scalar in one branch": (
        lambda x: tenon.cond(x[0] > 0, lambda: x[1], lambda: 2) * x,
        (X,),
    ),
    "nested cond": (
        lambda x: tenon.cond(x[0] > 0, lambda: x, lambda: tenon.cond(x[1] > 0, lambda: x * 3, lambda: x * 4)),
        (X,),
    ),
    "switch": (lambda x, i: tenon.switch(i, [lambda y, k=k: y * k for k in range(5)], x), (X, 3)),
    "switch below": (lambda x, i: tenon.switch(i, [lambda y, k=k: y + k for k in range(3)], x), (X, -7)),
    "switch above": (lambda x, i: tenon.switch(i, [lambda y, k=k: y + k for k in range(3)], x), (X, 9)),
    "while": (
        lambda x, n: tenon.while_loop(
            lambda s: s["i"] < n, lambda s: {"i": s["i"] + 1, "x": s["x"] * 2}, {"i": 0, "x": x}
        ),
        (X, 5),
    ),
    "while that does nothing": (lambda x: tenon.while_loop(lambda v: v[0] > 100, lambda v: v + 1, x), (X,)),
    "while from a Python scalar": (lambda x: tenon.while_loop(lambda v: v < 10, lambda v: v + x[1], 0), (X,)),
    "fori": (lambda x: tenon.fori_loop(0, 5, lambda i, v: v + i, x), (X,)),
    "fori from another number": (lambda x: tenon.fori_loop(3, 6, lambda i, v: v * i, x), (X,)),
    "fori of nothing": (lambda x: tenon.fori_loop(5, 2, lambda i, v: v * i, x), (X,)),
    "fori up to a traced number": (lambda x, n: tenon.fori_loop(1, n, lambda i, v: v + i, x), (X, 4)),
    "scan": (lambda x: tenon.scan(lambda c, v: (c + v, c * v), 0.0, x), (X,)),
    "scan in reverse": (lambda x: tenon.scan(lambda c, v: (c + v, c * v), 0.0, x, reverse=True), (X,)),
    "scan over a tree": (
        lambda x: tenon.scan(lambda c, v: (c + v["a"] * v["b"][0], None), x[0], {"a": x, "b": (x + 1,)}),
        (X,),
    ),
    "scan of a length": (lambda x: tenon.scan(lambda c, _: (c * 2, c), x, length=3), (X,)),
    "scan that closes over an array": (lambda x: tenon.scan(lambda c, v: (c + x, v), x, x), (X,)),
    "powers of the index": (lambda x: tenon.fori_loop(0, 4, lambda i, c: c + 2 ** (-i), 0), (X,)),
    "an index that is divided": (lambda x: tenon.fori_loop(0, 4, lambda i, c: c + i / 2, x), (X,)),
    "an index that is cast": (
        lambda x: tenon.fori_loop(0, 4, lambda i, c: c + i.astype(np.float32), 0.0),
        (X,),
    ),
    "an index that wraps": (
        lambda x: tenon.fori_loop(254, 259, lambda i, c: c + i, x.astype(np.uint8)),
        (X,),
    ),
    "an array of numpy that is carried": (
        lambda x: tenon.fori_loop(0, 3, lambda i, c: c.at[i].set(i), np.ones(4, np.float32)),
        (X,),
    ),
    "fori of nothing from a Python scalar": (
        lambda x: tenon.fori_loop(0, 0, lambda i, c: c + x[0], 0),
        (X,),
    ),
    "while of nothing from a Python scalar": (
        lambda x: tenon.while_loop(lambda c: c < 0, lambda c: c + x[0], 0),
        (X,),
    ),
    "scan from a Python scalar": (lambda x: tenon.scan(lambda c, v: (c + v, c / 2), 0, x), (X,)),
    "what is carried stays weak": (
        lambda x: tenon.fori_loop(0, 3, lambda i, c: c * 2 + i, 1) * x,
        (X,),
    ),
    "a branch that gives a Python scalar": (
        lambda x: tenon.cond(x[0] > 0, lambda: 1, lambda: 2) / 4 * x,
        (X,),
    ),
    "a switch that gives Python scalars": (
        lambda x, i: tenon.switch(i, [lambda: 1, lambda: 2, lambda: 3]) * x,
        (X, 1),
    ),
    "a loop in a loop": (
        lambda x: tenon.fori_loop(0, 3, lambda i, v: tenon.fori_loop(0, 2, lambda j, w: w + j, v) * 2, x),
        (X,),
    ),
    "a branch in a loop": (
        lambda x: tenon.fori_loop(0, 4, lambda i, v: tenon.cond(i % 2 == 0, lambda: v + 1, lambda: v * 2), x),
        (X,),
    ),
}


def numbers(tree: Any) -> list[Any]:
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, tuple | list):
        return [number for part in tree for number in numbers(part)]
    return [] if tree is None else [np.asarray(tree)]


@pytest.mark.parametrize("backend", ["reference", "llvm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_computes_what_it_computes_in_python(name: str, backend: str):
    function, arguments = PROGRAMS[name]
    expected = numbers(
        function(*[tnp.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments])
    )
    found = numbers(tenon.jit(function, backend=backend)(*arguments))
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_scan_of_no_elements_gives_empty_stacks():
    for function in (
        lambda x: tenon.scan(lambda c, v: (c + v, (c, v)), 0.0, x),
        tenon.jit(lambda x: tenon.scan(lambda c, v: (c + v, (c, v)), 0.0, x)),
    ):
        value, (first, second) = function(tnp.asarray(X[:0]))
        assert float(value) == 0
        assert first.shape == second.shape == (0,)


def test_loops_stay_loops_in_the_text():
    text = tenon.jit(lambda x: tenon.fori_loop(0, 1000, lambda i, v: v + i, x)).lower(X).text("traced")
    assert "graph.scan" in text
    assert text.count("graph.add") == 1


def test_the_place_of_a_loop_is_that_of_its_call():
    module = tenon.jit(lambda x: tenon.fori_loop(0, 3, lambda i, v: v + i, x)).lower(X).module
    for op in module.walk():
        assert "test_control_flow.py" in str(op.location), op.name


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (
            lambda x: tenon.cond(x, lambda: x, lambda: x),
            TypeError,
            "cond: the condition is float32 of shape (8,), expected a boolean of rank 0",
        ),
        (
            lambda x: tenon.cond(x[0] > 0, lambda: x, lambda: x[1:]),
            ValueError,
            "cond: result has shape (8,) in one branch and (7,) in the other",
        ),
        (
            lambda x: tenon.cond(x[0] > 0, lambda: x, lambda: (x,)),
            TypeError,
            "cond: on_true has the structure of one array",
        ),
        (
            lambda x: tenon.cond(x[0] > 0, lambda: {"a": x}, lambda: {"a": x > 1}),
            TypeError,
            "cond: result ['a'] has dtype float32 in one branch and bool in the other",
        ),
        (
            lambda x: tenon.cond(x[0] > 0, lambda: tnp.astype(x, tnp.int32)[0], lambda: 1.5),
            TypeError,
            "cond: result has dtype int32 in one branch and float64",
        ),
        (lambda x: tenon.switch(0, []), ValueError, "switch: no branches"),
        (
            lambda x: tenon.switch(x[0], [lambda: x]),
            TypeError,
            "switch: the index is float32 of shape (), expected an integer",
        ),
        (
            lambda x: tenon.while_loop(lambda v: v, lambda v: v, x),
            TypeError,
            "while_loop: what the condition gives is float32 of shape (8,)",
        ),
        (
            lambda x: tenon.while_loop(lambda v: v[0] < 1, lambda v: v[1:], x),
            ValueError,
            "while_loop: carried value has shape (8,), but the body gives (7,)",
        ),
        (
            lambda x: tenon.while_loop(lambda v: v[0] < 1, lambda v: v > 1, x),
            TypeError,
            "while_loop: carried value has dtype float32, but the body gives bool",
        ),
        (
            lambda x: tenon.while_loop(lambda v: True, lambda v: (v, v), x),
            TypeError,
            "while_loop: the initial value has the structure of one array, the body gives tuple",
        ),
        (
            lambda x: tenon.fori_loop(0.5, 2, lambda i, v: v, x),
            TypeError,
            "fori_loop: begin is float64 of shape (), expected an integer of rank 0",
        ),
        (
            lambda x: tenon.fori_loop(0, 2, lambda i, v: tnp.astype(v, tnp.float64), x),
            TypeError,
            "fori_loop: carried value has dtype float32, but the body gives float64",
        ),
        (lambda x: tenon.scan(lambda c, v: c, x, x), TypeError, "scan: the body gives"),
        (lambda x: tenon.scan(lambda c, v: (c, v), x), ValueError, "scan: no inputs and no length"),
        (
            lambda x: tenon.scan(lambda c, v: (c, v), x, x, length=3),
            ValueError,
            "scan: different extents along axis 0 (inputs: 8, length: 3)",
        ),
        (
            lambda x: tenon.scan(lambda c, v: (c, v), x, x, length=-1),
            ValueError,
            "scan: length is -1, expected 0 or more",
        ),
        (lambda x: tenon.scan(lambda c, v: (c, v), x, x[0]), ValueError, "scan: inputs has rank 0"),
        (
            lambda x: tenon.scan(lambda c, v: (c > 0, v), x, x),
            TypeError,
            "scan: carried value has dtype float32, but the body gives bool",
        ),
    ],
)
def test_what_does_not_fit_is_an_error(function: Callable[..., Any], kind: type[Exception], message: str):
    with pytest.raises(kind) as caught:
        tenon.jit(function)(X)
    assert message in str(caught.value)


def test_what_does_not_fit_is_an_error_outside_of_a_trace_too():
    x = tnp.asarray(X)
    with pytest.raises(TypeError, match="carried value has dtype float32, but the body gives bool"):
        tenon.fori_loop(0, 2, lambda i, v: v > 1, x)
    with pytest.raises(ValueError, match="carried value has shape"):
        tenon.while_loop(lambda v: v[0] < 1, lambda v: v[1:], x)
    with pytest.raises(TypeError, match="cond: the condition is float32 of shape"):
        tenon.cond(x, lambda: x, lambda: x)
    with pytest.raises(TypeError, match="fori_loop: the initial value has the structure"):
        tenon.fori_loop(0, 2, lambda i, v: (v, v), x)
    with pytest.raises(TypeError, match="cond: a result is 'text'"):
        tenon.cond(x[1] > 0, lambda: "text", lambda: x)


def test_a_branch_that_gives_a_python_scalar_gives_a_weak_array_outside_of_a_trace():
    x = tnp.asarray(X)
    found = tenon.cond(x[0] > 0, lambda: x[1], lambda: 2)  # The other branch is not looked at.
    assert found.weak
    assert found.dtype == np.int64


def test_a_python_scalar_takes_a_dtype_once_only_outside_of_a_trace_too():
    x = tnp.asarray(X)
    with pytest.raises(TypeError, match="carried value has dtype int64, but the body gives float32"):
        tenon.fori_loop(0, 2, lambda i, v: v + 1 if i < 1 else v + x[0], 0)


def test_a_python_scalar_that_is_carried_takes_the_dtype_of_the_body_in_a_trace_too():
    def halves(begin: Any) -> Any:
        return tenon.fori_loop(0, 3, lambda i, v: v * 0.5, begin)

    assert float(halves(1)) == 0.125
    assert float(tenon.jit(lambda: halves(1))()) == 0.125

"""Random functions over arrays: jitted, eager and in numpy they give the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tenon
import tenon.numpy as tnp
from hypothesis import given, settings
from hypothesis import strategies as st

UNARY = ("exp", "tanh", "sin", "negative", "abs", "floor", "square")
BINARY = ("add", "subtract", "multiply", "maximum", "minimum")

Program = Callable[[Any, Any, Any], Any]

LEAVES = st.sampled_from(["x", "y", "s", 2, -1.5, True])
PROGRAMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(UNARY), inner),
        st.tuples(st.sampled_from(BINARY), inner, inner),
        st.tuples(st.sampled_from(["sum", "max"]), inner),
        st.tuples(st.just("where"), inner, inner, inner),
        st.tuples(st.just("cond"), inner, inner),
        st.tuples(st.just("loop"), inner),
    ),
    max_leaves=8,
)


def evaluated(program: Any, values: dict[str, Any], namespace: Any) -> Any:
    """Returns what a program gives, of functions of a namespace; branches and loops are numpy's in Python."""
    if not isinstance(program, tuple):
        return values[program] if isinstance(program, str) else namespace.asarray(program, dtype="float64")
    name, *rest = program
    first, *others = [evaluated(each, values, namespace) for each in rest]
    if name == "where":
        return namespace.where(first > others[0], others[0], others[1])
    if name in ("sum", "max"):
        return getattr(namespace, name)(first)
    is_numpy = namespace is np
    if name == "cond":
        condition = namespace.sum(first) > 0
        if is_numpy:
            return others[0] + 1 if condition else others[0] * 2
        return tenon.cond(condition, lambda: others[0] + 1, lambda: others[0] * 2)
    if name == "loop":
        if is_numpy:
            for number in range(3):
                first = first * 0.5 + number
            return first
        return tenon.fori_loop(0, 3, lambda number, value: value * 0.5 + number, first)
    return getattr(namespace, name)(first, *others)


@settings(max_examples=25, deadline=None)
@given(program=PROGRAMS, extents=st.sampled_from([(3, 4), (1, 4), (0, 2), (5,), ()]))
def test_a_program_gives_the_same_in_every_way(program: Any, extents: tuple[int, ...]):
    random = np.random.default_rng(7)
    values = {name: random.standard_normal(extents) for name in ("x", "y")} | {"s": np.asarray(0.75)}
    with np.errstate(all="ignore"):
        expected = np.asarray(
            evaluated(program, values, np) if "max" not in str(program) or 0 not in extents else 0
        )
    if 0 in extents and "max" in str(program):
        return

    def f(x: Any, y: Any, s: Any) -> Any:
        return evaluated(program, {"x": x, "y": y, "s": s}, tnp) + 0.0

    expected = expected + 0.0
    given_values = [values[name] for name in ("x", "y", "s")]
    jitted = tenon.jit(f)(*given_values)
    eager = f(*[tnp.asarray(each) for each in given_values])
    for found in (jitted, eager):
        assert found.shape == expected.shape
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-9, atol=1e-12)

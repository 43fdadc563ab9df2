"""Steps from one sharding to another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenon.dialects.sharding import Mesh, Sharding
from tenon.passes.sharding.reshard import Gather, Move, Slice, Step, sent_between, steps_between

MESH = Mesh("mesh", (2, 3), ("x", "y"))


def sharding(*dims: tuple[int, ...]) -> Sharding:
    return Sharding(dims)


@pytest.mark.parametrize(
    ("before", "after", "steps"),
    [
        (sharding((0,), ()), sharding((0,), ()), ()),
        (sharding((), ()), sharding((0,), (1,)), (Slice(0, (0,)), Slice(1, (1,)))),
        (sharding((0,), (1,)), sharding((), (1,)), (Gather(0, (0,)),)),
        (sharding((0,), ()), sharding((), (0,)), (Move(0, 1, (0,)),)),
        (sharding((0,), ()), sharding((1,), ()), (Gather(0, (0,)), Slice(0, (1,)))),
        (sharding((0, 1), ()), sharding((0,), (1,)), (Move(0, 1, (1,)),)),
        # What costs nothing comes first: less is moved then.
        (sharding((0,), ()), sharding((), (1,)), (Slice(1, (1,)), Gather(0, (0,)))),
    ],
)
def test_the_steps_are_those_that_send_least(before: Sharding, after: Sharding, steps: tuple[Step, ...]):
    assert steps_between(before, after) == steps


def test_what_is_sent_is_counted_for_each_rank():
    assert sent_between(MESH, sharding((), ()), sharding((0,), (1,)), (12, 6)) == 0
    assert sent_between(MESH, sharding((0,), ()), sharding((), ()), (12, 6)) == 36
    assert sent_between(MESH, sharding((), (1,)), sharding((1,), ()), (12, 6)) == 24 * 2 / 3


_SHARDINGS = st.sampled_from(
    [
        Sharding(dims)
        for dims in (
            *(((), ()), ((0,), ()), ((), (0,)), ((1,), ()), ((), (1,)), ((0,), (1,)), ((1,), (0,))),
            *(((0, 1), ()), ((1, 0), ()), ((), (0, 1)), ((), (1, 0))),
        )
    ]
)


@given(_SHARDINGS, _SHARDINGS)
def test_the_steps_lead_there(before: Sharding, after: Sharding):
    now = [list(axes) for axes in before.split]
    for step in steps_between(before, after):
        match step:
            case Slice(dim, axes):
                assert not any(axis in other for other in now for axis in axes)
                now[dim] += axes
            case Gather(dim, axes):
                assert tuple(now[dim][-len(axes) :]) == axes
                del now[dim][-len(axes) :]
            case Move(source, target, axes):
                assert tuple(now[source][-len(axes) :]) == axes
                del now[source][-len(axes) :]
                now[target] += axes
    assert tuple(map(tuple, now)) == after.split

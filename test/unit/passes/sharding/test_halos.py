"""Which of the elements that views read, and a rank lacks, are fetched together."""

from itertools import product

import pytest
from tenon.dialects.sharding import Mesh, Sharding
from tenon.passes.sharding.halos import are_halos, hulls_of
from tenon.passes.sharding.part import Part, Wants, block_part, wants_of

N = 12

MESH = Mesh("mesh", (3, 2), ("x", "y"))

HOME = wants_of(MESH, Sharding(((0,), (1,))), (N, N))


def moved(*distances: int) -> Wants:
    """Returns what the parts of an array want that is moved by so much; what would lie outside is not."""
    found = list[Part]()
    for axis, by in enumerate(distances):
        blocks = block_part(MESH, N, (axis,)).intervals
        found.append(Part((axis,), tuple((max(begin + by, 0), min(end + by, N)) for begin, end in blocks)))
    return tuple(found)


def test_the_views_of_a_box_are_fetched_together():
    asked = [moved(*by) for by in product((-1, 0, 1), repeat=2)]
    hulls = hulls_of(asked, HOME)
    (hull,) = set(hulls.values())
    # One more on each side.
    assert [part.intervals for part in hull if part] == [((0, 5), (3, 9), (7, 12)), ((0, 7), (5, 12))]
    # What a rank has already is asked of nobody.
    assert hulls.keys() == {wants for wants in asked if wants != HOME}


def test_those_of_a_star_are_not():
    assert hulls_of([moved(1, 0), moved(-1, 0), moved(0, 1), moved(0, -1)], HOME) == {}


def test_rows_that_two_views_lack_are_sent_once():
    near, far, other = moved(1, 0), moved(2, 0), moved(-1, 0)
    both = Part((0,), ((1, 6), (5, 10), (9, 12))), HOME[1]
    assert hulls_of([near, far, other], HOME) == {near: both, far: both}


def test_one_view_alone_is_fetched_by_itself():
    assert hulls_of([moved(1, 1), moved(1, 1)], HOME) == {}


@pytest.mark.parametrize(
    "wants",
    [
        (HOME[0], None),
        (HOME[0], Part((0,), ((0, 4), (4, 8), (8, 12)))),
        (HOME[0], Part((1,), ((0, 1), (0, 1)))),
    ],
)
def test_what_is_wanted_of_other_dims_or_alike_by_all_is_no_halo(wants: Wants):
    assert are_halos(moved(1, 0), HOME) and not are_halos(wants, HOME)

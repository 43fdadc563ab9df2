"""Attributes of the `sched` dialect made in Python; their text is tested in test/filecheck/dialects/sched."""

import pytest
from tenon.dialects.sched import AnalysisAttr, LifetimeAttr, MappingAttr, SlabAttr
from xdsl.utils.exceptions import VerifyException


def test_a_serial_axis_has_no_chunk():
    with pytest.raises(VerifyException, match=r"sched\.mapping: chunk 4 is for block and thread, not serial"):
        MappingAttr.get(chunk=4)


@pytest.mark.parametrize(("more", "words"), [({"unroll": 2}, "unroll"), ({"items": 2}, "items")])
def test_a_tile_is_not_cut_up(more: dict[str, int], words: str):
    expected = rf"sched\.mapping: tile\(4\) {words}\(2\) \(a tile is neither unrolled nor shared\)"
    with pytest.raises(VerifyException, match=expected):
        MappingAttr.get(tile=4, **more)


def test_a_tile_may_have_one_iteration():
    with pytest.raises(VerifyException, match=r"sched\.mapping: tile\(-1\) is negative"):
        MappingAttr.get(tile=-1)
    assert MappingAttr.get(tile=1).words() == "tile(1)"


def test_what_is_no_tile_prefetches_nothing():
    expected = r"sched\.mapping: prefetch without tile \(it fetches what a tile reads\)"
    with pytest.raises(VerifyException, match=expected):
        MappingAttr.get(prefetch=True)
    assert MappingAttr.get(tile=4, prefetch=True).words() == "tile(4) prefetch"


def test_a_step_is_what_runs_side_by_side():
    assert MappingAttr.get(vector=8, unroll=3).step == 24
    assert MappingAttr.get().step == 1


def test_integers_stand_for_their_attributes():
    assert SlabAttr(1, 64).offset.data == 64
    assert LifetimeAttr(0, 3).last.data == 3
    assert AnalysisAttr(1, 2, 3, 4, 5, 6, 7).estimated_ns.data == 7

import numpy as np
import pytest
from tenon.errors import TenonError
from tenon.runtime.nodes.padding import AxisPadding, Padding

PADDING = Padding.of((1, 2), (0, 1), value=9.0)


def test_extents_grow_and_shrink_by_the_margins():
    assert PADDING.padded((4, 3)) == (7, 4)
    assert PADDING.unpadded((7, 4)) == (4, 3)
    assert PADDING.axes == (AxisPadding(1, 2), AxisPadding(0, 1))


def test_the_interior_is_what_numpy_pads():
    data = np.arange(12).reshape(4, 3)
    padded = np.pad(data, ((1, 2), (0, 1)))
    assert np.array_equal(padded[PADDING.interior(padded.shape)], data)


def test_an_empty_axis_may_have_margins():
    assert PADDING.padded((0, 0)) == (3, 1)
    assert PADDING.interior((3, 1)) == (slice(1, 1), slice(0, 0))


def test_a_negative_margin_is_an_error():
    with pytest.raises(TenonError, match="padding: the margins of axis 1 are 2 and -1, expected 0 or more"):
        Padding.of((0, 0), (2, -1))


def test_extents_of_another_rank_are_an_error():
    with pytest.raises(TenonError, match=r"padding: 2 axes have margins, dims \[7\] 1"):
        PADDING.padded((7,))


def test_extents_less_than_their_margins_are_an_error():
    with pytest.raises(TenonError, match=r"padding: axis 0 of \[2, 4\] has no room for margins of 1 and 2"):
        PADDING.unpadded((2, 4))

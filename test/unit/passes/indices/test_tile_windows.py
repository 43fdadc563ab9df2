"""Which rows of tiles are inside of an image with each step of a window."""

from hypothesis import given
from hypothesis import strategies as st
from tenon.passes.indices.tile_windows import Pixels, TileWindows


def test_one_tile_leaves_out_its_first_and_its_last_row():
    (windows,) = Pixels(14, 14, 1).windows(3, 1, 15) or []
    assert windows == TileWindows(((1, 14), (0, 14), (0, 13)), (None, None, None), 7)


def test_of_several_tiles_the_first_and_the_last_one_do():
    whole, left = Pixels(14, 5, 1).windows(3, 1, 15) or []
    # Two whole tiles, of which the first one leaves out a row, and one of the four rows that are left over.
    assert (whole.rows, whole.tiles) == (((1, 5), (0, 5), (0, 5)), (0, None, None))
    assert (left.rows, left.tiles) == (((0, 4), (0, 4), (0, 3)), (None, None, None))


def test_steps_of_two_leave_out_the_first_row_alone():
    (windows,) = Pixels(7, 7, 2).windows(3, 1, 15) or []
    assert windows.rows == ((1, 7), (0, 7), (0, 7))


def test_tiles_that_differ_in_more_are_none():
    # Two tiles of one row each would leave out the first step, and both rows are in the border.
    assert Pixels(4, 1, 1).windows(5, 2, 6) is None
    # Of windows that are as long as the image and its border no row has all steps.
    assert Pixels(2, 2, 1).windows(3, 1, 3) is None


@given(
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(0, 4),
    st.integers(1, 30),
)
def test_each_row_takes_part_where_it_is_inside(
    count: int, tile: int, step: int, extent: int, low: int, size: int
) -> None:
    windows = Pixels(count, tile, step).windows(extent, low, low + size)
    if windows is None:
        return
    assert len(windows) == (count >= tile) + (count % tile > 0)
    for pixel in range(count):
        number, row = divmod(pixel, tile)
        found = windows[0 if number < count // tile else -1]
        for k in range(extent):
            first, end = found.rows[k]
            is_cut = found.tiles[k] in (None, number)
            assert (not is_cut or first <= row < end) == (low <= pixel * step + k < low + size)
    for found in windows:
        assert all(first <= found.middle < end for first, end in found.rows)

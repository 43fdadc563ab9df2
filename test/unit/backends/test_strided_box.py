"""Strided copies in their simplest form."""

from tenon.backends.strided_box import StridedBox, box_of


def test_contiguous_memory_is_one_run():
    assert box_of((2, 3, 5), 4, (60, 20, 4), (60, 20, 4)) == StridedBox((), (), (), 120)
    assert box_of((), 4, (), ()) == StridedBox((), (), (), 4)


def test_axes_in_another_order_on_both_sides_are_one_run():
    assert box_of((3, 5), 4, (4, 12), (4, 12)) == StridedBox((), (), (), 60)


def test_axes_are_one_only_where_they_are_on_both_sides():
    assert box_of((2, 3, 5), 4, (60, 20, 4), (120, 40, 4)) == StridedBox((6,), (20,), (40,), 20)
    assert box_of((2, 3, 5), 4, (60, 20, 4), (100, 20, 4)) == StridedBox((2,), (60,), (100,), 60)


def test_a_transposed_copy_has_runs_of_one_element():
    assert box_of((3, 5), 4, (20, 4), (4, 12)) == StridedBox((3, 5), (20, 4), (4, 12), 4)


def test_axes_of_one_element_do_not_count():
    assert box_of((1, 5, 1), 4, (7, 4, 9), (0, 4, 0)) == StridedBox((), (), (), 20)


def test_backwards_and_repeated_axes_stay():
    assert box_of((3, 5), 4, (20, 4), (0, -4)) == StridedBox((3, 5), (20, 4), (0, -4), 4)


def test_no_elements_are_an_empty_box():
    assert box_of((3, 0), 4, (20, 4), (20, 4)) == StridedBox((0,), (0,), (0,), 4)

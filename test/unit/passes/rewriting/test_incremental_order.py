from hypothesis import given
from hypothesis import strategies as st
from tenon.passes.rewriting.incremental_order import IncrementalOrder


def test_without_pairs_the_order_is_that_of_the_numbers():
    assert IncrementalOrder(4).items() == [0, 1, 2, 3]


def test_a_pair_moves_what_lies_between_only():
    order = IncrementalOrder(5)
    assert order.add([(3, 1)])
    assert order.items() == [0, 3, 2, 1, 4]


def test_a_cycle_is_refused_and_leaves_no_pair():
    order = IncrementalOrder(3)
    assert order.add([(0, 1), (1, 2)])
    assert not order.add([(2, 0)])
    assert not order.add([(1, 1)])
    assert not order.add([(2, 2), (0, 2)])
    two = IncrementalOrder(2)
    assert not two.add([(1, 0), (0, 1)])
    assert two.add([(0, 1)])
    assert two.items() == [0, 1]


def reaches(pairs: list[tuple[int, int]], start: int, end: int) -> bool:
    found, waiting = {start}, [start]
    while waiting:
        item = waiting.pop()
        for before, after in pairs:
            if before == item and after not in found:
                found.add(after)
                waiting.append(after)
    return end in found


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=30))
def test_pairs_are_kept_unless_they_make_a_cycle(pairs: list[tuple[int, int]]):
    order = IncrementalOrder(8)
    kept: list[tuple[int, int]] = []
    for before, after in pairs:
        is_possible = not reaches(kept, after, before)
        assert order.add([(before, after)]) is is_possible
        if is_possible:
            kept.append((before, after))
    ranks = {item: rank for rank, item in enumerate(order.items())}
    assert sorted(ranks) == list(range(8))
    assert all(ranks[before] < ranks[after] for before, after in kept)

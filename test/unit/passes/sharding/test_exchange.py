"""Who sends what to whom, counted."""

from hypothesis import given
from hypothesis import strategies as st
from tenon.dialects.sharding import Interval, blocks
from tenon.passes.sharding.exchange import Exchange, exchange_of


def received(exchange: Exchange, owned: tuple[Interval, ...]) -> list[set[int]]:
    """Returns the indices that each member has after all rounds; each sends and gets one message a round."""
    found = [set(range(*interval)) for interval in owned]
    for messages in exchange.rounds:
        assert len({message.source for message in messages}) == len(messages)
        assert len({message.target for message in messages}) == len(messages)
        for message in messages:
            indices = set(range(*message.interval))
            assert indices <= set(range(*owned[message.source]))
            assert not indices & found[message.target]
            found[message.target] |= indices
    return found


def test_a_halo_is_one_round_for_each_side():
    owned = blocks(12, (4,))
    wanted = tuple((max(begin - 1, 0), min(end + 1, 12)) for begin, end in owned)
    exchange = exchange_of(owned, wanted)
    assert [len(messages) for messages in exchange.rounds] == [3, 3]
    assert exchange.n_indices == 6


def test_a_ring_is_one_round_for_each_side():
    owned = blocks(12, (4,))
    wanted = tuple((begin - 1 if begin else 11, end) if begin else (11, 12) for begin, end in owned)
    exchange = exchange_of(owned, wanted)
    assert [len(messages) for messages in exchange.rounds] == [4]


def test_pieces_of_a_roll_share_a_round():
    owned = blocks(12, (4,))
    last = ((11, 12), (0, 0), (0, 0), (0, 0))
    others = tuple((max(begin - 1, 0), end - 1) for begin, end in owned)
    assert [len(exchange_of(owned, each).rounds) for each in (last, others)] == [1, 1]
    (ring,) = exchange_of(owned, last, others).rounds
    assert {(each.source, each.target, each.piece) for each in ring} == {
        (3, 0, 0),
        (0, 1, 1),
        (1, 2, 1),
        (2, 3, 1),
    }


def test_pieces_that_one_rank_gets_from_one_other_are_two_rounds():
    owned = blocks(8, (2,))
    assert len(exchange_of(owned, ((4, 5), (0, 0)), ((6, 7), (0, 0))).rounds) == 2


def test_two_exchange_their_rows_in_one_round():
    exchange = exchange_of(((0, 6), (6, 12)), ((0, 7), (5, 12)))
    assert [len(messages) for messages in exchange.rounds] == [2]


def test_nothing_is_sent_where_all_is_there():
    owned = blocks(7, (3,))
    assert exchange_of(owned, owned) == Exchange((), 0)


def test_the_nearest_of_those_that_have_it_sends():
    owned = ((0, 2), (0, 2), (2, 4), (2, 4))
    exchange = exchange_of(owned, ((0, 4), (0, 2), (2, 4), (0, 4)))
    pairs = {(message.source, message.target) for messages in exchange.rounds for message in messages}
    assert pairs == {(2, 0), (1, 3)}


def test_a_flip_takes_few_rounds_for_many_members():
    owned = blocks(1000, (64,))
    exchange = exchange_of(owned, tuple((1000 - end, 1000 - begin) for begin, end in owned))
    assert len(exchange.rounds) <= 3


@given(st.data(), st.integers(1, 6), st.integers(1, 25))
def test_everybody_gets_what_it_wants_and_no_more(data: st.DataObject, members: int, extent: int):
    owned = blocks(max(extent, members), (members,))
    last = owned[-1][1]
    wanted: list[Interval] = []
    for _ in owned:
        begin = data.draw(st.integers(0, last))
        end = data.draw(st.integers(begin, last))
        wanted.append((begin, end) if begin < end else (0, 0))
    exchange = exchange_of(owned, tuple(wanted))
    for own, want, has in zip(owned, wanted, received(exchange, owned), strict=True):
        assert has == set(range(*own)) | set(range(*want))

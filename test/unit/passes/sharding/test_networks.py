"""Networks in which ranks merge their parts: what they sort, and which is chosen."""

from itertools import product

import pytest
from tenon.dialects import graph
from tenon.dialects.element_types import NBYTES
from tenon.dialects.graph import tensor_of
from tenon.passes.sharding.networks import merge_exchange, neighbour_exchange, network_of
from xdsl.dialects import test
from xdsl.dialects.builtin import f32, f64, i32, i64


def ordering(op, element):
    (source,) = test.TestOp(result_types=[tensor_of(element, (64,))]).results
    return op(source, 0)


@pytest.mark.parametrize("network", [neighbour_exchange, merge_exchange])
@pytest.mark.parametrize("count", range(1, 10))
def test_a_network_sorts_whatever_it_is_given(network, count: int):
    # What sorts all rows of zeros and ones sorts all others.
    for row in product((0, 1), repeat=count):
        values = list(row)
        for pairs in network(count):
            members = [member for pair in pairs for member in pair]
            assert pairs and len(set(members)) == len(members)
            for low, high in pairs:
                assert 0 <= low < high < count
                values[low], values[high] = sorted((values[low], values[high]))
        assert values == sorted(row)


def test_integers_meet_wherever_that_takes_fewer_merges():
    network = network_of(ordering(graph.SortOp, i32), 64, 8)
    assert network.rounds == merge_exchange(8) and network.number is None
    assert network.sent(8) == 2 * 19 / 8 and network.nbytes(i32) == 4


def test_floats_meet_neighbours_on_few_ranks_and_have_their_places_with_them_on_many():
    assert network_of(ordering(graph.SortOp, f32), 64, 8).rounds == neighbour_exchange(8)
    assert network_of(ordering(graph.SortOp, f32), 64, 64).number == i32
    assert network_of(ordering(graph.SortOp, f64), 64, 16).nbytes(f64) == NBYTES[f64] + 4


def test_positions_are_of_the_elements_of_all_ranks():
    assert network_of(ordering(graph.ArgsortOp, f32), 64, 2).number == i32
    assert network_of(ordering(graph.ArgsortOp, f32), 2**31, 2).number == i64

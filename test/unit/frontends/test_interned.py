"""Objects of which there is one for each key, as long as anybody has it."""

import gc

from tenon.frontends.arrays.interned import LEAST_SWEPT, Interned


class Thing:
    pass


def test_there_is_one_object_for_a_key_while_anybody_has_it() -> None:
    table: Interned[str, Thing] = Interned()
    assert table.get("a") is None
    first, second = Thing(), Thing()
    assert table.add("a", first) is first
    assert table.add("a", second) is first and table.get("a") is first
    del first
    gc.collect()
    assert table.get("a") is None
    assert table.add("a", second) is second and table.get("a") is second


def test_a_table_forgets_what_is_gone() -> None:
    table: Interned[int, Thing] = Interned()
    kept = [table.add(number, Thing()) for number in range(3)]
    for number in range(10 * LEAST_SWEPT):
        table.add(-1 - number, Thing())
    assert len(table) <= LEAST_SWEPT
    assert [table.get(number) for number in range(3)] == kept


def test_a_table_that_is_full_of_what_is_used_grows() -> None:
    table: Interned[int, Thing] = Interned()
    n_things = 3 * LEAST_SWEPT
    kept = [table.add(number, Thing()) for number in range(n_things)]
    assert len(table) == n_things and [table.get(number) for number in range(n_things)] == kept

"""The lattice of memory modes, against a table that is written out, and against its laws."""

from itertools import product

import pytest
from tenon.dialects import memory_modes as modes
from tenon.dialects.memory_modes import (
    CHOICES,
    MEMORY_MODES,
    MERGED,
    HostedKind,
    MemoryMode,
    ModeKind,
    Sharing,
    merge,
    merge_sharing,
    most_local,
)
from tenon.errors import MemoryModeError

SHORT_NAMES = {
    "EC": "effectively_constant",
    "V": "virtual",
    "NV": "never_virtual",
    "L": "local",
    "DO": "device_only",
    "D": "on_device",
    "Dp": "on_device(per_stream)",
    "Ds": "on_device(shared_cross_streams)",
    "M": "materialized",
    "H": "hosted",
    "Hc": "hosted(constant)",
    "Hn": "hosted(nonconstant)",
    "Hd": "hosted(changed_on_devices)",
    "Hdp": "hosted(changed_on_devices(per_stream))",
    "Hds": "hosted(changed_on_devices(shared_cross_streams))",
    "Hv": "hosted(volatile)",
}

LATTICE = """
     EC  V   NV  L   DO  D   Dp  Ds  M   H   Hc  Hn  Hd  Hdp Hds Hv
EC   EC  V   Hc  -   -   -   -   -   Hc  Hc  Hc  -   -   -   -   -
V    V   V   -   -   -   -   -   -   -   -   -   -   -   -   -   -
NV   Hc  -   NV  L   DO  D   Dp  Ds  M   H   Hc  Hn  Hd  Hdp Hds Hv
L    -   -   L   L   L   -   -   -   -   -   -   -   -   -   -   -
DO   -   -   DO  L   DO  D   Dp  Ds  D   -   -   -   -   -   -   -
D    -   -   D   -   D   D   Dp  Ds  D   -   -   -   -   -   -   -
Dp   -   -   Dp  -   Dp  Dp  Dp  -   Dp  -   -   -   -   -   -   -
Ds   -   -   Ds  -   Ds  Ds  -   Ds  Ds  -   -   -   -   -   -   -
M    Hc  -   M   -   D   D   Dp  Ds  M   H   Hc  Hn  Hd  Hdp Hds Hv
H    Hc  -   H   -   -   -   -   -   H   H   Hc  Hn  Hd  Hdp Hds Hv
Hc   Hc  -   Hc  -   -   -   -   -   Hc  Hc  Hc  -   -   -   -   -
Hn   -   -   Hn  -   -   -   -   -   Hn  Hn  -   Hn  Hd  Hdp Hds Hv
Hd   -   -   Hd  -   -   -   -   -   Hd  Hd  -   Hd  Hd  Hdp Hds -
Hdp  -   -   Hdp -   -   -   -   -   Hdp Hdp -   Hdp Hdp Hdp -   -
Hds  -   -   Hds -   -   -   -   -   Hds Hds -   Hds Hds -   Hds -
Hv   -   -   Hv  -   -   -   -   -   Hv  Hv  -   Hv  -   -   -   Hv
"""
"""What two requests for a mode come to; `-` is a conflict."""

SHARINGS = """
      unset per_stream shared_cross_streams
none  D     Dp         Ds
EC    -     -          Hc
V     -     -          -
NV    D     Dp         Ds
L     -     -          -
DO    D     Dp         Ds
D     D     Dp         Ds
Dp    -     Dp         -
Ds    -     -          Ds
M     D     Dp         Ds
H     Hd    Hdp        Hds
Hc    -     -          Hc
Hn    Hd    Hdp        Hds
Hd    Hd    Hdp        Hds
Hdp   -     Hdp        -
Hds   -     -          Hds
Hv    -     -          Hv
"""
"""What a mode comes to when its sharing is decided; `-` is a conflict."""

PREDICATES = {
    "known_not_materialized": "V L",
    "known_constant": "EC Hc",
    "known_volatile": "Hv",
    "known_virtual": "V",
    "known_non_virtual": "NV L DO D Dp Ds M H Hc Hn Hd Hdp Hds Hv",
    "known_shared_cross_streams": "Ds Hc Hds Hv",
    "known_non_cross_stream": "Dp Hdp",
    "potentially_cross_stream": "none EC NV DO D Ds M H Hc Hn Hd Hds Hv",
    "mode_is_unspecified": "none EC NV H",
}
"""The modes of which each predicate is true; `none` is that nothing is asked for yet."""

MOST_LOCAL = (
    "none V V, EC V V, V V V, NV L D, L L L, DO L D, M D D, D D D, Dp Dp Dp, H H H, Hc Hc Hc, Hn Hn Hn"
)
"""A mode, and the most local one that it leaves: of a small tensor, of a large one."""


def mode(short: str) -> MemoryMode | None:
    return None if short in ("-", "none") else MemoryMode.parse(SHORT_NAMES[short])


def rows(table: str) -> list[tuple[str, str, str]]:
    """Returns the row, the column and the entry of every cell."""
    head, *lines = (line.split() for line in table.strip().splitlines())
    return [(line[0], column, entry) for line in lines for column, entry in zip(head, line[1:], strict=True)]


def all_combinations() -> list[tuple[ModeKind, HostedKind, Sharing]]:
    return list(product(ModeKind, HostedKind, Sharing))


def is_mode(kind: ModeKind, hosted: HostedKind, sharing: Sharing) -> bool:
    try:
        MemoryMode(kind, hosted, sharing)
    except MemoryModeError:
        return False
    return True


def test_the_table_names_every_mode():
    assert sorted(SHORT_NAMES.values()) == sorted(str(each) for each in MEMORY_MODES)
    assert len(rows(LATTICE)) == len(MEMORY_MODES) ** 2


@pytest.mark.parametrize(("old", "new", "expected"), rows(LATTICE))
def test_every_pair_of_modes_merges_to_what_the_table_says(old: str, new: str, expected: str):
    first, second = mode(old), mode(new)
    assert second is not None
    assert merge(first, second) == mode(expected)


def test_what_is_merged_with_no_mode_is_unchanged():
    assert [merge(None, each) for each in MEMORY_MODES] == list(MEMORY_MODES)


def test_merging_a_mode_with_itself_changes_nothing():
    assert all(merge(each, each) == each for each in MEMORY_MODES)


def test_the_order_of_two_requests_does_not_matter():
    assert all(merge(a, b) == merge(b, a) for a, b in product(MEMORY_MODES, repeat=2))


def test_the_grouping_of_three_requests_does_not_matter():
    for a, b, c in product(MEMORY_MODES, repeat=3):
        left, right = merge(a, b), merge(b, c)
        outer_left = None if left is None else merge(left, c)
        outer_right = None if right is None else merge(a, right)
        assert outer_left == outer_right, f"{a}, {b}, {c}"


def test_merging_only_narrows():
    for (old, new), merged in MERGED.items():
        assert CHOICES[merged] <= CHOICES[old]
        assert CHOICES[merged] <= CHOICES[new]
        assert merge(merged, old) == merge(merged, new) == merged


def test_a_narrower_request_never_merges_to_a_wider_mode():
    for (wide, narrow), other in product(product(MEMORY_MODES, repeat=2), MEMORY_MODES):
        if CHOICES[narrow] <= CHOICES[wide] and (merged := merge(narrow, other)) is not None:
            wider = merge(wide, other)
            assert wider is not None
            assert CHOICES[merged] <= CHOICES[wider]


def test_the_decided_modes_leave_themselves_only():
    decided = [each for each, choices in CHOICES.items() if len(choices) == 1]
    assert all(CHOICES[each] == {each} for each in decided)
    assert set(decided) == set().union(*CHOICES.values())


@pytest.mark.parametrize(("old", "sharing", "expected"), rows(SHARINGS))
def test_every_mode_takes_the_sharings_that_the_table_says(old: str, sharing: str, expected: str):
    assert merge_sharing(mode(old), Sharing(sharing)) == mode(expected)


def test_deciding_the_sharing_only_narrows():
    for old, sharing in product(MEMORY_MODES, Sharing):
        merged = merge_sharing(old, sharing)
        if merged is not None:
            assert CHOICES[merged] <= CHOICES[old]


@pytest.mark.parametrize("name", PREDICATES)
def test_every_predicate_is_true_of_the_modes_that_the_table_says(name: str):
    predicate = getattr(modes, name)
    true_of = [short for short in ("none", *SHORT_NAMES) if predicate(mode(short))]
    assert sorted(true_of) == sorted(PREDICATES[name].split())


@pytest.mark.parametrize(
    "name", ["known_not_materialized", "known_volatile", "known_virtual", "known_non_virtual"]
)
def test_what_is_known_stays_known(name: str):
    predicate = getattr(modes, name)
    assert all(predicate(merged) for (old, _), merged in MERGED.items() if predicate(old))


@pytest.mark.parametrize("row", MOST_LOCAL.split(", "))
def test_the_most_local_mode_is_the_one_in_the_table(row: str):
    old, small, large = map(mode, row.split())
    assert most_local(old, fits_locally=True) == small
    assert most_local(old, fits_locally=False) == large


def test_the_most_local_mode_is_one_that_was_left():
    for old, fits in product(MEMORY_MODES, (True, False)):
        assert CHOICES[most_local(old, fits_locally=fits)] <= CHOICES[old]


def test_every_mode_parses_from_its_text():
    assert [MemoryMode.parse(str(each)) for each in MEMORY_MODES] == list(MEMORY_MODES)


def test_the_text_of_a_mode_may_have_spaces():
    assert str(MemoryMode.parse(" hosted( changed_on_devices (per_stream) ) ")) == (
        "hosted(changed_on_devices(per_stream))"
    )


@pytest.mark.parametrize("text", ["", "host", "virtual(constant)", "on_device(", "hosted(per_stream)"])
def test_a_text_that_names_no_mode_is_an_error_that_lists_them(text: str):
    with pytest.raises(MemoryModeError) as error:
        MemoryMode.parse(text)
    assert str(error.value).startswith(f"memory mode: '{text}' is none of effectively_constant, virtual,")


def test_the_modes_are_all_combinations_that_mean_something():
    combinations = [parts for parts in all_combinations() if is_mode(*parts)]
    assert {MemoryMode(*parts) for parts in combinations} == set(MEMORY_MODES)
    assert len(combinations) == len(MEMORY_MODES)


def test_only_what_is_hosted_has_a_hosted_kind():
    with pytest.raises(MemoryModeError, match="memory mode: on_device cannot be volatile, only hosted can"):
        MemoryMode(ModeKind.ON_DEVICE, HostedKind.VOLATILE)


def test_only_what_is_on_devices_has_a_sharing():
    with pytest.raises(
        MemoryModeError,
        match=r"memory mode: hosted\(constant\) cannot be per_stream, only on_device and "
        r"hosted\(changed_on_devices\) can",
    ):
        MemoryMode(ModeKind.HOSTED, HostedKind.CONSTANT, Sharing.PER_STREAM)
    with pytest.raises(MemoryModeError, match="memory mode: local cannot be per_stream, only"):
        MemoryMode(ModeKind.LOCAL, sharing=Sharing.PER_STREAM)

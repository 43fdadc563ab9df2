import pytest
from hypothesis import given
from hypothesis import strategies as st
from tenon.dialects.buffer_size import ALIGNMENT, in_a_row
from tenon.errors import OutOfMemoryError
from tenon.runtime.memory.segments import POOL_LIMIT, Request, Segment, aligned, offsets_of, pack


@pytest.mark.parametrize(("nbytes", "expected"), [(0, 64), (1, 64), (64, 64), (65, 128), (1 << 32, 1 << 32)])
def test_sizes_are_rounded_up_to_the_alignment_and_never_to_nothing(nbytes: int, expected: int):
    assert aligned(nbytes) == expected


def test_offsets_of_a_pool_fit_32_bits():
    assert POOL_LIMIT == 2**32


def test_nothing_needs_no_pool():
    assert pack([], 64) == []


def test_tensors_lie_one_after_the_other():
    requests = [Request("a", 4), Request("b", 100), Request("c", 0)]
    assert pack(requests, 1024) == [Segment(256, 104, {0: 0, 1: 64, 2: 192})]


def test_what_does_not_fit_goes_to_the_next_pool_and_later_ones_fill_the_gaps():
    requests = [Request("a", 64), Request("b", 192), Request("c", 64), Request("d", 65)]
    assert pack(requests, 192) == [
        Segment(128, 128, {0: 0, 2: 64}),
        Segment(192, 192, {1: 0}),
        Segment(128, 65, {3: 0}),
    ]


def test_a_pool_may_be_filled_to_the_limit():
    assert pack([Request("a", 128)], 128) == [Segment(128, 128, {0: 0})]


def test_one_tensor_above_the_limit_is_named():
    with pytest.raises(
        OutOfMemoryError,
        match=r"weights\.2: 129 bytes do not fit into a pool of at most 128$",
    ):
        pack([Request("a", 1), Request("weights.2", 129)], 128)
    with pytest.raises(OutOfMemoryError, match=r"4294967296 \(hint: large_offsets=True lifts the limit\)"):
        pack([Request("a", POOL_LIMIT + 1)], POOL_LIMIT)


def test_only_whole_alignments_below_the_limit_count():
    with pytest.raises(OutOfMemoryError, match="a: 65 bytes do not fit into a pool of at most 100"):
        pack([Request("a", 65)], 100)


@given(sizes=st.lists(st.integers(0, 500), max_size=30), limit=st.integers(512, 2000))
def test_no_two_tensors_overlap_and_no_pool_is_above_the_limit(sizes: list[int], limit: int):
    segments = pack([Request(str(number), nbytes) for number, nbytes in enumerate(sizes)], limit)
    assert sorted(number for segment in segments for number in segment.offsets) == [*range(len(sizes))]
    assert sum(segment.payload_nbytes for segment in segments) == sum(sizes)
    for segment in segments:
        assert segment.nbytes <= limit
        end = 0
        for number, offset in sorted(segment.offsets.items(), key=lambda item: item[1]):
            assert offset == end and offset % ALIGNMENT == 0
            end = offset + aligned(sizes[number])
        assert end == segment.nbytes


def test_a_row_ends_where_the_next_buffer_would_begin():
    assert in_a_row([]) == [0]
    assert in_a_row([1, 64, 0, 65]) == [0, 64, 128, 128, 256]
    assert in_a_row([5, 8, 0], 8) == [0, 8, 16, 16]


def test_what_has_no_elements_has_a_place_in_a_pool():
    assert offsets_of([1, 64, 0, 65]) == [0, 64, 128, 192, 320]

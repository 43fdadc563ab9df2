from hypothesis import given
from hypothesis import strategies as st
from tenon.passes.sched.host.slab_layout import Span, lay_out, peak_nbytes

SPANS = st.lists(
    st.builds(
        lambda first, length, nbytes: Span(first, first + length, nbytes * 64),
        st.integers(0, 20),
        st.integers(0, 8),
        st.integers(0, 6),
    ),
    max_size=30,
)


@given(SPANS)
def test_spans_that_live_together_share_no_byte(spans: list[Span]):
    offsets = lay_out(spans)
    for i, (one, start) in enumerate(zip(spans, offsets, strict=True)):
        for other, other_start in list(zip(spans, offsets, strict=True))[:i]:
            if one.first <= other.last and other.first <= one.last:
                assert start + one.nbytes <= other_start or other_start + other.nbytes <= start


@given(SPANS)
def test_the_layout_takes_no_less_than_the_peak_and_no_more_than_all_together(spans: list[Span]):
    offsets = lay_out(spans)
    end = max((start + span.nbytes for start, span in zip(offsets, spans, strict=True)), default=0)
    assert peak_nbytes(spans) <= end <= sum(span.nbytes for span in spans)


@given(SPANS)
def test_offsets_are_multiples_of_what_all_sizes_are(spans: list[Span]):
    assert all(offset % 64 == 0 for offset in lay_out(spans))


def test_the_smallest_gap_that_fits_is_taken():
    # At time 2 what stays is 80 at 100 and 50 at 240: the gaps are 100 at 0 and 60 at 180.
    spans = [Span(0, 1, 100), Span(0, 9, 80), Span(0, 1, 60), Span(0, 9, 50), Span(2, 3, 45)]
    assert lay_out(spans) == [0, 100, 180, 240, 180]


def test_spans_of_no_bytes_are_in_nobodys_way():
    assert lay_out([Span(0, 5, 0), Span(0, 5, 64), Span(0, 5, 0)]) == [0, 0, 0]


def test_the_peak_of_nothing_is_nothing():
    assert peak_nbytes([]) == 0
    assert lay_out([]) == []


def test_the_peak_counts_the_last_time_of_a_span():
    assert peak_nbytes([Span(0, 2, 10), Span(2, 4, 20), Span(5, 6, 25)]) == 30

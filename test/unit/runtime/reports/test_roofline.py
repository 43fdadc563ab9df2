import pytest
from tenon.runtime.reports.roofline import Bound, MemoryLevel, Roofline
from tenon.runtime.timeline.step_cost import StepCost

L1 = MemoryLevel("L1", 1024, read_gbps=100, write_gbps=50, copy_gbps=80)
MEMORY = MemoryLevel("memory", None, read_gbps=10, write_gbps=5, copy_gbps=8)
ROOFLINE = Roofline("a device", 1, {"f32": 64.0, "f64": 32.0}, (L1, MEMORY))


def test_what_is_read_and_written_in_equal_parts_goes_at_the_rate_of_a_copy():
    assert MEMORY.least_nanoseconds(StepCost(0, 400, 400)) == pytest.approx(100)


def test_what_is_left_goes_at_the_rate_of_reading_or_of_writing():
    assert MEMORY.least_nanoseconds(StepCost(0, 500, 400)) == pytest.approx(100 + 10)
    assert MEMORY.least_nanoseconds(StepCost(0, 400, 500)) == pytest.approx(100 + 20)
    assert MEMORY.least_nanoseconds(StepCost(0, 0, 0)) == 0


def test_the_level_is_the_smallest_that_holds_all_bytes():
    assert ROOFLINE.level_of(0) is L1
    assert ROOFLINE.level_of(1024) is L1
    assert ROOFLINE.level_of(1025) is MEMORY


def test_a_last_level_with_a_limit_holds_everything():
    assert Roofline("a device", 1, {"f32": 1.0}, (L1,)).level_of(1 << 40) is L1


def test_arithmetic_goes_at_the_rate_of_its_element_type():
    assert ROOFLINE.compute_nanoseconds(StepCost(640, 0, 0)) == pytest.approx(10)
    assert ROOFLINE.compute_nanoseconds(StepCost(640, 0, 0, "f64")) == pytest.approx(20)


def test_an_element_type_that_was_not_measured_goes_as_f32_does():
    assert Roofline("a device", 1, {"f32": 64.0}, (L1,)).compute_nanoseconds(
        StepCost(640, 0, 0, "f64")
    ) == pytest.approx(10)


def test_the_longer_of_two_is_the_bound():
    busy, idle = StepCost(64_000, 100, 0), StepCost(64, 1000, 0)
    assert ROOFLINE.least_nanoseconds(busy) == pytest.approx(1000)
    assert ROOFLINE.least_nanoseconds(idle) == pytest.approx(10)
    assert ROOFLINE.bound_of([(busy, 1)]) is Bound.COMPUTE
    assert ROOFLINE.bound_of([(idle, 1)]) is Bound.MEMORY
    assert ROOFLINE.bound_of([(busy, 1), (idle, 1)]) is Bound.COMPUTE
    assert ROOFLINE.bound_of([(busy, 1), (idle, 1000)]) is Bound.MEMORY


def test_a_roofline_is_text():
    assert str(ROOFLINE) == (
        "roofline of a device, 1 worker: f32 64 GFLOP/s, f64 32 GFLOP/s\n"
        "  L1 (to 1 KiB): read 100, write 50, copy 80 GB/s\n"
        "  memory (beyond): read 10, write 5, copy 8 GB/s"
    )


@pytest.mark.parametrize(
    ("nbytes", "text"), [(100, "100 bytes"), (48 << 10, "48 KiB"), (3 << 19, "1.5 MiB"), (2 << 30, "2 GiB")]
)
def test_sizes_are_in_the_largest_unit(nbytes: int, text: str):
    level = MemoryLevel("L1", nbytes, 1, 1, 1)
    assert f"(to {text})" in str(Roofline("a device", 2, {"f32": 1.0}, (level,)))

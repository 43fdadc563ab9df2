"""Programs as one call after the other."""

from collections.abc import Sequence
from typing import Any

import pytest
from tenon.backends.interface import BufferLoc, CallableKernel, CompiledArtifact
from tenon.backends.serial_program import SerialProgram
from tenon.backends.steps import CopyStep, LaunchStep, SyncStep
from tenon.errors import DeviceError

PLACES = [BufferLoc(1, 8 * number) for number in range(3)]
ARTIFACT = CompiledArtifact(None, ("k",))


class NotingDriver:
    """Notes what it is told to do; fails in what it is told to."""

    def __init__(self, failure: str | None = None) -> None:
        self.calls: list[Any] = []
        self._failure = failure

    def get_kernel(self, artifact: CompiledArtifact, name: str) -> CallableKernel:
        self.calls.append(name)
        return CallableKernel(None, name)

    def launch(
        self,
        kernel: CallableKernel,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: Sequence[BufferLoc],
        sizes: Sequence[int] = (),
    ) -> None:
        self._note((kernel.name, tuple(grid), tuple(block), tuple(arguments)))

    def copy_on_device(self, target: BufferLoc, source: BufferLoc, nbytes: int) -> None:
        self._note((target, source, nbytes))

    def synchronize(self) -> None:
        self.calls.append("synchronize")

    def _note(self, call: object) -> None:
        if self._failure is not None:
            raise DeviceError(self._failure)
        self.calls.append(call)


def program_of(driver: Any, *steps: Any, places: Sequence[BufferLoc | None] = PLACES) -> SerialProgram:
    return SerialProgram(driver, ARTIFACT, steps, places)


LAUNCH = LaunchStep("k", (2, 1, 1), (4, 1, 1), (0, 2))


def test_steps_run_in_their_order_with_one_kernel_for_all_launches():
    driver = NotingDriver()
    program = program_of(driver, LAUNCH, SyncStep(), CopyStep(2, 1, 8), LAUNCH)
    program.run()
    launch = ("k", (2, 1, 1), (4, 1, 1), (PLACES[0], PLACES[2]))
    assert driver.calls == ["k", launch, (PLACES[1], PLACES[2], 8), launch]


def test_a_buffer_that_is_placed_anew_is_where_it_is_placed():
    driver = NotingDriver()
    program = program_of(driver, CopyStep(2, 1, 8))
    program.place(1, BufferLoc(7, 0))
    program.run()
    program.place(1, BufferLoc(7, 0))
    program.run()
    assert driver.calls == [(BufferLoc(7, 0), PLACES[2], 8)] * 2


def test_a_buffer_without_a_place_is_refused():
    program = program_of(NotingDriver(), CopyStep(2, 1, 8), places=[None, None, PLACES[0]])
    with pytest.raises(AssertionError, match=r"^buffer 1 has no place$"):
        program.run()


def test_a_timed_run_waits_for_each_step():
    driver = NotingDriver()
    times = program_of(driver, CopyStep(2, 1, 8), SyncStep()).run_timed()
    assert driver.calls == ["synchronize", (PLACES[1], PLACES[2], 8), "synchronize", "synchronize"]
    assert 0 <= times[0].begin_ns <= times[0].end_ns <= times[1].begin_ns <= times[1].end_ns


def test_an_error_names_the_step_once():
    with pytest.raises(DeviceError, match=r"^@k: it burns$"):
        program_of(NotingDriver("it burns"), LAUNCH).run()
    with pytest.raises(DeviceError, match=r"^@k burns$"):
        program_of(NotingDriver("@k burns"), LAUNCH).run()
    with pytest.raises(DeviceError, match=r"^copy: it burns$"):
        program_of(NotingDriver("it burns"), CopyStep(2, 1, 8)).run()

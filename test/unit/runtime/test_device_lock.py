from threading import Thread

import pytest
from tenon.errors import CallError, DeviceError
from tenon.runtime.device_lock import DeviceLock
from tenon.runtime.executables.turn import RunningCalls, Turn


def test_who_holds_the_lock_may_step_aside() -> None:
    lock = DeviceLock()
    with lock:
        assert lock.locked()
        with lock.aside():
            assert not lock.locked()
            with lock:
                assert lock.locked()
        assert lock.locked()
    assert not lock.locked()


def test_stepping_aside_does_nothing_for_others() -> None:
    lock = DeviceLock()
    with lock.aside():
        assert not lock.locked()
    seen: list[bool] = []

    def look() -> None:
        with lock.aside():
            seen.append(lock.locked())
        seen.append(lock.acquire(blocking=False))

    with lock:
        thread = Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [True, False]


def test_a_thread_does_not_take_the_lock_twice() -> None:
    lock = DeviceLock()
    with lock:
        with pytest.raises(DeviceError, match="the device waits for the callback that uses it"), lock:
            pass
        assert not lock.acquire(blocking=False)


def test_a_turn_is_not_taken_twice_by_a_thread() -> None:
    turn = Turn("f")
    with (
        turn,
        pytest.raises(CallError, match="f: its own callback uses it, and with tensor nodes"),
        turn,
    ):
        pass
    with turn:
        pass


def test_closing_waits_for_the_calls_that_run() -> None:
    running, ended = RunningCalls(), list[str]()
    running.close()

    def close() -> None:
        running.close()
        ended.append("closed")

    with running, running:
        thread = Thread(target=close)
        thread.start()
        ended.append("calls")
    thread.join(60)
    assert ended == ["calls", "closed"]

"""A lock that is an error to take twice, and that nobody has in a forked process."""

import os
import threading

import pytest
from tenon.errors import TenonError
from tenon.runtime.exclusive_lock import ExclusiveLock


def test_taking_it_twice_in_one_thread_is_refused():
    lock = ExclusiveLock(lambda: TenonError("once more"))
    with lock:
        assert lock.is_own and not lock.acquire(blocking=False)
        with pytest.raises(TenonError, match="once more"):
            lock.acquire()
    assert not lock.locked()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_a_thread_that_it_has_not():
    lock = ExclusiveLock(lambda: TenonError("once more"))
    is_taken, is_done = threading.Event(), threading.Event()

    def hold():
        with lock:
            is_taken.set()
            is_done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    is_taken.wait()
    child = os.fork()
    if not child:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    try:
        assert os.waitpid(child, 0)[1] == 0
        assert lock.locked() and not lock.is_own
    finally:
        is_done.set()
        thread.join()

import gc
import os
import threading
import weakref
from collections.abc import Iterator
from threading import Lock, Thread

import pytest
from tenon.errors import DeviceError, DeviceLostError, RoutineError
from tenon.runtime.streams.event import Event, JoinedEvent
from tenon.runtime.streams.queue_worker import QueueWorkerRunner
from tenon.runtime.streams.runner import QueueRunner, Runner, SyncRunner, WorkerRunner
from tenon.runtime.timeline.spans import Category, Track
from tenon.runtime.timeline.timeline import record_timeline
from tenon.test.gate import Gate

from .fake_queue import FakeQueue


class Failing:
    """Work that raises."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self) -> None:
        raise self.error


def print_to(pipe: int) -> None:
    os.write(pipe, b"child")


def queue_runner(name: str = "q:0", family: str = "a") -> tuple[QueueRunner, FakeQueue]:
    queue = FakeQueue(family)
    return QueueRunner(Track("q", name), Lock(), queue), queue  # pyright: ignore[reportArgumentType]


def sync_runner(name: str = "s:0") -> SyncRunner:
    return SyncRunner(Track("s", name), Lock())


def worker_runner(name: str = "w:0") -> WorkerRunner:
    return WorkerRunner(Track("w", name), Lock())


def queue_worker(name: str = "q:0.1", family: str = "a") -> tuple[QueueWorkerRunner, FakeQueue]:
    queue = FakeQueue(family)
    return QueueWorkerRunner(Track("q", name), Lock(), queue), queue  # pyright: ignore[reportArgumentType]


@pytest.fixture(params=["sync", "worker", "queue", "queue worker"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """Each kind of runner."""
    if request.param == "queue":
        runner: Runner = queue_runner("d:0")[0]
    elif request.param == "queue worker":
        runner = queue_worker("d:0")[0]
    else:
        runner = {"sync": sync_runner, "worker": worker_runner}[request.param]("d:0")
    yield runner
    runner.close()


@pytest.fixture
def worker() -> Iterator[WorkerRunner]:
    runner = worker_runner()
    yield runner
    runner.close()


def test_work_runs_in_the_order_of_its_submission(runner: Runner):
    done: list[int] = []
    events = [runner.submit(f"work {i}", lambda i=i: done.append(i)) for i in range(100)]
    events[49].sync()
    assert done[:50] == [*range(50)]
    runner.all_work().sync()
    assert done == [*range(100)]
    assert all(event.is_done for event in events)
    assert runner.all_work().is_done


def test_a_runner_without_work_is_idle(runner: Runner):
    assert runner.all_work().is_done
    runner.all_work().sync()
    assert runner.all_work().is_done
    assert runner.lost is None


def test_an_event_says_where_it_stands(runner: Runner):
    runner.submit("a", lambda: None)
    event = runner.submit("b", lambda: None)
    event.sync()
    assert repr(event) == "<Event 2 of d:0, done>"


def test_a_failure_is_raised_at_the_next_synchronisation_once_and_names_the_work(runner: Runner):
    done: list[str] = []
    runner.submit("train step", Failing(ValueError("no such digit")))
    after = runner.submit("after", lambda: done.append("after"))
    with pytest.raises(RoutineError, match=r"^train step: ValueError: no such digit$") as caught:
        after.sync()
    assert caught.value.routine == "train step"
    assert isinstance(caught.value.__cause__, ValueError)
    assert done == ["after"]
    after.sync()
    runner.all_work().sync()
    assert runner.lost is None


def test_the_message_of_a_device_error_is_kept_as_it_is(runner: Runner):
    runner.submit("copy x", Failing(DeviceError("pool 3 is not allocated")))
    with pytest.raises(RoutineError, match=r"^copy x: pool 3 is not allocated$"):
        runner.all_work().sync()


def test_failures_that_meet_are_raised_together(runner: Runner):
    runner.submit("a", Failing(ValueError("1")))
    runner.submit("b", Failing(ValueError("2")))
    with pytest.raises(RoutineError, match=r"^a: ValueError: 1") as caught:
        runner.all_work().sync()
    assert caught.value.__notes__ == ["also failed: b: ValueError: 2"]
    runner.all_work().sync()


def test_asking_whether_an_event_is_done_raises_nothing(runner: Runner):
    event = runner.submit("a", Failing(ValueError("1")))
    runner.wait(event)
    assert event.is_done
    assert runner.all_work().is_done
    with pytest.raises(RoutineError):
        event.sync()


def test_a_lost_device_takes_no_more_work(runner: Runner):
    done: list[str] = []
    event = runner.submit("step", Failing(DeviceLostError("the bus is gone")))
    runner.wait(event)
    for _ in range(2):
        with pytest.raises(
            DeviceLostError, match=r"^d:0 is lost: the bus is gone \(in flight: step"
        ) as caught:
            runner.all_work().sync()
        assert caught.value.in_flight[0] == "step"
    with pytest.raises(DeviceLostError, match=r"^d:0 is lost: the bus is gone \(in flight: step"):
        runner.submit("later", lambda: done.append("later"))
    assert isinstance(runner.lost, DeviceLostError)
    assert done == []


def test_work_waits_for_events_of_other_runners(runner: Runner, worker: WorkerRunner):
    gate, order = Gate(), list[str]()
    event = worker.submit("first", gate.then(lambda: order.append("first")))
    gate.begun.wait(10)
    opener = Thread(target=gate.open.set)
    opener.start()
    runner.submit("second", lambda: order.append("second"), [event])
    runner.all_work().sync()
    opener.join()
    assert order == ["first", "second"]


def test_all_later_work_waits_for_an_event(runner: Runner, worker: WorkerRunner):
    gate, order = Gate(), list[str]()
    event = worker.submit("first", gate.then(lambda: order.append("first")))
    gate.begun.wait(10)
    opener = Thread(target=gate.open.set)
    opener.start()
    runner.wait_for(event)
    runner.submit("second", lambda: order.append("second"))
    runner.all_work().sync()
    opener.join()
    assert order == ["first", "second"]


def test_waiting_for_own_events_is_no_work(runner: Runner):
    event = runner.submit("a", lambda: None)
    runner.wait_for(event)
    runner.submit("b", lambda: None, [event]).sync()
    assert runner.all_work().ticket == 2


def test_work_that_waits_for_failed_work_of_another_runner_runs(runner: Runner, worker: WorkerRunner):
    done: list[str] = []
    event = worker.submit("broken", Failing(ValueError("1")))
    runner.submit("after", lambda: done.append("after"), [event]).sync()
    assert done == ["after"]
    with pytest.raises(RoutineError, match="broken: ValueError: 1"):
        worker.all_work().sync()


def test_work_holds_the_lock_of_the_driver():
    lock = Lock()
    held: list[bool] = []
    SyncRunner(Track("s", "s:0"), lock).submit("a", lambda: held.append(lock.locked()))
    assert held == [True]
    assert not lock.locked()


def test_what_fails_gives_the_lock_back():
    lock = Lock()
    SyncRunner(Track("s", "s:0"), lock).submit("a", Failing(ValueError("1")))
    assert not lock.locked()


def test_many_threads_submit_and_wait(runner: Runner):
    done: list[int] = []

    def submit(first: int) -> None:
        for i in range(first, first + 50):
            runner.submit(f"work {i}", lambda i=i: done.append(i)).sync()

    threads = [Thread(target=submit, args=(50 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [*range(400)]
    positions = {value: place for place, value in enumerate(done)}
    assert all(positions[i] < positions[i + 1] for i in range(399) if i % 50 != 49)


def test_closing_finishes_what_is_queued(runner: Runner):
    done: list[int] = []
    for i in range(20):
        runner.submit(f"work {i}", lambda i=i: done.append(i))
    runner.close()
    assert done == [*range(20)]
    runner.close()


def test_work_appears_in_the_timeline(runner: Runner):
    with record_timeline() as timeline:
        runner.submit("train step", lambda: None)
        runner.submit("copy x", lambda: None, category=Category.TRANSFER)
        runner.all_work().sync()
    found = [
        (span.name, span.category, span.track.thread) for span in timeline.spans if span.track.thread == "d:0"
    ]
    assert found == [("train step", Category.ROUTINE, "d:0"), ("copy x", Category.TRANSFER, "d:0")]


def test_work_of_a_sync_runner_is_done_when_it_is_submitted():
    thread: list[int] = []
    event = sync_runner().submit("a", lambda: thread.append(threading.get_ident()))
    assert event.is_done
    assert thread == [threading.get_ident()]


def test_a_worker_works_while_the_caller_goes_on(worker: WorkerRunner):
    gate = Gate()
    event = worker.submit("a", gate)
    gate.begun.wait(10)
    assert not event.is_done
    assert not worker.all_work().is_done
    assert repr(event) == "<Event 1 of w:0, not done>"
    gate.open.set()
    event.sync()
    assert event.is_done


def test_an_earlier_event_is_done_before_a_later_one(worker: WorkerRunner):
    gate = Gate()
    first = worker.submit("a", lambda: None)
    second = worker.submit("b", gate)
    first.sync()
    assert first.is_done and not second.is_done
    gate.open.set()
    second.sync()


def test_what_was_in_flight_when_a_worker_lost_its_device_is_named_and_skipped(worker: WorkerRunner):
    gate, done = Gate(), list[str]()

    def lose() -> None:
        gate()
        raise DeviceLostError("the bus is gone")

    worker.submit("step 1", lose)
    gate.begun.wait(10)
    events = [worker.submit(label, lambda: done.append("ran")) for label in ("step 2", "step 3")]
    gate.open.set()
    with pytest.raises(
        DeviceLostError, match=r"w:0 is lost: the bus is gone \(in flight: step 1, step 2, step 3\)"
    ):
        events[1].sync()
    assert done == []
    assert worker.all_work().is_done


def test_a_closed_worker_takes_no_work(worker: WorkerRunner):
    worker.close()
    with pytest.raises(DeviceError, match="w:0: the device is closed"):
        worker.submit("a", lambda: None)
    assert worker.all_work().is_done


def test_work_closes_the_worker_that_it_runs_on(worker: WorkerRunner):
    log: list[str] = []
    gate = Gate()
    worker.submit("close", gate.then(worker.close))
    behind = worker.submit("behind", lambda: log.append("behind"))
    gate.open.set()
    behind.sync()
    assert log == ["behind"]
    with pytest.raises(DeviceError, match="w:0: the device is closed"):
        worker.submit("a", lambda: None)


def test_a_worker_that_nobody_uses_ends_with_its_thread():
    runner = worker_runner("w:collected")
    runner.submit("a", lambda: None).sync()
    (thread,) = [thread for thread in threading.enumerate() if thread.name == "w:collected"]
    watch = weakref.ref(runner)
    del runner
    gc.collect()
    thread.join(10)
    assert watch() is None
    assert not thread.is_alive()


def test_a_worker_without_work_has_no_thread():
    runner = worker_runner("w:unused")
    runner.all_work().sync()
    assert "w:unused" not in [thread.name for thread in threading.enumerate()]


def test_a_worker_works_on_in_a_forked_process(worker: WorkerRunner):
    worker.submit("before", lambda: None).sync()
    read_end, write_end = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            assert worker.all_work().is_done
            worker.submit("in the child", lambda: print_to(write_end)).sync()
        finally:
            os._exit(0)
    os.close(write_end)
    assert os.read(read_end, 100) == b"child"
    os.close(read_end)
    os.waitpid(process, 0)
    worker.submit("after", lambda: None).sync()


def test_the_memory_of_queued_work_lives_until_it_has_run(worker: WorkerRunner):
    class Owner:
        pass

    gate, owner = Gate(), Owner()
    worker.submit("first", gate)
    event = worker.submit("second", lambda: None, keeps=owner)
    watch = weakref.ref(owner)
    del owner
    gc.collect()
    assert watch() is not None
    gate.open.set()
    event.sync()
    worker.submit("third", lambda: None).sync()
    gc.collect()
    assert watch() is None


def test_the_events_of_a_queue_are_its_driver_s():
    runner, queue = queue_runner()
    event = runner.submit("a", queue.enqueue)
    assert not event.is_done
    assert not runner.all_work().is_done
    queue.n_done = 1
    assert event.is_done
    assert runner.all_work().is_done
    assert queue.n_waits == 0


def test_queues_that_know_each_other_wait_without_blocking():
    (first, source), (second, target) = queue_runner("q:0"), queue_runner("q:1")
    event = first.submit("a", source.enqueue)
    second.submit("b", target.enqueue, [event])
    assert target.waits == [event.native]
    assert source.n_waits == 0


def test_queues_that_do_not_know_each_other_wait_on_the_host():
    (first, source), (second, target) = queue_runner("q:0"), queue_runner("p:0", "b")
    event = first.submit("a", source.enqueue)
    second.submit("b", target.enqueue, [event])
    assert target.waits == []
    assert source.n_waits == 1


def test_what_fails_in_the_queue_itself_loses_the_device():
    runner, queue = queue_runner()
    runner.submit("a", queue.enqueue)
    event = runner.submit("b", queue.enqueue)
    queue.broken = DeviceError("opencl: EXEC_STATUS_ERROR")
    with pytest.raises(
        DeviceLostError, match=r"^q:0 is lost: opencl: EXEC_STATUS_ERROR \(in flight: a, b\)$"
    ) as caught:
        event.sync()
    assert caught.value.in_flight == ("a", "b")
    with pytest.raises(DeviceLostError, match="q:0 is lost"):
        runner.submit("c", queue.enqueue)


def test_a_queue_that_takes_no_marker_loses_the_device():
    runner, queue = queue_runner()
    queue.broken = DeviceError("opencl: INVALID_COMMAND_QUEUE")
    event = runner.submit("a", queue.enqueue)
    assert event.is_done
    with pytest.raises(DeviceLostError, match="q:0 is lost: opencl: INVALID_COMMAND_QUEUE"):
        event.sync()
    assert runner.all_work().is_done


def test_a_queue_runner_forgets_what_is_done():
    class Owner:
        pass

    runner, queue = queue_runner()
    owner = Owner()
    event = runner.submit("a", queue.enqueue, keeps=owner)
    watch = weakref.ref(owner)
    del owner
    gc.collect()
    assert watch() is not None
    event.sync()
    gc.collect()
    assert watch() is None


def test_a_queue_runner_needs_a_queue():
    with pytest.raises(AssertionError, match="the driver of q:0 has no queue"):
        QueueRunner(Track("q", "q:0"), Lock(), object())  # pyright: ignore[reportArgumentType]


def test_a_worker_does_not_wait_for_itself(worker: WorkerRunner):
    def wait_for_own_end() -> None:
        worker.wait(Event(worker, worker.all_work().ticket))

    worker.submit("a", wait_for_own_end)
    with pytest.raises(RoutineError, match="a: AssertionError: w:0 waits for itself"):
        worker.all_work().sync()


def test_a_queue_that_cannot_be_asked_loses_the_device():
    runner, queue = queue_runner()
    event = runner.submit("a", queue.enqueue)
    queue.unanswering = DeviceError("opencl: INVALID_EVENT")
    assert event.is_done
    with pytest.raises(DeviceLostError, match=r"q:0 is lost: opencl: INVALID_EVENT \(in flight: a\)"):
        event.sync()


def test_a_worker_does_not_wait_for_who_waits_for_it(runner: Runner):
    """
    A thread that submits work to `runner` waits for the worker; the worker waits for earlier work of
    `runner`, which is done, while that thread has not yet returned.
    """

    class Opener(SyncRunner):
        """Opens the gate when somebody waits for its events: now the submitting thread is under way."""

        def wait(self, event: Event) -> None:
            gate.open.set()

    worker, gate = worker_runner(), Gate()
    earlier = runner.submit("earlier", lambda: None)
    earlier.sync()
    worker.submit("held", gate)
    waiting = worker.submit("waiting", lambda: None, [earlier])
    opener = Event(Opener(Track("o", "o:0"), Lock()), 0)
    thread = Thread(target=lambda: runner.submit("later", lambda: None, [opener, waiting]), daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive(), "the two wait for each other"
    worker.close()


def test_an_interrupt_reaches_the_caller_and_the_runner_goes_on():
    runner = SyncRunner(Track("sync", "sync:0"), Lock())

    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.submit("long", interrupted)
    ran: list[str] = []
    runner.submit("next", lambda: ran.append("next")).sync()
    assert ran == ["next"]


def test_a_worker_outlives_work_that_asks_to_exit():
    runner = WorkerRunner(Track("worker", "worker:0"), Lock())

    def leaves() -> None:
        raise SystemExit(3)

    with pytest.raises(RoutineError, match="leaves: SystemExit: 3"):
        runner.submit("leaves", leaves).sync()
    ran: list[str] = []
    runner.submit("next", lambda: ran.append("next")).sync()
    assert ran == ["next"]
    runner.close()


# The queue of a further stream


def test_work_is_handed_to_the_queue_in_a_thread():
    runner, queue = queue_worker()
    gate = Gate()
    held = runner.submit("held", gate.then(queue.enqueue))
    event = runner.submit("a", queue.enqueue)
    assert not held.is_done and not event.is_done and event.native is None
    gate.open.set()
    assert runner.native_of(event) is event.native is not None
    assert not event.is_done and not runner.all_work().is_done
    queue.n_done = 2
    assert event.is_done and runner.all_work().is_done
    assert queue.n_waits == 0
    runner.close()


def test_a_queue_waits_for_what_a_thread_hands_to_another():
    (first, source), (second, target) = queue_worker("q:0.1"), queue_runner("q:0")
    gate = Gate()
    event = first.submit("a", gate.then(source.enqueue))
    opener = threading.Timer(0.02, gate.open.set)
    opener.start()
    second.submit("b", target.enqueue, [event])
    assert target.waits == [event.native] and event.native is not None
    assert source.n_waits == 0
    opener.join()
    first.close()


def test_what_a_thread_hands_over_waits_in_the_queue():
    (first, source), (second, target) = queue_runner("q:0"), queue_worker("q:0.1")
    event = first.submit("a", source.enqueue)
    later = second.submit("b", target.enqueue, [event])
    second.native_of(later)
    assert target.waits == [event.native]
    assert source.n_waits == 0
    second.close()


def test_what_a_thread_hands_over_waits_for_other_kinds_of_devices():
    (first, source), (second, target) = queue_runner("p:0", "b"), queue_worker("q:0.1")
    event = first.submit("a", source.enqueue)
    second.native_of(second.submit("b", target.enqueue, [event]))
    assert target.waits == []
    assert source.n_waits == 1
    second.close()


@pytest.mark.parametrize("call", ["wait_for", "record", "wait", "is_done"])
def test_what_fails_in_the_queue_of_a_stream_loses_the_device(call: str):
    (first, source), (runner, queue) = queue_runner("q:0"), queue_worker("q:0.1")
    runner.share_device(first)
    broken = DeviceError("opencl: INVALID_COMMAND_QUEUE")
    waits = [first.submit("a", source.enqueue)] if call == "wait_for" else []
    if call in ("wait_for", "record"):
        queue.broken = broken
        event = runner.submit("b", queue.enqueue, waits)
    else:
        event = runner.submit("b", queue.enqueue)
        runner.native_of(event)
        queue.broken, queue.unanswering = (broken, None) if call == "wait" else (None, broken)
    for one in (runner, first):
        with pytest.raises(DeviceLostError, match=r"^q:0\.1 is lost: opencl: INVALID_COMMAND_QUEUE"):
            runner.wait(event)
            assert event.is_done or call == "wait"
            one.raise_failures()
    runner.close()


def test_on_a_timeline_work_lasts_until_the_queue_has_done_it():
    runner, queue = queue_worker()
    with record_timeline():
        runner.native_of(runner.submit("a", queue.enqueue))
    assert (queue.n_waits, queue.n_done) == (1, 1)
    runner.close()


def test_what_a_queue_works_on_lives_until_it_has_done():
    class Owner:
        pass

    runner, queue = queue_worker()
    owner = Owner()
    event = runner.submit("a", queue.enqueue, keeps=owner)
    runner.native_of(event)
    watch = weakref.ref(owner)
    del owner, runner
    gc.collect()
    assert watch() is not None
    event.sync()
    gc.collect()
    assert watch() is None


def test_a_thread_for_a_queue_needs_one():
    with pytest.raises(AssertionError, match=r"the driver of q:0\.1 has no queue"):
        QueueWorkerRunner(Track("q", "q:0.1"), Lock(), object())  # pyright: ignore[reportArgumentType]


def test_work_closes_the_stream_that_it_runs_on():
    runner, queue = queue_worker()
    runner.submit("closes", runner.close)
    event = Event(runner, 1)
    while not event.is_done:
        pass
    with pytest.raises(DeviceError, match=r"q:0\.1: the device is closed"):
        runner.submit("later", queue.enqueue)


# Several streams of a device


def test_a_device_that_one_runner_loses_is_lost_for_all():
    first, further = worker_runner("w:0"), worker_runner("w:0.1")
    further.share_device(first)
    done: list[str] = []
    gate = Gate()
    further.submit("held", gate)
    waiting = further.submit("waiting", lambda: done.append("waiting"))
    first.wait(first.submit("step", Failing(DeviceLostError("the bus is gone"))))
    gate.open.set()
    with pytest.raises(DeviceLostError, match=r"^w:0 is lost: the bus is gone \(in flight: step\)$"):
        waiting.sync()
    with pytest.raises(DeviceLostError, match=r"^w:0 is lost"):
        further.submit("later", lambda: done.append("later"))
    assert done == []
    first.close()
    further.close()


def test_failures_that_nobody_was_told_of_are_handed_over():
    first, further = sync_runner("s:0"), sync_runner("s:0.1")
    first.submit("a", Failing(ValueError("1")))
    further.submit("b", Failing(ValueError("2")))
    first.take_failures(further)
    further.all_work().sync()
    with pytest.raises(RoutineError, match=r"^a: ValueError: 1") as caught:
        first.all_work().sync()
    assert caught.value.__notes__ == ["also failed: b: ValueError: 2"]


def test_a_joined_event_is_done_when_all_are(worker: WorkerRunner):
    sync, gate = sync_runner(), Gate()
    events = [sync.submit("a", lambda: None), worker.submit("b", gate)]
    joined = JoinedEvent(events)
    assert joined.parts == tuple(events) and events[0].parts == (events[0],)
    assert not joined.is_done
    gate.open.set()
    joined.sync()
    assert joined.is_done


def test_a_joined_event_raises_the_failures_of_one_stream_after_the_other():
    runners = sync_runner("s:0"), sync_runner("s:1")
    for number, runner in enumerate(runners):
        runner.submit(f"work {number}", Failing(ValueError("1")))
    joined = JoinedEvent([runner.all_work() for runner in runners])
    for number in range(2):
        with pytest.raises(RoutineError, match=f"^work {number}: ValueError: 1$"):
            joined.sync()
    joined.sync()


def test_work_waits_for_all_parts_of_an_event_but_its_own(runner: Runner, worker: WorkerRunner):
    order, gate = list[str](), Gate()
    other = worker_runner("v:0")
    held = [each.submit("held", gate.then(lambda: order.append("held"))) for each in (worker, other)]
    own = runner.submit("own", lambda: order.append("own"))
    opener = threading.Timer(0.02, gate.open.set)
    opener.start()
    runner.wait_for(JoinedEvent([*held, own]))
    runner.submit("behind", lambda: order.append("behind"), [JoinedEvent([own, *held])])
    runner.all_work().sync()
    assert order == ["own", "held", "held", "behind"]
    opener.join()
    other.close()

from threading import Barrier, RLock, Thread

import pytest
from tenon.errors import TenonError
from tenon.runtime.nodes.lazy import Lazy


class Owner:
    """Has a value that is computed from itself."""

    def __init__(self, lazy: Lazy["Owner", int]) -> None:
        self.lock = RLock()
        self.lazy = lazy

    def value(self) -> int:
        return self.lazy.force(self, self.lock)


def test_a_value_is_computed_once_when_it_is_needed():
    calls: list[Owner] = []

    def compute(owner: Owner) -> int:
        calls.append(owner)
        return 42

    owner = Owner(Lazy("x", compute))
    assert not owner.lazy.is_forced
    assert (owner.value(), owner.value()) == (42, 42)
    assert calls == [owner]
    assert owner.lazy.is_forced


def test_a_value_that_needs_itself_is_an_error():
    with pytest.raises(TenonError, match="dims of x depends on itself"):
        Owner(Lazy("dims of x", Owner.value)).value()


def test_a_computation_that_raised_is_done_again():
    results = iter([None, 42])

    def compute(owner: Owner) -> int:
        result = next(results)
        if result is None:
            raise TenonError("not known yet")
        return result

    owner = Owner(Lazy("x", compute))
    with pytest.raises(TenonError, match="not known yet"):
        owner.value()
    assert owner.value() == 42


def test_threads_get_the_same_value():
    start = Barrier(8)
    owner = Owner(Lazy("x", lambda owner: id(object())))
    found: list[int] = []

    def ask() -> None:
        start.wait()
        found.append(owner.value())

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1

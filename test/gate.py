"""Work that is held until it may go on."""

import threading
from collections.abc import Callable


class Gate:
    """Work that begins, and goes on only when `open` is set."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> None:
        self.begun.set()
        assert self.open.wait(10), "nobody opened the gate"

    def then(self, work: Callable[[], object]) -> Callable[[], None]:
        """Returns work that goes through the gate and does `work`."""

        def both() -> None:
            self()
            work()

        return both

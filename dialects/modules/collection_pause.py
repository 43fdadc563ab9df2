"""A pause of the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collection_paused() -> Generator[None, None, None]:
    """
    Keeps Python's cyclic collector from running inside of the `with`, if it was on. IR is one great cycle:
    each collection would walk all of it and free nothing, which makes compile time grow faster than the
    program.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

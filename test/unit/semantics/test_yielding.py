"""Ranks that wait let others run, and do not wait longer than they say."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from threading import Event, Thread

import pytest
from tenon.semantics.ranks.yielding import yield_until


def test_what_is_there_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_yield", lambda: pytest.fail("nobody else need run"), raising=False)
    assert yield_until(lambda: True, 0.0)


def test_another_thread_runs_meanwhile() -> None:
    done = Event()
    thread = Thread(target=done.set)
    thread.start()
    assert yield_until(done.is_set, 60.0)
    thread.join()


def test_it_ends_when_the_time_is_over() -> None:
    before = time.perf_counter()
    assert not yield_until(lambda: False, 1e-3)
    assert time.perf_counter() - before >= 1e-3


@pytest.mark.parametrize("has_yield", [False, True])
def test_others_are_let_run_between_two_looks(monkeypatch: pytest.MonkeyPatch, has_yield: bool) -> None:
    calls: list[str] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: calls.append(f"sleep {seconds}"))
    if has_yield:
        monkeypatch.setattr(os, "sched_yield", lambda: calls.append("yield"), raising=False)
    else:
        monkeypatch.delattr(os, "sched_yield", raising=False)
    answers: Iterator[bool] = iter([False, False, True])
    assert yield_until(lambda: next(answers), 60.0)
    assert calls == ["yield" if has_yield else "sleep 0"] * 2

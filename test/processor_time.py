"""
A plugin of pytest that says which tests take the most processor time, that of the processes they wait for
included: unlike the time that passes, it is about the same when the machine is busy.

    .venv/bin/python -m pytest -q -n 2 -p tenon.test.processor_time test
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

N_SHOWN = 20

_KEY = "processor_seconds"
_started = pytest.StashKey[float]()


def _seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    item.stash[_started] = _seconds()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    if call.when == "teardown":  # With its report the number comes from a worker of xdist.
        item.user_properties.append((_KEY, _seconds() - item.stash[_started]))
    return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tests: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "teardown":
                tests[report.nodeid] += dict(report.user_properties).get(_KEY, 0.0)
    files: Counter[str] = Counter()
    functions: Counter[str] = Counter()
    for name, seconds in tests.items():
        files[name.partition("::")[0]] += seconds
        functions[name.partition("[")[0]] += seconds
    terminalreporter.section(f"processor time: {files.total():.0f} s")
    for what, counted in (("files", files), ("tests, their cases together", functions), ("cases", tests)):
        terminalreporter.write_line(what)
        for name, seconds in counted.most_common(N_SHOWN):
            terminalreporter.write_line(f"{seconds:8.1f}  {name}")

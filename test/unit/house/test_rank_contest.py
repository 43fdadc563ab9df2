"""Two ranks against jax: what is compared, what is an error, what is said."""

import multiprocessing
import sys
from threading import Thread
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from tenon.benchmarks.ranks.contender import serve, take_processor
from tenon.benchmarks.ranks.contest import (
    ALONE,
    ENTRIES,
    Contender,
    check,
    contest,
    count_of,
    line_of,
    main,
    start,
)
from tenon.benchmarks.ranks.work import WORK, Work, expected, put_together

SMALL = Work("matmul", 4)


def test_parts_are_put_together():
    whole = np.arange(6.0).reshape(2, 3)
    parts = [([(0, 2), (0, 1)], whole[:, :1]), ([(0, 2), (1, 3)], whole[:, 1:])]
    np.testing.assert_array_equal(put_together([*parts, parts[0]], (2, 3)), whole)
    with pytest.raises(ValueError, match="ranks leave out a part"):
        put_together(parts[:1], (2, 3))
    with pytest.raises(ValueError, match="ranks have different parts of the same place"):
        put_together([*parts, (parts[0][0], whole[:, :1] + 1)], (2, 3))


def answer_of(work: Work, off: float = 0.0):
    return {
        name: [([(0, extent) for extent in each.shape], each + off)] for name, each in expected(work).items()
    }


@pytest.mark.parametrize("kind", ["heat", "matmul", "training"])
def test_wrong_answers_are_an_error(kind: str):
    work = Work(kind, 4)
    check(work, [answer_of(work)], "one")
    with pytest.raises(SystemExit, match=f"contest: {kind} 4 by one: .* is off by 1 .bound"):
        check(work, [answer_of(work, 1.0)], "one")
    missing = {name: [] for name in expected(work)}
    with pytest.raises(SystemExit, match="ranks leave out a part"):
        check(work, [missing], "one")


def contender_of(library) -> tuple[Contender, Thread]:
    here, there = multiprocessing.Pipe()
    thread = Thread(target=serve, args=(there, library))
    thread.start()
    return Contender([here]), thread


def test_contenders_take_turns_and_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tenon.benchmarks.ranks.contender.WORK", {SMALL.name: SMALL})
    asked: list[str] = []
    library = SimpleNamespace(
        calls_of=lambda work: {"jit": lambda: asked.append(work.name)},
        parts_of=lambda _: answer_of(SMALL),
    )
    contender, thread = contender_of(library)
    found = contest(SMALL, {"one": contender}, 3, 1e-6)
    contender.close()
    thread.join()
    assert list(found) == ["one"] and len(found["one"]) == 3
    assert set(asked) == {SMALL.name}


def test_what_a_process_raises_is_raised_here():
    contender, thread = contender_of(SimpleNamespace(calls_of=dict))
    with pytest.raises(RuntimeError, match="KeyError: 'other'"):
        contender.ask("prepare", "other")
    contender.close()
    thread.join()


def test_an_environment_that_is_missing_is_said(tmp_path, capsys: pytest.CaptureFixture[str]):
    assert start(tmp_path, ["tenon, mpich"]) == ({}, [])
    assert "tenon, mpich is left out: there is no .venv-mpich" in capsys.readouterr().out


def test_a_process_that_was_not_started_is_an_error(tmp_path):
    python = tmp_path / ".venv-mpich" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(
        f"#!{sys.executable}\n"
        "import socket, sys\n"
        "from multiprocessing.connection import Connection\n"
        "host, port = sys.argv[4].split(':')\n"
        "Connection(socket.create_connection((host, int(port))).detach()).send_bytes(b'another')\n"
    )
    python.chmod(0o755)
    with pytest.raises(SystemExit, match="contest: a process came that the contest has not started"):
        start(tmp_path, [ALONE])


def test_lines_say_how_many_times_the_best_of_jax_takes():
    line = line_of("heat", {"tenon, mpich": [2.0, 4.0], "jax, a": [4.0], "jax, b": [3.0]})
    assert "jax by least  1.50" in line and "jax by median  1.00" in line


def test_work_that_is_not_there_is_an_error(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["other"])
    assert "no work begins so (there are heat 96" in capsys.readouterr().err
    assert all(name == work.name for name, work in WORK.items())


def test_a_block_is_as_long_as_asked_where_the_first_calls_take_long():
    asked: list[int] = []

    def seconds(_way: str, count: int) -> float:
        asked.append(count)
        return 1e-3 if count == 2 else 1e-4

    contender = SimpleNamespace(seconds=seconds)
    assert count_of(cast(Contender, contender), "jit", 40e-3) == 400
    assert asked == [2, 40, 400]


def test_processes_get_processors_of_their_own(monkeypatch: pytest.MonkeyPatch):
    taken: list[object] = []
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {5, 3}, raising=False)
    monkeypatch.setattr("os.sched_setaffinity", lambda _, cpus: taken.append(cpus), raising=False)
    for number in range(3):
        take_processor(number)
    assert taken == [{3}, {5}, {3}]
    for launcher in (ENTRIES["tenon, mpich"].launcher, ENTRIES["tenon, openmpi"].launcher):
        assert "bind-to core" in " ".join(launcher)

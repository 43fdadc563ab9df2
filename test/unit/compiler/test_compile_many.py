"""Several programs that are compiled at once."""

import io
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tenon
from tenon.compiler import compile_many as room
from tenon.compiler.compile_worker import serve
from tenon.dialects.modules.parsing import parse_module
from tenon.runtime.executables.reference_executable import ReferenceExecutable

WAIT_SECONDS = 60
"""How long another process may take to begin, on a busy machine."""


def scaled(name: str, factor: int) -> str:
    return f"""
func.func @{name}(%x: tensor<8xf32>) -> tensor<8xf32> {{
  %factor = graph.constant dense<{factor}.0> : tensor<8xf32>
  %y = graph.mul %x, %factor : tensor<8xf32>
  func.return %y : tensor<8xf32>
}}
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TENON_CACHE", "1")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.mark.parametrize("backend", ["llvm", "reference"])
@pytest.mark.parametrize("processes", [None, 1, 2])
def test_executables_are_in_the_order_of_the_programs(backend: str, processes: int | None):
    texts = [scaled(f"by_{factor}", factor) for factor in range(5)]
    executables = tenon.compile_many(iter(texts), backend=backend, processes=processes)
    x = np.arange(8, dtype=np.float32)
    assert [executable.name for executable in executables] == [f"by_{factor}" for factor in range(5)]
    for factor, executable in enumerate(executables):
        np.testing.assert_array_equal(executable(x), x * np.float32(factor))
        executable.close()


@pytest.mark.parametrize("is_text", [True, False])
def test_another_process_compiles_some(is_text: bool, cache: Path, monkeypatch: pytest.MonkeyPatch):
    """Here the first program waits until the other process has left one."""
    texts = [scaled(f"by_{factor}", factor) for factor in range(4)]
    compile_ = room.compile

    def late(program: Any, **options: Any) -> Any:
        deadline = time.monotonic() + WAIT_SECONDS
        while not list(cache.glob("**/program-*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        return compile_(program, **options)

    monkeypatch.setattr(room, "compile", late)
    hits = tenon.cache_info().hits
    given = texts if is_text else [parse_module(text) for text in texts]
    # The tests have caches of their own for this machine, which the other process knows nothing of.
    executables = tenon.compile_many(given, processes=2, target="x86-64-v3")
    assert tenon.cache_info().hits > hits
    monkeypatch.setenv("TENON_CACHE", "0")
    for text, executable in zip(texts, executables, strict=True):
        with executable, tenon.compile(text, target="x86-64-v3") as alone:
            assert executable.stages["source"] == alone.stages["source"]


def test_a_process_that_ends_leaves_its_programs_to_this_one(cache: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(room, "START", "print(flush=True)")
    executables = tenon.compile_many([scaled(f"by_{factor}", factor) for factor in range(4)], processes=3)
    assert [executable.name for executable in executables] == ["by_0", "by_1", "by_2", "by_3"]


@pytest.mark.parametrize("why", ["one program", "no cache", "an option that is no text"])
def test_where_no_other_process_helps_none_is_started(why: str, cache: Path, monkeypatch: pytest.MonkeyPatch):
    def start(*arguments: Any, **options: Any) -> None:
        raise AssertionError("another process")

    monkeypatch.setattr(room.subprocess, "Popen", start)
    texts = [scaled("f", 2), scaled("g", 3)]
    options: dict[str, Any] = {}
    if why == "one program":
        texts.pop()
    elif why == "no cache":
        monkeypatch.setenv("TENON_CACHE", "0")
    else:
        options["callbacks"] = {"unused": abs}
    assert [found.name for found in tenon.compile_many(texts, processes=4, **options)] == ["f", "g"][
        : len(texts)
    ]


def test_no_programs_are_no_executables():
    assert tenon.compile_many([]) == []


def test_the_first_wrong_program_is_the_error(monkeypatch: pytest.MonkeyPatch):
    closed: list[str] = []
    monkeypatch.setattr(ReferenceExecutable, "close", lambda self: closed.append(self.name))
    texts = [scaled("right", 2), scaled("wrong", 2).replace("8xf32", "0xf33"), scaled("last", 3)]
    with pytest.raises(tenon.TenonError, match=r"<string>:2:31: error: Expected shape type\."):
        tenon.compile_many(texts, backend="reference")
    assert closed == ["right"]


@pytest.mark.parametrize("processes", [0, -1, 1.5, "2"])
def test_processes_are_a_number_above_0(processes: Any):
    with pytest.raises(
        tenon.TenonError, match=r"^compile_many: processes (0|-1|1\.5|'2'), expected a number above 0$"
    ):
        tenon.compile_many([scaled("f", 2)], processes=processes)


def test_a_worker_answers_each_request_and_tells_no_error(cache: Path):
    requests = [
        f"text {json.dumps(scaled('f', 2))} {{}}\n",
        f"text {json.dumps('nothing')} {{}}\n",
        f"module {json.dumps(str(parse_module(scaled('g', 3))))} {json.dumps({'backend': 'llvm'})}\n",
    ]
    answers = io.StringIO()
    serve(io.StringIO("".join(requests)), answers)
    assert answers.getvalue() == "ready\ndone\ndone\ndone\n"
    assert len(list(cache.glob("**/program-*"))) == 2

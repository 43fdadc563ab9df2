import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.backends.interface import BufferLoc
from tenon.backends.steps import CopyStep, LaunchStep, Step, SyncStep
from tenon.errors import MissingExtraError, TenonError
from tenon.runtime.plan.program_plan import BufferKind, BufferPlan, ProgramPlan, SymbolIndex
from tenon.runtime.plan.signature import Signature
from tenon.runtime.reports.memory_plan import MemoryPlan, memory_plan_of

ARGUMENT = BufferPlan(BufferKind.ARGUMENT, 64, name="x", lifetime=(0, 0))
CONSTANT = BufferPlan(BufferKind.CONSTANT, 16, name="table", lifetime=(1, 1))
FIRST = BufferPlan(BufferKind.TEMPORARY, 64, name="a", lifetime=(0, 1))
SECOND = BufferPlan(BufferKind.TEMPORARY, 64, offset=64, name="b", lifetime=(1, 2))
THIRD = BufferPlan(BufferKind.TEMPORARY, 32, name="c", lifetime=(2, 3))
RESULT = BufferPlan(BufferKind.RESULT, 32, name="y", lifetime=(3, 4))
UNUSED = BufferPlan(BufferKind.ARGUMENT, 0, number=1)


def launch(kernel: str, *buffers: int) -> LaunchStep:
    return LaunchStep(kernel, (1, 1, 1), (1, 1, 1), buffers)


def program(
    buffers: tuple[BufferPlan, ...], steps: tuple[Step, ...], temporary_nbytes: int = 0, name: str = "f"
) -> ProgramPlan:
    constants = np.zeros(0, np.uint8)
    return ProgramPlan(Signature(name, (), (), ()), buffers, steps, (), constants, temporary_nbytes)


def chain() -> MemoryPlan:
    """The plan of a chain of four steps, whose third temporary lies where the first one was."""
    plan = program(
        (ARGUMENT, CONSTANT, FIRST, SECOND, THIRD, RESULT, UNUSED),
        (launch("f", 0, 2), launch("g", 1, 2, 3), launch("h", 3, 4), CopyStep(4, 5, 32)),
        temporary_nbytes=128,
    )
    places = (None, (4, 0), (7, 0), (7, 64), (7, 0), None, (7, 0))
    return memory_plan_of(
        plan, [None if place is None else BufferLoc(*place) for place in places], {4: 64, 7: 128}
    )


def moving(shape: tuple[int, int], offset: int) -> MemoryPlan:
    """The plan of a program that reads row `i` of a node of `shape`, and a node `offset` bytes in."""
    rows, row_nbytes = shape
    row = BufferPlan(
        BufferKind.NODE, row_nbytes, node="x", indices=(SymbolIndex("i", row_nbytes, rows),), lifetime=(0, 0)
    )
    other = BufferPlan(BufferKind.NODE, 8, node="y", name="y", lifetime=(0, 0))
    plan = program((row, other), (launch("f", 0, 1),))
    return memory_plan_of(plan, [BufferLoc(3, 0), BufferLoc(3, offset)], {3: 256})


def test_temporaries_and_results_live_while_they_are_used_and_all_else_throughout():
    lives = {b.name: (b.first_step, b.last_step) for b in chain().buffers}
    assert lives == {
        "x": (0, 4),
        "table": (0, 4),
        "a": (0, 1),
        "b": (1, 2),
        "c": (2, 3),
        "y": (3, 4),
        "": (None, None),
    }


def test_buffers_that_share_bytes_name_each_other():
    shares = {b.name: b.shares_with for b in chain().buffers}
    assert shares == {"x": (), "table": (), "a": (4,), "b": (), "c": (2,), "y": (), "": ()}


def test_places_are_pools_and_offsets_and_none_where_the_memory_is_the_callers():
    plan = chain()
    assert [(b.pool_id, b.offset) for b in plan.buffers] == [
        (None, 0),
        (4, 0),
        (7, 0),
        (7, 64),
        (7, 0),
        (None, 0),
        (None, 0),
    ]


def test_pools_say_what_is_live_in_them_and_what_is_gap():
    constants, temporaries = chain().pools
    assert (constants.content, constants.nbytes, constants.covered_nbytes) == ("constants", 64, 16)
    assert (constants.peak_nbytes, constants.fragmentation) == (16, 0.75)
    assert (temporaries.content, temporaries.covered_nbytes) == ("temporaries", 128)
    assert (temporaries.peak_nbytes, temporaries.fragmentation) == (128, 0.0)


def test_the_whole_is_counted():
    plan = chain()
    assert (plan.nbytes, plan.temporary_nbytes, plan.peak_nbytes, plan.unshared_nbytes) == (
        192,
        128,
        128,
        160,
    )
    assert [plan.live_nbytes(step) for step in range(5)] == [80, 144, 112, 48, 16]


def test_a_part_of_a_node_reaches_as_far_as_its_symbol_moves_it():
    row, other = moving((10, 16), offset=152).buffers
    assert row.end == 160
    assert (row.shares_with, other.shares_with) == ((1,), (0,))
    assert moving((10, 16), offset=160).buffers[0].shares_with == ()
    assert "pool 3 + 0x0 + 0x10 * i" in str(moving((10, 16), offset=160))


def test_a_pool_that_holds_two_kinds_names_both():
    plan = program((ARGUMENT, replace(RESULT, lifetime=(0, 1))), (launch("f", 0, 1),))
    (pool,) = memory_plan_of(plan, [BufferLoc(1, 0), BufferLoc(1, 64)], {1: 128}).pools
    assert pool.content == "arguments, results"


def test_a_pool_of_buffers_of_no_bytes_is_listed_and_one_of_no_buffers_is_not():
    plan = program((UNUSED,), ())
    (pool,) = memory_plan_of(plan, [BufferLoc(1, 0)], {1: 64, 2: 64}).pools
    assert (pool.pool_id, pool.nbytes) == (1, 64)
    assert (pool.content, pool.covered_nbytes, pool.fragmentation) == ("buffers of no bytes", 0, 1.0)


def test_a_plan_is_a_table():
    assert str(chain()) == (
        "memory of @f: 192 bytes in 2 pools, 4 steps\n"
        "temporaries: 128 bytes, 128 live at most, 160 without sharing\n"
        "\n"
        "pool  content      bytes  peak   gaps\n"
        "   4  constants       64    16  75.0%\n"
        "   7  temporaries    128   128   0.0%\n"
        "\n"
        "buffer  name   kind       place          bytes  steps  shares with\n"
        "     0  x      argument   the caller's      64  0-4    -\n"
        "     1  table  constant   pool 4 + 0x0      16  0-4    -\n"
        "     2  a      temporary  pool 7 + 0x0      64  0-1    4\n"
        "     3  b      temporary  pool 7 + 0x40     64  1-2    -\n"
        "     4  c      temporary  pool 7 + 0x0      32  2-3    2\n"
        "     5  y      result     the caller's      32  3-4    -\n"
        "     6  -      argument   -                  0  -      -\n"
        "\n"
        "step  runs\n"
        "   0  @f(0, 2)\n"
        "   1  @g(1, 2, 3)\n"
        "   2  @h(3, 4)\n"
        "   3  copy 4 to 5\n"
    )


def test_many_buffers_that_share_are_counted_in_the_table():
    buffers = tuple(replace(FIRST, name=f"t{n}", lifetime=(n, n)) for n in range(9))
    plan = program(buffers, tuple(launch("f", n) for n in range(9)), temporary_nbytes=64)
    text = str(memory_plan_of(plan, [BufferLoc(1, 0)] * 9, {1: 64}))
    assert "1, 2, 3, 4, 5, 6, ... (8 in all)\n" in text


def test_a_program_of_nothing_has_a_plan():
    assert str(memory_plan_of(program((), ()), [], {})) == "memory of @f: 0 bytes in 0 pools, 0 steps\n"
    assert memory_plan_of(program((), (SyncStep(),)), [], {}).steps == ("sync",)


def test_an_interpreted_program_has_no_plan():
    text = "func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {\n  func.return %x : tensor<4xf32>\n}"
    message = "same: the reference interpreter has no memory plan"
    with tenon.compile(text, backend="reference") as executable, pytest.raises(TenonError, match=message):
        executable.memory_plan()


def test_a_plan_is_plain_data():
    data = json.loads(json.dumps(chain().to_dict()))
    assert data["nbytes"] == 192
    assert data["buffers"][3] == {
        "number": 3,
        "name": "b",
        "kind": "temporary",
        "pool_id": 7,
        "offset": 64,
        "nbytes": 64,
        "moves": [],
        "first_step": 1,
        "last_step": 2,
        "shares_with": [],
    }
    assert data["pools"][0]["content"] == "constants"


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")])
def test_a_plan_is_a_picture_and_the_same_bytes_each_time(tmp_path: Path, suffix: str, start: bytes):
    pytest.importorskip("matplotlib")
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    chain().save(first)
    chain().save(second)
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes().startswith(start)


def test_a_picture_has_a_panel_for_each_pool_and_the_names_of_its_buffers(tmp_path: Path):
    pytest.importorskip("matplotlib")
    chain().save(tmp_path / "plan.svg")
    text = (tmp_path / "plan.svg").read_text()
    for label in ("@f: 192 bytes", "pool 4: constants, 64 bytes, 16 live at most", "a", "b", "c", "table"):
        assert f"<!-- {label} -->" in text
    assert "<!-- x -->" not in text


def test_a_plan_without_pools_is_an_empty_picture(tmp_path: Path):
    pytest.importorskip("matplotlib")
    memory_plan_of(program((), ()), [], {}).save(tmp_path / "plan.svg")
    assert "<!-- @f: 0 bytes -->" in (tmp_path / "plan.svg").read_text()


def test_names_are_drawn_as_they_are(tmp_path: Path):
    pytest.importorskip("matplotlib")
    odd = BufferPlan(BufferKind.TEMPORARY, 64, name="$a_b^{", lifetime=(0, 0))
    plan = program((odd,), (launch("f", 0),), name="g$x$")
    memory_plan_of(plan, [BufferLoc(1, 0)], {1: 64}).save(tmp_path / "plan.svg")
    text = (tmp_path / "plan.svg").read_text()
    assert "<!-- $a_b^{ -->" in text
    assert "<!-- @g$x$: 64 bytes -->" in text


def test_what_cannot_be_drawn_or_written_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(
        TenonError, match=r"memory plan: cannot draw plan\.txt \(its suffix is none of \.svg, "
    ):
        chain().save("plan.txt")
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(MissingExtraError, match=r"pip install 'tenon\[pictures\]'"):
            chain().save(tmp_path / "plan.svg")
    pytest.importorskip("matplotlib")
    with pytest.raises(TenonError, match=r"cannot write .*plan\.svg: no such file or directory"):
        chain().save(tmp_path / "nowhere" / "plan.svg")

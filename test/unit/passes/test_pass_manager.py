import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.instruments.crash_reproducer import CrashReproducer, Reproducer
from tenon.passes.instruments.interface import PassInstrument
from tenon.passes.instruments.print_ir import EveryPass, PrintIR
from tenon.passes.instruments.statistics import Statistics
from tenon.passes.instruments.timing import Timing
from tenon.passes.instruments.tree_dump import TreeDump
from tenon.passes.instruments.verify_semantics import SemanticsError, VerifySemantics
from tenon.passes.pass_manager import InvalidModuleError, PassError, PassManager
from tenon.passes.pipeline_text import parse_passes
from tenon.passes.registry import ALL_PASSES, RENAMED_PASSES
from xdsl.context import Context
from xdsl.dialects import arith, func, test
from xdsl.dialects.builtin import (
    FileLineColLoc,
    FunctionType,
    IntAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    f32,
    i32,
)
from xdsl.ir import Block, Operation, Region
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException


@dataclass(frozen=True)
class AppendPass(ModulePass):
    """Appends an op."""

    name = "append"
    times: int = 1
    label: str = "x"
    sizes: tuple[int, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for _ in range(self.times):
            op.body.block.add_op(test.TestOp())


@dataclass(frozen=True)
class RequiredPass(ModulePass):
    """Has an option without a default, and a check of its own."""

    name = "required"
    size: int

    def __post_init__(self) -> None:
        if self.size < 0:
            raise ValueError(f"size {self.size} is negative")

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class RefusePass(ModulePass):
    """Refuses every op in the module."""

    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.body.block.ops:
            self.refuse(inner)

    def refuse(self, op: Operation) -> None:
        raise PassFailedException(f"{op.name}: cannot refuse politely")


@dataclass(frozen=True)
class ComplainPass(ModulePass):
    """Raises an error with a location of its own."""

    name = "complain"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise TenonError("no good", location="there.mlir:7:8")


@dataclass(frozen=True)
class CrashPass(ModulePass):
    """Has a bug."""

    name = "crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise ZeroDivisionError("division by zero")


@dataclass(frozen=True)
class BreakPass(ModulePass):
    """Leaves an invalid module."""

    name = "break"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.body.block.add_op(arith.AddiOp.create(result_types=[i32]))


PASSES = {
    pass_type.name: (lambda pass_type=pass_type: pass_type)
    for pass_type in (AppendPass, RequiredPass, RefusePass, ComplainPass, CrashPass, BreakPass)
}


def parse(text: str, *instruments: object, verify_each: bool = True) -> PassManager:
    return PassManager(text, instruments, verify_each, PASSES)


def run(text: str, *instruments: object, module: ModuleOp | None = None) -> ModuleOp:
    module = ModuleOp([]) if module is None else module
    parse(text, *instruments).run(Context(), module)
    return module


class Recorder(PassInstrument):
    def __init__(self, wants_changed: bool = False):
        self.wants_changed = wants_changed
        self.events: list[str] = []

    def before_pipeline(self, passes: Sequence[ModulePass], module: ModuleOp) -> None:
        self.events.append(f"before pipeline of {len(passes)}")

    def before(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.events.append(f"before {pass_}")

    def applied(self, pass_: ModulePass, module: ModuleOp) -> None:
        self.events.append(f"applied {pass_}")

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        self.events.append(f"after {pass_} changed {changed}")

    def failed(self, pass_: ModulePass, module: ModuleOp, error: BaseException) -> None:
        self.events.append(f"failed {pass_}: {error}")

    def after_pipeline(self, module: ModuleOp) -> None:
        self.events.append("after pipeline")


def test_a_pipeline_prints_as_the_text_that_makes_it():
    text = 'append,append{times=2 label="a,b" sizes=1,2}'
    assert str(parse(text)) == text


def test_module_nesting_and_spaces_are_read_past():
    assert str(parse("builtin.module(  append ,\n append{times=2} )")) == "append,append{times=2}"


def test_names_of_ops_need_no_quotes():
    text = 'append{label=graph.add},append{label="a=b.c,d.e" times=1}'
    assert str(parse(text)) == 'append{label="graph.add"},append{label="a=b.c,d.e"}'


@pytest.mark.parametrize(("old", "new"), RENAMED_PASSES.items())
def test_an_old_name_of_a_pass_is_an_error_that_has_the_new_one(old: str, new: str):
    assert old not in ALL_PASSES and new in ALL_PASSES
    with pytest.raises(TenonError) as error:
        parse_passes(f"cse,{old}", ALL_PASSES)
    assert str(error.value) == f"pipeline: unknown pass '{old}', it is called '{new}' now"


@pytest.mark.parametrize("text", ["", "  ", "builtin.module()"])
def test_an_empty_pipeline_changes_nothing(text: str):
    assert parse(text).passes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("apend", "pipeline: unknown pass 'apend', did you mean 'append'?"),
        ("zzz", "pipeline: unknown pass 'zzz'"),
        ("sched-pipelin", "pipeline: unknown pass 'sched-pipelin', did you mean 'sched-pipeline'?"),
        (
            "append{tims=1}",
            "append: unknown option 'tims' (options: times, label, sizes), did you mean 'times'?",
        ),
        ("crash{a=1}", "crash: unknown option 'a' (it has no options)"),
        ("append{times=two}", "append: option 'times' takes int, found two"),
        ("append{times=true}", "append: option 'times' takes int, found True"),
        ("append{times}", "append: option 'times' takes int, found no value"),
        ("append{sizes=1,a}", "append: option 'sizes' takes tuple[int, ...], found 1,a"),
        ("required", "required: option 'size' is missing"),
        ("required{size=-1}", "required: size -1 is negative"),
        (
            "sched-pipeline{bytes=1}",
            "sched-pipeline: unknown option 'bytes' "
            "(options: vector-nbytes, target, vector-registers, l1-nbytes, l2-nbytes, l3-nbytes, n-threads, "
            "multiplies-bytes, max-items, shared-nbytes), did you mean 'l3-nbytes'?",
        ),
        ("sched-pipeline{target=npu}", "sched-pipeline: target 'npu' is not one of cpu, gpu"),
        ("sched-pipeline{vector-nbytes=a}", "sched-pipeline: option 'vector-nbytes' takes int, found a"),
        ("append,,append", "pipeline: a pass name is missing in 'append,,append'"),
        ("append,", "pipeline: a pass name is missing in 'append,'"),
        ("append append", "pipeline: cannot read 'append append' (expected a comma or pass arguments here)"),
        ("append{", "pipeline: cannot read 'append{' (expected argument name here)"),
        ("append{times=1}x", "pipeline: cannot read 'append{times=1}x' (expected a comma after pass"),
        ("func.func(append)", "pipeline: passes run on builtin.module, not on func.func"),
        (
            "builtin.module(append,func.func(append))",
            "pipeline: passes run on builtin.module, not on func.func within it",
        ),
    ],
)
def test_wrong_pipeline_text_is_an_error_that_says_what_is_wrong(text: str, message: str):
    with pytest.raises(TenonError, match=f"^{re.escape(message)}"):
        parse(text)


def test_the_default_choice_of_passes_is_tenons():
    assert str(PassManager("cse,dce")) == "cse,dce"
    assert list(ALL_PASSES) == sorted(ALL_PASSES)


def test_passes_run_in_order():
    assert len(run("append,append{times=2}").body.block.ops) == 3


def test_instruments_hear_of_every_event_in_order():
    recorder = Recorder()
    run("append,append{times=2}", recorder)
    assert recorder.events == [
        "before pipeline of 2",
        "before append",
        "applied append",
        "after append changed None",
        "before append{times=2}",
        "applied append{times=2}",
        "after append{times=2} changed None",
        "after pipeline",
    ]


def test_changed_is_told_when_one_instrument_wants_it():
    recorder = Recorder(wants_changed=True)
    run("append{times=0},append", recorder)
    assert recorder.events[3] == "after append{times=0} changed False"
    assert recorder.events[6] == "after append changed True"


def test_a_refusing_pass_is_named_with_the_place_of_the_op():
    op = test.TestOp()
    op.location = FileLineColLoc(StringAttr("a.mlir"), IntAttr(3), IntAttr(5))
    recorder = Recorder()
    with pytest.raises(PassError) as raised:
        run("refuse", recorder, module=ModuleOp([op]))
    message = "test.op: cannot refuse politely [in pass `refuse`]"
    assert str(raised.value) == f"a.mlir:3:5: error: {message}"
    assert raised.value.pass_name == "refuse"
    assert recorder.events[-1] == f"failed refuse: a.mlir:3:5: error: {message}"


def test_a_refusing_pass_is_named_where_the_place_is_not_known():
    with pytest.raises(PassError, match=r"^test.op: cannot refuse politely \[in pass `refuse`\]$"):
        run("append,refuse")


def test_an_error_keeps_the_location_it_has():
    with pytest.raises(PassError, match=r"^there.mlir:7:8: error: no good \[in pass `complain`\]$"):
        run("complain")


def test_a_bug_of_a_pass_goes_through_with_a_note():
    with pytest.raises(ZeroDivisionError) as raised:
        run("append,crash")
    assert raised.value.__notes__ == ["in pass `crash`"]


def test_an_invalid_module_is_the_fault_of_the_pass():
    with pytest.raises(InvalidModuleError, match=r"^pass `break`: left an invalid module: "):
        run("append,break")


def test_verify_each_can_be_left_out():
    parse("break", verify_each=False).run(Context(), ModuleOp([]))


def test_an_instrument_hears_only_of_the_events_it_has_methods_for():
    class Names:
        def __init__(self):
            self.names: list[str] = []

        def before(self, pass_: ModulePass, module: ModuleOp) -> None:
            self.names.append(pass_.name)

    names, recorder = Names(), Recorder()
    run("append,append", names, recorder)
    assert names.names == ["append", "append"]
    assert recorder.events[-1] == "after pipeline"


def test_an_instrument_without_a_base_may_want_to_know_of_changes():
    changes: list[bool] = []

    def after(pass_: ModulePass, module: ModuleOp, changed: bool) -> None:
        changes.append(changed)

    watcher = SimpleNamespace(wants_changed=True, after=after)
    run("append,append{times=0}", watcher)
    assert changes == [True, False]


def test_an_object_that_would_hear_of_nothing_is_no_instrument():
    message = (
        "instruments: SimpleNamespace has none of the methods of an instrument "
        "(before_pipeline, before, applied, after, failed, after_pipeline)"
    )
    with pytest.raises(TenonError, match=f"^{re.escape(message)}$"):
        run("append", SimpleNamespace(runBeforePass=print))


def test_a_failing_instrument_fails_the_pass_for_the_others():
    class Failing(PassInstrument):
        def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
            raise SemanticsError("wrong answer", pass_)

    recorder = Recorder()
    with pytest.raises(SemanticsError):
        run("append", Failing(), recorder)
    assert recorder.events[-1] == "failed append: wrong answer"


def test_print_ir_has_mlir_opts_banners():
    stream = StringIO()
    with pytest.raises(ZeroDivisionError):
        run("append,crash", PrintIR(stream, before_passes=("append",), after_passes=EveryPass()))
    banners = [line for line in stream.getvalue().splitlines() if line.startswith("// -----//")]
    assert banners == [
        "// -----// IR Dump Before AppendPass (append) //----- //",
        "// -----// IR Dump After AppendPass (append) //----- //",
        "// -----// IR Dump After CrashPass Failed (crash) //----- //",
    ]


def test_print_ir_after_change_leaves_out_what_changed_nothing():
    stream = StringIO()
    run("append{times=0},append", PrintIR(stream, after_passes=EveryPass(), only_changes=True))
    assert stream.getvalue().count("IR Dump") == 1
    assert "test.op" in stream.getvalue()


def test_print_ir_after_failure_leaves_out_what_succeeded():
    stream = StringIO()
    with pytest.raises(ZeroDivisionError):
        run("append,crash", PrintIR(stream, after_passes=EveryPass(), only_failures=True))
    assert stream.getvalue().count("IR Dump") == 1
    assert "After CrashPass Failed (crash)" in stream.getvalue()


def test_tree_dump_numbers_its_files(tmp_path: Path):
    with pytest.raises(ZeroDivisionError):
        run("append,crash", TreeDump(tmp_path / "new" / "dump"))
    names = sorted(path.name for path in (tmp_path / "new" / "dump").iterdir())
    assert names == ["00-input.mlir", "01-append.mlir", "02-crash-failed.mlir"]
    assert "test.op" in (tmp_path / "new" / "dump" / "01-append.mlir").read_text()


def test_timing_adds_up_by_name_and_reports_as_mlir_opt_does():
    timing = Timing()
    with timing.phase("parser"):
        pass
    run("append,append", timing)
    assert sorted(timing.seconds) == ["append", "parser", "verifier"]
    lines = timing.report().splitlines()
    assert lines[1].strip() == "... Execution time report ..."
    assert re.fullmatch(r"  Total Execution Time: \d+\.\d{4} seconds", lines[3])
    assert lines[5] == "  ----Wall Time----  ----Name----"
    assert re.fullmatch(r"    \d+\.\d{4} \(100\.0%\)  Total", lines[-1])


def test_statistics_count_ops_before_and_after():
    statistics = Statistics()
    run("append{times=2},append{times=0}", statistics)
    assert [row.after["test.op"] for row in statistics.rows] == [2, 2]
    assert statistics.report().splitlines()[3:] == [
        "append",
        "  (S)     3 ops - 1 before",
        "  (S)    +2 test.op",
        "append",
        "  (S)     3 ops - 3 before",
    ]


def test_a_reproducer_reads_back_what_it_holds():
    reproducer = Reproducer("module {}", 'a{x="1,\\"2"},b', verify_each=False)
    again = Reproducer.read(str(reproducer))
    assert again is not None
    assert again.text.strip() == "module {}"
    assert again.pipeline == f"builtin.module({reproducer.pipeline})"
    assert again.verify_each is False


def test_text_without_a_trailer_is_no_reproducer():
    assert Reproducer.read("module {}\n") is None


def test_crash_reproducer_holds_the_input_and_all_passes(tmp_path: Path):
    path = tmp_path / "new" / "crash.mlir"
    instrument = CrashReproducer(path)
    with pytest.raises(ZeroDivisionError):
        run("append,crash,append", instrument)
    assert instrument.is_written
    reproducer = Reproducer.read(path.read_text())
    assert reproducer is not None
    assert reproducer.pipeline == "builtin.module(append,crash,append)"
    assert "test.op" not in reproducer.text


def test_a_local_crash_reproducer_holds_the_failing_pass_alone(tmp_path: Path):
    path = tmp_path / "crash.mlir"
    with pytest.raises(ZeroDivisionError):
        run("append,crash,append", CrashReproducer(path, local=True))
    reproducer = Reproducer.read(path.read_text())
    assert reproducer is not None
    assert reproducer.pipeline == "builtin.module(crash)"
    assert "test.op" in reproducer.text


def test_no_reproducer_is_written_without_a_failure(tmp_path: Path):
    run("append", CrashReproducer(tmp_path / "crash.mlir"))
    assert not (tmp_path / "crash.mlir").exists()


def function(name: str, *types: TensorType) -> func.FuncOp:
    block = Block(arg_types=types)
    block.add_op(func.ReturnOp(*block.args))
    return func.FuncOp(name, FunctionType.from_lists(types, types), Region(block))


def check_semantics(*answers: Any, text: str = "append", seeds: Sequence[int] = (0,)) -> None:
    """Runs `text` where the first run of the module gives the first of `answers`, and so on."""
    remaining = list(answers)

    def execute(module: ModuleOp, name: str, inputs: Sequence[Any], *state: Any) -> Sequence[Any]:
        assert name == "f"
        return remaining.pop(0)

    run(text, VerifySemantics(execute, seeds), module=ModuleOp([function("f", TensorType(f32, [2]))]))
    assert not remaining


ONE_TWO = [np.array([1.0, 2.0], np.float32)]


def test_equal_answers_pass_the_check_of_semantics():
    check_semantics(ONE_TWO, ONE_TWO)
    check_semantics([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])])
    check_semantics(ONE_TWO, [np.array([1.0, 2.000001], np.float32)])


def test_a_pass_that_changes_nothing_is_not_run_again():
    check_semantics(ONE_TWO, text="append{times=0}")


def test_every_seed_is_run():
    check_semantics(ONE_TWO, ONE_TWO, ONE_TWO, ONE_TWO, seeds=(0, 1))


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ([np.array([1.0, 3.0], np.float32)], "output 0 at [1] was 2.0, is now 3.0 (inputs from seed 0)"),
        ([np.array([1.0, np.nan], np.float32)], "output 0 at [1] was 2.0, is now nan"),
        ([np.array([1.0, np.inf], np.float32)], "output 0 at [1] was 2.0, is now inf"),
        ([np.array([1.0], np.float32)], "output 0 was float32[2], is now float32[1]"),
        ([np.array([1, 2], np.int32)], "output 0 was float32[2], is now int32[2]"),
        ([], "1 outputs before, 0 after"),
    ],
)
def test_the_first_pass_that_changes_an_answer_is_named(after: Any, message: str):
    expected = f"pass `append{{times=2}}`: changed what @f computes: {message}"
    with pytest.raises(SemanticsError, match=f"^{re.escape(expected)}"):
        check_semantics(ONE_TWO, ONE_TWO, after, text="append,append{times=2},append")


def test_a_pass_after_which_nothing_runs_is_named():
    def execute(module: ModuleOp, name: str, inputs: Sequence[Any], *state: Any) -> Sequence[Any]:
        if len(module.body.block.ops) > 2:
            raise TenonError("index 4 is out of bounds", location="f.mlir:1:2")
        return ONE_TWO

    module = ModuleOp([function("f", TensorType(f32, [2]))])
    message = "@f does not run any more: f.mlir:1:2: error: index 4 is out of bounds (inputs from seed 3)"
    with pytest.raises(SemanticsError, match=f"^pass `append{{times=2}}`: {re.escape(message)}$") as raised:
        run("append,append{times=2}", VerifySemantics(execute, (3,)), module=module)
    assert str(raised.value.pass_) == "append{times=2}"


def test_a_bug_of_the_interpreter_is_noted_with_the_pass_before():
    answers = [ONE_TWO]
    check = VerifySemantics(lambda *arguments: answers.pop())
    with pytest.raises(IndexError) as raised:
        run("append", check, module=ModuleOp([function("f", TensorType(f32, [2]))]))
    assert raised.value.__notes__ == ["in @f after pass `append`"]


def test_what_does_not_run_at_first_is_the_programs_fault():
    def execute(*arguments: Any) -> Sequence[Any]:
        raise TenonError("index 4 is out of bounds")

    with pytest.raises(TenonError, match=r"^index 4 is out of bounds$"):
        run("append", VerifySemantics(execute), module=ModuleOp([function("f", TensorType(f32, [2]))]))


def test_where_the_first_wrong_element_comes_from_is_told():
    asked: list[Any] = []

    def origin(module: ModuleOp, name: str, inputs: Any, *rest: Any) -> Sequence[str]:
        asked.append((name, *rest))
        return ["%y = test.op of %x = 2.0"]

    answers = [ONE_TWO, [np.array([1.0, 3.0], np.float32)]]
    check = VerifySemantics(lambda *arguments: answers.pop(0), origin=origin)
    with pytest.raises(SemanticsError, match=r", is now 3.0 \(inputs from seed 0\)\n%y = ") as raised:
        run("append", check, module=ModuleOp([function("f", TensorType(f32, [2]))]))
    assert raised.value.details == ["%y = test.op of %x = 2.0"]
    assert asked == [("f", {}, None, {}, 0, (1,))]


def test_integers_have_to_agree_exactly():
    with pytest.raises(SemanticsError, match=r"output 0 at \[0\] was 100000, is now 100001"):
        check_semantics([np.array([100000])], [np.array([100001])])


def test_what_was_computed_in_narrower_floats_may_move_as_these():
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xf64> {
      %e = graph.exp %x : tensor<2xf32>
      %d = graph.cast %e : tensor<2xf32> -> tensor<2xf64>
      func.return %d : tensor<2xf64>
    }"""
    for difference, is_error in ((1e-5, False), (1e-2, True)):
        answers = [[np.array([1.0, 2.0])], [np.array([1.0, 2.0 + difference])]]
        check = VerifySemantics(lambda *arguments, answers=answers: answers.pop(0))
        if is_error:
            with pytest.raises(SemanticsError, match=r"output 0 at \[1\] was 2.0, is now 2.01"):
                run("append", check, module=parse_module(text))
        else:
            run("append", check, module=parse_module(text))


def test_a_function_that_vanishes_is_an_error():
    @dataclass(frozen=True)
    class ErasePass(ModulePass):
        name = "erase"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            op.body.block.erase_op(op.body.block.first_op)

    check = VerifySemantics(lambda module, name, inputs, *state: ONE_TWO)
    module = ModuleOp([function("f", TensorType(f32, [2]))])
    with pytest.raises(SemanticsError, match=r"^pass `erase`: @f was of type .*, is now missing$"):
        PassManager([ErasePass()], [check]).run(Context(), module)


def test_a_function_without_a_body_is_not_run():
    check = VerifySemantics(lambda module, name, inputs, *state: ONE_TWO)
    declared = func.FuncOp.external("g", [TensorType(f32, [2])], [])
    declared.sym_visibility = None
    run("append", check, module=ModuleOp([declared, function("f", TensorType(f32, [2]))]))


NODE_MODULE = """
graph.tnode @w : tensor<4xf32>
graph.tnode @x : tensor<3x4xf32>
graph.tnode @l : tensor<4xf32> mode local
func.func @f(%i: index) {
  %m = graph.merge @w : tensor<4xf32>
  graph.write @w, %m : tensor<4xf32>
  graph.write add @x[%i], %m : tensor<4xf32>
  func.return
}
"""


def test_what_nodes_hold_afterwards_is_compared():
    seen: list[tuple[Any, ...]] = []

    def execute(module: ModuleOp, name: str, inputs: Any, nodes: Any, merge: Any, symbols: Any) -> Any:
        seen.append((nodes["w"].copy(), nodes["x"].copy(), merge, symbols))
        nodes["w"][2] = len(seen)
        return []

    with pytest.raises(
        SemanticsError,
        match=r"^pass `append.*`: changed what @f computes: node @w at \[2\] was 1.0, is now 2.0 \(",
    ):
        run("append", VerifySemantics(execute), module=parse_module(NODE_MODULE))
    (w, x, merge, symbols), again = seen
    assert (w.shape, x.shape, merge.shape, list(symbols)) == ((4,), (3, 4), (4,), ["i"])
    assert 0 <= symbols["i"] < 3
    assert len({w.tobytes(), x[0].tobytes(), merge.tobytes()}) == 3
    for before, after in zip(seen[0], again, strict=True):
        np.testing.assert_array_equal(before, after)


@dataclass(frozen=True)
class SilentPass(ModulePass):
    """Fails as xDSL's passes do: what it says is a note."""

    name = "silent"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        first = op.body.block.first_op
        if first is None:
            raise PassFailedException
        first.emit_error("is wrong\nin two lines", PassFailedException())


def test_what_a_failure_says_in_a_note_is_told():
    with pytest.raises(PassError, match=r"^is wrong in two lines \[in pass `silent`\]$"):
        PassManager([SilentPass()]).run(Context(), ModuleOp([test.TestOp()]))


def test_a_failure_that_says_nothing_is_told_by_its_name():
    with pytest.raises(PassError, match=r"^PassFailedException \[in pass `silent`\]$"):
        PassManager([SilentPass()]).run(Context(), ModuleOp([]))

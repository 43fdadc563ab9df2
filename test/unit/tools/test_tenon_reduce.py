import io
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tenon.dialects import graph
from tenon.passes import registry
from tenon.passes.instruments.reproducer import Reproducer
from tenon.tools import tenon_reduce
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

PROGRAM = """\
func.func @f(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %0 = graph.add %x, %y : tensor<4x6xf32>
  %1 = graph.sin %0 : tensor<4x6xf32>
  %2 = graph.exp %1 : tensor<4x6xf32>
  func.return %2 : tensor<4x6xf32>
}
"""

LEAST = """\
builtin.module {
  func.func @f(%0: tensor<1x1xf32>) -> tensor<1x1xf32> {
    %1 = graph.sin %0 : tensor<1x1xf32>
    func.return %1 : tensor<1x1xf32>
  }
}
"""


@dataclass(frozen=True)
class CrashPass(ModulePass):
    """Has a bug."""

    name = "fault-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if any(isinstance(inner, graph.SinOp) for inner in op.walk()):
            raise ZeroDivisionError("division by zero")


@dataclass(frozen=True)
class WrongPass(ModulePass):
    """Takes a sine for a cosine."""

    name = "fault-wrong"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, graph.SinOp):
                Rewriter.replace_op(inner, graph.CosOp(inner.operands[0]))


@pytest.fixture(autouse=True)
def faults(monkeypatch: pytest.MonkeyPatch) -> None:
    for fault in (CrashPass, WrongPass):
        monkeypatch.setitem(registry.ALL_PASSES, fault.name, lambda fault=fault: fault)


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    def run(*arguments: str, stdin: str = PROGRAM) -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        try:
            code = tenon_reduce.main(arguments)
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


def test_a_failing_pass_is_found_and_kept(run):
    outcome = run("-p", "canonicalize-graph,fault-crash")
    assert (outcome.code, outcome.out) == (0, LEAST)
    first, *_, last = outcome.err.splitlines()
    assert first == ("tenon-reduce: found error in pass `fault-crash`: ZeroDivisionError: division by zero")
    assert last.startswith("tenon-reduce: 5 ops were reduced to 3 ops in ")
    assert "tenon-reduce: 3 ops left after " in outcome.err


def test_a_pass_that_changes_what_is_computed_is_found_without_being_asked_for(run):
    outcome = run("-p", "fault-wrong", stdin=LEAST)
    assert (outcome.code, outcome.out) == (0, LEAST)
    assert "found changed semantics in pass `fault-wrong`" in outcome.err


def test_wrong_numbers_of_a_backend_are_kept_and_the_pass_is_named(run, tmp_path: Path):
    output = tmp_path / "least.mlir"
    arguments = ("-p", "fault-wrong,default-pipeline", "--backend", "llvm", "-o", str(output))
    outcome = run(*arguments, stdin=LEAST.replace("1x1", "1x2"))
    assert (outcome.code, outcome.out, output.read_text()) == (0, "", LEAST)
    assert "found wrong numbers in the run on llvm: result0 of @f: 2 of 2 elements differ" in outcome.err
    assert "note: changed semantics in pass `fault-wrong`" in outcome.err


def test_a_reproducer_brings_its_passes_and_stays_one(run):
    outcome = run(stdin=str(Reproducer(LEAST, "fault-crash")))
    assert outcome.code == 0
    assert outcome.out == str(Reproducer(LEAST, "fault-crash"))


def test_nothing_wrong_is_an_error(run):
    outcome = run("-p", "canonicalize-graph", "--seed", "3")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == (
        "tenon-reduce: error: nothing is wrong with <stdin>: its passes run, and no pass changes what it "
        "computes (inputs from seed 3; hint: --seed, --test)\n"
    )
    assert "llvm gives the interpreter's numbers, and no pass" in run().err


def test_a_command_answers_by_its_exit_status(run, tmp_path: Path):
    script = tmp_path / "a test"
    script.write_text("import sys; sys.exit('graph.sin' not in open(sys.argv[1]).read())")
    outcome = run("--test", f"'{sys.executable}' '{script}'")
    assert (outcome.code, outcome.out) == (0, LEAST)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("false", "--test: false does not exit with 0 for <stdin> itself"),
        ("no-such-command", "--test: cannot run no-such-command: no such file or directory"),
        ("sleep 60", "--test: sleep does not exit with 0 for <stdin> itself"),
    ],
)
def test_a_command_that_is_not_happy_with_the_module_is_an_error(run, command, message):
    outcome = run("--test", command, "--timeout", "0.3")
    assert (outcome.code, outcome.err) == (1, f"tenon-reduce: error: {message}\n")


def test_a_module_that_is_wrong_is_shown(run):
    outcome = run(stdin="func.func @f() {\n  arith.nothing\n  func.return\n}\n")
    assert outcome.code == 1
    assert outcome.err.startswith("<stdin>:2:3: error: unknown op arith.nothing")


def test_an_output_that_cannot_be_written_is_an_error(run, tmp_path: Path):
    outcome = run("-p", "fault-crash", "-o", str(tmp_path / "missing" / "out.mlir"))
    assert outcome.code == 1
    assert "out.mlir: no such file or directory" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "fault-cras"], "unknown pass 'fault-cras', did you mean 'fault-crash'?"),
        (["--backend", "cuda"], "invalid choice: 'cuda'"),
        (["--seed", "-1"], "expected a number from 0 up, found '-1'"),
        (["--timeout", "0"], "expected seconds, more than 0, found '0'"),
        (["--timeout", "soon"], "expected seconds, more than 0, found 'soon'"),
        (["--verify-each", "perhaps"], "expected true or false, found 'perhaps'"),
        (["--test", "'"], "cannot read ''' (no closing quotation)"),
        (["--test", ""], "expected a command, found nothing"),
        (["--test", "true", "-p", "cse"], "--test and --passes exclude each other"),
        (["--test", "true", "--verify-semantics"], "--test and --verify-semantics exclude each other"),
        (["--load-dialect", "no_such_module"], "--load-dialect: cannot import 'no_such_module'"),
    ],
)
def test_a_wrong_command_line_is_told_by_2(run, arguments, message):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert message in outcome.err

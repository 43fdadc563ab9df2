import io
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tenon.dialects.graph import AbsOp, NegOp
from tenon.tools import tenon_opt
from tenon.tools.diagnostics import Diagnostic
from tenon.tools.opt.diagnostics_check import check_diagnostics, read_expectations
from tenon.tools.opt.opt_arguments import normalize_arguments
from tenon.tools.source_text import split_source
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import PassFailedException
from xdsl.xdsl_opt_main import xDSLOptMain

TOOL = str(Path(sys.executable).parent / "tenon-opt")

ADD = """\
func.func @add(%x: i32) -> i32 {
  %one = arith.constant 1 : i32
  %same = arith.constant 1 : i32
  %two = arith.addi %one, %same : i32
  %y = arith.addi %x, %two : i32
  func.return %y : i32
}
"""

PARSE_ERROR = "func.func @f() {\n  arith.nothing\n  func.return\n}\n"


@dataclass(frozen=True)
class CrashPass(ModulePass):
    """Has a bug."""

    name = "crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise ZeroDivisionError("division by zero")


@dataclass(frozen=True)
class RefusePass(ModulePass):
    """Refuses the first op of each function."""

    name = "refuse"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.body.block.ops:
            self.refuse(function.regions[0].block.first_op)

    def refuse(self, op) -> None:
        raise PassFailedException(f"{op.name}: refused")


@dataclass(frozen=True)
class MistakePass(ModulePass):
    """Takes neg for abs."""

    name = "mistake"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, NegOp):
                Rewriter.replace_op(inner, AbsOp(inner.operands[0]))


@pytest.fixture(autouse=True)
def own_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    register = xDSLOptMain.register_all_passes

    def register_more(self: xDSLOptMain) -> None:
        register(self)
        for pass_type in (CrashPass, RefusePass, MistakePass):
            self.register_pass(pass_type.name, lambda pass_type=pass_type: pass_type)

    monkeypatch.setattr(xDSLOptMain, "register_all_passes", register_more)


@dataclass
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    # xDSL's --disable-verify is for all of a process.
    monkeypatch.setattr(Attribute, "__post_init__", Attribute.__post_init__)

    def run(*arguments: str, stdin: str | bytes = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        try:
            code = tenon_opt.main(arguments)
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_no_file_and_a_dash_are_standard_input(run, arguments):
    outcome = run(*arguments, "-p", "canonicalize", stdin=ADD)
    assert (outcome.code, outcome.err) == (0, "")
    assert "arith.constant 2 : i32" in outcome.out


def test_a_file_of_any_name_is_read_and_one_is_written(run, tmp_path: Path):
    (tmp_path / "program.txt").write_text(ADD)
    outcome = run(str(tmp_path / "program.txt"), "-o", str(tmp_path / "out.mlir"), "-p", "cse")
    assert (outcome.code, outcome.out) == (0, "")
    assert (tmp_path / "out.mlir").read_text().count("arith.constant") == 1


def test_the_output_reads_back_as_itself(run):
    once = run(stdin=ADD).out
    assert run(stdin=once).out == once


def test_a_missing_file_is_one_line(run, tmp_path: Path):
    path = str(tmp_path / "nowhere.mlir")
    assert run(path) == Outcome(1, "", f"tenon-opt: error: no such file: {path}\n")


def test_a_file_that_cannot_be_read_is_one_line(run, tmp_path: Path):
    assert run(str(tmp_path)) == Outcome(1, "", f"tenon-opt: error: cannot read {tmp_path}: is a directory\n")


def test_a_file_that_cannot_be_written_is_one_line(run, tmp_path: Path):
    path = tmp_path / "no" / "folder.mlir"
    expected = f"tenon-opt: error: cannot write {path}: no such file or directory\n"
    assert run("-o", str(path), stdin=ADD) == Outcome(1, "", expected)


def test_bytes_that_are_no_text_have_a_place(run):
    outcome = run(stdin=b"// fine\n// \xff\n")
    assert outcome == Outcome(1, "", "<stdin>:2:4: error: byte 0xff is not UTF-8\n")


def test_a_parse_error_shows_the_line_and_a_caret(run):
    outcome = run(stdin=PARSE_ERROR)
    assert (outcome.code, outcome.out) == (1, "")
    lines = outcome.err.splitlines()
    assert re.match(r"<stdin>:2:\d+: error: .*arith.nothing", lines[0])
    assert lines[1] == "  arith.nothing"
    assert lines[2].strip() == "^"


def test_a_verify_error_has_a_place(run):
    text = '%x = "test.op"() : () -> i32\n%y = "arith.addf"(%x, %x) : (i32, i32) -> i32\n'
    outcome = run("--allow-unregistered-dialect", stdin=text)
    assert outcome.code == 1
    assert outcome.err.startswith("<stdin>:2:")
    assert "error: " in outcome.err.splitlines()[0]
    assert "Traceback" not in outcome.err


def test_a_refusing_pass_is_named_at_the_place_of_the_op(run):
    outcome = run("-p", "cse,refuse", stdin=ADD)
    assert outcome.code == 1
    lines = outcome.err.splitlines()
    assert re.fullmatch(r"<stdin>:2:\d+: error: arith.constant: refused \[in pass `refuse`\]", lines[0])


def test_nothing_is_written_to_a_file_on_failure(run, tmp_path: Path):
    assert run("-o", str(tmp_path / "out.mlir"), "-p", "refuse", stdin=ADD).code == 1
    assert not (tmp_path / "out.mlir").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("-p", "canonicalise-graph"),
            "unknown pass 'canonicalise-graph', did you mean 'canonicalize-graph'?",
        ),
        (("-p", "cse{x=1}"), "cse: unknown option 'x' (it has no options)"),
        (("-t", "llvm_ir"), "argument -t/--emit: unknown form 'llvm_ir', did you mean 'llvm-ir'?"),
        (
            ("-t", "llvm-ir{x=1}"),
            "argument -t/--emit: cannot take the options of 'llvm-ir{x=1}' (Provided arguments",
        ),
        (("-t", "{"), "argument -t/--emit: cannot read '{'"),
        (("--mlir-print-ir-after=csee",), "unknown pass 'csee', did you mean 'cse'?"),
        (
            ("--mlir-print-ir-after=merge-axes",),
            "unknown pass 'merge-axes', it is called 'collapse-axes' now",
        ),
        (("--verify-each=perhaps",), "expected true or false, found 'perhaps'"),
        (("--verify-semantics=0",), "expected a number from 1 up, found '0'"),
        (("--no-such-flag",), "unrecognized arguments: --no-such-flag"),
        (
            ("--mlir-generate-reproducer=x", "--split-input-file"),
            "--mlir-generate-reproducer writes one file, found --split-input-file too",
        ),
        (("--run-reproducer", "-p", "cse"), "--run-reproducer takes the passes from its input, found -p too"),
    ],
)
def test_a_wrong_command_line_exits_with_2(run, arguments, message):
    outcome = run(*arguments, stdin=ADD)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.out == ""


def test_a_bug_leaves_a_reproducer_that_runs(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = run("-p", "cse,crash", stdin=ADD)
    assert (outcome.code, outcome.out) == (70, "")
    first, second = outcome.err.splitlines()
    assert first == "tenon-opt: internal error: ZeroDivisionError: division by zero in pass `crash`"
    (path,) = tmp_path.glob("tenon-opt-*.mlir")
    assert second == f"tenon-opt: to reproduce: tenon-opt {path} --run-reproducer --debug"
    again = run(str(path), "--run-reproducer", "--debug")
    assert again.code == 70
    assert "Traceback" in again.err


def test_the_first_pass_that_changes_an_answer_is_a_bug_with_a_reproducer(run, tmp_path: Path):
    path = tmp_path / "mistake.mlir"
    text = """\
func.func @negate(%x: tensor<2xi32>) -> tensor<2xi32> {
  %y = graph.neg %x : tensor<2xi32>
  func.return %y : tensor<2xi32>
}
"""
    flags = ("--verify-semantics=2", f"--mlir-pass-pipeline-crash-reproducer={path}")
    assert run("-p", "cse,canonicalize-graph", *flags, stdin=text).code == 0
    outcome = run("-p", "cse,mistake,dce", *flags, stdin=text)
    assert outcome.code == 70
    assert re.match(
        r"tenon-opt: internal error: SemanticsError: pass `mistake`: changed what @negate computes: "
        r"output 0 at \[\d\] was -?\d, is now -?\d \(inputs from seed \d\)\n",
        outcome.err,
    )
    assert f"tenon-opt {path} --run-reproducer --debug --verify-semantics=2\n" in outcome.err
    assert "cse,mistake,dce" in path.read_text()
    again = run(str(path), "--run-reproducer", "--verify-semantics=2")
    assert again.code == 70
    assert again.err.splitlines()[0] == outcome.err.splitlines()[0]


def test_the_reproducer_of_a_reproducer_is_the_same(run, tmp_path: Path):
    first, second = tmp_path / "first.mlir", tmp_path / "second.mlir"
    flag = "--mlir-pass-pipeline-crash-reproducer"
    assert run(f"{flag}={first}", "-p", "crash", stdin=ADD).code == 70
    assert run(str(first), "--run-reproducer", f"{flag}={second}").code == 70
    assert first.read_text() == second.read_text()


def test_a_bug_of_a_target_leaves_a_reproducer_too(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def emit(self: xDSLOptMain, prog: ModuleOp) -> str:
        raise IndexError("list index out of range")

    monkeypatch.setattr(xDSLOptMain, "output_resulting_program", emit)
    path = tmp_path / "crash.mlir"
    outcome = run("-t", "llvm-ir", f"--mlir-pass-pipeline-crash-reproducer={path}", "-p", "cse", stdin=ADD)
    assert outcome.code == 70
    assert f"tenon-opt {path} --run-reproducer --debug -t llvm-ir" in outcome.err
    assert 'pipeline: "builtin.module(cse)"' in path.read_text()


def test_a_refusing_pass_leaves_a_reproducer_where_asked(run, tmp_path: Path):
    path = tmp_path / "refused.mlir"
    outcome = run(f"--mlir-pass-pipeline-crash-reproducer={path}", "-p", "refuse", stdin=ADD)
    assert outcome.code == 1
    assert f"note: reproducer written to {path}\n" in outcome.err
    assert run(str(path), "--run-reproducer").code == 1


def test_a_text_that_is_no_reproducer_cannot_be_run_as_one(run):
    outcome = run("--run-reproducer", stdin=ADD)
    assert outcome.code == 1
    assert "error: --run-reproducer: the input does not end in a reproducer" in outcome.err


def test_a_reproducer_without_the_flag_is_a_module(run, tmp_path: Path):
    path = tmp_path / "crash.mlir"
    run(f"--mlir-pass-pipeline-crash-reproducer={path}", "-p", "crash", stdin=ADD)
    assert run(str(path)).code == 0


def test_an_interrupt_is_quiet(run, monkeypatch: pytest.MonkeyPatch):
    def interrupt(self: CrashPass, ctx: Context, op: ModuleOp) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CrashPass, "apply", interrupt)
    assert run("-p", "crash", stdin=ADD) == Outcome(130, "", "")


def test_a_closed_pipe_is_quiet():
    text = "".join(ADD.replace("@add", f"@add{number}") for number in range(1500))
    with subprocess.Popen([TOOL], stdin=-1, stdout=-1, stderr=-1, text=True) as tool:
        assert tool.stdin and tool.stdout and tool.stderr
        tool.stdout.close()
        tool.stdin.write(text)
        tool.stdin.close()
        assert tool.stderr.read() == ""
    assert tool.returncode == 141


def test_a_chunk_that_fails_does_not_stop_the_next(run):
    outcome = run("--split-input-file", stdin=f"{PARSE_ERROR}// -----\n{ADD}")
    assert outcome.code == 1
    assert outcome.err.startswith("<stdin>:2:")
    assert "func.func @add" in outcome.out


def test_chunks_keep_the_line_numbers_of_the_file(run):
    outcome = run("--split-input-file", stdin=f"{ADD}// -----\n{PARSE_ERROR}")
    assert outcome.err.startswith("<stdin>:10:")
    assert "\n  arith.nothing\n" in outcome.err


def test_dumps_of_chunks_do_not_overwrite_one_another(run, tmp_path: Path):
    run("--split-input-file", f"--mlir-print-ir-tree-dir={tmp_path}", stdin=f"{ADD}// -----\n{ADD}")
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.mlir")) == [
        "00/00-input.mlir",
        "01/00-input.mlir",
    ]


def test_splitting_keeps_line_numbers_and_knows_its_marker():
    text = "a\n// -----\nb\n// -----// IR Dump\nc\n// -----  \nd\n"
    assert list(split_source(text)) == ["a\n", "\n\nb\n// -----// IR Dump\nc\n", "\n" * 6 + "d\n"]


def test_chunks_may_be_told_apart_by_another_marker(run):
    text = "a\n// -----\nb\n  # cut\nc\n"
    assert list(split_source(text, "# cut")) == ["a\n// -----\nb\n", "\n\n\n\nc\n"]
    outcome = run("--split-input-file=# cut", "--output-split-marker=# here", stdin="# cut\n")
    assert outcome == Outcome(0, "builtin.module {\n}\n# here\nbuiltin.module {\n}\n", "")


def test_flags_may_have_one_dash_and_no_value():
    given = [
        "-mlir-timing",
        "--verify-each",
        "-verify-semantics",
        "-run-reproducer",
        "-version",
        "-p",
        "x",
        "-pass-pipeline=y",
        "--verify-each=0",
    ]
    assert normalize_arguments(given) == [
        "--mlir-timing",
        "--verify-each=true",
        "--verify-semantics=1",
        "--run-reproducer",
        "--version",
        "-p",
        "x",
        "--pass-pipeline=y",
        "--verify-each=0",
    ]


def test_expectations_name_their_lines():
    text = """\
a // expected-error {{same line}}
// expected-error@+2 {{below by two}}
// expected-error @-2 {{above by two}}
b
// expected-error@below {{nearest below}}
// expected-error@above {{nearest above}}
c // expected-error@unknown 2 {{nowhere}}
// expected-warning@below {{last}}"""
    assert [(each.line, each.message) for each in read_expectations(text, "f")] == [
        (1, "same line"),
        (4, "below by two"),
        (1, "above by two"),
        (9, "nearest below"),
        (4, "nearest above"),
        (0, "nowhere"),
        (0, "nowhere"),
        (9, "last"),
    ]


def test_expected_errors_succeed_and_others_fail(run):
    good = PARSE_ERROR.replace("arith.nothing", "arith.nothing // expected-error {{nothing}}")
    assert run("--verify-diagnostics", stdin=good) == Outcome(0, "", "")
    outcome = run("--verify-diagnostics", stdin=PARSE_ERROR)
    assert outcome.code == 1
    assert "error: unexpected error: " in outcome.err
    outcome = run("--verify-diagnostics", stdin=f"// expected-error@below {{{{no such}}}}\n{ADD}")
    assert outcome.code == 1
    assert outcome.err.startswith('<stdin>:1:1: error: expected error "no such" was not produced\n')


def test_an_announcement_stands_for_one_error_of_its_line():
    text = "x // expected-error {{bad}}\n"
    bad = Diagnostic("bad thing", "f", 1, 1)
    assert check_diagnostics(text, "f", [bad]) == []
    assert [each.message for each in check_diagnostics(text, "f", [bad, bad])] == [
        "unexpected error: bad thing"
    ]
    assert len(check_diagnostics(text, "f", [Diagnostic("bad thing", "f", 2, 1)])) == 2


def test_expected_errors_may_hold_regular_expressions():
    text = "x // expected-error-re {{axis {{[0-9]+}} of (x)}} expected-error {{axis {{[0-9]+}} of}}\n"
    (announced,) = read_expectations(text, "f")
    assert announced.message == "axis {{[0-9]+}} of (x)"
    assert announced.matches(Diagnostic("axis 12 of (x)", "f", 1, 1))
    assert not announced.matches(Diagnostic("axis 12 of x", "f", 1, 1))
    assert not announced.matches(Diagnostic("axis one of (x)", "f", 1, 1))
    (plain,) = read_expectations("x // expected-error {{[0-9]+}}\n", "f")
    assert not plain.matches(Diagnostic("12", "f", 1, 1))


def test_what_is_no_regular_expression_is_an_error(run):
    outcome = run("--verify-diagnostics", stdin=f"// expected-error-re@below {{{{a{{{{(}}}}}}}}\n{ADD}")
    assert outcome.code == 1
    assert "<stdin>:1:1: error: expected-error-re: not a regular expression (missing )" in outcome.err


def test_more_than_the_expected_errors_may_happen():
    text = "x // expected-error {{bad}}\n"
    bad, worse = Diagnostic("bad thing", "f", 1, 1), Diagnostic("worse", "f", 2, 1)
    assert check_diagnostics(text, "f", [bad, worse], only_expected=True) == []
    (missing,) = check_diagnostics(text, "f", [worse], only_expected=True)
    assert missing.message == 'expected error "bad" was not produced'


def test_warnings_never_happen():
    wrong = check_diagnostics("// expected-warning@above {{careful}}\n", "f", [])
    assert [each.message for each in wrong] == ['expected warning "careful" was not produced']


def test_a_caret_stands_under_its_column_behind_tabs():
    diagnostic = Diagnostic("bad", "f", 2, 3)
    assert diagnostic.format("f", "a\n\tbc\n") == "f:2:3: error: bad\n\tbc\n\t ^\n"
    assert diagnostic.format("g", "a\n\tbc\n") == "f:2:3: error: bad\n"


def test_information_is_printed_and_nothing_read(run):
    passes = run("--list-passes").out.splitlines()
    assert all(re.fullmatch(r"[a-z-]+ - .*\.", line) for line in passes)
    assert any(line.startswith("canonicalize-graph - ") for line in passes)
    dialects = run("--show-dialects").out
    assert dialects.startswith("Available Dialects: ")
    assert {"graph", "sched", "low", "arith"} <= set(dialects.split(": ")[1].strip().split(", "))
    assert re.fullmatch(r"tenon \S+ \(xdsl 0\.74\.0\)\n", run("--version").out)


def test_the_pipeline_can_be_shown(run):
    outcome = run("--dump-pass-pipeline", "-p", "verify-stage{absent=scf},cse", stdin=ADD)
    assert outcome.err == (
        'Pass Manager with 2 passes:\nbuiltin.module(verify-stage{absent="scf" allowed},cse)\n\n'
    )


@pytest.mark.parametrize(("depth", "code"), [(100, 0), (400, 1)])
def test_regions_may_be_nested_deeply_and_too_deeply(run, depth: int, code: int):
    text = "scf.execute_region {\n" * depth + "scf.yield\n}\n" * depth
    outcome = run(stdin=text)
    assert outcome.code == code
    assert ("nested too deeply" in outcome.err) == (code == 1)


def test_a_directory_that_cannot_be_made_is_one_line(run, tmp_path: Path):
    path = tmp_path / "taken"
    path.write_text("")
    outcome = run(f"--mlir-print-ir-tree-dir={path}", "-p", "cse", stdin=ADD)
    assert outcome == Outcome(1, "", f"tenon-opt: error: cannot use {path}: file exists\n")


def test_a_reproducer_that_cannot_be_written_does_not_hide_the_error(run, tmp_path: Path):
    outcome = run(f"--mlir-pass-pipeline-crash-reproducer={tmp_path}", "-p", "refuse", stdin=ADD)
    assert outcome.code == 1
    assert outcome.err.startswith(f"note: cannot write {tmp_path}: is a directory\n<stdin>:2:")
    assert "error: arith.constant: refused [in pass `refuse`]" in outcome.err


def test_a_reproducer_that_cannot_be_written_is_kept_elsewhere(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    outcome = run(f"--mlir-pass-pipeline-crash-reproducer={tmp_path}", "-p", "crash", stdin=ADD)
    assert outcome.code == 70
    assert f"note: cannot write {tmp_path}: is a directory\n" in outcome.err
    (path,) = tmp_path.glob("tenon-opt-*.mlir")
    assert f"to reproduce: tenon-opt {path} --run-reproducer --debug\n" in outcome.err
    assert run(str(path), "--run-reproducer").code == 70


def test_flags_that_a_bug_may_hang_on_are_told(run, tmp_path: Path):
    path = tmp_path / "of two words.mlir"
    flags = ("--allow-unregistered-dialect", "--disable-verify")
    outcome = run(f"--mlir-pass-pipeline-crash-reproducer={path}", *flags, "-p", "crash", stdin=ADD)
    assert outcome.err.endswith(
        f"tenon-opt '{path}' --run-reproducer --debug --allow-unregistered-dialect --disable-verify\n"
    )


def test_a_closed_standard_input_is_one_line():
    command = [sys.executable, "-c", f"import os; os.close(0); os.execv({TOOL!r}, [{TOOL!r}])"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr == "tenon-opt: error: cannot read <stdin>: it is closed\n"


def test_a_closed_standard_output_is_no_bug():
    command = [sys.executable, "-c", f"import os; os.close(1); os.execv({TOOL!r}, [{TOOL!r}])"]
    result = subprocess.run(command, input=ADD, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_full_disk_is_one_line():
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([TOOL], input=ADD, stdout=full, stderr=-1, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "tenon-opt: error: input or output failed: no space left on device\n"


TWO_WRONG = """\
func.func @f(%x: tensor<2xf32>) {
  // expected-error@below {{axis 1 is out of range}}
  %a = graph.reduce add %x axes [1] : tensor<2xf32> -> tensor<f32>
  // expected-error@below {{axis 2 is out of range}}
  %b = graph.reduce add %x axes [2] : tensor<2xf32> -> tensor<f32>
  func.return
}
"""


def test_each_of_several_errors_shows_its_line(run):
    outcome = run(stdin=TWO_WRONG)
    lines = outcome.err.splitlines()
    assert [line.split(" error: ")[0] for line in lines[::3]] == ["<stdin>:3:8:", "<stdin>:5:8:"]
    assert [line.strip() for line in lines[2::3]] == ["^", "^"]


def test_each_of_several_errors_can_be_expected(run):
    assert run("--verify-diagnostics", stdin=TWO_WRONG) == Outcome(0, "", "")


def test_of_a_long_line_only_what_is_near_is_shown():
    line = "a" * 5000 + "!" + "b" * 5000
    message, shown, caret = Diagnostic("bad", "f", 1, 5001).format("f", line).splitlines()
    assert message == "f:1:5001: error: bad"
    assert len(shown) < 300
    assert shown.startswith("...aaa") and shown.endswith("bbb...")
    assert shown[caret.index("^")] == "!"
    start = Diagnostic("bad", "f", 1, 2).format("f", line).splitlines()[1:]
    assert start[0].startswith("aaa") and start[1] == " ^"
    end = Diagnostic("bad", "f", 1, 10002).format("f", line).splitlines()[1:]
    assert end[0].endswith("bbb") and end[1].index("^") == len(end[0])


def test_only_failures_means_all_passes(run):
    flags = ("--mlir-print-ir-after=cse", "--mlir-print-ir-after-failure")
    outcome = run("-p", "cse,refuse", *flags, stdin=ADD)
    assert outcome.err.startswith("// -----// IR Dump After RefusePass Failed (refuse) //----- //\n")
    assert "CommonSubexpression" not in outcome.err

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tenon.tools import tenon_run
from tenon.tools.exit_codes import DIAGNOSTICS, INTERNAL, SUCCESS, USAGE

ADD = """\
func.func @add(%x: tensor<2x3xf32>, %y: tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xi1>) {
  %wide = graph.broadcast %y : tensor<3xf32> -> tensor<2x3xf32>
  %sum = graph.add %x, %wide : tensor<2x3xf32>
  %less = graph.lt %x, %wide : tensor<2x3xf32>
  func.return %sum, %less : tensor<2x3xf32>, tensor<2x3xi1>
}
"""
ONE = """\
func.func @double(%x: tensor<4xTYPE>) -> tensor<4xTYPE> {
  %y = graph.add %x, %x : tensor<4xTYPE>
  func.return %y : tensor<4xTYPE>
}
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = np.array([10, 20, 0.5], np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules and arrays, which is the working directory."""
    monkeypatch.chdir(tmp_path)
    Path("add.mlir").write_text(ADD)
    Path("one.mlir").write_text(ONE.replace("TYPE", "f32"))
    np.savez("both.npz", x=X, y=Y)
    np.savez("more.npz", x=X, y=Y, labels=Y)
    np.savez("part.npz", x=X, z=Y)
    np.save("x.npy", X)
    np.save("y.npy", Y)
    np.save("objects.npy", np.array([{}], object), allow_pickle=True)
    Path("text.npy").write_text("not an array")
    Path("short.npy").write_bytes(Path("x.npy").read_bytes()[:-5])
    Path("broken.npz").write_bytes(Path("both.npz").read_bytes()[:-60])
    Path("header.npy").write_bytes(b"\x93NUMPY\x01\x00\x20\x00" + b"[(".ljust(31) + b"\n")
    Path("code.npy").write_bytes(
        b"\x93NUMPY\x01\x00\x20\x00" + b"__import__('os').getcwd()".ljust(31) + b"\n"
    )
    Path("large.mlir").write_text("func.func @f(%x: tensor<99999999999999xf32>) {\n  func.return\n}\n")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Returns the exit code and what was printed to standard output and standard error."""
    code = tenon_run.main(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def usage_error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        tenon_run.main(arguments)
    assert caught.value.code == USAGE
    return capsys.readouterr().err


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize(
    "arrays",
    [
        ("--inputs", "both.npz"),
        ("--input", "x.npy", "--input", "y.npy"),
        ("--input", "y=y.npy", "--input", "x=x.npy"),
        ("--inputs", "part.npz", "--input", "y=y.npy"),
    ],
    ids=["archive", "in order", "by name", "both"],
)
def test_arguments_come_from_files(
    folder: Path, capsys: pytest.CaptureFixture[str], backend: str, arrays: tuple[str, ...]
):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    code, out, _ = run(capsys, "add.mlir", "--backend", backend, *arrays, "--output", "out.npz")
    assert code == SUCCESS
    assert "result0: float32[2, 3], 2.5 to 24.0\n[[10.  21.   2.5]\n [13.  24.   5.5]]\n" in out
    assert "result1: bool[2, 3], 4 true\n" in out
    with np.load("out.npz") as saved:
        np.testing.assert_array_equal(saved["result0"], X + Y)
        np.testing.assert_array_equal(saved["result1"], X < Y)


def test_random_arguments_depend_on_the_seed_alone(folder: Path, capsys: pytest.CaptureFixture[str]):
    default, zero, one = (
        run(capsys, "add.mlir", *seed)[1] for seed in ((), ("--random-seed", "0"), ("--random-seed", "1"))
    )
    assert default == zero != one


def test_a_seed_fills_up_what_is_not_given(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, _ = run(
        capsys,
        "add.mlir",
        "--inputs",
        "part.npz",
        "--random-seed",
        "3",
        "--output",
        "out.npz",
        "--print",
        "none",
    )
    assert code == SUCCESS


def test_standard_input_is_the_default():
    result = subprocess.run(
        [sys.executable, "-c", "from tenon.tools.tenon_run import main; raise SystemExit(main())"],
        input=ADD,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == SUCCESS, result.stderr
    assert result.stdout.startswith("result0: float32[2, 3]")


ERRORS = {
    "missing file": (("no.mlir",), "tenon-run: error: no such file: no.mlir"),
    "missing array": (
        ("add.mlir", "--inputs", "part.npz"),
        "tenon-run: error: add: there is no array for argument 'y' (part.npz has: x, z)",
    ),
    "missing input": (
        ("add.mlir", "--input", "x.npy"),
        "tenon-run: error: add: there is no array for argument 'y'",
    ),
    "missing archive": (("add.mlir", "--inputs", "no.npz"), "tenon-run: error: no such file: no.npz"),
    "directory": (("add.mlir", "--inputs", "."), "tenon-run: error: cannot read .: is a directory"),
    "objects": (
        ("one.mlir", "--input", "objects.npy"),
        "tenon-run: error: objects.npy: holds Python objects or is no .npy or .npz file "
        "(only plain arrays are read)",
    ),
    "text": (
        ("one.mlir", "--input", "text.npy"),
        "tenon-run: error: text.npy: holds Python objects or is no .npy or .npz file",
    ),
    "cut off": (("one.mlir", "--input", "short.npy"), "tenon-run: error: cannot read short.npy: "),
    "broken archive": (("add.mlir", "--inputs", "broken.npz"), "tenon-run: error: cannot read broken.npz: "),
    "one array": (
        ("add.mlir", "--inputs", "x.npy"),
        "tenon-run: error: x.npy: holds one array, expected an .npz file (hint: use --input)",
    ),
    "several arrays": (
        ("one.mlir", "--input", "both.npz"),
        "tenon-run: error: both.npz: holds several arrays, expected one (hint: use --inputs)",
    ),
    "unknown name": (
        ("add.mlir", "--input", "z=x.npy"),
        "tenon-run: error: add: there is no argument 'z' (arguments: x, y)",
    ),
    "twice": (
        ("add.mlir", "--input", "x.npy", "--input", "x=x.npy"),
        "tenon-run: error: add: argument 'x' is given twice",
    ),
    "too many": (
        ("one.mlir", "--input", "x.npy", "--input", "y.npy"),
        "tenon-run: error: double: no argument is left for y.npy (arguments: x)",
    ),
    "shape": (
        ("one.mlir", "--input", "y.npy"),
        "tenon-run: error: argument 'x': shape [3], expected [4]",
    ),
    "entry": (
        ("add.mlir", "--entry", "sub"),
        "add.mlir: error: there is no function @sub (functions: @add)",
    ),
    "damaged header": (
        ("one.mlir", "--input", "header.npy"),
        "tenon-run: error: cannot read header.npy: its header is damaged",
    ),
    "code in a header": (
        ("one.mlir", "--input", "code.npy"),
        "tenon-run: error: cannot read code.npy: its header is damaged",
    ),
    "too large for random inputs": (
        ("large.mlir",),
        "tenon-run: error: random inputs: cannot make tensor<99999999999999xf32> (Unable to allocate",
    ),
    "two results": (
        ("add.mlir", "--output", "out.npy"),
        "tenon-run: error: out.npy: one array fits, found 2 results (hint: .npz)",
    ),
    "output": (
        ("one.mlir", "--output", "no/out.npy"),
        "tenon-run: error: cannot write no/out.npy: no such file or directory",
    ),
    "dump": (
        ("one.mlir", "--dump-dir", "one.mlir/dump"),
        "error: cannot write one.mlir/dump: not a directory",
    ),
}


def test_a_stage_that_cannot_be_written_is_told(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("dump/00-graph.mlir").mkdir(parents=True)
    code, _, err = run(capsys, "one.mlir", "--dump-dir", "dump")
    assert code == DIAGNOSTICS
    assert err == "one.mlir: error: cannot write dump/00-graph.mlir: is a directory\n"


@pytest.mark.parametrize("name", ERRORS)
def test_a_users_error_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str], name: str):
    arguments, message = ERRORS[name]
    code, _, err = run(capsys, *arguments)
    assert code == DIAGNOSTICS
    assert message in err
    assert len(err.splitlines()) == 1


def test_an_error_of_the_program_shows_its_line(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("wrong.mlir").write_text(ADD.replace("graph.add %x", "graph.add %q"))
    code, _, err = run(capsys, "wrong.mlir")
    assert code == DIAGNOSTICS
    assert err.startswith("wrong.mlir:3:10: error: %q is not defined\n  %sum = graph.add %q, %wide")


def test_arrays_that_are_not_needed_are_noted(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, err = run(capsys, "add.mlir", "--inputs", "more.npz")
    assert code == SUCCESS
    assert err == "tenon-run: note: more.npz: array 'labels' is not an argument of add\n"


def test_wrong_usage_exits_with_2(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert "invalid choice: 'cuda'" in usage_error(capsys, "add.mlir", "--backend", "cuda")
    assert "--level is for --backend reference only, found llvm" in usage_error(
        capsys, "add.mlir", "--backend", "llvm", "--level", "low"
    )
    assert "--level and --pipeline exclude each other" in usage_error(
        capsys, "add.mlir", "--level", "low", "-p", "cse"
    )
    assert "expected a number from 1 up, found '0'" in usage_error(capsys, "add.mlir", "--time", "0")
    assert "expected a number from 1 up, found '-1'" in usage_error(capsys, "add.mlir", "--time", "-1")
    assert "expected [name=]file, found 'x='" in usage_error(capsys, "add.mlir", "--input", "x=")
    assert "-p/--pipeline: pipeline: unknown pass 'csee', did you mean 'cse'?" in usage_error(
        capsys, "add.mlir", "-p", "csee"
    )
    assert "expected a number from 0 up, found '-1'" in usage_error(capsys, "a.mlir", "--random-seed=-1")
    assert "expected a name that ends in .npy or .npz, found 'out.txt'" in usage_error(
        capsys, "add.mlir", "--output", "out.txt"
    )
    assert "expected a name that ends in .svg, .png, .pdf, found 'add.mlir'" in usage_error(
        capsys, "--memory-plan", "add.mlir"
    )
    assert "--stats is not for --backend reference, which interprets and has no kernels" in usage_error(
        capsys, "add.mlir", "--level", "low", "--stats"
    )
    assert "--memory-plan is not for --backend reference, which interprets" in usage_error(
        capsys, "add.mlir", "--backend", "reference", "--memory-plan"
    )


@pytest.mark.parametrize("level", ["graph", "sched", "low"])
def test_every_level_can_be_run_and_compared(folder: Path, capsys: pytest.CaptureFixture[str], level: str):
    code, out, _ = run(capsys, "add.mlir", "--level", level, "--print", "summary", "--compare")
    assert code == SUCCESS
    assert out.splitlines()[2:] == [
        "result0: reference and reference: same bits",
        "result1: reference and reference: same bits",
    ]


def test_a_comparison_that_fails_exits_with_1(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    compile_right = tenon_run.compile

    def compile_wrong(module: object, **options: object) -> object:
        if options["backend"] == "reference":
            module = tenon_run.parse_module(ADD.replace("graph.add", "graph.sub"))
        return compile_right(module, **options)  # pyright: ignore

    monkeypatch.setattr(tenon_run, "compile", compile_wrong)
    code, out, _ = run(capsys, "add.mlir", "--compare", "--print", "none")
    assert code == DIAGNOSTICS
    first, second = out.splitlines()
    assert first.startswith("result0: llvm and reference: 6 of 6 elements differ")
    assert second == "result1: llvm and reference: same bits"


def test_results_may_differ_by_the_floats_that_they_were_computed_in(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    Path("wide.mlir").write_text("""\
func.func @f(%x: tensor<5x64xf32>) -> tensor<5xf64> {
  %s = graph.reduce add %x axes [1] : tensor<5x64xf32> -> tensor<5xf32>
  %d = graph.cast %s : tensor<5xf32> -> tensor<5xf64>
  func.return %d : tensor<5xf64>
}
""")
    code, out, _ = run(capsys, "wide.mlir", "--compare", "--print", "none")
    assert code == SUCCESS
    assert re.fullmatch(
        r"result0: llvm and reference: agree; . of 5 elements differ, the worst by \d+ ulps at \[.\] "
        r"\(computed in f32\)\n",
        out,
    )


def test_what_the_interpreter_refuses_is_not_run_on_a_backend(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    Path("wild.mlir").write_text("""\
sched.kernel @k(%at: memref<4xi64>, %y: memref<4xi64>) {
  sched.axis %i = 4 {
    %n = memref.load %at[%i] : memref<4xi64>
    %j = arith.index_cast %n : i64 to index
    memref.store %n, %y[%j] : memref<4xi64>
  }
}
sched.program @main(%at: memref<4xi64>) : (tensor<4xi64>) -> tensor<4xi64> {
  %y = sched.buffer global result : memref<4xi64>
  %t = sched.launch @k(%at, %y) after() : memref<4xi64>, memref<4xi64>
  sched.return %y after(%t) : memref<4xi64>
}
""")
    np.save("at.npy", np.array([0, 1, 2, 1 << 60]))
    code, out, err = run(capsys, "wild.mlir", "--compare", "--input", "at=at.npy")
    assert (code, out) == (DIAGNOSTICS, "")
    wanted = "memref.store at wild.mlir:5:5: index 1152921504606846976 is out of bounds for dim 0 of extent 4"
    assert err == f"tenon-run: error: {wanted}\n"
    np.save("at.npy", np.array([3, 1, 2, 0]))
    code, out, _ = run(capsys, "wild.mlir", "--compare", "--input", "at=at.npy", "--print", "none")
    assert (code, out) == (SUCCESS, "result0: llvm and reference: same bits\n")


def test_times_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, "add.mlir", "--print", "none", "--time", "3")
    assert code == SUCCESS
    first, second = out.splitlines()
    assert first.startswith("compile ") and first.endswith(" ms")
    assert second.startswith("run best ") and second.endswith(" of 3")


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_kernels_are_timed_one_by_one(folder: Path, capsys: pytest.CaptureFixture[str], backend: str):
    if backend == "opencl":
        pytest.importorskip("pyopencl")
    code, out, _ = run(capsys, "add.mlir", "--backend", backend, "--print", "none", "--stats", "--time", "3")
    assert code == SUCCESS
    title, header, *kernels, total, roofline, first, _, _, last = out.splitlines()[2:]
    assert title == f"kernels of @add on {backend}, medians of 3 runs"
    assert header.split() == ["kernel", "launches", "time", "us", "share", "GFLOP/s", "GB/s", "roof", "bound"]
    assert [kernel.split()[:2] for kernel in kernels] == [["@add_1_merged", "1"]]
    assert sum(float(kernel.split()[3].rstrip("%")) for kernel in kernels) == pytest.approx(100, abs=0.2)
    # Which one is measured: on a busy machine another one than on a quiet one.
    bounds = ["compute f32", "memory L1", "memory L2", "memory L3", "memory memory"]
    assert all(" ".join(kernel.split()[-2:]) in bounds for kernel in kernels)
    assert total.split()[:2] == ["total", "1"]
    assert roofline.startswith("roofline of ")
    assert (first.split()[0], last.split()[0]) == ("L1", "memory")


def test_times_of_kernels_as_json(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, "add.mlir", "--print", "none", "--stats-format", "json", "--time", "2")
    assert code == SUCCESS
    found = json.loads("\n".join(out.splitlines()[2:]))
    assert found["runs"] == 2
    assert [kernel["name"] for kernel in found["kernels"]] == ["@add_1_merged"]
    assert found["total"]["launches"] == 1
    assert [level["name"] for level in found["roofline"]["levels"]] == ["L1", "L2", "L3", "memory"]


def test_kernels_are_timed_ten_times_if_nothing_is_said(folder: Path, capsys: pytest.CaptureFixture[str]):
    out = run(capsys, "add.mlir", "--print", "none", "--stats")[1]
    assert out.startswith("kernels of @add on llvm, medians of 10 runs\n")


def test_a_timeline_has_the_compilation_and_one_run(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, "add.mlir", "--print", "none", "--timeline", "trace.json", "--stats")
    assert code == SUCCESS
    assert out.startswith("kernels of @add")
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    spans = [event["name"] for event in events if event["ph"] == "X"]
    assert spans.index("canonicalize-graph") < spans.index("render") < spans.index("@add_1_merged")
    assert spans.count("@add_1_merged") == 1


def test_a_timeline_that_cannot_be_written_is_told(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, err = run(capsys, "add.mlir", "--timeline", "nowhere/trace.json")
    assert code == DIAGNOSTICS
    assert err == "tenon-run: error: cannot write nowhere/trace.json: no such file or directory\n"


def test_an_interpreted_program_has_a_timeline_too(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, _ = run(capsys, "add.mlir", "--level", "sched", "--timeline", "trace.json")
    assert code == SUCCESS
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    spans = [(event["name"], event["cat"]) for event in events if event["ph"] == "X"]
    assert ("plan-memory", "compile") in spans
    assert spans[-1] == ("add", "routine")


def test_a_memory_plan_is_printed_and_drawn(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, out, _ = run(capsys, "add.mlir", "--print", "none", "--memory-plan")
    assert code == SUCCESS
    assert out.startswith("memory of @add: 0 bytes in 0 pools, 1 step\n")
    assert [line.split()[1:3] for line in out.splitlines() if "the caller's" in line] == [
        ["x", "argument"],
        ["y", "argument"],
        ["sum", "result"],
        ["less", "result"],
    ]
    pytest.importorskip("matplotlib")
    code, drawn, _ = run(capsys, "add.mlir", "--print", "none", "--memory-plan=plan.svg")
    assert (code, drawn) == (SUCCESS, out)
    assert "@add: 0 bytes" in Path("plan.svg").read_text()


def test_every_stage_is_dumped(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, _ = run(capsys, "add.mlir", "--dump-dir", "dump/here")
    assert code == SUCCESS
    names = sorted(path.name for path in Path("dump/here").iterdir())
    assert names[0] == "00-graph.mlir"
    assert names[1].startswith("01-")
    assert [name for name in names if name.endswith("convert-sched-to-low.mlir")]
    pictures = ["memory.svg"] if find_spec("matplotlib") else []
    assert names[-len(pictures) - 4 :] == ["kernels.ll", "kernels.s", *pictures, "memory.txt", "plan.txt"]
    assert Path("dump/here/00-graph.mlir").read_text().startswith("builtin.module {\n  func.func @add")
    assert "define" in Path("dump/here/kernels.ll").read_text()
    assert Path("dump/here/plan.txt").read_text().endswith("returns 2, 3\n")
    assert Path("dump/here/memory.txt").read_text().startswith("memory of @add: ")
    code, _, _ = run(capsys, "add.mlir", "--level", "graph", "--dump-dir", "graph")
    assert code == SUCCESS
    assert (Path("graph") / "00-graph.mlir").exists()
    assert not (Path("graph") / "plan.txt").exists()


def test_what_a_failing_pass_left_is_dumped(folder: Path, capsys: pytest.CaptureFixture[str]):
    code, _, err = run(capsys, "one.mlir", "-p", "verify-stage{absent=func}", "--dump-dir", "dump")
    assert code == DIAGNOSTICS
    assert "verify-stage" in err
    assert (Path("dump") / "01-verify-stage-failed.mlir").exists()


@pytest.mark.parametrize(
    "element_type", ["bf16", "f16", "f8E5M2", "f8E4M3FN", "f8E4M3", "i1", "ui8", "ui64", "i64"]
)
def test_results_of_every_type_can_be_given_again(
    folder: Path, capsys: pytest.CaptureFixture[str], element_type: str
):
    op = "graph.and" if element_type == "i1" else "graph.add"
    text = ONE.replace("TYPE", element_type).replace("graph.add", op)
    Path("typed.mlir").write_text(text)
    code, first, _ = run(capsys, "typed.mlir", "--save", "out.npy", "--backend", "reference")
    assert code == SUCCESS
    code, second, err = run(capsys, "typed.mlir", "--input", "out.npy", "--backend", "reference")
    assert (code, err) == (SUCCESS, "")
    assert first.split(",")[0] == second.split(",")[0]


def test_a_file_that_numpy_cannot_read_back_is_named(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("typed.mlir").write_text(ONE.replace("TYPE", "f8E5M2"))
    np.save("in.npy", np.ones(4, "float8_e5m2"))
    code, _, err = run(capsys, "typed.mlir", "--input", "in.npy")
    assert code == DIAGNOSTICS
    assert err == (
        "tenon-run: error: cannot read in.npy: numpy cannot read the float8_e5m2 that it saves "
        "(hint: save array.view('V1'))\n"
    )


def test_all_values_are_printed_on_request(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("long.mlir").write_text(ONE.replace("TYPE", "f32").replace("4x", "2000x"))
    short = run(capsys, "long.mlir")[1]
    full = run(capsys, "long.mlir", "--print", "all")[1]
    assert "..." in short
    assert "..." not in full
    assert len(full) > 5 * len(short)


def test_nan_and_nothing_have_a_summary(folder: Path, capsys: pytest.CaptureFixture[str]):
    np.save("nan.npy", np.array([np.nan, 1, np.inf, 2], np.float32))
    out = run(capsys, "one.mlir", "--input", "nan.npy", "--print", "summary")[1]
    assert out == "result0: float32[4], 2.0 to inf, 1 NaN\n"
    np.save("all.npy", np.full(4, np.nan, np.float32))
    assert (
        run(capsys, "one.mlir", "--input", "all.npy", "--print", "summary")[1]
        == "result0: float32[4], 4 NaN\n"
    )
    Path("none.mlir").write_text(ONE.replace("4xTYPE", "0xf32"))
    assert run(capsys, "none.mlir", "--print", "summary")[1] == "result0: float32[0]\n"


@pytest.mark.parametrize("arguments", [("one.mlir",), ("-",)])
def test_a_bug_is_told_with_how_to_see_it_again(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
):
    def broken(*_: object, **__: object) -> None:
        raise AssertionError("impossible")

    monkeypatch.setattr(tenon_run, "compile", broken)
    monkeypatch.setattr(tenon_run, "read_source", lambda path: ONE.replace("TYPE", "f32"))
    code, _, err = run(capsys, *arguments, "--print", "none")
    assert code == INTERNAL
    first, second = err.splitlines()
    assert first == "tenon-run: internal error: AssertionError: impossible"
    assert second.startswith("tenon-run: to reproduce: tenon-run ")
    assert second.endswith(".mlir --print none --debug")

import json
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.registry import get_backend
from tenon.compiler.tuning import TUNING, device_key
from tenon.dialects import context
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.sched.steps.database import ScheduleEntry, TuningError, database_text, read_database
from tenon.passes.sched.steps.loop_nests.loops import loops_of
from tenon.passes.sched.steps.passes.apply_schedules import ApplySchedulesPass
from tenon.tools.tenon_run import main
from tenon.tools.tune.bench import KernelBench
from tenon.tools.tune.kernels import sizes_of, tunable_program
from tenon.tools.tune.progress import Silent, shown_progress
from tenon.tools.tune.report import KernelReport, TuningReport
from tenon.tools.tune.tune import tune

PROGRAM = """
func.func @f(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %y = graph.exp %x : tensor<64x48xf32>
  %s = graph.reduce add %y axes [0] keep : tensor<64x48xf32> -> tensor<1x48xf32>
  %b = graph.broadcast %s : tensor<1x48xf32> -> tensor<64x48xf32>
  %r = graph.div %y, %b : tensor<64x48xf32>
  func.return %r : tensor<64x48xf32>
}
"""

X = np.random.default_rng(0).uniform(-1, 1, (64, 48)).astype(np.float32)


def reference(text: str, *arguments: Any) -> Any:
    with tenon.compile(text, backend="reference") as executable:
        return executable(*arguments)


def entries_for(text: str, steps: list[dict[str, Any]], **fields: Any) -> list[ScheduleEntry]:
    """Returns the same steps for every kernel of a program."""
    module = parse_module(text, "f")
    backend = get_backend("llvm")
    program = tunable_program(module, find_entry(module, None), backend)
    entries: list[ScheduleEntry] = []
    for kernel in program.kernels:
        values: dict[str, Any] = {
            "kernel": kernel.digest,
            "device": device_key(backend),
            "program": program.name,
            "signature": program.signature,
            "name": kernel.name,
            "axes": tuple(loops_of(kernel.op)),
            "steps": tuple(steps),
            "default_ns": 2000,
            "tuned_ns": 1000,
            **fields,
        }
        entries.append(ScheduleEntry(**values))
    return entries


EXP = """
func.func @g(%x: tensor<64x48xf32>) -> tensor<64x48xf32> {
  %y = graph.exp %x : tensor<64x48xf32>
  func.return %y : tensor<64x48xf32>
}
"""

SPLIT = [
    {"step": "split", "axis": "i", "factor": 16},
    {"step": "map", "axes": ["i_outer", "j"], "mappings": ["block(2)", "vector(4) unroll(2)"]},
]


def saved(path: Path, entries: list[ScheduleEntry]) -> Path:
    path.write_text(database_text(entries))
    return path


def test_a_program_is_tuned_and_computes_what_it_did(tmp_path: Path):
    path = tmp_path / "tuning.json"
    report = tune(PROGRAM, seconds=3, database=path, progress=False)
    assert report.program == "f"
    assert report.device == device_key(get_backend("llvm"))
    assert report.database == path
    assert report.kernels and all(kernel.gain >= 1 for kernel in report.kernels)
    assert read_database(path)[1] == tuple(sorted(report.entries, key=lambda entry: entry.name))
    with tenon.compile(PROGRAM, tuning=path) as tuned, tenon.compile(PROGRAM) as default:
        np.testing.assert_allclose(tuned(X), default(X), rtol=1e-5)
        np.testing.assert_allclose(tuned(X), reference(PROGRAM, X), rtol=1e-5)
    with tenon.compile(PROGRAM, schedules=report.schedules) as scheduled:
        np.testing.assert_allclose(scheduled(X), default_result(), rtol=1e-5)
    assert "tuned @f on llvm" in str(report)


def default_result() -> Any:
    return reference(PROGRAM, X)


def test_functions_are_tuned_for_arguments(tmp_path: Path):
    def scaled(x: Any) -> Any:
        return tnp.exp(x) * 2

    report = tune(scaled, X, seconds=0.5, progress=False)
    assert (report.program, report.database) == ("scaled", None)
    jitted = tenon.jit(scaled)
    assert tune(jitted, X, seconds=0.3, progress=False).program == "scaled"


def test_opencl_is_tuned_too():
    pytest.importorskip("pyopencl")
    report = tune(EXP, seconds=2, backend="opencl", progress=False)
    assert report.device.startswith("opencl ")
    assert [kernel.name for kernel in report.kernels] == ["g_0"]


def test_programs_of_named_dims_are_tuned_for_their_sizes():
    text = """
    graph.dim @n min 1 max 4096
    func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) -> tensor<?x8xf32, #graph.dims<n, 8>> {
      %y = graph.exp %x : tensor<?x8xf32, #graph.dims<n, 8>>
      func.return %y : tensor<?x8xf32, #graph.dims<n, 8>>
    }
    """
    report = tune(text, np.zeros((100, 8), np.float32), seconds=1, progress=False)
    (kernel,) = report.kernels
    assert kernel.name == "f_0"
    with tenon.compile(text, schedules=report.schedules) as executable:
        x = np.ones((7, 8), np.float32)
        np.testing.assert_allclose(executable(x), np.exp(x), rtol=1e-6)


def test_a_bench_tells_results_that_differ_and_those_that_agree():
    module = parse_module(EXP, "f")
    backend = get_backend("llvm")
    program = tunable_program(module, find_entry(module, None), backend)
    (kernel,) = program.kernels
    bench = KernelBench(program, kernel, backend, sizes_of(program, []))
    assert bench.difference(bench.default) is None
    assert bench.nanoseconds(bench.default) > 0
    wrong = kernel.op.clone()
    for op in list(wrong.walk()):
        if op.name == "math.exp":
            op.results[0].replace_all_uses_with(op.operands[0])
            op.detach()
            op.erase()
    difference = bench.difference(bench.compiled(wrong))
    assert difference is not None and difference.startswith("3072 of 3072 elements differ")
    bench.close()


def test_schedules_of_a_database_are_applied(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    with tenon.compile(EXP, tuning=path) as tuned, tenon.compile(EXP) as default:
        text = tuned.stages["sched"]
        assert "sched.axis %i_outer = 4 block(2) {" in text
        assert 'schedule = "tuned: 2.00 times as fast as the default"' in text
        assert "%i_outer" not in default.stages["sched"]
        np.testing.assert_array_equal(tuned(X), default(X))
        (kernel,) = tuned.explain().kernels
        assert kernel.reasons == ("tuned: 2.00 times as fast as the default",)


def test_the_environment_names_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    monkeypatch.setenv(TUNING, str(path))
    with tenon.compile(EXP) as executable:
        assert "%i_outer" in executable.stages["sched"]
    with tenon.compile(EXP, schedules={"g_0": []}) as executable:
        assert "%i_outer" not in executable.stages["sched"]
    with tenon.compile(EXP, backend="reference", level="sched") as executable:
        assert "%i_outer" not in executable.stages["sched"]
    monkeypatch.setenv(TUNING, "")
    with tenon.compile(EXP) as executable:
        assert "%i_outer" not in executable.stages["sched"]


def test_a_database_that_changes_is_read_again(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    with tenon.compile(EXP, tuning=path) as executable:
        assert "%i_outer = 4" in executable.stages["sched"]
    saved(path, entries_for(EXP, [{"step": "split", "axis": "i", "factor": 32}]))
    with tenon.compile(EXP, tuning=path) as executable:
        assert "%i_outer = 2" in executable.stages["sched"]


def test_entries_of_other_devices_do_nothing(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT, device="llvm another 16"))
    with tenon.compile(EXP, tuning=path) as executable:
        assert "%i_outer" not in executable.stages["sched"]


def test_a_kernel_of_the_same_text_gets_the_schedule_whatever_its_axes_are_called(tmp_path: Path):
    renamed = "sched.kernel @other(%a: memref<64x48xf32>, %b: memref<64x48xf32>) {{\n{}\n}}"
    module = parse_module(EXP, "f")
    program = tunable_program(module, find_entry(module, None), get_backend("llvm"))
    text = str(program.kernels[0].op)
    body = text[text.index("{") + 1 : text.rindex("}")]
    for old, new in (("%i", "%row"), ("%j", "%column"), ("%x", "%a"), ("%y", "%b")):
        body = body.replace(old, new)
    body = body.replace("%a_1", "%v").replace("%b_1", "%w")
    other = parse_module(renamed.format(body), "f")
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    pass_ = ApplySchedulesPass(str(path), device_key(get_backend("llvm")))
    pass_.apply(context(), other)
    assert "block(2)" in str(other)


def test_steps_that_a_kernel_does_not_take_are_a_warning_and_ignored(tmp_path: Path):
    steps = [SPLIT[0], {"step": "split", "axis": "q", "factor": 2}]
    path = saved(tmp_path / "db.json", entries_for(EXP, steps))
    with tenon.compile(EXP) as default:
        expected = default.stages["sched"]
    with pytest.warns(RuntimeWarning) as found, tenon.compile(EXP, tuning=path) as executable:
        assert executable.stages["sched"] == expected
    assert {str(warning.message) for warning in found} == {
        f"{path}: @g_0 does not take the steps that were tuned for @g_0 of @g: split-axis: @g_0 has no axis "
        "%q (its axes: %i_outer, %i_inner, %j); it has the default schedule (hint: tune again)"
    }


def test_an_entry_that_does_not_apply_is_told_once(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, [{"step": "unknown"}]))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(3):
            tenon.compile(EXP, tuning=path).close()
    assert len(found) == 1
    assert "'unknown' is no step" in str(found[0].message)


def test_axes_that_cannot_be_told_apart_are_a_warning(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT, axes=("i", "j", "k")))
    with pytest.warns(RuntimeWarning, match="its axes are called i, j; it has the default schedule"):
        tenon.compile(EXP, tuning=path).close()


def test_a_database_of_another_version_is_refused_with_one_line(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    path.write_text(path.read_text().replace('"version": 2', '"version": 1'))
    expected = f"{path}: version 1 of the format, expected 2 (hint: remove it and tune again)"
    with pytest.raises(TuningError) as error:
        tenon.compile(EXP, tuning=path)
    assert str(error.value) == expected
    with pytest.raises(TuningError) as error:
        tune(EXP, seconds=100, database=path)
    assert str(error.value) == expected


def test_the_same_database_gives_the_same_code(tmp_path: Path):
    other = [{"step": "map", "axes": ["j"], "mappings": ["vector(2)"]}]
    entries = [
        *entries_for(EXP, SPLIT),
        entries_for(PROGRAM, [], kernel="b" * 64)[0],
        *entries_for(EXP.replace("exp", "tanh"), other),
    ]
    texts: set[str] = set()
    for number, order in enumerate((entries, entries[::-1])):
        path = tmp_path / f"db{number}.json"
        lines = ",".join(json.dumps(entry.as_json()) for entry in order)
        path.write_text(f'{{"format": "tenon tuning", "version": 2, "entries": [{lines}]}}')
        for _ in range(2):
            with tenon.compile(EXP, tuning=path) as executable:
                texts.add(executable.stages["low"])
    (text,) = texts
    with tenon.compile(EXP) as executable:
        assert executable.stages["low"] != text


def test_kernels_that_are_mapped_by_hand_keep_their_schedule(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    module = parse_module(EXP, "f")
    program = tunable_program(module, find_entry(module, None), get_backend("llvm"))
    by_hand = str(program.kernels[0].op).replace("%j = 48", "%j = 48 vector(2)")
    assert "vector(2)" in by_hand
    other = parse_module(by_hand, "f")
    ApplySchedulesPass(str(path), device_key(get_backend("llvm"))).apply(context(), other)
    assert "block" not in str(other)


def test_what_fits_no_kernel_any_more_is_a_warning(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT, kernel="a" * 64))
    with pytest.warns(RuntimeWarning) as found, tenon.compile(EXP, tuning=path) as executable:
        assert "%i_outer" not in executable.stages["sched"]
    assert str(found[0].message) == (
        f"{path}: what was tuned for @g_0 fits no kernel of the program any more; they have the default "
        "schedule (hint: tune again)"
    )


def test_other_programs_are_no_reason_to_warn(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tenon.compile(PROGRAM, tuning=path).close()
        tenon.compile(EXP.replace("64x48", "32x48"), tuning=path).close()


def test_a_database_that_changed_meanwhile_is_an_error(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    pass_ = ApplySchedulesPass(str(path), "llvm cpu 32", "0" * 64)
    with pytest.raises(TuningError) as error:
        pass_.apply(context(), parse_module(EXP, "f"))
    assert str(error.value) == f"{path}: has changed while a program was compiled with it"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"backend": "reference"}, "compile: tuning is for backends that run kernels, found reference"),
        ({"schedules": {"g_0": [{}]}}, "compile: tuning and schedules exclude each other"),
        ({"pipeline": "cse"}, "compile: tuning and pipeline exclude each other"),
    ],
)
def test_what_excludes_tuning_is_told(tmp_path: Path, options: dict[str, Any], text: str):
    with pytest.raises(TenonError) as error:
        tenon.compile(EXP, tuning=tmp_path / "db.json", **options)
    assert str(error.value) == text


def test_a_database_that_is_not_there_is_an_error(tmp_path: Path):
    with pytest.raises(TuningError) as error:
        tenon.compile(EXP, tuning=tmp_path / "db.json")
    assert str(error.value) == f"{tmp_path}/db.json: cannot read the database (No such file or directory)"
    with pytest.raises(TenonError) as wrong:
        tenon.compile(EXP, tuning=3)  # pyright: ignore
    assert str(wrong.value) == "compile: tuning is 3, of type int, expected the path of a database"


def test_wrong_calls_are_told(tmp_path: Path):
    with pytest.raises(TenonError) as error:
        tune(EXP, seconds=0)
    assert str(error.value) == "tune: 0 seconds, expected more than 0"
    with pytest.raises(TenonError) as error:
        tune(EXP, backend="reference")
    assert str(error.value) == "tune: backend reference interprets, and has no schedules to measure"
    with pytest.raises(TypeError) as wrong:
        tune(3)  # pyright: ignore
    assert str(wrong.value) == "tune: 3 is no program, expected a function or a module"
    with pytest.raises(TypeError) as wrong:
        tune(EXP, x=X)
    assert str(wrong.value) == "tune: argument 'x', expected those of a module in order"
    with pytest.raises(TenonError) as error:
        tune(tenon.jit(tnp.exp, pipeline="default-pipeline"), X)
    assert str(error.value) == "tune: exp has a pipeline of its own"
    wrong_options: list[tuple[dict[str, Any], str]] = [
        ({"seconds": "3"}, "tune: seconds: expected a number, found str"),
        ({"seconds": float("nan")}, "tune: nan seconds, expected more than 0"),
        ({"seconds": float("inf")}, "tune: seconds without an end, expected a number of them"),
        ({"seed": "x"}, "tune: seed: expected an integer, found str"),
        ({"database": 3}, "tune: database: expected a path, found int"),
    ]
    for options, text in wrong_options:
        with pytest.raises(TenonError) as error:
            tune(EXP, **options)
        assert str(error.value) == text
    with pytest.raises(TenonError, match=r"^argument 'x': shape \[3\], expected \["):
        tune(EXP, np.zeros(3, np.float32))
    with pytest.raises(TenonError, match=r"^g: takes 1 argument \(x\), found 2$"):
        tune(EXP, X, X)
    missing = tmp_path / "none" / "db.json"
    with pytest.raises(TuningError) as error:
        tune(EXP, seconds=100, database=missing)
    assert str(error.value) == f"{missing}: cannot write the database (No such file or directory)"
    assert list(tmp_path.iterdir()) == []
    notes = tmp_path / "notes.txt"
    notes.write_text("my notes")
    with pytest.raises(TuningError, match="no JSON"):
        tune(EXP, seconds=100, database=notes)


def test_tenon_run_takes_a_database(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    program = tmp_path / "g.mlir"
    program.write_text(EXP)
    assert main([str(program), "--tuning", str(path), "--explain", "--print", "none"]) == 0
    assert "for i_outer < 4: work-groups of 2" in capsys.readouterr().out


STEPS = ({"step": "map", "axes": ["i"], "mappings": ["block(8)"]},)


def test_a_report_is_a_table():
    entry = entries_for(EXP, [dict(step) for step in STEPS])[0]
    report = TuningReport(
        "f",
        "llvm cpu 32",
        2.04,
        (
            KernelReport("f_0", 0.75, 12, {"no": 3, "also no": 1}, 3000, 1500, STEPS, "faster"),
            KernelReport("f_1", 0.25, 4, {}, 1000, 1000, (), "no schedule was faster"),
        ),
        (entry,),
        Path("tuning.json"),
    )
    assert report.gain == pytest.approx(1 / (0.375 + 0.25))
    assert report.schedules == {"g_0": [dict(STEPS[0])]}
    assert str(report) == (
        "tuned @f on llvm cpu 32 for 2.0 s\n"
        "kernel  share  measured  rejected  default us  best us  gain\n"
        "@f_0    75.0%        12         4       3.000    1.500  2.00  faster\n"
        "@f_1    25.0%         4         0       1.000    1.000  1.00  no schedule was faster\n"
        "all kernels together: 1.60 times as fast\n"
        "@f_0: 3 rejected: no\n"
        "@f_0: 1 rejected: also no\n"
        "1 schedule, saved in tuning.json\n"
    )


def test_a_database_is_json_that_others_can_read(tmp_path: Path):
    path = saved(tmp_path / "db.json", entries_for(EXP, SPLIT))
    (entry,) = json.loads(path.read_text())["entries"]
    assert (entry["program"], entry["name"], entry["axes"]) == ("g", "g_0", ["i", "j"])


def test_progress_is_a_line_without_rich(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    for name in ("rich", "rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    with shown_progress(True, 10) as shown:
        shown.update("@f_0", 1.25)
        shown.update("@f", 2)
    assert capsys.readouterr().err == (
        "\rtuning 1.2 of 10 s: @f_0\rtuning 2.0 of 10 s: @f  \r" + " " * 22 + "\r"
    )
    with shown_progress(None, 10) as shown:
        assert isinstance(shown, Silent)
        shown.update("@f", 1)
    assert capsys.readouterr().err == ""


def test_progress_is_drawn_by_rich_where_it_is_there(monkeypatch: pytest.MonkeyPatch):
    seen: list[Any] = []

    class Drawing:
        def __init__(self, *columns: Any, **options: Any) -> None:
            seen.append(options["console"])

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: Any) -> None:
            seen.append("end")

        def add_task(self, text: str, total: float) -> int:
            seen.append(total)
            return 7

        def update(self, task: int, description: str, completed: float) -> None:
            seen.append((task, description, completed))

    def column(*arguments: Any) -> None:
        return None

    names = {name: column for name in ("TextColumn", "BarColumn", "TimeElapsedColumn")}
    console = SimpleNamespace(Console=lambda stderr: f"stderr={stderr}")
    monkeypatch.setitem(sys.modules, "rich", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "rich.console", console)
    monkeypatch.setitem(sys.modules, "rich.progress", SimpleNamespace(Progress=Drawing, **names))
    with shown_progress(True, 10) as shown:
        shown.update("@f_0", 11)
    assert seen == ["stderr=True", 10, (7, "@f_0", 10), "end"]


def test_platforms_use_the_database_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = """
    graph.tnode @x : tensor<64x48xf32> mode on_device
    graph.tnode @y : tensor<64x48xf32> mode on_device
    func.func @g() {
      %x = graph.read @x : tensor<64x48xf32>
      %e = graph.exp %x : tensor<64x48xf32>
      graph.write @y, %e : tensor<64x48xf32>
      func.return
    }
    """
    path = saved(tmp_path / "db.json", entries_for(text, SPLIT))
    with tenon.open_platform() as platform:
        assert "%i_outer" not in platform.compile(text).stages["sched"]
        monkeypatch.setenv(TUNING, str(path))
        assert "%i_outer" in platform.compile(text).stages["sched"]

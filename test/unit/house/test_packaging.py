"""The wheel that is built from the checkout, and what of it is imported when."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tenon.test.unit.library import FOLDERS, ROOT, TYPED, library_files


def run_python(code: str, **environment: str) -> str:
    """Runs code in a new process outside the repository and returns what it printed."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd="/",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy, so that nothing is left in the repository."""
    source = tmp_path_factory.mktemp("source") / "tenon"
    ignored = shutil.ignore_patterns(
        ".git", ".venv*", "out", "build", "dist", "*.egg-info", "__pycache__", ".*_cache"
    )
    shutil.copytree(ROOT, source, ignore=ignored)
    command = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(source.parent), str(source)]
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (built,) = source.parent.glob("*.whl")
    return built


def test_the_wheel_holds_the_library_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {f"tenon/{path.relative_to(ROOT).as_posix()}" for path in library_files()}
    expected |= {f"tenon/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "backends").rglob("*.ll")}
    expected.add("tenon/py.typed")
    assert names == expected


def test_every_package_is_built_and_all_of_the_library_is_typed():
    folders = {path.parent for path in library_files() if path.parent != ROOT}
    without = [str(folder) for folder in folders if not (folder / "__init__.py").exists()]
    assert not without, "folders of the library without an __init__.py"
    assert sorted(TYPED) == sorted(["*.py", *FOLDERS])


def test_every_module_of_the_wheel_can_be_imported(wheel: Path, tmp_path: Path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
        modules = sorted(
            name.removesuffix(".py")
            .removesuffix("/__init__")
            .replace("/", ".")
            .replace(".frontends.public.", ".")
            for name in archive.namelist()
            if name.endswith(".py")
        )
    code = (
        "import importlib\n"
        f"for name in {modules!r}:\n"
        "    module = importlib.import_module(name)\n"
        f"    assert module.__file__.startswith({str(tmp_path)!r}), module.__file__\n"
    )
    run_python(code, PYTHONPATH=str(tmp_path))


def modules_after(code: str) -> set[str]:
    """Returns what is loaded once a new process has run the code."""
    return set(run_python(f"{code}\nimport sys\nprint(*sys.modules)").split())


def test_importing_tenon_costs_little_more_than_xdsl_and_numpy():
    dialects = ", ".join(
        f"xdsl.dialects.{name}" for name in ("arith", "func", "math", "memref", "scf", "vector")
    )
    base = modules_after(f"import numpy, {dialects}, xdsl.parser, xdsl.printer, xdsl.passes")
    more = modules_after("import tenon") - base
    own = {name for name in more if name.partition(".")[0] == "tenon"}
    # The dialects, what mends xDSL and makes it faster, and difflib, whose import is some milliseconds.
    assert len(own) <= 20, sorted(own)
    assert {name.partition(".")[0] for name in more - own} <= sys.stdlib_module_names, sorted(more - own)
    assert len(more - own) <= 16, sorted(more - own)


def test_importing_tenon_loads_no_backend_library():
    code = "import sys, tenon; print([name for name in ('llvmlite', 'pyopencl') if name in sys.modules])"
    assert run_python(code).strip() == "[]"


def test_a_program_that_is_kept_loads_no_passes_and_no_dialect_below_graph(tmp_path: Path):
    code = (
        "import os, numpy\n"
        f"os.environ.update(TENON_CACHE='1', TENON_CACHE_DIR={str(tmp_path)!r})\n"
        "import tenon, tenon.numpy as tnp\n"
        "y = tenon.jit(lambda x: tnp.exp(x) + 1)(numpy.zeros(8, 'float32'))\n"
        "assert numpy.asarray(y).tolist() == [2] * 8\n"
    )
    compiler = {
        "tenon.compiler.lowering",
        "tenon.dialects.sched",
        "tenon.dialects.low",
        "tenon.passes.pipeline",
        "xdsl.dialects.vector",
    }
    assert compiler <= modules_after(code)
    kept = modules_after(code)
    unused = compiler | {"numpy.ma", "tenon.passes.sched.steps.database", "tenon.runtime.reports.explanation"}
    assert not unused & kept, sorted(unused & kept)


def test_tenon_is_imported_where_the_backends_libraries_are_missing():
    run_python(
        "import sys; sys.modules['pyopencl'] = sys.modules['llvmlite'] = None\n"
        "import tenon, tenon.compiler.universe"
    )


def xdsl_opt(*arguments: str, text: str = "") -> str:
    command = [str(Path(sys.executable).parent / "xdsl-opt"), *arguments]
    result = subprocess.run(
        command, input=text, capture_output=True, text=True, cwd="/", env=os.environ | {"COLUMNS": "1000"}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_dir_lists_what_is_imported_only_when_it_is_used():
    code = "import tenon; print(sorted({*tenon.__all__} - {*dir(tenon)}), 'jit' in vars(tenon))"
    assert run_python(code).strip() == "[] False"


def test_stock_xdsl_opt_lists_our_passes_and_targets():
    words = xdsl_opt("--help").replace(",", " ").split()
    for name in ("canonicalize-graph", "convert-graph-to-sched", "expand-math", "llvm-ir", "asm", "opencl-c"):
        assert name in words


def test_stock_xdsl_opt_knows_our_dialects():
    text = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %y = graph.exp %x : tensor<4xf32>\n"
    text += "  func.return %y : tensor<4xf32>\n}\n"
    text += "low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {\n  %i = low.block_id x\n}\n"
    output = xdsl_opt("-p", "canonicalize-graph", text=text)
    assert "graph.exp %x : tensor<4xf32>" in output
    assert "low.kernel @k" in output

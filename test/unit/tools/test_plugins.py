"""Ops and passes that are loaded from outside: what is refused, what is kept, whose fault a failure is."""

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tenon import PassManager, parse_module, register_pass
from tenon.compiler.custom import unregister_pass
from tenon.dialects import context
from tenon.errors import TenonError
from tenon.passes.instruments.reproducer import Plugins, Reproducer
from tenon.passes.registry import ALL_PASSES
from tenon.test.unit.library import ROOT
from tenon.tools import plugins, tenon_opt, tenon_reduce, tenon_run
from tenon.tools.plugins import callbacks_of, check_plugins, load_plugins, load_plugins_of
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

CUSTOM_OP = ROOT / "examples" / "custom_op"
CUSTOM_PASS = ROOT / "examples" / "custom_pass"


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded, passes, modules = set[str](), set(ALL_PASSES), set(sys.modules)
    monkeypatch.setattr(plugins, "LOADED", loaded)
    yield
    for name in {*ALL_PASSES} - passes:
        unregister_pass(name)
    for name in loaded & {*sys.modules} - modules:
        del sys.modules[name]


@dataclass(frozen=True)
class MinePass(ModulePass):
    """Does nothing."""

    name = "mine"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@dataclass(frozen=True)
class AnotherMinePass(MinePass):
    """Has the same name."""


@dataclass(frozen=True)
class TakenPass(MinePass):
    """Has the name of a pass of Tenon's."""

    name = "fuse-loops"


@dataclass(frozen=True)
class PipelinePass(MinePass):
    """Has the name of a pipeline."""

    name = "low-pipeline"


class NamelessPass(ModulePass):
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


def test_a_registered_pass_can_be_named_in_text() -> None:
    with pytest.raises(TenonError, match="unknown pass 'mine'"):
        PassManager("mine")
    assert register_pass(MinePass) is MinePass
    assert register_pass(MinePass) is MinePass  # as when a module is read again
    manager = PassManager("cse,mine")
    manager.run(context(), parse_module("func.func @f() {\n  func.return\n}"))
    assert isinstance(manager.passes[1], MinePass)


@pytest.mark.parametrize(
    ("pass_type", "message"),
    [
        (int, "<class 'int'> is no pass that derives from ModulePass"),
        ("mine", "'mine' is no pass that derives from ModulePass"),
        (ModulePass, "<class 'xdsl.passes.ModulePass'> is no pass that derives from ModulePass"),
        (NamelessPass, "NamelessPass has no name"),
        (TakenPass, "fuse-loops is a name of Tenon's own"),
        (PipelinePass, "low-pipeline is a name of Tenon's own"),
        (AnotherMinePass, "mine is registered already (as MinePass)"),
    ],
)
def test_what_is_no_pass_of_ones_own_is_refused(pass_type: Any, message: str) -> None:
    register_pass(MinePass)
    with pytest.raises(TenonError, match=f"^register_pass: {re.escape(message)}$"):
        register_pass(pass_type)


def test_a_pass_that_is_forgotten_is_not_known() -> None:
    register_pass(MinePass)
    unregister_pass("mine")
    with pytest.raises(TenonError, match="unknown pass 'mine'"):
        PassManager("mine")
    for name in ("mine", "cse"):
        with pytest.raises(TenonError, match=f"^unregister_pass: no pass '{name}' was registered$"):
            unregister_pass(name)


def test_callbacks_are_the_functions_that_a_module_defines(tmp_path: Path) -> None:
    first, second = tmp_path / "first_of_test.py", tmp_path / "second_of_test.py"
    first.write_text(
        "from math import sin\nfrom os.path import join\ndef f(): return 1\ndef _g(): ...\nclass H: ..."
    )
    second.write_text("f = lambda: 2\ndef h(): return 3")
    flags = [f"--load-callbacks={path}" for path in (first, second)]
    assert {name: function() for name, function in callbacks_of(load_plugins_of(flags)).items()} == {
        "f": 2,
        "h": 3,
    }
    assert callbacks_of(load_plugins_of(flags[:1]))["f"]() == 1
    assert callbacks_of(Plugins()) == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import no_such_module", "No module named 'no_such_module'"),
        ("\n1 / 0", "ZeroDivisionError: division by zero (plugin_of_test.py:2, in <module>)"),
        ("def", "SyntaxError: invalid syntax"),
        ("import tenon\ntenon.register_pass(int)", "register_pass: <class 'int'> is no pass that derives"),
    ],
)
def test_a_file_that_cannot_be_imported_is_reported(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "plugin_of_test.py"
    path.write_text(text)
    expected = f"--load-pass-plugin: cannot import '{path}' ({message}"
    with pytest.raises(TenonError, match=f"^{re.escape(expected)}"):
        load_plugins(Plugins(passes=(str(path),)))
    assert "plugin_of_test" not in sys.modules


def test_a_file_with_the_name_of_another_module_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    with pytest.raises(
        TenonError, match=r"--load-dialect: cannot .* \(there is another module json already\)"
    ):
        load_plugins(Plugins(dialects=(str(tmp_path / "json.py"),)))


def test_a_file_is_imported_once_and_named_by_its_whole_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CUSTOM_PASS)
    plugins = load_plugins_of(["--load-pass-plugin", "./expand_doubling.py", "-p", "cse", "x.mlir"])
    assert plugins == Plugins(passes=(str(CUSTOM_PASS / "expand_doubling.py"),))
    load_plugins(plugins)
    assert "expand-doubling" in ALL_PASSES


def test_a_reproducer_reads_back_what_it_loads() -> None:
    plugins = Plugins(("mine", "/with a space/and_quote'.py"), ('/with "quotes"/\\.py',), ("called",))
    reproducer = Reproducer("module {}", "cse", plugins=plugins)
    again = Reproducer.read(str(reproducer))
    assert again is not None and again.plugins == plugins
    assert str(again) == str(reproducer)


def test_a_reproducer_without_plugins_is_mlirs_own() -> None:
    assert "tenon_reproducer" not in str(Reproducer("module {}", "cse"))


FAULTY = """\
import tenon
from dataclasses import dataclass
from xdsl.passes import ModulePass

@tenon.register_pass
@dataclass(frozen=True)
class FaultyPass(ModulePass):
    name = "faulty"

    def apply(self, ctx, op):
        {}.remove(op)
"""


def test_a_bug_of_a_plugin_leaves_a_reproducer_that_loads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    plugin, program = tmp_path / "faulty_of_test.py", tmp_path / "program.mlir"
    plugin.write_text(FAULTY)
    program.write_text((CUSTOM_PASS / "program.mlir").read_text())
    assert tenon_opt.main([str(program), "--load-pass-plugin", str(plugin), "-p", "faulty"]) == 70
    first, second = capsys.readouterr().err.splitlines()
    assert first == (
        "tenon-opt: error outside of Tenon: AttributeError: 'dict' object has no attribute 'remove' "
        "in pass `faulty` (faulty_of_test.py:11, in FaultyPass.apply)"
    )
    (reproducer,) = tmp_path.glob("tenon-opt-*.mlir")
    command = f"{reproducer} --run-reproducer --debug --load-pass-plugin={plugin}"
    assert second == f"tenon-opt: to reproduce: tenon-opt {command}"
    unregister_pass("faulty")
    del sys.modules["faulty_of_test"]
    assert tenon_opt.main(command.split()) == 70
    assert first in capsys.readouterr().err.splitlines()


def test_a_reproducer_of_a_reproducer_loads_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, first, second = tmp_path / "faulty_again.py", tmp_path / "first.mlir", tmp_path / "second.mlir"
    plugin.write_text(FAULTY)
    flag = "--mlir-pass-pipeline-crash-reproducer"
    program = str(CUSTOM_PASS / "program.mlir")
    assert tenon_opt.main([program, f"--load-pass-plugin={plugin}", "-p", "faulty", f"{flag}={first}"]) == 70
    again = [str(first), "--run-reproducer", f"--load-pass-plugin={plugin}", f"{flag}={second}"]
    assert tenon_opt.main(again) == 70
    assert first.read_text() == second.read_text()


@pytest.mark.parametrize(
    "main",
    [lambda file: tenon_opt.main([file, "--run-reproducer"]), lambda file: tenon_reduce.main([file])],
    ids=["opt", "reduce"],
)
@pytest.mark.parametrize(
    ("plugins", "flags"),
    [
        (Plugins(passes=("{folder}/untrusted.py",)), "--load-pass-plugin={folder}/untrusted.py"),
        (
            Plugins(("untrusted",), ("more",), ("most",)),
            "--load-dialect=untrusted --load-pass-plugin=more --load-callbacks=most",
        ),
    ],
    ids=["file", "modules"],
)
def test_a_reproducer_does_not_choose_what_is_imported(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    main: Callable[[str], int],
    plugins: Plugins,
    flags: str,
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "untrusted.py").write_text("raise SystemExit('imported')")
    file, text = tmp_path / "first.mlir", (CUSTOM_PASS / "program.mlir").read_text()
    file.write_text(str(Reproducer(text, "cse", plugins=plugins)).replace("{folder}", str(tmp_path)))
    assert main(str(file)) == 1
    assert capsys.readouterr().err.endswith(
        "error: the reproducer needs code of its own (hint: if you trust it, "
        f"{flags.replace('{folder}', str(tmp_path))})\n"
    )


def test_a_reproducer_runs_with_a_module_that_lies_elsewhere_here() -> None:
    there, here = Plugins(("mine",), ("/there/my_passes.py",)), Plugins(("mine",), ("/here/my_passes.py",))
    check_plugins(there, here)
    check_plugins(Plugins(), here)
    with pytest.raises(TenonError, match=r"if you trust it, --load-pass-plugin=/there/my_passes.py\)"):
        check_plugins(there, Plugins(("mine", "my_passes")))


def test_tenon_run_takes_passes_and_files_of_ops(capsys: pytest.CaptureFixture[str]) -> None:
    program = str(CUSTOM_PASS / "program.mlir")
    plugin = ["--load-pass-plugin", str(CUSTOM_PASS / "expand_doubling.py")]
    passes = ["-p", "expand-doubling,default-pipeline", "--print", "none", "--compare"]
    assert tenon_run.main([program, *passes, *plugin]) == 0
    assert "same bits" in capsys.readouterr().out


def test_a_bug_of_an_op_from_outside_is_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin, program = tmp_path / "ops_of_test.py", tmp_path / "program.mlir"
    text = (CUSTOM_OP / "mine.py").read_text().replace('"mine.', '"faulty.')
    plugin.write_text(text.replace("return np.sign(source)", "return np.sign(source) / {}"))
    program.write_text((CUSTOM_OP / "program.mlir").read_text().replace("mine.", "faulty."))
    assert tenon_run.main([str(program), "--backend", "reference", "--load-dialect", str(plugin)]) == 70
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("tenon-run: error outside of Tenon: TypeError: unsupported operand type(s)")
    assert first.endswith(", in softshrink)")
    assert second.startswith("tenon-run: to reproduce: tenon-run ")


def test_tenon_reduce_takes_passes_and_gives_them_to_the_reproducer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plugin, first, second = tmp_path / "faulty_more.py", tmp_path / "first.mlir", tmp_path / "second.mlir"
    plugin.write_text(FAULTY)
    text = (CUSTOM_PASS / "program.mlir").read_text()
    first.write_text(str(Reproducer(text, "faulty", plugins=Plugins(passes=(str(plugin),)))))
    assert tenon_reduce.main([str(first), "--load-pass-plugin", str(plugin), "-o", str(second)]) == 0
    reduced = Reproducer.read(second.read_text())
    assert reduced is not None and reduced.plugins.passes == (str(plugin),)
    assert "graph.mul" not in reduced.text
    assert "found" in capsys.readouterr().err

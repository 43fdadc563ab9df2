"""What a shell offers for the arguments of the tools."""

import argparse
import shutil
import subprocess
from pathlib import Path

import pytest
from tenon.tools import tenon_cache, tenon_compile, tenon_import, tenon_opt, tenon_reduce, tenon_run
from tenon.tools.completion import completion_script

TOOLS = {
    "tenon-opt": tenon_opt.main,
    "tenon-run": tenon_run.main,
    "tenon-compile": tenon_compile.main,
    "tenon-reduce": tenon_reduce.main,
    "tenon-cache": tenon_cache.main,
    "tenon-import": tenon_import.main,
}

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The scripts of all tools, in files."""
    folder = tmp_path_factory.mktemp("completion")
    paths = {tool: folder / tool for tool in TOOLS}
    with pytest.MonkeyPatch.context() as patch:
        for tool, main in TOOLS.items():
            with paths[tool].open("w") as file:
                patch.setattr("sys.stdout", file)
                with pytest.raises(SystemExit) as ended:
                    main(["--print-completion", "bash"])
                assert ended.value.code == 0
    return paths


def offered(script: Path, *words: str) -> list[str]:
    """Returns what bash offers for the last of the words that stand behind the tool."""
    command = f"""
        source {script}
        COMP_WORDS=({script.name} {" ".join(f"'{word}'" for word in words)})
        COMP_CWORD={len(words)}
        _{script.name.replace("-", "_")}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@needs_bash
@pytest.mark.parametrize(
    ("tool", "words", "expected"),
    [
        ("tenon-opt", ("-p", "fuse-p"), ["fuse-producers"]),
        ("tenon-opt", ("-p", "cse,low-"), ["cse,low-pipeline"]),
        ("tenon-opt", ("--mlir-print-ir-after", "=", "cse,plan"), ["cse,plan-memory"]),
        ("tenon-opt", ("--emit", "=", "llvm-i"), ["llvm-ir"]),
        ("tenon-opt", ("x.mlir", "--verify-s"), ["--verify-semantics"]),
        ("tenon-opt", ("-o", "x"), []),  # a file
        ("tenon-opt", ("-p", "nothing"), []),
        ("tenon-run", ("--backend", "o"), ["opencl"]),
        ("tenon-run", ("--level", "="), ["graph", "sched", "low"]),
        ("tenon-run", ("-p", "graph-pipeline,low-"), ["graph-pipeline,low-pipeline"]),
        ("tenon-compile", ("--target", "aa"), ["aarch64"]),
        ("tenon-reduce", ("--target", "znv"), ["znver3"]),
        ("tenon-cache", ("ve",), ["verify"]),
        ("tenon-cache", ("verify", "--re"), ["--remove"]),
        ("tenon-import", ("--we",), ["--weights"]),
    ],
)
def test_what_is_offered(scripts: dict[str, Path], tool: str, words: tuple[str, ...], expected: list[str]):
    assert offered(scripts[tool], *words) == expected


def test_zsh_takes_the_script_of_bash():
    parser = argparse.ArgumentParser(prog="tool")
    parser.add_argument("--size", choices=(1, 2))
    in_bash, in_zsh = (completion_script(parser, shell, {}) for shell in ("bash", "zsh"))
    assert in_zsh == f"autoload -U +X bashcompinit && bashcompinit\n{in_bash}"
    assert '--size)\n      words="1 2"\n' in in_bash


def test_another_shell_is_a_wrong_command_line(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as ended:
        tenon_opt.main(["--print-completion", "cmd"])
    assert ended.value.code == 2
    assert "argument --print-completion: invalid choice: 'cmd'" in capsys.readouterr().err

"""The loops of a tile's sums keep the registers for the sums."""

import re
from pathlib import Path

import pytest
from tenon.tools.tenon_opt import main as tenon_opt

SCALED = """
func.func @f(%p: tensor<f64>, %q: tensor<f64>, %a: tensor<200x300xf64>, %b: tensor<300x128xf64>,
             %c: tensor<200x128xf64>) -> tensor<200x128xf64> {
  %s = graph.contract %a, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
      affine_map<(i, j, k) -> (i, j)>] : tensor<200x300xf64>, tensor<300x128xf64> -> tensor<200x128xf64>
  %0 = graph.broadcast %p : tensor<f64> -> tensor<200x128xf64>
  %1 = graph.mul %0, %s : tensor<200x128xf64>
  %2 = graph.broadcast %q : tensor<f64> -> tensor<200x128xf64>
  %3 = graph.mul %2, %c : tensor<200x128xf64>
  %4 = graph.add %1, %3 : tensor<200x128xf64>
  func.return %4 : tensor<200x128xf64>
}
"""
"""A product whose sums are scaled by arguments: these are in registers where a sum ends."""


def emitted(folder: Path, text: str, form: str, target: str) -> str:
    (folder / "f.mlir").write_text(text)
    out = folder / "f.out"
    arguments = [str(folder / "f.mlir"), "-p", "default-pipeline", "-t", form, f"--target={target}"]
    assert tenon_opt([*arguments, "-o", str(out)]) == 0
    return out.read_text()


def loops(assembly: str) -> list[list[str]]:
    """Returns the instructions of each loop that has no label in it."""
    found: list[list[str]] = []
    block: list[str] = []
    label = ""
    for line in assembly.splitlines():
        if match := re.match(r"(\.\w+):", line):
            block, label = [], match[1]
        elif re.match(r"\t[a-z]", line):
            block.append(line.strip())
            if re.match(rf"\tj\w+\t{re.escape(label)}$", line) and label:
                found.append(list(block))
    return found


@pytest.mark.parametrize(("target", "n_sums"), [("x86-64-v4", 28), ("x86-64-v3", 8)])
def test_what_is_used_after_a_sum_takes_none_of_its_registers(tmp_path: Path, target: str, n_sums: int):
    sums = [
        loop
        for loop in loops(emitted(tmp_path, SCALED, "asm", target))
        if sum(line.startswith("vfmadd") for line in loop) >= n_sums
    ]
    assert sums
    moves = re.compile(r"vmovap[sd]\s+%[xyz]mm\d+, %[xyz]mm\d+")
    assert not [line for loop in sums for line in loop if moves.match(line) or "(%rsp)" in line]


def test_llvm_is_told_how_often_a_sum_repeats(tmp_path: Path):
    text = emitted(tmp_path, SCALED, "llvm-ir", "x86-64-v4")
    weights = re.findall(r"br i1 .*, label %repeat\S*, label %repeat_exit\S*, !prof !\{(.*)\}", text)
    assert weights
    for weight in weights:
        found = re.fullmatch(r'!"branch_weights", i32 (\d+), i32 1', weight)
        assert found is not None
        # 300 steps in rows of 1, 2 or 4
        assert int(found[1]) in {299, 149, 74}

"""
The default pipeline, pass by pass: after each pass the text of every op reads back the same, every op and
block argument has a place in the source, and the interpreter gives what it gave before.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from tenon.backends.reference.execute import run_module
from tenon.dialects import context
from tenon.dialects.modules.parsing import location_text, parse_module, verify_module
from tenon.passes.instruments.interface import PassInstrument
from tenon.passes.instruments.verify_semantics import VerifySemantics
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.printer import Printer

ROOT = Path(__file__).parents[2]

MIXED = """
func.func @mixed(%x: tensor<5x19xf16>, %n: tensor<5x19xi16>, %u: tensor<19xui8>, %p: tensor<5x1xi1>)
    -> (tensor<5x38xf16>, tensor<5xi16>, tensor<19xi1>, tensor<f64>, tensor<0x19xbf16>) {
  %wide = graph.cast %n : tensor<5x19xi16> -> tensor<5x19xf16>
  %e = graph.exp %x fastmath<contract> : tensor<5x19xf16>
  %row = graph.cast %u : tensor<19xui8> -> tensor<19xf16>
  %rows = graph.broadcast %row : tensor<19xf16> -> tensor<5x19xf16>
  %scaled = graph.fma %e, %rows, %wide : tensor<5x19xf16>
  %where = graph.broadcast %p : tensor<5x1xi1> -> tensor<5x19xi1>
  %chosen = graph.select %where, %scaled, %x : tensor<5x19xf16>
  %back = graph.flip %chosen axes [1] : tensor<5x19xf16>
  %both = graph.concat %chosen, %back axis 1 : tensor<5x19xf16>, tensor<5x19xf16> -> tensor<5x38xf16>
  %columns = graph.iota axis 1 : tensor<5x19xi16>
  %mod = graph.mod %n, %columns : tensor<5x19xi16>
  %most = graph.reduce max %mod axes [1] : tensor<5x19xi16> -> tensor<5xi16>
  %less = graph.lt %n, %columns : tensor<5x19xi16>
  %any = graph.reduce or %less axes [0] : tensor<5x19xi1> -> tensor<19xi1>
  %fill = graph.constant dense<2.5> : tensor<f64>
  %double = graph.cast %x : tensor<5x19xf16> -> tensor<5x19xf64>
  %padded = graph.pad %double, %fill low [1, 0] high [0, 2] : tensor<5x19xf64>
  %total = graph.reduce add %padded axes [0, 1] : tensor<6x21xf64> -> tensor<f64>
  %short = graph.cast %x : tensor<5x19xf16> -> tensor<5x19xbf16>
  %none = graph.slice %short offsets [2, 0] sizes [0, 19] strides [1, 1] : tensor<5x19xbf16>
  func.return %both, %most, %any, %total, %none
      : tensor<5x38xf16>, tensor<5xi16>, tensor<19xi1>, tensor<f64>, tensor<0x19xbf16>
}
"""

FUNCTIONS = """
func.func @functions(%x: tensor<3x21xf32>, %y: tensor<3x21xf64>)
    -> (tensor<3x21xf32>, tensor<3x21xf64>, tensor<3x21xf32>) {
  %log = graph.log %x : tensor<3x21xf32>
  %tanh = graph.tanh %log : tensor<3x21xf32>
  %erf = graph.erf %y : tensor<3x21xf64>
  %sin = graph.sin %erf : tensor<3x21xf64>
  %cos = graph.cos %x : tensor<3x21xf32>
  %abs = graph.abs %x : tensor<3x21xf32>
  %pow = graph.pow %abs, %cos : tensor<3x21xf32>
  func.return %tanh, %sin, %pow : tensor<3x21xf32>, tensor<3x21xf64>, tensor<3x21xf32>
}
"""

SMALLER = {"4096x": "12x", "1024x": "40x", "512x": "36x", "360x": "18x"}
"""Extents of the benchmarks and of the digits, and what they are here."""


def programs() -> dict[str, str]:
    paths = [*sorted((ROOT / "benchmarks" / "programs").glob("*.mlir")), ROOT / "examples/digits/digits.mlir"]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    for extent, smaller in SMALLER.items():
        texts = {name: text.replace(extent, smaller) for name, text in texts.items()}
    return texts | {"mixed": MIXED}


def printed(module: ModuleOp, generic: bool = False, locations: bool = False) -> str:
    stream = StringIO()
    Printer(stream, print_generic_format=generic, print_debuginfo=locations).print_op(module)
    return stream.getvalue()


class ReadsBack(PassInstrument):
    """Prints the module in each form after each pass, reads the text, and prints that again."""

    wants_changed = True

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        if changed is False:
            return
        custom, generic = printed(module), printed(module, generic=True)
        for text in (custom, generic):
            again = parse_module(text)
            verify_module(again)
            assert printed(again) == custom, pass_.name
            assert printed(again, generic=True) == generic, pass_.name
        located = printed(module, locations=True)
        assert printed(parse_module(located), locations=True) == located, pass_.name


class HasPlaces(PassInstrument):
    """Looks for ops and block arguments whose place in the source is not known."""

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        for op in module.walk():
            assert location_text(op.location), f"{pass_.name}: {op}"
            for region in op.regions:
                for argument in region.block.args:
                    assert location_text(argument.location), f"{pass_.name}: {argument} of {op}"


class CountsPasses(PassInstrument):
    """The names of the passes that have run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def after(self, pass_: ModulePass, module: ModuleOp, changed: bool | None) -> None:
        self.names.append(pass_.name)


def run(text: str, instrument: PassInstrument) -> ModuleOp:
    module = parse_module(text, "program.mlir")
    verify_module(module)
    passes = [pass_ for phase in phases().values() for pass_ in phase]
    counts = CountsPasses()
    PassManager(passes, [instrument, counts]).run(context(), module)
    assert counts.names == [pass_.name for pass_ in passes]
    return module


PROGRAMS = pytest.mark.parametrize("name", programs())


@PROGRAMS
def test_every_form_of_text_reads_back_the_same_after_every_pass(name: str) -> None:
    run(programs()[name], ReadsBack())


@PROGRAMS
def test_everything_has_a_place_in_the_source_after_every_pass(name: str) -> None:
    run(programs()[name], HasPlaces())


@PROGRAMS
def test_no_pass_changes_what_is_computed(name: str) -> None:
    run(programs()[name], VerifySemantics(run_module, seeds=range(2)))


def test_no_pass_changes_what_functions_are() -> None:
    run(FUNCTIONS, VerifySemantics(run_module))


@pytest.mark.parametrize("name", ["softmax", "layernorm", "gelu"])
def test_a_row_by_row_program_is_one_kernel(name: str) -> None:
    module = run(programs()[name], CountsPasses())
    assert [op.name for op in module.ops] == ["low.kernel", "sched.program"]
    assert "sched.transfer" not in str(module)
    assert str(module).count("sched.launch") == 1
    assert "temporary" not in str(module)

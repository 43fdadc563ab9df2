"""Modules as data: what is made of a record is the module that was recorded, whatever became of that."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tenon
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module
from tenon.dialects.modules.record import ModuleRecord
from tenon.passes.pass_manager import PassManager
from xdsl.context import Context
from xdsl.dialects import cf, func, test
from xdsl.dialects.builtin import Builtin, FileLineColLoc, ModuleOp, StringAttr
from xdsl.parser import Parser

EXAMPLES = Path(tenon.__file__).parent / "examples"

LOOP = """
func.func @f(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %one = graph.constant dense<1> : tensor<i32>
  %m, %y = graph.while (%i = %n, %v = %x) : (tensor<i32>, tensor<4xf32>) {
    %c = graph.lt %i, %one : tensor<i32>
    graph.condition %c
  } do (%j, %w) {
    %next = graph.add %j, %one : tensor<i32>
    %twice = graph.add %w, %w fastmath<contract> : tensor<4xf32>
    graph.yield %next, %twice : tensor<i32>, tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
"""

BLOCKS = """
func.func @f(%c: i1) {
  cf.cond_br %c, ^a(%c : i1), ^b
^a(%d: i1):
  cf.br ^b
^b:
  func.return
}
"""

FORWARD = """
%a = "test.op"(%b) : (i32) -> i32
%b = "test.op"() : () -> i32
"""


def parse(text: str) -> ModuleOp:
    known = Context()
    for dialect in (Builtin, func.Func, cf.Cf, test.Test):
        known.load_dialect(dialect)
    return Parser(known, text).parse_module()


def lowered() -> ModuleOp:
    module = parse_module(LOOP, "loop.mlir")
    PassManager("default-pipeline").run(context(), module)
    return module


MODULES: dict[str, Callable[[], ModuleOp]] = {
    "loop": lambda: parse_module(LOOP, "loop.mlir"),
    "softmax": lambda: parse_module((EXAMPLES / "softmax.mlir").read_text(), "softmax.mlir"),
    "low": lowered,
    "blocks": lambda: parse(BLOCKS),
    "forward": lambda: parse(FORWARD),
}


def facts(module: ModuleOp) -> list[object]:
    """Returns what the text of a module leaves out."""
    found: list[object] = []
    for op in module.walk():
        found += [type(op), op.location, [result.name_hint for result in op.results]]
        for region in op.regions:
            for block in region.blocks:
                found += [(argument.name_hint, argument.location) for argument in block.args]
    return found


@pytest.mark.parametrize("name", MODULES)
def test_the_module_that_is_made_is_the_one_that_was_recorded(name: str) -> None:
    module = MODULES[name]()
    made = ModuleRecord(module).module()
    assert str(made) == str(module)
    assert facts(made) == facts(module)
    assert not set(module.walk()) & set(made.walk())
    made.verify()


@pytest.mark.parametrize("name", MODULES)
def test_what_is_done_to_a_module_later_is_not_in_its_record(name: str) -> None:
    module = MODULES[name]()
    record, text = ModuleRecord(module), str(module)
    for op in module.walk():
        op.attributes["later"] = StringAttr("x")
        op.properties.clear()
    record.module().attributes["made"] = StringAttr("y")
    for op in list(module.body.ops):
        op.detach()
    assert str(record.module()) == text


def test_locations_are_kept() -> None:
    module = ModuleRecord(parse_module(LOOP, "loop.mlir")).module()
    loop = next(op for op in module.walk() if op.name == "graph.while")
    assert isinstance(loop.location, FileLineColLoc)
    assert loop.location.line.data == 4

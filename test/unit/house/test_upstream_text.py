"""Generic text is read by tools that do not know our dialects: `mlir-opt --allow-unregistered-dialect`."""

import re
import shutil
import subprocess
from functools import cache
from io import StringIO

import pytest
from tenon.dialects import context
from tenon.dialects.graph import GRAPH
from tenon.dialects.low import LOW
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.dialects.sched import SCHED
from tenon.errors import TenonError
from tenon.passes import pipeline
from tenon.test.unit.library import ROOT
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

TEST = ROOT / "test"
EXAMPLES = TEST.parent / "examples"

CONTROL = """func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = graph.scan %i = 3 (%c = %x) : (tensor<8xf32>) -> (tensor<8xf32>) {
    %s = graph.sin %c : tensor<8xf32>
    graph.yield %s : tensor<8xf32>
  }
  func.return %y : tensor<8xf32>
}"""

NAMED_DIMS = """graph.dim @n min 1 max 64
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) -> tensor<?xf32, #graph.dims<n>> {
  %s = graph.reduce add %x axes [1] : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<?xf32, #graph.dims<n>>
  func.return %s : tensor<?xf32, #graph.dims<n>>
}"""

MLIR_OPT = next(
    filter(None, map(shutil.which, ("mlir-opt", "mlir-opt-22", "mlir-opt-21", "mlir-opt-20"))), None
)


def generic(module: ModuleOp) -> str:
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


@cache
def written_out() -> tuple[str, ...]:
    """The texts that test the dialects, those that are right."""
    texts: list[str] = []
    for file in sorted((TEST / "filecheck" / "dialects").rglob("*.mlir")):
        for part in re.split(r"^// -----.*$", file.read_text(), flags=re.MULTILINE):
            try:
                module = parse_module(part, file.name)
                verify_module(module)
            except TenonError:
                continue
            texts.append(generic(module))
    return tuple(texts)


@cache
def lowered() -> tuple[str, ...]:
    """Programs as they are after each phase of the pipeline."""
    texts: list[str] = []
    softmax = (EXAMPLES / "softmax.mlir").read_text()
    for text in (softmax, CONTROL, NAMED_DIMS):
        module = parse_module(text)
        for passes in pipeline.phases().values():
            for each in passes:
                each.apply(context(), module)
            texts.append(generic(module))
    return tuple(texts)


_CLOSING = {"<": ">", "(": ")", "[": "]", "{": "}"}
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAME = re.compile(r"[#!](?P<dialect>[a-z_]\w*)(?:\.(?P<name>[a-z_][\w$.-]*))?")
_AFTER = re.compile(r"[\s,:;=>)\]}]|$")


def body_end(text: str, start: int) -> int:
    """Returns where the body of a dialect's attribute or type ends that begins with the `<` at `start`."""
    open_ones: list[str] = []
    position = start
    while True:
        assert position < len(text), f"{text[start : start + 40]} is not closed"
        if string := _STRING.match(text, position):
            position = string.end()
            continue
        character = text[position]
        if text.startswith("->", position):
            position += 1
        elif character in _CLOSING:
            open_ones.append(_CLOSING[character])
        elif character in _CLOSING.values():
            assert open_ones.pop() == character, f"{text[start : position + 1]} is not balanced"
        position += 1
        if not open_ones:
            return position


def names_of(text: str) -> set[str]:
    """
    Returns the attributes and types of dialects in a text, as `#graph<axis` or `#sched.mapping`. Each must be
    as MLIR's language reference has it: `#dialect<body>` or `#dialect.name` with or without a body, where
    a body is balanced.
    """
    found: set[str] = set()
    position = 0
    while position < len(text):
        if string := _STRING.match(text, position):
            position = string.end()
        elif name := _NAME.match(text, position):
            position = name.end()
            spelled = name[0]
            if text.startswith("<", position):
                end = body_end(text, position)
                if name["name"] is None:
                    spelled += re.split(r"[\s>]", text[position:end])[0]
                position = end
            else:
                assert name["name"] is not None, f"{text[name.start() : position + 20]} has no body"
            assert _AFTER.match(text, position), f"{text[name.start() : position + 20]} goes on"
            found.add(spelled)
        else:
            position += 1
    return found


def test_each_attribute_is_one_to_a_reader_that_does_not_know_it():
    found = set[str]().union(*map(names_of, (*written_out(), *lowered())))
    assert {name for name in found if name.startswith(("#builtin", "!builtin"))} == set()
    for dialect in (GRAPH, SCHED, LOW):
        for attribute in dialect.attributes:
            spellings = {f"{mark}{attribute.name.replace('.', dot, 1)}" for mark in "#!" for dot in ".<"}
            assert spellings & found, f"no text in test/filecheck/dialects has a {attribute.name}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#low.dims[1, 2]", "goes on"),
        ("#low", "has no body"),
        ("#low<dims [1, 2>]", "is not balanced"),
        ("#low<dims [1, 2]", "is not closed"),
    ],
)
def test_the_check_finds_what_is_no_attribute(text: str, message: str):
    with pytest.raises(AssertionError, match=message):
        names_of(f'"op"() {{a = "#low", b = #low.x, c = {text}')


@pytest.mark.skipif(MLIR_OPT is None, reason="there is no mlir-opt")
def test_mlir_opt_reads_all_levels():
    assert MLIR_OPT is not None
    command = [MLIR_OPT, "--allow-unregistered-dialect", "--split-input-file"]
    text = "\n// -----\n".join((*written_out(), *lowered()))
    found = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert found.stderr == ""
    assert found.returncode == 0
    assert found.stdout.count("low.kernel") == text.count("low.kernel")

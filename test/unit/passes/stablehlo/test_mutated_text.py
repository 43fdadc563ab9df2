"""Text of StableHLO in which something was changed is converted, or an error with a place."""

import random
import re
from pathlib import Path

import pytest
from tenon import TenonError
from tenon.dialects import context
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.test.unit.library import ROOT

PROGRAMS = [
    ROOT / "test" / "filecheck" / "passes" / "convert-stablehlo-to-graph.mlir",
    ROOT / "test" / "filecheck" / "dialects" / "stablehlo" / "ops.mlir",
]

TOKEN = re.compile(r'[A-Za-z_][\w.]*|%[\w#]+|\d+|"[^"]*"|\S')

NUMBERS = ("0", "1", "2", "3", "5", "-1", "100", "99999999999")

MUTATIONS = 250


def chunks(path: Path) -> list[str]:
    text = re.sub(r"^\s*//(?! -----).*\n", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [chunk for chunk in text.split("// -----\n") if "unsupported" not in chunk]


def mutated(text: str, words: list[str], draw: random.Random) -> str:
    """Returns a text with one to three words changed, dropped or replaced, or a character."""
    for _ in range(draw.randint(1, 3)):
        found = list(TOKEN.finditer(text))
        one = draw.choice(found)
        match draw.randrange(4):
            case 0:
                new = draw.choice(words)
            case 1:
                new = ""
            case 2:
                numbers = [each for each in found if each[0].isdigit()]
                one = draw.choice(numbers) if numbers else one
                new = draw.choice((*NUMBERS, str(len(one[0]))))
            case _:
                new = draw.choice('(){}[]<>,:=%#@"x0 -?i\n')
        text = text[: one.start()] + new + text[one.end() :]
    return text


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("seed", range(2))
def test_changed_text_is_an_error_with_a_place_or_converted(path: Path, seed: int):
    draw = random.Random(seed)
    programs = chunks(path)
    words = [word for text in programs for word in TOKEN.findall(text)]
    for _ in range(MUTATIONS):
        text = mutated(draw.choice(programs), words, draw)
        try:
            module = parse_module(text, "changed.mlir")
            verify_module(module)
            PassManager("convert-stablehlo-to-graph").run(context(), module)
        except TenonError as error:
            assert "changed.mlir:" in str(error), text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @f(%x: tensor<4xi322147483647>)", "integer types have at most 16777215 bits"),
        ("func.func @f() { %x = stablehlo.constant dense<(0, 1]> : tensor<2xui64> }", "unexpected ]"),
        ('func.func @f(%x: tensor<4xf32>) loc("a":1:2 to 3)', "Expected"),
        ("func.func @f(%x: tensor<4xf32>) loc(#nowhere)", "undefined symbol alias '#nowhere'"),
        ("func.func @f(%x: tensor<4xf32>) loc(elsewhere)", "expected a location"),
        ("func.func @f(%x: tensor<4xf32>) loc(#loc)\n#loc = 4", "expected a location"),
        ("func.func @f(%x: tensor<4xf32>) loc(#loc)\n#loc = loc(#loc)", "nested too deeply"),
    ],
)
def test_wrong_text_is_an_error_at_its_place(text: str, message: str):
    with pytest.raises(TenonError) as caught:
        parse_module(text, "wrong.mlir")
    assert message in str(caught.value)
    assert str(caught.value).startswith("wrong.mlir:")

"""The lexer gives xDSL's tokens."""

from pathlib import Path

import pytest
import tenon
from hypothesis import given
from hypothesis import strategies as st
from tenon.dialects import context
from tenon.dialects.modules.fast_lexer import FastLexer
from tenon.dialects.modules.parsing import parse_module
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

PIECES = st.sampled_from(
    [
        *'%^!@#:,()[]{}<>=+-/*?|."_$\\ \n\té0179axfe',
        *(
            "->",
            "...",
            "{-#",
            "#-}",
            "0x",
            "0xf32",
            "12.5",
            "1.e-3",
            "007",
            "//",
            "// x\n",
            "%0",
            "%a.b-c",
            "-1",
        ),
        *(
            "tensor<4x?xf32>",
            "index",
            "ui8",
            '"s"',
            '"\\FF"',
            "@f",
            '@"f"',
            "#map",
            "!t",
            "^bb0",
            "%",
            "func.func",
        ),
    ]
)


def tokens(lexer: MLIRLexer) -> list[tuple[object, int, int] | str]:
    found: list[tuple[object, int, int] | str] = []
    while True:
        try:
            token = lexer.lex()
        except ParseError as error:
            return [*found, str(error)]
        found.append((token.kind, token.span.start, token.span.end))
        if token.kind is MLIRTokenKind.EOF:
            return found


@given(st.lists(PIECES, max_size=12))
def test_tokens_are_those_of_xdsl(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert tokens(FastLexer(Input(text, "t"))) == tokens(MLIRLexer(Input(text, "t")))


FILES = sorted(
    path
    for path in Path(tenon.__file__).parent.glob("test/filecheck/passes/*.mlir")
    # tenon-opt knows xDSL's test dialect, programs do not.
    if not any(word in path.read_text() for word in ("expected-error", '"test.op"'))
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_modules_are_those_of_xdsl(path: Path) -> None:
    text = path.read_text()
    assert str(parse_module(text)) == str(Parser(context(), text).parse_module())


def test_types_that_were_parsed_before_are_the_same() -> None:
    text = "%a = graph.constant dense<1.0> : tensor<2xf32>\n%b = graph.neg %a : tensor<2xf32>"
    constant, neg = parse_module(text).ops
    assert constant.results[0].type is neg.results[0].type


@pytest.mark.parametrize("type", ["tensor<4xf33>", "tensor<4x>", "tensor<xf32>", "vector<4>", "memref<4xf32"])
def test_wrong_types_are_errors_each_time(type: str) -> None:
    for _ in range(2):
        with pytest.raises(tenon.TenonError):
            parse_module(f"func.func private @f({type})")

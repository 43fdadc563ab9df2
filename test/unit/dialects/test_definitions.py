"""Constants whose bytes stand in a section of the text."""

import numpy as np
import pytest
import tenon
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError

SECTION = """{{-#
  dialect_resources: {{
    builtin: {{
      {0}
    }}
  }}
#-}}
"""


def program(type: str, key: str = "w", result: str | None = None) -> str:
    value = f"%0 = graph.constant dense_resource<{key}> : {type}"
    return f"func.func @f() -> {type} {{\n  {value}\n  func.return %0 : {type}\n}}\n"


@pytest.mark.parametrize(
    ("type", "blob", "values"),
    [
        ("tensor<2xf32>", "040000000000803F00000040", [1.0, 2.0]),
        ("tensor<3xi1>", "01000000010002", [True, False, True]),
        ("tensor<2x1xui8>", "0100000007FF", [[7], [255]]),
        ("tensor<i64>", "080000000500000000000000", 5),
        ("tensor<0xf64>", "08000000", []),
        ("tensor<1xf32>", "000000000000803F", [1.0]),
    ],
)
@pytest.mark.parametrize("is_first", [False, True])
def test_resources_are_constants(type: str, blob: str, values: object, is_first: bool):
    section = SECTION.format(f'w: "0x{blob}", other: "nothing that is read"')
    text = section + program(type) if is_first else program(type) + section
    assert tenon.compile(text, backend="reference")().tolist() == values


def test_keys_may_be_strings_and_used_twice():
    text = program("tensor<2xi8>", '"a key"').replace("@f", "@g") + program("tensor<2xi8>", '"a key"')
    text += "// {-# no section\n" + SECTION.format('"a key": "0x010000000102"')
    module = parse_module(text)
    assert str(module).count("dense<[1, 2]> : tensor<2xi8>") == 2
    assert str(parse_module(str(module))) == str(module)


def test_large_ones_print_as_hex():
    values = np.arange(200, dtype=np.float32)
    text = program("tensor<200xf32>") + SECTION.format(f'w: "0x04000000{values.tobytes().hex()}"')
    printed = str(parse_module(text))
    assert values.tobytes().hex().upper() in printed
    np.testing.assert_array_equal(tenon.compile(printed, backend="reference")(), values)


@pytest.mark.parametrize(
    ("type", "entry", "place", "message"),
    [
        ("tensor<2xf32>", 'v: "0x01000000"', "2:37", "dense_resource: the text has no resource w"),
        ("tensor<2xf32>", 'w: "0x040000000000803F"', "2:37", "w has 4 bytes, expected 8 of tensor<2xf32>"),
        ("tensor<2xf32>", 'w: "0x04000000ZZ"', "8:10", "resource w is no hex string that starts with 0x"),
        ("tensor<2xf32>", 'w: "04000000"', "8:10", "resource w is no hex string that starts with 0x"),
        ("tensor<2xf32>", 'w: "0x040000"', "8:10", "w does not begin with its alignment in 4 bytes"),
        ("tensor<0xf32>", 'w: "0x03000000"', "8:10", "w does not begin with its alignment in 4 bytes"),
        ("tensor<2xf32>", 'w: "0x", w: "0x"', "8:16", "resource w is given twice"),
        ("tensor<2xf32>", "w: 4", "8:10", "expected a hex string"),
        ("tensor<2xi4>", 'w: "0x0100000012"', "2:37", "elements of i4 are no whole bytes"),
        ("tensor<?xf32>", 'w: "0x01000000"', "2:37", "has a dim that is known at run time only"),
        ("tensor<99999999999xf32>", 'w: "0x01000000"', "2:37", "more than 2147483648 bytes"),
    ],
)
def test_a_wrong_resource_is_an_error_at_its_place(type: str, entry: str, place: str, message: str):
    with pytest.raises(TenonError) as caught:
        parse_module(program(type) + SECTION.format(entry), "a.mlir")
    assert str(caught.value).startswith(f"a.mlir:{place}: error: ") and message in str(caught.value)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("external_resources: {}", "external resources cannot be read"),
        ('dialect_resources: { other: { w: "0x01000000" } }', "resources of dialect other cannot be read"),
    ],
)
def test_sections_of_others_are_errors(section: str, message: str):
    with pytest.raises(TenonError, match=message):
        parse_module(program("tensor<2xf32>") + "{-# " + section + " #-}", "a.mlir")

"""The work-arounds for xDSL: constants print and read back as the same bits."""

import math
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon.dialects import context, graph, xdsl_fixes
from tenon.dialects.element_types import ELEMENT_TYPES, i1, is_float
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.dialects.xdsl_fixes import dense_values
from tenon.errors import TenonError
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    TensorType,
)
from xdsl.parser import Parser
from xdsl.traits import is_side_effect_free, is_speculatable
from xdsl.utils.exceptions import ParseError


def dense(text: str) -> DenseIntOrFPElementsAttr:
    attribute = Parser(context(), text).parse_attribute()
    assert isinstance(attribute, DenseIntOrFPElementsAttr)
    return attribute


def round_trip(attribute: DenseIntOrFPElementsAttr) -> DenseIntOrFPElementsAttr:
    op = parse_module(str(ModuleOp([graph.ConstantOp(attribute)]))).body.block.first_op
    assert isinstance(op, graph.ConstantOp)
    return op.value


def test_hex_literals_of_floats_are_bits():
    assert dense_values(dense("dense<[0x7F800000, 0x4B800000]> : tensor<2xf32>")) == (math.inf, 16777216.0)
    assert dense_values(dense("dense<0xFC00> : tensor<1xf16>")) == (-math.inf,)
    assert dense_values(dense("dense<0x3F80> : tensor<1xbf16>")) == (1.0,)
    assert dense_values(dense("dense<0x3FF0000000000000> : tensor<1xf64>")) == (1.0,)
    assert dense_values(dense("dense<0x10> : tensor<1xi32>")) == (16,)


@pytest.mark.parametrize("type", [t for t in ELEMENT_TYPES if is_float(t)], ids=str)
@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, 0.0, -0.0, 0.1, 65504.0, 5.960464477539063e-08]
)
@pytest.mark.parametrize("count", [1, 3, 200])
def test_floats_round_trip(type, value: float, count: int):
    for elements in ([value] * count, [value, -value] * count):
        attribute = DenseIntOrFPElementsAttr.from_list(TensorType(type, (len(elements),)), elements)
        assert round_trip(attribute) == attribute


@pytest.mark.parametrize("type", ELEMENT_TYPES, ids=str)
@settings(max_examples=60, deadline=None)
@given(data=st.binary(min_size=8, max_size=1200))
def test_any_bits_round_trip(type, data: bytes):
    size = type.compile_time_size
    raw = data[: len(data) // size * size]
    if type == i1:
        raw = bytes(0xFF if byte & 1 else 0 for byte in raw)
    attribute = DenseIntOrFPElementsAttr(TensorType(type, (len(raw) // size,)), BytesAttr(raw))
    assert round_trip(attribute) == attribute


def test_every_nan_prints_as_its_bits():
    attribute = dense('dense<"0x7DFF"> : tensor<2xf8E5M2>')
    assert str(attribute) == 'dense<"0x7DFF"> : tensor<2xf8E5M2>'
    assert str(dense('dense<"0xFF"> : tensor<9xf8E4M3FN>')) == 'dense<"0xFF"> : tensor<9xf8E4M3FN>'
    assert str(dense("dense<0x7F> : tensor<9xf8E4M3FN>")) == "dense<0x7f> : tensor<9xf8E4M3FN>"


def test_the_greatest_float_is_in_range():
    assert dense_values(dense("dense<464.0> : tensor<1xf8E4M3FN>")) == (448.0,)
    assert dense_values(dense("dense<61439.0> : tensor<1xf8E5M2>")) == (57344.0,)
    assert dense_values(dense("dense<247.9> : tensor<1xf8E4M3>")) == (240.0,)


def test_zeros_of_both_signs_are_no_splat():
    attribute = dense("dense<[0.0, -0.0]> : tensor<2xf32>")
    assert not attribute.is_splat()
    assert str(attribute) == "dense<[0.000000e+00, -0.000000e+00]> : tensor<2xf32>"


def test_no_elements_are_no_splat():
    assert not dense("dense<> : tensor<0x3xf32>").is_splat()
    assert dense("dense<1.0> : tensor<0x3xf32>") == dense("dense<[]> : tensor<0x3xf32>")


def test_splats_of_millions_of_elements_stay_short_text():
    attribute = dense("dense<-7> : tensor<2048x2048xi32>")
    assert str(attribute) == "dense<-7> : tensor<2048x2048xi32>"
    assert len(attribute) == 2048 * 2048


def test_booleans_are_bools():
    attribute = dense("dense<[true, false]> : tensor<2xi1>")
    assert dense_values(attribute) == (True, False)
    assert all(isinstance(value, bool) for value in dense_values(attribute))
    assert dense('dense<"0x0100"> : tensor<2xi1>') == attribute
    assert str(dense("dense<[" + "true, false, " * 60 + "true]> : tensor<121xi1>")).startswith(
        "dense<[true, false"
    )


def test_vectors_and_complex_constants_still_work():
    assert str(dense("dense<[1, 2]> : vector<2xindex>")) == "dense<[1, 2]> : vector<2xindex>"
    assert dense("dense<(1.0, 2.0)> : tensor<2xcomplex<f32>>").data.data == struct.pack("<4f", 1, 2, 1, 2)


def test_parts_of_complex_constants_are_written_each_by_itself():
    bits = dense("dense<[(0x7F800000, 1.0), (-2, 0x80000000)]> : tensor<2xcomplex<f32>>").data.data
    assert bits == struct.pack("<4f", float("inf"), 1.0, -2.0, -0.0)
    wide = dense("dense<(0x7FF0000000000001, 0.5)> : tensor<complex<f64>>").data.data
    assert wide == struct.pack("<Qd", 0x7FF0000000000001, 0.5)
    assert dense(str(dense("dense<(0x7F800000, 1.0)> : tensor<complex<f32>>"))).data.data[4:] == struct.pack(
        "<f", 1.0
    )
    assert dense("dense<(1, -2)> : tensor<complex<i32>>").data.data == struct.pack("<2i", 1, -2)


@pytest.mark.parametrize(
    "text, message",
    [
        ("dense<300> : tensor<2xi8>", "dense: 300 is out of range for i8"),
        ("dense<1.0e39> : tensor<2xf32>", "dense: 1.0e39 is out of range for f32"),
        ("dense<70000.0> : tensor<2xf16>", "dense: 70000.0 is out of range for f16"),
        ("dense<3.4e38> : tensor<2xbf16>", "dense: 3.4e38 is out of range for bf16"),
        ("dense<61440.0> : tensor<2xf8E5M2>", "dense: 61440.0 is out of range for f8E5M2"),
        ("dense<464.5> : tensor<2xf8E4M3FN>", "dense: 464.5 is out of range for f8E4M3FN"),
        ("dense<-248.0> : tensor<2xf8E4M3>", "dense: -248.0 is out of range for f8E4M3"),
        ("dense<0x1FFFF> : tensor<2xf16>", "dense: 0x1FFFF is out of range for f16"),
        ("dense<-0x7C00> : tensor<2xf16>", "dense: -0x7C00 is out of range for f16"),
        (
            "dense<9223372036854775808> : tensor<2xindex>",
            "dense: 9223372036854775808 is out of range for index",
        ),
        ("dense<1.0> : f32", "dense: f32 is no tensor, vector or memref of numbers"),
        ("dense<1.0> : tensor<2xnone>", "dense: tensor<2xnone> is no tensor, vector or memref of numbers"),
        ("dense<1.0> : tensor<2xcomplex<f32>>", "dense: 1.0 is no element of complex<f32>"),
        (
            "dense<(0x1FF800000, 0.0)> : tensor<complex<f32>>",
            "dense: (0x1FF800000, 0.0) is out of range for complex<f32>",
        ),
        (
            "dense<(0.0, 1.0e39)> : tensor<complex<f32>>",
            "dense: (0.0, 1.0e39) is out of range for complex<f32>",
        ),
        ("dense<(1.5, 2)> : tensor<complex<i32>>", "dense: (1.5, 2) is no element of complex<i32>"),
        ("dense<1.0> : tensor<?xf32>", "dense: tensor<?xf32> has a dim that is known at run time only"),
        ("dense<[1.0]> : tensor<2xf32>", "dense: elements of shape [1] do not fit tensor<2xf32> (shape [2])"),
        ("dense<> : tensor<2xf32>", "dense: elements of shape [0] do not fit tensor<2xf32> (shape [2])"),
        ('dense<"0xZZ"> : tensor<1xi8>', 'dense: "0xZZ" is no hex string that starts with 0x'),
        ('dense<"01"> : tensor<1xi8>', 'dense: "01" is no hex string that starts with 0x'),
        ('dense<"0x0102"> : tensor<3xi8>', "dense: 2 bytes do not fit tensor<3xi8> (3 elements of 1 bytes)"),
        ("dense<0.0> : tensor<536870913xf32>", "dense: tensor<536870913xf32> has 536870913 elements"),
    ],
)
def test_constants_that_do_not_fit_are_located_errors(text: str, message: str):
    with pytest.raises(ParseError) as caught:
        dense(text)
    assert caught.value.msg.startswith(message)
    assert caught.value.span.start > 0 or text.startswith("dense<")


def test_a_string_that_is_not_closed_is_an_error_at_once():
    with pytest.raises(ParseError, match="before closing string literal"):
        Parser(context(), '"' + "a long text, " * 1000).parse_attribute()


def test_strings_that_are_not_ascii_stay_strings():
    attribute = StringAttr('λ "quoted"\n\\')
    assert Parser(context(), str(attribute)).parse_attribute() == attribute
    assert isinstance(Parser(context(), '"\\FF\\FE"').parse_attribute(), BytesAttr)


def test_the_fixes_apply_once():
    before = DenseIntOrFPElementsAttr.is_splat
    xdsl_fixes.apply()
    assert DenseIntOrFPElementsAttr.is_splat is before
    assert str(dense("dense<0x7FC0> : tensor<2xbf16>")) == "dense<0x7fc0> : tensor<2xbf16>"


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("%v = memref.load %x[] : memref<4x2xf32>", "memref.load: 0 indices for rank 2 (memref<4x2xf32>)"),
        ("memref.store %s, %x[%i] : memref<4x2xf32>", "memref.store: 1 indices for rank 2 (memref<4x2xf32>)"),
    ],
)
def test_a_wrong_number_of_indices_is_a_located_error(access: str, message: str):
    text = f"func.func @f(%x: memref<4x2xf32>, %s: f32, %i: index) {{\n{access}\nfunc.return\n}}"
    with pytest.raises(TenonError) as caught:
        verify_module(parse_module(text, "a.mlir"))
    assert str(caught.value).startswith("a.mlir:2:")
    assert str(caught.value).endswith(message)


def test_remainders_touch_no_memory_and_may_not_run_where_they_would_not_have():
    text = "%n = arith.constant 7 : index %m = arith.remui %n, %n : index"
    module = parse_module(text, "t.mlir")
    remainder = module.body.block.last_op
    assert isinstance(remainder, arith.RemUIOp)
    assert is_side_effect_free(remainder)
    assert not is_speculatable(remainder)

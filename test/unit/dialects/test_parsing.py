"""Text to modules: where ops are, and what wrong text and wrong ops are answered with."""

import pytest
from tenon.dialects import CUSTOM_DIALECTS, DIALECTS, context, graph
from tenon.dialects.modules.parsing import location_text, parse_module, verify_module
from tenon.errors import TenonError
from xdsl.dialects import test
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
    f32,
)
from xdsl.ir import Block, Region

PROGRAM = """\
func.func @f(%x: tensor<4xf32>,
             %y: tensor<4xf32>) -> tensor<4xf32> {
  %z, %w = "test.op"() : () -> (tensor<4xf32>, i1)
  %s = graph.add %x,
    %y : tensor<4xf32>
  %t = "graph.neg"(%s) : (tensor<4xf32>) -> tensor<4xf32> loc("other.py":7:9)
  %u = graph.neg %t : tensor<4xf32> loc(unknown)
  func.return %u : tensor<4xf32>
}
"""


def lenient():
    ctx = context()
    ctx.allow_unregistered = True
    return ctx


def error_of(text: str) -> str:
    with pytest.raises(TenonError) as caught:
        verify_module(parse_module(text, "a.mlir"))
    assert caught.value.location is not None
    return str(caught.value)


def places(module: ModuleOp) -> dict[str, str | None]:
    return {op.name: location_text(op.location) for op in module.walk()}


def test_ops_have_the_place_of_their_names():
    module = parse_module(PROGRAM, "a.mlir", ctx=lenient())
    found = [(op.name, location_text(op.location)) for op in module.walk()]
    assert found[0] == ("builtin.module", "a.mlir:1:1")
    assert found[1] == ("func.func", "a.mlir:1:1")
    assert found[2][1] == "a.mlir:3:12"
    assert found[3:] == [
        ("graph.add", "a.mlir:4:8"),
        ("graph.neg", "other.py:7:9"),
        ("graph.neg", None),
        ("func.return", "a.mlir:8:3"),
    ]


def test_block_arguments_have_the_place_of_their_names():
    module = parse_module(PROGRAM, "a.mlir", ctx=lenient())
    function = module.body.block.first_op
    assert function is not None
    arguments = function.body.block.args  # pyright: ignore
    assert [location_text(argument.location) for argument in arguments] == ["a.mlir:1:14", "a.mlir:2:14"]


def test_terminators_that_are_not_written_have_the_place_of_their_op():
    module = parse_module(
        """\
        func.func @f(%n: index) {
          scf.for %i = %n to %n step %n {
          }
          func.return
        }
        """,
        "a.mlir",
    )
    assert places(module)["scf.yield"] == "a.mlir:2:11"


def test_text_and_generic_text_round_trip_with_their_places():
    module = parse_module(PROGRAM, "a.mlir", ctx=lenient())
    assert str(parse_module(str(module), ctx=lenient())) == str(module)


def test_no_text_is_an_empty_module():
    for text in ("", "\n// only a comment\n"):
        module = parse_module(text)
        verify_module(module)
        assert not list(module.ops)


def test_every_dialect_can_be_loaded():
    ctx = context()
    for name in DIALECTS:
        ctx.load_registered_dialect(name)
    assert sorted(dialect.name for dialect in ctx.loaded_dialects) == sorted(DIALECTS)


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "%x = graph.constan dense<1.0> : tensor<f32>",
            "1:6: error: unknown op graph.constan (hint: did you mean graph.constant?)",
        ),
        ("  graph.zzzzzzzz", "1:3: error: unknown op graph.zzzzzzzz"),
        ('"low.barier"() : () -> ()', "1:1: error: unknown op low.barier (hint: did you mean low.barrier?)"),
        ("grpah.add", "1:1: error: unknown op grpah.add (hint: did you mean graph.add?)"),
        ("grpah.zzzzzzzz", "1:1: error: unknown op grpah.zzzzzzzz"),
        ("constnt", "1:1: error: unknown op constnt"),
        ("%y = graph.neg %x : tensor<4xf32>", "1:6: error: %x is not defined"),
        ("\n)", "2:1: error: expected an op"),
        ("$", "1:1: error: Unexpected character: $"),
        ("module {\n", "2:1: error: expected an op, a block or `}`"),
        (
            "%x = arith.constant 1.0e39 : f32",
            "1:6: error: arith.constant: number out of range (float too large to pack with f format)",
        ),
        (
            "%x = arith.constant 300 : i8",
            "1:6: error: arith.constant: Integer value 300 is out of range for type i8",
        ),
        (
            "%x = arith.constant 0xFFFFFFFFFF : f32",
            "1:6: error: arith.constant: number out of range (int too big to convert)",
        ),
        (
            "%x = graph.iota axis 0 : tensor<2xi32>\n%y = graph.iota axis true : tensor<2xi32>",
            "2:22: error: Expected integer literal",
        ),
        ("%x = graph.iota axis 0 : f32", "1:6: error: graph.iota: f32 is not a tensor"),
        (
            "%x = graph.iota axis 0 : tensor<2xi32>\n%x = graph.iota axis 0 : tensor<2xi32>",
            "2:1: error: SSA value %x is already defined",
        ),
        (
            "func.func @f() {\n^a:\n func.return\n^a:\n func.return\n}",
            "4:1: error: re-declaration of block 'a' (originally declared here: a.mlir:2:1)",
        ),
        (
            "{-# external_resources: { } #-}",
            "1:25: error: external resources cannot be read",
        ),
        (
            "%x = arith.constant dense<1> : tensor<2xi128>",
            "1:6: error: arith.constant: cannot read numbers of more than 64 bits",
        ),
        ("%é = graph.iota axis 0 : tensor<2xi32>", "1:1: error: expected a name after %"),
        (
            "func.func @f(\n%x: !graph.array\n) {\n}",
            "2:6: error: unknown type graph.array",
        ),
        ('module attributes {\na = #graph.moon<"x">\n} {}', "2:6: error: unknown attribute graph.moon"),
        ("module {\n" * 600, "nested too deeply"),
    ],
)
def test_wrong_text_is_an_error_with_its_place(text: str, message: str):
    found = error_of(text)
    assert found.startswith("a.mlir:")
    assert message in found
    assert "\n" not in found


def test_an_op_of_an_unknown_dialect_names_those_that_there_are():
    own = {"arith", "builtin", "func", "graph", "low", "math", "memref", "scf", "sched", "vector"}
    own |= {"chlo", "sdy", "shard", "stablehlo"}
    # Other tests of the process may have registered some of their own.
    dialects = ", ".join(sorted(own | CUSTOM_DIALECTS))
    message = f"unknown op tosa.constant (there is no dialect tosa, but {dialects})"
    found = error_of("%y = tosa.constant dense<1.0> : tensor<f32>")
    assert found == f"a.mlir:1:6: error: {message}"


def test_the_first_wrong_op_comes_first_and_the_others_follow():
    text = """\
    func.func @f(%x: tensor<4x8xf32>) -> tensor<4xf32> {
      %s = graph.reduce add %x axes [3] : tensor<4x8xf32> -> tensor<4xf32>
      %t = graph.reduce add %x axes [0] : tensor<4x8xf32> -> tensor<4xf32>
      func.return %s : tensor<4xf32>
    }
    """
    with pytest.raises(TenonError) as caught:
        verify_module(parse_module(text, "a.mlir"))
    assert caught.value.location == "a.mlir:2:12"
    assert str(caught.value).split("\n") == [
        "a.mlir:2:12: error: graph.reduce: axis 3 is out of range for rank 2 (source tensor<4x8xf32>)",
        "a.mlir:3:12: error: graph.reduce: result is tensor<4xf32>, expected tensor<8xf32> "
        "(axis 0 is 4, not 8; tensor<4x8xf32> without axes [0])",
    ]


def test_at_most_20_wrong_ops_are_listed():
    wrong = "%t = graph.reduce add %x axes [3] : tensor<4xf32> -> tensor<f32>\n"
    ops = "".join(wrong.replace("%t", f"%t{k}") for k in range(30))
    found = error_of(f"func.func @f(%x: tensor<4xf32>) {{\n{ops}func.return\n}}")
    assert len(found.split("\n")) == 20


@pytest.mark.parametrize(
    "text, message",
    [
        (
            "func.func @f(%x: f32) {\n  %y = arith.addf %x, %z : f32\n"
            "  %z = arith.addf %x, %x : f32\n  func.return\n}",
            "a.mlir:2:8: error: arith.addf: operand 1 is used before it is defined (%z)",
        ),
        (
            "func.func @f(%x: f32) {\n  arith.addf %x, %x : f32\n}",
            "a.mlir:2:3: error: arith.addf: it ends its block but is not a terminator",
        ),
        (
            '"func.func"() <{sym_name = "f", function_type = () -> ()}> ({\n^a:\n}) : () -> ()',
            "a.mlir:1:1: error: func.func: its block is empty, expected a terminator at the end",
        ),
        (
            "func.func @f() {\n  func.return\n}\nfunc.func @f() {\n  func.return\n}",
            'error: builtin.module: Redefinition of symbol "f"',
        ),
        (
            'func.func @f(%x: tensor<f32>) {\n  %y = "graph.neg"(%x, %x) : '
            "(tensor<f32>, tensor<f32>) -> tensor<f32>\n  func.return\n}",
            "a.mlir:2:8: error: graph.neg: Expected 1 operand, but got 2",
        ),
        (
            'func.func @f(%x: tensor<f32>) {\n  %y = "graph.reduce"(%x) : (tensor<f32>) -> tensor<f32>\n'
            "  func.return\n}",
            "a.mlir:2:8: error: graph.reduce: property 'kind' expected in operation 'graph.reduce'",
        ),
    ],
)
def test_wrong_ops_are_errors_with_their_places(text: str, message: str):
    assert message in error_of(text)


def test_branches_stay_in_their_region_and_at_the_end():
    block, other = Block(), Block()
    branch = test.TestOp.create(successors=[other])
    block.add_ops([branch, test.TestOp()])
    module = ModuleOp([test.TestOp(regions=[Region([block, other])])])
    with pytest.raises(
        TenonError, match=r"test\.op: an op with successors must be the last one of its block"
    ):
        verify_module(module)
    elsewhere = Block()
    block = Block([test.TestOp.create(successors=[elsewhere])])
    module = ModuleOp([test.TestOp(regions=[Region([block]), Region([elsewhere])])])
    with pytest.raises(TenonError, match=r"test\.op: branches to a block of another region"):
        verify_module(module)


def test_values_of_a_region_are_not_seen_outside():
    inner = graph.IotaOp(0, TensorType(f32, (2,)))
    module = ModuleOp([ModuleOp([inner]), graph.NegOp(inner.result)])
    with pytest.raises(TenonError, match=r"graph\.neg: operand 0 is used before it is defined"):
        verify_module(module)


def test_modules_nested_too_deeply_are_an_error():
    module = ModuleOp([])
    for _ in range(2000):
        module = ModuleOp([module])
    with pytest.raises(TenonError, match=r"builtin\.module: nested too deeply"):
        verify_module(module)


def test_location_text_finds_the_file():
    place = FileLineColLoc(StringAttr("a.py"), IntAttr(3), IntAttr(4))
    name = NameLoc(StringAttr("x"), place)
    assert location_text(place) == "a.py:3:4"
    assert location_text(name) == "a.py:3:4"
    assert location_text(CallSiteLoc(UNKNOWN_LOC, name)) == "a.py:3:4"
    assert location_text(FusedLoc(ArrayAttr([UNKNOWN_LOC, place]), NoneAttr())) == "a.py:3:4"
    assert location_text(UNKNOWN_LOC) is None
    assert location_text(FusedLoc(ArrayAttr([UNKNOWN_LOC]), NoneAttr())) is None

import pytest
from tenon.dialects.modules.entry import argument_names, entries_of, find_entry, keep_only, level_of
from tenon.dialects.modules.level import IRLevel
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import TenonError

TEXT = """
func.func @softmax(%x: tensor<4xf32>, %0: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func private @elsewhere(tensor<4xf32>) -> ()
sched.kernel @high(%y: memref<4xf32>) {
}
low.kernel @deep(%y: memref<4xf32>) grid [0, 1, 1] block [1, 1, 1] {
}
low.kernel @unused(%y: memref<4xf32>) grid [0, 1, 1] block [1, 1, 1] {
}
sched.program @mixed(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  %a = sched.buffer global temporary : memref<4xf32>
  %t0 = sched.launch @high(%a) after() : memref<4xf32>
  %t1 = sched.launch @deep(%a) after() : memref<4xf32>
  sched.return after()
}
sched.program @lowered(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  %a = sched.buffer global temporary : memref<4xf32>
  %t1 = sched.launch @deep(%a) after() : memref<4xf32>
  sched.return after()
}
"""


def test_functions_with_a_body_and_programs_are_entries():
    names = [entry.sym_name.data for entry in entries_of(parse_module(TEXT))]
    assert names == ["softmax", "mixed", "lowered"]


@pytest.mark.parametrize(
    ("name", "level"), [("softmax", IRLevel.GRAPH), ("mixed", IRLevel.SCHED), ("lowered", IRLevel.LOW)]
)
def test_the_level_is_that_of_the_highest_kernel(name: str, level: IRLevel):
    module = parse_module(TEXT)
    assert level_of(module, find_entry(module, name)) is level


def test_a_name_is_needed_only_where_there_are_several():
    module = parse_module(TEXT)
    with pytest.raises(
        TenonError,
        match=r"the module has 3 functions \(@softmax, @mixed, @lowered\); say which one to run",
    ):
        find_entry(module, None)
    keep_only(module, find_entry(module, "mixed"))
    assert find_entry(module, None).sym_name.data == "mixed"


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(
        TenonError,
        match=r"there is no function @softmx \(functions: @softmax, @mixed, @lowered\), "
        r"did you mean @softmax\?",
    ):
        find_entry(parse_module(TEXT), "softmx")
    with pytest.raises(TenonError, match=r"there is no function @q \(functions: [^)]*\)$"):
        find_entry(parse_module(TEXT), "q")


def test_a_module_without_a_function_says_so():
    with pytest.raises(TenonError, match="the module has no function to run"):
        find_entry(parse_module(""), "f")


def test_what_an_entry_does_not_launch_is_erased():
    module = parse_module(TEXT)
    keep_only(module, find_entry(module, "mixed"))
    names = [op.properties["sym_name"].data for op in module.body.ops]  # pyright: ignore
    assert names == ["high", "deep", "mixed"]
    verify_module(module)


def test_arguments_have_the_names_they_are_written_with():
    module = parse_module(TEXT)
    assert argument_names(find_entry(module, "softmax")) == ("x", "arg1")


def test_argument_names_differ():
    entry = find_entry(parse_module(TEXT), "softmax")
    first, second = entry.body.block.args
    first.name_hint = second.name_hint = "x"
    assert argument_names(entry) == ("x", "x_1")


@pytest.mark.parametrize(
    ("hints", "names"),
    [
        (("a", "a", "a", "a"), ("a", "a_1", "a_2", "a_3")),
        # A hint has no number of its own.
        (("a_1", "b", "a", "b", "a"), ("a", "b", "a_1", "b_1", "a_2")),
        ((None, "arg0", None), ("arg0", "arg0_1", "arg2")),
    ],
)
def test_a_name_that_is_taken_gets_the_first_number_that_is_free(
    hints: tuple[str | None, ...], names: tuple[str, ...]
):
    arguments = ", ".join(f"%{number}: f32" for number in range(len(hints)))
    entry = find_entry(parse_module(f"func.func @f({arguments}) {{\n  func.return\n}}"), "f")
    for argument, hint in zip(entry.body.block.args, hints, strict=True):
        argument.name_hint = hint
    assert argument_names(entry) == names


CALLS = """
func.func @leaf(%x: tensor<4xf32>) -> tensor<4xf32> {
  func.return %x : tensor<4xf32>
}
func.func @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @leaf(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func @other() {
  func.return
}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @inner(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


def test_what_an_entry_calls_is_kept():
    module = parse_module(CALLS)
    keep_only(module, find_entry(module, "main"))
    assert [entry.sym_name.data for entry in entries_of(module)] == ["leaf", "inner", "main"]


def test_an_entry_has_one_block():
    module = parse_module("\nfunc.func @f() {\n  func.return\n^next:\n  func.return\n}\n", "a.mlir")
    with pytest.raises(TenonError, match=r"^a.mlir:2:1: error: func.func: @f has 2 blocks, expected one$"):
        find_entry(module, None)

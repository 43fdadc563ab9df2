"""What makes the canonical texts of ops and kernels equal, and what does not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects import sched
from tenon.dialects.modules.canonical_text import bytes_text, canonical_text
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.sched.steps.kernel_key import kernel_meaning, kernel_text
from xdsl.ir import Use

KERNEL = """
sched.kernel @f(%x: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 block(2) {
    %v = memref.load %x[%i] : memref<8xf32>
    %c = arith.constant 1.0 : f32
    %s = arith.subf %v, %c : f32
    memref.store %s, %y[%i] : memref<8xf32>
  }
}
"""


def key(text: str) -> str:
    (kernel,) = parse_module(text).ops
    assert isinstance(kernel, sched.KernelOp)
    return kernel_text(kernel)


@pytest.mark.parametrize(
    "rename",
    [
        lambda text: text.replace("@f", "@g"),
        lambda text: text.replace("%v", "%value").replace("%i", "%0"),
        lambda text: "\n\n" + text.replace("  ", "    "),
        lambda text: text.replace("1.0", "1.00"),
    ],
)
def test_names_and_places_are_no_part_of_the_text(rename: Callable[[str], str]) -> None:
    assert key(rename(KERNEL)) == key(KERNEL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0", "-1.0"),
        ("1.0", "1.0000001"),
        ("%v, %c", "%c, %v"),
        ("subf", "addf"),
        ("block(2)", "block(4)"),
        ("= 8", "= 7"),
        ("store %s", "store %v"),
        (">) {", ">) attributes {a = 1 : i8} {"),
        ("memref<8xf32>", "memref<9xf32>"),
        ("%v, %c :", "%v, %c fastmath<nnan> :"),
    ],
)
def test_what_is_computed_is_part_of_the_text(old: str, new: str) -> None:
    assert old in KERNEL
    assert key(KERNEL.replace(old, new)) != key(KERNEL)


def test_floats_are_told_apart_by_their_bits() -> None:
    texts = [
        KERNEL.replace("1.0", bits) for bits in ("0.0", "-0.0", "0x7FC00000", "0x7FC00001", "0x80000001")
    ]
    assert len({key(text) for text in texts}) == len(texts)


def test_long_constants_are_given_by_their_digest() -> None:
    assert bytes_text(bytes(64)) == "00" * 64
    assert len(bytes_text(bytes(65))) == len("65:") + 64
    assert bytes_text(bytes(65)) != bytes_text(bytes(64) + b"\1")

    def constant(last: float) -> str:
        numbers = ", ".join(["0.0"] * 99 + [str(last)])
        return canonical_text(parse_module(f"%c = graph.constant dense<[{numbers}]> : tensor<100xf32>"))

    assert constant(1.0) == constant(1.0) != constant(2.0)
    assert len(constant(1.0)) < 300


def test_names_of_values_are_part_of_the_text_where_they_are_asked_for() -> None:
    module, renamed = parse_module(KERNEL), parse_module(KERNEL.replace("%v", "%w"))
    assert canonical_text(module) == canonical_text(renamed)
    assert canonical_text(module, hints=True) != canonical_text(renamed, hints=True)


def test_equal_layers_of_a_program_share_their_kernels() -> None:
    @tenon.jit
    def chain(x: Any, ws: list[Any]) -> Any:
        for w in ws:
            x = tnp.tanh(x @ w)
        return x

    rng = np.random.default_rng(0)
    x, ws = rng.random((4, 8), np.float32), [rng.random((8, 8), np.float32) for _ in range(5)]
    expected = x
    for w in ws:
        expected = np.tanh(expected @ w)
    np.testing.assert_allclose(chain(x, ws), expected, rtol=1e-5)
    text = chain.lower(x, ws).text("sched")
    assert text.count("sched.kernel @") == 1
    assert text.count("sched.launch @") == 5


def meaning(text: str) -> str:
    (kernel,) = parse_module(text).ops
    assert isinstance(kernel, sched.KernelOp)
    return kernel_meaning(kernel)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("block(2)", "block(4)"),
        (" block(2)", ""),
        (">) {", '>) attributes {schedule = "i: neighbours in memory", later = 1 : i8} {'),
        ("%x[%i] :", "%x[%i] {tenon.prefetch = 64 : index} :"),
    ],
)
def test_how_loops_run_is_no_part_of_what_a_kernel_computes(old: str, new: str) -> None:
    assert meaning(KERNEL.replace(old, new)) == meaning(KERNEL)
    assert key(KERNEL.replace(old, new)) != key(KERNEL)


def test_a_property_that_loops_get_later_is_no_part_of_what_a_kernel_computes() -> None:
    (kernel,) = parse_module(KERNEL).ops
    assert isinstance(kernel, sched.KernelOp)
    axis = kernel.body.block.first_op
    assert isinstance(axis, sched.AxisOp)
    axis.properties["of_a_later_version"] = kernel.sym_name
    assert kernel_meaning(kernel) == meaning(KERNEL)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.0", "-1.0"),
        ("subf", "addf"),
        ("= 8", "= 7"),
        ("%v, %c :", "%v, %c fastmath<nnan> :"),
        ("memref<8xf32>", "memref<9xf32>"),
    ],
)
def test_what_a_kernel_computes_is_part_of_its_meaning(old: str, new: str) -> None:
    assert meaning(KERNEL.replace(old, new)) != meaning(KERNEL)


def test_what_a_reduction_combines_and_which_dims_there_are_is_part_of_a_meaning() -> None:
    text = """
    graph.dim @n min 1 max 8
    sched.kernel @f(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>, %y: memref<f32>) dims [n] {
      %s = sched.reduce addf %i = n vector(4) : f32 {
        %v = memref.load %x[%i] : memref<?xf32, {dims = #graph.dims<n>}>
        sched.yield %v : f32
      }
      memref.store %s, %y[] : memref<f32>
    }
    """

    def of(text: str) -> str:
        kernel = parse_module(text).body.block.last_op
        assert isinstance(kernel, sched.KernelOp)
        return kernel_meaning(kernel)

    assert of(text) == of(text.replace("vector(4)", "unroll(2)"))
    assert of(text) != of(text.replace("addf", "mulf"))
    assert of(text) != of(text.replace("vector(4) : f32", "fastmath<nnan> : f32"))
    assert of(text) != of(text.replace("= n ", "= 8 "))


ROWS = """
sched.kernel @f(%x: memref<8x8xf32>, %y: memref<8xf32>) {
  %c = arith.constant 3 : index
  sched.axis %i = 8 {
    %v = memref.load %x[%c, %i] : memref<8x8xf32>
    %two = arith.constant 2.0 : f32
    %d = arith.mulf %v, %two : f32
    memref.store %d, %y[%i] : memref<8xf32>
  }
}
"""


def test_where_constants_stand_is_no_part_of_the_text() -> None:
    three, two = "  %c = arith.constant 3 : index\n", "    %two = arith.constant 2.0 : f32\n"
    moved = ROWS.replace(two, "").replace(three, f"  %one = arith.constant 1.0 : f32\n{two}{three}")
    inner = ROWS.replace(three, "").replace("    %v =", f"{three}    %v =")
    assert key(moved) == key(inner) == key(ROWS)
    for old, new in (("3 :", "4 :"), ("2.0", "-2.0"), ("%c, %i", "%i, %c"), ("%v, %two", "%two, %v")):
        assert key(ROWS.replace(old, new)) != key(ROWS)


def test_operands_that_are_left_out_make_no_other_text() -> None:
    def text(program: str, number: int) -> str:
        (kernel,) = parse_module(program).ops
        (load,) = [op for op in kernel.walk() if op.name == "memref.load"]
        return canonical_text(kernel, constants_in_place=True, left_out={Use(load, number)})

    other = ROWS.replace("3 :", "4 :")
    assert text(ROWS, 1) == text(other, 1)
    assert text(ROWS, 2) != text(other, 2)
    assert text(ROWS, 1) != canonical_text(next(iter(parse_module(ROWS).ops)), constants_in_place=True)

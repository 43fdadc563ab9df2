"""dynamic_update at every level and on every backend: over a copy of its source, or over itself."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.dialects import context, sched
from tenon.dialects.element_types import ELEMENT_TYPES
from tenon.dialects.graph.types import INTEGERS
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.pass_manager import PassManager
from tenon.semantics.numpy_types import dtype_of
from tenon.test.unit.everywhere import run_everywhere

Array = npt.NDArray[Any]

X = np.arange(120, dtype=np.float32).reshape(6, 20)


def items(text: str) -> list[str]:
    """The items of the program, launches and copies, in order."""
    module = parse_module(text)
    PassManager("graph-pipeline,convert-graph-to-sched").run(context(), module)
    (program,) = [op for op in module.ops if isinstance(op, sched.ProgramOp)]
    return [op.name for op in program.walk() if isinstance(op, sched.LaunchOp | sched.TransferOp)]


def function(body: str, result: str = "tensor<6x20xf32>", inputs: str = "") -> str:
    arguments = f"%x: tensor<6x20xf32>, %u: tensor<2x17xf32>, %i: tensor<i64>{inputs}"
    return f"""func.func @f({arguments}) -> {result} {{
      {body}
      func.return %y : {result}
    }}"""


UPDATE = """%y = graph.dynamic_update %x[%i, %i], %u
        : tensor<6x20xf32>[tensor<i64>, tensor<i64>], tensor<2x17xf32>"""


def updated(x: Array, u: Array, start: int) -> Array:
    result = x.copy()
    row, column = min(max(start, 0), 4), min(max(start, 0), 3)
    result[row : row + 2, column : column + 17] = u
    return result


def test_an_argument_is_copied_and_kept() -> None:
    text = function(UPDATE)
    assert items(text) == ["sched.transfer", "sched.launch"]
    u = -np.ones((2, 17), np.float32)
    for start in (-(2**63), -1, 0, 2, 3, 4, 5, 2**63 - 1):
        x = X.copy()
        (found,) = run_everywhere(text, x, u, np.array(start))
        np.testing.assert_array_equal(found, updated(X, u, start))
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("type", [type for type in ELEMENT_TYPES if type in INTEGERS.types], ids=str)
def test_starts_of_every_type_are_moved_so_that_the_box_fits(type: Any) -> None:
    text = function(
        UPDATE.replace("i64", str(type)).replace("%i, %i", "%j, %j"), inputs=f", %j: tensor<{type}>"
    )
    dtype = dtype_of(type)
    u = -np.ones((2, 17), np.float32)
    limits = np.iinfo(dtype)
    run = {way: tenon.compile(text, backend=way) for way in ("reference", "llvm", "opencl")}
    for start in (0, 3, 4, limits.max, limits.min, limits.max - 1, limits.min + 1):
        for way, compiled in run.items():
            found = compiled(X, u, np.array(0), np.array(start, dtype))
            np.testing.assert_array_equal(found, updated(X, u, int(start)), way)


def test_what_is_not_needed_afterwards_is_updated_in_place() -> None:
    text = function(f"%n = graph.neg %x : tensor<6x20xf32>\n{UPDATE.replace('update %x', 'update %n')}")
    assert items(text) == ["sched.launch", "sched.launch"]
    u = np.ones((2, 17), np.float32)
    (found,) = run_everywhere(text, X, u, np.array(2))
    np.testing.assert_array_equal(found, updated(-X, u, 2))


def test_what_is_needed_afterwards_is_copied() -> None:
    body = f"""%n = graph.neg %x : tensor<6x20xf32>
      {UPDATE.replace("update %x", "update %n").replace("%y", "%z")}
      %s = graph.reduce add %n axes [0, 1] keep : tensor<6x20xf32> -> tensor<1x1xf32>
      %b = graph.broadcast %s : tensor<1x1xf32> -> tensor<6x20xf32>
      %y = graph.add %z, %b : tensor<6x20xf32>"""
    text = function(body)
    u = np.ones((2, 17), np.float32)
    (found,) = run_everywhere(text, X, u, np.array(2))
    np.testing.assert_array_equal(found, updated(-X, u, 2) - X.sum())


def test_what_is_returned_too_is_copied() -> None:
    text = f"""func.func @f(%x: tensor<6x20xf32>, %u: tensor<2x17xf32>, %i: tensor<i64>)
        -> (tensor<6x20xf32>, tensor<6x20xf32>) {{
      %n = graph.neg %x : tensor<6x20xf32>
      {UPDATE.replace("update %x", "update %n")}
      func.return %n, %y : tensor<6x20xf32>, tensor<6x20xf32>
    }}"""
    assert "sched.transfer" in items(text)
    u = np.ones((2, 17), np.float32)
    before, after = run_everywhere(text, X, u, np.array(1))
    np.testing.assert_array_equal(before, -X)
    np.testing.assert_array_equal(after, updated(-X, u, 1))


def test_an_update_made_of_what_it_replaces_is_in_place() -> None:
    body = """%n = graph.neg %x : tensor<6x20xf32>
      %d = graph.dynamic_slice %n[%i, %i] sizes [2, 17] : tensor<6x20xf32>[tensor<i64>, tensor<i64>]
      %s = graph.add %d, %u : tensor<2x17xf32>
      """ + UPDATE.replace("update %x", "update %n").replace("%u", "%s")
    text = function(body)
    assert items(text) == ["sched.launch", "sched.launch"]
    u = np.ones((2, 17), np.float32)
    (found,) = run_everywhere(text, X, u, np.array(9))
    np.testing.assert_array_equal(found, updated(-X, -X[4:, 3:] + 1, 9))


def test_an_update_made_of_other_elements_of_its_source_is_computed_before() -> None:
    body = """%n = graph.neg %x : tensor<6x20xf32>
      %d = graph.slice %n offsets [0, 0] sizes [2, 17] strides [1, 1] : tensor<6x20xf32>
      """ + UPDATE.replace("update %x", "update %n").replace("%u", "%d")
    text = function(body)
    assert items(text) == ["sched.launch"] * 3
    (found,) = run_everywhere(text, X, np.zeros((2, 17), np.float32), np.array(1))
    np.testing.assert_array_equal(found, updated(-X, -X[:2, :17], 1))


def test_updates_one_after_the_other_share_one_buffer() -> None:
    lines = ["%y0 = graph.neg %x : tensor<6x20xf32>"]
    for number in range(4):
        lines.append(UPDATE.replace("%y =", f"%y{number + 1} =").replace("update %x", f"update %y{number}"))
    lines.append("%y = graph.neg %y4 : tensor<6x20xf32>")
    text = function("\n".join(lines))
    assert "sched.transfer" not in items(text)
    u = np.ones((2, 17), np.float32)
    (found,) = run_everywhere(text, X, u, np.array(1))
    np.testing.assert_array_equal(found, -updated(-X, u, 1))


@pytest.mark.parametrize("sizes", [(0, 3), (6, 20), (1, 1)])
def test_an_update_of_nothing_of_one_element_and_of_all(sizes: tuple[int, int]) -> None:
    text = f"""func.func @f(%x: tensor<6x20xf32>, %u: tensor<{sizes[0]}x{sizes[1]}xf32>, %i: tensor<i64>)
        -> tensor<6x20xf32> {{
      %v = graph.neg %u : tensor<{sizes[0]}x{sizes[1]}xf32>
      %y = graph.dynamic_update %x[%i, %i], %v
        : tensor<6x20xf32>[tensor<i64>, tensor<i64>], tensor<{sizes[0]}x{sizes[1]}xf32>
      func.return %y : tensor<6x20xf32>
    }}"""
    (found,) = run_everywhere(text, X, np.ones(sizes, np.float32), np.array(3))
    expected = X.copy()
    if sizes == (6, 20):
        expected[:] = -1
    elif sizes == (1, 1):
        expected[3, 3] = -1
    np.testing.assert_array_equal(found, expected)


def test_a_node_is_updated_in_its_own_memory() -> None:
    text = f"""graph.tnode @w : tensor<6x20xf32>
    func.func @f(%u: tensor<2x17xf32>, %i: tensor<i64>) {{
      %x = graph.read @w : tensor<6x20xf32>
      {UPDATE}
      graph.write @w, %y : tensor<6x20xf32>
      func.return
    }}"""
    assert items(text) == ["sched.launch"]


def test_what_a_loop_carries_is_updated_in_place() -> None:
    text = """func.func @f(%x: tensor<6x20xf32>, %u: tensor<2x17xf32>) -> tensor<6x20xf32> {
      %n = graph.neg %x : tensor<6x20xf32>
      %y = graph.scan %i = 3 (%c = %n) : (tensor<6x20xf32>) -> (tensor<6x20xf32>) {
        %z = graph.dynamic_update %c[%i, %i], %u
          : tensor<6x20xf32>[tensor<i64>, tensor<i64>], tensor<2x17xf32>
        graph.yield %z : tensor<6x20xf32>
      }
      func.return %y : tensor<6x20xf32>
    }"""
    assert items(text) == ["sched.launch", "sched.launch"]
    u = np.ones((2, 17), np.float32)
    (found,) = run_everywhere(text, X, u)
    expected = -X
    for start in range(3):
        expected = updated(expected, u, start)
    np.testing.assert_array_equal(found, expected)


def test_an_update_cannot_be_virtual() -> None:
    asked = '{memory_mode = #graph.memory_mode<virtual, "asked">} '
    body = (
        UPDATE.replace("%u\n", f"%u {asked}\n").replace("%y =", "%z =")
        + "\n%y = graph.neg %z : tensor<6x20xf32>"
    )
    with pytest.raises(TenonError, match=r"graph.dynamic_update: cannot be virtual \(stored over a copy"):
        tenon.compile(function(body))


def test_an_update_by_one_carried_value_of_another_does_not_store_over_the_one_it_reads() -> None:
    text = """func.func @f(%a: tensor<10xf32>, %b: tensor<10xf32>) -> (tensor<10xf32>, tensor<4x10xf32>) {
      %p, %q, %rows = graph.scan %k = 4 (%c = %a, %d = %a) over ()
          : (tensor<10xf32>, tensor<10xf32>) -> (tensor<10xf32>, tensor<10xf32>, tensor<4x10xf32>) {
        %u = graph.dynamic_update %b[%k], %c : tensor<10xf32>[tensor<i64>], tensor<10xf32>
        graph.yield %u, %c, %d : tensor<10xf32>, tensor<10xf32>, tensor<10xf32>
      }
      func.return %p, %rows : tensor<10xf32>, tensor<4x10xf32>
    }"""
    a, b = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    carried, rows = run_everywhere(text, a, b)
    np.testing.assert_array_equal(carried, a)
    np.testing.assert_array_equal(rows, np.broadcast_to(a, (4, 10)))


@pytest.mark.parametrize("start", [-3, 0, 1, 2, 9])
def test_steps(start: int) -> None:
    text = function(
        """%y = graph.dynamic_update %x[%i, %i], %u strides [3, 1]
        : tensor<6x20xf32>[tensor<i64>, tensor<i64>], tensor<2x17xf32>"""
    )
    assert items(text) == ["sched.transfer", "sched.launch"]
    u = -np.ones((2, 17), np.float32)
    row, column = min(max(start, 0), 2), min(max(start, 0), 3)
    expected = X.copy()
    expected[row : row + 4 : 3, column : column + 17] = u
    (found,) = run_everywhere(text, X.copy(), u, np.array(start))
    np.testing.assert_array_equal(found, expected)


def test_steps_in_a_loop_cost_what_they_store() -> None:
    def swept(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            x = x.at[i, ::2].add(1.0)
            return x.at[1:-1:2, 1::3].multiply(2.0).at[::4, i].set(0.5)

        return tenon.fori_loop(0, 6, step, x)

    lowered = tenon.jit(swept).lower(X)
    body = lowered.text("sched").partition("sched.for")[2]
    assert "sched.transfer" not in body and "memref<6x20xi1>" not in lowered.text("sched")
    expected = X.copy()
    for i in range(6):
        expected[i, ::2] += 1.0
        expected[1:-1:2, 1::3] *= 2.0
        expected[::4, i] = 0.5
    np.testing.assert_array_equal(np.asarray(tenon.jit(swept)(X)), expected)


@pytest.mark.parametrize(
    "index",
    [np.s_[::2], np.s_[1::2, ::3], np.s_[::-2, 3], np.s_[5:1:-3, ::7], np.s_[2:3:2], np.s_[4:2:2]],
    ids=str,
)
@pytest.mark.parametrize("kind", ["set", "add"])
def test_steps_as_in_numpy(index: Any, kind: str) -> None:
    values = np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape)
    expected = X.copy()
    expected[index] = values if kind == "set" else expected[index] + values
    for loops in (0, 1):

        def update(x: Any, v: Any, loops: int = loops) -> Any:
            def step(_: Any, x: Any) -> Any:
                return getattr(x.at[index], kind)(v)

            return tenon.fori_loop(0, 1, step, x) if loops else step(0, x)

        np.testing.assert_array_equal(np.asarray(tenon.jit(update)(X, values)), expected)

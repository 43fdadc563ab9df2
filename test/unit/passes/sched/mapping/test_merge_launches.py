"""Launches over the same elements as one: the bits of the kernels one after the other."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.mapping import merge_launches
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException


def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * (g * g)
    return p - 0.01 * m / (tnp.sqrt(v) + 1e-8), m, v


def half_adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    """The state is rounded to bf16, and what is computed of it afterwards is of the rounded numbers."""
    m, v = (each.astype(tnp.bfloat16) for each in (0.9 * m + 0.1 * g, 0.99 * v + 0.01 * (g * g)))
    return p - 0.01 * m.astype(tnp.float32) / (tnp.sqrt(v.astype(tnp.float32)) + 1e-8), m, v


def mandelbrot(a: Any, b: Any, x: Any, y: Any) -> Any:
    def step(n: Any, state: Any) -> Any:
        a, b, count = state
        is_near = a * a + b * b < 4
        following = tnp.where(is_near, a * a - b * b + x, a), tnp.where(is_near, 2 * (a * b) + y, b)
        return *following, tnp.where(is_near, n.astype(tnp.float32), count)

    return tenon.fori_loop(0, 7, step, (a, b, tnp.zeros_like(a)))


def thomas(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Two states of a scan, whose rows are results too."""

    def forward(state: Any, values: Any) -> Any:
        u, v = state
        low, high = values
        scale = 1.0 / (3.0 + abs(u * low))
        following = high * scale, (low - v * low) * scale
        return following, following

    return tenon.scan(forward, (c[0], d[0]), (a, b))


def fields(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Each step reads neighbours of what the one before stored: fields of finite differences."""

    def step(_: Any, state: Any) -> Any:
        e, h = state
        e = e.at[:, 1:].add(0.5 * (h[:, 1:] - h[:, :-1]))
        h = h.at[:, :-1].add(0.5 * (e[:, 1:] - e[:, :-1]))
        return e, h

    return tenon.fori_loop(0, 5, step, (a * c, b * d))


def swapped(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Two states that become one another."""
    return tenon.fori_loop(0, 5, lambda _, s: (s[1] * c + d, s[0] - s[1]), (a, b))


def row_statistics(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Reductions along the rows of the same arrays, also with what is computed of one before another."""
    greatest = tnp.max(a, axis=1)
    spread = tnp.sum((a - tnp.mean(a, axis=1, keepdims=True)) ** 2, axis=1)
    return greatest, tnp.min(a, axis=1), spread, tnp.sum(a * b, axis=1), tnp.sum(tnp.exp(a), axis=1)


def column_statistics(a: Any, b: Any, c: Any, d: Any) -> Any:
    return tnp.sum(a, axis=0), tnp.min(a, axis=0), tnp.sum(a * a, axis=0), tnp.prod(b, axis=0)


def all_statistics(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Reductions of so many elements that parts are combined, between which others stand."""
    x = tnp.concatenate([a, b, c, d] * 12)
    return tnp.sum(x), tnp.max(x), tnp.sum(x * x), tnp.count_nonzero(x > 0.5)


PROGRAMS = (
    adam,
    half_adam,
    mandelbrot,
    thomas,
    fields,
    swapped,
    row_statistics,
    column_statistics,
    all_statistics,
)


def kernel_count(text: str) -> int:
    return text.count("sched.kernel")


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
@pytest.mark.parametrize("shape", [(13, 1037), (3, 1000)], ids=str)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_merged_launches_give_the_same_bits(
    program: Callable[..., Any], shape: tuple[int, ...], backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal(shape).astype("f4") for _ in range(4)]
    module = tenon.jit(program).lower(*arrays).module
    with tenon.compile(module, backend=backend) as merged:
        text = str(merged.stages["sched"])
        found = leaves(merged(*arrays))
        interpreted = leaves(tenon.compile(text, backend="reference")(*arrays))
    monkeypatch.setattr(merge_launches, "MOST_BUFFERS", 0)
    with tenon.compile(module, backend=backend) as apart:
        text_apart = str(apart.stages["sched"])
        expected = leaves(apart(*arrays))
    assert "_merged" not in text_apart
    if program is not fields:
        assert "_merged" in text and kernel_count(text) < kernel_count(text_apart)
    for results in (found, interpreted):
        for one, other in zip(results, expected, strict=True):
            assert one.tobytes() == other.tobytes()


def leaves(results: Any) -> list[Any]:
    parts = [leaves(each) if isinstance(each, tuple) else [np.asarray(each)] for each in results]
    return [leaf for part in parts for leaf in part]


def test_an_optimizer_is_one_kernel_that_reads_each_array_once() -> None:
    text = tenon.jit(adam).lower(*[np.zeros((64, 100), "f4")] * 4).text("sched")
    assert kernel_count(text) == 1
    assert text.count("memref.load") == 4 and text.count("memref.store") == 3


def test_named_dims() -> None:
    n, k = tenon.Dim("n", 1, 100), tenon.Dim("k", 1, 50)
    function = tenon.jit(adam, dynamic={name: {0: n, 1: k} for name in "pmvg"})
    assert "_merged" in function.lower(*[np.ones((2, 3), "f4")] * 4).text("sched")
    generator = np.random.default_rng(1)
    for shape in ((3, 5), (1, 1), (100, 50)):
        arrays = [abs(generator.standard_normal(shape).astype("f4")) for _ in range(4)]
        for one, other in zip(function(*arrays), tenon.jit(adam)(*arrays), strict=True):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


HEAD = """
sched.kernel @double(%x: memref<{n}xf32>, %y: memref<{n}xf32>) {{
  sched.axis %i = {n} {{
    %v = memref.load %x[%i] : memref<{n}xf32>
    %d = arith.addf %v, %v : f32
    memref.store %d, %y[%i] : memref<{n}xf32>
  }}
}}
sched.kernel @gather(%x: memref<{n}xf32>, %y: memref<{n}xf32>) {{
  sched.axis %i = {n} {{
    %v = memref.load %x[%i] : memref<{n}xf32>
    %n = low.convert fptosi %v : f32 to i64
    %place = arith.index_cast %n : i64 to index
    %zero = arith.constant 0 : index
    %d = memref.load %x[%zero] : memref<{n}xf32>
    memref.store %d, %y[%i] : memref<{n}xf32>
  }}
}}
sched.kernel @last(%x: memref<{n}xf32>, %y: memref<{n}xf32>) {{
  %zero = arith.constant 0 : index
  sched.axis %i = {n} {{
    %v = memref.load %x[%i] : memref<{n}xf32>
    %first = memref.load %x[%zero] : memref<{n}xf32>
    %d = arith.addf %v, %first : f32
    memref.store %d, %y[%i] : memref<{n}xf32>
  }}
}}
"""

PROGRAM = """
sched.program @f(%x: memref<64xf32>) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {{
  %y = sched.buffer global result : memref<64xf32>
  %z = sched.buffer global result : memref<64xf32>
  {items}
  sched.return %y, %z after() : memref<64xf32>, memref<64xf32>
}}
"""

TYPES = "memref<64xf32>, memref<64xf32>"


def launches_of(items: str) -> list[str]:
    module = parse_module(HEAD.format(n=64) + PROGRAM.format(items=items))
    PassManager("merge-launches").run(context(), module)
    module.verify()
    return [op.kernel.root_reference.data for op in module.walk() if isinstance(op, sched.LaunchOp)]


def launch(kernel: str, source: str, target: str, number: int = 0, after: str = "") -> str:
    return f"%t_{number} = sched.launch @{kernel}(%{source}, %{target}) after({after}) : {TYPES}\n"


def test_launches_that_read_the_same_array_are_merged() -> None:
    assert launches_of(launch("double", "x", "y") + launch("last", "x", "z", 1)) == ["last_merged"]


def test_what_is_stored_and_read_at_other_places_is_not() -> None:
    assert launches_of(launch("double", "x", "y") + launch("last", "y", "z", 1)) == ["double", "last"]
    # Nor where the later one stores what the earlier one reads all over.
    assert launches_of(launch("last", "x", "y") + launch("double", "y", "x", 1)) == ["last", "double"]


def test_what_is_stored_twice_keeps_its_order() -> None:
    found = launches_of(
        launch("double", "x", "y") + launch("double", "y", "x", 1) + launch("double", "x", "z", 2)
    )
    assert found == ["double_merged"]


def test_what_stands_between_and_reads_what_changes_is_not_passed() -> None:
    between = launch("last", "y", "z", 1)
    found = launches_of(launch("double", "x", "y") + between + launch("double", "x", "y", 2))
    assert found == ["double", "last", "double"]


def test_the_host_keeps_launches_apart() -> None:
    items = launch("double", "x", "y") + "%s = sched.sync after()\n" + launch("double", "x", "z", 1)
    assert launches_of(items) == ["double", "double"]


def test_what_others_wait_for_stays() -> None:
    items = launch("double", "x", "y") + launch("double", "x", "z", 1, after="%t_0")
    assert launches_of(items) == ["double", "double"]


def test_a_copy_of_what_is_stored_is_stored_too() -> None:
    copy = "%c = sched.transfer %y to %z after() : memref<64xf32>\n"
    assert launches_of(launch("double", "x", "y") + copy) == ["double_merged"]


def test_a_copy_stays_where_nothing_is_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_launches, "WORTH", 0.1)
    items = launch("double", "x", "y") + "%c = sched.transfer %y to %z after() : memref<64xf32>\n"
    module = parse_module(HEAD.format(n=64) + PROGRAM.format(items=items))
    before = str(module)
    PassManager("merge-launches").run(context(), module)
    assert str(module) == before


def test_a_value_that_is_asked_for_stays_in_memory() -> None:
    text = """
    func.func @f(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
      %a = graph.tanh %x {memory_mode = #graph.memory_mode<materialized, "b">} : tensor<64x64xf32>
      %b = graph.exp %x {memory_mode = #graph.memory_mode<materialized, "a">} : tensor<64x64xf32>
      %c = graph.add %a, %b : tensor<64x64xf32>
      func.return %c : tensor<64x64xf32>
    }"""
    with tenon.compile(text) as executable:
        found = str(executable.stages["sched"])
        assert "_merged" in found and found.count("memref.store") == 3
        x = np.random.default_rng(0).standard_normal((64, 64)).astype("f4")
        np.testing.assert_allclose(executable(x), np.tanh(x) + np.exp(x), atol=1e-5)


def test_what_saves_little_is_not_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    items = launch("double", "x", "y") + launch("double", "x", "z", 1)
    monkeypatch.setattr(merge_launches, "WORTH", 0.74)
    assert launches_of(items) == ["double", "double"]
    monkeypatch.setattr(merge_launches, "WORTH", 0.75)
    assert launches_of(items) == ["double_merged"]


def test_no_more_buffers_and_ops_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    items = launch("double", "x", "y") + launch("double", "x", "z", 1)
    assert launches_of(items) == ["double_merged"]
    monkeypatch.setattr(merge_launches, "MOST_BUFFERS", 2)
    assert launches_of(items) == ["double", "double"]
    monkeypatch.undo()
    monkeypatch.setattr(merge_launches, "MOST_OPS", 5)
    assert launches_of(items) == ["double", "double"]


def test_explain_says_that_what_lay_in_memory_does_not() -> None:
    text = tenon.jit(mandelbrot).lower(*[np.zeros((64, 100), "f4")] * 4).explain()
    assert "all that read it are in the same kernel" in str(text)


def test_launches_that_share_no_memory_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the time of the pass would be quadratic in what a program computes."""
    calls: list[object] = []
    overlap = merge_launches.may_overlap

    def counted(first: Any, second: Any) -> bool:
        calls.append(first)
        return overlap(first, second)

    def steps(*states: Any) -> Any:
        return [adam(*each) for each in zip(*states, strict=True)]

    def comparisons(count: int) -> int:
        states = [[np.full((4, 5), 1.0 + n, np.float32) for n in range(count)] for _ in range(4)]
        module = parse_module(str(tenon.jit(steps).lower(*states).module))
        PassManager("infer-memory-modes,convert-graph-to-sched").run(context(), module)
        calls.clear()
        PassManager("merge-launches").run(context(), module)
        return len(calls)

    monkeypatch.setattr(merge_launches, "may_overlap", counted)
    few, many = comparisons(10), comparisons(20)
    assert few > 0 and many <= 2 * few


def sums(rows: int, columns: int, *functions: Callable[[Any], Any], axis: int | None = 1) -> str:
    """Returns the kernels of sums of what functions give of one array."""

    def work(x: Any) -> Any:
        return tuple(tnp.sum(each(x), axis=axis) for each in functions)

    return tenon.jit(work).lower(np.zeros((rows, columns), "f4")).text("sched")


def itself(x: Any) -> Any:
    return x


def squared(x: Any) -> Any:
    return x * x


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions_of_the_same_elements_are_one_kernel(axis: int) -> None:
    text = sums(100, 400, itself, squared, tnp.exp, axis=axis)
    assert kernel_count(text) == 1 and text.count("sched.reduce") == 3
    # All of them before what is stored, so that they stand beside one another.
    assert text.index("memref.store") > text.rindex("sched.reduce")


def masked_sums(axis: int | None) -> Any:
    def work(x: Any, y: Any) -> Any:
        inside = (x >= 0.25) & (x < 0.75)
        return tnp.sum(tnp.where(inside, y, 0.0), axis=axis), tnp.sum(inside, axis=axis)

    return tenon.jit(work)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_what_is_counted_need_not_be_as_wide_as_what_is_summed(axis: int | None) -> None:
    x, y = np.random.default_rng(2).random((2, 300, 1000)).astype("f4")
    text = masked_sums(axis).lower(x, y).text("sched")
    # One after the other, along rows; columns would be neighbours of both.
    assert ("_merged" in text) is (axis != 0)
    # The mask is not in memory then.
    assert ("xi8>" in text) is (axis == 0)
    inside = (x >= 0.25) & (x < 0.75)
    total, count = masked_sums(axis)(x, y)
    expected = np.where(inside, y, 0.0).sum(axis)
    np.testing.assert_allclose(np.asarray(total), expected, rtol=1e-5)
    assert np.array_equal(np.asarray(count), inside.sum(axis))


def test_partial_results_are_combined_after_all_are_made() -> None:
    text = sums(1000, 1000, itself, squared, axis=None)
    launches = [line for line in text.splitlines() if "sched.launch" in line]
    assert len(launches) == 3 and "_merged" in launches[0]


def test_reductions_that_need_one_another_stay_in_order() -> None:
    def work(x: Any) -> Any:
        total = tnp.sum(x)
        return total, tnp.sum(x * total)

    x = np.random.default_rng(0).standard_normal((500, 400)).astype("f4")
    assert "_merged" not in tenon.jit(work).lower(x).text("sched")
    total, of_products = tenon.jit(work)(x)
    products = x.astype("f8") * float(total)
    # They cancel: rounding is of the size of what is added up.
    np.testing.assert_allclose(
        np.asarray(of_products), products.sum(), atol=2.0**-24 * np.abs(products).sum()
    )


def test_reductions_of_more_than_the_caches_hold_stay_apart() -> None:
    text = sums(4, 1000, itself, squared)
    assert "_merged" in text
    module = parse_module(
        str(
            tenon.jit(lambda x: (tnp.sum(x, axis=1), tnp.sum(x * x, axis=1)))
            .lower(np.zeros((4, 1000), "f4"))
            .module
        )
    )
    PassManager("infer-memory-modes,convert-graph-to-sched").run(context(), module)
    for l2_nbytes, expected in ((8_000, 1), (7_999, 2)):
        copy = module.clone()
        PassManager(f"merge-launches{{l2-nbytes={l2_nbytes}}}").run(context(), copy)
        assert kernel_count(str(copy)) == expected


def test_products_of_matrices_stay_apart() -> None:
    x, v, w = np.zeros((64, 48), "f4"), np.zeros((48, 32), "f4"), np.zeros((48, 32), "f4")
    text = tenon.jit(lambda x, v, w: (x @ v, x @ w)).lower(x, v, w).text("sched")
    assert "_merged" not in text
    # Sums of products of vectors read each element once.
    a = np.zeros((64, 48), "f4")
    text = tenon.jit(lambda x, y, z: (tnp.vecdot(x, y), tnp.vecdot(x, z))).lower(a, a, a).text("sched")
    assert "_merged" in text


def test_a_cache_has_a_size() -> None:
    with pytest.raises(PassFailedException, match=r"^merge-launches: l2-nbytes 0 must be 1 or more$"):
        merge_launches.MergeLaunchesPass(l2_nbytes=0).apply(context(), ModuleOp([]))

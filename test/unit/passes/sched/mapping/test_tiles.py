"""Tiles in shared memory: the bits of the plain loops, at every level and on PoCL."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.test.gpus import opencl_as_gpu
from xdsl.dialects.builtin import ModuleOp

pytest.importorskip("pyopencl")

Array = npt.NDArray[Any]

TO_SCHED = "graph-pipeline{{target=gpu}},sched-pipeline{{target=gpu vector-nbytes=16 max-items={items}}}"

PLAIN = "graph-pipeline{target=gpu},convert-graph-to-sched,build-dependencies,plan-memory"
"""No axis is mapped: sums combine one after the other."""


def scheduled(text: str, items: int = 256) -> ModuleOp:
    module = parse_module(text, "f.mlir")
    PassManager(TO_SCHED.format(items=items)).run(context(), module)
    return module


def n_shared(module: ModuleOp) -> int:
    return sum(isinstance(op, sched.AllocOp) for op in module.walk())


def check(text: str, *arrays: Array, tiles: int) -> Array:
    """Checks that there are so many tiles, and that they change no bit."""
    assert n_shared(scheduled(text)) == tiles
    wanted = np.asarray(tenon.compile(text, backend="reference", pipeline=PLAIN)(*arrays))
    for items in (16, 256):
        to_sched = TO_SCHED.format(items=items)
        for pipeline in (to_sched, f"{to_sched},low-pipeline"):
            found = np.asarray(tenon.compile(text, backend="reference", pipeline=pipeline)(*arrays))
            assert found.tobytes() == wanted.tobytes()
    assert np.asarray(tenon.compile(text, backend=opencl_as_gpu())(*arrays)).tobytes() == wanted.tobytes()
    return wanted


def numbers(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def product(
    a: str,
    b: str,
    c: str,
    maps: tuple[str, str, str],
    dims: str = "(m, n, k)",
    tail: str = "",
    type: str = "f32",
) -> str:
    affine = ", ".join(f"affine_map<{dims} -> {map}>" for map in maps)
    result = "%r" if tail else "%c"
    of_a, of_b, of_c = (f"tensor<{shape}x{type}>" for shape in (a, b, c))
    return f"""
    func.func @f(%a: {of_a}, %b: {of_b}) -> {of_c} {{
      %c = graph.contract %a, %b maps [{affine}] : {of_a}, {of_b} -> {of_c}
      {tail}
      func.return {result} : {of_c}
    }}"""


PLAIN_MAPS = ("(m, k)", "(k, n)", "(m, n)")


@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 16), (65, 130, 33), (16, 100, 50), (100, 17, 16)])
def test_sums_of_products_of_any_size(m: int, n: int, k: int):
    a, b = numbers(m, k), numbers(k, n)
    c = check(product(f"{m}x{k}", f"{k}x{n}", f"{m}x{n}", PLAIN_MAPS), a, b, tiles=3)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


def test_what_follows_the_sums_is_done_in_the_tile():
    tail = """
      %bias = graph.slice %a offsets [0, 0] sizes [40, 1] strides [1, 1] : tensor<40x20xf32>
      %wide = graph.broadcast %bias : tensor<40x1xf32> -> tensor<40x30xf32>
      %sum = graph.add %c, %wide : tensor<40x30xf32>
      %r = graph.relu %sum : tensor<40x30xf32>"""
    a, b = numbers(40, 20), numbers(20, 30)
    r = check(product("40x20", "20x30", "40x30", PLAIN_MAPS, tail=tail), a, b, tiles=3)
    np.testing.assert_allclose(r, np.maximum(a @ b + a[:, :1], 0), rtol=1e-4, atol=1e-4)


def test_transposed_factors_are_copied_along_their_neighbours():
    a, b = numbers(20, 40), numbers(30, 20)
    c = check(product("20x40", "30x20", "40x30", ("(k, m)", "(n, k)", "(m, n)")), a, b, tiles=3)
    np.testing.assert_allclose(c, a.T @ b.T, rtol=1e-4, atol=1e-4)


def test_batches_are_work_groups_of_their_own():
    maps = ("(p, m, k)", "(p, k, n)", "(p, m, n)")
    a, b = numbers(3, 20, 18), numbers(3, 18, 70)
    c = check(product("3x20x18", "3x18x70", "3x20x70", maps, "(p, m, n, k)"), a, b, tiles=3)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("type", "dtype"), [("f64", np.float64), ("bf16", ml_dtypes.bfloat16)])
def test_factors_of_other_types(type: str, dtype: Any):
    a, b = numbers(20, 40).astype(dtype), numbers(40, 30).astype(dtype)
    c = check(product("20x40", "40x30", "20x30", PLAIN_MAPS, type=type), a, b, tiles=3)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize(("m", "n", "k"), [(15, 64, 64), (64, 15, 64), (64, 64, 15)])
def test_short_axes_are_not_worth_a_tile(m: int, n: int, k: int):
    check(product(f"{m}x{k}", f"{k}x{n}", f"{m}x{n}", PLAIN_MAPS), numbers(m, k), numbers(k, n), tiles=0)


def test_tiles_that_do_not_fit_are_left_out():
    text = product("64x64", "64x64", "64x64", PLAIN_MAPS)
    module = parse_module(text, "f.mlir")
    to_sched = "graph-pipeline{target=gpu},sched-pipeline{target=gpu shared-nbytes=16384}"
    PassManager(to_sched).run(context(), module)
    assert n_shared(module) == 0
    assert n_shared(scheduled(text, items=8)) == 0


@pytest.mark.parametrize("size", [1, 16, 37, 128])
def test_sizes_of_tiles_may_be_known_at_run_time_only(size: int):
    text = """
    graph.dim @m min 1 max 128
    func.func @f(%a: tensor<?x40xf32, #graph.dims<m, 40>>, %b: tensor<40x30xf32>)
        -> tensor<?x30xf32, #graph.dims<m, 30>> {
      %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
        affine_map<(m, n, k) -> (m, n)>]
        : tensor<?x40xf32, #graph.dims<m, 40>>, tensor<40x30xf32> -> tensor<?x30xf32, #graph.dims<m, 30>>
      func.return %c : tensor<?x30xf32, #graph.dims<m, 30>>
    }"""
    a, b = numbers(size, 40), numbers(40, 30)
    c = check(text, a, b, tiles=3)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("m", "n"), [(32, 32), (64, 100), (33, 31), (17, 200)])
def test_what_is_read_down_the_columns_goes_through_a_tile(m: int, n: int):
    text = f"""
    func.func @f(%x: tensor<{m}x{n}xf32>, %y: tensor<{n}x{m}xf32>) -> tensor<{n}x{m}xf32> {{
      %t = graph.permute %x [1, 0] : tensor<{m}x{n}xf32>
      %s = graph.add %t, %y : tensor<{n}x{m}xf32>
      func.return %s : tensor<{n}x{m}xf32>
    }}"""
    x, y = numbers(m, n), numbers(n, m)
    assert np.array_equal(check(text, x, y, tiles=1), x.T + y)


def test_what_is_written_in_place_is_not_staged():
    text = """
    func.func @f(%x: tensor<32x32xf32> {tenon.donated}) -> tensor<32x32xf32> {
      %y = graph.add %x, %x : tensor<32x32xf32>
      func.return %y : tensor<32x32xf32>
    }"""
    assert n_shared(scheduled(text)) == 0

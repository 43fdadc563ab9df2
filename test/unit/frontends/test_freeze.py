"""`tenon.freeze`: what programs make of frozen arrays is made once, shared, and given back."""

from __future__ import annotations

import functools
import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.nn as nn
import tenon.numpy as tnp
from tenon.backends.cache.place import FOLDER, SWITCH
from tenon.backends.registry import get_backend
from tenon.compiler.lowering import ModuleLowering
from tenon.compiler.source import CompileRequest, ProgramSource, Unseparated
from tenon.dialects.buffer_size import ALIGNMENT
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TracingError
from tenon.passes.graph.canonicalize_graph import CanonicalizeGraphPass
from tenon.passes.graph.separate_preparation import SeparatePreparationPass

Array = npt.NDArray[Any]

BACKENDS = ("llvm", "opencl", "reference")


def normal(*shape: int) -> Array:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def layer(x: Any, weights: Any) -> Any:
    """A product with weights that a batch norm scales."""
    scale = weights["gamma"] / tnp.sqrt(weights["variance"] + 1e-5)
    return nn.relu(x @ (weights["w"] * scale) + (weights["beta"] - weights["mean"] * scale))


def weights_of(rows: int, columns: int) -> dict[str, Array]:
    names = ("gamma", "beta", "mean")
    return {"w": normal(rows, columns), "variance": np.abs(normal(columns)) + 1} | {
        name: normal(columns) + number for number, name in enumerate(names)
    }


def prepared_of(function: Any, *arguments: Any) -> tuple[Array, ...]:
    return function.lower(*arguments).program.prepared


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_results_are_those_of_arrays_that_change(backend: str, rows: int) -> None:
    weights, x = weights_of(96, 160), normal(rows, 96)
    expected = tenon.jit(lambda x: layer(x, weights), backend=backend)(x)
    frozen = tenon.freeze(weights)
    found = tenon.jit(lambda x: layer(x, frozen), backend=backend)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", [None, "x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize(
    ("rows", "depth", "columns"), [(1, 64, 96), (1, 300, 301), (2, 96, 201), (3, 50, 67)]
)
def test_thirds_of_a_product_are_those_of_arrays_that_change(
    backend: str, target: str | None, rows: int, depth: int, columns: int
) -> None:
    """A stage of the kernel that reads three parts of it, or a kernel of its own."""
    if target is not None and backend != "llvm":
        pytest.skip("a processor is named for llvm")
    x, w, b = normal(rows, depth), normal(3 * columns, depth), normal(3 * columns)

    def thirds(x: Any, w: Any, b: Any) -> Any:
        y = x @ w.T + b
        first, second, third = y[:, :columns], y[:, columns : 2 * columns], y[:, 2 * columns :]
        return first * tnp.tanh(second) + third

    frozen = tenon.freeze((w, b))
    found = tenon.jit(lambda x: thirds(x, *frozen), backend=backend, target=target)(x)
    y = x.astype(np.float64) @ w.T + b
    first, second, third = np.split(y, 3, axis=1)
    np.testing.assert_allclose(found, first * np.tanh(second) + third, rtol=1e-4, atol=1e-4)


def test_what_is_made_of_frozen_arrays_is_in_no_call() -> None:
    weights, x = tenon.freeze(weights_of(128, 256)), normal(64, 128)
    lowered = tenon.jit(lambda x: layer(x, weights)).lower(x)
    text = lowered.text("graph")
    assert "graph.sqrt" not in text
    assert "graph.div" not in text
    shapes = {array.shape for array in lowered.program.prepared}
    assert (256,) in shapes  # The bias, and the weights in panels.
    assert any(len(shape) == 3 and np.prod(shape) == 128 * 256 for shape in shapes)


@pytest.mark.parametrize("count", [1, 3])
def test_what_is_made_begins_at_a_line_of_the_cache(count: int) -> None:
    several = [tenon.freeze(normal(16 + number, 16, 3, 3)) for number in range(count)]
    images = tenon.jit(lambda x: [nn.conv(x, weights) for weights in several])
    made = prepared_of(images, normal(2, 16, 9, 9))
    assert len(made) == count
    assert all(array.ctypes.data % ALIGNMENT == 0 for array in made)


def test_arguments_that_are_bound_are_prepared_and_those_of_a_call_are_not() -> None:
    weights, x = tenon.freeze(weights_of(128, 256)), normal(64, 128)
    bound = tenon.jit(functools.partial(lambda weights, x: layer(x, weights), weights))
    assert {array.shape for array in prepared_of(bound, x)} >= {(256,)}
    given = tenon.jit(layer)
    assert prepared_of(given, x, weights) == ()
    np.testing.assert_allclose(bound(x), given(x, weights), rtol=1e-5, atol=1e-5)


def test_a_frozen_array_is_not_used_up() -> None:
    weights = tenon.freeze(tnp.ones((64, 64)))
    captures = tenon.jit(lambda x: x + weights)
    captures(1.0)
    hundredfold = tenon.jit(lambda x: x * 100, donate_argnums=0)(weights)
    assert (np.asarray(hundredfold) == 100).all()
    assert (np.asarray(weights) == 1).all()
    assert (np.asarray(captures(np.ones(64))) == 2).all()


def test_a_bias_is_not_repeated_for_each_row() -> None:
    bias, x = tenon.freeze(normal(160)), normal(64, 160)
    assert prepared_of(tenon.jit(lambda x: x + bias), x) == ()


def test_few_rows_of_a_named_number_have_panels_too() -> None:
    w = tenon.freeze(normal(512, 512))
    rows = tenon.Dim("rows", 1, 64)
    function = tenon.jit(lambda x: x @ w, dynamic={"x": {0: rows}}, specialize={"rows": [3]})
    assert "in panels" in function.lower(normal(2, 512)).text("graph")
    for count in (1, 3, 5, 64):
        x = normal(count, 512)
        np.testing.assert_allclose(function(x), x @ np.asarray(w), rtol=1e-3, atol=1e-3)
    assert len(function.explain_misses()) == 1


def test_a_named_number_of_rows_may_be_none() -> None:
    w = tenon.freeze(normal(512, 512))
    function = tenon.jit(lambda x: x @ w, dynamic={"x": {0: tenon.Dim("rows", 0, 64)}})
    assert np.asarray(function(normal(0, 512))).shape == (0, 512)
    np.testing.assert_allclose(function(normal(2, 512)), normal(2, 512) @ np.asarray(w), rtol=1e-3, atol=1e-3)


def test_signatures_and_functions_share_what_they_make_alike() -> None:
    w = tenon.freeze(normal(512, 256))
    first, second = tenon.jit(lambda x: x @ w), tenon.jit(lambda x: x @ w + 1)
    kept = [prepared_of(first, normal(64, 512)), prepared_of(second, normal(64, 512))]
    assert kept[0][0] is kept[1][0]
    assert not kept[0][0].flags.writeable


def memory_of(array: Array) -> Array:
    """Returns the memory that an array is a part of."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def test_what_is_made_lies_side_by_side_and_without_what_others_made() -> None:
    weights = [tenon.freeze(normal(512, 256 + 32 * number)) for number in range(3)]
    x = normal(64, 512)

    def products(number: int) -> Any:
        return tenon.jit(lambda x: [x @ each for each in weights[:number]])

    first, second, third = products(2), products(3), products(3)
    made = prepared_of(first, x)
    assert len({id(memory_of(each)) for each in made}) == 1
    more = prepared_of(second, x)
    own = [each for each in more if not any(each is other for other in made)]
    assert len(made) == 2 and len(more) == 3 and len(own) == 1
    assert memory_of(own[0]).nbytes < own[0].nbytes + 2 * ALIGNMENT
    assert all(any(each is other for other in more) for each in prepared_of(third, x))
    for found, weight in zip(second(x), weights, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(tenon.jit(lambda x, w: x @ w)(x, weight)))


def test_what_is_made_twice_in_a_program_is_kept_once() -> None:
    one, other = normal(512, 288), normal(512, 320)
    weights, x = [tenon.freeze(each.copy()) for each in (one, one, other)], normal(64, 512)
    function = tenon.jit(lambda x: [x @ each for each in weights])
    made = prepared_of(function, x)
    kept = {id(each): each for each in made}.values()
    assert len(made) == 3 and len(kept) == 2
    assert len({id(memory_of(each)) for each in made}) == 1
    assert memory_of(made[0]).nbytes < sum([each.nbytes for each in kept]) + 2 * ALIGNMENT
    for found, weight in zip(function(x), weights, strict=True):
        np.testing.assert_array_equal(np.asarray(found), np.asarray(tenon.jit(lambda x, w: x @ w)(x, weight)))


def test_what_is_made_is_given_back_with_the_function() -> None:
    w = tenon.freeze(normal(256, 512))
    function = tenon.jit(lambda x: x @ w)
    function(normal(64, 256))
    (kept,) = map(weakref.ref, prepared_of(function, normal(64, 256)))
    assert kept() is not None
    function.clear_cache()
    del function
    gc.collect()
    assert kept() is None


def test_a_frozen_array_cannot_be_written_to() -> None:
    array = normal(4, 4)
    frozen = tenon.freeze(array)
    assert np.shares_memory(np.asarray(frozen), array)
    with pytest.raises(ValueError, match="read-only"):
        array[0, 0] = 1
    assert tenon.freeze(frozen) is frozen


def test_what_owns_no_memory_is_copied() -> None:
    array = normal(4, 6)
    frozen = tenon.freeze(array[:, ::2])
    expected = array[:, ::2].copy()
    array[:] = 0
    np.testing.assert_array_equal(frozen, expected)


def test_another_array_in_the_same_place_is_another_program() -> None:
    weights = {"w": tenon.freeze(normal(256, 256))}
    function = tenon.jit(lambda x: x @ weights["w"])
    x = normal(64, 256)
    np.testing.assert_allclose(function(x), x @ np.asarray(weights["w"]), rtol=1e-3, atol=1e-3)
    weights["w"] = tenon.freeze(-normal(256, 256))
    np.testing.assert_allclose(function(x), x @ np.asarray(weights["w"]), rtol=1e-3, atol=1e-3)
    assert "has changed since it was traced" in str(function.explain_misses())


def test_frozen_arrays_beside_those_that_change() -> None:
    w, bias = tenon.freeze(normal(256, 256)), normal(256)
    function = tenon.jit(lambda x: bias + x @ w)
    x = normal(64, 256)
    np.testing.assert_allclose(function(x), bias + x @ np.asarray(w), rtol=1e-3, atol=1e-3)
    bias[:] = 3
    np.testing.assert_allclose(function(x), 3 + x @ np.asarray(w), rtol=1e-3, atol=1e-3)


def test_weights_in_a_loop_are_prepared_before_it() -> None:
    w = tenon.freeze(normal(256, 256) / 16)
    function = tenon.jit(lambda x: tenon.fori_loop(0, 3, lambda _, y: nn.relu(y @ (w * 2)), x))
    x = normal(64, 256)
    expected = x
    for _ in range(3):
        expected = np.maximum(expected @ (np.asarray(w) * 2), 0)
    np.testing.assert_allclose(function(x), expected, rtol=1e-3, atol=1e-3)
    assert len(prepared_of(function, x)) == 1


def test_the_disk_cache_has_both_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    monkeypatch.setenv(SWITCH, "1")
    w, x = tenon.freeze(normal(256, 384)), normal(64, 256)
    expected = np.asarray(tenon.jit(lambda x: x @ w)(x))
    before = tenon.cache_info()
    np.testing.assert_array_equal(tenon.jit(lambda x: x @ w)(x), expected)
    after = tenon.cache_info()
    assert (after.hits - before.hits, after.misses) == (2, before.misses)


def test_a_frozen_array_stays_frozen_where_it_is_pickled() -> None:
    frozen = pickle.loads(pickle.dumps(tenon.freeze({"w": normal(256, 256)})))
    assert prepared_of(tenon.jit(lambda x: x @ frozen["w"]), normal(64, 256))


def test_an_array_as_an_argument_is_like_any_other() -> None:
    w, x = tenon.freeze(normal(256, 256)), normal(64, 256)
    function = tenon.jit(lambda x, w: x @ w)
    assert prepared_of(function, x, w) == ()
    np.testing.assert_allclose(function(x, w), x @ np.asarray(w), rtol=1e-3, atol=1e-3)


def test_explain_says_what_is_prepared_once() -> None:
    w, x = tenon.freeze(normal(256, 512)), normal(64, 256)
    text = str(tenon.jit(lambda x: x @ w).explain(x))
    assert "prepared once: %captured0_panels" in text


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(TypeError, match="freeze: 'weights', of type str, expected an array"):
        tenon.freeze({"w": "weights"})


def test_a_traced_array_is_refused() -> None:
    with pytest.raises(
        TracingError, match=r"freeze: an array of shape .* has no values while that is traced"
    ):
        tenon.jit(lambda x: tenon.freeze(x))(normal(2, 2))


def _runs_of(monkeypatch: pytest.MonkeyPatch, pass_: type[Any]) -> list[None]:
    """Returns a list that gets an element each time a pass runs."""
    runs: list[None] = []
    apply = pass_.apply

    def counted(self: Any, ctx: Any, op: Any) -> None:
        runs.append(None)
        apply(self, ctx, op)

    monkeypatch.setattr(pass_, "apply", counted)
    monkeypatch.setenv(SWITCH, "0")
    return runs


def test_what_both_programs_have_in_common_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    common = _runs_of(monkeypatch, CanonicalizeGraphPass)
    own = _runs_of(monkeypatch, SeparatePreparationPass)
    frozen, x = tenon.freeze(weights_of(96, 160)), normal(7, 96)
    found = tenon.jit(lambda x: layer(x, frozen))(x)
    assert (len(common), len(own)) == (1, 2)
    expected = tenon.jit(layer, backend="reference")(x, weights_of(96, 160))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_programs_with_named_dims_have_passes_in_common_too(monkeypatch: pytest.MonkeyPatch) -> None:
    common = _runs_of(monkeypatch, CanonicalizeGraphPass)
    weights = weights_of(96, 160)
    frozen = tenon.freeze(weights)
    named = tenon.jit(lambda x: layer(x, frozen), dynamic={"x": {0: tenon.Dim("n", 0, 64)}})
    named(normal(7, 96))
    assert len(common) == 1
    for rows in (1, 64):
        expected = tenon.jit(layer)(normal(rows, 96), weights)
        np.testing.assert_allclose(named(normal(rows, 96)), expected, rtol=1e-5, atol=1e-5)
    # No rows are a program of their own, which is made when they are there.
    before = len(common)
    assert named(np.zeros((0, 96), np.float32)).shape == (0, 160)
    assert len(common) == before + 1


def test_extents_that_may_vanish_are_those_of_the_function_as_it_was_written() -> None:
    text = """
    graph.dim @n min 0 max 9
    func.func @f(%x: tensor<4xf32>, %w: tensor<?x4xf32, #graph.dims<n, 4>> {tenon.frozen})
        -> tensor<?x4xf32, #graph.dims<n, 4>> {
      %e = graph.exp %w : tensor<?x4xf32, #graph.dims<n, 4>>
      %b = graph.broadcast %x : tensor<4xf32> -> tensor<?x4xf32, #graph.dims<n, 4>>
      %y = graph.mul %e, %b : tensor<?x4xf32, #graph.dims<n, 4>>
      func.return %y : tensor<?x4xf32, #graph.dims<n, 4>>
    }"""
    source, unseparated = ProgramSource(parse_module(text)), Unseparated()
    rest, preparation = (
        CompileRequest(source, get_backend("llvm"), part=part, unseparated=unseparated)
        for part in ("rest", "preparation")
    )
    first = ModuleLowering(rest)
    first.run()
    second = ModuleLowering(preparation)
    assert [str(extent) for extent in first.vanishing] == ["n"]
    assert second.vanishing == first.vanishing


def test_nothing_stays_of_what_was_in_common() -> None:
    x, frozen = normal(7, 96), tenon.freeze(weights_of(96, 160))
    nothing_to_prepare = tenon.freeze(normal(96))
    functions = [tenon.jit(lambda x: layer(x, frozen)), tenon.jit(lambda x: x + nothing_to_prepare)]
    for function in functions:
        function(x)
    kept = [each for each in gc.get_objects() if isinstance(each, Unseparated)]
    assert all(each.module is None for each in kept)

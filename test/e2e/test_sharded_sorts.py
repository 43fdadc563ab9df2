"""Sorts along a dim that ranks share: the bits of one rank, of equal elements and NaN too."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.compiler.all_ranks import interpreted_ranks
from tenon.dialects import graph
from tenon.dialects.modules.parsing import parse_module
from tenon.semantics.traffic import sent_nbytes

from .sharded_programs import Array, compare, grid, partitioned, propagated, split, whole_results

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i8": np.int8,
    "ui32": np.uint32,
    "i1": bool,
}


def elements(type: str, shape: Sequence[int], seed: int = 0) -> Array:
    """Returns few different elements, the least and the greatest among them, and of floats several NaN."""
    rng, dtype = np.random.default_rng(seed), np.dtype(DTYPES[type])
    small = rng.integers(0, 4, shape)
    if dtype.kind == "b":
        return small > 1
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.array([limits.min, 0, 1, limits.max], dtype)[small]
    found = np.where(rng.random(shape) < 0.3, rng.choice([-1.0, -0.0, 0.0, np.inf], shape), small - 1.0)
    found = found.astype(dtype)
    is_nan = rng.random(shape) < 0.2
    found[is_nan] = np.nan
    bits = found.view(np.dtype(f"u{dtype.itemsize}"))
    bits[is_nan] += rng.integers(0, 9, int(is_nan.sum())).astype(bits.dtype)
    return found


def sorting(
    op: str,
    type: str,
    shape: Sequence[int],
    mesh: Sequence[int],
    sharding: Sequence[Sequence[int]],
    words: str,
) -> str:
    """Returns a sort of which the ranks have their parts before and after."""
    extents = "x".join(map(str, shape))
    before, after = f"tensor<{extents}x{type}>", f"tensor<{extents}x{'i64' if op == 'argsort' else type}>"
    axes = [list(each) for each in sharding]
    return f"""{grid(*mesh)}
    func.func @f(%x: {before} {split(*sharding)}) -> ({after} {split(*sharding)}) {{
      %s = shard.sharding @mesh split_axes = {axes} : !shard.sharding
      %y = graph.{op} %x {words} : {before}
      %z = shard.shard %y to %s : {after}
      func.return %z : {after}
    }}"""


def kinds(module: Any) -> dict[str, int]:
    found = [op.name.removeprefix("graph.") for op in module.walk() if isinstance(op, graph.CollectiveOp)]
    return dict(Counter(found))


@pytest.mark.parametrize("op", ["sort", "argsort"])
@pytest.mark.parametrize("type", DTYPES)
@pytest.mark.parametrize(
    ("ranks", "extent"), [(1, 5), (2, 2), (2, 13), (3, 3), (3, 13), (4, 5), (4, 12), (5, 21), (6, 8)]
)
def test_ranks_exchange_their_parts(op: str, type: str, ranks: int, extent: int):
    for words in ("axis 0", "axis 0 descending"):
        text = sorting(op, type, (extent,), (ranks,), [[0]], words)
        module, x = parse_module(text), elements(type, (extent,), extent)
        modules = [partitioned(module, rank) for rank in range(ranks)]
        assert set(kinds(modules[0])) <= {"collective_permute"}
        (found,) = interpreted_ranks(modules, "f", {})(modules, [x])
        assert found.tobytes() == whole_results(text, [x])[0].tobytes()


@pytest.mark.parametrize("op", ["sort", "argsort"])
@pytest.mark.parametrize(
    ("mesh", "sharding", "axis"),
    [((2, 2), ([0], [1]), 0), ((2, 2), ([0], [1]), 1), ((2, 3), ([], [0, 1]), 1), ((3,), ([0], []), 0)],
)
def test_other_dims_are_as_they_were(op: str, mesh: tuple[int, ...], sharding: Any, axis: int):
    text = sorting(op, "f32", (7, 9), mesh, sharding, f"axis {axis}")
    module, x = parse_module(text), elements("f32", (7, 9))
    modules = [partitioned(module, rank) for rank in range(int(np.prod(mesh)))]
    assert set(kinds(modules[0])) == {"collective_permute"}
    (found,) = interpreted_ranks(modules, "f", {})(modules, [x])
    assert found.tobytes() == whole_results(text, [x])[0].tobytes()


@pytest.mark.parametrize(
    ("op", "type", "shape", "ranks", "expected"),
    [
        # One half of what two ranks have, either way: the one that computes less.
        ("sort", "f32", (12,), 2, {"collective_permute": 1}),
        # The positions would be sent too.
        ("argsort", "f32", (12,), 2, {"all_gather": 1}),
        # Another dim can be split instead.
        ("sort", "f32", (12, 12), 4, {"all_to_all": 2}),
        ("argsort", "f32", (12, 12), 4, {"all_to_all": 2}),
        # Six rounds of merges, where a gather would bring seven parts.
        ("sort", "i8", (16,), 8, {"collective_permute": 6}),
        # Ten, of elements with their places.
        ("argsort", "f64", (32,), 16, {"collective_permute": 20}),
    ],
)
def test_what_sends_the_fewest_bytes_is_chosen(
    op: str, type: str, shape: tuple[int, ...], ranks: int, expected: dict[str, int]
):
    sharding = [[0], *[[]] * (len(shape) - 1)]
    text = sorting(op, type, shape, (ranks,), sharding, "axis 0")
    assert kinds(compare(text, [elements(type, shape)])[0]) == expected


def test_a_part_is_sent_in_each_round():
    text = sorting("sort", "f32", (12,), (2,), [[0]], "axis 0")
    assert sent_nbytes(partitioned(propagated(text), 0)) == 6 * 4


def test_functions_of_sharded_arrays_sort_them():
    x = elements("f32", (50,))
    unlike = np.random.default_rng(1).permutation(50).astype(np.float32)

    def run() -> list[Array]:
        mesh = tenon.Mesh((4,), ("x",))
        rows = tenon.sharding(mesh, "x")
        first, second = tenon.shard(x, rows), tenon.shard(unlike, rows)
        found = [tenon.jit(tnp.sort)(first), tenon.jit(lambda x: tnp.argsort(x, stable=True))(first)]
        found += tenon.jit(lambda x: tnp.top_k(x, 7))(second)
        return [tenon.gather(each).numpy() for each in found]

    best = np.argsort(-unlike)[:7]
    wanted = [np.asarray(tnp.sort(x)), np.asarray(tnp.argsort(x, stable=True)), unlike[best], best]
    for found in tenon.run_ranks(4, run):
        assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]

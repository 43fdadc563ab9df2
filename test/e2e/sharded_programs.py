"""Programs over a mesh, run as the programs of all ranks, which are threads here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tenon.backends.reference.execute import run_module
from tenon.dialects import context, graph
from tenon.dialects.modules.entry import entries_of
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.dialects.sharding import Mesh, Sharding, argument_shardings, result_shardings
from tenon.dialects.sharding.annotations import ARGUMENT_SHARDING
from tenon.passes.pass_manager import PassManager
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp

Array = np.ndarray[Any, np.dtype[Any]]

NAMES = ("x", "y", "z")

MESHES = ((2,), (2, 2), (3,), (4,), (2, 3), (6,), (1,))

BEFORE = "inline-calls,simplify-nodes,decompose-composites"


def grid(*shape: int) -> str:
    """Returns the text of a mesh whose axes are x, y and z."""
    return str(Mesh("mesh", shape, NAMES[: len(shape)]).op())


def split(*dims: Sequence[int]) -> str:
    """Returns the attribute of an argument or a result that is split so."""
    return f"{{{ARGUMENT_SHARDING} = {Sharding(tuple(map(tuple, dims))).attribute}}}"


def entry_of(module: ModuleOp) -> func.FuncOp:
    (entry,) = entries_of(module)
    assert isinstance(entry, func.FuncOp)
    return entry


def mesh_of(module: ModuleOp) -> Mesh:
    mesh = Mesh.of(module)
    assert mesh is not None
    return mesh


def propagated(text: str, allow_gather: bool = False) -> ModuleOp:
    """Returns a program with all of its values annotated."""
    module = parse_module(text)
    verify_module(module)
    option = "{allow_gather=true}" if allow_gather else ""
    PassManager(f"{BEFORE},propagate-sharding{option}").run(context(), module)
    assert str(parse_module(str(module))) == str(module)
    return module


def partitioned(module: ModuleOp, rank: int) -> ModuleOp:
    """Returns the program of a rank, which has been printed and read once."""
    own = module.clone()
    PassManager(f"partition-graph{{rank={rank}}}").run(context(), own)
    text = str(own)
    read = parse_module(text)
    verify_module(read)
    assert str(read) == text
    return read


def collectives(module: ModuleOp) -> list[str]:
    """Returns the collectives of a program of a rank, without what may differ: the shapes."""
    return [
        f"{op.name} {sorted((name, str(value)) for name, value in op.properties.items())}"
        for op in module.walk()
        if isinstance(op, graph.CollectiveOp)
    ]


def box_of(sharding: Sharding | None, mesh: Mesh, shape: Sequence[int], rank: int) -> tuple[slice, ...]:
    assert sharding is not None
    return tuple(slice(begin, end) for begin, end in sharding.local_box(mesh, shape, rank))


def run_sharded(
    text: str, inputs: Sequence[Array], shapes: Sequence[Sequence[int]], allow_gather: bool = False
) -> tuple[list[Array], list[ModuleOp]]:
    """
    Returns the results of a program over a mesh, which have these shapes, put together from those of all
    ranks, and the programs of the ranks. Ranks that have the same part of a result have the same bits.
    """
    whole = propagated(text, allow_gather)
    mesh = mesh_of(whole)
    modules = [partitioned(whole, rank) for rank in range(mesh.size)]
    assert all(collectives(module) == collectives(modules[0]) for module in modules)
    arguments, results = argument_shardings(entry_of(whole)), result_shardings(entry_of(whole))

    def run(rank: int) -> Callable[[LocalWorld], list[Array]]:
        own = [
            np.array(array[box_of(sharding, mesh, array.shape, rank)], order="C")
            for array, sharding in zip(inputs, arguments, strict=True)
        ]
        return lambda world: run_module(modules[rank], None, own, world=world)

    parts = run_ranks([run(rank) for rank in range(mesh.size)])
    found: list[Array] = []
    for number, (shape, sharding) in enumerate(zip(shapes, results, strict=True)):
        array = np.zeros(tuple(shape), parts[0][number].dtype)
        seen = np.zeros(tuple(shape), bool)
        for rank in range(mesh.size):
            box = box_of(sharding, mesh, shape, rank)
            mine = parts[rank][number]
            assert array[box].shape == mine.shape
            before = np.array(array[box], order="C"), np.array(mine, order="C")
            assert not seen[box].any() or before[0].tobytes() == before[1].tobytes()
            array[box], seen[box] = mine, True
        assert seen.all()
        found.append(array)
    return found, modules


def whole_results(text: str, inputs: Sequence[Array]) -> list[Array]:
    """Returns the results of the program before it is partitioned."""
    return run_module(parse_module(text), None, inputs)


def compare(
    text: str, inputs: Sequence[Array], allow_gather: bool = False, rtol: float = 2e-5
) -> list[ModuleOp]:
    """Compares the results of all ranks with those on one rank, and returns the programs of the ranks."""
    expected = whole_results(text, inputs)
    found, modules = run_sharded(text, inputs, [each.shape for each in expected], allow_gather)
    for one, other in zip(found, expected, strict=True):
        if one.dtype.kind in "biu":
            np.testing.assert_array_equal(one, other)
        else:
            wide = [each.astype(np.float64) for each in (one, other)]
            np.testing.assert_allclose(*wide, rtol=rtol, atol=rtol)
    return modules


@st.composite
def shardings(draw: Callable[..., Any], mesh: Sequence[int], shape: Sequence[int]) -> Sharding:
    """Draws how a tensor of a shape is split over a mesh."""
    axes: list[list[int]] = [[] for _ in shape]
    for axis in draw(st.permutations(range(len(mesh)))):
        dim = draw(st.integers(0, len(shape))) - 1
        if dim >= 0 and shape[dim] >= np.prod([mesh[each] for each in (*axes[dim], axis)]):
            axes[dim].append(axis)
    return Sharding(tuple(map(tuple, axes)))


@st.composite
def annotated(draw: Callable[..., Any], text: str) -> str:
    """Draws a mesh for a program, and how some of its arguments and results are split."""
    mesh = draw(st.sampled_from(MESHES))
    module = parse_module(text)
    entry = entry_of(module)
    for name, types in (
        ("arg_attrs", entry.function_type.inputs),
        ("res_attrs", entry.function_type.outputs),
    ):
        said = [
            {ARGUMENT_SHARDING: draw(shardings(mesh, type.get_shape())).attribute}
            if draw(st.booleans())
            else {}
            for type in types.data
        ]
        entry.properties[name] = ArrayAttr([DictionaryAttr(each) for each in said])
    module.body.block.insert_op_before(Mesh("mesh", mesh, NAMES[: len(mesh)]).op(), entry)
    return str(module)

"""Programs over a mesh, split at random: all ranks together give what one does."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import tenon
from tenon.compiler.all_ranks import compiled_call, partitioned_for_all
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.sharding import Mesh, Sharding
from tenon.dialects.sharding.annotations import ARGUMENT_SHARDING
from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr

from .draws import Array, Draws

MESHES = ((2,), (3,), (2, 2), (4,), (2, 3))

NAMES = ("x", "y")


def annotated(draws: Draws, text: str) -> str:
    """Draws a mesh for a program, and how some of its arguments and results are split."""
    with draws.scope("ranks"):
        mesh = draws.pick("mesh", MESHES, (4, 2, 3, 2, 1))
        module = tenon.parse_module(text)
        entry = find_entry(module, "main")
        assert isinstance(entry, func.FuncOp), "a program at graph is a function"
        for name, types in (
            ("arg_attrs", entry.function_type.inputs),
            ("res_attrs", entry.function_type.outputs),
        ):
            said: list[dict[str, Any]] = []
            for number, type in enumerate(types.data):
                shape: Sequence[int] = type.get_shape()  # pyright: ignore
                with draws.scope(f"{name}{number}"):
                    is_said = draws.flag("is_said", 0.6)
                    split = drawn(draws, mesh, shape)
                said.append({ARGUMENT_SHARDING: split.attribute} if is_said else {})
            entry.properties[name] = ArrayAttr([DictionaryAttr(each) for each in said])
        module.body.block.insert_op_before(Mesh("mesh", mesh, NAMES[: len(mesh)]).op(), entry)
    return str(module)


def drawn(draws: Draws, mesh: Sequence[int], shape: Sequence[int]) -> Sharding:
    """Draws how a tensor of a shape is split: each axis of the mesh splits a dim that has enough elements."""
    axes: list[list[int]] = [[] for _ in shape]
    for axis in range(len(mesh)):
        dim = draws.integer(f"dim{axis}", 0, len(shape)) - 1
        if dim >= 0 and shape[dim] >= prod(mesh[each] for each in (*axes[dim], axis)):
            axes[dim].append(axis)
    return Sharding(tuple(map(tuple, axes)))


def run_on_ranks(text: str, given: Sequence[Array], backend: str, level: str | None) -> list[Array]:
    """Returns the results that the ranks of an annotated program give together, each a thread."""
    module = tenon.parse_module(text)
    ranks = partitioned_for_all(module, find_entry(module, "main"), allow_gather=True)
    return ranks.run(given, compiled_call(backend, level, {}))

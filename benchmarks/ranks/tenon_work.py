"""The work of ranks in Tenon: each rank has its part, and `tenon.jit` finds what is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tenon
import tenon.numpy as tnp

from .work import STEPS, Part, Work, arrays_of, heat_step, training_step

Call = Callable[[], Any]


def calls_of(work: Work) -> dict[str, Call]:
    """Returns the ways to do it, each a call that ends when the sharded arrays are there that it gives."""
    ranks = tenon.current_world().size
    if work.kind == "matmul":
        mesh = tenon.Mesh((1, ranks), ("rows", "columns"))
        blocks = tenon.sharding(mesh, "rows", "columns")
        a, b = (tenon.shard(array, blocks) for array in arrays_of(work).values())
        multiply = tenon.jit(lambda a, b: {"product": tenon.shard(a @ b, blocks)})
        return {"jit": lambda: multiply(a, b)}
    mesh = tenon.Mesh((ranks,), ("x",))
    split, whole = tenon.sharding(mesh, "x"), tenon.sharding(mesh)
    if work.kind == "training":
        arrays = {
            name: tenon.shard(array, split if name in ("images", "labels") else whole)
            for name, array in arrays_of(work).items()
        }

        @tenon.jit
        def train(arrays: Any) -> Any:
            return {name: tenon.shard(value, whole) for name, value in training_step(tnp, arrays).items()}

        return {"jit": lambda: train(arrays)}
    u = tenon.shard(arrays_of(work)["u"], split)

    @tenon.jit
    def spread(u: Any) -> Any:
        return {"u": tenon.fori_loop(0, STEPS, lambda _, u: heat_step(tnp, u), u)}

    return {"jit": lambda: spread(u)}


def parts_of(results: Any) -> dict[str, list[Part]]:
    """Returns what this process has of each result."""
    return {
        name: [
            (
                [
                    (part.start, part.stop)
                    for part in value.sharding.box(value.shape, value.sharding.mesh.rank)
                ],
                value.local.numpy(),
            )
        ]
        for name, value in results.items()
    }

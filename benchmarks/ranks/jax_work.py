"""
The work of ranks in jax, over devices of one process or of several: with `jit` of arrays that are sharded,
and of heat also with `shard_map` and the exchange of planes written out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from .work import STEPS, Array, Part, Work, arrays_of, heat_step, training_step

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")
shardings: Any = import_module("jax.sharding")

Call = Callable[[], Any]


def _placed(array: Array, sharding: Any) -> Any:
    return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


def calls_of(work: Work) -> dict[str, Call]:
    """Returns the ways to do it, each a call that ends when the sharded arrays are there that it gives."""
    devices = np.array(jax.devices())
    if work.kind == "matmul":
        blocks = shardings.NamedSharding(
            shardings.Mesh(devices.reshape(1, -1), ("rows", "columns")),
            shardings.PartitionSpec("rows", "columns"),
        )
        a, b = (_placed(array, blocks) for array in arrays_of(work).values())
        multiply = jax.jit(lambda a, b: {"product": a @ b}, out_shardings=blocks)
        return {"jit": lambda: jax.block_until_ready(multiply(a, b))}
    mesh = shardings.Mesh(devices, ("x",))
    split, whole = (
        shardings.NamedSharding(mesh, shardings.PartitionSpec("x")),
        shardings.NamedSharding(mesh, shardings.PartitionSpec()),
    )
    if work.kind == "training":
        arrays = {
            name: _placed(array, split if name in ("images", "labels") else whole)
            for name, array in arrays_of(work).items()
        }
        train = jax.jit(lambda arrays: training_step(jnp, arrays), out_shardings=whole)
        return {"jit": lambda: jax.block_until_ready(train(arrays))}
    u = _placed(arrays_of(work)["u"], split)

    def loop(step: Callable[[Any], Any], u: Any) -> Any:
        return jax.lax.fori_loop(0, STEPS, lambda _, u: step(u), u)

    spread = jax.jit(lambda u: {"u": loop(lambda u: heat_step(jnp, u), u)}, out_shardings=split)

    def exchanged(u: Any) -> Any:
        # The first rank gets no plane from below, the last one none from above: these are zeros, as outside.
        up = [(rank, rank + 1) for rank in range(devices.size - 1)]
        down = [(rank + 1, rank) for rank in range(devices.size - 1)]
        below = jax.lax.ppermute(u[-1:], "x", up)
        above = jax.lax.ppermute(u[:1], "x", down)
        return heat_step(jnp, jnp.concatenate([below, u, above]))[1:-1]

    spec = shardings.PartitionSpec("x")
    by_hand = jax.jit(
        jax.shard_map(lambda u: {"u": loop(exchanged, u)}, mesh=mesh, in_specs=spec, out_specs=spec)
    )
    return {
        "jit": lambda: jax.block_until_ready(spread(u)),
        "shard_map": lambda: jax.block_until_ready(by_hand(u)),
    }


def parts_of(results: Any) -> dict[str, list[Part]]:
    """Returns what this process has of each result."""
    return {
        name: [
            (
                [
                    (part.start or 0, extent if part.stop is None else part.stop)
                    for part, extent in zip(shard.index, value.shape, strict=True)
                ],
                np.asarray(shard.data),
            )
            for shard in value.addressable_shards
        ]
        for name, value in results.items()
    }

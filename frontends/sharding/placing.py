"""`shard`, `gather`, `reshard` and their like: arrays onto a mesh, from it, and to other places on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any, cast

import numpy as np

from ...errors import TenonError
from ..arrays.aval import aval_of
from ..arrays.concrete import ConcreteArray, as_concrete
from ..arrays.tree import flatten, unflatten
from ..tracing.trace import TracedArray, current_trace
from .annotations import annotate
from .boxes import Box
from .exchange import assembled, exchanged
from .replicas import check_replicas
from .sharded_array import ShardedArray
from .sharding import Sharding


def shard(array: Any, sharding: Sharding, /) -> Any:
    """
    Returns an array that all ranks have, or a file that all can read, as a sharded one: each rank takes its
    part, and nothing is sent. `array` is an array of Tenon's or numpy's, one that numpy maps from a file, a
    scalar, or the path of an `.npy` file; of files a rank reads its part only. A sharded array is resharded.
    On devices of this process each gets a copy of its part. Of an array that is traced it says how it is
    split in the program.

    Raises:
        TypeError: it is no array, or the sharding is none.
        TenonError: the array has too few dims or elements for the sharding, or the file is none of numpy's.
        OSError: the file cannot be read.
    """
    _check(sharding, "shard")
    if isinstance(array, TracedArray):
        return annotate(array, sharding)
    if isinstance(array, ShardedArray):
        trace = current_trace()
        return reshard(array, sharding) if trace is None else annotate(array.in_trace(trace), sharding)
    if isinstance(array, str | PathLike):
        array = _mapped(fspath(cast("str | PathLike[str]", array)))
    if isinstance(array, np.memmap):
        whole: Any = array.view(np.ndarray)
    else:
        whole = as_concrete(array).values
        check_replicas(sharding.mesh, "shard", [whole])
    shape = tuple(whole.shape)
    sharding.check(shape, "shard")
    native = whole.dtype.newbyteorder("=")
    boxes = [sharding.box(shape, rank) for rank in sharding.mesh.here]
    return _placed([np.array(whole[box], dtype=native, order="C") for box in boxes], shape, sharding)


def shard_from(
    function: Callable[[Box], Any], shape: Sequence[int], dtype: Any, sharding: Sharding
) -> ShardedArray:
    """
    Returns the array whose elements at an index, a tuple of one slice for each dim, are `function(index)`,
    which each rank calls for its part; on devices of this process it is called for
    the part of each.

        tenon.shard_from(lambda index: numpy.load(path, mmap_mode="r")[index], shape, "float32", sharding)

    Raises:
        TypeError: the function gives no array, or one of another dtype.
        TenonError: it gives another shape, or the sharding does not fit.
    """
    _check(sharding, "shard_from")
    extents = tuple(shape)
    sharding.check(extents, "shard_from")
    wanted = np.dtype(dtype)
    parts: list[Any] = []
    for rank in sharding.mesh.here:
        box, expected = sharding.box(extents, rank), sharding.local_shape(extents, rank)
        part = as_concrete(function(box), copy=True).values
        if part.dtype != wanted:
            raise TypeError(f"shard_from: the function gives {part.dtype}, expected {wanted}")
        if part.shape != expected:
            raise TenonError(f"shard_from: the function gives shape {part.shape}, expected {expected}")
        parts.append(part)
    return _placed(parts, extents, sharding)


def gather(array: ShardedArray, /) -> ConcreteArray:
    """
    Returns all of a sharded array, on every rank. All ranks must call it.

    Raises:
        TypeError: it is no sharded array.
        RankError: another rank has ended, or failed, or gathers an array of another dtype, shape or sharding.
    """
    if not isinstance(array, ShardedArray):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"gather: {type(array).__name__} is no sharded array")
    mesh = array.sharding.mesh
    if mesh.group is None:
        return _resharded(array, Sharding(mesh, ())).local
    return as_concrete(assembled(array, tuple(slice(0, extent) for extent in array.shape)))


def reshard(array: Any, sharding: Sharding, /) -> Any:
    """
    Returns the same array with another sharding of the same ranks or devices: they send one another what they
    lack. All ranks must call it. Of an array that is traced it is what the program does.

    Raises:
        TypeError: it is no sharded array, or the sharding is none.
        TenonError: the sharding is of another world, or does not fit the array.
        RankError: another rank has ended, or failed, or calls it with another dtype, shape or sharding.
    """
    _check(sharding, "reshard")
    if isinstance(array, TracedArray):
        return annotate(array, sharding, "reshard")
    if not isinstance(array, ShardedArray):
        raise TypeError(f"reshard: {type(array).__name__} is no sharded array")
    if (trace := current_trace()) is not None:
        return annotate(array.in_trace(trace), sharding, "reshard")
    return _resharded(array, sharding)


def _resharded(array: ShardedArray, sharding: Sharding) -> ShardedArray:
    mesh = sharding.mesh
    if not mesh.is_with(array.sharding.mesh):
        are_ranks = mesh.group is None and array.sharding.mesh.group is None
        others = "another world" if are_ranks else "other devices"
        raise TenonError(f"reshard: {mesh} is of {others} than {array.sharding.mesh}")
    if sharding == array.sharding:
        return array
    sharding.check(array.shape, "reshard")
    if mesh.group is not None:
        parts = [assembled(array, sharding.box(array.shape, rank), rank) for rank in mesh.here]
        return _placed(parts, array.shape, sharding)
    # Messages of other lengths are read as what was expected.
    asked = f"{array.aval} from {array.sharding} to {sharding}"
    mesh.world.begin_check(asked.encode(), "array that is gathered or resharded").wait()
    part = exchanged(array.shape, array.sharding, sharding, array.local.values)
    return _placed([part], array.shape, sharding)


def with_sharding_constraint(arrays: Any, sharding: Sharding, /) -> Any:
    """
    Returns arrays, a tree of them, that are split as `sharding` says where a program of `tenon.jit` computes
    them: `shard` of each, under jax's name. Raises as `shard`.
    """
    _check(sharding, "with_sharding_constraint")
    leaves: list[Any] = []
    structure = flatten(arrays, leaves)
    return unflatten(structure, iter([shard(leaf, sharding) for leaf in leaves]))


def _placed(parts: Sequence[Any], shape: tuple[int, ...], sharding: Sharding) -> ShardedArray:
    found = [as_concrete(part) for part in parts]
    return ShardedArray(aval_of(found[0].dtype, shape), sharding, found)


def _check(sharding: object, who: str) -> None:
    if not isinstance(sharding, Sharding):
        raise TypeError(f"{who}: {sharding!r} is no sharding (hint: tenon.sharding(mesh, ...))")


def _mapped(path: str) -> Any:
    """Returns an `.npy` file as an array that is read where it is looked at."""
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        raise TenonError(f"shard: {path} cannot be mapped: {' '.join(str(error).split())}") from None

"""`save_checkpoint` and `load_checkpoint`: sharded arrays on disk, for any number of ranks."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from errno import ENOENT
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...dialects.collective import Collective
from ...errors import RankError, TenonError
from ..arrays.aval import aval_of
from ..arrays.concrete import NumpyArray, as_concrete
from ..arrays.tree import flatten, paths, unflatten
from .checkpoint_index import INDEX, CheckpointIndex, Part, SavedArray, read_index
from .exchange import CHANNEL
from .mesh import Mesh
from .sharded_array import ShardedArray
from .sharding import Box, Sharding

_STATUS_NBYTES = 64
_CHUNK_NBYTES = 1 << 24


def save_checkpoint(folder: str | PathLike[str], tree: Any) -> None:
    """
    Writes a tree of sharded arrays of one mesh to a folder that all ranks can reach: each rank its parts,
    each part once, with a digest. What was there before stays what is read until all is written. All ranks
    must call it.

    Raises:
        TypeError: a leaf is no sharded array.
        TenonError: there are none, or they are of several meshes.
        OSError: this rank cannot write, or another program has written to the folder meanwhile.
        RankError: another rank could not write, has ended, or failed.
    """
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    names = list(paths(structure))
    for name, leaf in zip(names, leaves, strict=True):
        if not isinstance(leaf, ShardedArray):
            raise TypeError(f"save_checkpoint: {name or 'it'} is {type(leaf).__name__}, no sharded array")
    if len({leaf.sharding.mesh for leaf in leaves}) != 1:
        raise TenonError("save_checkpoint: expected sharded arrays of one mesh")
    mesh: Mesh = leaves[0].sharding.mesh
    root = Path(folder)
    token = secrets.token_bytes(8) if mesh.rank == 0 else bytes(8)
    data = f"data-{_told(mesh, token)[0][:8].tobytes().hex()}"
    index = CheckpointIndex(data, tuple(_saved(name, leaf) for name, leaf in zip(names, leaves, strict=True)))
    failure: OSError | None = None
    digests: list[bytes] = []
    try:
        (root / data).mkdir(parents=True, exist_ok=True)
        for array, leaf in enumerate(leaves):
            if (part := _own_part(leaf)) is not None:
                digests.append(_write(index.file(root, array, part), leaf.local.values))
    except OSError as error:
        failure = error
    _check_written(mesh, failure)
    index = _with_digests(mesh, index, leaves, digests)
    if mesh.rank == 0:
        try:
            publish(root, index)
        except OSError as error:
            failure = error
    _check_written(mesh, failure)


def load_checkpoint(folder: str | PathLike[str], shardings: Any) -> Any:
    """
    Returns what `save_checkpoint` wrote as sharded arrays: `shardings` is a tree like the one that was
    written, of `tenon.sharding`s, of any mesh. Each rank reads the parts that have something of its own, and
    compares their digests.

    Raises:
        TypeError: a leaf is no sharding.
        TenonError: there is no checkpoint, it has other arrays, or it is damaged.
        OSError: it cannot be read.
    """
    leaves: list[Any] = []
    structure = flatten(shardings, leaves)
    root = Path(folder)
    index = read_index(root)
    saved = {array.path: number for number, array in enumerate(index.arrays)}
    names = list(paths(structure))
    if sorted(names) != sorted(saved):
        raise TenonError(
            f"load_checkpoint: {root} has the arrays {', '.join(sorted(saved)) or 'none'}, and the shardings "
            f"are of {', '.join(sorted(names)) or 'none'}"
        )
    arrays = [
        _loaded(root, index, saved[name], sharding) for name, sharding in zip(names, leaves, strict=True)
    ]
    return unflatten(structure, iter(arrays))


def _saved(name: str, array: ShardedArray) -> SavedArray:
    """Returns what is written of an array, without digests."""
    parts = tuple(
        Part(tuple(each.start for each in box), tuple(each.stop - each.start for each in box), "")
        for box, _ in _parts(array)
    )
    return SavedArray(name, array.dtype, array.shape, parts)


def _parts(array: ShardedArray) -> list[tuple[Box, int]]:
    """Returns the parts of an array, each once, with the first rank that has it, which writes it."""
    found: dict[tuple[int, ...], tuple[Box, int]] = {}
    for rank in range(array.sharding.mesh.size):
        box = array.sharding.box(array.shape, rank)
        found.setdefault(tuple(each.start for each in box), (box, rank))
    return list(found.values())


def _own_part(array: ShardedArray) -> int | None:
    """Returns the number of the part that this rank writes, None where another one does."""
    for number, (_, rank) in enumerate(_parts(array)):
        if rank == array.sharding.mesh.rank:
            return number
    return None


def _write(path: Path, values: NumpyArray) -> bytes:
    """Writes the bytes of an array, to the disk itself, and returns their digest."""
    digest = sha256()
    with path.open("wb") as file:
        for chunk in _chunks(values.reshape(-1).view(np.uint8)):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return digest.digest()


def _chunks(values: NumpyArray) -> Iterator[memoryview]:
    for start in range(0, len(values), _CHUNK_NBYTES):
        yield values[start : start + _CHUNK_NBYTES].data


def _told(mesh: Mesh, message: bytes) -> NumpyArray:
    """Returns what all ranks say, as rows of bytes, which are equally many on all."""
    own = np.frombuffer(message, np.uint8).reshape(1, -1).copy()
    result = np.empty((mesh.size, own.shape[1]), np.uint8)
    axes = tuple(range(len(mesh.shape)))
    mesh.world.begin(Collective("all_gather", CHANNEL, mesh.shape, axes, dim=0), own, result).wait()
    return result


def _check_written(mesh: Mesh, failure: OSError | None) -> None:
    """Raises what went wrong on this rank, or RankError for what did on another one."""
    text = b"" if failure is None else f"!{failure.strerror}".encode()[:_STATUS_NBYTES]
    rows = _told(mesh, text.ljust(_STATUS_NBYTES, b"\0"))
    if failure is not None:
        raise failure
    for rank, row in enumerate(rows):
        if why := row.tobytes().rstrip(b"\0").decode(errors="replace"):
            raise RankError(f"save_checkpoint: rank {rank} could not write: {why[1:]}", rank)


def _with_digests(
    mesh: Mesh, index: CheckpointIndex, leaves: list[Any], digests: list[bytes]
) -> CheckpointIndex:
    """Returns the index with the digests that all ranks found."""
    own, found = iter(digests), bytearray()
    for leaf in leaves:
        found += bytes(32) if _own_part(leaf) is None else next(own)
    rows = _told(mesh, bytes(found)).reshape(mesh.size, len(leaves), 32)
    arrays: list[SavedArray] = []
    for number, (array, leaf) in enumerate(zip(index.arrays, leaves, strict=True)):
        parts = [
            Part(part.starts, part.shape, rows[rank, number].tobytes().hex())
            for part, (_, rank) in zip(array.parts, _parts(leaf), strict=True)
        ]
        arrays.append(SavedArray(array.path, array.dtype, array.shape, tuple(parts)))
    return CheckpointIndex(index.folder, tuple(arrays))


def publish(root: Path, index: CheckpointIndex) -> None:
    """
    Makes what was written what is read, in one step, and removes what was before.

    Raises:
        OSError: it cannot be written, or parts are gone: another program has written its own meanwhile.
    """
    for number, array in enumerate(index.arrays):
        for place in range(len(array.parts)):
            path = index.file(root, number, place)
            if not path.is_file():
                raise FileNotFoundError(ENOENT, "another program has written to the folder", str(path))
    new = root / f"{INDEX}.{index.folder}"
    with new.open("w", encoding="utf-8") as file:
        file.write(index.text())
        file.flush()
        os.fsync(file.fileno())
    new.replace(root / INDEX)
    for other in root.glob("data-*"):
        if other.name != index.folder:
            shutil.rmtree(other, ignore_errors=True)


def _loaded(root: Path, index: CheckpointIndex, number: int, sharding: Any) -> ShardedArray:
    array = index.arrays[number]
    if not isinstance(sharding, Sharding):
        raise TypeError(f"load_checkpoint: {array.path or 'it'} is {sharding!r}, expected a sharding")
    sharding.check(array.shape, "load_checkpoint", array.path or "the array")
    box = sharding.box(array.shape)
    result = np.empty(sharding.local_shape(array.shape), array.dtype)
    for place, part in enumerate(array.parts):
        common = [
            (max(own.start, start), min(own.stop, start + extent))
            for own, start, extent in zip(box, part.starts, part.shape, strict=True)
        ]
        if any(start >= stop for start, stop in common):
            continue
        values = _read(index.file(root, number, place), array, part)
        target = tuple(slice(a - own.start, b - own.start) for (a, b), own in zip(common, box, strict=True))
        source = tuple(slice(a - start, b - start) for (a, b), start in zip(common, part.starts, strict=True))
        result[target] = values[source]
    local = as_concrete(result)
    return ShardedArray(aval_of(array.dtype, array.shape), sharding, local)


def _read(path: Path, array: SavedArray, part: Part) -> NumpyArray:
    """Returns a part, mapped from its file, whose digest is looked at first."""
    nbytes = int(np.prod(part.shape, dtype=object)) * array.dtype.itemsize
    if not path.is_file() or path.stat().st_size != nbytes:
        raise TenonError(f"load_checkpoint: {path} is missing or has not {nbytes} bytes")
    values = np.memmap(path, np.uint8, "r", shape=(nbytes,)) if nbytes else np.empty(0, np.uint8)
    digest = sha256()
    for chunk in _chunks(values):
        digest.update(chunk)
    if digest.hexdigest() != part.digest:
        raise TenonError(f"load_checkpoint: {path} is damaged: its digest is another one")
    return values.view(np.ndarray).view(array.dtype).reshape(part.shape)

"""`save_checkpoint` and `load_checkpoint`: sharded arrays on disk, for any number of ranks."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from errno import ENOENT
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import RankError, TenonError
from ...semantics.world import told
from ..arrays.aval import aval_of
from ..arrays.concrete import NumpyArray, as_concrete
from ..arrays.tree import flatten, paths, unflatten
from .boxes import Box, copy_common, extents, overlap
from .checkpoint_index import INDEX, CheckpointIndex, Part, SavedArray, read_index
from .mesh import Mesh
from .sharded_array import ShardedArray
from .sharding import Sharding

_STATUS_NBYTES = 64
_CHUNK_NBYTES = 1 << 24
_NO_DIGEST = bytes(32)
"""Stands for the digest of a part that another rank writes."""


def save_checkpoint(folder: str | PathLike[str], tree: Any) -> None:
    """
    Writes a tree of sharded arrays of one mesh to a folder that all ranks can reach: each rank its parts,
    each part once, with a digest. What was there before stays what is read until all is written. All ranks
    must call it.

    Raises:
        TypeError: a leaf is no sharded array.
        TenonError: there are none, or they are of several meshes.
        OSError: this rank cannot write, or another program has written to the folder meanwhile.
        RankError: another rank saves other arrays, could not write, has ended, or failed.
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
    if mesh.group is None:
        # Ranks that save other arrays would write an index that lacks them, or parts that nobody reads.
        saved = [f"{name} {leaf.aval} {leaf.sharding}" for name, leaf in zip(names, leaves, strict=True)]
        mesh.world.begin_check("\n".join(saved).encode(), "arrays that are saved").wait()
    root = Path(folder)
    is_first = 0 in mesh.here
    token = secrets.token_bytes(8) if is_first else bytes(8)
    data = f"data-{_said(mesh, *[token] * len(mesh.here))[0][:8].tobytes().hex()}"
    parts = [_parts(leaf) for leaf in leaves]
    index = CheckpointIndex(data, tuple(map(_saved, names, leaves, parts)))
    writers = [[rank for _, rank in each] for each in parts]
    failure: OSError | None = None
    digests: list[list[bytes]] = [[] for _ in mesh.here]
    try:
        (root / data).mkdir(parents=True, exist_ok=True)
        for array, (leaf, ranks) in enumerate(zip(leaves, writers, strict=True)):
            for own, rank, part in zip(digests, mesh.here, leaf.parts, strict=True):
                if rank in ranks:
                    own.append(_write(index.file(root, array, ranks.index(rank)), part.values))
                else:
                    own.append(_NO_DIGEST)
    except OSError as error:
        failure = error
    _check_written(mesh, failure)
    index = _with_digests(mesh, index, writers, [b"".join(own) for own in digests])
    if is_first:
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


def _saved(name: str, array: ShardedArray, parts: Sequence[tuple[Box, int]]) -> SavedArray:
    """Returns what is written of an array, without digests."""
    saved = tuple(Part(tuple(each.start for each in box), extents(box), "") for box, _ in parts)
    return SavedArray(name, array.dtype, array.shape, saved)


def _parts(array: ShardedArray) -> list[tuple[Box, int]]:
    """Returns the parts of an array, each once, with the first rank that has it, which writes it."""
    found: dict[tuple[int, ...], tuple[Box, int]] = {}
    for rank in range(array.sharding.mesh.size):
        box = array.sharding.box(array.shape, rank)
        found.setdefault(tuple(each.start for each in box), (box, rank))
    return list(found.values())


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


def _check_written(mesh: Mesh, failure: OSError | None) -> None:
    """Raises what went wrong on this rank, or RankError for what did on another one."""
    text = b"" if failure is None else f"!{failure.strerror}".encode()[:_STATUS_NBYTES]
    rows = _said(mesh, *[text.ljust(_STATUS_NBYTES, b"\0")] * len(mesh.here))
    if failure is not None:
        raise failure
    for rank, row in enumerate(rows):
        if why := row.tobytes().rstrip(b"\0").decode(errors="replace"):
            raise RankError(f"save_checkpoint: rank {rank} could not write: {why[1:]}", rank)


def _with_digests(
    mesh: Mesh, index: CheckpointIndex, writers: Sequence[Sequence[int]], digests: Sequence[bytes]
) -> CheckpointIndex:
    """Returns the index with the digests that the writers of the parts found, one for each array."""
    rows = _said(mesh, *digests).reshape(mesh.size, len(index.arrays), -1)
    arrays: list[SavedArray] = []
    for number, (array, ranks) in enumerate(zip(index.arrays, writers, strict=True)):
        parts = [
            replace(part, digest=rows[rank, number].tobytes().hex())
            for part, rank in zip(array.parts, ranks, strict=True)
        ]
        arrays.append(replace(array, parts=tuple(parts)))
    return replace(index, arrays=tuple(arrays))


def _said(mesh: Mesh, *messages: bytes) -> NumpyArray:
    """Returns what all ranks say, as rows of bytes, of what each that is here does."""
    if mesh.group is None:
        return told(mesh.world, messages[0])
    return np.frombuffer(b"".join(messages), np.uint8).reshape(mesh.size, -1)


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
    boxes = [sharding.box(array.shape, rank) for rank in sharding.mesh.here]
    results = [np.empty(extents(box), array.dtype) for box in boxes]
    for place, part in enumerate(array.parts):
        # What has nothing of the ranks that are here is not read.
        if any(overlap(box, part.box) for box in boxes):
            values = _read(index.file(root, number, place), array, part)
            for result, box in zip(results, boxes, strict=True):
                copy_common(result, box, values, part.box)
    parts = [as_concrete(result) for result in results]
    return ShardedArray(aval_of(array.dtype, array.shape), sharding, parts)


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

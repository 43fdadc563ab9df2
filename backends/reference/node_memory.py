"""What tensor nodes, the merge buffer and static symbols hold while a module is interpreted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, ModuleOp, TensorType
from xdsl.ir import Attribute

from ...dialects import graph
from ...dialects.graph.types import shape_text
from ...dialects.modules.entry import Entry, argument_names
from ...errors import CallError
from ...semantics.errors import InterpreterError
from ...semantics.numpy_types import array_of, dtype_of

Array = npt.NDArray[Any]


@dataclass
class NodeMemory:
    """
    One run's view of the nodes of a module: `arrays` by name, changed in place, and the contents of the merge
    buffer. A node that is not in `arrays` is added when it is first used, with its initial value; local and
    virtual nodes are never there.
    """

    module: ModuleOp
    arrays: dict[str, Array]
    merge: Array | None = None
    _within_run: dict[str, Array] = field(default_factory=dict[str, Array], init=False)
    _empty: set[str] = field(default_factory=set[str], init=False)

    def contents(self, name: str) -> Array:
        """
        Returns the array of node `@name`, to read or to change in place.

        Raises:
            CallError: the array given for it has another dtype or shape.
        """
        declaration = graph.find_node(self.module, name)
        assert declaration is not None, f"node @{name} is not declared"
        type = declaration.tensor_type
        arrays = self._within_run if declaration.lives_within_a_run else self.arrays
        array = arrays.get(name)
        if array is None:
            array = arrays[name] = np.zeros(type.get_shape(), dtype_of(type))
            if declaration.initial is not None:
                array[...] = array_of(declaration.initial)
            elif array.size:
                self._empty.add(name)
        _check_array(array, type, f"node @{name}")
        return array

    def check_filled(self, name: str, who: str) -> None:
        """Raises InterpreterError where nothing was ever written to node `@name`."""
        if name in self._empty:
            raise InterpreterError(f"{who}: node @{name} is read, but nothing was written to it")

    def note_write(self, name: str) -> None:
        self._empty.discard(name)

    def merged(self, name: str, who: str) -> Array:
        """
        Returns what the merge buffer holds, which should be node `@name`.

        Raises:
            InterpreterError: it holds nothing.
            CallError: the array given for it has another dtype or shape than the node.
        """
        declaration = graph.find_node(self.module, name)
        assert declaration is not None, f"node @{name} is not declared"
        if self.merge is None:
            raise InterpreterError(f"{who}: the merge buffer is read, but nothing was written to it")
        _check_array(self.merge, declaration.tensor_type, f"the merge buffer, for node @{name},")
        return self.merge


def _check_array(array: Array, type: TensorType[Attribute], who: str) -> None:
    dtype, shape = dtype_of(type), tuple(type.get_shape())
    if array.dtype != dtype:
        raise CallError(f"{who} has dtype {array.dtype}, expected {dtype}")
    if array.shape != shape:
        raise CallError(f"{who} has shape {list(array.shape)}, expected {shape_text(shape)}")


def all_arguments(entry: Entry, arrays: Sequence[Array], symbols: Mapping[str, int] | None) -> list[Array]:
    """
    Returns one array per argument of `entry`: `arrays` for its tensors, numbers for its static symbols.

    Raises:
        CallError: there are too many arrays or too few, or a symbol is missing, or is none of the entry's.
    """
    given = dict(symbols or {})
    rest = list(arrays)
    found: list[Array] = []
    name = entry.sym_name.data
    types = entry.function_type.inputs.data
    n_arrays = sum(not isinstance(type, IndexType) for type in types)
    if len(rest) != n_arrays:
        raise CallError(f"{name}: takes {n_arrays} arguments, found {len(rest)}")
    for argument, type in zip(argument_names(entry), types, strict=True):
        if not isinstance(type, IndexType):
            found.append(rest.pop(0))
        elif argument in given:
            found.append(np.array(given.pop(argument), np.int64))
        else:
            raise CallError(f"{name}: symbol '{argument}' is missing")
    if given:
        raise CallError(f"{name}: there is no symbol '{next(iter(given))}'")
    return found


def place_of(indices: Sequence[Array], shape: Sequence[int], name: str, who: str) -> tuple[int, ...]:
    """
    Returns the indices of a node as numbers.

    Raises:
        InterpreterError: one is out of bounds.
    """
    place = tuple(int(index) for index in indices)
    for axis, (index, extent) in enumerate(zip(place, shape, strict=False)):
        if not 0 <= index < extent:
            raise InterpreterError(
                f"{who}: index {index} is out of bounds for axis {axis} of node @{name}, of extent {extent}"
            )
    return place

"""`tenon.freeze`: arrays that do not change, of which programs prepare once what they make."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from .arrays.concrete import ConcreteArray, as_concrete, is_frozen
from .arrays.static_key import shown
from .arrays.tree import flatten, unflatten
from .tracing.trace import TracedArray


def freeze(tree: Any) -> Any:
    """
    Returns the arrays of a tree, weights say, as arrays that nobody changes: a jitted function which finds
    them outside of its arguments makes once what it makes of them alone, when it is compiled, and keeps that.

        weights = tenon.freeze(weights)
        predict = tenon.jit(lambda x: model(x, weights))

    Numpy arrays that own their memory share it, and cannot be written to any more. All others are copied.
    Views that were made of an array before can still be written to, which must not be done: it is not
    noticed.

    Raises:
        TypeError: a leaf is no array.
        TracingError: a leaf is an array of a function that is being traced.
    """
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    return unflatten(structure, iter([_frozen(leaf) for leaf in leaves]))


def _frozen(leaf: Any) -> ConcreteArray:
    if isinstance(leaf, TracedArray):
        raise leaf.trace.error(
            f"freeze: an array of shape {leaf.shape} of @{leaf.trace.name} has no values while that is "
            "traced (hint: freeze arrays before, outside of the function)"
        )
    if is_frozen(leaf):
        return leaf
    if isinstance(leaf, ConcreteArray):
        values = leaf.values
    elif isinstance(leaf, np.ndarray) or hasattr(leaf, "__dlpack__"):
        leaf = cast(Any, leaf)
        owned = type(leaf) is np.ndarray and leaf.flags.owndata
        values = as_concrete(leaf, copy=None if owned else True).values
    else:
        raise TypeError(f"freeze: {shown(leaf)}, expected an array")
    array = as_concrete(values)
    frozen = ConcreteArray(array.values, array.aval)
    values.flags.writeable = False
    frozen.is_frozen = True
    return frozen

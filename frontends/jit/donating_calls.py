"""Calls that give arrays away and come again: they go to their program without a look at their signature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays.aval import Aval
from ..arrays.concrete import ConcreteArray, is_frozen
from ..arrays.tree import Node, add_leaves, is_plain
from ..calls.versions import Version
from .call_forms import REFUSED
from .call_signature import CallSignature


class DonatingCall(NamedTuple):
    """A program for arguments by position, some of which it may use up."""

    version: Version
    structure: Node
    avals: tuple[Aval, ...]

    @classmethod
    def of(cls, version: Version, signature: CallSignature) -> DonatingCall | None:
        """Returns the calls of such a signature, None where more than arrays tells them apart."""
        is_known = version.ranks is None and not signature.static and is_plain(signature.positional)
        return cls(version, signature.positional, signature.avals) if is_known else None

    def run(self, name: str, arguments: tuple[Any, ...]) -> Any:
        """
        Returns the result, `REFUSED` for arguments of another kind; those that are given away are so to the
        function `name`.
        """
        version, structure, avals = self
        leaves: list[Any] = []
        if not add_leaves(arguments, structure, leaves):
            return REFUSED
        for leaf, aval in zip(leaves, avals, strict=True):
            if type(leaf) is ConcreteArray:
                if leaf.aval is not aval:
                    return REFUSED
            elif not _is_plain_array(leaf, aval):
                return REFUSED
        # Of an array that is given twice the call itself says which it is.
        if len({*map(id, leaves)}) < len(leaves) or version.changed() is not None:
            return REFUSED
        given = [leaves[number] for number in version.donated]
        try:
            return version.run(leaves)
        finally:
            # A run that ends early may have written to them.
            for array in given:
                if type(array) is ConcreteArray and not is_frozen(array):
                    array.give_away(name)


def _is_plain_array(leaf: Any, aval: Aval) -> bool:
    """Returns whether this is an array of numpy that an abstract array stands for."""
    return (
        type(leaf) is np.ndarray and not aval.weak and leaf.dtype == aval.dtype and leaf.shape == aval.shape
    )

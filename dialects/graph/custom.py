"""The base of ops that are defined outside of the package."""

from __future__ import annotations

from abc import ABC

from .base import GraphOp

__all__ = ["CustomOp"]


class CustomOp(GraphOp, ABC):
    """
    An op of a dialect of the user's own: pure, with tensors as operands and one tensor as its result. A
    class that derives from it says its name, operands, properties, result and text as every op does, and
    checks the rest in `verify_`. `tenon.register_op` says what it computes and how it is lowered.
    """

"""The type of the rules of `decompose-composites`."""

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from ..builder import GraphBuilder

Rule = Callable[[GraphBuilder, Operation], SSAValue]
"""Inserts what a composite op stands for, and returns the value of its result, of the same type."""

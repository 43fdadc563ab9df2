"""
Has kernels note the steps that are done to them, so that a default schedule can be read, edited and replayed.

    sched.kernel @f_0(...) {    -->    sched.kernel @f_0(...) attributes {tenon.recipe = []} {

Requires: `sched` kernels; those that are mapped already are left alone. Ensures: each has an empty recipe, to
which passes and steps add what they do; what the kernels compute is unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .....dialects import sched
from ..recipe import begin_recipe


@dataclass(frozen=True)
class RecordRecipesPass(ModulePass):
    """Has kernels note the steps that are done to them."""

    name = "record-recipes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.ops:
            if isinstance(kernel, sched.KernelOp):
                begin_recipe(kernel)

"""
Makes one kernel of kernels that are equal but for their names.

    sched.kernel @f_0(%x: memref<8xf32>, %y: memref<8xf32>) { ... }
    sched.kernel @f_1(%a: memref<8xf32>, %b: memref<8xf32>) { ... }      sched.kernel @f_0(...) { ... }
    sched.program @f ... {                                          -->  sched.program @f ... {
      sched.launch @f_0(%x, %t)                                            sched.launch @f_0(%x, %t)
      sched.launch @f_1(%t, %y)                                            sched.launch @f_0(%t, %y)
    }                                                                    }

The first one in the module stays. Kernels are equal where `passes/sched/steps/kernel_key.py` gives them equal
text.

Requires: nothing. Ensures: no two kernels are equal but for their names; every launch runs the same code.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.passes import ModulePass

from ....dialects import low, sched
from ....dialects.modules.canonical_text import AttributeTexts
from ..steps.kernel_key import kernel_text


@dataclass(frozen=True)
class DeduplicateKernelsPass(ModulePass):
    """Makes one kernel of kernels that are equal but for their names."""

    name = "deduplicate-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = [kernel for kernel in op.ops if isinstance(kernel, sched.KernelOp | low.KernelOp)]
        if len(kernels) < 2:
            return
        attributes: AttributeTexts = {}
        first: dict[str, str] = {}
        merged: dict[str, str] = {}
        for kernel in kernels:
            name, text = kernel.sym_name.data, kernel_text(kernel, attributes)
            if (kept := first.setdefault(text, name)) != name:
                merged[name] = kept
                kernel.detach()
                kernel.erase()
        if merged:
            _rename_launched(op, merged)


def _rename_launched(module: ModuleOp, names: dict[str, str]) -> None:
    references = {name: SymbolRefAttr(kept) for name, kept in names.items()}
    for program in module.ops:
        if isinstance(program, sched.ProgramOp):
            for item in program.walk():
                if isinstance(item, sched.LaunchOp):
                    item.kernel = references.get(item.kernel.root_reference.data, item.kernel)

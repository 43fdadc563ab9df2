"""Names for the kernels that a pass adds to a module: one name never stands for two kernels."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, StringAttr


class KernelNames:
    """
    The symbols of a module, and those that it was given since. A name stays taken when its kernel is erased:
    what a pass remembers of a kernel by name can then be of no other kernel.
    """

    def __init__(self, module: ModuleOp):
        symbols = (op.properties.get("sym_name") for op in module.ops)
        self._taken = {symbol.data for symbol in symbols if isinstance(symbol, StringAttr)}

    def fresh(self, wanted: str) -> str:
        """Returns `wanted`, with the first number after it that makes it new where it is taken."""
        name, number = wanted, 0
        while name in self._taken:
            number += 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

"""The values that reductions start from."""

from xdsl.ir import Attribute

from ...dialects.sched import CombineKind


def identity(kind: CombineKind, type: Attribute) -> int | float:
    """Returns the value that changes nothing when combined by `kind`."""
    width = getattr(getattr(type, "width", None), "data", 0)
    match kind:
        case CombineKind.FMA | CombineKind.ADDF:
            return 0.0
        case CombineKind.MULF:
            return 1.0
        case CombineKind.MAXIMUMF:
            return float("-inf")
        case CombineKind.MINIMUMF:
            return float("inf")
        case CombineKind.MULADDI | CombineKind.ADDI | CombineKind.ORI | CombineKind.MAXUI:
            return 0
        case CombineKind.MULI:
            return 1
        case CombineKind.ANDI | CombineKind.MINUI:
            return -1
        case CombineKind.MAXSI:
            return -(1 << (width - 1))
        case CombineKind.MINSI:
            return (1 << (width - 1)) - 1

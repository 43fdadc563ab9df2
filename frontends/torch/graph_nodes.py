"""What the nodes of torch's graphs are: what they call, what they give, and where the user wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from .extents import is_symbolic
from .library import torch_library
from .ops.table import NotCoveredError, Wanted
from .tensors import dtypes

Node = Any

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*\n\s*(?P<text>[^\n]*)')


def op_name(node: Node) -> str:
    """Returns the name of what a node calls, as torch prints it without the namespace aten: `add.Tensor`."""
    target = node.target
    if not hasattr(target, "_schema"):
        return getattr(target, "__name__", str(target))
    text = str(target)
    return text.removeprefix("aten.") if text.startswith("aten.") else text.replace(".", "::", 1)


def value_of(node: Node) -> Any:
    """Returns what torch says that a node gives: a fake tensor, a number, a tuple of these, or None."""
    return node.meta.get("val")


def parts_of(value: Any) -> tuple[Any, ...]:
    """Returns the parts of a tuple or a list, and anything else as the only part."""
    return tuple(cast("Sequence[Any]", value)) if isinstance(value, tuple | list) else (value,)


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch_library().Tensor)


def is_number(value: Any) -> bool:
    """Returns whether a value is a number that Python code computes, symbolic or not."""
    return isinstance(value, bool | int | float) or type(value).__name__ in ("SymInt", "SymFloat", "SymBool")


def integers_of(value: Any) -> list[Any]:
    """Returns the symbolic integers of a value: itself, or those in the shapes of tensors."""
    found: list[Any] = []
    for part in parts_of(value):
        extents: Iterable[Any] = ()
        if is_tensor(part):
            extents = part.shape
        elif is_symbolic(part):
            extents = (part,)
        found += [each for each in extents if is_symbolic(each)]
    return found


def is_view(node: Node) -> bool:
    """
    Returns whether a node shows a tensor in another way, or several parts of it: outside of regions torch
    makes that, in the memory of the tensor. Callers rebuild what is returned of an argument by strides.
    """
    name = op_name(node)
    if name == "getitem":
        return is_view(node.args[0])
    schema = getattr(node.target, "_schema", None)
    if schema is None or schema.is_mutable:
        return False
    return name == "_unsafe_view.default" or any(each.alias_info is not None for each in schema.returns)


def check_tensor(value: Any) -> None:
    """Raises NotCoveredError where Tenon has no such tensors."""
    torch = torch_library()
    if value.device.type != "cpu":
        raise NotCoveredError(f"a tensor on {value.device}")
    if value.layout is not torch.strided:
        raise NotCoveredError(f"a tensor of layout {value.layout}")
    if value.dtype not in dtypes():
        raise NotCoveredError(f"a tensor of {value.dtype}")


def wanted_of(value: Any, extent: Any) -> Any:
    """Returns what torch says that an op gives, with `extent` of its integers; None for what is no tensor."""
    if isinstance(value, tuple | list):
        return tuple([wanted_of(part, extent) for part in parts_of(value)])
    if value is None or not is_tensor(value):
        return None
    check_tensor(value)
    return Wanted(dtypes()[value.dtype], tuple(extent(each) for each in value.shape))


def place_of(node: Node) -> tuple[str, int, str] | None:
    """Returns the file, the line and the text of the user's code that a node comes from."""
    found = list(_PLACE.finditer(node.meta.get("stack_trace") or ""))
    if not found:
        return None
    return found[-1]["file"], int(found[-1]["line"]), found[-1]["text"].strip()


def location_of(node: Node) -> FileLineColLoc | None:
    """Returns the user's line as a location of ops."""
    place = place_of(node)
    return None if place is None else FileLineColLoc(StringAttr(place[0]), IntAttr(place[1]), IntAttr(1))

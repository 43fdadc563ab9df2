"""
Writes `docs/ops.md`, the reference of all ops, from their classes.

    python docs/reference.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tenon.numpy
from tenon.dialects.graph import GRAPH, ElementwiseOp
from tenon.dialects.low import LOW
from tenon.dialects.sched import SCHED
from tenon.errors import TenonError
from tenon.frontends.arrays.aval import aval_of
from tenon.frontends.tracing.trace import Trace
from xdsl.ir import Operation

PAGE = Path(__file__).parent / "ops.md"

DIALECTS = ((GRAPH, "ir-graph.md"), (SCHED, "ir-sched.md"), (LOW, "ir-low.md"))
"""Each dialect, and the page that says what holds for all of its ops."""

_ROOT = Path(__file__).parents[1]


def reference() -> str:
    """Returns the text of the page."""
    parts = [
        "# The ops\n\n"
        "What the classes of the ops say, made from them by `python docs/reference.py`. A kernel of\n"
        "`low` has ops of xDSL's arith, math, memref, scf and vector besides: [ir-low.md](ir-low.md) has\n"
        "the list.\n"
    ]
    for dialect, page in DIALECTS:
        ops = sorted(dialect.operations, key=lambda op: op.name)
        names = " ".join(f"[{_short(op)}](#{_anchor(op)})" for op in ops)
        parts.append(
            f"## `{dialect.name}`\n\n"
            f"{len(ops)} ops; [{page}]({page}) says what holds for all of them.\n\n{names}\n"
        )
        parts.extend("\n".join(_section(op)) for op in ops)
    return "\n".join(parts)


def _short(op: type[Operation]) -> str:
    return op.name.split(".", 1)[1]


def _anchor(op: type[Operation]) -> str:
    return re.sub(r"[^\w-]", "", op.name)


def _section(op: type[Operation]) -> Iterator[str]:
    source = Path(inspect.getfile(op)).relative_to(_ROOT).as_posix()
    yield f"### {op.name}\n"
    is_example = False
    for line in inspect.cleandoc(op.__doc__ or "").splitlines():
        if line.startswith("```"):
            is_example = not is_example
        else:
            yield f"    {line}".rstrip() if is_example else line
    if issubclass(op, ElementwiseOp) and op.EXAMPLE:
        yield f"\n    {op.example()}"
    parts = [f"`{source}`", *(_row(op) if issubclass(op, ElementwiseOp) else ())]
    yield f"\n{', '.join(parts)}\n"


def _row(op: type[ElementwiseOp]) -> Iterator[str]:
    """Yields what the other parts of an elementwise op are."""
    yield f"takes {op.ELEMENTS.name}"
    if op.IS_HEAVY:
        yield "heavy"
    if op.MATH is not None:
        yield f"`{op.MATH.name}`"
    yield from (f"`tenon.numpy.{name}`" for name in functions().get(op, ()))


@cache
def functions() -> dict[type[Operation], list[str]]:
    """Returns the functions of `tenon.numpy` that are one op, of arrays of one dtype at least."""
    found: dict[type[Operation], list[str]] = {}
    for name in sorted(tenon.numpy.__all__):
        made = {
            ops[0]
            for dtype in ("float32", "int32", "bool")
            for count in (1, 2, 3)
            if len(ops := _traced(getattr(tenon.numpy, name), np.dtype(dtype), count)) == 1
        }
        for op in made:
            found.setdefault(op, []).append(name)
    return found


def _traced(function: Any, dtype: np.dtype[Any], count: int) -> list[type[Operation]]:
    """Returns the ops that a function of `count` arrays is made of; none if it takes no such arrays."""
    with Trace("f") as trace:
        arguments = [trace.argument(aval_of(dtype, (2, 2)), "x") for _ in range(count)]
        try:
            function(*arguments)
        except (TenonError, TypeError, ValueError, IndexError, AttributeError):
            return []
        return [type(op) for op in trace.block.ops]


def main() -> int:
    PAGE.write_text(reference(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

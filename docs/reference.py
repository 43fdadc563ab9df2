"""
Writes `docs/ops.md` and `docs/pass-reference.md`, the references of all ops and passes, from their classes.

    python docs/reference.py
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
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
from tenon.passes.named_pipelines import NAMED_PIPELINES
from tenon.passes.registry import TENON_PASSES, XDSL_PASS_NAMES, module_of
from xdsl.ir import Operation

DIALECTS = ((GRAPH, "ir-graph.md"), (SCHED, "ir-sched.md"), (LOW, "ir-low.md"))
"""Each dialect, and the page that says what holds for all of its ops."""

_ROOT = Path(__file__).parents[1]


IN_STABLEHLO = {
    "graph.abs": "abs",
    "graph.add": "add",
    "graph.and": "and",
    "graph.arg_reduce": "reduce",
    "graph.argsort": "sort",
    "graph.atan2": "atan2",
    "graph.bitcast": "bitcast_convert",
    "graph.broadcast": "broadcast_in_dim",
    "graph.callback": "custom_call",
    "graph.cast": "convert",
    "graph.ceil": "ceil",
    "graph.concat": "concatenate",
    "graph.constant": "constant",
    "graph.contract": "dot_general, convolution",
    "graph.cos": "cosine",
    "graph.cumulate": "reduce_window",
    "graph.div": "divide",
    "graph.dynamic_slice": "dynamic_slice",
    "graph.dynamic_update": "dynamic_update_slice",
    "graph.eq": "compare",
    "graph.exp": "exponential",
    "graph.expm1": "exponential_minus_one",
    "graph.flip": "reverse",
    "graph.floor": "floor",
    "graph.gather": "gather",
    "graph.ge": "compare",
    "graph.gt": "compare",
    "graph.if": "if, case",
    "graph.iota": "iota",
    "graph.isfinite": "is_finite",
    "graph.le": "compare",
    "graph.log": "log",
    "graph.log1p": "log_plus_one",
    "graph.lt": "compare",
    "graph.materialize": "optimization_barrier",
    "graph.max": "maximum",
    "graph.min": "minimum",
    "graph.mul": "multiply",
    "graph.ne": "compare",
    "graph.neg": "negate",
    "graph.not": "not",
    "graph.or": "or",
    "graph.pad": "pad",
    "graph.permute": "transpose",
    "graph.pow": "power",
    "graph.reduce": "reduce",
    "graph.rem": "remainder",
    "graph.reshape": "reshape",
    "graph.round": "round_nearest_even",
    "graph.rsqrt": "rsqrt",
    "graph.scan": "while",
    "graph.scatter": "scatter",
    "graph.select": "select",
    "graph.shl": "shift_left",
    "graph.shr": "shift_right_arithmetic, shift_right_logical",
    "graph.sign": "sign",
    "graph.sin": "sine",
    "graph.slice": "slice",
    "graph.sort": "sort",
    "graph.sqrt": "sqrt",
    "graph.sub": "subtract",
    "graph.tan": "tan",
    "graph.tanh": "tanh",
    "graph.threefry": "rng_bit_generator",
    "graph.truncdiv": "divide",
    "graph.while": "while",
    "graph.xor": "xor",
    "graph.yield": "return",
}
"""What StableHLO calls ops, whose edge cases may differ; it has no op for the others."""

LEVELS = ("stablehlo", "graph", "sharding", "sched", "low", "rewriting")
"""The rooms of the passes; those of the last are for any level."""


def reference_of_ops() -> str:
    """Returns the text of `ops.md`."""
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
    yield f"### {op.name}\n"
    is_example = False
    for line in inspect.cleandoc(op.__doc__ or "").splitlines():
        if line.startswith("```"):
            is_example = not is_example
        else:
            yield f"    {line}".rstrip() if is_example else line
    if issubclass(op, ElementwiseOp) and op.EXAMPLE:
        yield f"\n    {op.example()}"
    parts = [f"`{_source(op)}`", *(_row(op) if issubclass(op, ElementwiseOp) else ())]
    if op.name in IN_STABLEHLO:
        parts.append(" or ".join(f"`stablehlo.{name}`" for name in IN_STABLEHLO[op.name].split(", ")))
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


def _source(documented: type) -> str:
    return Path(inspect.getfile(documented)).relative_to(_ROOT).as_posix()


def reference_of_passes() -> str:
    """Returns the text of `pass-reference.md`."""
    parts = [
        "# Reference of the passes\n\n"
        "What the files of the passes say, made from them by `python docs/reference.py`;\n"
        "[passes.md](passes.md) says in which order they run. Of xDSL's passes these work on Tenon's\n"
        f"dialects: {', '.join(f'`{name}`' for name in XDSL_PASS_NAMES)}.\n"
    ]
    for level in LEVELS:
        passes = {name: load for name, load in TENON_PASSES.items() if _level(name) == level}
        parts += _pass_sections(f"`passes/{level}/`", {name: load() for name, load in passes.items()})
    parts += _pass_sections("Pipelines", NAMED_PIPELINES)
    return "\n".join(parts)


def _level(pass_name: str) -> str:
    return module_of(pass_name).partition(".")[0]


def _pass_sections(title: str, passes: Mapping[str, type[Any]]) -> Iterator[str]:
    """Yields the list of some passes, and a section for each."""
    yield f"## {title}\n\n| pass | |\n|---|---|"
    for name, pass_type in passes.items():
        summary = " ".join((pass_type.__doc__ or "").split())
        yield f"| [{name}](#{name}) | {summary} |"
    yield ""
    for name, pass_type in passes.items():
        yield f"### {name}\n"
        if pass_type not in NAMED_PIPELINES.values():
            yield f"{inspect.cleandoc(sys.modules[pass_type.__module__].__doc__ or '')}\n"
        options = dataclasses.fields(pass_type)
        if options:
            yield "| option | type | default |\n|---|---|---|"
            yield from (f"| `{each.name}` | `{_type(each)}` | {_default(each)} |" for each in options)
            yield ""
        yield f"`{_source(pass_type)}`\n"


def _type(option: dataclasses.Field[Any]) -> str:
    written: Any = option.type
    text = written if isinstance(written, str) else inspect.formatannotation(written)
    return text.replace("|", "\\|")


def _default(option: dataclasses.Field[Any]) -> str:
    """Returns the default as the text of a pipeline has it."""
    if option.default is dataclasses.MISSING:
        return "required"
    values = option.default if isinstance(option.default, tuple) else (option.default,)
    return f"`{','.join(map(json.dumps, values))}`" if values else "none"


PAGES: Mapping[str, Callable[[], str]] = {
    "ops.md": reference_of_ops,
    "pass-reference.md": reference_of_passes,
}
"""What writes each page of this folder that is made."""


def main() -> int:
    for name, write in PAGES.items():
        (_ROOT / "docs" / name).write_text(write(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

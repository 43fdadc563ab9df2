"""
Declarations of what kernels use of OpenCL C, in place of the header that declares all of it.

PoCL has its compiler read that header, of 17,000 lines, in every build, which is most of what building a
small program costs: 0.13 s of processor time, and 0.02 s without. Where its guard is defined, it is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .names import HELPER_PREFIX
from .types import LANES

NO_HEADER = "-D_OPENCL_H_"
"""The option under which the header is empty."""

_UNSIGNED = ("uchar", "ushort", "uint", "ulong")
_INTEGERS = ("char", "short", "int", "long", *_UNSIGNED)
_WIDTHS = ("", *(str(lanes) for lanes in LANES))

_WORK_ITEM = ("get_global_id", "get_group_id", "get_local_id", "get_num_groups")
_ARITY = {"sqrt": 1, "fma": 3}
_DECLARED = {*_WORK_ITEM, *_ARITY, "clz", "barrier"}
_NO_FUNCTIONS = {
    *("if", "for", "while", "switch", "return", "sizeof", "defined"),
    *("__attribute__", "aligned", "reqd_work_group_size"),
}

_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_KERNEL = re.compile(r"\bvoid\s+(\w+)\s*\(")
_TYPED = re.compile(r"(as|convert)_([a-z]+)(\d*)$")
_DOUBLES = re.compile(r"#pragma OPENCL EXTENSION cl_khr_fp64 *: *enable")


def declared(source: str) -> str | None:
    """
    Returns `source` after the declarations that it needs, for a build with `NO_HEADER`; None where it calls
    what is not declared here.
    """
    floats = ("float", "double") if _DOUBLES.search(source) else ("float",)
    elements = (*_INTEGERS, *floats)
    kernels = set(_KERNEL.findall(source))
    lines = list(_types(floats))
    for name in sorted(set(_CALL.findall(source)) - kernels - _DECLARED - _NO_FUNCTIONS):
        if name.startswith((HELPER_PREFIX, "__builtin_")):
            continue
        typed = _TYPED.match(name)
        if typed is None or typed[2] not in elements or typed[3] not in _WIDTHS:
            return None
        kind, element, width = typed.groups()
        if kind == "as":
            lines.append(f"#define {name}(x) __builtin_astype((x), {element}{width})")
        else:
            lines += (_function(element + width, name, [other + width]) for other in elements)
    for name, arity in _ARITY.items():
        lines += _elementwise(name, arity, floats)
    lines += _elementwise("clz", 1, _INTEGERS)
    return "\n".join([*lines, "#line 1", source])


def _types(floats: Iterable[str]) -> Iterator[str]:
    """Yields what is there for every program: the types, and the functions of work-items."""
    if "double" in floats:
        yield "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
    for element in _UNSIGNED:
        yield f"typedef unsigned {element[1:]} {element};"
    yield "typedef __SIZE_TYPE__ size_t;"
    for element in (*_INTEGERS, *floats):
        for lanes in LANES:
            yield f"typedef {element} {element}{lanes} __attribute__((ext_vector_type({lanes})));"
    for name in _WORK_ITEM:
        yield _function("size_t", name, ["uint"])
    yield "typedef uint cl_mem_fence_flags;"
    yield "#define CLK_LOCAL_MEM_FENCE 0x01"
    yield "#define CLK_GLOBAL_MEM_FENCE 0x02"
    yield "void __attribute__((overloadable, convergent)) barrier(cl_mem_fence_flags);"


def _elementwise(name: str, arity: int, elements: Iterable[str]) -> Iterator[str]:
    """Yields all overloads, of which a call takes the one that it would take of the header's."""
    for element in elements:
        for width in _WIDTHS:
            yield _function(element + width, name, [element + width] * arity)


def _function(result: str, name: str, operands: Iterable[str]) -> str:
    return f"{result} __attribute__((overloadable, const)) {name}({', '.join(operands)});"

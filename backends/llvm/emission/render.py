"""
Writes a module of `low.kernel`s as LLVM IR, in one walk.

A kernel @k becomes two functions:

    @k.range(ptr %x, ..., i64 %begin, i64 %end)   the work-groups begin <= i < end, counted with x fastest
    @k.chunk(ptr %table, i64 %begin, i64 %end)    the same, with the arguments' addresses in a table

The values of a kernel's dims are i64 arguments before its buffers, in the table too.

The grid is a loop nest around the body whose indices are the ids; so are the work-items of one work-group.
They run one after the other. The text depends on the processor that it is for, and not on the machine it is
written on.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import IndexType, ModuleOp, VectorType
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import DiagnosticException

from ....dialects.dims.expressions import Extent
from ....dialects.graph import DimOp, TnodeOp
from ....dialects.low import AtomicRmwOp, Dimension, KernelOp, TileFmaOp, TransposeOp
from ....dialects.low.atomic_rmw import has_atomics
from ....dialects.sched import ProgramOp
from ..entry_points import EntryPoint
from ..limits import NEEDS_STRENGTH_REDUCTION, SCALAR_LOOPS
from ..names import function_stem
from ..processors import Processor
from .emitter import Emitter, Loop
from .extents import write_extent
from .rules import RULES, storage


def render_module(module: ModuleOp, processor: Processor) -> str:
    """Returns the LLVM IR of the kernels; a `sched.program` beside them is for the runtime."""
    declarations: dict[str, str] = {}
    functions: list[str] = []
    for op in module.body.block.ops:
        match op:
            case KernelOp():
                functions += [_range_function(op, processor, declarations), _chunk_function(op)]
            case ProgramOp() | DimOp() | TnodeOp():
                pass
            case _:
                raise DiagnosticException(f"llvm: no rule for {op.name}")
    sections = functions
    if declarations:
        sections = [*sections, "".join(f"{text}\n" for text in declarations.values())]
    if any("!nontemporal" in function for function in functions):
        sections = [*sections, "!0 = !{i32 1}\n"]
    return "\n".join(sections)


def _range_function(kernel: KernelOp, processor: Processor, declarations: dict[str, str]) -> str:
    arguments = kernel.body.block.args
    written, has_vectors, has_squares, has_tiles = _survey(kernel)
    # Of what transposes, LLVM tries thousands of ways to write the many addresses of a step.
    emitter = Emitter(kernel, processor, RULES, declarations, not has_vectors, has_squares, has_tiles)
    parameters: list[str] = []
    for argument in arguments:
        if isinstance(argument.type, IndexType):
            name = emitter.values[argument] = emitter.names.fresh(argument.name_hint)
            parameters.append(f"i64 {name}")
            continue
        _, alignment = storage(kernel, argument.type)
        name = emitter.values[argument] = emitter.names.fresh(argument.name_hint)
        # What is changed atomically other threads change meanwhile, by pointers of their own.
        access = "" if has_atomics(argument) else "noalias "
        access += "" if argument in written else "readonly "
        parameters.append(f"ptr {access}align {alignment} {name}")
    begin, end = emitter.names.fresh("begin"), emitter.names.fresh("end")
    emitter.start(emitter.names.fresh("entry"))
    after_label = len(emitter.lines)
    loops = _begin_grid(emitter, kernel.grid.data, begin, end) + _begin_block(emitter, kernel.block_extents)
    emitter.write_block(kernel.body.block)
    for loop in reversed(loops):
        emitter.end_loop(loop)
    if emitter.streams and processor.fences_streams:
        emitter.lines.append(f"  {emitter.call('x86.sse.sfence', 'void', [])}")
    emitter.lines.append("  ret void")
    emitter.lines[after_label:after_label] = emitter.entry_lines
    stem = function_stem(kernel.sym_name.data)
    attributes = "nounwind" if has_vectors else f"nounwind {SCALAR_LOOPS}"
    if emitter.needs_strength_reduction:
        attributes += f" {NEEDS_STRENGTH_REDUCTION}"
    signature = ", ".join([*parameters, f"i64 {begin}", f"i64 {end}"])
    body = "\n".join(emitter.lines)
    return f"define void @{stem}.range({signature}) {attributes} {{\n{body}\n}}\n"


def _survey(kernel: KernelOp) -> tuple[set[SSAValue], bool, bool, bool]:
    """
    Returns the buffers that the kernel stores to, whether it holds vectors, whether it transposes, and
    whether it holds tiles.
    """
    written: set[SSAValue] = set()
    has_vectors = has_squares = has_tiles = False
    for op in kernel.body.walk():
        kind = type(op)
        if kind is memref.StoreOp or kind is vector.StoreOp or kind is AtomicRmwOp:
            written.add(op.operands[1])
        elif kind is TileFmaOp:
            written.add(op.operands[0])
            has_vectors = has_tiles = True
        elif kind is TransposeOp:
            has_squares = True
        has_vectors = has_vectors or any(type(result.type) is VectorType for result in op.results)
    return written, has_vectors, has_squares, has_tiles


def _begin_grid(emitter: Emitter, grid: Sequence[Extent], begin: str, end: str) -> list[Loop]:
    """
    Begins the loops over the work-groups `begin` to `end`; an extent of 1 needs none.

    With several extents, an outer loop goes over the rows that the range touches and an inner one over the
    part of the row inside it, so that there is no division in the inner loop.
    """
    ids = emitter.block_ids
    for dimension in Dimension:
        ids[dimension] = "0"
    long = [dimension for dimension in Dimension if grid[dimension.number] != 1]
    if len(long) <= 1:
        loop = emitter.begin_loop("group", "i64", begin, end)
        if long:
            ids[long[0]] = loop.index
        return [loop]
    inner, *outer = long
    width, before_width = _width(emitter, grid[inner.number])
    first = emitter.emit(f"udiv i64 {begin}, {width}", "first_row")
    rounded_up = emitter.emit(f"add nsw i64 {end}, {before_width}", "rounded_up")
    last = emitter.emit(f"udiv i64 {rounded_up}, {width}", "last_row")
    rows = emitter.begin_loop("row", "i64", first, last)
    start = emitter.emit(f"mul nsw i64 {rows.index}, {width}", "row_start")
    before = emitter.emit(f"sub nsw i64 {begin}, {start}", "before")
    lower = emitter.emit(emitter.call_same_type("smax", "i64", [before, "0"]), "lower")
    left = emitter.emit(f"sub nsw i64 {end}, {start}", "left")
    upper = emitter.emit(emitter.call_same_type("smin", "i64", [left, width]), "upper")
    ids[outer[0]] = rows.index
    if len(outer) == 2:
        height, _ = _width(emitter, grid[outer[0].number])
        ids[outer[0]] = emitter.emit(f"urem i64 {rows.index}, {height}", outer[0].value)
        ids[outer[1]] = emitter.emit(f"udiv i64 {rows.index}, {height}", outer[1].value)
    columns = emitter.begin_loop(inner.value, "i64", lower, upper)
    ids[inner] = columns.index
    return [rows, columns]


def _width(emitter: Emitter, extent: Extent) -> tuple[str, str]:
    """Returns an extent of the grid, 1 where it is 0, and the number below it."""
    if isinstance(extent, int):
        return str(max(extent, 1)), str(max(extent, 1) - 1)
    value = write_extent(emitter, extent)
    width = emitter.emit(emitter.call_same_type("smax", "i64", [value, "1"]), "width")
    return width, emitter.emit(f"sub nsw i64 {width}, 1")


def _begin_block(emitter: Emitter, block: Sequence[int]) -> list[Loop]:
    """Begins the loops over the work-items of one work-group; an extent of 1 needs none."""
    loops: list[Loop] = []
    for dimension in reversed(Dimension):
        emitter.thread_ids[dimension] = "0"
        if block[dimension.number] != 1:
            loops.append(
                emitter.begin_loop(f"thread_{dimension.value}", "i64", "0", str(block[dimension.number]))
            )
            emitter.thread_ids[dimension] = loops[-1].index
    return loops


def _chunk_function(kernel: KernelOp) -> str:
    arguments = kernel.body.block.args
    grid = tuple(extent if isinstance(extent, int) else None for extent in kernel.grid.data)
    entry_point = EntryPoint(kernel.sym_name.data, len(arguments), grid, kernel.block_extents)
    types = ["i64" if isinstance(argument.type, IndexType) else "ptr" for argument in arguments]
    lines = [entry_point.definition()]
    for position, type in enumerate(types):
        lines += [
            f"  %slot{position} = getelementptr inbounds ptr, ptr %table, i64 {position}",
            f"  %argument{position} = load {type}, ptr %slot{position}, align 8",
        ]
    values = [f"{type} %argument{position}" for position, type in enumerate(types)]
    operands = ", ".join([*values, "i64 %begin", "i64 %end"])
    stem = function_stem(kernel.sym_name.data)
    lines += [f"  call void @{stem}.range({operands})", "  ret void", "}"]
    return "\n".join(lines) + "\n"

"""How each op of a kernel's body is written in LLVM IR: one rule per op, found by its class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.dialects import arith, math, memref, scf, vector
from xdsl.dialects.arith import (
    CMPF_COMPARISON_OPERATIONS,
    CMPI_COMPARISON_OPERATIONS,
    FastMathFlagsAttr,
    IntegerOverflowFlag,
)
from xdsl.dialects.builtin import (
    IndexType,
    IntegerAttr,
    MemRefType,
    f32,
)
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import DiagnosticException

from ....dialects.buffer_size import ALIGNMENT
from ....dialects.element_types import NBYTES, element_type_of, is_float, is_narrow_float, lanes_of
from ....dialects.low import (
    AllocaOp,
    AtomicRmwOp,
    BarrierOp,
    BlockIdOp,
    Conversion,
    ConvertOp,
    LdexpOp,
    RemfOp,
    ReverseOp,
    SelectOp,
    ThreadIdOp,
    TileFmaOp,
    TransposeOp,
)
from ....dialects.low.constant_integer import constant_integer
from ....dialects.low.prefetch import prefetch_distance, prefetch_level
from .atomic_rmw import write_atomic_rmw
from .division import has_reciprocal_form, write_division, write_reciprocals
from .emitter import Emitter, Rule
from .extrema import has_range_form, has_two_sided_form, write_range, write_two_sided
from .float_formats import extend, from_integer, to_integer, truncate
from .ldexp import write_ldexp
from .multiply_add import write_multiply_add
from .rare_ways import has_rare_way, write_rare
from .remainder import write_remainder
from .stepped_places import first_pointer, next_pointer, pointer_at, stepped_places
from .tile_fma import write_tile_fma
from .transposition import transposed
from .types import constant_text, flags_text, llvm_type, mangled


def _float_type(emitter: Emitter, op: Operation, type: Attribute) -> str:
    element = element_type_of(type)
    if is_narrow_float(element):
        raise DiagnosticException(f"llvm: {op.name}: arithmetic on {element} is done in f32, got {type}")
    return emitter.type(op, type)


def _flags(op: Any) -> str:
    flags: object = op.fastmath
    assert flags is None or isinstance(flags, FastMathFlagsAttr)
    return "" if flags is None else flags_text(flags)


def _float_instruction(instruction: str) -> Rule:
    def rule(emitter: Emitter, op: Any) -> None:
        result: SSAValue = op.results[0]
        type = _float_type(emitter, op, result.type)
        operands = ", ".join(emitter.values[operand] for operand in op.operands)
        emitter.define(result, f"{instruction} {_flags(op)}{type} {operands}")

    return rule


def _float_intrinsic(intrinsic: str) -> Rule:
    def rule(emitter: Emitter, op: Any) -> None:
        result: SSAValue = op.results[0]
        type = _float_type(emitter, op, result.type)
        operands = [emitter.values[operand] for operand in op.operands]
        emitter.define(result, emitter.call_same_type(intrinsic, type, operands, _flags(op)))

    return rule


def _extremum(intrinsic: str) -> Rule:
    plain = _float_intrinsic(intrinsic)

    def rule(emitter: Emitter, op: arith.MaximumfOp | arith.MinimumfOp) -> None:
        if has_range_form(emitter, op):
            write_range(emitter, op)
        elif has_two_sided_form(emitter, op):
            write_two_sided(emitter, op)
        else:
            plain(emitter, op)

    return rule


def _fma(emitter: Emitter, op: math.FmaOp) -> None:
    type = _float_type(emitter, op, op.result.type)
    operands = [emitter.values[operand] for operand in op.operands]
    emitter.values[op.result] = write_multiply_add(emitter, type, operands, op.result.name_hint, _flags(op))


def _divf(emitter: Emitter, op: arith.DivfOp) -> None:
    reciprocal = emitter.reciprocals.get(op.rhs)
    if reciprocal is None or not has_reciprocal_form(op):
        _divide(emitter, op)
    else:
        write_division(emitter, op, reciprocal)


_divide = _float_instruction("fdiv")


def _remf(emitter: Emitter, op: RemfOp) -> None:
    type, lanes = _float_type(emitter, op, op.result.type), lanes_of(op.result.type)
    lhs, rhs = emitter.values[op.lhs], emitter.values[op.rhs]
    if lanes is None:
        emitter.define(op.result, f"frem {type} {lhs}, {rhs}")
    else:
        emitter.values[op.result] = write_remainder(emitter, lhs, rhs, element_type_of(op.result.type), lanes)


def _integer_instruction(instruction: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        result = op.results[0]
        type = emitter.type(op, result.type)
        lhs, rhs = op.operands
        emitter.define(result, f"{instruction} {type} {emitter.values[lhs]}, {emitter.values[rhs]}")

    return rule


def _wrapping_instruction(instruction: str) -> Rule:
    """Add, sub, mul and shl; on an index they do not overflow, as it is the position of an element."""

    def rule(emitter: Emitter, op: Any) -> None:
        result: SSAValue = op.results[0]
        type = emitter.type(op, result.type)
        flags: Sequence[IntegerOverflowFlag] = op.overflow_flags.data
        is_signed_safe = IntegerOverflowFlag.NSW in flags or isinstance(result.type, IndexType)
        nuw = "nuw " if IntegerOverflowFlag.NUW in flags else ""
        nsw = "nsw " if is_signed_safe else ""
        lhs, rhs = (emitter.values[operand] for operand in op.operands)
        emitter.define(result, f"{instruction} {nuw}{nsw}{type} {lhs}, {rhs}")

    return rule


def _integer_intrinsic(intrinsic: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        result = op.results[0]
        operands = [emitter.values[operand] for operand in op.operands]
        emitter.define(result, emitter.call_same_type(intrinsic, emitter.type(op, result.type), operands))

    return rule


def _cmpi(emitter: Emitter, op: arith.CmpiOp) -> None:
    predicate = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data]
    type = emitter.type(op, op.lhs.type)
    emitter.define(op.result, f"icmp {predicate} {type} {emitter.values[op.lhs]}, {emitter.values[op.rhs]}")


def _cmpf(emitter: Emitter, op: arith.CmpfOp) -> None:
    predicate = CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    type = _float_type(emitter, op, op.lhs.type)
    lhs, rhs = emitter.values[op.lhs], emitter.values[op.rhs]
    emitter.define(op.result, f"fcmp {_flags(op)}{predicate} {type} {lhs}, {rhs}")


def _select(emitter: Emitter, op: SelectOp) -> None:
    condition = emitter.type(op, op.condition.type)
    type = emitter.type(op, op.result.type)
    metadata = "" if op.unpredictable is None else ", !unpredictable !{}"
    emitter.define(
        op.result,
        f"select {condition} {emitter.values[op.condition]}, "
        f"{type} {emitter.values[op.on_true]}, {type} {emitter.values[op.on_false]}{metadata}",
    )


def _constant(emitter: Emitter, op: arith.ConstantOp) -> None:
    emitter.type(op, op.result.type)
    emitter.values[op.result] = constant_text(op.value, op.result.type)


def _bitcast(emitter: Emitter, op: arith.BitcastOp) -> None:
    source, target = emitter.type(op, op.input.type), emitter.type(op, op.result.type)
    # xDSL lets an index stand for an integer of any width, and takes buffers too.
    differs_in_width = source != target and "i64" in (source, target) and "double" not in (source, target)
    if source == "ptr" or differs_in_width:
        raise DiagnosticException(f"llvm: {op.name}: cannot bitcast {op.input.type} to {op.result.type}")
    if source == target:
        emitter.values[op.result] = emitter.values[op.input]
    else:
        emitter.define(op.result, f"bitcast {source} {emitter.values[op.input]} to {target}")


def _index_cast(emitter: Emitter, op: arith.IndexCastOp) -> None:
    source, target = emitter.type(op, op.input.type), emitter.type(op, op.result.type)
    value = emitter.values[op.input]
    if source == target:
        emitter.values[op.result] = value
    else:
        widens = int(target[1:]) > int(source[1:])
        emitter.define(op.result, f"{'sext' if widens else 'trunc'} {source} {value} to {target}")


def _extf(emitter: Emitter, op: arith.ExtFOp) -> None:
    emitter.type(op, op.input.type)
    emitter.type(op, op.result.type)
    source, target = element_type_of(op.input.type), element_type_of(op.result.type)
    if NBYTES[target] <= NBYTES[source]:
        raise DiagnosticException(f"llvm: {op.name}: cannot extend {op.input.type} to {op.result.type}")
    lanes = lanes_of(op.input.type)
    emitter.values[op.result] = extend(
        emitter, emitter.values[op.input], source, target, lanes, op.result.name_hint
    )


def _truncf(emitter: Emitter, op: arith.TruncFOp) -> None:
    emitter.type(op, op.input.type)
    emitter.type(op, op.result.type)
    source, target = element_type_of(op.input.type), element_type_of(op.result.type)
    if NBYTES[target] >= NBYTES[source]:
        raise DiagnosticException(f"llvm: {op.name}: cannot truncate {op.input.type} to {op.result.type}")
    lanes = lanes_of(op.input.type)
    emitter.values[op.result] = truncate(
        emitter, emitter.values[op.input], source, target, lanes, op.result.name_hint
    )


_INTEGER_CONVERSIONS = {Conversion.EXTSI: "sext", Conversion.EXTUI: "zext", Conversion.TRUNCI: "trunc"}


def _convert(emitter: Emitter, op: ConvertOp) -> None:
    kind = op.conversion.data
    source, target = emitter.type(op, op.source.type), emitter.type(op, op.result.type)
    value, lanes = emitter.values[op.source], lanes_of(op.source.type)
    element = element_type_of(op.source.type)
    match kind:
        case Conversion.SITOFP | Conversion.UITOFP:
            integer, target_element = llvm_type(element), element_type_of(op.result.type)
            assert integer is not None, f"{op.name}: no LLVM type for {element}"
            emitter.values[op.result] = from_integer(
                emitter, value, kind.value, integer, target_element, lanes, op.result.name_hint
            )
        case Conversion.FPTOSI | Conversion.FPTOUI:
            if is_narrow_float(element):
                value, element = extend(emitter, value, element, f32, lanes), f32
            integer = llvm_type(element_type_of(op.result.type))
            assert integer is not None, f"{op.name}: no LLVM type for {op.result.type}"
            emitter.define(op.result, to_integer(emitter, value, kind.value, element, integer, lanes))
        case _:
            emitter.define(op.result, f"{_INTEGER_CONVERSIONS[kind]} {source} {value} to {target}")


def storage(op: Operation, type: Attribute) -> tuple[str, int]:
    """
    Returns the LLVM type of one element of a buffer, and its bytes.

    Raises:
        DiagnosticException: `type` has several dims, or its elements cannot be stored.
    """
    element = element_type_of(type)
    assert isinstance(type, MemRefType), f"{op.name}: {type} is not a buffer"
    name = llvm_type(element)
    if name is None or name == "i1" or element not in NBYTES or len(type.get_shape()) != 1:
        raise DiagnosticException(f"llvm: {op.name}: {type} is not a row of a storage type")
    return name, NBYTES[element]


def _address(emitter: Emitter, op: Any, buffer: SSAValue) -> tuple[str, int]:
    """Writes the address of the element that `op` names in `buffer`; returns it and its alignment."""
    element, nbytes = storage(op, buffer.type)
    (index,) = op.indices
    if op in emitter.stepped:
        pointer, offset = emitter.stepped[op]
        return pointer_at(emitter, element, pointer, str(offset)) if offset else pointer, nbytes
    if not emitter.hides_places:
        at = emitter.element_at(element, emitter.values[buffer], emitter.values[index])
        return at, nbytes
    offset = 0
    if isinstance(index.owner, arith.AddiOp):
        lhs, rhs = index.owner.operands
        number = constant_integer(rhs)
        if number is not None:
            index, offset = lhs, number
    place = emitter.places.get((buffer, index))
    if place is None:
        at = emitter.element_at(element, emitter.values[buffer], emitter.values[index])
        place = emitter.places[buffer, index] = emitter.opaque(at)
    return emitter.element_at(element, place, str(offset)) if offset else place, nbytes


def _is_nontemporal(op: Any) -> bool:
    nontemporal: object = op.nontemporal
    return isinstance(nontemporal, IntegerAttr) and nontemporal.value.data != 0


def _hint(op: Any) -> str:
    return ", !nontemporal !0" if _is_nontemporal(op) else ""


def _load(buffer_of: Callable[[Any], SSAValue]) -> Rule:
    def rule(emitter: Emitter, op: Any) -> None:
        result: SSAValue = op.results[0]
        type = emitter.type(op, result.type)
        address, alignment = _address(emitter, op, buffer_of(op))
        _prefetch(emitter, op, buffer_of(op), address)
        emitter.define(result, f"load {type}, ptr {address}, align {alignment}{_hint(op)}")

    return rule


def _prefetch(emitter: Emitter, op: Operation, buffer: SSAValue, address: str) -> None:
    """Fetches the element that a load at `address` names, for reading."""
    distance = prefetch_distance(op)
    if distance is None:
        return
    element, _ = storage(op, buffer.type)
    # Not inbounds: it may be outside of the buffer.
    ahead = emitter.emit(f"getelementptr {element}, ptr {address}, i64 {distance}", "ahead")
    emitter.prefetch(ahead, prefetch_level(op))


def _store(value_of: Callable[[Any], SSAValue], buffer_of: Callable[[Any], SSAValue]) -> Rule:
    def rule(emitter: Emitter, op: Any) -> None:
        value = value_of(op)
        type = emitter.type(op, value.type)
        address, alignment = _address(emitter, op, buffer_of(op))
        stored = f"  store {type} {emitter.values[value]}, ptr {address}, align"
        if _is_nontemporal(op):
            _write_streamed(emitter, stored, address, alignment, (lanes_of(value.type) or 1) * alignment)
        else:
            emitter.lines.append(f"{stored} {alignment}")

    return rule


def _write_streamed(emitter: Emitter, stored: str, address: str, alignment: int, nbytes: int) -> None:
    """
    Writes a store of so many bytes that passes the caches by. Processors have such for vectors that begin at
    a multiple of their size; one that does not, which is known when it runs, is stored as any other.
    """
    whole = min(nbytes, ALIGNMENT)
    if whole & (whole - 1):
        emitter.lines.append(f"{stored} {alignment}")
        return
    place = emitter.emit(f"ptrtoint ptr {address} to i64", "place")
    rest = emitter.emit(f"and i64 {place}, {whole - 1}", "rest")
    is_whole = emitter.emit(f"icmp eq i64 {rest}, 0", "is_whole")

    def stream() -> list[str]:
        emitter.streams = True
        emitter.lines.append(f"{stored} {whole}, !nontemporal !0")
        return []

    def store() -> list[str]:
        emitter.lines.append(f"{stored} {alignment}")
        return []

    emitter.write_either(is_whole, [], stream, store)


def _alloca(emitter: Emitter, op: AllocaOp) -> None:
    element, nbytes = storage(op, op.type)
    emitter.type(op, element_type_of(op.type))
    (count,) = op.type.get_shape()
    name = op.memref.name_hint
    emitter.values[op.memref] = emitter.private_memory(op, element, nbytes, count, name)


def _broadcast(emitter: Emitter, op: vector.BroadcastOp) -> None:
    element, lanes = emitter.type(op, op.source.type), lanes_of(op.vector.type)
    emitter.type(op, op.vector.type)
    assert lanes is not None, f"{op.name}: makes no vector"
    value = emitter.values[op.source]
    emitter.values[op.vector] = emitter.in_all_lanes(element, value, lanes, op.vector.name_hint)


_INTEGER_COMBINERS: dict[CombiningKindFlag, tuple[str, str]] = {
    CombiningKindFlag.ADD: ("add", "add"),
    CombiningKindFlag.MUL: ("mul", "mul"),
    CombiningKindFlag.AND: ("and", "and"),
    CombiningKindFlag.OR: ("or", "or"),
    CombiningKindFlag.XOR: ("xor", "xor"),
    CombiningKindFlag.MINSI: ("smin", ""),
    CombiningKindFlag.MAXSI: ("smax", ""),
    CombiningKindFlag.MINUI: ("umin", ""),
    CombiningKindFlag.MAXUI: ("umax", ""),
}
"""The suffix of the reduction's intrinsic, and the instruction; none where an intrinsic combines too."""

_FLOAT_INSTRUCTIONS = {CombiningKindFlag.ADD: "fadd", CombiningKindFlag.MUL: "fmul"}
_FLOAT_EXTREMA = {
    CombiningKindFlag.MAXIMUMF: ("fmaximum", "maximum"),
    CombiningKindFlag.MINIMUMF: ("fminimum", "minimum"),
}


def _reduction(emitter: Emitter, op: vector.ReductionOp) -> None:
    kind = op.kind.data
    is_float_kind = kind in _FLOAT_INSTRUCTIONS or kind in _FLOAT_EXTREMA
    if is_float(op.dest.type) and is_float_kind:
        _float_reduction(emitter, op)
    elif not is_float(op.dest.type) and kind in _INTEGER_COMBINERS:
        _integer_reduction(emitter, op)
    else:
        raise DiagnosticException(f"llvm: {op.name}: no rule for {kind.value} of {op.vector.type}")


def _float_reduction(emitter: Emitter, op: vector.ReductionOp) -> None:
    kind, flags = op.kind.data, _flags(op)
    element, type = _float_type(emitter, op, op.dest.type), emitter.type(op, op.vector.type)
    lanes = emitter.values[op.vector]
    accumulator = None if op.acc is None else emitter.values[op.acc]
    if kind in _FLOAT_INSTRUCTIONS:
        instruction = f"{_FLOAT_INSTRUCTIONS[kind]} {flags}"
        _halve(emitter, op, instruction, element)
        return
    name, combiner = _FLOAT_EXTREMA[kind]
    reduced = emitter.call(f"vector.reduce.{name}.{mangled(type)}", element, [(type, lanes)], flags)
    if accumulator is None:
        emitter.define(op.dest, reduced)
    else:
        operands = [accumulator, emitter.emit(reduced)]
        emitter.define(op.dest, emitter.call_same_type(combiner, element, operands, flags))


def _halve(emitter: Emitter, op: vector.ReductionOp, instruction: str, element: str) -> None:
    """Combines the upper half of the lanes into the lower half until one is left, then the accumulator."""
    value, width = emitter.values[op.vector], lanes_of(op.vector.type)
    assert width is not None
    while width > 1:
        type, half = f"<{width} x {element}>", width // 2
        halves: list[str] = []
        for first in (0, half):
            mask = ", ".join(f"i32 {lane}" for lane in range(first, first + half))
            halves.append(
                emitter.emit(f"shufflevector {type} {value}, {type} poison, <{half} x i32> <{mask}>")
            )
        value, width = emitter.emit(f"{instruction}<{half} x {element}> {', '.join(halves)}"), half
    total = f"extractelement <1 x {element}> {value}, i64 0"
    if op.acc is None:
        emitter.define(op.dest, total)
    else:
        operands = [emitter.values[op.acc], emitter.emit(total)]
        emitter.define(op.dest, f"{instruction}{element} {', '.join(operands)}")


def _reverse(emitter: Emitter, op: ReverseOp) -> None:
    type, lanes = emitter.type(op, op.result.type), lanes_of(op.result.type) or 1
    order = ", ".join(f"i32 {lane}" for lane in reversed(range(lanes)))
    vector = emitter.values[op.source]
    emitter.define(op.result, f"shufflevector {type} {vector}, {type} poison, <{lanes} x i32> <{order}>")


def _transpose(emitter: Emitter, op: TransposeOp) -> None:
    row = op.columns[0].type
    rows = [emitter.values[value] for value in op.rows]
    columns = transposed(emitter, emitter.type(op, row), rows, NBYTES[element_type_of(row)])
    emitter.values.update(zip(op.columns, columns, strict=True))


def _integer_reduction(emitter: Emitter, op: vector.ReductionOp) -> None:
    name, instruction = _INTEGER_COMBINERS[op.kind.data]
    element, type = emitter.type(op, op.dest.type), emitter.type(op, op.vector.type)
    reduced = emitter.call(
        f"vector.reduce.{name}.{mangled(type)}", element, [(type, emitter.values[op.vector])]
    )
    if op.acc is None:
        emitter.define(op.dest, reduced)
        return
    operands = [emitter.values[op.acc], emitter.emit(reduced)]
    if instruction:
        emitter.define(op.dest, f"{instruction} {element} {', '.join(operands)}")
    else:
        emitter.define(op.dest, emitter.call_same_type(name, element, operands))


def _for(emitter: Emitter, op: scf.ForOp) -> None:
    index, *arguments = op.body.block.args
    values = emitter.values
    reciprocals = write_reciprocals(emitter, op)
    places = stepped_places(emitter, op)
    elements = [storage(op, place.buffer.type)[0] for place in places]
    begins = [
        first_pointer(emitter, op, place, element) for place, element in zip(places, elements, strict=True)
    ]
    loop = emitter.begin_loop(
        index.name_hint,
        emitter.type(op, index.type),
        values[op.lb],
        values[op.ub],
        [
            (argument.name_hint, emitter.type(op, argument.type), values[initial])
            for argument, initial in zip(arguments, op.iter_args, strict=True)
        ]
        + [("place", "ptr", begin) for place, begin in zip(places, begins, strict=True) if place.is_carried],
        _repeats(op) if emitter.has_tiles else None,
    )
    values[index] = loop.index
    carried, pointers = loop.carried[: len(arguments)], loop.carried[len(arguments) :]
    values.update(zip(arguments, carried, strict=True))
    waiting, stepped = iter(pointers), list[str]()
    for place, element, begin in zip(places, elements, begins, strict=True):
        if place.is_carried:
            pointer = next(waiting)
            stepped.append(next_pointer(emitter, op, place, element, pointer))
        else:
            pointer = pointer_at(emitter, element, begin, loop.index)
        emitter.stepped.update({access: (pointer, offset) for access, offset in place.accesses.items()})
    yielded = [*emitter.write_block(op.body.block), *stepped]
    emitter.end_loop(loop, values[op.step], yielded)
    values.update(zip(op.res, carried, strict=True))
    emitter.reciprocals = reciprocals


def _repeats(op: scf.ForOp) -> int | None:
    """
    Returns how often a loop runs, at most, None where that is not known. Beside a tile LLVM is told: it takes
    loops in loops for longer, and keeps what they use in registers that the sums of the tile need.
    """
    lower, upper, step = (constant_integer(value) for value in (op.lb, op.ub, op.step))
    if upper is None and isinstance(op.ub.owner, arith.MinSIOp):
        upper = next((n for n in map(constant_integer, op.ub.owner.operands) if n is not None), None)
    if lower is None or upper is None or not step:
        return None
    return max(-(-(upper - lower) // step), 0)


def _while(emitter: Emitter, op: scf.WhileOp) -> None:
    before, body = op.before_region.block, op.after_region.block
    initial = [emitter.values[value] for value in op.arguments]
    types = [emitter.type(op, value.type) for value in op.arguments]
    emitter.write_while(before, body, initial, types, op.results)


def _if(emitter: Emitter, op: scf.IfOp) -> None:
    if has_rare_way(op):
        write_rare(emitter, op)
        return
    else_block = op.false_region.blocks.first
    results = [(result, emitter.type(op, result.type)) for result in op.output]
    emitter.write_if(emitter.values[op.cond], op.true_region.block, else_block, results)


def _block_id(emitter: Emitter, op: BlockIdOp) -> None:
    emitter.values[op.result] = emitter.block_ids[op.dimension.data]


def _thread_id(emitter: Emitter, op: ThreadIdOp) -> None:
    emitter.values[op.result] = emitter.thread_ids[op.dimension.data]


def _barrier(emitter: Emitter, op: BarrierOp) -> None:
    block = list(emitter.kernel.block_dims.data)
    if prod(block) != 1:
        raise DiagnosticException(
            f"llvm: {op.name} needs a block of one work-item "
            f"(kernel @{emitter.kernel.sym_name.data} has block {block})"
        )


RULES: dict[type[Operation], Rule] = {
    scf.ForOp: _for,
    scf.IfOp: _if,
    scf.WhileOp: _while,
    memref.LoadOp: _load(lambda op: op.memref),
    memref.StoreOp: _store(lambda op: op.value, lambda op: op.memref),
    AllocaOp: _alloca,
    AtomicRmwOp: write_atomic_rmw,
    vector.LoadOp: _load(lambda op: op.base),
    vector.StoreOp: _store(lambda op: op.vector, lambda op: op.base),
    vector.BroadcastOp: _broadcast,
    vector.ReductionOp: _reduction,
    arith.ConstantOp: _constant,
    arith.AddiOp: _wrapping_instruction("add"),
    arith.SubiOp: _wrapping_instruction("sub"),
    arith.MuliOp: _wrapping_instruction("mul"),
    arith.ShLIOp: _wrapping_instruction("shl"),
    arith.DivSIOp: _integer_instruction("sdiv"),
    arith.DivUIOp: _integer_instruction("udiv"),
    arith.RemSIOp: _integer_instruction("srem"),
    arith.RemUIOp: _integer_instruction("urem"),
    arith.AndIOp: _integer_instruction("and"),
    arith.OrIOp: _integer_instruction("or"),
    arith.XOrIOp: _integer_instruction("xor"),
    arith.ShRSIOp: _integer_instruction("ashr"),
    arith.ShRUIOp: _integer_instruction("lshr"),
    arith.MinSIOp: _integer_intrinsic("smin"),
    arith.MinUIOp: _integer_intrinsic("umin"),
    arith.MaxSIOp: _integer_intrinsic("smax"),
    arith.MaxUIOp: _integer_intrinsic("umax"),
    arith.CmpiOp: _cmpi,
    arith.AddfOp: _float_instruction("fadd"),
    arith.SubfOp: _float_instruction("fsub"),
    arith.MulfOp: _float_instruction("fmul"),
    arith.DivfOp: _divf,
    arith.NegfOp: _float_instruction("fneg"),
    arith.MaximumfOp: _extremum("maximum"),
    arith.MinimumfOp: _extremum("minimum"),
    arith.CmpfOp: _cmpf,
    arith.BitcastOp: _bitcast,
    arith.ExtFOp: _extf,
    arith.TruncFOp: _truncf,
    arith.IndexCastOp: _index_cast,
    math.AbsFOp: _float_intrinsic("fabs"),
    math.SqrtOp: _float_intrinsic("sqrt"),
    math.FloorOp: _float_intrinsic("floor"),
    math.CeilOp: _float_intrinsic("ceil"),
    math.TruncOp: _float_intrinsic("trunc"),
    math.RoundEvenOp: _float_intrinsic("roundeven"),
    math.CopySignOp: _float_intrinsic("copysign"),
    math.FmaOp: _fma,
    BlockIdOp: _block_id,
    ThreadIdOp: _thread_id,
    BarrierOp: _barrier,
    SelectOp: _select,
    TileFmaOp: write_tile_fma,
    ReverseOp: _reverse,
    TransposeOp: _transpose,
    ConvertOp: _convert,
    RemfOp: _remf,
    LdexpOp: write_ldexp,
}
"""Every op of `low.BODY_OPS` but the terminator and the ones that `expand-math` replaces."""

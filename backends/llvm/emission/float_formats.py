"""
Conversions between float formats, rounded once, to nearest even.

What a processor has no instruction for, LLVM turns into calls of routines that a JIT does not have. So bf16,
the floats of 8 bits and, on processors that do not convert it, f16 are converted by integer arithmetic on
their bits, and f64 goes to narrow floats through f32 rounded to odd: with more than two bits to spare, the
second rounding then gives what one rounding would have.
"""

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import Attribute

from ....dialects.element_types import is_narrow_float
from ....dialects.float_layout import LAYOUTS, Rounding
from .emitter import Emitter
from .types import mangled, shaped, splat


def extend(
    emitter: Emitter,
    value: str,
    source: Attribute,
    target: Attribute,
    lanes: int | None,
    hint: str | None = None,
) -> str:
    """Returns `value`, of float type `source`, as the wider type `target`."""
    single_hint = hint if target == f32 else None
    if source == bf16:
        wide, narrow = shaped("i32", lanes), shaped("i16", lanes)
        bits = emitter.emit(f"zext {narrow} {value} to {wide}")
        high = emitter.emit(f"shl {wide} {bits}, {splat('16', 'i32', lanes)}")
        value = emitter.emit(f"bitcast {wide} {high} to {shaped('float', lanes)}", single_hint)
    elif source == f16 and emitter.processor.converts_f16:
        value = emitter.emit(
            f"fpext {shaped('half', lanes)} {value} to {shaped('float', lanes)}", single_hint
        )
    elif is_narrow_float(source):
        value = _extend_by_bits(emitter, value, source, lanes, single_hint)
    if is_narrow_float(target):
        return truncate(emitter, value, f32, target, lanes, hint)
    if target == f64:
        value = emitter.emit(f"fpext {shaped('float', lanes)} {value} to {shaped('double', lanes)}", hint)
    return value


def truncate(
    emitter: Emitter,
    value: str,
    source: Attribute,
    target: Attribute,
    lanes: int | None,
    hint: str | None = None,
) -> str:
    """Returns `value`, of float type `source`, rounded to the narrower type `target`."""
    single, double = shaped("float", lanes), shaped("double", lanes)
    if source == f64 and target == f32:
        return emitter.emit(f"fptrunc {double} {value} to {single}", hint)
    if source == f64:
        value = _round_to_odd(emitter, value, lanes)
    elif is_narrow_float(source):
        value = extend(emitter, value, source, f32, lanes)
    if target == f16 and emitter.processor.converts_f16:
        return emitter.emit(f"fptrunc {single} {value} to {shaped('half', lanes)}", hint)
    if target == bf16:
        return _round_to_bf16(emitter, value, lanes, hint)
    return _round_by_bits(emitter, value, target, lanes, hint)


def _round_to_odd(emitter: Emitter, value: str, lanes: int | None) -> str:
    """Returns the f64 `value` as f32: itself if exact, else the neighbour whose last bit is set."""
    single, double = shaped("float", lanes), shaped("double", lanes)
    i32, i1 = shaped("i32", lanes), shaped("i1", lanes)
    one, zero = splat("1", "i32", lanes), splat("0", "i32", lanes)
    nearest = emitter.emit(f"fptrunc {double} {value} to {single}", "nearest")
    back = emitter.emit(f"fpext {single} {nearest} to {double}")
    magnitude = emitter.emit(emitter.call_same_type("fabs", double, [value]))
    back_magnitude = emitter.emit(emitter.call_same_type("fabs", double, [back]))
    inexact = emitter.emit(f"fcmp one {double} {back}, {value}", "inexact")
    away = emitter.emit(f"fcmp ogt {double} {back_magnitude}, {magnitude}", "away")
    bits = emitter.emit(f"bitcast {single} {nearest} to {i32}")
    last = emitter.emit(f"and {i32} {bits}, {one}")
    even = emitter.emit(f"icmp eq {i32} {last}, {zero}")
    adjust = emitter.emit(f"and {i1} {inexact}, {even}")
    step = emitter.emit(f"select {i1} {away}, {i32} {splat('-1', 'i32', lanes)}, {i32} {one}")
    odd_bits = emitter.emit(f"add {i32} {bits}, {step}")
    chosen = emitter.emit(f"select {i1} {adjust}, {i32} {odd_bits}, {i32} {bits}")
    return emitter.emit(f"bitcast {i32} {chosen} to {single}", "odd")


def _round_to_bf16(emitter: Emitter, value: str, lanes: int | None, hint: str | None) -> str:
    """Returns the f32 `value` as the bits of a bf16, to nearest even; a NaN stays one and becomes quiet."""
    single, i32, i1 = shaped("float", lanes), shaped("i32", lanes), shaped("i1", lanes)
    sixteen = splat("16", "i32", lanes)
    bits = emitter.emit(f"bitcast {single} {value} to {i32}")
    high = emitter.emit(f"lshr {i32} {bits}, {sixteen}")
    last = emitter.emit(f"and {i32} {high}, {splat('1', 'i32', lanes)}")
    half = emitter.emit(f"add {i32} {last}, {splat('32767', 'i32', lanes)}")
    sum = emitter.emit(f"add {i32} {bits}, {half}")
    rounded = emitter.emit(f"lshr {i32} {sum}, {sixteen}", "rounded")
    quiet = emitter.emit(f"or {i32} {high}, {splat('64', 'i32', lanes)}", "quiet")
    is_nan = emitter.emit(f"fcmp uno {single} {value}, {value}", "is_nan")
    chosen = emitter.emit(f"select {i1} {is_nan}, {i32} {quiet}, {i32} {rounded}")
    return emitter.emit(f"trunc {i32} {chosen} to {shaped('i16', lanes)}", hint)


def _round_by_bits(
    emitter: Emitter, value: str, target: Attribute, lanes: int | None, hint: str | None
) -> str:
    """Returns the f32 `value` as an f16 or as the bits of a float of 8 bits, as `Rounding` says."""
    single, i32, i1 = shaped("float", lanes), shaped("i32", lanes), shaped("i1", lanes)
    wide, narrow = LAYOUTS[f32], LAYOUTS[target]
    rounding = Rounding(wide, narrow)

    def number(value: int) -> str:
        return splat(str(value), "i32", lanes)

    bits = emitter.emit(f"bitcast {single} {value} to {i32}")
    magnitude = emitter.emit(f"and {i32} {bits}, {number(wide.sign - 1)}", "magnitude")
    high = emitter.emit(f"lshr {i32} {magnitude}, {number(rounding.shift)}")
    odd = emitter.emit(f"and {i32} {high}, {number(1)}")
    half = emitter.emit(f"add {i32} {odd}, {number(rounding.half - rounding.rebias)}")
    sum = emitter.emit(f"add {i32} {magnitude}, {half}")
    normal = emitter.emit(f"lshr {i32} {sum}, {number(rounding.shift)}", "normal")
    positive = emitter.emit(f"bitcast {i32} {magnitude} to {single}")
    magic = emitter.emit(f"bitcast {i32} {number(rounding.magic)} to {single}")
    raised = emitter.emit(f"fadd {single} {positive}, {magic}")
    raised_bits = emitter.emit(f"bitcast {single} {raised} to {i32}")
    subnormal = emitter.emit(f"sub {i32} {raised_bits}, {number(rounding.magic)}", "subnormal")
    is_small = emitter.emit(f"icmp ult {i32} {magnitude}, {number(rounding.least_normal)}")
    rounded = emitter.emit(f"select {i1} {is_small}, {i32} {subnormal}, {i32} {normal}", "rounded")
    overflows = emitter.emit(f"icmp uge {i32} {magnitude}, {number(rounding.overflow)}")
    limited = emitter.emit(f"select {i1} {overflows}, {i32} {number(narrow.least_special)}, {i32} {rounded}")
    is_nan = emitter.emit(f"icmp ugt {i32} {magnitude}, {number(wide.exponents)}", "is_nan")
    chosen = emitter.emit(f"select {i1} {is_nan}, {i32} {number(narrow.quiet_nan)}, {i32} {limited}")
    sign = emitter.emit(f"lshr {i32} {bits}, {number(wide.nbits - narrow.nbits)}")
    sign = emitter.emit(f"and {i32} {sign}, {number(narrow.sign)}", "sign")
    signed = emitter.emit(f"or {i32} {chosen}, {sign}")
    if target != f16:
        return emitter.emit(f"trunc {i32} {signed} to {shaped('i8', lanes)}", hint)
    short = emitter.emit(f"trunc {i32} {signed} to {shaped('i16', lanes)}")
    return emitter.emit(f"bitcast {shaped('i16', lanes)} {short} to {shaped('half', lanes)}", hint)


def _extend_by_bits(
    emitter: Emitter, value: str, source: Attribute, lanes: int | None, hint: str | None
) -> str:
    """Returns an f16 or a float of 8 bits as an f32; a subnormal becomes normal by a subtraction."""
    single, i32, i1 = shaped("float", lanes), shaped("i32", lanes), shaped("i1", lanes)
    wide, narrow = LAYOUTS[f32], LAYOUTS[source]
    shift, rebias = wide.n_mantissa_bits - narrow.n_mantissa_bits, wide.bias - narrow.bias
    least_normal = 1 - narrow.bias + wide.bias << wide.n_mantissa_bits

    def number(value: int) -> str:
        return splat(str(value), "i32", lanes)

    stored = shaped(f"i{narrow.nbits}", lanes)
    if source == f16:
        value = emitter.emit(f"bitcast {shaped('half', lanes)} {value} to {stored}")
    bits = emitter.emit(f"zext {stored} {value} to {i32}")
    low = emitter.emit(f"and {i32} {bits}, {number(narrow.sign - 1)}")
    magnitude = emitter.emit(f"shl {i32} {low}, {number(shift)}", "magnitude")
    normal = emitter.emit(f"add {i32} {magnitude}, {number(rebias << wide.n_mantissa_bits)}", "normal")
    special = emitter.emit(
        f"add {i32} {magnitude}, {number(wide.exponents - (narrow.exponents << shift))}", "special"
    )
    raised = emitter.emit(f"add {i32} {magnitude}, {number(least_normal)}")
    raised_float = emitter.emit(f"bitcast {i32} {raised} to {single}")
    least = emitter.emit(f"bitcast {i32} {number(least_normal)} to {single}")
    subnormal = emitter.emit(f"fsub {single} {raised_float}, {least}")
    subnormal_bits = emitter.emit(f"bitcast {single} {subnormal} to {i32}", "subnormal")
    is_small = emitter.emit(f"icmp ult {i32} {magnitude}, {number(1 << wide.n_mantissa_bits)}")
    finite = emitter.emit(f"select {i1} {is_small}, {i32} {subnormal_bits}, {i32} {normal}")
    is_special = emitter.emit(f"icmp uge {i32} {magnitude}, {number(narrow.least_special << shift)}")
    chosen = emitter.emit(f"select {i1} {is_special}, {i32} {special}, {i32} {finite}")
    sign = emitter.emit(f"and {i32} {bits}, {number(narrow.sign)}")
    sign = emitter.emit(f"shl {i32} {sign}, {number(wide.nbits - narrow.nbits)}", "sign")
    signed = emitter.emit(f"or {i32} {chosen}, {sign}")
    return emitter.emit(f"bitcast {i32} {signed} to {single}", hint)


def from_integer(
    emitter: Emitter,
    value: str,
    instruction: str,
    integer: str,
    target: Attribute,
    lanes: int | None,
    hint: str | None = None,
) -> str:
    """
    Returns `value`, of LLVM type `integer`, rounded to the float type `target`; `instruction` is sitofp or
    uitofp.
    """
    source = shaped(integer, lanes)
    single, double = shaped("float", lanes), shaped("double", lanes)
    if target == f64:
        return emitter.emit(f"{instruction} {source} {value} to {double}", hint)
    if target == f32:
        return emitter.emit(f"{instruction} {source} {value} to {single}", hint)
    if target != bf16:
        # f32 holds every integer up to 2^24, and larger ones overflow the other narrow floats already.
        wide = emitter.emit(f"{instruction} {source} {value} to {single}")
        return truncate(emitter, wide, f32, target, lanes, hint)
    if integer == "i64":
        value = _keep_53_bits(emitter, value, instruction == "uitofp", lanes)
    wide = emitter.emit(f"{instruction} {source} {value} to {double}")
    return truncate(emitter, wide, f64, target, lanes, hint)


def to_integer(
    emitter: Emitter, value: str, instruction: str, source: Attribute, integer: str, lanes: int | None
) -> str:
    """
    Returns `value`, an f32 or f64, cut to LLVM type `integer`, without writing that: what is out of its range
    is its nearest end, and NaN is 0. `instruction` is fptosi or fptoui.
    """
    element = "double" if source == f64 else "float"
    floats, target, i1 = shaped(element, lanes), shaped(integer, lanes), shaped("i1", lanes)
    if lanes is None:
        return emitter.call(
            f"{instruction}.sat.{mangled(integer)}.{mangled(floats)}", integer, [(floats, value)]
        )
    # The intrinsic does vectors lane by lane.
    is_signed = instruction == "fptosi"
    n_bits = int(integer[1:]) - is_signed
    lowest, end = -(1 << n_bits) if is_signed else 0, 1 << n_bits
    low, high = (splat(f"{bound}.0", element, lanes) for bound in (lowest, end))
    is_above_low = emitter.emit(f"fcmp oge {floats} {value}, {low}")
    is_below_high = emitter.emit(f"fcmp olt {floats} {value}, {high}")
    is_within = emitter.emit(f"and {i1} {is_above_low}, {is_below_high}")
    safe = emitter.emit(f"select {i1} {is_within}, {floats} {value}, {floats} zeroinitializer")
    result = emitter.emit(f"{instruction} {floats} {safe} to {target}")
    if is_signed:
        is_low = emitter.emit(f"fcmp olt {floats} {value}, {low}")
        ends = f"{target} {splat(str(lowest), integer, lanes)}, {target} {result}"
        result = emitter.emit(f"select {i1} {is_low}, {ends}")
    is_high = emitter.emit(f"fcmp oge {floats} {value}, {high}")
    return f"select {i1} {is_high}, {target} {splat(str(end - 1), integer, lanes)}, {target} {result}"


def _keep_53_bits(emitter: Emitter, value: str, is_unsigned: bool, lanes: int | None) -> str:
    """
    Returns an i64 that f64 holds exactly and that rounds to the same bf16 as `value`: a large one has
    its low 12 bits replaced by whether any of them is set.
    """
    i64, i1 = shaped("i64", lanes), shaped("i1", lanes)
    zero, limit = splat("0", "i64", lanes), splat(str(1 << 52), "i64", lanes)
    low = emitter.emit(f"and {i64} {value}, {splat('4095', 'i64', lanes)}")
    high = emitter.emit(f"and {i64} {value}, {splat('-4096', 'i64', lanes)}")
    any_low = emitter.emit(f"icmp ne {i64} {low}, {zero}")
    sticky = emitter.emit(f"select {i1} {any_low}, {i64} {splat('2048', 'i64', lanes)}, {i64} {zero}")
    short = emitter.emit(f"or {i64} {high}, {sticky}")
    magnitude = value
    if not is_unsigned:
        negated = emitter.emit(f"sub {i64} {zero}, {value}")
        is_negative = emitter.emit(f"icmp slt {i64} {value}, {zero}")
        magnitude = emitter.emit(f"select {i1} {is_negative}, {i64} {negated}, {i64} {value}")
    is_large = emitter.emit(f"icmp ugt {i64} {magnitude}, {limit}")
    return emitter.emit(f"select {i1} {is_large}, {i64} {short}, {i64} {value}")

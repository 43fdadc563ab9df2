"""
The functions in front of the kernels, for what OpenCL C has no operator for.

Each is written once for scalars and vectors alike, in plain arithmetic: builtins for rounding, maximum and
saturating conversion differ in NaN, in signed zeros or at the limits, and on CPUs they are often calls that
are not inlined. A helper's name says what it does and on what: `tenon_maximum_f32x8`.
"""

from __future__ import annotations

from string import Template

from .names import HELPER_PREFIX
from .types import MASK_ELEMENTS, NBITS, UNSIGNED, vector_type

_SHORT = {"float": "f32", "double": "f64", "char": "i8", "short": "i16", "int": "i32", "long": "i64"}

_MANTISSA_NBITS = {"float": 23, "double": 52}

_MAXIMUM = Template("""\
$F $name($F a, $F b) {
    $F larger = a > b ? a : b;
    $F equal = as_$F(as_$I(a) & as_$I(b));
    return a == b ? equal : (a == a ? larger : a);
}
""")
"""NaN wins: an ordered comparison with a NaN in `b` is false and picks `b`. -0.0 & +0.0 is +0.0."""

_MINIMUM = Template("""\
$F $name($F a, $F b) {
    $F smaller = a < b ? a : b;
    $F equal = as_$F(as_$I(a) | as_$I(b));
    return a == b ? equal : (a == a ? smaller : a);
}
""")

_ROUND = {
    "roundeven": "",
    "floor": "    rounded = rounded > x ? rounded - one : rounded;\n",
    "ceil": "    rounded = rounded < x ? rounded + one : rounded;\n",
}
"""What follows once `rounded` is `x` rounded to the nearest integer, the even one of two."""

_ROUND_TEMPLATE = Template("""\
$F $name($F x) {
    const $F one = ($F)(1);
    const $F whole = ($F)($whole);
    $U sign = as_$U(x) & ($U)($sign);
    $F magnitude = as_$F(as_$U(x) ^ sign);
    $F nearest = (magnitude + whole) - whole;
    $F rounded = as_$F(as_$U(nearest) | sign);
${adjust}    rounded = as_$F(as_$U(rounded) | sign);
    return magnitude < whole ? rounded : x;
}
""")
"""Adding 2^23 (2^52) drops the fraction; numbers from there on are whole. The sign of a zero is that of x."""

_TRUNC = Template("""\
$F $name($F x) {
    const $F one = ($F)(1);
    const $F whole = ($F)($whole);
    $U sign = as_$U(x) & ($U)($sign);
    $F magnitude = as_$F(as_$U(x) ^ sign);
    $F nearest = (magnitude + whole) - whole;
    $F below = nearest > magnitude ? nearest - one : nearest;
    return magnitude < whole ? as_$F(as_$U(below) | sign) : x;
}
""")

_COPYSIGN = Template("""\
$F $name($F magnitude, $F sign) {
    const $U bit = ($U)($sign);
    return as_$F((as_$U(magnitude) & ~bit) | (as_$U(sign) & bit));
}
""")

_MULADD = Template("""\
$F $name($F a, $F b, $F c) {
    #pragma OPENCL FP_CONTRACT ON
    return a * b + c;
}
""")
"""Contracts where the device gains by it."""

_DIVISION = {
    "divsi": "b == zero ? zero : (b == minus_one ? $negated : a / divisor)",
    "remsi": "(b == zero) | (b == minus_one) ? zero : a % divisor",
}

_SIGNED_DIVISION = Template("""\
$I $name($I a, $I b) {
    const $I zero = ($I)(0), minus_one = ($I)(-1);
    $I divisor = (b == zero) | (b == minus_one) ? ($I)(1) : b;
    return $quotient;
}
""")
"""By zero gives 0 and by -1 wraps, instead of a trap."""

_UNSIGNED_DIVISION = Template("""\
$I $name($I a, $I b) {
    $U divisor = b == ($I)(0) ? ($U)(1) : $b;
    return b == ($I)(0) ? ($I)(0) : $quotient;
}
""")

_FLOAT_TO_INTEGER = Template("""\
$D $name($F x) {
    $M is_low = x < ($F)($low), is_high = x >= ($F)($high);
    $F inside = (x == x) & !is_low & !is_high ? x : ($F)(0);
    $D converted = convert_$D(inside);
    return $is_low ? ($D)($lowest) : ($is_high ? ($D)($highest) : converted);
}
""")

_HALF_TO_FLOAT = Template("""\
$F $name($H bits) {
    $U wide = convert_$U(bits);
    $U sign = (wide & ($U)(0x8000)) << ($U)(16);
    $U magnitude = (wide & ($U)(0x7fff)) << ($U)(13);
    $U normal = magnitude + ($U)(0x38000000);
    $U special = magnitude + ($U)(0x70000000);
    $U subnormal = as_$U(as_$F(magnitude + ($U)(0x38800000)) - ($F)(0x1p-14f));
    $U value = magnitude >= ($U)(0x0f800000) ? special : (magnitude >= ($U)(0x00800000) ? normal : subnormal);
    return as_$F(value | sign);
}
""")

_BFLOAT_TO_FLOAT = Template("""\
$F $name($H bits) {
    return as_$F(convert_$U(bits) << ($U)(16));
}
""")

_ROUND_TO_HALF = Template("""\
$H $name($F x) {
    $U sign = as_$U(x) & ($U)($sign);
    $U magnitude = as_$U(x) ^ sign;
    $U odd = (magnitude >> ($U)($shift)) & ($U)(1);
    $U normal = (magnitude - ($U)($bias) + ($U)($half) + odd) >> ($U)($shift);
    $U subnormal = as_$U(as_$F(magnitude) + as_$F(($U)($magic))) - ($U)($magic);
    $U quiet = ($U)($quiet) | ((magnitude >> ($U)($shift)) & ($U)($payload));
    $U value = magnitude < ($U)($least_normal) ? subnormal : normal;
    value = magnitude >= ($U)($overflow) ? ($U)($infinity) : value;
    value = magnitude > ($U)($nan) ? quiet : value;
    return convert_$H(value | (sign >> ($U)($sign_shift)));
}
""")
"""Rounds once, to nearest even. A carry out of the mantissa is right, up to infinity; adding a number whose
last bit is worth the least subnormal rounds the subnormals."""

_REMAINDER = Template("""\
$F $name($F a, $F b) {
    const $U mantissa = ($U)($mantissa), hidden = ($U)($hidden);
    $U sign = as_$U(a) & ($U)($sign);
    $U x = as_$U(a) ^ sign, y = as_$U(b) & ~($U)($sign);
    if (x >= ($U)($infinity) || y > ($U)($infinity) || y == 0)
        return as_$F(($U)($nan));
    if (x < y)
        return a;
    int x_exponent = (int)(x >> $nbits), y_exponent = (int)(y >> $nbits);
    ulong rest = x_exponent ? (x & mantissa) | hidden : x;
    const ulong divisor = y_exponent ? (y & mantissa) | hidden : y;
    x_exponent = x_exponent ? x_exponent : 1;
    y_exponent = y_exponent ? y_exponent : 1;
    rest %= divisor;
    for (int left = x_exponent - y_exponent; left > 0 && rest; left -= $step)
        rest = (rest << (left < $step ? left : $step)) % divisor;
    if (!rest)
        return as_$F(sign);
    int room = (int)clz(rest) - $leading;
    room = room < y_exponent - 1 ? room : y_exponent - 1;
    return as_$F((($U)(rest << room) + (($U)(y_exponent - 1 - room) << $nbits)) | sign);
}
""")
"""Long division of the mantissas, as many bits at a time as an unsigned long has to spare: exact."""


class Helpers:
    """The helpers that one source text needs, in the order they were first asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self) -> str:
        return "\n".join(self._texts.values())

    def maximum(self, element: str, lanes: int | None) -> str:
        """Returns the name of the function; so do the others."""
        return self._float("maximum", _MAXIMUM, element, lanes)

    def minimum(self, element: str, lanes: int | None) -> str:
        return self._float("minimum", _MINIMUM, element, lanes)

    def rounding(self, kind: str, element: str, lanes: int | None) -> str:
        """`kind` is floor, ceil, trunc or roundeven."""
        template = _TRUNC if kind == "trunc" else _ROUND_TEMPLATE
        return self._float(kind, template, element, lanes, adjust=_ROUND.get(kind, ""))

    def copysign(self, element: str, lanes: int | None) -> str:
        return self._float("copysign", _COPYSIGN, element, lanes)

    def muladd(self, element: str, lanes: int | None) -> str:
        return self._float("muladd", _MULADD, element, lanes)

    def remainder(self, element: str, lanes: int | None) -> str:
        nbits = _MANTISSA_NBITS[element]
        width = NBITS[element]
        exponents = (1 << width - 1) - (1 << nbits)
        scalar = self._float(
            "remf",
            _REMAINDER,
            element,
            None,
            nbits=str(nbits),
            mantissa=_hex((1 << nbits) - 1, element),
            hidden=_hex(1 << nbits, element),
            infinity=_hex(exponents, element),
            nan=_hex(exponents | 1 << nbits - 1, element),
            step=str(63 - nbits),
            leading=str(63 - nbits),
        )
        if lanes is None:
            return scalar
        calls = ", ".join(f"{scalar}(a.s{lane:x}, b.s{lane:x})" for lane in range(lanes))
        lane_by_lane = Template(f"$F $name($F a, $F b) {{\n    return ($F)({calls});\n}}\n")
        return self._float("remf", lane_by_lane, element, lanes)

    def division(self, kind: str, element: str, lanes: int | None) -> str:
        """`kind` is divsi, divui, remsi or remui; division by zero gives 0."""
        name = _name(kind, element, lanes)
        if name in self._texts:
            return name
        signed, unsigned = vector_type(element, lanes), vector_type(UNSIGNED[element], lanes)
        is_narrow = lanes is None and NBITS[element] < 32
        if kind in _DIVISION:
            negated = f"({signed})(-a)" if is_narrow else f"as_{signed}(({unsigned})(0) - as_{unsigned}(a))"
            quotient = Template(_DIVISION[kind]).substitute(negated=negated)
            text = _SIGNED_DIVISION.substitute(name=name, I=signed, quotient=quotient)
        else:
            operator = "/" if kind == "divui" else "%"
            a, b = (f"as_{unsigned}({operand})" for operand in "ab")
            quotient = f"{a} {operator} divisor"
            quotient = f"({signed})({quotient})" if is_narrow else f"as_{signed}({quotient})"
            text = _UNSIGNED_DIVISION.substitute(name=name, I=signed, U=unsigned, b=b, quotient=quotient)
        self._texts[name] = text
        return name

    def float_to_integer(self, source: str, target: str, lanes: int | None) -> str:
        """Towards zero, saturating, NaN to 0. `target` may be signed or unsigned and is what is returned."""
        is_signed = target in UNSIGNED
        nbits = NBITS[target if is_signed else target[1:]]
        kind = f"{_SHORT[source]}_to_{'' if is_signed else 'u'}i"
        name = f"{HELPER_PREFIX}{kind}{nbits}{_lane_suffix(lanes)}"
        if name in self._texts:
            return name
        low, high = (-(1 << nbits - 1), 1 << nbits - 1) if is_signed else (0, 1 << nbits)
        mask = MASK_ELEMENTS[source]
        wide_mask = target if is_signed else target[1:]
        cast = "" if lanes is None or mask == wide_mask else f"convert_{wide_mask}{lanes}"
        exponent = high.bit_length() - 1
        suffix = "f" if source == "float" else ""
        text = _FLOAT_TO_INTEGER.substitute(
            name=name,
            F=vector_type(source, lanes),
            D=vector_type(target, lanes),
            M=vector_type(mask, lanes),
            low=f"-0x1p{exponent}{suffix}" if is_signed else f"0.0{suffix}",
            high=f"0x1p{exponent}{suffix}",
            is_low=f"{cast}(is_low)" if cast else "is_low",
            is_high=f"{cast}(is_high)" if cast else "is_high",
            lowest=_lowest(low, nbits),
            highest=_unsigned_suffix(high - 1, nbits, is_signed),
        )
        self._texts[name] = text
        return name

    def half_to_float(self, kind: str, lanes: int | None) -> str:
        """From the bits of `kind`, f16 or bf16, to float. Exact."""
        name = f"{HELPER_PREFIX}{kind}_to_f32{_lane_suffix(lanes)}"
        template = _HALF_TO_FLOAT if kind == "f16" else _BFLOAT_TO_FLOAT
        if name not in self._texts:
            self._texts[name] = template.substitute(
                name=name,
                F=vector_type("float", lanes),
                H=vector_type("ushort", lanes),
                U=vector_type("uint", lanes),
            )
        return name

    def round_to_half(self, source: str, kind: str, lanes: int | None) -> str:
        """From `source`, float or double, to the bits of `kind`, f16 or bf16."""
        name = f"{HELPER_PREFIX}{_SHORT[source]}_to_{kind}{_lane_suffix(lanes)}"
        if name in self._texts:
            return name
        width, nbits = NBITS[source], _MANTISSA_NBITS[source]
        kind_nbits, kind_exponents = (10, 5) if kind == "f16" else (7, 8)
        source_bias = (1 << width - nbits - 2) - 1
        kind_bias = (1 << kind_exponents - 1) - 1
        shift = nbits - kind_nbits
        infinity = ((1 << kind_exponents) - 1) << kind_nbits
        # of the number whose last mantissa bit is worth the least subnormal of `kind`
        magic_exponent = 1 - kind_bias - kind_nbits + nbits
        magic = max(magic_exponent + source_bias, 1) << nbits
        overflow = min(kind_bias + 1 + source_bias, (1 << width - nbits - 1) - 1) << nbits
        least_normal = max(1 - kind_bias + source_bias, 0) << nbits
        if source == "float" and kind == "bf16":
            # the exponents are the same: rounding the bits rounds subnormals too
            least_normal = 0
        self._texts[name] = _ROUND_TO_HALF.substitute(
            name=name,
            F=vector_type(source, lanes),
            H=vector_type("ushort", lanes),
            U=vector_type("uint" if source == "float" else "ulong", lanes),
            sign=_hex(1 << width - 1, source),
            shift=str(shift),
            bias=_hex((source_bias - kind_bias) << nbits, source),
            half=_hex((1 << shift - 1) - 1, source),
            magic=_hex(magic, source),
            quiet=f"{infinity | 1 << kind_nbits - 1:#x}",
            payload=f"{(1 << kind_nbits) - 1:#x}",
            least_normal=_hex(least_normal, source),
            overflow=_hex(overflow, source),
            infinity=f"{infinity:#x}",
            nan=_hex(((1 << width - nbits - 1) - 1) << nbits, source),
            sign_shift=str(width - 16),
        )
        return name

    def _float(self, kind: str, template: Template, element: str, lanes: int | None, **more: str) -> str:
        name = _name(kind, element, lanes)
        if name not in self._texts:
            mask = MASK_ELEMENTS[element]
            arguments = {
                "name": name,
                "F": vector_type(element, lanes),
                "I": vector_type(mask, lanes),
                "U": vector_type(UNSIGNED[mask], lanes),
                "sign": _hex(1 << NBITS[element] - 1, element),
                "whole": f"0x1p{_MANTISSA_NBITS[element]}{'f' if element == 'float' else ''}",
            }
            self._texts[name] = template.substitute(arguments, **more)
        return name


def _name(kind: str, element: str, lanes: int | None) -> str:
    return f"{HELPER_PREFIX}{kind}_{_SHORT[element]}{_lane_suffix(lanes)}"


def _lane_suffix(lanes: int | None) -> str:
    return "" if lanes is None else f"x{lanes}"


def _hex(bits: int, element: str) -> str:
    return f"{bits:#x}{'UL' if NBITS[element] == 64 else 'u'}"


def _lowest(low: int, nbits: int) -> str:
    if nbits < 32 or low == 0:
        return str(low)
    return f"{low + 1}{'L' if nbits == 64 else ''} - 1"


def _unsigned_suffix(value: int, nbits: int, is_signed: bool) -> str:
    return f"{value}{'' if is_signed else 'U'}{'L' if nbits == 64 else ''}"

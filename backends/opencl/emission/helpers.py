"""
The functions in front of the kernels, for what OpenCL C has no operator for.

Each is written once for scalars and vectors alike, in plain arithmetic: builtins for rounding, maximum and
saturating conversion differ in NaN, in signed zeros or at the limits, and on CPUs they are often calls that
are not inlined, even those that load and store vectors. A helper's name says what it does and on what:
`tenon_maximum_f32x8`.
"""

from __future__ import annotations

from string import Template

from xdsl.dialects.builtin import bf16, f32, f64
from xdsl.ir import Attribute

from ....dialects.float_layout import LAYOUTS, Rounding
from .names import HELPER_PREFIX
from .types import MASK_ELEMENTS, NBITS, SCALARS, UNSIGNED, nbytes_of, vector_type

_SHORT = {"float": "f32", "double": "f64", "char": "i8", "short": "i16", "int": "i32", "long": "i64"}

_LAYOUTS = {"float": LAYOUTS[f32], "double": LAYOUTS[f64]}

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

_ABS = Template("""\
$F $name($F x) {
    return as_$F(as_$U(x) & ~($U)($sign));
}
""")

_SQRT = Template("""\
$F $name($F x) {
#ifdef __x86_64__
    return $on_processor;
#else
    return sqrt(x);
#endif
}
""")
"""On processors the compiler's own builtin is one instruction, where OpenCL's is a call."""

_FMA = Template("""\
$F $name($F a, $F b, $F c) {
#if defined(__FMA__) || defined(__aarch64__)
    #pragma OPENCL FP_CONTRACT ON
    return a * b + c;
#else
    return fma(a, b, c);
#endif
}
""")
"""PoCL calls a function for the builtin; where the processor has the instruction, it contracts to that."""

_UNALIGNED = Template("typedef $V $name __attribute__((aligned($nbytes)));\n")

_MULADD = Template("""\
$F $name($F a, $F b, $F c) {
    #pragma OPENCL FP_CONTRACT ON
    return a * b + c;
}
""")
"""Contracts where the device gains by it."""

_LDEXP = Template("""\
$F $name($F x, $F n) {
    $U bits = as_$U(n + ($F)($rounder));
    $U first = bits >> ($U)(1);
    return x * as_$F(first << ($U)($nbits)) * as_$F((bits - first) << ($U)($nbits));
}
""")
"""The sum rounds nothing: its low bits are n and twice the exponent's bias. Each factor has half of n."""

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

_NARROW_TO_FLOAT = Template("""\
$F $name($H bits) {
    $U wide = convert_$U(bits);
    $U sign = (wide & ($U)($sign)) << ($U)($sign_shift);
    $U magnitude = (wide & ($U)($magnitude)) << ($U)($shift);
    $U normal = magnitude + ($U)($rebias);
    $U special = magnitude + ($U)($rebias_special);
    $U subnormal = as_$U(as_$F(magnitude + ($U)($rebias_subnormal)) - ($F)($least_normal));
    $U number = magnitude >= ($U)(0x00800000) ? normal : subnormal;
    return as_$F((magnitude >= ($U)($least_special) ? special : number) | sign);
}
""")

_BFLOAT_TO_FLOAT = Template("""\
$F $name($H bits) {
    return as_$F(convert_$U(bits) << ($U)(16));
}
""")

_ROUND_TO_NARROW = Template("""\
$H $name($F x) {
    $U sign = as_$U(x) & ($U)($sign);
    $U magnitude = as_$U(x) ^ sign;
    $U odd = (magnitude >> ($U)($shift)) & ($U)(1);
    $U normal = (magnitude - ($U)($rebias) + ($U)($half) + odd) >> ($U)($shift);
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

_INTEGER_TO_NARROW = Template("""\
$H $name($I x) {
    $F nearest = convert_$F(x);
    $I back = $to_integer(nearest);
    $M wrong = $wrong;
    $M away = $away;
    $U bits = as_$U(nearest);
    $U step = away ? ($U)(-1) : ($U)(1);
    bits = wrong & ((bits & ($U)(1)) == ($U)(0)) ? bits + step : bits;
    return $round(as_$F(bits));
}
""")
"""Rounds to odd first: what is not exact gets an odd last bit, so that rounding again is as good as once."""

_REMAINDER = Template("""\
$F $name($F a, $F b) {
    const $U mantissa = ($U)($mantissa), hidden = ($U)($hidden);
    $U sign = as_$U(a) & ($U)($sign);
    $U x = as_$U(a) ^ sign, y = as_$U(b) & ~($U)($sign);
    if (x >= ($U)($infinity) || y > ($U)($infinity) || y == 0)
        return (a * b) / (a * b);
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
"""
Long division of the mantissas, as many bits at a time as an unsigned long has to spare: exact. Where there is
no remainder, arithmetic makes the NaN, so that on a processor it is the one that C's `fmod` gives there.
"""


class Helpers:
    """The helpers that one source text needs, in the order they were first asked for."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def text(self) -> str:
        return "\n".join(self._texts.values())

    def add(self, name: str, text: str) -> str:
        """Adds a function of a name, of which there is one, and returns the name."""
        self._texts.setdefault(name, text)
        return name

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

    def absolute(self, element: str, lanes: int | None) -> str:
        return self._float("abs", _ABS, element, lanes)

    def sqrt(self, element: str, lanes: int | None) -> str:
        builtin = "__builtin_sqrtf" if element == "float" else "__builtin_sqrt"
        values = ["x"] if lanes is None else [f"x.s{lane:x}" for lane in range(lanes)]
        calls = ", ".join(f"{builtin}({value})" for value in values)
        on_processor = calls if lanes is None else f"({vector_type(element, lanes)})({calls})"
        return self._float("sqrt", _SQRT, element, lanes, on_processor=on_processor)

    def fma(self, element: str, lanes: int | None) -> str:
        return self._float("fma", _FMA, element, lanes)

    def ldexp(self, element: str, lanes: int | None) -> str:
        layout = _LAYOUTS[element]
        nbits, rounder = str(layout.n_mantissa_bits), layout.exponent_rounder.hex()
        rounder += "f" if element == "float" else ""
        return self._float("ldexp", _LDEXP, element, lanes, nbits=nbits, rounder=rounder)

    def unaligned(self, element: str, lanes: int) -> str:
        """Returns the name of the vector type that needs no more alignment than its elements."""
        name = f"{HELPER_PREFIX}unaligned_{element}{lanes}"
        if name not in self._texts:
            vector, nbytes = vector_type(element, lanes), nbytes_of(element)
            self._texts[name] = _UNALIGNED.substitute(V=vector, name=name, nbytes=nbytes)
        return name

    def muladd(self, element: str, lanes: int | None) -> str:
        return self._float("muladd", _MULADD, element, lanes)

    def remainder(self, element: str, lanes: int | None) -> str:
        layout = _LAYOUTS[element]
        nbits = layout.n_mantissa_bits
        scalar = self._float(
            "remf",
            _REMAINDER,
            element,
            None,
            nbits=str(nbits),
            mantissa=_hex(layout.mantissa, element),
            hidden=_hex(1 << nbits, element),
            infinity=_hex(layout.exponents, element),
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
        # The bounds are powers of two, which `float` and `double` hold exactly. The greatest integer they may
        # not.
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

    def narrow_to_float(self, kind: Attribute, lanes: int | None) -> str:
        """From the bits of `kind`, a float narrower than float, to float. Exact."""
        name = f"{HELPER_PREFIX}{kind}_to_f32{_lane_suffix(lanes)}"
        if name not in self._texts:
            narrow, single = LAYOUTS[kind], LAYOUTS[f32]
            shift = single.n_mantissa_bits - narrow.n_mantissa_bits
            rebias = single.bias - narrow.bias
            numbers = {
                "sign": narrow.sign,
                "sign_shift": single.nbits - narrow.nbits,
                "magnitude": narrow.sign - 1,
                "shift": shift,
                "rebias": rebias << single.n_mantissa_bits,
                "rebias_special": single.exponents - (narrow.exponents << shift),
                "rebias_subnormal": rebias + 1 << single.n_mantissa_bits,
                "least_special": narrow.least_special << shift,
            }
            template = _BFLOAT_TO_FLOAT if kind == bf16 else _NARROW_TO_FLOAT
            self._texts[name] = template.substitute(
                {key: f"{number:#x}" for key, number in numbers.items()},
                name=name,
                F=vector_type("float", lanes),
                H=vector_type(SCALARS[kind], lanes),
                U=vector_type("uint", lanes),
                least_normal=f"0x1p{1 - narrow.bias}f",
            )
        return name

    def round_to_narrow(self, source: str, kind: Attribute, lanes: int | None) -> str:
        """From `source`, float or double, to the bits of `kind`, a float narrower than float."""
        name = f"{HELPER_PREFIX}{_SHORT[source]}_to_{kind}{_lane_suffix(lanes)}"
        if name in self._texts:
            return name
        wide, narrow = _LAYOUTS[source], LAYOUTS[kind]
        rounding = Rounding(wide, narrow)
        self._texts[name] = _ROUND_TO_NARROW.substitute(
            name=name,
            F=vector_type(source, lanes),
            H=vector_type(SCALARS[kind], lanes),
            U=vector_type("uint" if source == "float" else "ulong", lanes),
            sign=_hex(wide.sign, source),
            shift=str(rounding.shift),
            rebias=_hex(rounding.rebias, source),
            half=_hex(rounding.half, source),
            magic=_hex(rounding.magic, source),
            quiet=f"{narrow.quiet_nan:#x}",
            payload=f"{narrow.mantissa:#x}",
            least_normal=_hex(rounding.least_normal, source),
            overflow=_hex(rounding.overflow, source),
            infinity=f"{narrow.least_special:#x}",
            nan=_hex(wide.exponents, source),
            sign_shift=str(wide.nbits - narrow.nbits),
        )
        return name

    def integer_to_narrow(self, source: str, kind: Attribute, lanes: int | None) -> str:
        """From `source`, a signed or unsigned type, to the bits of `kind`, a float narrower than float."""
        is_signed = source in UNSIGNED
        mask = source if is_signed else source[1:]
        short = f"{'' if is_signed else 'u'}{_SHORT[mask]}"
        name = f"{HELPER_PREFIX}{short}_to_{kind}{_lane_suffix(lanes)}"
        if name in self._texts:
            return name
        integer = vector_type(source, lanes)
        wrong, away = "back != x", "back > x"
        if is_signed:
            away = f"x >= ({integer})(0) ? back > x : back < x"
        if lanes is not None and mask != "int":
            wrong, away = (f"convert_int{lanes}({text})" for text in (wrong, away))
        self._texts[name] = _INTEGER_TO_NARROW.substitute(
            to_integer=self.float_to_integer("float", source, lanes),
            round=self.round_to_narrow("float", kind, lanes),
            name=name,
            wrong=wrong,
            away=away,
            F=vector_type("float", lanes),
            H=vector_type(SCALARS[kind], lanes),
            I=integer,
            M=vector_type("int", lanes),
            U=vector_type("uint", lanes),
        )
        return name

    def _float(self, kind: str, template: Template, element: str, lanes: int | None, **more: str) -> str:
        name = _name(kind, element, lanes)
        if name not in self._texts:
            mask, layout = MASK_ELEMENTS[element], _LAYOUTS[element]
            arguments = {
                "name": name,
                "F": vector_type(element, lanes),
                "I": vector_type(mask, lanes),
                "U": vector_type(UNSIGNED[mask], lanes),
                "sign": _hex(layout.sign, element),
                "whole": f"0x1p{layout.n_mantissa_bits}{'f' if element == 'float' else ''}",
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

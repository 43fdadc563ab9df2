"""C identifiers for symbols and values: legal, readable, unique, and the same every time."""

from __future__ import annotations

import hashlib
import re

from .types import LANES

HELPER_PREFIX = "tenon_"
"""What the name of every helper function begins with, and no other name."""

_KEYWORDS = """
auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
while bool true false half quad complex imaginary uchar ushort uint ulong size_t ptrdiff_t intptr_t
uintptr_t event_t sampler_t image1d_t image1d_array_t image1d_buffer_t image2d_t image2d_array_t image3d_t
queue_t ndrange_t pipe kernel global local constant private generic read_only write_only read_write
uniform asm typeof main defined this class template typename namespace new delete operator and or not xor
NULL NAN INFINITY HUGE_VAL HUGE_VALF MAXFLOAT unix linux
"""

_BUILTINS = """
abs abs_diff acos acosh acospi add_sat all any asin asinh asinpi atan atan2 atan2pi atanh atanpi
atomic_add atomic_and atomic_cmpxchg atomic_dec atomic_inc atomic_max atomic_min atomic_or atomic_sub
atomic_xchg atomic_xor barrier bitselect cbrt ceil clamp clz copysign cos cosh cospi cross ctz degrees
distance dot erf erfc exp exp10 exp2 expm1 fabs fast_distance fast_length fast_normalize fdim floor fma
fmax fmin fmod fract frexp hadd half_cos half_divide half_exp half_exp10 half_exp2 half_log half_log10
half_log2 half_powr half_recip half_rsqrt half_sin half_sqrt half_tan hypot ilogb isequal isfinite
isgreater isgreaterequal isinf isless islessequal islessgreater isnan isnormal isnotequal isordered
isunordered ldexp length lgamma lgamma_r log log10 log1p log2 logb mad mad24 mad_hi mad_sat max maxmag
mem_fence min minmag mix modf mul24 mul_hi nan nextafter normalize popcount pow pown powr prefetch printf
radians read_mem_fence remainder remquo rhadd rint rootn rotate round rsqrt select shuffle shuffle2 sign
signbit sin sincos sinh sinpi smoothstep sqrt step sub_sat tan tanh tanpi tgamma trunc upsample vec_step
wait_group_events work_group_barrier write_mem_fence
"""

_ELEMENTS = ("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong")
_FLOATS = ("half", "float", "double", "bool")

_VECTORS = [f"{element}{lanes}" for element in (*_ELEMENTS, *_FLOATS) for lanes in (3, *LANES)]

_CALLED = ("sqrt", "fma", "barrier", "clz")

_RESERVED_FOR_VALUES = frozenset([*_KEYWORDS.split(), *_VECTORS, *_CALLED])
"""What a variable may not be called; it may hide a function that nothing here calls."""

_RESERVED_FOR_KERNELS = _RESERVED_FOR_VALUES | frozenset(_BUILTINS.split())

_RESERVED_PREFIXES = re.compile(
    rf"_|[0-9]|{HELPER_PREFIX}|(as|convert|vload|vstore|vloada|vstorea|get|CLK|CL|cl|native|async|atomic|read|write)_"
    r"|(vload|vstore|FLT_|DBL_|HALF_|INT_|UINT_|CHAR_|SHRT_|LONG_|ULONG_|M_)"
)


_LONGEST, _DIGITS = 128, 16
"""How long the name of a kernel may be, as implementations name files after it; and its digits at the end."""


def kernel_name(symbol: str) -> str:
    """
    Returns the C function of the kernel `@symbol`: the symbol itself where it is a free C identifier.

    Other characters become `_x2e_` and the like, and a name that C cannot take gets the prefix `k_`. A long
    name ends in digits that tell it from others that begin like it.
    """
    name = re.sub(r"[^A-Za-z0-9_]", lambda match: f"_x{ord(match[0]):x}_", symbol)
    is_reserved = not name or name in _RESERVED_FOR_KERNELS or _RESERVED_PREFIXES.match(name)
    name = f"k_{name}" if is_reserved else name
    if len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(symbol.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{name[: _LONGEST - _DIGITS - 1]}_{digest}"


class ValueNames:
    """Hands out the names of one kernel's values: the hint where it is free, else with a number after it."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def fresh(self, hint: str | None, default: str = "v") -> str:
        """Returns a name not handed out before, as close to `hint` as C allows."""
        base = re.sub(r"[^A-Za-z0-9_]", "_", hint) if hint else default
        if base in _RESERVED_FOR_VALUES or _RESERVED_PREFIXES.match(base):
            base = f"v_{base.lstrip('_')}"
        name = base
        while name in self._taken:
            number = self._next.get(base, 1)
            self._next[base] = number + 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name

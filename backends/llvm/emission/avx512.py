"""Instructions of AVX-512 on vectors of floats that LLVM has under a mask, which is of all lanes here."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f64
from xdsl.ir import Attribute

from ....dialects.element_types import element_type_of, lanes_of
from ....dialects.float_layout import LAYOUTS
from .emitter import Emitter

_CURRENT_ROUNDING = ("i32", "4")


def has_vectors(emitter: Emitter, type: Attribute, feature: str) -> bool:
    """Returns whether the processor has the instructions of a feature for vectors of f32 or f64."""
    nbytes, has = _nbytes(type), emitter.processor.has
    return nbytes in (16, 32, 64) and has(feature) and (nbytes == 64 or has("avx512vl"))


def call_on_vectors(
    emitter: Emitter, name: str, type: Attribute, text: str, operands: Sequence[tuple[str, str]]
) -> str:
    """
    Returns the call of `llvm.x86.avx512.mask.<name>` on (type, value) pairs, without writing it; `text` is
    the vector's type in LLVM.
    """
    nbytes, lanes = _nbytes(type), lanes_of(type) or 1
    kind = "pd" if element_type_of(type) == f64 else "ps"
    arguments = [*operands, (text, "zeroinitializer"), (f"i{max(lanes, 8)}", "-1")]
    if nbytes == 64:
        arguments.append(_CURRENT_ROUNDING)
    return emitter.call(f"x86.avx512.mask.{name}.{kind}.{8 * nbytes}", text, arguments)


def _nbytes(type: Attribute) -> int:
    return (lanes_of(type) or 1) * LAYOUTS[element_type_of(type)].nbits // 8

"""
The rule for `low.atomic_rmw`: a builtin on 32 and 64 bits where there is one, else a helper that tries again
for as long as another work-item has changed the element meanwhile.
"""

from __future__ import annotations

from string import Template

from ....dialects import low
from ....dialects.element_types import is_float
from ....dialects.low.atomic_rmw import AtomicRmwKind
from ....dialects.low.combining import ATOMICS
from ..device import I64_ATOMICS, has_i64_atomics
from .arithmetic import COMBINERS
from .kernel import KernelWriter
from .names import HELPER_PREFIX
from .types import NBITS, UNSIGNED

_BUILTINS: dict[AtomicRmwKind, str] = {
    AtomicRmwKind.ADDI: "add",
    AtomicRmwKind.MAXS: "max",
    AtomicRmwKind.MINS: "min",
    AtomicRmwKind.MAXU: "max",
    AtomicRmwKind.MINU: "min",
    AtomicRmwKind.ANDI: "and",
    AtomicRmwKind.ORI: "or",
    AtomicRmwKind.XORI: "xor",
    AtomicRmwKind.ASSIGN: "xchg",
}

_BASE = ("add", "xchg")
"""The builtins that `cl_khr_int64_base_atomics` has; the others would need a second extension."""

_BITS = {"float": "int", "double": "long", "int": "int", "long": "long"}

_RETRY = Template("""\
$T $name(volatile $space$B *at, $T value) {
    $B seen = *at;
    for (;;) {
        const $T old = $old;
        const $T new = $new;
        const $B found = $exchange(at, seen, $bits);
        if (found == seen)
            return old;
        seen = found;
    }
}
""")
"""Compares bits: no NaN is equal to itself, and the zeros are equal."""


def atomic_rmw(kernel: KernelWriter, op: low.AtomicRmwOp) -> None:
    element = kernel.element(op.value.type, op)
    source, kind = kernel.source, op.kind.data
    is_long = NBITS[element] == 64
    if is_long and not has_i64_atomics(source.device):
        raise kernel.fail(op, f"device {source.device.name} lacks {I64_ATOMICS}, which {op.value.type} needs")
    source.uses_i64_atomics |= is_long
    prefix, bits, space = "atom_" if is_long else "atomic_", _BITS[element], kernel.spaces[op.buffer]
    at = f"{kernel.expressions[op.buffer]} + {kernel.expressions[op.index]}"
    value, builtin = kernel.expressions[op.value], _BUILTINS.get(kind)
    if builtin is None or (is_long and builtin not in _BASE):
        name = _helper(kernel, op, element, space, f"{prefix}cmpxchg")
        kernel.define(op, f"{name}((volatile {space}{bits} *)({at}), {value})")
    elif is_float(op.value.type):
        old = f"{prefix}{builtin}((volatile {space}{bits} *)({at}), as_{bits}({value}))"
        kernel.define(op, f"as_{element}({old})")
    elif kind in (AtomicRmwKind.MAXU, AtomicRmwKind.MINU):
        unsigned = UNSIGNED[element]
        old = f"{prefix}{builtin}((volatile {space}{unsigned} *)({at}), ({unsigned}){value})"
        kernel.define(op, f"({element}){old}")
    else:
        kernel.define(op, f"{prefix}{builtin}({at}, {value})")


def _helper(kernel: KernelWriter, op: low.AtomicRmwOp, element: str, space: str, exchange: str) -> str:
    """Returns the name of the function that combines an element in an address space with a value."""
    kind, type = op.kind.data, op.value.type
    name = f"{HELPER_PREFIX}atomic_{kind.value}_{type}_{space.strip('_ ')}"
    new = COMBINERS[ATOMICS[kind]](kernel, op, type, "old", "value")
    bits, is_bits = _BITS[element], not is_float(type)
    text = _RETRY.substitute(
        T=element,
        B=bits,
        name=name,
        space=space,
        old="seen" if is_bits else f"as_{element}(seen)",
        new=new,
        exchange=exchange,
        bits="new" if is_bits else f"as_{bits}(new)",
    )
    return kernel.helpers.add(name, text)

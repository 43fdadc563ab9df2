"""The kinds of programs, by name."""

from __future__ import annotations

from ..program import MakeProgram
from . import convnet, mlp, recurrent, stencil, transformer

KINDS: dict[str, MakeProgram] = {
    "transformer": transformer.make,
    "convnet": convnet.make,
    "mlp": mlp.make,
    "recurrent": recurrent.make,
    "stencil": stencil.make,
}

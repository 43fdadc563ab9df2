"""`tenon.from_stablehlo`: a program of StableHLO as a function of arrays."""

from __future__ import annotations

from pathlib import Path

from ...compiler.compile import Executable, compile
from ...errors import TenonError


def from_stablehlo(
    program: str | Path, *, entry: str | None = None, backend: str = "llvm", filename: str | None = None
) -> Executable:
    """
    Returns a program of StableHLO, as MLIR text or a file of it, as a function of numpy arrays, or of
    whatever else offers `__dlpack__`: docs/stablehlo.md.

        run = tenon.from_stablehlo(jax.jit(f).lower(x).as_text())
        y = run(x)

    `entry` names the function, which may be left out where one only is public. Dims that the text leaves open
    are named ones, so that the function takes any extent there that the program does.

    Raises:
        TenonError: the text or an op is wrong, at its place; or ops have no conversion, all of which the
            message lists.
    """
    if isinstance(program, Path):
        filename = str(program) if filename is None else filename
        try:
            program = program.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise TenonError(f"from_stablehlo: cannot read {filename}: {error}") from None
    return compile(program, entry=entry, backend=backend, filename=filename or "<stablehlo>")

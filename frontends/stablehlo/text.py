"""`tenon.from_stablehlo`: a program of StableHLO as a function of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import overload

from xdsl.dialects.builtin import ModuleOp

from ...compiler.compile import Executable, compile
from ...compiler.foreign import as_graph
from ...dialects.modules.entry import find_entry, keep_only
from ...dialects.modules.parsing import parse_module, verify_module
from ...errors import TenonError
from ..calls.mesh_program import MeshProgram
from ..sharding.mesh import Mesh


@overload
def from_stablehlo(
    program: str | Path,
    *,
    entry: str | None = None,
    backend: str = "llvm",
    filename: str | None = None,
    mesh: None = None,
    allow_gather: bool = False,
) -> Executable: ...


@overload
def from_stablehlo(
    program: str | Path,
    *,
    entry: str | None = None,
    backend: str = "llvm",
    filename: str | None = None,
    mesh: Mesh,
    allow_gather: bool = False,
) -> MeshProgram: ...


def from_stablehlo(
    program: str | Path,
    *,
    entry: str | None = None,
    backend: str = "llvm",
    filename: str | None = None,
    mesh: Mesh | None = None,
    allow_gather: bool = False,
) -> Executable | MeshProgram:
    """
    Returns a program of StableHLO, as MLIR text or a file of it, as a function of numpy arrays, or of
    whatever else offers `__dlpack__`: docs/stablehlo.md.

        run = tenon.from_stablehlo(jax.jit(f).lower(x).as_text())
        y = run(x)

    `entry` names the function, which may be left out where one only is public. Dims that the text leaves open
    are named ones, so that the function takes any extent there that the program does.

    With `mesh` a program over devices is that of its ranks, or of its devices: it takes sharded arrays, and
    arrays that all ranks have, of which each takes its part, and gives sharded ones. The axes of the mesh are
    those of the program, and all ranks call this. `allow_gather` is that of `tenon.jit`.

    Raises:
        TenonError: the text or an op is wrong, at its place; or ops have no conversion, all of which the
            message lists. With a mesh: the program is for another one, or cannot be partitioned.
        TypeError: the mesh is none.
        RankError: ranks have other programs.
    """
    if isinstance(program, Path):
        filename = str(program) if filename is None else filename
        try:
            program = program.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise TenonError(f"from_stablehlo: cannot read {filename}: {error}") from None
    filename = filename or "<stablehlo>"
    if mesh is None:
        return compile(program, entry=entry, backend=backend, filename=filename)
    module = as_graph(program, filename)
    if not isinstance(module, ModuleOp):
        module = parse_module(module, filename)
        verify_module(module)
    chosen = find_entry(module, entry)
    keep_only(module, chosen)
    return MeshProgram(module, chosen, mesh, allow_gather=allow_gather, backend=backend, target=None)

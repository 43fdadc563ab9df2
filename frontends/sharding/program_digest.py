"""Whether all ranks are about to run the same program."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.collectives import RANK, note_program
from .mesh import Mesh


def check_same_program(mesh: Mesh, module: ModuleOp, name: str) -> None:
    """
    Compares the programs of all ranks, before one is compiled, and notes in the module what it was, so that
    its calls can be compared. Which rank it is of, and the lines of the user's program, are no part of it.
    Devices of this process have one program, and nothing is compared.

    Raises:
        RankError: ranks have other programs than rank 0.
    """
    if mesh.group is not None:
        return
    rank = module.attributes.pop(RANK, None)
    digest = note_program(module)
    if rank is not None:
        module.attributes[RANK] = rank
    mesh.world.begin_check(digest, f"program @{name}").wait()

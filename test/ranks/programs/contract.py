"""What every world must do, on MPI's."""

from tenon.runtime.collectives.mpi_world import mpi_world
from tenon.test.contract.world_cases import CASES

for case in CASES.values():
    case(mpi_world())
print("passed", flush=True)

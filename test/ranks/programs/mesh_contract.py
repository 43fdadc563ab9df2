"""What every mesh must do, on those of MPI's ranks."""

import tenon
from tenon.test.unit.frontends.sharding.mesh_cases import CASES, Meshes

for case in CASES.values():
    case(Meshes(tenon.current_world().size, tenon.Mesh))
print("passed", flush=True)

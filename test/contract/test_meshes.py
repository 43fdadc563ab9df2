"""What every mesh must do, on devices of this process; and what those alone do."""

import numpy as np
import pytest
import tenon
from tenon.test.contract.mesh_cases import CASES, Meshes

RUNS = [("llvm", 2), ("llvm", 3), ("llvm", 4), ("opencl", 2), ("reference", 2)]


@pytest.mark.parametrize(("backend", "size"), RUNS)
@pytest.mark.parametrize("name", CASES)
def test_devices_give_the_bits_of_ranks(name: str, backend: str, size: int):
    case = CASES[name]
    with tenon.open_platform(backend, num_devices=size) as platform:
        found = case(Meshes(size, lambda *axes: tenon.Mesh(*axes, devices=platform), backend))
    for of_rank in tenon.run_ranks(size, lambda: case(Meshes(size, tenon.Mesh, backend))):
        for one, other in zip(found, of_rank, strict=True):
            assert one.dtype == other.dtype
            # A device of the reference backend runs what is lowered, by its name a program is interpreted.
            tolerance = 1e-5 if backend == "reference" else 0
            np.testing.assert_allclose(one, other, tolerance, tolerance)

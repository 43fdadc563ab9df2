"""A stencil of all 27 neighbours over axes of ranks: corners come in two steps, or in three."""

from itertools import product

import numpy as np
import tenon
import tenon.numpy as tnp

WHOLE = np.random.default_rng(4).standard_normal((22, 20, 19)).astype(np.float32)


@tenon.jit
def step(x):
    around = tnp.pad(x, 1)
    total = x
    for begins in product(range(3), repeat=3):
        box = tuple(slice(begin, begin + extent) for begin, extent in zip(begins, WHOLE.shape, strict=True))
        total = total - 0.25 * around[box]
    return total


ranks = tenon.current_world().size
expected = step(step(WHOLE)).numpy()
for shape in ((ranks, 1), (2, ranks // 2), (2, 1, ranks // 2), (1, 2, ranks // 2)):
    mesh = tenon.Mesh(shape, ("x", "y", "z")[: len(shape)])
    x = tenon.shard(WHOLE, tenon.sharding(mesh, *mesh.axis_names))
    found = tenon.gather(step(step(x))).numpy()
    assert found.tobytes() == expected.tobytes(), shape
print("passed")

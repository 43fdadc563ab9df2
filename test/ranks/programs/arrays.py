"""What a user writes, on all ranks: arrays, checkpoints, compiled functions, functions of parts."""

import sys
from pathlib import Path

import numpy as np
import tenon
import tenon.numpy as tnp
from tenon import PartitionSpec as P

WHOLE = np.random.default_rng(0).standard_normal((13, 10)).astype(np.float32)
folder = Path(sys.argv[1])
ranks = tenon.current_world().size
shape = (2, 2) if ranks == 4 else (ranks, 1)
mesh = tenon.Mesh(shape, ("x", "y"))
specs = [tenon.sharding(mesh, *spec) for spec in ((), ("x",), (None, "x"), ("x", "y"), (("y", "x"),))]

for before in specs:
    x = tenon.shard(WHOLE, before)
    for after in specs:
        y = tenon.reshard(x, after)
        np.testing.assert_array_equal(y.local.numpy(), WHOLE[after.box(WHOLE.shape)])
    np.testing.assert_array_equal(tenon.gather(x).numpy(), WHOLE)

rows, blocks = tenon.sharding(mesh, "x"), tenon.sharding(mesh, "x", "y")
tenon.save_checkpoint(folder / str(ranks), {"x": tenon.shard(WHOLE, blocks)})
for written in folder.iterdir():
    found = tenon.load_checkpoint(written, {"x": tenon.sharding(mesh, None, ("x", "y"))})
    np.testing.assert_array_equal(tenon.gather(found["x"]).numpy(), WHOLE)

program = tenon.jit(lambda a, b: (tnp.sum(tnp.exp(a @ b), axis=0), a * 2 + 1))
sums, shifted = program(tenon.shard(WHOLE, blocks), tenon.shard(WHOLE.T.copy(), rows))
np.testing.assert_allclose(tenon.gather(sums).numpy(), np.exp(WHOLE @ WHOLE.T).sum(0), rtol=1e-4)
np.testing.assert_array_equal(tenon.gather(shifted).numpy(), WHOLE * 2 + 1)

# Rows of unequal parts are added up in groups of unequal extents.
row_sums = tenon.jit(lambda a: tnp.sum(a, axis=1))(tenon.shard(WHOLE, blocks))
np.testing.assert_allclose(tenon.gather(row_sums).numpy(), WHOLE.sum(1), rtol=1e-4, atol=1e-5)


def heat(u, steps):
    def step(_, u):
        around = tnp.pad(u, 1)
        return u + 0.1 * (around[2:] + around[:-2] - 2 * u)

    return tenon.fori_loop(0, steps, step, u)


u = WHOLE[:, 0].copy()
found = tenon.jit(heat, static_argnames="steps")(tenon.shard(u, rows), steps=20)
wanted = tenon.jit(heat, static_argnames="steps")(u, steps=20)
np.testing.assert_array_equal(tenon.gather(found).numpy(), wanted.numpy())

total = tenon.shard_map(
    lambda x: tenon.psum(tnp.sum(x, axis=0), ("x", "y")) + tenon.axis_index("x") * 0, mesh, P(("x", "y")), P()
)
even = WHOLE[:12]
np.testing.assert_allclose(total(even).local.numpy(), even.sum(0), rtol=1e-4, atol=1e-5)
print("passed", flush=True)

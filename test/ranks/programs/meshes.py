"""Meshes of some ranks, at once and beside one of all."""

import numpy as np
import tenon
import tenon.numpy as tnp
from tenon import PartitionSpec as P

WHOLE = np.arange(24, dtype=np.float32).reshape(6, 4)
DIGITS = np.random.default_rng(0).integers(0, 9, 101).astype(np.int32)
ranks = tenon.current_world().size
ends = tenon.Mesh((2,), ("x",), ranks=[ranks - 1, 0])
inner = tenon.Mesh((ranks - 2,), ("x",), ranks=range(1, ranks - 1)) if ranks > 2 else ends
every = tenon.Mesh((ranks,), ("x",))
mesh = ends if ends.is_here else inner

for _ in range(3):
    rows = tenon.sharding(mesh, "x")
    x = tenon.shard(WHOLE, rows)
    total = tenon.jit(lambda x: tnp.sum(x, axis=0))(x)
    np.testing.assert_array_equal(total.local.numpy(), WHOLE.sum(0))
    mapped = tenon.shard_map(lambda x: tenon.psum(x, "x"), mesh, P("x"), P())
    summed = sum(np.split(WHOLE, mesh.size))
    np.testing.assert_array_equal(mapped(x).local.numpy(), summed)
    # In a program too, and in a loop there.
    found = tenon.jit(lambda x, f=mapped: tenon.fori_loop(0, 2, lambda _, y: y + f(x * 2), f(x)))(x)
    np.testing.assert_array_equal(found.local.numpy(), summed * 5)
    columns = tenon.reshard(x, tenon.sharding(mesh, None, "x"))
    np.testing.assert_array_equal(tenon.gather(columns).numpy(), WHOLE)
    # What all ranks do comes between.
    digits = tenon.shard(DIGITS, tenon.sharding(every, "x"))
    np.testing.assert_array_equal(tenon.gather(tenon.jit(tnp.sort)(digits)).numpy(), np.sort(DIGITS))
print("passed", flush=True)

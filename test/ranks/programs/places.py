"""Places along dims that ranks share, rolls, and parts by columns, on all ranks against numpy."""

import numpy as np
import tenon
import tenon.numpy as tnp

ranks = tenon.current_world().size
mesh = tenon.Mesh((ranks,), ("x",))
random = np.random.default_rng(3)
rows, columns, whole = tenon.sharding(mesh, "x"), tenon.sharding(mesh, None, "x"), tenon.sharding(mesh)
SORTED, VALUES = np.sort(random.random(17)), random.random((7, 9))


def gathered(function, *arrays):
    return tenon.gather(tenon.jit(function)(*arrays)).numpy()


found = gathered(tnp.searchsorted, tenon.shard(SORTED, rows), tenon.shard(VALUES, columns))
np.testing.assert_array_equal(found, np.searchsorted(SORTED, VALUES))
x = tenon.shard(VALUES, columns)
found = gathered(lambda x: tnp.take_along_axis(x, tnp.argsort(x, axis=0), axis=0), x)
np.testing.assert_array_equal(found, np.sort(VALUES, axis=0))
found = gathered(lambda x: tnp.roll(x, 2, axis=1), x)
np.testing.assert_array_equal(found, np.roll(VALUES, 2, axis=1))


# Of dtypes that MPI knows, and of one that it does not. The program of a layout is compiled once for each.
def to_columns(x):
    return tenon.shard(x, columns)


def to_rows(x):
    return tenon.shard(x, rows)


for dtype in (np.float32, np.float16):
    array = (VALUES * 100).astype(dtype)
    moved = tenon.jit(to_columns)(tenon.shard(array, rows))
    np.testing.assert_array_equal(moved.local.numpy(), array[columns.box(array.shape)])
    back = tenon.jit(to_rows)(moved)
    np.testing.assert_array_equal(back.local.numpy(), array[rows.box(array.shape)])
    np.testing.assert_array_equal(gathered(lambda x: x + 0, moved), array)
print("passed")

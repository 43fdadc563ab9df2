"""Branches and loops that some groups of ranks run and others do not, and such as would wait for ever."""

import time

import numpy as np
import tenon
import tenon.numpy as tnp

P = tenon.PartitionSpec
mesh = tenon.Mesh((2, 2), ("x", "y"))
WHOLE = np.arange(16, dtype=np.float32).reshape(4, 4)
x = tenon.shard(WHOLE, tenon.sharding(mesh, "x", "y"))


def run(function, is_inside):
    mapped = tenon.shard_map(function, mesh, P("x", "y"), P("x", "y"))
    f = tenon.jit(lambda x: mapped(x) * 1) if is_inside else mapped
    f(x)
    # Ranks that began less meet the others in the next call, and in what is gathered.
    return tenon.gather(f(x)).numpy()


def of_sum(x):
    return tenon.cond(tenon.psum(tnp.sum(x), "x") > 58, lambda: tenon.psum(x, "x"), lambda: x * 2)


def of_number(x):
    return tenon.cond(tenon.axis_index("y") == 1, lambda: tenon.psum(x, "x"), lambda: x * 2)


def of_rounds(x):
    def more(x):
        return tenon.psum(tnp.sum(x), "x") < 100

    return tenon.psum(tenon.while_loop(more, lambda x: x + tenon.pmax(x, "x"), x), ("x", "y"))


def deadlock(x):
    return tenon.cond(tnp.sum(x) > 20, lambda: tenon.psum(x, "x"), lambda: x)


summed = np.tile(WHOLE[:2, 2:] + WHOLE[2:, 2:], (2, 1))
branched = np.concatenate([WHOLE[:, :2] * 2, summed], axis=1)
columns = []
for column in np.split(WHOLE, 2, axis=1):
    upper, lower = np.split(column, 2)
    while upper.sum() + lower.sum() < 100:
        most = np.maximum(upper, lower)
        upper, lower = upper + most, lower + most
    columns.append(upper + lower)
rounds = np.tile(columns[0] + columns[1], (2, 2))
for is_inside in (False, True):
    np.testing.assert_array_equal(run(of_sum, is_inside), branched)
    np.testing.assert_array_equal(run(of_number, is_inside), branched)
    np.testing.assert_array_equal(run(of_rounds, is_inside), rounds)
    start = time.monotonic()
    try:
        run(deadlock, is_inside)
    except tenon.TenonError as error:
        assert "graph.if: the condition may differ from rank to rank along x" in str(error)
        assert time.monotonic() - start < 5, "told at once, not when the limit is over"
    else:
        raise AssertionError("a program that waits for ever")
np.testing.assert_array_equal(tenon.gather(x).numpy(), WHOLE)
print("passed")

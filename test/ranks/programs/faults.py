"""Something goes wrong on the last rank, in the way that is asked for."""

import os
import signal
import sys
import time

import numpy as np
import tenon
from tenon.runtime.collectives.mpi_world import mpi_world
from tenon.semantics.collectives import Collective

what = sys.argv[1]
world = mpi_world()
is_last = world.rank == world.size - 1
x = np.ones(4, np.float32)


def collective(channel):
    return Collective("all_reduce", channel, (world.size,), (0,), "add", where="program.py:7:3")


def reduce(channel):
    result = np.empty_like(x)
    world.begin(collective(channel), x, result).wait()


reduce(1)
match what:
    case "raises":
        if is_last:
            raise ValueError("no such\nfile")
        reduce(2)
    case "killed":
        if is_last:
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGKILL)
        reduce(2)
    case "ends":
        if is_last:
            sys.exit(0)
        reduce(2)
    case "differs":
        world.check_same(bytes([is_last]) * 32, "program @f")
    case "other":
        reduce(3 if is_last else 2)
        reduce(4)
        world.check_same(bytes(32), "program @f") if is_last else reduce(5)
    case "order":
        for channel in (2, 3) if is_last else (3, 2):
            reduce(channel)
    case "order seen":
        for channel in (2, 3) if is_last else (3, 2):
            reduce(channel)
        world.check_same(bytes(32), "program @f")
    case "waits":
        if is_last:
            time.sleep(30)
        reduce(2)
    case "mesh":
        tenon.Mesh((world.size + 1,), ("x",))
    case "extent":
        mesh = tenon.Mesh((world.size,), ("x",))
        tenon.shard(np.ones(world.size - 1, np.float32), tenon.sharding(mesh, "x"))

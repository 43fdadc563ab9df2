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


def begins():
    # At once: lines of ranks are not to be mixed.
    os.write(1, f"begins {time.monotonic()}\n".encode())


reduce(1)
begins()
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
        world.begin_check(bytes([is_last]) * 32, "program @f").wait()
    case "other":
        reduce(3 if is_last else 2)
        reduce(4)
        world.begin_check(bytes(32), "program @f").wait() if is_last else reduce(5)
    case "order":
        for channel in (2, 3) if is_last else (3, 2):
            reduce(channel)
    case "order seen":
        for channel in (2, 3) if is_last else (3, 2):
            reduce(channel)
        world.begin_check(bytes(32), "program @f").wait()
    case "called":
        mesh = tenon.Mesh((world.size,), ("x",))
        part = tenon.shard(np.ones(6, np.float32), tenon.sharding(mesh, "x"))

        @tenon.jit
        def first(x):
            return x.sum()

        @tenon.jit
        def second(x):
            return (2 * x).sum()

        first(part), second(part)
        begins()
        for number in range(3):
            for function in (second, first) if is_last and number == 2 else (first, second):
                found = float(function(part).local)
                assert found == (6 if function is first else 12)
    case "written":
        other = "exp" if is_last else "neg"
        text = f"""
          builtin.module attributes {{tenon.rank = {world.rank} : i64}} {{
            shard.grid @mesh(shape = {world.size})
            func.func @{other}(%x: tensor<4xf32>) -> tensor<4xf32> {{
              %e = graph.{other} %x : tensor<4xf32>
              %y = graph.all_reduce add %e on @mesh axes = [0] channel = 1 : tensor<4xf32>
              func.return %y : tensor<4xf32>
            }}
          }}
        """
        executable = tenon.compile(text, world=world)
        begins()
        executable(x)
    case "waits":
        if is_last:
            time.sleep(30)
        reduce(2)
    case "mesh":
        tenon.Mesh((world.size + 1,), ("x",))
    case "mesh ends":
        mesh = tenon.Mesh((2,), ("x",), ranks=[1, 2])
        if mesh.is_here and not is_last:
            tenon.gather(tenon.shard(x, tenon.sharding(mesh, "x")))
    case "mesh lacks":
        if world.rank == 1:
            tenon.Mesh((2,), ("x",), ranks=[1, 2])
    case "mesh differs":
        mesh = tenon.Mesh((2,), ("x",), ranks=[1, 2])
        if mesh.is_here:
            mesh.world.begin_check(bytes([is_last]) * 32, "program @f").wait()
    case "circle":
        # Each meets the next one before the one before.
        for ranks in ([0, 1], [1, 2], [2, 0])[world.rank :] + ([0, 1], [1, 2], [2, 0])[: world.rank]:
            if world.rank in ranks:
                tenon.Mesh((2,), ("x",), ranks=ranks)
    case "circle of two":
        pair = tenon.Mesh((2,), ("x",), ranks=[1, 2]) if world.rank else None
        everyone = tenon.Mesh((world.size,), ("x",))
        for mesh in (pair, everyone) if world.rank == 1 else (everyone, pair):
            if mesh is not None:
                tenon.gather(tenon.shard(np.ones(6, np.float32), tenon.sharding(mesh, "x")))
    case "slow":
        # Whoever waits long, and says so, may still be right.
        pairs = [
            tenon.Mesh((2,), ("x",), ranks=[rank, rank + 1]) for rank in (0, 1) if world.rank - rank in (0, 1)
        ]
        for mesh in pairs:
            if world.rank == 2:
                time.sleep(2.5)
            part = tenon.shard(np.ones(6, np.float32), tenon.sharding(mesh, "x"))
            for _ in range(2):
                tenon.gather(part)
        everyone = tenon.Mesh((world.size,), ("x",))
        if is_last:
            time.sleep(2.5)
        tenon.gather(tenon.shard(np.ones(6, np.float32), tenon.sharding(everyone, "x")))
        print("passed")
    case "extent":
        mesh = tenon.Mesh((world.size,), ("x",))
        tenon.shard(np.ones(world.size - 1, np.float32), tenon.sharding(mesh, "x"))

"""Items of programs with collectives in another order: the ranks still meet, and compute what they did."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
import pytest
from tenon.backends.reference.execute import run_module
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.pass_manager import PassManager
from tenon.semantics.numpy_types import Array
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld
from xdsl.dialects.builtin import ModuleOp

RANKS = 3

TYPE = "tensor<6xf32>"


def drawn_program(seed: int, rank: int) -> str:
    """
    Returns a program with collectives at random places. Kernels between them are drawn for each rank: what
    its results depend on differs from rank to rank.
    """
    shared, own = Random(seed), Random(f"{seed} {rank}")
    values = ["%x", "%w"]
    lines: list[str] = []
    n_collectives = shared.randrange(2, 6)
    for channel in range(1, n_collectives + 1):
        for _ in range(own.randrange(3)):
            name = f"%k{len(lines)}"
            one, other = own.choice(values), own.choice(values)
            lines.append(f"{name} = graph.{own.choice(['add', 'sub', 'max'])} {one}, {other} : {TYPE}")
            values.append(name)
        operand, name = own.choice(values), f"%c{channel}"
        kind = shared.choice(["all_reduce add", "all_reduce max", "collective_permute"])
        if kind == "collective_permute":
            pairs = [[member, (member + 1) % RANKS] for member in range(shared.randrange(1, RANKS + 1))]
            lines.append(
                f"{name} = graph.{kind} {operand} on @mesh axes = [0] pairs = {pairs} channel = {channel} "
                f": {TYPE} -> {TYPE}"
            )
        else:
            lines.append(f"{name} = graph.{kind} {operand} on @mesh axes = [0] channel = {channel} : {TYPE}")
        values.append(name)
    total = values[-1]
    for number, value in enumerate(own.sample(values, 3)):
        lines.append(f"%r{number} = graph.add {total}, {value} : {TYPE}")
        total = f"%r{number}"
    body = "\n".join(lines)
    return f"""
      builtin.module attributes {{tenon.rank = {rank} : i64}} {{
        shard.grid @mesh(shape = {RANKS})
        func.func @f(%x: {TYPE}, %w: {TYPE}) -> {TYPE} {{
          {body}
          func.return {total} : {TYPE}
        }}
      }}
    """


def lowered(text: str, passes: str) -> ModuleOp:
    module = parse_module(text, "a.mlir")
    verify_module(module)
    PassManager(passes).run(context(), module)
    return module


def run(modules: Sequence[ModuleOp]) -> list[Array]:
    def rank(number: int) -> Callable[[LocalWorld], Array]:
        inputs = [np.random.default_rng((number, k)).integers(0, 5, 6).astype(np.float32) for k in range(2)]
        return lambda world: run_module(modules[number], None, inputs, world=world)[0]

    return run_ranks([rank(number) for number in range(len(modules))])


def begun(module: ModuleOp) -> list[int]:
    return [op.collective.data.channel for op in module.walk() if isinstance(op, sched.CollectiveOp)]


PLANNED = "convert-graph-to-sched,schedule-collectives,build-dependencies,plan-memory"


@pytest.mark.parametrize("seed", range(25))
def test_ranks_begin_in_one_order_and_compute_the_same(seed: int):
    """The interpreter checks that dependencies leave no hazard open, in planned memory too."""
    texts = [drawn_program(seed, rank) for rank in range(RANKS)]
    wanted = run([parse_module(text, "a.mlir") for text in texts])
    modules = [lowered(text, PLANNED) for text in texts]
    orders = [begun(module) for module in modules]
    assert orders[0] == sorted(orders[0]) and all(order == orders[0] for order in orders)
    for found, expected in zip(run(modules), wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("seed", range(5))
def test_a_second_run_of_the_pass_changes_nothing(seed: int):
    module = lowered(drawn_program(seed, 0), PLANNED)
    text = str(module)
    PassManager("schedule-collectives,build-dependencies").run(context(), module)
    assert str(module) == text


def test_a_program_without_collectives_stays_as_it_is():
    plain = "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { %y = graph.exp %x : tensor<4xf32> "
    plain += "func.return %y : tensor<4xf32> }"
    assert str(lowered(plain, "convert-graph-to-sched")) == str(
        lowered(plain, "convert-graph-to-sched,schedule-collectives")
    )


def test_syncs_stay_where_they_are():
    text = """
      sched.program @f(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
        %y = sched.buffer global result : memref<4xf32>
        %z = sched.buffer global temporary : memref<4xf32>
        %t0 = sched.transfer %x to %z after() : memref<4xf32>
        %t1 = sched.sync after(%t0)
        %t2 = sched.collective all_reduce add on [1] axes = [0] channel = 1(%x) to(%y) after(%t1)
          : (tensor<4xf32>) -> tensor<4xf32>
        %t3 = sched.await channel = 1(%x) to(%y) after(%t2) : (tensor<4xf32>) -> tensor<4xf32>
        sched.return %y after(%t3) : memref<4xf32>
      }
    """
    module = lowered(text, "schedule-collectives,build-dependencies")
    names = [
        op.name for op in module.walk() if op.name in ("sched.sync", "sched.collective", "sched.transfer")
    ]
    assert names == ["sched.transfer", "sched.sync", "sched.collective"]

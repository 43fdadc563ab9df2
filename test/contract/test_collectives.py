"""Programs of several ranks on every backend, each rank a thread of this process."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend, DirectCalls
from tenon.errors import RankError
from tenon.runtime.reports.memory_plan import MemoryPlan
from tenon.semantics.numpy_types import DTYPES_BY_NAME, Array
from tenon.semantics.ranks.local_ranks import run_ranks
from tenon.semantics.ranks.local_world import LocalWorld
from tenon.test.contract.world_cases import drawn

SUM = "%y = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>"


def program(
    rank: int, body: str, grid: str = "2", type: str = "tensor<4xf32>", result: str | None = None
) -> str:
    return f"""
      builtin.module attributes {{tenon.rank = {rank} : i64}} {{
        graph.dim @n min 1 max 64
        shard.grid @mesh(shape = {grid})
        func.func @f(%x: {type}) -> {result or type} {{
          {body}
          func.return %y : {result or type}
        }}
      }}
    """


def run(
    device: Backend | str, texts: Sequence[str], inputs: Sequence[Sequence[Array]], **options: object
) -> list[list[Array]]:
    """Returns the result of each call, for each rank."""

    def rank(text: str, calls: Sequence[Array]) -> Callable[[LocalWorld], list[Array]]:
        def work(world: LocalWorld) -> list[Array]:
            with tenon.compile(text, backend=device, world=world, **options) as executable:  # pyright: ignore
                return [np.array(executable(array)) for array in calls]

        return work

    return run_ranks([rank(text, calls) for text, calls in zip(texts, inputs, strict=True)])


def inputs_of(size: int, shape: tuple[int, ...] = (4,), calls: int = 2) -> list[list[Array]]:
    return [[drawn(10 * call + rank, shape) for call in range(calls)] for rank in range(size)]


def test_kernels_and_collectives_take_turns(device: Backend):
    body = """
      %e = graph.add %x, %x : tensor<4xf32>
      %s = graph.all_reduce add %e on @mesh axes = [0] channel = 1 : tensor<4xf32>
      %t = graph.mul %s, %x : tensor<4xf32>
      %g = graph.all_gather %t on @mesh axes = [0] dim = 0 channel = 2 : tensor<4xf32> -> tensor<12xf32>
      %r = graph.reduce_scatter max %g on @mesh axes = [0] dim = 0 channel = 3
        : tensor<12xf32> -> tensor<4xf32>
      %y = graph.sub %r, %s : tensor<4xf32>
    """
    inputs = inputs_of(3)
    found = run(device, [program(rank, body, "3") for rank in range(3)], inputs)
    for call in range(2):
        arrays = [inputs[rank][call] for rank in range(3)]
        total = sum(arrays) * 2
        whole = np.concatenate([total * array for array in arrays])
        for rank in range(3):
            np.testing.assert_array_equal(found[rank][call], whole[4 * rank : 4 * rank + 4] - total)


def test_ranks_run_programs_of_their_own(device: Backend):
    texts = [
        program(
            0,
            "%e = graph.neg %x : tensor<3xf32> "
            "%y = graph.all_gather %e on @mesh axes = [0] dim = 0 channel = 1 "
            ": tensor<3xf32> -> tensor<5xf32>",
            type="tensor<3xf32>",
            result="tensor<5xf32>",
        ),
        program(
            1,
            "%y = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 "
            ": tensor<2xf32> -> tensor<5xf32>",
            type="tensor<2xf32>",
            result="tensor<5xf32>",
        ),
    ]
    for (result,) in run(device, texts, [[np.ones(3, np.float32)], [np.full(2, 2, np.float32)]]):
        assert result.tolist() == [-1.0, -1.0, -1.0, 2.0, 2.0]


def test_loops_and_branches_exchange_in_each_round(device: Backend):
    body = """
      %k = graph.constant dense<0> : tensor<i32>
      %one = graph.constant dense<1> : tensor<i32>
      %three = graph.constant dense<3> : tensor<i32>
      %half = graph.constant dense<0.5> : tensor<4xf32>
      %i, %y = graph.while (%n = %k, %c = %x) : (tensor<i32>, tensor<4xf32>) {
        %more = graph.lt %n, %three : tensor<i32>
        graph.condition %more
      } do (%m, %d) {
        %s = graph.all_reduce add %d on @mesh axes = [0] channel = 1 : tensor<4xf32>
        %p = graph.collective_permute %s on @mesh axes = [0] pairs = [[0, 1]] channel = 2
          : tensor<4xf32> -> tensor<4xf32>
        %q = graph.mul %p, %half : tensor<4xf32>
        %z = graph.add %d, %q : tensor<4xf32>
        %next = graph.add %m, %one : tensor<i32>
        graph.yield %next, %z : tensor<i32>, tensor<4xf32>
      }
    """
    inputs = inputs_of(2)
    found = run(device, [program(rank, body) for rank in range(2)], inputs)
    for call in range(2):
        first, second = inputs[0][call], inputs[1][call]
        for _ in range(3):
            second = second + (first + second) * np.float32(0.5)
        np.testing.assert_array_equal(found[0][call], first)
        np.testing.assert_array_equal(found[1][call], second)


def test_rows_of_loops_are_exchanged_where_they_lie(device: Backend):
    body = """
      %y = graph.scan %i = 3 () over (%row = %x) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
        %s = graph.all_reduce max %row on @mesh axes = [0] channel = 1 : tensor<4xf32>
        graph.yield %s : tensor<4xf32>
      }
    """
    inputs = inputs_of(2, (3, 4))
    texts = [program(rank, body, type="tensor<3x4xf32>") for rank in range(2)]
    for results in run(device, texts, inputs):
        for call, result in enumerate(results):
            np.testing.assert_array_equal(result, np.maximum(inputs[0][call], inputs[1][call]))


def test_named_dims_beside_what_is_split(device: Backend):
    type, whole = "tensor<?x2xf32, #graph.dims<n, 2>>", "tensor<?x4xf32, #graph.dims<n, 4>>"
    body = f"%y = graph.all_gather %x on @mesh axes = [0] dim = 1 channel = 1 : {type} -> {whole}"
    inputs = [[drawn(rank, (rows, 2)) for rows in (3, 64, 1)] for rank in range(2)]
    for results in run(device, [program(r, body, "2", type, whole) for r in range(2)], inputs):
        for call, result in enumerate(results):
            np.testing.assert_array_equal(result, np.concatenate([each[call] for each in inputs], 1))


_NAMES: Mapping[str, str] = {
    "bool": "i1",
    "bfloat16": "bf16",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e4m3": "f8E4M3",
}


def element_type(name: str) -> str:
    short = name.replace("uint", "ui").replace("int", "i").replace("float", "f")
    return _NAMES.get(name, short)


@pytest.mark.parametrize("name", sorted(DTYPES_BY_NAME))
def test_every_dtype_is_exchanged(name: str, device: Backend):
    dtype = DTYPES_BY_NAME[name]
    type = f"tensor<4x{element_type(name)}>"
    kind = "or" if dtype.kind == "b" else "add"
    body = f"""
      %s = graph.all_reduce {kind} %x on @mesh axes = [0] channel = 1 : {type}
      %y = graph.collective_permute %s on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 2
        : {type} -> {type}
    """
    inputs = [[drawn(rank, (4,), dtype)] for rank in range(2)]
    wanted = inputs[0][0] | inputs[1][0] if kind == "or" else inputs[0][0] + inputs[1][0]
    for (result,) in run(device, [program(rank, body, type=type) for rank in range(2)], inputs):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, wanted)


def test_ranks_whose_programs_differ_are_found(device: Backend):
    other = SUM.replace("channel = 1", "channel = 2")
    with pytest.raises(RankError, match="the ranks differ in their program @f: 1 from rank 0"):
        run(device, [program(0, SUM), program(1, other)], inputs_of(2))


def test_a_rank_that_calls_less_often_leaves_no_other_waiting(device: Backend):
    inputs = inputs_of(2)
    with pytest.raises(RankError, match=r"rank 0 waits for graph.all_reduce .* and rank 1 has ended"):
        run(device, [program(0, SUM), program(1, SUM)], [inputs[0], inputs[1][:1]])


def test_what_a_callback_of_one_rank_raises_is_what_all_end_with(device: Backend):
    body = """
      %c = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
      %y = graph.all_reduce add %c on @mesh axes = [0] channel = 1 : tensor<4xf32>
    """

    def fail(array: Array) -> Array:
        raise KeyError("nothing here")

    with pytest.raises(KeyError, match="nothing here"):
        run(device, [program(0, SUM), program(1, body)], inputs_of(2), callbacks={"f": fail})


def test_a_run_after_one_that_failed_between_begin_and_await_is_an_error(device: Backend):
    text = """
      sched.program @f(%x: memref<4xf32>) : (tensor<4xf32>) -> tensor<4xf32> {
        %y = sched.buffer global result : memref<4xf32>
        %t0 = sched.collective all_reduce add on [1] axes = [0] channel = 1(%x) to(%y) after()
          : (tensor<4xf32>) -> tensor<4xf32>
        %t1 = sched.callback @f() after(%t0) : () -> ()
        %t2 = sched.await channel = 1(%x) to(%y) after(%t1) : (tensor<4xf32>) -> tensor<4xf32>
        sched.return %y after(%t2) : memref<4xf32>
      }
    """
    fails = iter([True, False])

    def sometimes() -> None:
        if next(fails):
            raise KeyError("once")

    def rank(world: LocalWorld) -> None:
        with tenon.compile(text, backend=device, world=world, callbacks={"f": sometimes}) as executable:
            with pytest.raises(KeyError, match="once"):
                executable(np.ones(4, np.float32))
            with pytest.raises(RankError, match="a run that failed has begun it, and not waited for it"):
                executable(np.ones(4, np.float32))

    run_ranks([rank])


def test_a_world_that_the_program_is_not_for_is_an_error(device: Backend):
    with pytest.raises(RankError, match=r"error: graph.all_reduce add on channel 1: no world is given"):
        tenon.compile(program(0, SUM), backend=device)
    with pytest.raises(RankError, match=r"the program is for 2 ranks \(2\), the world has 3"):
        run(device, [program(0, SUM)] * 3, inputs_of(3))
    with pytest.raises(RankError, match="the program is that of rank 0, this is rank 1"):
        run(device, [program(0, SUM)] * 2, inputs_of(2))


def test_a_platform_has_no_other_ranks(device: Backend):
    text = """
      shard.grid @mesh(shape = 1)
      graph.tnode @w : tensor<4xf32>
      func.func @f() {
        %x = graph.read @w : tensor<4xf32>
        %y = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>
        graph.write @w, %y : tensor<4xf32>
        func.return
      }
    """
    missing = pytest.raises(RankError, match=r"graph\.all_reduce add on channel 1: no world is given")
    with tenon.open_platform(device) as platform, missing:
        platform.compile(text)


def test_what_is_exchanged_is_not_copied_where_programs_work_in_the_callers_arrays(device: Backend):
    if not isinstance(device.driver, DirectCalls):
        pytest.skip("works in memory of its own")
    seen: list[tuple[int, int]] = []

    class Watching:
        def __init__(self, world: LocalWorld) -> None:
            self.world, self.rank, self.size = world, world.rank, world.size

        def begin(self, collective: object, operand: Array, result: Array) -> object:
            seen.append((operand.ctypes.data, result.ctypes.data))
            return self.world.begin(collective, operand, result)  # pyright: ignore

        def begin_check(self, digest: bytes, what: str) -> object:
            return self.world.begin_check(digest, what)

    def rank(world: LocalWorld) -> None:
        with tenon.compile(program(0, SUM, "1"), backend=device, world=Watching(world)) as executable:  # pyright: ignore
            array, out = np.ones(4, np.float32), np.empty(4, np.float32)
            executable(array, out=out)
            assert seen[-1] == (array.ctypes.data, out.ctypes.data)

    run_ranks([rank])


def test_memory_plans_say_what_is_sent_and_which_buffers_it_takes(device: Backend):
    body = """
      %e = graph.exp %x : tensor<4xf32>
      %n = graph.neg %x : tensor<4xf32>
      %s = graph.all_reduce add %e on @mesh axes = [0] channel = 1 {bundle = 1 : i64} : tensor<4xf32>
      %r = graph.all_reduce add %n on @mesh axes = [0] channel = 2 {bundle = 1 : i64} : tensor<4xf32>
      %u = graph.add %s, %r : tensor<4xf32>
      %y = graph.all_gather %u on @mesh axes = [0] dim = 0 channel = 3 : tensor<4xf32> -> tensor<8xf32>
    """

    def rank(world: LocalWorld) -> MemoryPlan:
        text = program(world.rank, body, result="tensor<8xf32>")
        with tenon.compile(text, backend=device, world=world) as executable:
            executable(np.ones(4, np.float32))
            return executable.memory_plan()

    plan, _ = run_ranks([rank, rank])
    both, gathered = plan.exchanges
    # A sum over two ranks sends as much as it is of; both that are sent as one are copied for it, and back.
    assert (both.name, both.sent_nbytes, both.joined_nbytes) == ("all_reduce add", 32, 64)
    assert (gathered.name, gathered.sent_nbytes, gathered.joined_nbytes) == ("all_gather", 16, 0)
    assert len(both.reads) == len(both.writes) == 2 and len(gathered.writes) == 1
    for exchange in plan.exchanges:
        for number in (*exchange.reads, *exchange.writes):
            buffer = plan.buffers[number]
            assert buffer.is_live(exchange.first_step) and buffer.is_live(exchange.last_step)
    assert "sent to other ranks: 48 bytes" in str(plan) and gathered.where == "<string>:12:12"


def test_programs_that_send_nothing_have_no_exchanges_in_their_plan(device: Backend):
    text = """
      func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
        %y = graph.neg %x : tensor<4xf32>
        func.return %y : tensor<4xf32>
      }
    """
    with tenon.compile(text, backend=device) as executable:
        assert executable.memory_plan().exchanges == ()
        assert "sent" not in str(executable.memory_plan())


def test_kept_programs_have_their_collectives(
    device: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TENON_CACHE", "1")
    monkeypatch.setenv("TENON_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        texts = [program(rank, SUM) for rank in range(2)]
        first, second = run(device, texts, inputs_of(2, calls=1))
        np.testing.assert_array_equal(first, second)

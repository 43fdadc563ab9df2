"""The programs of all ranks in one process, at every level, against the whole program."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.backends.reference.execute import run_module
from tenon.compiler.all_ranks import AllRanks, compiled_call, interpreted_ranks, partitioned_for_all
from tenon.dialects import context, graph
from tenon.dialects.collective import Collective
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.errors import RankError, TenonError
from tenon.passes.graph.decompose_composites import DecomposeCompositesPass
from tenon.passes.instruments.verify_semantics import SemanticsError, VerifySemantics
from tenon.passes.pass_manager import PassManager
from tenon.passes.sharding.partition_graph import PartitionGraphPass
from tenon.passes.sharding.propagate_sharding import PropagateShardingPass
from tenon.semantics.numpy_types import Array
from tenon.semantics.ranks.local_world import LocalWorld
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

SOFTMAX = """
  shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
  func.func @f(%x: tensor<5x7xf32> {tenon.sharding = #shard<axisarray[[0], [1]]>}) -> tensor<5x7xf32> {
    %m = graph.reduce max %x axes [1] keep : tensor<5x7xf32> -> tensor<5x1xf32>
    %b = graph.broadcast %m : tensor<5x1xf32> -> tensor<5x7xf32>
    %d = graph.sub %x, %b : tensor<5x7xf32>
    %e = graph.exp %d : tensor<5x7xf32>
    %s = graph.reduce add %e axes [1] keep : tensor<5x7xf32> -> tensor<5x1xf32>
    %c = graph.broadcast %s : tensor<5x1xf32> -> tensor<5x7xf32>
    %y = graph.div %e, %c : tensor<5x7xf32>
    func.return %y : tensor<5x7xf32>
  }
"""

HEAT = """
  shard.grid @mesh(shape = 3) {axis_names = ["x"]}
  func.func @f(%x: tensor<11x6xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<11x6xf32> {
    %zero = graph.constant dense<0.0> : tensor<f32>
    %half = graph.constant dense<0.25> : tensor<11x6xf32>
    %y = graph.scan %i = 5 (%u = %x) : (tensor<11x6xf32>) -> (tensor<11x6xf32>) {
      %p = graph.pad %u, %zero low [1, 0] high [1, 0] : tensor<11x6xf32>
      %above = graph.slice %p offsets [0, 0] sizes [11, 6] strides [1, 1] : tensor<13x6xf32>
      %below = graph.slice %p offsets [2, 0] sizes [11, 6] strides [1, 1] : tensor<13x6xf32>
      %both = graph.add %above, %below : tensor<11x6xf32>
      %part = graph.mul %both, %half : tensor<11x6xf32>
      %own = graph.mul %u, %half : tensor<11x6xf32>
      %v = graph.add %part, %own : tensor<11x6xf32>
      graph.yield %v : tensor<11x6xf32>
    }
    func.return %y : tensor<11x6xf32>
  }
"""


def programs(text: str) -> tuple[ModuleOp, AllRanks]:
    module = parse_module(text, "a.mlir")
    verify_module(module)
    return module, partitioned_for_all(module, find_entry(module, None))


@pytest.mark.parametrize(
    ("backend", "level"),
    [("reference", None), ("reference", "sched"), ("reference", "low"), ("llvm", None), ("opencl", None)],
)
@pytest.mark.parametrize(("text", "shape"), [(SOFTMAX, (5, 7)), (HEAT, (11, 6))], ids=["softmax", "heat"])
def test_all_ranks_together_compute_what_the_whole_program_does(
    text: str, shape: tuple[int, ...], backend: str, level: str | None
):
    module, ranks = programs(text)
    with tenon.compile(module, backend="reference") as whole:
        x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
        wanted = np.asarray(whole(x))
    (found,) = ranks.run([x], compiled_call(backend, level, {}))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_uneven_parts_are_put_together_again():
    _, ranks = programs(SOFTMAX)
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    parts = [ranks.parts(rank, [x])[0] for rank in range(4)]
    assert [part.shape for part in parts] == [(3, 4), (3, 3), (2, 4), (2, 3)]
    (whole,) = ranks.wholes([[part] for part in parts])
    np.testing.assert_array_equal(whole, x)


PRODUCTS = """
  shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
  func.func @f(%x: tensor<5x12xf32>,
      %w: tensor<12x3x4xf32> {tenon.sharding = #shard<axisarray[[], [0], [1]]>},
      %v: tensor<12x3x4xf32>) -> tensor<3x5x5xf32> {
    %q = graph.contract %x, %w maps [affine_map<(d0, d1, d2, d3) -> (d1, d3)>,
        affine_map<(d0, d1, d2, d3) -> (d3, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
        : tensor<5x12xf32>, tensor<12x3x4xf32> -> tensor<3x5x4xf32>
    %k = graph.contract %x, %v maps [affine_map<(d0, d1, d2, d3) -> (d1, d3)>,
        affine_map<(d0, d1, d2, d3) -> (d3, d0, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
        : tensor<5x12xf32>, tensor<12x3x4xf32> -> tensor<3x5x4xf32>
    %s = graph.contract %q, %k maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>,
        affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>]
        : tensor<3x5x4xf32>, tensor<3x5x4xf32> -> tensor<3x5x5xf32>
    func.return %s : tensor<3x5x5xf32>
  }
"""
"""Ranks of one head gather along another dim than those of two, once their products are written otherwise."""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_ranks_with_larger_parts_run_the_same_program(backend: str):
    module = parse_module(PRODUCTS)
    ranks = partitioned_for_all(module, find_entry(module, "f"), allow_gather=True)
    rng, shapes = np.random.default_rng(2), ((5, 12), (12, 3, 4), (12, 3, 4))
    x, w, v = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    (found,) = ranks.run([x, w, v], compiled_call(backend, None, {}))
    q, k = (np.einsum("bk,khd->hbd", x, each) for each in (w, v))
    np.testing.assert_allclose(found, np.einsum("hbd,hcd->hbc", q, k), rtol=1e-4, atol=1e-4)


def test_ranks_that_disagree_on_a_part_that_both_have_are_an_error():
    text = SOFTMAX.replace(
        ") -> tensor<5x7xf32> {", ") -> (tensor<5x7xf32> {tenon.sharding = #shard<axisarray[[], []]>}) {"
    )
    _, ranks = programs(text)

    def call(world: LocalWorld, module: ModuleOp, arguments: object) -> list[Array]:
        return [np.full((5, 7), world.rank == 2, np.float32)]

    with pytest.raises(RankError, match="result 0 of rank 2 is not that of rank 0"):
        ranks.run([np.zeros((5, 7), np.float32)], call)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SOFTMAX.replace('shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}', "").replace(
                " {tenon.sharding = #shard<axisarray[[0], [1]]>}", ""
            ),
            "@f: the module has no shard.grid",
        ),
        (
            "shard.grid @mesh(shape = 2) sched.program @f() : () -> () { sched.return after() }",
            "@f: a program at sched is that of one rank",
        ),
        (
            """
          shard.grid @mesh(shape = 2)
          graph.tnode @w : tensor<4xf32>
          func.func @f() { %x = graph.read @w : tensor<4xf32> graph.write @w, %x : tensor<4xf32> func.return }
        """,
            "@f: graph.tnode: the ranks of one process have no tensor nodes of their own",
        ),
        (
            """
          shard.grid @mesh(shape = 2)
          func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
            %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>
            func.return %s : tensor<4xf32>
          }
        """,
            "a.mlir:4:18: error: @f: graph.all_reduce: a program with collectives is that of one rank",
        ),
        (
            """
          shard.grid @mesh(shape = 2)
          func.func @f() -> tensor<i32> {
            %i = graph.axis_index on @mesh axis = 0 : tensor<i32>
            func.return %i : tensor<i32>
          }
        """,
            "@f: graph.axis_index: a program with collectives is that of one rank",
        ),
    ],
    ids=["no grid", "sched", "nodes", "a rank's", "a rank's place"],
)
def test_what_is_no_program_for_ranks_is_an_error(text: str, message: str):
    with pytest.raises(TenonError, match=message):
        programs(text)


def test_an_explanation_says_what_is_sent_and_for_what():
    _, ranks = programs(SOFTMAX)
    texts: list[str] = []

    def call(world: LocalWorld, module: ModuleOp, arguments: list[Array]) -> list[Array]:
        with tenon.compile(module, world=world) as executable:
            if world.rank == 0:
                texts.append(str(executable.explain()))
            return [np.asarray(executable(*arguments))]

    ranks.run([np.zeros((5, 7), np.float32)], call)  # pyright: ignore
    lines = [line.strip() for line in texts[0].splitlines() if line.strip().startswith("begin")]
    assert len(lines) == 2
    assert "begin all_reduce max on [2, 2] axes = [1] channel = 1" in lines[0]
    # Three rows of f32, to one other rank: 2 * 12 * 1 / 2.
    assert "sends 12 bytes for graph.all_reduce at a.mlir:4:" in lines[0]


def test_a_library_has_no_other_ranks(tmp_path: Path):
    _, ranks = programs(SOFTMAX)

    def call(world: LocalWorld, module: ModuleOp, arguments: object) -> list[Array]:
        with (
            tenon.compile(module, world=world) as executable,
            pytest.raises(
                TenonError, match=r"sched.collective: begin graph.all_reduce max on channel 1 asks"
            ),
        ):
            tenon.export(executable, tmp_path / f"rank{world.rank}")
        return [np.zeros(ranks.programs[world.rank].function.function_type.outputs.data[0].get_shape())]  # pyright: ignore

    ranks.run([np.zeros((5, 7), np.float32)], call)


def test_bytes_that_are_sent_are_the_fewest_of_any_algorithm():

    def sent(kind: str, source: list[int], result: list[int], **fields: object) -> int:
        return Collective(kind, 1, (4,), (0,), **fields).sent_nbytes(source, result, 4)  # pyright: ignore

    assert sent("all_reduce", [8], [8], reduction="add") == 2 * 32 * 3 // 4
    assert sent("all_gather", [2], [8], dim=0) == 3 * 8
    assert sent("reduce_scatter", [8], [2], reduction="add", dim=0) == 24
    assert sent("all_to_all", [8, 2], [2, 8], dim=0, concat_dim=1) == 48
    assert sent("all_to_all", [0, 2], [0, 8], dim=0, concat_dim=1) == 0
    assert sent("collective_permute", [8], [8], pairs=((1, 2),), rank=1) == 32
    assert sent("collective_permute", [8], [8], pairs=((1, 2),), rank=0) == 0
    assert sent("collective_permute", [8], [8], pairs=((1, 1),), rank=1) == 0


@dataclass(frozen=True)
class SpoilPass(ModulePass):
    """Changes what is summed on all ranks, or leaves a sum out on one of them."""

    name = "spoil"
    rank: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for sum in [each for each in op.walk() if isinstance(each, graph.AllReduceOp)]:
            if self.rank is None:
                sum.properties["kind"] = graph.ReduceKindAttr(graph.ReduceKind.MIN)
            elif graph.rank_around(sum) == self.rank:
                sum.result.replace_all_uses_with(sum.source)
                sum.detach()
                sum.erase()


@pytest.mark.parametrize(
    ("rank", "message"),
    [
        (None, "pass `spoil.*`: changed what the ranks of @f compute: output 0 at"),
        (
            2,
            r"pass `spoil.*`: the ranks of @f do not run: rank 3 waits for .* and rank 2 has",
        ),
        (
            0,
            r"pass `spoil.*`: the ranks of @f do not run: rank 1 waits for .* and rank 0 has",
        ),
    ],
)
def test_a_pass_that_is_wrong_on_any_rank_is_found(rank: int | None, message: str):
    module = parse_module(SOFTMAX, "a.mlir")
    execute = VerifySemantics(run_module, (0,), None, partial(interpreted_ranks, callbacks={}))
    passes = (DecomposeCompositesPass(), PropagateShardingPass(), PartitionGraphPass(0))
    PassManager(passes, [execute]).run(context(), module.clone())
    with pytest.raises(SemanticsError, match=message):
        PassManager((*passes, SpoilPass(rank)), [execute]).run(context(), module)


def test_a_timeline_has_a_row_for_each_rank():
    _, ranks = programs(SOFTMAX)
    with tenon.record_timeline() as timeline:
        ranks.run([np.zeros((5, 7), np.float32)], compiled_call("llvm", None, {}))
    rows: dict[str, list[str]] = {}
    for span in timeline.spans:
        if "graph.all_reduce" in span.name:
            rows.setdefault(span.track.thread, []).append(span.name)
    assert len(rows) == 4 and all(name.endswith(f"rank {rank}") for rank, name in enumerate(sorted(rows)))
    for names in rows.values():
        assert names == [
            "begin graph.all_reduce max on channel 1",
            "await graph.all_reduce max on channel 1",
            "begin graph.all_reduce add on channel 2",
            "await graph.all_reduce add on channel 2",
        ]

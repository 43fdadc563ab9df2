"""Recipes: the steps of a schedule, noted, read, edited and done again."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon import nn
from tenon.dialects import context, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError
from tenon.passes.machine.groups import GroupLimits
from tenon.passes.machine.target import Target
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from tenon.passes.sched.mapping.collapse_axes import CollapseAxesPass
from tenon.passes.sched.steps.database import kernel_digest
from tenon.passes.sched.steps.passes.record_recipes import RecordRecipesPass
from tenon.passes.sched.steps.recipe import RECIPE, UNNOTED, begin_recipe, end_recipe, recipe_of
from tenon.passes.sched.steps.schedule import Schedule


def zeros(*shapes: tuple[int, ...]) -> list[Any]:
    return [np.zeros(shape, np.float32) for shape in shapes]


def layers(x: Any, *weights: Any) -> Any:
    for weight in weights:
        x = nn.softmax(x @ weight, axis=-1)
    return x


def attention(q: Any, k: Any, v: Any) -> Any:
    return nn.softmax(q @ tnp.permute_dims(k, (0, 1, 3, 2)), axis=-1) @ v


def substitution(matrix: Any, right: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        return x.at[i].set((right[i] - matrix[i, :i] @ x[:i]) / matrix[i, i])

    return tenon.fori_loop(0, right.shape[0], row, tnp.zeros_like(right))


PROGRAMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "products": (lambda a, b: a @ b, zeros((700, 800), (800, 900))),
    "dots": (lambda a, b: a @ b.T, zeros((60, 257), (40, 257))),
    "one row": (lambda a, b: a @ b, zeros((1, 1024), (1024, 1024))),
    "layers": (layers, zeros((37, 64), (64, 64), (64, 64), (64, 64))),
    "attention": (attention, zeros(*[(2, 4, 96, 32)] * 3)),
    "columns": (lambda x: tnp.sum(x, axis=0), zeros((64, 16384))),
    "columns of three": (lambda x: tnp.sum(x * x, axis=0), zeros((72, 3, 5, 1024))),
    "transpose": (lambda x: tnp.permute_dims(x, (1, 0)) + 0.0, zeros((600, 700))),
    "weights": (lambda x: tnp.permute_dims(x, (2, 3, 1, 0)), zeros((128, 64, 3, 3))),
    "padded transpose": (
        lambda x: tnp.pad(tnp.permute_dims(x, (0, 2, 3, 1)), ((0, 0), (1, 1), (1, 1), (0, 0))),
        zeros((2, 64, 14, 14)),
    ),
    "two matrices": (lambda a, b, x: a @ x + b @ x, zeros((3000, 1000), (3000, 1000), (1000,))),
    "substitution": (substitution, zeros((700, 700), (700,))),
    "pad": (lambda x: tnp.pad(x, ((1, 2), (3, 4))) * 2.0, zeros((100, 90))),
    "roll": (lambda x: tnp.roll(x, 3, axis=0) - x, zeros((100000,))),
    "pool": (lambda x: nn.max_pool(x, 3, strides=2), zeros((2, 8, 57, 57))),
    "convolution": (lambda x, w: nn.conv(x, w), zeros((1, 8, 30, 30), (16, 8, 3, 3))),
    "norm": (lambda x: x / x.std(axis=1, keepdims=True), zeros((300, 1029))),
    "cumulative": (lambda x: tnp.cumulative_sum(x, axis=1), zeros((20, 300))),
    "gather": (lambda x: tnp.take(x, tnp.asarray([3, 1, 2, 2]), axis=0), zeros((10, 50))),
    "narrow": (lambda x: tnp.astype(x, tnp.float16) @ tnp.astype(x.T, tnp.float16), zeros((64, 200))),
}


def scheduled(name: str, target: Target) -> tuple[dict[str, sched.KernelOp], dict[str, sched.KernelOp]]:
    """Returns the kernels of a program before default schedules, and after them, with recipes."""
    function, arguments = PROGRAMS[name]
    module = parse_module(str(tenon.jit(function, name="f").lower(*arguments).module))
    passes = [*phases(target)["graph"], *phases(target)["sched"]]
    names = [pass_.name for pass_ in passes]
    begin = names.index("map-work-groups" if target.groups else CollapseAxesPass.name)
    end = names.index("build-dependencies")
    PassManager(passes[:begin]).run(context(), module)
    before = {op.sym_name.data: op.clone() for op in module.ops if isinstance(op, sched.KernelOp)}
    PassManager([RecordRecipesPass(), *passes[begin:end]]).run(context(), module)
    after = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
    return before, after


def plain(kernel: sched.KernelOp) -> str:
    """Returns the text of a kernel without what says how it came about."""
    kernel = kernel.clone()
    for name in (RECIPE, "schedule"):
        kernel.attributes.pop(name, None)
    return str(kernel)


TARGETS = {
    "AVX2": Target(),
    "AVX-512": Target(64),
    "small caches": Target(16, l1_nbytes=8192, l2_nbytes=65536),
    "GPU": Target(16, groups=GroupLimits(max_items=64)),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_default_schedule_is_its_recipe(name: str, target: str):
    before, after = scheduled(name, TARGETS[target])
    replayed = 0
    for kernel_name, kernel in after.items():
        steps = recipe_of(kernel)
        if isinstance(steps, str):
            assert "which is no step" in steps and target == "GPU", f"{kernel_name}: {steps}"
            continue
        again = Schedule(before[kernel_name]).replay(json.loads(json.dumps(steps)))
        assert plain(again.kernel) == plain(kernel)
        replayed += bool(steps)
    assert replayed or target == "GPU"


def test_an_image_that_is_padded_where_it_is_read_has_no_recipe():
    x, w = zeros((8, 64, 56, 56), (64, 64, 3, 3))
    explanation = tenon.explain(lambda x, w: nn.conv(x, w, padding=1), x, w)
    recipes = [kernel.recipe for kernel in explanation.kernels]
    assert recipes[-1] == "the image is computed where it is staged, by what was another kernel"
    assert f"  no recipe: {recipes[-1]}\n" in str(explanation)


MATMUL = """
func.func @f(%a: tensor<64x96xf32>, %b: tensor<96x80xf32>) -> tensor<64x80xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
    affine_map<(m, n, k) -> (m, n)>] : tensor<64x96xf32>, tensor<96x80xf32> -> tensor<64x80xf32>
  func.return %c : tensor<64x80xf32>
}
"""


def test_a_recipe_is_printed_edited_and_done_again():
    explanation = tenon.explain(MATMUL)
    (kernel,) = explanation.kernels
    lines = str(explanation).partition("  recipe:\n")[2].splitlines()
    steps = [json.loads(line) for line in lines if line.startswith('    {"step"')]
    assert steps == list(kernel.recipe) and steps[-1]["step"] == "map"
    assert json.loads(explanation.to_json())["kernels"][0]["recipe"] == steps
    (step,) = steps
    rows = step["mappings"][step["axes"].index("i")]
    step["mappings"][step["axes"].index("i")] = "tile(3)"
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype("f4") for shape in ((64, 96), (96, 80)))
    with tenon.compile(MATMUL) as default, tenon.compile(MATMUL, schedules={kernel.name: steps}) as edited:
        assert f"sched.axis %i = 64 {rows}" in default.stages["sched"]
        assert "sched.axis %i = 64 tile(3)" in edited.stages["sched"]
        np.testing.assert_array_equal(default(a, b), edited(a, b))
        found = tenon.explain(edited).kernels[0].recipe
        assert list(found) == steps


def test_what_nobody_noted_has_no_recipe():
    module = parse_module(KERNEL)
    (kernel,) = module.ops
    assert isinstance(kernel, sched.KernelOp) and recipe_of(kernel) == UNNOTED
    end_recipe(kernel, "never begun")
    assert recipe_of(kernel) == UNNOTED


KERNEL = """
sched.kernel @k(%x: memref<100xf32>, %y: memref<100xf32>) {
  %cm1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c99 = arith.constant 99 : index
  sched.axis %i = 100 {
    %before = arith.addi %i, %cm1 : index
    %raised = arith.maxsi %before, %c0 : index
    %held = arith.minsi %raised, %c99 : index
    %v = memref.load %x[%held] : memref<100xf32>
    memref.store %v, %y[%i] : memref<100xf32>
  }
}
"""


def test_partition_cuts_where_clamps_begin():
    schedule = Schedule(KERNEL)
    assert schedule.partition("i") == ["i", "i_1"]
    assert "sched.axis %i = 1 {" in str(schedule) and "sched.axis %i_1 = 99 {" in str(schedule)
    assert "arith.maxsi" not in str(schedule).partition("sched.axis %i_1")[2]
    assert schedule.steps == [{"step": "partition", "axis": "i"}]
    parts = Schedule(KERNEL)
    assert parts.partition("i", parts=16, multiple=16) == ["part"]
    assert "sched.axis %part = 6 {" in str(parts) and "sched.axis %i_1 = 16 {" in str(parts)
    assert str(Schedule(KERNEL).replay(parts.steps)) == str(parts)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"parts": -1},
            r"parts -1 of a multiple of 64 \(expected 0 or more of 1 or more, and no branch\)",
        ),
        ({"parts": 8, "branch": True}, "parts 8 of a multiple of 64 "),
        ({"parts": 8, "multiple": -1}, "parts 8 of a multiple of -1 "),
        ({"parts": 100}, "parts of 100, where the longest piece has 99"),
    ],
)
def test_partition_says_what_is_wrong(arguments: dict[str, Any], message: str):
    schedule, before = Schedule(KERNEL), KERNEL
    with pytest.raises(TenonError, match=f"partition-axis: sched.axis %i of @k: {message}"):
        schedule.partition("i", **arguments)
    assert str(schedule) == str(Schedule(before))


def test_partition_takes_plain_axes_only():
    mapped = Schedule(KERNEL)
    mapped.map({"i": "unroll(2)"})
    with pytest.raises(TenonError, match=r"it is mapped to unroll\(2\), expected a serial one"):
        mapped.partition("i")
    split = Schedule(KERNEL)
    _, inner = split.split("i", 30)
    with pytest.raises(TenonError, match="its iterations are not a known number"):
        split.partition(inner)
    plain_copy = Schedule(KERNEL.replace("%x[%held]", "%x[%i]"))
    with pytest.raises(TenonError, match="nothing begins or ends along it, so there is no branch"):
        plain_copy.partition("i", branch=True)
    summed = Schedule(
        """sched.kernel @s(%x: memref<8xf32>, %y: memref<f32>) {
          %s = sched.reduce addf %i = 8 : f32 {
            %v = memref.load %x[%i] : memref<8xf32>
            sched.yield %v : f32
          }
          memref.store %s, %y[] : memref<f32>
        }"""
    )
    with pytest.raises(TenonError, match="it is no axis, whose iterations may run apart"):
        summed.partition("i")


def test_prefetch_names_what_is_needed_later():
    schedule = Schedule(KERNEL)
    schedule.prefetch("i", "x", 64)
    assert "{tenon.prefetch = 64 : index}" in str(schedule)
    assert schedule.steps == [{"step": "prefetch", "axis": "i", "buffer": "x", "distance": 64}]
    schedule.prefetch("i", "x", -64)
    assert "{tenon.prefetch = -64 : index}" in str(schedule)
    with pytest.raises(TenonError, match=r"prefetch-buffer: .* %i of @k: distance 0 names what is loaded"):
        schedule.prefetch("i", "x", 0)
    with pytest.raises(TenonError, match=r"prefetch-buffer: .* %i of @k: %y is not loaded right in it"):
        schedule.prefetch("i", "y", 4)
    with pytest.raises(TenonError, match=r"prefetch-buffer: .* %i of @k: level 3 is not one of 1, 2"):
        schedule.prefetch("i", "x", 4, level=3)


def test_the_second_cache_may_be_named_too():
    schedule = Schedule(KERNEL)
    schedule.prefetch("i", "x", 64, level=2)
    assert "{tenon.prefetch = 64 : index, tenon.prefetch_level = 2 : index}" in str(schedule)
    steps = [{"step": "prefetch", "axis": "i", "buffer": "x", "distance": 64, "level": 2}]
    assert schedule.steps == steps
    # The last word counts.
    schedule.prefetch("i", "x", 32)
    assert "{tenon.prefetch = 32 : index}" in str(schedule)


def test_only_tiles_of_some_rows_may_fetch():
    schedule = Schedule(KERNEL)
    schedule.prefetch("i", "x", 64, rows=2)
    assert "{tenon.prefetch = 64 : index, tenon.prefetch_rows = 2 : index}" in str(schedule)
    assert schedule.steps == [{"step": "prefetch", "axis": "i", "buffer": "x", "distance": 64, "rows": 2}]
    schedule.prefetch("i", "x", 64, level=2, rows=1)
    assert "{tenon.prefetch = 64 : index, tenon.prefetch_level = 2 : index}" in str(schedule)
    with pytest.raises(TenonError, match=r"prefetch-buffer: .* %i of @k: tiles of 0 rows are none"):
        schedule.prefetch("i", "x", 64, rows=0)


def test_a_kernel_is_known_by_what_it_is_and_not_by_what_is_noted():
    (kernel,) = parse_module(KERNEL).ops
    assert isinstance(kernel, sched.KernelOp)
    before = kernel_digest(kernel)
    begin_recipe(kernel)
    assert kernel_digest(kernel) == before


def test_what_fetched_before_and_in_no_loop_is_no_step():
    load = "%w = memref.load %x[%c0] {tenon.prefetch = 4 : index} : memref<100xf32>"
    text = KERNEL.replace("sched.axis %i", f"{load}\n  sched.axis %i")
    (kernel,) = parse_module(text).ops
    assert isinstance(kernel, sched.KernelOp)
    begin_recipe(kernel)
    assert recipe_of(kernel) == []

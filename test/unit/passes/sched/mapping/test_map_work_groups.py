"""The choice of work-groups: their limits, nests of many axes, sums over several dims, named dims."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
import tenon
from tenon.dialects import context, low, sched
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from xdsl.dialects.builtin import ModuleOp

TO_SCHED = "graph-pipeline,sched-pipeline{target=gpu vector-nbytes=16}"


def compiled(text: str, pipeline: str = TO_SCHED) -> ModuleOp:
    module = parse_module(text, "f.mlir")
    PassManager(pipeline).run(context(), module)
    return module


def function(source: str, result: str, body: str) -> str:
    end = f"func.return %y : tensor<{result}>"
    return f"func.func @f(%x: tensor<{source}>) -> tensor<{result}> {{ {body} {end} }}"


TOTAL = function(
    "6x70x5xf32", "f32", "%y = graph.reduce add %x axes [0, 1, 2] : tensor<6x70x5xf32> -> tensor<f32>"
)

PERMUTED = function(
    "3x4x5x6x7xf32", "7x3x6x5x4xf32", "%y = graph.permute %x [4, 0, 3, 2, 1] : tensor<3x4x5x6x7xf32>"
)


def loops(module: ModuleOp) -> list[str]:
    found = [op for op in module.walk() if isinstance(op, sched.AxisOp | sched.ReduceOp)]
    return [f"{op.extent} {op.mapping.words()}" for op in found]


def test_a_sum_over_several_dims_is_one_that_work_items_share():
    assert loops(compiled(TOTAL)) == ["2100 items(256) unroll(4)"]


def test_a_nest_of_many_axes_is_made_one_of_three():
    found = loops(compiled(PERMUTED))
    assert len(found) == 3 and found[-1].startswith("4 block")
    x = np.arange(3 * 4 * 5 * 6 * 7, dtype=np.float32).reshape(3, 4, 5, 6, 7)
    for pipeline in (TO_SCHED, f"{TO_SCHED},low-pipeline"):
        y = tenon.compile(PERMUTED, backend="reference", pipeline=pipeline)(x)
        assert np.array_equal(y, x.transpose(4, 0, 3, 2, 1))


@pytest.mark.parametrize("n", [1, 5, 300, 1000])
def test_extents_of_named_dims_are_shared_too(n: int):
    text = """
    graph.dim @n min 1 max 1000
    func.func @f(%x: tensor<?x3xf32, #graph.dims<n, 3>>)
        -> (tensor<3xf32>, tensor<?x3xf32, #graph.dims<n, 3>>) {
      %s = graph.reduce add %x axes [0] : tensor<?x3xf32, #graph.dims<n, 3>> -> tensor<3xf32>
      %y = graph.exp %x : tensor<?x3xf32, #graph.dims<n, 3>>
      func.return %s, %y : tensor<3xf32>, tensor<?x3xf32, #graph.dims<n, 3>>
    }"""
    x = np.random.default_rng(0).integers(-9, 9, (n, 3)).astype(np.float32)
    for pipeline in (TO_SCHED, f"{TO_SCHED},low-pipeline"):
        s, y = tenon.compile(text, backend="reference", pipeline=pipeline)(x)
        assert np.array_equal(s, x.sum(axis=0))
        np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)


@pytest.mark.parametrize("items", [1, 2, 8, 100])
def test_no_work_group_has_more_work_items_than_it_may(items: int):
    pipeline = f"graph-pipeline,sched-pipeline{{target=gpu max-items={items}}},low-pipeline"
    for text in (TOTAL, PERMUTED):
        for op in compiled(text, pipeline).ops:
            if isinstance(op, low.KernelOp):
                assert prod(op.block_extents) <= items


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ("max-items=0", "max-items 0 and max-block 256,256,64 must be 1 or more, and three of the latter"),
        ("max-block=4,4", "max-items 256 and max-block 4,4 must be 1 or more, and three of the latter"),
        (
            "multiple=0",
            "multiple 0, n-units 16 and vector-nbytes 16 must be 1 or more, shared-nbytes 32768 0 or more",
        ),
    ],
)
def test_limits_that_no_device_has_are_errors(options: str, wanted: str):
    with pytest.raises(tenon.TenonError) as caught:
        compiled(TOTAL, f"map-work-groups{{{options}}}")
    assert wanted in str(caught.value)

"""Matrices that are multiplied from both sides, by blocks of rows."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.dialects import context
from tenon.passes.graph.loops.share_matrix_reads import ShareMatrixReadsPass
from tenon.passes.machine.target import DEFAULT_TARGET, Target
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import phases
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

ONE_THREAD = Target(l2_nbytes=1 << 16, n_threads=1)


def both(a: Any, x: Any, y: Any) -> Any:
    return a @ x, y @ a


def gram(a: Any, x: Any, y: Any) -> Any:
    return (a @ x) @ a, y


def chained(a: Any, x: Any, y: Any) -> Any:
    q = a @ x
    return q, (y + q[:1]) @ a


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
@pytest.mark.parametrize("shape", [(64, 128), (97, 101), (130, 64)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [both, gram, chained], ids=lambda each: each.__name__)
def test_products(function: Any, dtype: str, shape: tuple[int, int], backend: str):
    generator = np.random.default_rng(0)
    a, x, y = (generator.random(each).astype(dtype) for each in (shape, shape[1], shape[0]))
    module = tenon.jit(function).lower(a, x, y).module.clone()
    PassManager(phases(ONE_THREAD)["graph"]).run(context(), module)
    is_shared = shape[0] * shape[1] * a.itemsize >= 1 << 15 and function is not chained
    assert ("graph.scan" in str(module)) is is_shared
    program = tenon.compile(str(module), backend=backend)
    tolerance = 1e-12 if dtype == "f8" else 1e-5
    for found, expected in zip(program(a, x, y), function(a, x, y), strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance)


def test_machines_with_many_threads():
    assert ShareMatrixReadsPass.name in [each.name for each in phases(DEFAULT_TARGET)["graph"]]
    a, x, y = np.zeros((400, 500)), np.zeros(500), np.zeros(400)
    for n_threads in (2, 3):
        passes = phases(Target(n_threads=n_threads))["graph"]
        module = tenon.jit(both).lower(a, x, y).module.clone()
        PassManager(passes).run(context(), module)
        assert ("graph.scan" in str(module)) is (n_threads == 2)


def test_wrong_options():
    message = "share-matrix-reads: l2-nbytes 0 and n-threads 2 must be 1 or more"
    with pytest.raises(PassFailedException, match=message):
        ShareMatrixReadsPass(l2_nbytes=0).apply(context(), ModuleOp([]))


def test_a_number_is_no_matrix():
    text = """
    func.func @f(%s: tensor<f32>, %t: tensor<f32>) -> tensor<f32> {
      %p = graph.contract %s, %t maps [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>]
          : tensor<f32>, tensor<f32> -> tensor<f32>
      func.return %p : tensor<f32>
    }"""
    assert tenon.compile(text)(np.float32(3), np.float32(2)) == 6

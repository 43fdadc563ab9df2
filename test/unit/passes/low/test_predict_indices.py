"""Indices that a processor predicts to be in range are what they were, wherever they point."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
import tenon.numpy as tnp
from tenon.backends.llvm import backend
from tenon.dialects.low.rare import is_rare
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.low.predict_indices import PredictIndicesPass
from tenon.passes.machine.groups import GroupLimits
from tenon.passes.machine.target import Target
from tenon.passes.pipeline import low_passes
from tenon.test.kernels import interpret_kernel, launch_kernel, passed
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, i64

Array = npt.NDArray[Any]

EDGES = [0, 1, 6, 7, 8, -1, -6, -7, -8, -9, 100, -100]
FAR = [2**31, -(2**31) - 1, 2**63 - 1, -(2**63), 2**63 - 7]


def kernel(
    extent: str = "%c7",
    smallest: str = "%zero",
    predicate: str = "slt",
    type: str = "i64",
    last: str = "%c6",
    base: str = "%sums",
) -> str:
    """Adds, one after the other, what is gathered to one of `sums`, or stores it there."""
    return f"""
low.kernel @k(%at: memref<17x{type}>, %values: memref<7xf64>, %sums: memref<7xf64>, %other: memref<17xf64>)
    grid [1, 1, 1] block [1, 1, 1] {{
  %zero = arith.constant 0 : {type}
  %c1 = arith.constant 1 : {type}
  %c7 = arith.constant 7 : {type}
  %cm7 = arith.constant -7 : {type}
  %begin = arith.constant 0 : index
  %step = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %end = arith.constant 17 : index
  scf.for %k = %begin to %end step %step {{
    %x = memref.load %at[%k] : memref<17x{type}>
    %sum = arith.addi %c7, %c1 : {type}
    %n = arith.cmpi {predicate}, %x, {smallest} : {type}
    %s = arith.addi %x, {extent} : {type}
    %w = low.select %n, %s, %x : {type}
    %j = arith.index_cast %w : {type} to index
    %a = arith.maxsi %j, %begin : index
    %b = arith.minsi %a, {last} : index
    %value = memref.load %values[%b] : memref<7xf64>
    %old = memref.load {base}[%c6] : memref<{"7" if base == "%sums" else "17"}xf64>
    %new = arith.addf %old, %value : f64
    memref.store %value, %other[%k] : memref<17xf64>
    memref.store %new, %sums[%b] : memref<7xf64>
  }}
}}"""


def branches(module: ModuleOp) -> list[scf.IfOp]:
    return [op for op in module.walk() if isinstance(op, scf.IfOp) and is_rare(op)]


def changed(text: str) -> ModuleOp:
    return passed(text, PredictIndicesPass())


def results(module: ModuleOp, indices: Array, on_llvm: bool) -> list[bytes]:
    values, sums = np.random.default_rng(7).normal(size=(2, 7))
    arrays = [indices.copy(), values, sums, np.zeros(17)]
    if on_llvm:
        launch_kernel(backend(), module, *arrays)
    else:
        interpret_kernel(module, *arrays)
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize(
    ("text", "n_ops_apart"),
    [
        (kernel(), 7),
        (kernel(last="%c5"), 6),
        (kernel(extent="%cm7"), None),
        (kernel(extent="%sum"), None),
        (kernel(smallest="%c1"), None),
        (kernel(predicate="sle"), None),
        (kernel(predicate="ult"), None),
        (kernel(type="i32"), 7),
        (kernel(type="i8"), 7),
        (kernel(base="%other"), 7),
    ],
    ids=[
        "clamped",
        "clamped elsewhere",
        "a negative extent",
        "an extent that is computed",
        "another bound",
        "another comparison",
        "unsigned",
        "of 32 bits",
        "of 8 bits",
        "another buffer",
    ],
)
def test_indices_are_what_they_were(text: str, n_ops_apart: int | None) -> None:
    before, after = parse_module(text, "k.mlir"), changed(text)
    dtype = np.dtype({"i8": np.int8, "i32": np.int32}.get(text.partition("17x")[2][:3].rstrip(">"), np.int64))
    bounds = np.iinfo(dtype)
    indices = np.array([index for index in (*EDGES, *FAR) if bounds.min <= index <= bounds.max], dtype)
    indices = np.resize(indices, 17)
    assert [len(list(op.false_region.block.ops)) for op in branches(after)] == (
        [] if n_ops_apart is None else [n_ops_apart]
    )
    expected = results(before, indices, on_llvm=False)
    for on_llvm in (False, True):
        assert results(after, indices, on_llvm) == expected
    # What is printed is what was made.
    again = parse_module(str(after), "again.mlir")
    assert len(branches(again)) == len(branches(after))


def test_iterations_that_may_be_lanes_are_left_alone() -> None:
    module = changed(kernel(base="%values").replace("%values[%c6] : memref<17", "%values[%c6] : memref<7"))
    assert not branches(module)


def test_what_else_reads_a_wrapped_index_reads_it_still() -> None:
    text = kernel().replace(
        "memref.store %new",
        "%both = arith.addi %w, %s : i64\nmemref.store %both, %at[%k] : memref<17xi64>\nmemref.store %new",
    )
    module = changed(text)
    (branch,) = branches(module)
    assert branch.output[0].type == i64
    indices = np.resize(np.array([*EDGES, *FAR]), 17)
    assert results(module, indices, on_llvm=True) == results(parse_module(text, "k"), indices, on_llvm=False)


def test_code_outside_of_loops_is_left_alone() -> None:
    text = kernel()
    text = text.replace("scf.for %k = %begin to %end step %step {", "%k = arith.addi %begin, %step : index")
    head, _, tail = text.rpartition("  }\n")
    assert not branches(changed(head + tail))


def test_a_while_loop_follows_indices() -> None:
    @tenon.jit
    def follow(following: Any, start: Any) -> Any:
        return tenon.while_loop(lambda at: following[at] != at, lambda at: following[at], start)

    following = np.array([3, 1, -4, -1, 2, -7, 0, 4])
    assert "tenon.rare" in follow.lower(following, np.int64(6)).text("low")
    # 6 -> 0 -> 3 -> -1 -> 4 -> 2 -> -4 -> 2 would go on for ever.
    following[2] = 1
    assert follow(following, np.int64(6)) == 1


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_sums_of_many_scattered_elements_are_those_of_numpy(share: float) -> None:
    generator = np.random.default_rng(5)
    x = generator.normal(size=1003)
    at, source = generator.integers(0, 1003, (2, 5000))
    at, source = (np.where(generator.random(5000) < share, each - 1003, each) for each in (at, source))

    @tenon.jit
    def scattered(x: Any, at: Any, source: Any) -> Any:
        return tnp.zeros(x.shape).at[at].add(x[source])

    expected = np.zeros(1003)
    np.add.at(expected, at, x[source])
    assert scattered(x, at, source).numpy().tobytes() == expected.tobytes()
    assert scattered.lower(x, at, source).text("low").count("tenon.rare") == 2


def test_only_processors_predict() -> None:
    on_processor, on_gpu = (
        [each.name for each in low_passes(Target(groups=groups))] for groups in (None, GroupLimits())
    )
    assert PredictIndicesPass.name in on_processor
    assert PredictIndicesPass.name not in on_gpu

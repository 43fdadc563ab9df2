"""Kernels that fetch the next row while they work on one: what they compute, and on what."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.dialects import context
from tenon.dialects.low.prefetch import PREFETCH, PREFETCH_LEVEL
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.passes.sched.mapping.prefetch_rows import PrefetchRowsPass
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import PassFailedException

ROWS = np.random.default_rng(0).standard_normal((300, 1029)).astype("f4")


def centred(x):
    return x - tnp.mean(x, axis=-1, keepdims=True)


def test_rows_that_are_fetched_ahead_are_the_same_on_every_backend():
    program = tenon.compile(tenon.jit(centred).lower(ROWS).module)
    found = program(ROWS)
    assert found.tobytes() == np.asarray(tenon.jit(centred, backend="opencl")(ROWS)).tobytes()
    for level in ("sched", "low"):
        interpreted = tenon.compile(str(program.stages[level]), backend="reference")
        assert found.tobytes() == interpreted(ROWS).tobytes(), level
    np.testing.assert_allclose(found, ROWS - ROWS.mean(-1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("level", ["sched", "low"])
def test_distances_are_in_the_text_of_every_level(level: str):
    assert f"{{{PREFETCH} = 1029 : index}}" in tenon.jit(centred).lower(ROWS).text(level)


def test_vectors_fetch_and_single_elements_do_not():
    text = tenon.jit(centred).lower(ROWS).text("low")
    assert PREFETCH in text
    assert all("vector.load" in line for line in text.splitlines() if PREFETCH in line)


def test_what_the_caches_hold_is_not_fetched_ahead():
    assert PREFETCH not in tenon.jit(centred).lower(ROWS[:200]).text("sched")


def test_rows_of_named_dims_are_fetched_ahead_by_their_greatest_number():
    text = """
    graph.dim @n min 1 max 4096
    func.func @f(%x: tensor<?x1024xf32, #graph.dims<n, 1024>>) -> tensor<?x1024xf32, #graph.dims<n, 1024>> {
      %s = graph.reduce add %x axes [1] keep : tensor<?x1024xf32, #graph.dims<n, 1024>>
        -> tensor<?x1xf32, #graph.dims<n, 1>>
      %b = graph.broadcast %s : tensor<?x1xf32, #graph.dims<n, 1>> -> tensor<?x1024xf32, #graph.dims<n, 1024>>
      %y = graph.sub %x, %b : tensor<?x1024xf32, #graph.dims<n, 1024>>
      func.return %y : tensor<?x1024xf32, #graph.dims<n, 1024>>
    }
    """
    program = tenon.compile(text)
    assert PREFETCH in str(program.stages["sched"])
    x = ROWS[:5, :1024].copy()
    np.testing.assert_allclose(program(x), x - x.sum(-1, keepdims=True), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("l1_nbytes", "is_second"), [(32768, True), (32769, False)])
def test_a_small_first_cache_keeps_the_row_that_is_worked_on(l1_nbytes: int, is_second: bool):
    module = parse_module(str(tenon.jit(centred).lower(ROWS).module))
    sched = f"sched-pipeline{{l1-nbytes={l1_nbytes}}}"
    PassManager(f"graph-pipeline,{sched}").run(context(), module)
    assert PREFETCH in str(module)
    assert (f"{PREFETCH_LEVEL} = 2 : index" in str(module)) is is_second
    PassManager("low-pipeline").run(context(), module)
    assert (f"{PREFETCH_LEVEL} = 2 : index" in str(module)) is is_second
    with tenon.compile(str(module)) as executable:
        assert ("i32 0, i32 2, i32 1)" in str(executable.stages["source"])) is is_second
        found = executable(ROWS)
    assert found.tobytes() == np.asarray(tenon.jit(centred)(ROWS)).tobytes()


def test_a_recipe_says_which_cache():
    """A Zen 3 has a first cache of 32 KiB."""
    module = tenon.jit(centred).lower(ROWS).module
    with tenon.compile(module, target="znver3") as executable:
        assert '"distance": 1029, "level": 2}' in str(executable.explain())


def scheduled(function: Any, l1_nbytes: int, rows: Any = ROWS, l3_nbytes: int = 1 << 25) -> str:
    module = parse_module(str(tenon.jit(function).lower(rows).module))
    sched = f"sched-pipeline{{l1-nbytes={l1_nbytes} l3-nbytes={l3_nbytes}}}"
    PassManager(f"graph-pipeline,{sched}").run(context(), module)
    return str(module)


@pytest.mark.parametrize(
    ("l1_nbytes", "l3_nbytes", "is_second"),
    [(32768, 1 << 21, True), (32768, 1 << 23, False), (32769, 1 << 21, False)],
)
def test_short_rows_of_what_is_in_memory_go_into_the_second_cache(
    l1_nbytes: int, l3_nbytes: int, is_second: bool
):
    def sums(x: Any) -> Any:
        return tnp.sum(x, axis=1)

    text = scheduled(sums, l1_nbytes, ROWS, l3_nbytes)
    assert PREFETCH in text and (f"{PREFETCH_LEVEL} = 2 : index" in text) is is_second


NEAR = f"{PREFETCH} = 512 : index, {PREFETCH_LEVEL} = 2 : index"


def test_short_rows_of_one_reduction_are_fetched_from_near():
    def by_vector(x: Any) -> Any:
        return x @ (tnp.arange(x.shape[1]) / 7.0).astype("f4")

    def logsumexp(x: Any) -> Any:
        return tnp.log(tnp.sum(tnp.exp(x), axis=1))

    for function in (by_vector, lambda x: tnp.max(x, axis=1)):
        assert NEAR in scheduled(function, 32768, ROWS, 1 << 21)
        # Half of the third cache holds it, or the first one is no small one.
        assert NEAR not in scheduled(function, 32768, ROWS, 1 << 23)
        assert NEAR not in scheduled(function, 32769, ROWS, 1 << 21)
    # What computes much, and what two loops read, is fetched from further on, long rows not at all.
    for other in (logsumexp, centred):
        assert NEAR not in (text := scheduled(other, 32768, ROWS, 1 << 21)) and PREFETCH in text
    assert PREFETCH not in scheduled(by_vector, 32768, ROWS.reshape(75, 4116), 1 << 19)


def test_several_rows_at_once_are_fetched_from_near():
    rows = np.random.default_rng(0).standard_normal((200, 3500)).astype("f4")
    text = scheduled(lambda x: x @ tnp.ones(x.shape[1:], "f4"), 32768, rows, 1 << 21)
    assert "each loaded vector is used 2 times" in text and NEAR in text
    with tenon.compile(text) as executable:
        np.testing.assert_allclose(np.asarray(executable(rows)), rows.sum(1), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("l1_nbytes", "l3_nbytes", "is_fetched"),
    [(32768, 1 << 21, True), (32768, 1 << 23, False), (32769, 1 << 21, False)],
)
def test_columns_side_by_side_fetch_what_is_in_memory(l1_nbytes: int, l3_nbytes: int, is_fetched: bool):
    blocks = np.random.default_rng(0).standard_normal((64, 128, 64)).astype("f4")

    def sums(x: Any) -> Any:
        return tnp.sum(x, axis=1)

    text = scheduled(sums, l1_nbytes, blocks, l3_nbytes)
    assert "columns side by side" in text
    # Vectors of 8 f32 are 8 columns each: 64 of them are one row.
    assert (f"{PREFETCH} = 1024 : index, {PREFETCH_LEVEL} = 2 : index" in text) is is_fetched
    with tenon.compile(text) as executable:
        np.testing.assert_array_equal(np.asarray(executable(blocks)), np.asarray(tenon.jit(sums)(blocks)))
    # Of some columns of each row the others lie between.
    assert PREFETCH_LEVEL not in scheduled(
        lambda x: tnp.sum(x[:, :, :32], axis=1), l1_nbytes, blocks, l3_nbytes
    )


@pytest.mark.parametrize(
    ("l1_nbytes", "rows", "is_fetched"), [(32768, 300, True), (32768, 200, False), (32769, 300, False)]
)
def test_what_is_transposed_fetches_the_next_line_of_each_row(l1_nbytes: int, rows: int, is_fetched: bool):
    text = scheduled(lambda x: tnp.permute_dims(x, (1, 0)), l1_nbytes, ROWS[:rows])
    assert (f"{{{PREFETCH} = 16 : index}}" in text) is is_fetched


def test_each_row_of_a_square_is_fetched():
    with tenon.compile(
        tenon.jit(lambda x: tnp.permute_dims(x, (1, 0))).lower(ROWS).module, target="znver3"
    ) as executable:
        loads = [line for line in str(executable.stages["low"]).splitlines() if "vector.load" in line]
        assert len(loads) >= 8 and all(f"{PREFETCH} = 16" in line for line in loads)
        np.testing.assert_array_equal(executable(ROWS), ROWS.T)


def solved(matrix: Any, right: Any) -> Any:
    """Forward substitution."""

    def row(i: Any, x: Any) -> Any:
        return x.at[i].set((right[i] - matrix[i, :i] @ x[:i]) / matrix[i, i])

    return tenon.fori_loop(0, right.shape[0], row, tnp.zeros_like(right))


def solved_back(matrix: Any, right: Any) -> Any:
    n = right.shape[0]

    def row(number: Any, x: Any) -> Any:
        i = n - 1 - number
        return x.at[i].set((right[i] - matrix[i, i + 1 :] @ x[i + 1 :]) / matrix[i, i])

    return tenon.fori_loop(0, n, row, tnp.zeros_like(right))


def multiplied(matrix: Any, right: Any) -> Any:
    def row(i: Any, x: Any) -> Any:
        return x.at[i].set(matrix[i] @ right)

    return tenon.fori_loop(0, right.shape[0], row, tnp.zeros_like(right))


@pytest.mark.parametrize(
    ("function", "n", "step"),
    [(solved, 600, 600), (solved_back, 600, -600), (multiplied, 600, None), (solved, 300, None)],
)
def test_a_loop_fetches_the_row_of_its_next_iteration(function: Any, n: int, step: int | None):
    rng = np.random.default_rng(0)
    matrix, right = rng.standard_normal((n, n)) + n * np.eye(n), rng.standard_normal(n)
    module = parse_module(str(tenon.jit(function).lower(matrix, right).module))
    PassManager("graph-pipeline,sched-pipeline").run(context(), module)
    text = str(module)
    fetched = f"{PREFETCH} = {step} : index, {PREFETCH_LEVEL} = 2 : index"
    assert (fetched in text) if step else (f"{PREFETCH} = {n} " not in text)
    with tenon.compile(text) as executable:
        found = np.asarray(executable(matrix, right))
    triangle = {solved: np.tril(matrix), solved_back: np.triu(matrix)}.get(function)
    if triangle is None:
        np.testing.assert_allclose(found, matrix @ right)
    else:
        np.testing.assert_allclose(triangle @ found, right, atol=1e-12)


def test_kernels_that_a_loop_and_a_program_launch_fetch_nothing_of_a_next_iteration():
    def text(counter: str) -> str:
        return f"""
        sched.kernel @sum(%n: memref<i64>, %x: memref<600x600xf64>, %y: memref<f64>) {{
          %c0 = arith.constant 0 : index
          %c599 = arith.constant 599 : index
          %c300 = arith.constant 300 : index
          %number = memref.load %n[] : memref<i64>
          %at = arith.index_cast %number : i64 to index
          %raised = arith.maxsi %at, %c0 : index
          %row = arith.minsi %raised, %c599 : index
          %s = sched.reduce addf %i = 300 vector(8) : f64 {{
            %v = memref.load %x[%row, %i] : memref<600x600xf64>
            sched.yield %v : f64
          }}
          memref.store %s, %y[] : memref<f64>
        }}
        sched.program @f(%x: memref<600x600xf64>, %n: memref<i64>, %m: memref<i64>)
            : (tensor<600x600xf64>, tensor<i64>, tensor<i64>) -> (tensor<f64>, tensor<f64>) {{
          %y = sched.buffer global result : memref<f64>
          %z = sched.buffer global result : memref<f64>
          %t = sched.for %i = 600 counter %n after() {{
            %t1 = sched.launch @sum(%n, %x, %y) after() : memref<i64>, memref<600x600xf64>, memref<f64>
          }}
          %t2 = sched.for %j = 600 counter %m after(%t) {{
            %t3 = sched.launch @sum({counter}, %x, %z) after() : memref<i64>, memref<600x600xf64>, memref<f64>
          }}
          sched.return %y, %z after(%t2) : memref<f64>, memref<f64>
        }}
        """

    for counter, is_fetched in (("%m", True), ("%n", False)):
        module = parse_module(text(counter))
        PassManager((PrefetchRowsPass(),)).run(context(), module)
        assert (PREFETCH in str(module)) is is_fetched


def test_a_row_that_one_loop_reads_goes_into_the_first_cache():
    text = scheduled(tnp.exp, 32768)
    assert PREFETCH in text and PREFETCH_LEVEL not in text


@pytest.mark.parametrize(("l1_nbytes", "is_fetched"), [(32768, False), (32769, True)])
def test_long_rows_of_little_work_are_left_to_a_processor_with_a_small_first_cache(
    l1_nbytes: int, is_fetched: bool
):
    one = ROWS.reshape(-1)
    assert (PREFETCH in scheduled(lambda x: x * 2, l1_nbytes, one)) is is_fetched
    assert PREFETCH in scheduled(lambda x: tnp.exp(x) * 2, l1_nbytes, one)
    # What computes and stores stores the sooner.
    assert (PREFETCH in scheduled(lambda x: x * 2, l1_nbytes)) is is_fetched
    # Rows of 4 KiB end too soon for the processor to foresee the next one.
    assert PREFETCH in scheduled(lambda x: tnp.sum(x, axis=1), l1_nbytes)
    assert PREFETCH in scheduled(lambda x: tnp.exp(x) * 2, l1_nbytes)
    assert PREFETCH in scheduled(centred, l1_nbytes)


def test_caches_have_a_size():
    message = "prefetch-rows: l1-nbytes 0, l2-nbytes 1048576 and l3-nbytes 33554432 must be 1 or more"
    with pytest.raises(PassFailedException, match=f"^{message}$"):
        PrefetchRowsPass(l1_nbytes=0).apply(context(), ModuleOp([]))

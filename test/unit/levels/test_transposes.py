"""Transposes in registers: what they compute for every shape and type, and where they are used."""

from itertools import permutations

import numpy as np
import pytest
import tenon
from tenon import numpy as tnp
from tenon.dialects import context, sched
from tenon.dialects.low.lane_exchange import exchanges
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.low.lowering.convert_sched_to_low import ConvertSchedToLowPass
from tenon.passes.machine.target import Target
from tenon.passes.pass_manager import PassManager
from tenon.passes.pipeline import graph_passes, sched_passes

BACKENDS = ["llvm", "opencl", "reference"]


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_exchanges_turn_a_square(n: int):
    square = np.arange(n * n).reshape(n, n)
    rows = list(square)
    for first, second, *lanes in exchanges(n):
        both = np.concatenate([rows[first], rows[second]])
        rows[first], rows[second] = (both[chosen] for chosen in lanes)
    np.testing.assert_array_equal(np.stack(rows), square.T)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "u2", "i1", "?"])
def test_transposes_of_every_type_with_tails(backend: str, dtype: str):
    rng = np.random.default_rng(0)
    for shape in (
        (33, 65),
        (16, 16),
        (64, 48),
        (17, 31),
        (5, 70),
        (70, 5),
        (4, 4),
        (9, 14),
        (31, 7),
        (50, 3),
    ):
        x = rng.integers(0, 100, shape).astype(dtype)
        y = tenon.jit(lambda x: tnp.permute_dims(x, (1, 0)), backend=backend)(x)
        np.testing.assert_array_equal(np.asarray(y), x.T)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_permutations_of_three_dims(backend: str, order: tuple[int, ...]):
    x = np.random.default_rng(0).standard_normal((19, 23, 37)).astype("f4")
    y = tenon.jit(lambda x: tnp.permute_dims(x, order), backend=backend)(x)
    np.testing.assert_array_equal(np.asarray(y), x.transpose(order))


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_computed_of_a_transposed_array_is_fused(backend: str):
    rng = np.random.default_rng(0)
    x, y, b = (rng.standard_normal(shape).astype("f4") for shape in ((40, 70), (70, 40), (40,)))

    def program(x: object, y: object, b: object) -> object:
        return tnp.permute_dims(x, (1, 0)) * 2 + y - b

    compiled = tenon.jit(program, backend=backend)
    np.testing.assert_array_equal(np.asarray(compiled(x, y, b)), x.T * 2 + y - b)


def test_loads_are_vectors_along_the_other_axis():
    low = tenon.jit(lambda x: tnp.permute_dims(x, (1, 0))).lower(np.zeros((64, 64), "f4")).text("low")
    assert "low.transpose" in low
    assert "memref.load" not in low


def test_rows_that_fill_no_square_are_moved_with_those_before_them():
    low = tenon.jit(lambda x: tnp.permute_dims(x, (1, 0))).lower(np.zeros((64, 67), "f4")).text("low")
    assert low.count("low.transpose") == 2
    assert "memref.load" not in low


def test_rows_are_moved_one_by_one_where_twice_would_be_wrong():
    module = parse_module(
        """sched.kernel @twice(%x: memref<60x9xf32>, %y: memref<9x60xf32>) {
            sched.axis %i = 9 unroll(4) {
                sched.axis %j = 60 vector(4) {
                    %v = memref.load %x[%j, %i] : memref<60x9xf32>
                    %w = memref.load %y[%i, %j] : memref<9x60xf32>
                    %sum = arith.addf %v, %w : f32
                    memref.store %sum, %y[%i, %j] : memref<9x60xf32>
                }
            }
        }"""
    )
    PassManager((ConvertSchedToLowPass(),)).run(context(), module)
    text = str(module)
    assert text.count("low.transpose") == 1
    assert "memref.load" in text


def test_columns_that_fill_no_square_are_moved_with_those_before_them():
    low = tenon.jit(lambda x: tnp.permute_dims(x, (1, 0))).lower(np.zeros((66, 64), "f4")).text("low")
    assert low.count("low.transpose") == 2
    assert "memref.load" not in low


def mappings(shape: tuple[int, ...], order: tuple[int, ...], dtype: str = "f4") -> list[str]:
    text = str(tenon.jit(lambda x: tnp.permute_dims(x, order), name="f").lower(np.zeros(shape, dtype)).module)
    module = parse_module(text)
    PassManager((*graph_passes(Target(64)), *sched_passes(Target(64)))).run(context(), module)
    axes = [op for op in module.walk() if isinstance(op, sched.AxisOp)]
    return [f"{op.extent}: {op.mapping.words()}".rstrip() for op in axes]


def test_large_matrices_are_transposed_in_parts():
    whole = ["256: block(64) unroll(16)", "256: vector(16)"]
    parts = ["8: block", "512: block(512) unroll(16)", "32: vector(16)"]
    assert mappings((256, 256), (1, 0)) == whole
    assert mappings((256, 512), (1, 0)) == parts
    assert mappings((256, 512), (1, 0), "f8") == ["16: block", "512: block(256) unroll(8)", "16: vector(8)"]


def test_few_columns_are_all_stored_at_once():
    assert mappings((32, 4096), (1, 0)) == ["4096: block(512) unroll(16)", "32: vector(16)"]


def test_axes_around_a_matrix_are_work_groups_too():
    parts = ["8: block", "512: block(512) unroll(16)", "32: vector(16)"]
    assert mappings((3, 256, 512), (0, 2, 1)) == ["3: block", *parts]
    assert mappings((2, 3, 256, 512), (0, 1, 3, 2)) == ["6: block", *parts]
    assert mappings((256, 20, 512), (2, 1, 0)) == ["20: block", *parts]


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1"])
@pytest.mark.parametrize("order", [(1, 0), (0, 1, 3, 2), (2, 1, 0)])
def test_parts_with_tails(order: tuple[int, ...], dtype: str):
    shape = {2: (1100, 605), 3: (401, 3, 707), 4: (2, 2, 401, 707)}[len(order)]
    x = np.random.default_rng(0).integers(0, 100, shape).astype(dtype)
    y = tenon.jit(lambda x: tnp.permute_dims(x, order))(x)
    np.testing.assert_array_equal(np.asarray(y), x.transpose(order))


def test_rows_too_few_for_squares_are_transposed_in_smaller_ones():
    assert mappings((256, 14), (1, 0)) == ["14: block(14) unroll(8)", "256: vector(8)"]
    # Fewer are stored by one iteration, which planning unrolls.
    assert mappings((256, 7), (1, 0)) == mappings((256, 3), (1, 0)) == ["256: block(256)"]


def test_rows_too_few_go_on_along_another_axis():
    assert mappings((32, 40, 9), (2, 1, 0)) == ["360: block(360) unroll(16)", "32: vector(16)"]
    assert mappings((32, 40, 63), (2, 1, 0)) == ["2520: block(512) unroll(16)", "32: vector(16)"]
    # More, and as many as fill squares, stay as they are.
    assert mappings((32, 40, 65), (2, 1, 0))[1:] == ["40:", "32: vector(16)"]
    assert mappings((32, 40, 16), (2, 1, 0)) == ["16: block(16) unroll(16)", "40:", "32: vector(16)"]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "shape", [(40, 24, 3, 3), (64, 5, 3, 3), (33, 17, 2, 2), (16, 32, 5, 5), (24, 40, 1, 7)]
)
def test_weights_of_windows_are_transposed(backend: str, shape: tuple[int, ...]):
    x = np.random.default_rng(0).standard_normal(shape).astype("f4")
    y = tenon.jit(lambda x: tnp.permute_dims(x, (2, 3, 1, 0)), backend=backend)(x)
    np.testing.assert_array_equal(np.asarray(y), x.transpose(2, 3, 1, 0))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("width", [3, 4, 7, 14, 17])
def test_images_are_padded_while_they_are_transposed(backend: str, width: int):
    x = np.random.default_rng(0).standard_normal((2, 40, 5, width)).astype("f4")
    border = ((0, 0), (1, 2), (2, 1), (0, 0))
    compiled = tenon.jit(lambda x: tnp.pad(tnp.permute_dims(x, (0, 2, 3, 1)), border), backend=backend)
    np.testing.assert_array_equal(np.asarray(compiled(x)), np.pad(x.transpose(0, 2, 3, 1), border))


def test_what_is_inside_of_a_border_is_transposed():
    compiled = tenon.jit(lambda x: tnp.pad(tnp.permute_dims(x, (1, 0)), ((1, 1), (0, 0))))
    assert "low.transpose" in compiled.lower(np.zeros((64, 14), "f4")).text("low")
    assert "low.transpose" not in compiled.lower(np.zeros((64, 3), "f4")).text("low")

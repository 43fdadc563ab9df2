"""Programs that say themselves how their arrays are split, on ranks that are threads and on devices."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon import CallError, RankError, TenonError

A = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32)

TEXT = """
sdy.mesh @mesh = <["x"=2, "one"=1, "y"=2]>
func.func public @main(%a: tensor<8x6xf32>, %scale: tensor<f32>) -> tensor<8x6xf32> {
  %s = stablehlo.broadcast_in_dim %scale, dims = [] : (tensor<f32>) -> tensor<8x6xf32>
  %b = stablehlo.multiply %a, %s : tensor<8x6xf32>
  %c = sdy.sharding_constraint %b <@mesh, [{"x"}, {"y"}]> : tensor<8x6xf32>
  return %c : tensor<8x6xf32>
}
"""

RESHAPED = """
sdy.mesh @mesh = <["x"=2]>
func.func public @main(
  %a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}
) -> tensor<48xf32> {
  %b = stablehlo.reshape %a : (tensor<8x6xf32>) -> tensor<48xf32>
  return %b : tensor<48xf32>
}
"""

SQUARE = ((2, 2), ("x", "y"))


def on(shape, names, function):
    """Returns what a function of a mesh gives on each of its ranks."""
    return tenon.run_ranks(int(np.prod(shape)), lambda: function(tenon.Mesh(shape, names)))


def imported(mesh, text=TEXT, **options):
    return tenon.from_stablehlo(text, mesh=mesh, **options)


@pytest.mark.parametrize("axes", [SQUARE, ((2, 1, 2), ("x", "one", "y")), ((1, 2, 2), ("z", "x", "y"))])
def test_axes_of_one_rank_may_be_there_or_not(axes):
    def run(mesh):
        found = imported(mesh)(A, np.float32(3))
        assert found.sharding == tenon.sharding(mesh, "x", "y") and found.local.shape == (4, 3)
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A * 3)

    on(*axes, run)


def test_an_argument_that_lies_otherwise_is_resharded():
    def run(mesh):
        program = imported(mesh)
        assert program.argument_shardings == (tenon.sharding(mesh, "x", "y"), tenon.sharding(mesh))
        assert program.result_shardings == (tenon.sharding(mesh, "x", "y"),)
        line = tenon.Mesh((4,), ("i",))
        for sharding in (tenon.sharding(mesh, "y"), tenon.sharding(mesh), tenon.sharding(line, "i")):
            found = program(tenon.shard(A, sharding), np.float32(3))
            np.testing.assert_array_equal(tenon.gather(found).numpy(), A * 3)

    on(*SQUARE, run)


def test_a_rank_reads_its_part_of_a_file(tmp_path: Path):
    np.save(tmp_path / "a.npy", A)

    def run(mesh):
        found = imported(mesh)(np.load(tmp_path / "a.npy", mmap_mode="r"), np.float32(3))
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A * 3)

    on(*SQUARE, run)


def test_a_program_of_one_device_runs_on_a_mesh_of_one():
    def run(mesh):
        text = TEXT.replace("=2", "=1")
        return imported(mesh, text)(A, np.float32(3)).local.numpy()

    np.testing.assert_array_equal(on((1,), ("x",), run)[0], A * 3)


def test_functions_stand_in_any_order():
    text = """
      func.func @f(%x: tensor<8x6xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<8xf32> {
        %s = func.call @g(%x) : (tensor<8x6xf32>) -> tensor<8xf32>
        func.return %s : tensor<8xf32>
      }
      func.func @g(%x: tensor<8x6xf32>) -> tensor<8xf32> {
        %s = graph.reduce max %x axes [1] : tensor<8x6xf32> -> tensor<8xf32>
        func.return %s : tensor<8xf32>
      }
      shard.grid @mesh(shape = 2) {axis_names = ["x"]}
    """
    for found in on((2,), ("x",), lambda mesh: tenon.gather(imported(mesh, text, entry="f")(A)).numpy()):
        np.testing.assert_array_equal(found, A.max(1))


def test_programs_run_on_devices():
    with tenon.open_platform("llvm", num_devices=4) as platform:
        mesh = tenon.Mesh(*SQUARE, devices=platform)
        program = imported(mesh)
        found = program(A, np.float32(3))
        assert repr(program) == "<program main on Mesh(x=2, y=2)>"
        assert [part.shape for part in found.parts] == [(4, 3)] * 4
        np.testing.assert_array_equal(tenon.gather(found).numpy(), A * 3)
        with pytest.raises(
            TenonError, match=r"^main: backend='opencl' is given, and the mesh is of .* llvm$"
        ):
            imported(mesh, backend="opencl")
        with pytest.raises(TypeError, match="MeshProgram: cannot be pickled or copied"):
            pickle.dumps(program)


@pytest.mark.parametrize(
    "axes", [((4,), ("x",)), ((2, 2), ("y", "x")), ((2, 2), ("a", "b")), ((2, 3), ("x", "y")), ((2,), ("x",))]
)
def test_another_mesh_than_the_programs_is_an_error(axes):
    with pytest.raises(
        TenonError,
        match=r"^main: the program is for a mesh of x=2, y=2, and the mesh is Mesh\(.*\) "
        r"\(hint: tenon\.Mesh\(\(2, 2\), \('x', 'y'\)\)\)$",
    ):
        on(*axes, imported)


def test_a_program_that_is_not_spread_is_an_error():
    def run(mesh):
        return imported(mesh, TEXT.replace("=2", "=1"))

    with pytest.raises(
        TenonError,
        match=r"^main: the program is for one device, it says of no array .* and the mesh is Mesh\(x=2\)$",
    ):
        on((2,), ("x",), run)


def test_what_is_no_mesh_is_an_error():
    with pytest.raises(TypeError, match=r"^main: \(2, 2\) is not a mesh \(hint: tenon\.Mesh\)$"):
        imported((2, 2))


def test_a_program_at_sched_is_an_error():
    def run(mesh):
        text = tenon.compile(
            "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
            "%y = graph.exp %x : tensor<4xf32>\nfunc.return %y : tensor<4xf32>\n}"
        ).stages["sched"]
        return imported(mesh, text)

    with pytest.raises(TenonError, match=r"^f: a program at sched is that of one rank"):
        on((1,), ("x",), run)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((A,), r"^main: 1 arguments, expected 2$"),
        ((A[:4], np.float32(3)), r"^main: argument 'a' is float32\[4, 6\], expected float32\[8, 6\]$"),
        (
            (A.astype(np.float64), np.float32(3)),
            r"^main: argument 'a' is float64\[8, 6\], expected float32\[",
        ),
        ((A, A), r"^main: argument 'scale' is float32\[8, 6\], expected float32\[\]$"),
    ],
)
def test_arguments_that_do_not_fit_are_errors(arguments, message: str):
    with pytest.raises(CallError, match=message):
        on(*SQUARE, lambda mesh: imported(mesh)(*arguments))


def test_what_is_no_array_is_an_error():
    with pytest.raises(TypeError, match=r"^array: cannot take list"):
        on(*SQUARE, lambda mesh: imported(mesh)(A.tolist(), np.float32(3)))


def test_an_array_of_other_ranks_is_an_error():
    def run(mesh):
        with tenon.open_platform("llvm", num_devices=2) as platform:
            own = tenon.Mesh((2,), ("x",), devices=platform)
            imported(mesh)(tenon.shard(A, tenon.sharding(own, "x")), np.float32(3))

    with pytest.raises(TenonError, match=r"^reshard: Mesh\(x=2, y=2\) is of other devices than Mesh\(x=2\)$"):
        on(*SQUARE, run)


def test_a_rank_that_has_no_part_says_so():
    def run():
        mesh = tenon.Mesh(*SQUARE, ranks=range(4))
        if mesh.is_here:
            return tenon.gather(imported(mesh)(A, np.float32(3))).numpy()
        with pytest.raises(TenonError, match=r"^rank 4 has no part in a mesh of ranks 0, 1, 2, 3"):
            imported(mesh)
        return A * 3

    for found in tenon.run_ranks(5, run):
        np.testing.assert_array_equal(found, A * 3)


def test_an_op_that_cannot_be_split_so_is_named_or_gathered():
    def run(mesh, **options):
        return tenon.gather(imported(mesh, RESHAPED, **options)(A)).numpy()

    for found in on((2,), ("x",), lambda mesh: run(mesh, allow_gather=True)):
        np.testing.assert_array_equal(found, A.reshape(48))
    with pytest.raises(TenonError, match=r"graph\.reshape: dim 1 of operand 0 is split over axes x"):
        on((2,), ("x",), run)


def test_ranks_with_other_programs_are_an_error():
    def run(mesh):
        return imported(mesh, TEXT.replace("multiply", "add" if mesh.rank == 2 else "multiply"))

    with pytest.raises(RankError, match=r"^the ranks differ in their program @main: 2 from rank 0$"):
        on(*SQUARE, run)


def test_arguments_are_compared_where_that_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TENON_CHECK_RANKS", "1")

    def run(mesh):
        return imported(mesh)(A, np.float32(mesh.rank == 3))

    with pytest.raises(
        RankError,
        match=r"^main: argument 1 is the same array on all ranks, and rank 3 has another one than rank 0$",
    ):
        on(*SQUARE, run)

"""Functions that jax spreads over devices, on Tenon's meshes. Abstract ones of jax's need no devices."""

import numpy as np
import pytest
import tenon
from tenon import CallError, RankError, TenonError

jax = pytest.importorskip("jax")
jnp = jax.numpy
P = jax.sharding.PartitionSpec
AUTO, EXPLICIT = jax.sharding.AxisType.Auto, jax.sharding.AxisType.Explicit

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def devices_of(kind, **axes: int):
    return jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(kind,) * len(axes))


GRID, LINE = devices_of(AUTO, x=2, y=2), devices_of(AUTO, i=4)
X, W, V = normal(8, 6), normal(6, 12), normal(12, 4)


def on_grid(*spec):
    return jax.sharding.NamedSharding(GRID, P(*spec))


def on_line(*spec):
    return jax.sharding.NamedSharding(LINE, P(*spec))


def in_grid(function):
    """Returns what a function of a mesh gives on each rank of one like `GRID`."""
    return tenon.run_ranks(4, lambda: function(tenon.Mesh((2, 2), ("x", "y"))))


def in_line(function):
    return tenon.run_ranks(4, lambda: function(tenon.Mesh((4,), ("i",))))


def close(found, expected) -> None:
    assert isinstance(found, tenon.ShardedArray)
    np.testing.assert_allclose(tenon.gather(found).numpy(), np.asarray(expected), rtol=2e-5, atol=2e-5)


def layers(x, w, v):
    return jax.lax.with_sharding_constraint(jax.nn.gelu(x @ w), on_grid("x", "y")) @ v


def test_a_function_runs_on_ranks_as_jit_was_told():
    jitted = jax.jit(
        layers, in_shardings=(on_grid("x"), on_grid(None, "y"), None), out_shardings=on_grid("x")
    )

    def run(mesh):
        program = tenon.from_jax(jitted, X, W, V, mesh=mesh)
        rows, columns = tenon.sharding(mesh, "x"), tenon.sharding(mesh, None, "y")
        placed = tenon.shard(X, rows), tenon.shard(W, columns), tenon.shard(V, tenon.sharding(mesh, "y"))
        # What jax leaves open follows: the columns of the hidden layer are the rows of the last product.
        assert program.on_mesh.argument_shardings == tuple(each.sharding for each in placed)
        for arguments in ((X, W, V), placed, (jnp.asarray(X), tenon.reshard(placed[1], rows), V)):
            found = program(*arguments)
            assert found.sharding == rows
            close(found, expected)

    expected = jax.nn.gelu(X @ W) @ V
    in_grid(run)


def test_a_function_runs_on_devices_as_its_examples_say():
    spread = jax.ShapeDtypeStruct((8, 6), "float32", sharding=on_grid("x", "y"))
    with tenon.open_platform("llvm", num_devices=4) as platform:
        mesh = tenon.Mesh((2, 2), ("x", "y"), devices=platform)
        found = tenon.from_jax(lambda x: jnp.sin(x) * 2, spread, mesh=mesh)(X)
        assert found.sharding == tenon.sharding(mesh, "x", "y")
        close(found, np.sin(X) * 2)


def test_functions_of_parts_and_what_they_read_from_outside():
    weights = normal(2, 300)

    def of_part(x):
        around = jax.lax.ppermute(x, "i", [(each, (each + 1) % 4) for each in range(4)])
        return jax.lax.psum(x * weights, "i"), around

    mapped = jax.shard_map(of_part, mesh=LINE, in_specs=P("i"), out_specs=(P(), P("i")))
    x = normal(8, 300)

    def run(mesh):
        total, around = tenon.from_jax(mapped, x, mesh=mesh)(x)
        close(total, x.reshape(4, 2, 300).sum(0) * weights)
        close(around, np.roll(x, 2, 0))
        assert around.sharding == tenon.sharding(mesh, "i")

    in_line(run)


def test_axes_that_are_explicit():
    explicit = devices_of(EXPLICIT, i=4)
    rows = jax.ShapeDtypeStruct(X.shape, X.dtype, sharding=jax.sharding.NamedSharding(explicit, P("i")))
    whole = jax.ShapeDtypeStruct(W.shape, W.dtype, sharding=jax.sharding.NamedSharding(explicit, P(None)))

    def run(mesh):
        with jax.sharding.use_abstract_mesh(explicit):
            program = tenon.from_jax(lambda x, w: jnp.sin(x @ w), rows, whole, mesh=mesh)
        found = program(X, W)
        assert found.sharding == tenon.sharding(mesh, "i")
        close(found, np.sin(X @ W))

    in_line(run)


def test_containers_numbers_keys_and_other_dtypes():
    def step(state, scale, key):
        drawn = state["x"] * scale + jax.random.normal(key, (8, 6))
        return {"x": drawn.astype(jnp.bfloat16), "sum": (state["x"].sum(),)}

    jitted = jax.jit(step, in_shardings=({"x": on_line("i")}, None, None))
    key = jax.random.key(3)
    expected = jax.jit(step)({"x": X}, 2.0, key)

    def run(mesh):
        program = tenon.from_jax(jitted, {"x": X}, 1.0, jax.random.key(0), mesh=mesh)
        found = program({"x": X.astype(np.float64)}, 2.0, key)
        close(found["sum"][0], expected["sum"][0])
        assert found["x"].dtype == jnp.bfloat16 and found["x"].sharding == tenon.sharding(mesh, "i")
        difference = tenon.gather(found["x"]).numpy().astype(np.float32) - np.asarray(
            expected["x"], np.float32
        )
        assert np.abs(difference).max() <= 2**-5
        with pytest.raises(CallError, match=r"^step: arguments are PyTreeDef"):
            program(X, 2.0, key)

    in_line(run)


def test_extents_that_are_open():
    rows = jax.ShapeDtypeStruct(jax.export.symbolic_shape("rows, 8"), "float32")

    def run(mesh):
        program = tenon.from_jax(
            lambda x: jax.lax.with_sharding_constraint(x * 2, on_line(None, "i")), rows, mesh=mesh
        )
        for n in (3, 5):
            found = program(np.ones((n, 8), np.float32))
            assert found.sharding == tenon.sharding(mesh, None, "i")
            close(found, np.full((n, 8), 2.0))

    in_line(run)


def test_a_decorated_function_takes_and_gives_sharded_arrays():
    def run(mesh):
        @tenon.jax_compile(mesh=mesh, static_argnames="power")
        def scaled(x, power):
            return jax.lax.with_sharding_constraint(jnp.cumsum(x**power, 1), on_line("i"))

        rows = tenon.sharding(mesh, "i")
        for given in (X, jnp.asarray(X), tenon.shard(X, rows), tenon.shard(X, tenon.sharding(mesh))):
            for power in (1, 2):
                found = scaled(given, power=power)
                assert found.sharding == rows
                close(found, np.cumsum(X**power, 1))

    in_line(run)


def test_an_op_that_cannot_be_split_so_is_named_or_gathered():
    jitted = jax.jit(lambda x: x.T.reshape(-1), in_shardings=on_line("i"))

    def run(mesh, allow_gather):
        close(tenon.from_jax(jitted, X, mesh=mesh, allow_gather=allow_gather)(X), X.T.reshape(-1))
        close(tenon.jax_compile(jitted, mesh=mesh, allow_gather=allow_gather)(X), X.T.reshape(-1))

    in_line(lambda mesh: run(mesh, True))
    with pytest.raises(TenonError, match=r"graph\.reshape: dim 1 of operand 0 is split over axes i"):
        in_line(lambda mesh: run(mesh, False))


def test_another_mesh_than_jaxs_is_an_error():
    with pytest.raises(
        TenonError, match=r"^layers: the program is for a mesh of x=2, y=2, and the mesh is Mesh\(i=4\) "
    ):
        in_line(lambda mesh: tenon.from_jax(layers, X, W, V, mesh=mesh))
    with pytest.raises(
        TenonError, match=r"^sin: the program is for one device, it says of no array .* Mesh\(i=4\)$"
    ):
        in_line(lambda mesh: tenon.from_jax(jnp.sin, X, mesh=mesh))
    with pytest.raises(TypeError, match=r"^layers: AbstractMesh\(.*\) is not a mesh \(hint: tenon\.Mesh\)$"):
        tenon.from_jax(layers, X, W, V, mesh=GRID)


def test_ranks_that_trace_other_functions_are_an_error():
    def run(mesh):
        jitted = jax.jit(lambda x: x * (2 + mesh.rank // 3), in_shardings=on_line("i"))
        return tenon.from_jax(jitted, X, mesh=mesh)

    with pytest.raises(RankError, match=r"^the ranks differ in their program @<lambda>: 3 from rank 0$"):
        in_line(run)


@pytest.mark.parametrize(
    ("made", "dtype"),
    [(lambda key, x: jax.random.split(key), "key<fry>"), (lambda key, x: x.astype(jnp.int4), "int4")],
)
def test_results_that_are_jaxs_own_are_an_error(made, dtype: str):
    jitted = jax.jit(lambda key, x: (x, made(key, x)), in_shardings=(None, on_line("i")))
    with pytest.raises(
        TenonError, match=rf"^<lambda>: result 1 is of {dtype}, of which there are no sharded arrays \(hint"
    ):
        in_line(lambda mesh: tenon.from_jax(jitted, jax.random.key(0), X, mesh=mesh))


def test_a_function_whose_grid_stands_last_runs_on_one_device():
    rows = jax.ShapeDtypeStruct(jax.export.symbolic_shape("rows, 8"), "float32")
    program = tenon.from_jax(lambda x: jax.lax.with_sharding_constraint(x * 2, on_line(None, "i")), rows)
    np.testing.assert_array_equal(program(np.ones((3, 8), np.float32)), np.full((3, 8), 2.0))

"""
Programs that jax spreads over devices give on ranks what they give in jax.

jax has to know before it is imported that it is to have four devices: a process of its own writes the
programs, their arguments and jax's results.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tenon
from tenon.backends.registry import REFERENCE, get_backend
from tenon.compiler.all_ranks import compiled_call, partitioned_for_all
from tenon.compiler.foreign import as_graph
from tenon.dialects.graph import ManualComputationOp
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import verify_module

RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def programs():
    """Returns the name of each program, the function and its arguments."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.sharding import AxisType, NamedSharding, PartitionSpec

    P, auto = PartitionSpec, AxisType.Auto
    square = jax.make_mesh((2, 2), ("x", "y"), axis_types=(auto, auto))
    line = jax.make_mesh((4, 1), ("i", "one"), axis_types=(auto, auto))

    def parts(function, mesh, before, after, **options):
        return jax.shard_map(
            function, mesh=mesh, in_specs=before, out_specs=after, check_vma=False, **options
        )

    def around(step: int):
        return [(each, (each + step) % 4) for each in range(4)]

    def every(a, b):
        rows = lax.all_gather(b, ("x", "y"), tiled=True)
        return (
            lax.psum(a, "x") + lax.axis_index("x") + lax.axis_index(("y", "x")),
            lax.all_gather(b, "y").sum(0),
            lax.psum_scatter(rows, ("y", "x"), tiled=True),
            lax.all_to_all(rows, "x", 0, 1, tiled=True),
            lax.ppermute(a, "y", [(0, 1), (1, 0)]),
            lax.pmax(a, "y"),
            lax.pmean(a, ("x", "y")),
            lax.pmin(a, "x"),
        )

    after = (P("x", "y"), P("x"), P(("y", "x")), P("x", "y"), P("x", "y"), P("x", "y"), P(), P("x", "y"))
    yield "every", parts(every, square, (P("x", "y"), P("x")), after), (normal(4, 8), normal(8, 2))

    def ring(q, k, v):
        def step(_, carried):
            total, most, weight, keys, values = carried
            scores = q @ keys.T
            now = jnp.maximum(most, scores.max(1))
            p, less = jnp.exp(scores - now[:, None]), jnp.exp(most - now)
            total = total * less[:, None] + p @ values
            moved = [lax.ppermute(each, "i", around(1)) for each in (keys, values)]
            return total, now, weight * less + p.sum(1), *moved

        n = q.shape[0]
        start = (jnp.zeros_like(q), jnp.full(n, -jnp.inf), jnp.zeros(n), k, v)
        total, _, weight, _, _ = lax.fori_loop(0, 4, step, start)
        return total / weight[:, None]

    yield "ring attention", parts(ring, line, (P("i"),) * 3, P("i")), tuple(normal(64, 8) for _ in range(3))

    def loss(w, x, y):
        return parts(
            lambda w, x, y: lax.pmean(jnp.mean((jnp.tanh(x @ w) - y) ** 2), "i"),
            line,
            (P(), P("i"), P("i")),
            P(),
        )(w, x, y)

    yield "data parallel", jax.value_and_grad(loss), (normal(6, 3), normal(16, 6), normal(16, 3))

    def layer(w, v, x):
        return jax.shard_map(
            lambda w, v, x: x + lax.psum(jax.nn.gelu(x @ w) @ v, "y"),
            mesh=square,
            in_specs=(P(None, "y"), P("y"), P("x")),
            out_specs=P("x"),
        )(w, v, x)

    weights = (0.1 * normal(8, 16), 0.1 * normal(16, 8))
    yield "tensor parallel", jax.grad(lambda *a: jnp.sum(layer(*a) ** 2), (0, 1, 2)), (*weights, normal(4, 8))
    groups = [[0, 2], [1, 3]]
    yield (
        "groups",
        parts(lambda x: lax.psum(x, "i", axis_index_groups=groups), line, P("i"), P("i")),
        (normal(8, 3),),
    )
    for name, (split, tiled) in {"tiles": (0, True), "stacks": (1, False)}.items():
        function = parts(
            lambda x, s=split, t=tiled: lax.all_to_all(x, "i", s, 0, tiled=t), line, P("i"), P("i")
        )
        yield name, function, (normal(16, 4, 3),)
    yield (
        "other dtypes",
        parts(
            lambda x: (
                lax.psum(x, "i"),
                lax.pmax(x > 0, "i"),
                lax.psum(x.astype(jnp.bfloat16), "i").astype(jnp.float32),
                lax.pmax(x.astype(jnp.float16), "i"),
            ),
            line,
            P("i"),
            P(),
        ),
        (RNG.integers(-9, 9, 8).astype(np.int32),),
    )
    yield "one device", parts(lambda x: lax.psum(x, "one"), line, P("i", "one"), P("i")), (normal(8, 2),)

    def converge(x):
        return lax.while_loop(
            lambda c: lax.pmax(jnp.max(jnp.abs(c)), "i") > 0.1,
            lambda c: c * 0.5 + lax.ppermute(c, "i", around(1)) * 0.25,
            x,
        )

    yield "while", parts(converge, line, P("i"), P("i")), (normal(8, 3),)
    yield (
        "branches",
        parts(
            lambda x: lax.switch(lax.axis_index("i"), [jnp.negative, jnp.sin, jnp.exp, jnp.square], x),
            line,
            P("i"),
            P("i"),
        ),
        (normal(8, 3),),
    )
    yield (
        "in a loop",
        lambda x: lax.scan(
            lambda c, _: (parts(lambda a: a - lax.pmean(a, "i"), line, P("i"), P("i"))(c) * 2, c.sum()),
            x,
            None,
            length=3,
        ),
        (normal(8, 3),),
    )
    yield (
        "some axes",
        jax.shard_map(
            lambda x, y: lax.psum(x @ y, "x"),
            mesh=square,
            in_specs=(P(None, "x"), P("x")),
            out_specs=P(),
            axis_names={"x"},
            check_vma=False,
        ),
        (normal(4, 6), normal(6, 4)),
    )
    yield (
        "two meshes",
        lambda x: (
            parts(lambda a: lax.psum(a, "i"), line, P("i"), P())(x)
            + parts(lambda a: lax.psum(a, "x"), square, P("x", "y"), P(None, "y"))(jnp.tile(x, (1, 2)))[
                :2, :3
            ]
        ),
        (normal(8, 3),),
    )
    yield (
        "random numbers",
        parts(
            lambda k: jax.random.normal(
                jax.random.fold_in(jax.random.key(k[0]), lax.axis_index("i")), (1, 3)
            ),
            line,
            P(),
            P("i"),
        ),
        (np.array([3], np.uint32),),
    )

    def on(mesh, *spec):
        return NamedSharding(mesh, P(*spec))

    def annotated(x, w, v):
        h = lax.with_sharding_constraint(jax.nn.gelu(x @ w), on(square, "x", "y"))
        return lax.with_sharding_constraint(h @ v, on(square, "x", None))

    yield (
        "annotated",
        jax.jit(
            annotated,
            in_shardings=(on(square, "x", None), on(square, None, "y"), on(square, "y", None)),
            out_shardings=on(square, "x", None),
        ),
        (normal(8, 6), normal(6, 12), normal(12, 4)),
    )
    yield (
        "annotated images",
        jax.jit(
            lambda x, w: lax.conv_general_dilated(
                lax.with_sharding_constraint(x, on(square, "x", None, "y")), w, (1, 1), "SAME"
            )
        ),
        (normal(4, 3, 8, 8), normal(5, 3, 3, 3)),
    )


ON_LINE = (
    *("ring attention", "data parallel", "tiles", "stacks", "other dtypes", "one device", "while"),
    *("branches", "in a loop", "random numbers"),
)
"""The programs whose devices are in a line."""


def write(folder: Path) -> None:
    """Writes each program, what it takes and what jax gives."""
    import jax

    for name, function, arguments in programs():
        types = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in arguments]
        text = jax.export.export(jax.jit(function))(*types).mlir_module()
        (folder / f"{name}.mlir").write_text(text)
        results = [np.asarray(each) for each in jax.tree.leaves(jax.jit(function)(*arguments))]
        np.savez(folder / f"{name}.npz", *arguments, **{f"result{k}": each for k, each in enumerate(results)})


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("jax")
    folder = tmp_path_factory.mktemp("devices")
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    subprocess.run(
        [sys.executable, __file__, str(folder)],
        env=os.environ | {"XLA_FLAGS": flags},
        check=True,
        timeout=300,
    )
    return folder


def close(found, expected) -> bool:
    return len(found) == len(expected) and all(
        a.shape == b.shape and a.dtype == b.dtype and np.allclose(a, b, rtol=2e-5, atol=2e-5)
        for a, b in zip(found, expected, strict=True)
    )


def all_written(folder: Path):
    """Yields the name of each program, its text, its arguments and what jax gives."""
    names = sorted(path.stem for path in folder.glob("*.mlir"))
    assert len(names) >= 17
    for name in names:
        with np.load(folder / f"{name}.npz") as arrays:
            arguments = [each for key, each in arrays.items() if key.startswith("arr_")]
            expected = [arrays[f"result{k}"] for k in range(len(arrays.files) - len(arguments))]
        yield name, (folder / f"{name}.mlir").read_text(), arguments, expected


def test_programs_over_devices_give_on_ranks_what_jax_gives(written: Path):
    for name, text, arguments, expected in all_written(written):
        module = as_graph(text, name)
        verify_module(module)
        ranks = partitioned_for_all(module, find_entry(module, "main"))
        assert ranks.mesh.size == 4, name
        for backend in (REFERENCE, get_backend("llvm")):
            assert close(ranks.run(arguments, compiled_call(backend, None, {})), expected), name
        # And as a whole: in the interpreter, which runs all devices, and compiled where one rank can run it.
        is_manual = any(isinstance(op, ManualComputationOp) for op in module.walk())
        whole = tenon.compile(module, backend=REFERENCE if is_manual else "llvm")(*arguments)
        assert close([*whole] if isinstance(whole, tuple) else [whole], expected), name


def test_programs_over_devices_run_on_a_mesh(written: Path):
    """Of which each has the axes that its groups of devices ask for."""
    axes = {"groups": ((2, 2), ("stride2", "stride1")), **dict.fromkeys(ON_LINE, ((4, 1), ("i", "one")))}
    with tenon.open_platform("llvm", num_devices=4) as platform:
        for name, text, arguments, expected in all_written(written):
            mesh = tenon.Mesh(*axes.get(name, ((2, 2), ("x", "y"))), devices=platform)
            found = tenon.from_stablehlo(text, mesh=mesh)(*arguments)
            wholes = [
                tenon.gather(each).numpy() for each in (found if isinstance(found, tuple) else (found,))
            ]
            assert close(wholes, expected), name


if __name__ == "__main__":
    write(Path(sys.argv[1]))

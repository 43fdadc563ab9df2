"""
What every mesh must do, whether it is of ranks or of devices: each case is called by all ranks, or once for
all devices, compares what it finds with one device or with numpy, and gives it, so that kinds of meshes can
be compared bit by bit. Sizes from 2 up.

`test_meshes.py` runs them on devices and in threads; whoever has other meshes runs them there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tenon
import tenon.nn
import tenon.numpy as tnp
import tenon.random
from tenon import PartitionSpec as P
from tenon.semantics.numpy_types import Array

A: Array = np.random.default_rng(0).standard_normal((13, 10)).astype(np.float32)
B: Array = np.random.default_rng(1).standard_normal((10, 9)).astype(np.float32)
CUBE: Array = np.random.default_rng(2).standard_normal((11, 6, 5)).astype(np.float32)
DIGITS: Array = np.random.default_rng(3).integers(0, 9, 101).astype(np.int32)


@dataclass(frozen=True)
class Meshes:
    """How a case makes meshes of all ranks, and on which backend one device computes what they do."""

    size: int
    of: Callable[..., tenon.Mesh]
    backend: str = "llvm"

    def line(self) -> tenon.Mesh:
        return self.of((self.size,), ("x",))

    def grid(self) -> tenon.Mesh:
        shape = (2, self.size // 2) if self.size % 2 == 0 else (self.size, 1)
        return self.of(shape, ("x", "y"))

    def jit(self, function: Callable[..., Any], **options: Any) -> Any:
        return tenon.jit(function, backend=self.backend, **options)


Case = Callable[[Meshes], Sequence[Array]]


def whole(x: Any) -> Array:
    return tenon.gather(x).numpy()


def case_shardings_follow_one_another(meshes: Meshes) -> Sequence[Array]:
    mesh = meshes.grid()
    specs = [tenon.sharding(mesh, *spec) for spec in ((), ("x",), (None, "x"), ("x", "y"), (("y", "x"),))]
    found: list[Array] = []
    for before in specs:
        x = tenon.shard(A, before)
        for after in specs:
            y = tenon.reshard(x, after)
            assert y.sharding == after and y.shape == A.shape
            for rank, part in zip(mesh.here, y.parts, strict=True):
                np.testing.assert_array_equal(part.numpy(), A[after.box(A.shape, rank)])
            np.testing.assert_array_equal(whole(y), A)
        found.append(whole(x))
    return found


def case_elements_and_sums_of_uneven_rows(meshes: Meshes) -> Sequence[Array]:
    rows = tenon.sharding(meshes.line(), "x")
    sums, shifted = meshes.jit(lambda a: (tnp.sum(tnp.exp(a), axis=0), a * 2 + 1))(tenon.shard(A, rows))
    assert shifted.sharding == rows
    np.testing.assert_array_equal(whole(shifted), A * 2 + 1)
    np.testing.assert_allclose(whole(sums), np.exp(A.astype(np.float64)).sum(0), rtol=1e-5)
    return whole(sums), whole(shifted)


def case_products_along_both_axes(meshes: Meshes) -> Sequence[Array]:
    blocks = tenon.sharding(meshes.grid(), "x", "y")
    product = meshes.jit(lambda a, b: tenon.with_sharding_constraint(a @ b, blocks))
    found = product(tenon.shard(A, blocks), tenon.shard(B, blocks))
    assert found.sharding == blocks
    np.testing.assert_allclose(whole(found), A.astype(np.float64) @ B, rtol=1e-4, atol=1e-5)
    return (whole(found),)


def case_heat_gives_the_bits_of_one_device(meshes: Meshes) -> Sequence[Array]:
    def heat(u: Any, steps: int) -> Any:
        def step(_: Any, u: Any) -> Any:
            around = tnp.pad(u, 1)
            total = -6 * u
            for axis in range(3):
                for shifted in (slice(None, -2), slice(2, None)):
                    index = [slice(1, -1)] * 3
                    index[axis] = shifted
                    total = total + around[tuple(index)]
            return u + 0.1 * total

        return tenon.fori_loop(0, steps, step, u)

    program = meshes.jit(heat, static_argnames="steps")
    u = tenon.shard(CUBE, tenon.sharding(meshes.grid(), "x", "y"))
    found = whole(program(u, steps=7))
    np.testing.assert_array_equal(found, program(CUBE, steps=7).numpy())
    return (found,)


def case_softmax_along_the_split_axis(meshes: Meshes) -> Sequence[Array]:
    columns = tenon.sharding(meshes.line(), None, "x")
    found = meshes.jit(lambda a: tenon.nn.softmax(a, axis=1))(tenon.shard(A, columns))
    exact = np.exp(A.astype(np.float64))
    np.testing.assert_allclose(whole(found), exact / exact.sum(1, keepdims=True), rtol=1e-5)
    return (whole(found),)


def case_a_loop_whose_condition_is_a_sum_of_all(meshes: Meshes) -> Sequence[Array]:
    def grown(u: Any) -> Any:
        return tenon.while_loop(
            lambda state: tnp.sum(state[0] * state[0]) < 1e6,
            lambda state: (state[0] * 1.5, state[1] + 1),
            (u, 0),
        )

    program = meshes.jit(grown)
    found, steps = program(tenon.shard(A, tenon.sharding(meshes.line(), "x")))
    wanted, wanted_steps = program(A)
    assert whole(steps) == wanted_steps.item() > 3
    np.testing.assert_array_equal(whole(found), wanted.numpy())
    return whole(found), whole(steps)


def case_parts_are_set(meshes: Meshes) -> Sequence[Array]:
    def stepped(u: Any) -> Any:
        inside = u[:-2, 1:-1] + u[2:, 1:-1]
        return u.at[1:-1, 1:-1].set(inside).at[3].add(2.0).at[:, tnp.array([1, 5])].set(0)

    program = meshes.jit(stepped)
    found = whole(program(tenon.shard(A, tenon.sharding(meshes.line(), "x"))))
    np.testing.assert_array_equal(found, program(A).numpy())
    return (found,)


def case_training_over_the_batch(meshes: Meshes) -> Sequence[Array]:
    mesh = meshes.line()
    targets = A @ np.linspace(-1, 1, 10, dtype=np.float32)

    def trained(w: Any, x: Any, y: Any) -> Any:
        def step(_: Any, w: Any) -> Any:
            error = x @ w - y
            return w - 0.02 * (x.T @ error)

        w = tenon.fori_loop(0, 30, step, w)
        return w, tnp.mean((x @ w - y) ** 2)

    program = meshes.jit(trained)
    rows = tenon.sharding(mesh, "x")
    begin = np.zeros(10, np.float32)
    w, loss = program(begin, tenon.shard(A, rows), tenon.shard(targets, rows))
    wanted, _ = program(begin, A, targets)
    np.testing.assert_allclose(whole(w), wanted.numpy(), atol=1e-4)
    assert w.sharding.is_whole and whole(loss) < np.mean(targets**2)
    # What all have is the same on each.
    for part in w.parts[1:]:
        np.testing.assert_array_equal(part.numpy(), w.parts[0].numpy())
    return whole(w), whole(loss)


def case_sorting_along_the_split_dim(meshes: Meshes) -> Sequence[Array]:
    found = meshes.jit(tnp.sort)(tenon.shard(DIGITS, tenon.sharding(meshes.line(), "x")))
    np.testing.assert_array_equal(whole(found), np.sort(DIGITS))
    return (whole(found),)


def case_functions_of_parts(meshes: Meshes) -> Sequence[Array]:
    mesh = meshes.line()
    n = meshes.size
    even = np.arange(12 * n, dtype=np.float32).reshape(2 * n, 6)

    def of_parts(x: Any, scale: Any) -> Any:
        total = tenon.psum(tnp.sum(x, axis=0), "x")
        ring = [(rank, (rank + 1) % n) for rank in range(n)]
        moved = tenon.fori_loop(0, n, lambda _, y: tenon.permute(y, "x", ring) + 1, x)
        every = tenon.all_gather(x[0], "x", axis=0)
        place = tenon.axis_index("x") + tnp.zeros((1,), dtype=np.int32)
        return total * scale, moved, every, place

    mapped = tenon.shard_map(
        of_parts, mesh, (P("x"), P()), (P(), P("x"), P(), P("x")), backend=meshes.backend
    )
    for given in (even, tenon.shard(even, tenon.sharding(mesh, None))):
        total, moved, every, place = map(whole, mapped(given, 2.0))
        np.testing.assert_array_equal(total, even.sum(0) * 2)
        np.testing.assert_array_equal(moved, even + n)
        np.testing.assert_array_equal(every, even[::2])
        np.testing.assert_array_equal(place, np.arange(n))
    inside = meshes.jit(lambda x: mapped(x * 2, 1.0)[0] + 1)(tenon.shard(even, tenon.sharding(mesh, "x")))
    np.testing.assert_array_equal(whole(inside), even.sum(0) * 2 + 1)
    return total, moved, every, place


def case_places_of_extrema_of_all_elements(meshes: Meshes) -> Sequence[Array]:
    grid, line = meshes.grid(), meshes.line()
    table = np.random.default_rng(4).integers(0, 90, (257, 259)).astype(np.float32)
    broken = table.copy()
    broken[[200, 31, 200], [3, 250, 2]] = np.nan
    late = np.zeros_like(table)
    late[-1, -1], late[-1, 0] = 1, -1
    zeros = np.where(table > 45, np.float32(-0.0), np.float32(0.0))
    found: list[Array] = []
    for values in (table, broken, late, zeros, table.astype(np.int32) % 7, table > 80):
        for sharding in (
            tenon.sharding(line, "x"),
            tenon.sharding(line, None, "x"),
            tenon.sharding(grid, "x", "y"),
        ):
            x = tenon.shard(values, sharding)
            for name in ("argmax", "argmin"):
                places = whole(
                    meshes.jit(lambda x, name: getattr(tnp, name)(x), static_argnames="name")(x, name=name)
                )
                np.testing.assert_array_equal(places, getattr(np, name)(values))
                found.append(places)
    return found


def case_arrays_that_are_read_from_outside(meshes: Meshes) -> Sequence[Array]:
    mesh = meshes.line()
    x, w = tenon.shard(A, tenon.sharding(mesh, "x")), tenon.shard(A * 2, tenon.sharding(mesh, None, "x"))
    table = {"w": tenon.shard(B, tenon.sharding(mesh, "x"))}

    def computed(a: Any, w: Any, b: Any) -> Any:
        grown = tenon.fori_loop(0, 3, lambda _, c: c * 0.5 + w, w)
        return a + w, tnp.sum(w * a, axis=1), w[2:5].T, tnp.stack([w, grown]), a @ b, w

    program = meshes.jit(lambda a: computed(a, w, table["w"]))
    wanted = meshes.jit(computed)
    found: list[Array] = []
    for turn in range(3):
        w = tenon.shard(A * (2 + turn), tenon.sharding(mesh, *((None, "x") if turn < 2 else ("x",))))
        results = program(x)
        assert results[-1].sharding == w.sharding
        results = [whole(each) for each in results]
        for one, other in zip(results, wanted(A, A * (2 + turn), B), strict=True):
            np.testing.assert_allclose(one, other.numpy(), rtol=1e-5, atol=1e-5)
        found += results
    # Of another array that is split alike the values are read, another sharding is another program.
    assert len(program.explain_misses()) == 2
    alone = whole(meshes.jit(lambda: w * 2)())
    np.testing.assert_array_equal(alone, A * 8)
    return [*found, alone]


def case_donated_arrays(meshes: Meshes) -> Sequence[Array]:
    x = tenon.shard(A, tenon.sharding(meshes.line(), "x"))
    program = meshes.jit(lambda a: a + 1, donate_argnums=0)
    found = whole(program(x))
    np.testing.assert_array_equal(found, A + 1)
    for part in x.parts:
        with np.testing.assert_raises_regex(tenon.TenonError, "is used after it was donated to <lambda>"):
            part.numpy()
    return (found,)


def case_random_numbers_are_those_of_one_device(meshes: Meshes) -> Sequence[Array]:
    rows = tenon.sharding(meshes.line(), "x")

    def drawn(a: Any) -> Any:
        return a + tenon.random.uniform(tenon.random.key(7), a.shape)

    found = whole(meshes.jit(drawn)(tenon.shard(A, rows)))
    np.testing.assert_array_equal(found, meshes.jit(drawn)(A).numpy())
    return (found,)


def case_a_program_of_stablehlo(meshes: Meshes) -> Sequence[Array]:
    n, mesh = meshes.size, meshes.line()
    text = f"""
      sdy.mesh @mesh = <["x"={n}]>
      func.func public @main(
        %a: tensor<{2 * n}x10xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"x"}}, {{}}]>}},
        %b: tensor<10x9xf32>
      ) -> (tensor<2x10xf32>, tensor<{2 * n}x9xf32>) {{
        %s = sdy.manual_computation(%a) in_shardings=[<@mesh, [{{"x"}}, {{}}]>]
            out_shardings=[<@mesh, [{{}}, {{}}]>] manual_axes={{"x"}} (%part: tensor<2x10xf32>) {{
          %t = "stablehlo.all_reduce"(%part) <{{
            channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>,
            replica_groups = dense<{[[*range(n)]]}> : tensor<1x{n}xi64>, use_global_device_ids
          }}> ({{
          ^bb0(%u: tensor<f32>, %v: tensor<f32>):
            %w = stablehlo.add %u, %v : tensor<f32>
            stablehlo.return %w : tensor<f32>
          }}) : (tensor<2x10xf32>) -> tensor<2x10xf32>
          sdy.return %t : tensor<2x10xf32>
        }} : (tensor<{2 * n}x10xf32>) -> tensor<2x10xf32>
        %y = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
          : (tensor<{2 * n}x10xf32>, tensor<10x9xf32>) -> tensor<{2 * n}x9xf32>
        return %s, %y : tensor<2x10xf32>, tensor<{2 * n}x9xf32>
      }}
    """
    program = tenon.from_stablehlo(text, mesh=mesh, backend=meshes.backend)
    a = A[: 2 * n]
    assert program.argument_shardings == (tenon.sharding(mesh, "x"), tenon.sharding(mesh))
    for given in (
        a,
        tenon.shard(a, tenon.sharding(mesh, "x")),
        tenon.shard(a, tenon.sharding(mesh, None, "x")),
    ):
        total, product = program(given, B)
        assert (total.sharding, product.sharding) == (tenon.sharding(mesh), tenon.sharding(mesh, "x"))
        np.testing.assert_allclose(whole(total), a.reshape(n, 2, 10).sum(0), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(whole(product), a @ B, rtol=1e-4, atol=1e-5)
    return whole(total), whole(product)


CASES: dict[str, Case] = {
    name.removeprefix("case_"): case for name, case in globals().items() if name.startswith("case_")
}
"""All cases, by name."""

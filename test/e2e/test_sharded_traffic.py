"""What whole programs send over a mesh: as little as can be, for as many ranks as there may be."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.dialects.modules.parsing import parse_module
from tenon.dialects.sharding import Mesh, Sharding, set_shardings
from tenon.dialects.sharding.annotations import result_shardings
from tenon.semantics.traffic import sent_nbytes, traffic_of
from xdsl.dialects.builtin import ModuleOp

from .sharded_programs import NAMES, Array, compare, entry_of, grid, partitioned, propagated, split

HEADS = 4

Dims = Sequence[Sequence[int]]


def numbers(*shape: int) -> Array:
    return (np.random.default_rng(5).standard_normal(shape) * 0.3).astype(np.float32)


def sent(module: ModuleOp) -> list[tuple[str, tuple[int, ...], float]]:
    """Returns the kind, the axes and the bytes of each collective of a program of a rank."""
    return [(each.kind, each.op.axes.data, each.nbytes) for each in traffic_of(module)]


def over(mesh: Sequence[int], text: str, arguments: Sequence[Dims]) -> str:
    """Returns a program over a mesh, with its arguments split so and its results whole."""
    module = parse_module(text)
    entry = entry_of(module)
    ranks = [len(type.get_shape()) for type in entry.function_type.outputs.data]
    assert result_shardings(entry) == (None,) * len(ranks)
    said = [Sharding(tuple(map(tuple, dims))) for dims in arguments]
    set_shardings(entry, said, [Sharding.whole(rank) for rank in ranks])
    del entry.properties["res_attrs"]
    module.body.block.insert_op_before(Mesh("mesh", tuple(mesh), NAMES[: len(mesh)]).op(), entry)
    return str(module)


def heat(extent: int, ranks: tuple[int, int], steps: int) -> str:
    """Returns the time loop of a stencil in three dims, of which two are split."""
    type = f"tensor<{extent}x{extent}x{extent}xf32>"
    padded = f"tensor<{extent + 2}x{extent + 2}x{extent + 2}xf32>"
    offsets = {"c": [1, 1, 1], "n": [0, 1, 1], "s": [2, 1, 1], "w": [1, 0, 1], "e": [1, 2, 1]}
    sizes = [extent] * 3
    slices = "\n".join(
        f"%{name} = graph.slice %p offsets {at} sizes {sizes} strides [1, 1, 1] : {padded}"
        for name, at in (offsets | {"u": [1, 1, 0], "d": [1, 1, 2]}).items()
    )
    return f"""{grid(*ranks)}
      func.func @heat(%x: {type} {split([0], [1], [])}) -> {type} {{
        %y = graph.scan %i = {steps} (%t = %x) : ({type}) -> ({type}) {{
          %zero = graph.constant dense<0.0> : tensor<f32>
          %p = graph.pad %t, %zero low [1, 1, 1] high [1, 1, 1] : {type}
          {slices}
          %ns = graph.add %n, %s : {type}
          %we = graph.add %w, %e : {type}
          %ud = graph.add %u, %d : {type}
          %plane = graph.add %ns, %we : {type}
          %sum = graph.add %plane, %ud : {type}
          %rate = graph.constant dense<0.125> : tensor<f32>
          %rates = graph.broadcast %rate : tensor<f32> -> {type}
          %change = graph.mul %sum, %rates : {type}
          %next = graph.add %c, %change : {type}
          graph.yield %next : {type}
        }}
        func.return %y : {type}
      }}"""


@pytest.mark.parametrize("ranks", [(2, 2), (2, 3), (1, 2)])
def test_a_time_loop_sends_the_faces_of_its_parts(ranks: tuple[int, int]):
    modules = compare(heat(7, ranks, 3), [numbers(7, 7, 7)])
    rows, columns = -(-7 // ranks[0]), -(-7 // ranks[1])
    faces = (columns * 7 if ranks[0] > 1 else 0) + (rows * 7 if ranks[1] > 1 else 0)
    assert sent_nbytes(modules[0]) == 3 * 4 * faces


@pytest.mark.parametrize("ranks", [(8, 8), (32, 32)])
def test_programs_of_many_ranks_are_written_quickly(ranks: tuple[int, int]):
    """One in the middle sends four faces, the one in the corner two."""
    whole = propagated(heat(1024, ranks, 100))
    face = 1024 // ranks[0] * 1024 * 4
    begin = perf_counter()
    corner, middle = (partitioned(whole, rank) for rank in (0, ranks[0] // 2 * (ranks[1] + 1)))
    assert sent_nbytes(corner) == 100 * 2 * face
    assert sent_nbytes(middle) == 100 * 4 * face
    assert perf_counter() - begin < 10


def layer(
    x: tnp.ndarray,
    wq: tnp.ndarray,
    wk: tnp.ndarray,
    wv: tnp.ndarray,
    wo: tnp.ndarray,
    w1: tnp.ndarray,
    w2: tnp.ndarray,
) -> tnp.ndarray:
    """A layer of a transformer: attention of several heads, and two dense layers, each after a norm."""
    batch, length, width = x.shape
    size = width // HEADS

    def normed(x: tnp.ndarray) -> tnp.ndarray:
        centred = x - tnp.mean(x, axis=-1, keepdims=True)
        return centred / tnp.sqrt(tnp.mean(centred * centred, axis=-1, keepdims=True) + 1e-5)

    def heads(weights: tnp.ndarray) -> tnp.ndarray:
        return tnp.transpose(tnp.reshape(y @ weights, (batch, length, HEADS, size)), (0, 2, 1, 3))

    y = normed(x)
    scores = heads(wq) @ tnp.transpose(heads(wk), (0, 1, 3, 2))
    weights = tnp.exp(scores - tnp.max(scores, axis=-1, keepdims=True))
    seen = weights / tnp.sum(weights, axis=-1, keepdims=True) @ heads(wv)
    x = x + tnp.reshape(tnp.transpose(seen, (0, 2, 1, 3)), (batch, length, width)) @ wo
    return x + tnp.tanh(normed(x) @ w1) @ w2


@pytest.mark.parametrize("dims", [([0], []), ([], [0]), ([0, 1], []), ([1], [0])])
@pytest.mark.parametrize("mesh", [(2, 1), (3, 1), (2, 2)])
def test_the_place_of_an_extremum_of_all_elements_takes_one_pair_of_each_rank(
    mesh: tuple[int, int], dims: Dims
):
    values = numbers(131, 503)
    values[[90, 17], [3, 400]] = values.max() + 1
    text = tenon.jit(lambda x: tnp.argmax(x)).lower(values).text("traced")
    for given in (values, np.where(values > 0.9, np.float32("nan"), values)):
        for module in compare(over(mesh, text, [dims]), [given]):
            assert {kind for kind, _, _ in sent(module)} == {"all_reduce"}
            ranks = np.prod([mesh[axis] for axes in dims for axis in axes])
            assert sent_nbytes(module) == pytest.approx(2 * (4 + 4) * (ranks - 1) / ranks)


def test_a_layer_over_batch_and_heads_sends_two_sums():
    """As Megatron's: one after attention and one after the dense layers, over the heads' axis alone."""
    width, inner = 64, 256
    weights = [(width, width)] * 4 + [(width, inner), (inner, width)]
    inputs = [numbers(4, 6, width), *(numbers(*shape) for shape in weights)]
    text = tenon.jit(layer).lower(*inputs).text("traced")
    columns, rows = ([], [1]), ([1], [])
    splits = [([0], [], []), columns, columns, columns, rows, columns, rows]
    for mesh in ((2, 2), (2, 4)):
        modules = compare(over(mesh, text, splits), inputs, rtol=1e-4)
        nbytes = 2 * (4 // 2 * 6 * width * 4) * (mesh[1] - 1) / mesh[1]
        assert sent(modules[0]) == [("all_reduce", (1,), nbytes)] * 2


def test_a_layer_over_the_batch_alone_sends_nothing():
    weights = [(16, 16)] * 4 + [(16, 32), (32, 16)]
    inputs = [numbers(4, 6, 16), *(numbers(*shape) for shape in weights)]
    text = tenon.jit(layer).lower(*inputs).text("traced")
    modules = compare(over((3,), text, [([0], [], []), *[([], [])] * 6]), inputs, rtol=1e-4)
    assert sent(modules[0]) == []


def test_a_training_step_over_the_batch_sends_each_gradient_once():
    def step(w: tnp.ndarray, v: tnp.ndarray, x: tnp.ndarray, t: tnp.ndarray):
        hidden = tnp.tanh(x @ w)
        error = hidden @ v - t
        loss = tnp.mean(error * error)
        back = error * (2.0 / error.size)
        inner = (back @ v.T) * (1.0 - hidden * hidden)
        return w - 0.1 * (x.T @ inner), v - 0.1 * (hidden.T @ back), loss

    inputs = [numbers(9, 8), numbers(8, 4), numbers(64, 9), numbers(64, 4)]
    text = tenon.jit(step).lower(*inputs).text("traced")
    rows = ([0], [])
    for ranks in (2, 3):
        modules = compare(over((ranks,), text, [([], []), ([], []), rows, rows]), inputs, rtol=1e-4)
        assert {kind for kind, _, _ in sent(modules[0])} == {"all_reduce"}
        gradients = 9 * 8 + 8 * 4 + 1
        assert sent_nbytes(modules[0]) == pytest.approx(4 * gradients * 2 * (ranks - 1) / ranks)


def test_weights_that_are_split_over_the_batch_s_axis_are_gathered_and_their_gradient_scattered():
    """As in fully sharded training, where a product of the batch is larger than the weights."""

    def step(w: tnp.ndarray, x: tnp.ndarray, t: tnp.ndarray) -> tnp.ndarray:
        return w - 0.1 * (x.T @ (x @ w - t))

    inputs = [numbers(8, 4), numbers(64, 8), numbers(64, 4)]
    text = tenon.jit(step).lower(*inputs).text("traced")
    rows = ([0], [])
    (module, _) = compare(over((2,), text, [rows, rows, rows]), inputs, rtol=1e-4)
    assert [kind for kind, _, _ in sent(module)] == ["all_gather", "reduce_scatter"]
    assert sent_nbytes(module) == 2 * (8 * 4 * 4) / 2


def inside_of(u: tnp.ndarray) -> tnp.ndarray:
    """What a stencil makes of the elements that have all neighbours."""
    middle = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return middle + 0.1 * (around - 4 * middle)


def written_inside(u: tnp.ndarray) -> tnp.ndarray:
    return tenon.fori_loop(0, 3, lambda _, u: u.at[1:-1, 1:-1].set(inside_of(u)), u)


@pytest.mark.parametrize(("mesh", "n_sent"), [((2,), 24), ((3,), 24), ((4,), 24), ((2, 2), 11 + 12)])
def test_a_stencil_that_writes_the_inside_of_an_array_sends_faces(mesh: tuple[int, ...], n_sent: int):
    """Blocks of the inside begin elsewhere than those of the array: it is computed where it is put."""
    x = numbers(24, 24)
    text = tenon.jit(written_inside).lower(x).text("traced")
    split = ([0], [1]) if len(mesh) > 1 else ([0], [])
    modules = compare(over(mesh, text, [split]), [x])
    assert sent_nbytes(modules[0]) == 3 * 4 * n_sent
    if mesh in ((3,), (4,)):
        assert sent_nbytes(modules[1]) == 3 * 4 * 2 * 24


def test_what_is_read_elsewhere_too_or_made_of_something_else_is_computed_in_its_own_parts():
    def read_twice(u: tnp.ndarray):
        inside = inside_of(u)
        return u.at[1:-1, 1:-1].set(inside), tnp.sum(inside * inside)

    def made_of_sums(u: tnp.ndarray):
        return u.at[1:-1, 1:-1].set(inside_of(u) + (u @ u.T)[1:-1, :1] + tnp.flip(u, 0)[2:, 2:])

    def made_of_products(u: tnp.ndarray):
        return u.at[:-1].set(u[1:] + u[1:] @ (u.T @ u))

    x = numbers(24, 24)
    for function in (read_twice, made_of_sums, made_of_products):
        text = tenon.jit(function).lower(x).text("traced")
        for mesh in ((2,), (3,)):
            compare(over(mesh, text, [([0], [])]), [x], rtol=1e-3)

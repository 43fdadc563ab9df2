"""Sums of floats start from 0.0: those of -0.0 alone are 0.0, whatever their length, level and schedule."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
from tenon.semantics.numpy_types import Array
from tenon.test.gpus import opencl_as_gpu
from tenon.test.unit.everywhere import WAYS, run_everywhere

DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16)}

EXTENTS = (1, 9, 133)
"""Extents of what is summed: one element, more than a vector, several partial results and a rest."""


def program(type: str) -> str:
    """Returns a program whose results are sums of elements of %x, that is -0.0, and products with ones."""
    body: list[str] = []
    types: list[str] = []

    def add(text: str, result: str) -> None:
        body.append(f"  %r{len(body)} = {text} -> tensor<{result}{type}>")
        types.append(f"tensor<{result}{type}>")

    arguments = [f"%x{n}x{m}: tensor<{n}x{m}x{type}>" for n in (3, *EXTENTS) for m in EXTENTS]
    arguments += [f"%o{n}: tensor<{n}x40x{type}>" for n in EXTENTS]
    for n in EXTENTS:
        x = f"%x{n}x{n}"
        add(f"graph.reduce add {x} axes [] : tensor<{n}x{n}x{type}>", f"{n}x{n}x")
        add(f"graph.reduce add {x} axes [0, 1] : tensor<{n}x{n}x{type}>", "")
        add(f"graph.reduce add {x} axes [0] : tensor<{n}x{n}x{type}>", f"{n}x")
        add(f"graph.reduce add %x3x{n} axes [1] keep : tensor<3x{n}x{type}>", "3x1x")
        for rows in (3, 133):
            add(
                f"graph.contract %x{rows}x{n}, %o{n} maps [affine_map<(i, j, k) -> (i, k)>, "
                "affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : "
                f"tensor<{rows}x{n}x{type}>, tensor<{n}x40x{type}>",
                f"{rows}x40x",
            )
        add(
            f"graph.contract %x3x{n} maps [affine_map<(i, j, k) -> (i, j + k)>, affine_map<(i, j, k) -> "
            f"(i, j)>] bounds [3, {n}, 1] : tensor<3x{n}x{type}>",
            f"3x{n}x",
        )
    outer = "affine_map<(a, b, i, j) -> (a, b)>, affine_map<(a, b, i, j) -> (i, j)>"
    add(
        f"graph.contract %x3x9, %o1 maps [{outer}, affine_map<(a, b, i, j) -> (a, b, i, j)>] : "
        f"tensor<3x9x{type}>, tensor<1x40x{type}>",
        "3x9x1x40x",
    )
    results = ", ".join(f"%r{number}" for number in range(len(body)))
    lines = "\n".join(body)
    return (
        f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n{lines}\n"
        f"  func.return {results} : {', '.join(types)}\n}}"
    )


def arguments(type: str) -> list[Array]:
    dtype = DTYPES[type]
    zeros = [np.full((n, m), -0.0, dtype) for n in (3, *EXTENTS) for m in EXTENTS]
    return [*zeros, *(np.ones((n, 40), dtype) for n in EXTENTS)]


@pytest.mark.parametrize("type", DTYPES)
def test_sums_of_negative_zeros_are_zero_at_every_level_and_on_every_backend(type: str) -> None:
    for number, result in enumerate(
        run_everywhere(program(type), *arguments(type), ways=(("reference", None), *WAYS))
    ):
        assert (result == 0).all() and not np.signbit(result).any(), number


def test_gpu_schedules_start_sums_from_zero() -> None:
    for result in tenon.compile(program("f32"), backend=opencl_as_gpu())(*arguments("f32")):
        assert (result == 0).all() and not np.signbit(result).any()


def test_named_dims_that_may_be_one_start_sums_from_zero() -> None:
    x = "tensor<?x?xf32, #graph.dims<m, n>>"
    text = f"""graph.dim @m min 0 max 64
graph.dim @n min 0 max 64
func.func @main(%x: {x}, %y: tensor<?x1xf32, #graph.dims<n, 1>>)
    -> (tensor<?xf32, #graph.dims<m>>, tensor<?x1xf32, #graph.dims<m, 1>>) {{
  %s = graph.reduce add %x axes [1] : {x} -> tensor<?xf32, #graph.dims<m>>
  %p = graph.contract %x, %y maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>,
    affine_map<(i, j, k) -> (i, j)>] : {x}, tensor<?x1xf32, #graph.dims<n, 1>>
    -> tensor<?x1xf32, #graph.dims<m, 1>>
  func.return %s, %p : tensor<?xf32, #graph.dims<m>>, tensor<?x1xf32, #graph.dims<m, 1>>
}}"""
    for backend in ("reference", "llvm", "opencl"):
        run = tenon.compile(text, backend=backend)
        for m, n in ((1, 1), (3, 1), (1, 0), (5, 40)):
            for result in run(np.full((m, n), -0.0, "f"), np.ones((n, 1), "f")):
                assert (result == 0).all() and not np.signbit(result).any(), (backend, m, n)


def test_other_reductions_and_running_sums_keep_negative_zeros() -> None:
    t = "tensor<1x1xf32>"
    kinds = [f"  %{kind} = graph.reduce {kind} %x axes [0] keep : {t} -> {t}" for kind in ("max", "min")]
    kinds += [f"  %mul = graph.reduce mul %x axes [0] keep : {t} -> {t}"]
    kinds += [f"  %sum = graph.cumulate add %x axis 0 : {t}"]
    text = f"func.func @main(%x: {t}) -> ({', '.join([t] * 4)}) {{\n" + "\n".join(kinds)
    text += f"\n  func.return %max, %min, %mul, %sum : {', '.join([t] * 4)}\n}}"
    for result in run_everywhere(text, np.full((1, 1), -0.0, "f")):
        assert np.signbit(result).all()


@pytest.mark.parametrize("extent", [1, 2])
@pytest.mark.parametrize(
    "subscripts", ["i,i->i", "i,i->", "ij,jk->ijk", "i->i", "ij->i", "i,j->", "ij,jk->ik"]
)
def test_einsum_has_the_zeros_of_numpy(subscripts: str, extent: int) -> None:
    terms = subscripts.partition("->")[0].split(",")
    operands = [np.full((extent,) * len(t), 1.0 if n else -0.0) for n, t in enumerate(terms)]
    found, wanted = tnp.einsum(subscripts, *operands), np.einsum(subscripts, *operands)
    np.testing.assert_array_equal(np.signbit(np.asarray(found)), np.signbit(wanted))


def test_sums_and_products_have_the_zeros_of_numpy() -> None:
    for shape in ((), (1,), (5,)):
        x = np.full(shape, -0.0)
        for axis in (None, ()):
            assert not np.signbit(np.sum(x, axis=axis)).any()
            assert not np.signbit(np.asarray(tnp.sum(x, axis=axis))).any()
            assert not np.signbit(np.asarray(tnp.mean(x, axis=axis))).any()
    x, y = np.full(2, -0.0), np.ones(2)
    for kept in (np.outer, np.kron):
        assert np.signbit(kept(x, y)).all()
        assert np.signbit(np.asarray(getattr(tnp, kept.__name__)(x, y))).all()
    assert not np.signbit(np.asarray(tnp.tensordot(x, y, axes=0))).any()
    # The terms are summed before they are multiplied: 0 * -1, but not as the product alone.
    assert not np.signbit(np.asarray(tnp.einsum("i,j->", np.zeros(2), -y))).any()

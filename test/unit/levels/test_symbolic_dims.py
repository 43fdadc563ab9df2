"""Programs with named dims: one compiled program serves all sizes, on every backend and at every level."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import tenon
from tenon.backends.cache.place import SWITCH
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.reference.graph import run_graph
from tenon.dialects import graph
from tenon.dialects.dims.expressions import DimSymbol, dim
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.indices.expressions import Axis, check_not_negative, variable
from tenon.passes.instruments.random_inputs import random_inputs, random_sizes
from tenon.runtime.executables import sized_executable
from tenon.runtime.executables.sized_executable import SizedExecutable
from tenon.semantics.errors import InterpreterError
from xdsl.dialects.builtin import FunctionType, f32
from xdsl.utils.exceptions import PassFailedException

Array = npt.NDArray[Any]

PLACES: tuple[dict[str, str], ...] = (
    {"backend": "llvm"},
    {"backend": "opencl"},
    {"backend": "reference"},
    {"backend": "reference", "level": "sched"},
    {"backend": "reference", "level": "low"},
)

N = "graph.dim @n min 1 max 64\n"
NM = N + "graph.dim @m min 1 max 64\n"


def tensor(*extents: str | int, element: str = "f32") -> str:
    """Returns the type of a tensor with named dims."""
    written = "x".join(str(extent) if isinstance(extent, int) else "?" for extent in extents)
    dims = ", ".join(map(str, extents))
    encoding = f", #graph.dims<{dims}>" if any(isinstance(extent, str) for extent in extents) else ""
    return f"tensor<{written}{'x' if extents else ''}{element}{encoding}>"


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


@pytest.fixture
def n_compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sources that llvm compiles during a test, which takes none from disk."""
    monkeypatch.setenv(SWITCH, "0")
    sources: list[str] = []
    image = LLVMCompiler.image

    def noting(self: LLVMCompiler, source: str, *others: Any) -> bytes:
        sources.append(source)
        return image(self, source, *others)

    monkeypatch.setattr(LLVMCompiler, "image", noting)
    return sources


def sweep(
    text: str,
    arguments: Callable[..., list[Array]],
    expected: Callable[..., Array | tuple[Array, ...]],
    sizes: list[tuple[int, ...]],
    tolerance: float = 1e-4,
) -> None:
    """Compares the program with numpy for all sizes, everywhere."""
    for place in PLACES:
        function = tenon.compile(text, **place)  # pyright: ignore[reportArgumentType]
        few = sizes if place["backend"] == "llvm" else [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
        for size in few:
            given = arguments(*size)
            found = function(*given)
            wanted = expected(*given)
            pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
            for mine, theirs in pairs:
                assert mine.shape == theirs.shape, (place, size)
                np.testing.assert_allclose(
                    mine, theirs, rtol=tolerance, atol=tolerance, err_msg=str((place, size))
                )


ALL = [(n,) for n in range(1, 65)]
SOME = [(1, 1), (1, 64), (2, 3), (5, 4), (7, 33), (8, 8), (31, 1), (33, 17), (64, 1), (64, 64)]

SOFTMAX = (
    N
    + f"""
func.func @softmax(%x: {tensor(4, "n")}) -> {tensor(4, "n")} {{
  %m = graph.reduce max %x axes [1] keep : {tensor(4, "n")} -> tensor<4x1xf32>
  %mb = graph.broadcast %m : tensor<4x1xf32> -> {tensor(4, "n")}
  %d = graph.sub %x, %mb : {tensor(4, "n")}
  %e = graph.exp %d : {tensor(4, "n")}
  %s = graph.reduce add %e axes [1] keep : {tensor(4, "n")} -> tensor<4x1xf32>
  %sb = graph.broadcast %s : tensor<4x1xf32> -> {tensor(4, "n")}
  %y = graph.div %e, %sb : {tensor(4, "n")}
  func.return %y : {tensor(4, "n")}
}}
"""
)


def softmax(x: Array) -> Array:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_a_softmax_over_a_named_dim_compiles_once_for_all_sizes(n_compiled: list[str]):
    function = tenon.compile(SOFTMAX)
    for (n,) in ALL:
        x = random(4, n)
        np.testing.assert_allclose(function(x), softmax(x), rtol=1e-5, atol=1e-6)
    assert len(n_compiled) == 1


def test_softmax_is_the_same_everywhere():
    sweep(SOFTMAX, lambda n: [random(4, n)], softmax, ALL)


def test_softmax_over_a_static_axis_of_a_named_batch():
    text = SOFTMAX.replace(tensor(4, "n"), tensor("n", 40)).replace("tensor<4x1xf32>", tensor("n", 1))
    sweep(text, lambda n: [random(n, 40)], softmax, ALL)


def test_layer_norm_of_a_named_batch_and_width():
    x, row, column = tensor("n", "m"), tensor("m"), tensor("n", 1)
    text = (
        NM
        + f"""
func.func @norm(%x: {x}, %g: {row}, %k: {column}) -> {x} {{
  %s = graph.reduce add %x axes [1] keep : {x} -> {column}
  %mean = graph.mul %s, %k : {column}
  %mb = graph.broadcast %mean : {column} -> {x}
  %d = graph.sub %x, %mb : {x}
  %q = graph.mul %d, %d : {x}
  %v = graph.reduce add %q axes [1] keep : {x} -> {column}
  %vm = graph.mul %v, %k : {column}
  %e = graph.constant dense<1.0e-5> : tensor<1x1xf32>
  %eb = graph.broadcast %e : tensor<1x1xf32> -> {column}
  %ve = graph.add %vm, %eb : {column}
  %r = graph.rsqrt %ve : {column}
  %rb = graph.broadcast %r : {column} -> {x}
  %y = graph.mul %d, %rb : {x}
  %gb = graph.broadcast %g : {row} -> {x}
  %z = graph.mul %y, %gb : {x}
  func.return %z : {x}
}}
"""
    )

    def expected(x: Array, g: Array, k: Array) -> Array:
        d = x - x.mean(1, keepdims=True)
        return d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g

    def arguments(n: int, m: int) -> list[Array]:
        return [random(n, m), random(m), np.full((n, 1), 1 / m, np.float32)]

    sweep(text, arguments, expected, SOME, 2e-3)


@pytest.mark.parametrize(
    "m,n,k", [("a", 12, 20), (9, "a", 20), (9, 12, "a"), ("a", "b", 20), ("a", 12, "b"), (9, "a", "b")]
)
def test_matmul_with_named_dims(m: str | int, n: str | int, k: str | int):
    dims = "graph.dim @a min 1 max 64\ngraph.dim @b min 1 max 64\n"
    lhs, rhs, result = tensor(m, k), tensor(k, n), tensor(m, n)
    text = (
        dims
        + f"""
func.func @matmul(%x: {lhs}, %y: {rhs}) -> {result} {{
  %z = graph.contract %x, %y maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>] : {lhs}, {rhs} -> {result}
  func.return %z : {result}
}}
"""
    )

    def arguments(a: int, b: int) -> list[Array]:
        sizes = {"a": a, "b": b}
        at = [sizes.get(str(extent), extent) for extent in (m, n, k)]
        return [random(int(at[0]), int(at[2])), random(int(at[2]), int(at[1]), seed=1)]

    sweep(text, arguments, lambda x, y: x @ y, SOME)


def test_concat_of_named_extents():
    a, b = tensor("n", 3), tensor("m", 3)
    text = (
        NM
        + f"""
func.func @join(%x: {a}, %y: {b}) -> {tensor("m + n", 3)} {{
  %e = graph.exp %x : {a}
  %z = graph.concat %e, %y axis 0 : {a}, {b} -> {tensor("m + n", 3)}
  func.return %z : {tensor("m + n", 3)}
}}
"""
    )
    sweep(text, lambda n, m: [random(n, 3), random(m, 3)], lambda x, y: np.concatenate([np.exp(x), y]), SOME)


def test_reshape_to_a_row_and_back():
    x, row = tensor("n", 8), tensor("8 * n")
    text = (
        N
        + f"""
func.func @f(%x: {x}) -> ({row}, {x}) {{
  %e = graph.exp %x : {x}
  %r = graph.reshape %e : {x} -> {row}
  %m = graph.neg %r : {row}
  %b = graph.reshape %m : {row} -> {x}
  func.return %r, %b : {row}, {x}
}}
"""
    )
    sweep(text, lambda n: [random(n, 8)], lambda x: (np.exp(x).reshape(-1), -np.exp(x)), ALL)


def test_reshape_of_two_named_dims_and_back():
    x, row, turned = tensor("n", "m"), tensor("n * m"), tensor("m", "n")
    text = (
        NM
        + f"""
func.func @f(%x: {x}, %r: {row}, %t: {turned}) -> ({row}, {x}, {row}) {{
  %a = graph.reshape %x : {x} -> {row}
  %b = graph.add %a, %r : {row}
  %c = graph.reshape %r : {row} -> {x}
  %d = graph.mul %c, %x : {x}
  %p = graph.permute %t [1, 0] : {turned}
  %q = graph.reshape %p : {x} -> {row}
  %s = graph.add %q, %r : {row}
  func.return %b, %d, %s : {row}, {x}, {row}
}}
"""
    )

    def arguments(n: int, m: int) -> list[Array]:
        return [random(n, m), random(n * m), random(m, n)]

    def expected(x: Array, r: Array, t: Array) -> tuple[Array, ...]:
        return x.reshape(-1) + r, r.reshape(x.shape) * x, t.T.reshape(-1) + r

    sweep(text, arguments, expected, SOME)


def test_transpose_flip_and_reduce_of_named_dims():
    x, turned = tensor("n", "m"), tensor("m", "n")
    text = (
        NM
        + f"""
func.func @f(%x: {x}) -> ({turned}, {tensor("m")}, {tensor("n")}, tensor<f32>) {{
  %t = graph.permute %x [1, 0] : {x}
  %f = graph.flip %t axes [0, 1] : {turned}
  %y = graph.neg %f : {turned}
  %a = graph.reduce add %x axes [0] : {x} -> {tensor("m")}
  %b = graph.reduce max %x axes [1] : {x} -> {tensor("n")}
  %c = graph.reduce min %x axes [0, 1] : {x} -> tensor<f32>
  func.return %y, %a, %b, %c : {turned}, {tensor("m")}, {tensor("n")}, tensor<f32>
}}
"""
    )

    def expected(x: Array) -> tuple[Array, ...]:
        return -x.T[::-1, ::-1], x.sum(0), x.max(1), np.asarray(x.min())

    sweep(text, lambda n, m: [random(n, m)], expected, SOME)


def test_pads_of_named_dims():
    x, padded = tensor("n", "m"), tensor("n + 3", "m + 1")
    text = (
        NM
        + f"""
func.func @f(%x: {x}) -> {padded} {{
  %v = graph.constant dense<2.0> : tensor<f32>
  %e = graph.exp %x : {x}
  %y = graph.pad %e, %v low [1, 0] high [2, 1] : {x}
  func.return %y : {padded}
}}
"""
    )

    def expected(x: Array) -> Array:
        return np.pad(np.exp(x), ((1, 2), (0, 1)), constant_values=2)

    sweep(text, lambda n, m: [random(n, m)], expected, SOME)


def test_slices_with_named_sizes():
    x = tensor("n", 8)
    half, rest = tensor("n floordiv 2", 4), tensor("n - n floordiv 2", 8)
    text = (
        N
        + f"""
func.func @f(%x: {x}) -> ({half}, {rest}) {{
  %a = graph.slice %x offsets [0, 1] sizes [n floordiv 2, 4] strides [2, 2] : {x}
  %b = graph.slice %x offsets [n floordiv 2, 0] sizes [n - n floordiv 2, 8] strides [1, 1] : {x}
  %c = graph.neg %a : {half}
  %d = graph.neg %b : {rest}
  func.return %c, %d : {half}, {rest}
}}
"""
    )

    def expected(x: Array) -> tuple[Array, ...]:
        half = len(x) // 2
        return -x[: 2 * half : 2, 1::2], -x[half:]

    sweep(text, lambda n: [random(n, 8)], expected, ALL)


def test_iota_and_select_over_a_named_dim():
    text = (
        N
        + f"""
func.func @f(%x: {tensor("n")}) -> {tensor("n")} {{
  %i = graph.iota axis 0 : {tensor("n")}
  %c = graph.lt %x, %i : {tensor("n")}
  %y = graph.select %c, %x, %i : {tensor("n")}
  func.return %y : {tensor("n")}
}}
"""
    )
    sweep(text, lambda n: [random(n)], lambda x: np.minimum(x, np.arange(len(x), dtype=np.float32)), ALL)


def test_long_axes_run_in_work_groups_of_which_the_last_is_cut_short():
    text = f"""
graph.dim @n min 1 max 100000
func.func @f(%x: {tensor("n")}) -> ({tensor("n")}, tensor<f32>) {{
  %y = graph.mul %x, %x : {tensor("n")}
  %s = graph.reduce add %y axes [0] : {tensor("n")} -> tensor<f32>
  func.return %y, %s : {tensor("n")}, tensor<f32>
}}
"""
    sizes = [(1,), (7,), (16384,), (16385,), (50001,), (100000,)]
    sweep(text, lambda n: [random(n)], lambda x: (x * x, np.asarray((x * x).sum())), sizes)


def test_partial_results_combine_as_in_a_static_program_of_the_greatest_size():
    text = (
        N.replace("64", "300")
        + f"""
func.func @f(%x: {tensor("n")}) -> tensor<f32> {{
  %s = graph.reduce add %x axes [0] : {tensor("n")} -> tensor<f32>
  func.return %s : tensor<f32>
}}
"""
    )
    static = tenon.compile("""
func.func @f(%x: tensor<300xf32>) -> tensor<f32> {
  %s = graph.reduce add %x axes [0] : tensor<300xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
""")
    x = random(300)
    wanted = static(x).tobytes()
    for place in PLACES:
        if place != {"backend": "reference"}:
            assert tenon.compile(text, **place)(x).tobytes() == wanted  # pyright: ignore[reportArgumentType]


ADD = (
    NM
    + f"""
func.func @add(%x: {tensor("n", "m")}, %y: {tensor("n", "m")}) -> {tensor("n", "m")} {{
  %z = graph.add %x, %y : {tensor("n", "m")}
  func.return %z : {tensor("n", "m")}
}}
"""
)


def _integers(*shape: int, below: int) -> Array:
    return np.random.default_rng([9, *shape]).integers(-1, below + 1, shape)


def _clipped(i: Array, below: int) -> Array:
    return np.clip(i, 0, below - 1)


def _scattered(x: Array, i: Array, u: Array) -> Array:
    y = x.copy()
    inside = (i >= 0) & (i < len(x))
    np.add.at(y, i[inside], u[inside])
    return y


def _updated(x: Array, u: Array, i: Array, j: Array) -> Array:
    y = x.copy()
    y[_clipped(i, len(x))] = u[0]
    return y


X, ROW, INDEX = tensor("n", "m"), tensor("n"), tensor("m", element="i64")

OPS: dict[str, tuple[list[str], str, str, Callable[..., list[Array]], Callable[..., Array]]] = {
    "gather": (
        [tensor("n", 3), INDEX],
        f"graph.gather %a[%b] axes [0] : {tensor('n', 3)}[{INDEX}] -> {tensor('m', 3)}",
        tensor("m", 3),
        lambda n, m: [random(n, 3), _integers(m, below=n)],
        lambda x, i: x[_clipped(i, len(x))],
    ),
    "scatter": (
        [tensor("n", 3), INDEX, tensor("m", 3)],
        f"graph.scatter add %a[%b], %c axes [0] : {tensor('n', 3)}[{INDEX}], {tensor('m', 3)}",
        tensor("n", 3),
        lambda n, m: [random(n, 3), _integers(m, below=n), random(m, 3)],
        _scattered,
    ),
    "dynamic_slice": (
        [tensor("n", 4), "tensor<i64>", "tensor<i64>"],
        f"graph.dynamic_slice %a[%b, %c] sizes [1, 4] : {tensor('n', 4)}[tensor<i64>, tensor<i64>]",
        tensor(1, 4),
        lambda n, m: [random(n, 4), np.array(m - 3), np.array(0)],
        lambda x, i, j: x[_clipped(i, len(x))][None],
    ),
    "dynamic_update": (
        [tensor("n", 4), tensor(1, 4), "tensor<i64>", "tensor<i64>"],
        f"graph.dynamic_update %a[%c, %d], %b : {tensor('n', 4)}[tensor<i64>, tensor<i64>], {tensor(1, 4)}",
        tensor("n", 4),
        lambda n, m: [random(n, 4), random(1, 4), np.array(m - 3), np.array(0)],
        _updated,
    ),
    "arg_reduce": (
        [X],
        f"graph.arg_reduce max %a axis 1 : {X} -> {tensor('n', element='i64')}",
        tensor("n", element="i64"),
        lambda n, m: [random(n, m)],
        lambda x: x.argmax(1),
    ),
    "logsumexp": (
        [X],
        f"graph.logsumexp %a axes [1] : {X} -> {ROW}",
        ROW,
        lambda n, m: [random(n, m)],
        lambda x: np.log(np.exp(x).sum(1)),
    ),
    "cumulate": (
        [X],
        f"graph.cumulate add %a axis 1 reverse : {X}",
        X,
        lambda n, m: [random(n, m)],
        lambda x: np.cumsum(x[:, ::-1], 1)[:, ::-1],
    ),
    "cumulate along the first axis": (
        [X],
        f"graph.cumulate max %a axis 0 : {X}",
        X,
        lambda n, m: [random(n, m)],
        lambda x: np.maximum.accumulate(x, 0),
    ),
    "sort": (
        [X],
        f"graph.sort %a axis 1 : {X}",
        X,
        lambda n, m: [random(n, m)],
        lambda x: np.sort(x, 1),
    ),
    "argsort": (
        [X],
        f"graph.argsort %a axis 0 : {X}",
        tensor("n", "m", element="i64"),
        lambda n, m: [random(n, m)],
        lambda x: np.argsort(x, 0, kind="stable"),
    ),
    "search_sorted": (
        [ROW, tensor("m")],
        f"graph.search_sorted left %a, %b : {ROW}, {tensor('m')}",
        INDEX,
        lambda n, m: [np.sort(random(n)), random(m, seed=1)],
        lambda x, v: np.searchsorted(x, v),
    ),
    "convolution": (
        [tensor("n + 2"), tensor(3)],
        "graph.contract %a, %b maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (k)>, "
        f"affine_map<(i, k) -> (i)>] : {tensor('n + 2')}, {tensor(3)} -> {ROW}",
        ROW,
        lambda n, m: [random(n + 2), random(3)],
        lambda x, w: np.correlate(x, w, "valid"),
    ),
    "pad_with edge": (
        [ROW],
        f"graph.pad_with edge %a low [1] high [2] : {ROW}",
        tensor("n + 3"),
        lambda n, m: [random(n)],
        lambda x: np.pad(x, (1, 2), mode="edge"),
    ),
    "pad_with wrap": (
        [ROW],
        f"graph.pad_with wrap %a low [1] high [1] : {ROW}",
        tensor("n + 2"),
        lambda n, m: [random(n)],
        lambda x: np.pad(x, (1, 1), mode="wrap"),
    ),
    "if": (
        ["tensor<i1>", ROW],
        f"graph.if %a -> ({ROW}) {{\n %t = graph.neg %b : {ROW}\n graph.yield %t : {ROW}\n}} else {{\n"
        f" %e = graph.exp %b : {ROW}\n graph.yield %e : {ROW}\n}}",
        ROW,
        lambda n, m: [np.array(n % 2 == 0), random(n)],
        lambda c, x: -x if c else np.exp(x),
    ),
}


STACK = tensor(5, "n")

OPS["scan"] = (
    [ROW, STACK],
    f"graph.scan %i = 5 (%s = %a) over (%row = %b) : ({ROW}, {STACK}) -> ({ROW}, {STACK}) {{\n"
    f"%next = graph.add %s, %row : {ROW}\ngraph.yield %next, %next : {ROW}, {ROW}\n}}",
    ROW,
    lambda n, m: [random(n), random(5, n)],
    lambda z, x: z + x.sum(0),
)
LINES = tensor("n", 5)

OPS["scan of a named length"] = (
    [tensor(5), LINES],
    f"graph.scan %i = n reverse (%s = %a) over (%row = %b) : ({tensor(5)}, {LINES}) -> "
    f"({tensor(5)}, {LINES}) "
    f"{{\n%next = graph.add %s, %row : {tensor(5)}\ngraph.yield %next, %next : {tensor(5)}, {tensor(5)}\n}}",
    LINES,
    lambda n, m: [random(5), random(n, 5)],
    lambda z, x: z + np.cumsum(x[::-1], 0)[::-1],
)
OPS["while"] = (
    ["tensor<i32>", ROW],
    f"graph.while (%j = %a, %u = %b) : (tensor<i32>, {ROW}) {{\n"
    "%c = graph.constant dense<9> : tensor<i32>\n%more = graph.lt %j, %c : tensor<i32>\n"
    "graph.condition %more\n} do (%k, %v) {\n%one = graph.constant dense<1> : tensor<i32>\n"
    f"%next = graph.add %k, %one : tensor<i32>\n%w = graph.add %v, %v : {ROW}\n"
    f"graph.yield %next, %w : tensor<i32>, {ROW}\n}}",
    ROW,
    lambda n, m: [np.array(n % 4 + 5, np.int32), random(n)],
    lambda k, x: x * 2 ** max(0, 9 - int(k)),
)


@pytest.mark.parametrize("name", OPS)
def test_an_op_over_named_dims(name: str):
    types, written, result, arguments, expected = OPS[name]
    results = {"scan": "%z, %all", "scan of a named length": "%last, %z", "while": "%last, %z"}.get(
        name, "%z"
    )
    parameters = ", ".join(f"%{letter}: {type}" for letter, type in zip("abcd", types, strict=False))
    text = (
        f"{NM}func.func @f({parameters}) -> {result} {{\n{results} = {written}\nfunc.return %z : {result}\n}}"
    )
    sweep(text, arguments, expected, SOME)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_sizes_out_of_bounds_and_those_that_disagree_are_errors_that_name_the_dim(place: dict[str, str]):
    add = tenon.compile(ADD.replace("@n min 1 max 64", "@n min 2 max 8"), **place)  # pyright: ignore[reportArgumentType]
    for n in (2, 8):
        assert add(random(n, 3), random(n, 3)).shape == (n, 3)
    for n in (1, 9):
        with pytest.raises(
            tenon.CallError,
            match=rf"^add: argument 'x': axis 0 is {n}, but it is n, and n is from 2 to 8$",
        ):
            add(random(n, 3), random(n, 3))
    with pytest.raises(
        tenon.CallError,
        match=r"^add: argument 'y': axis 0 is 4, expected n = 3 \(n from axis 0 of argument 'x'\)$",
    ):
        add(random(3, 3), random(4, 3))
    with pytest.raises(tenon.CallError, match=r"^argument 'y': shape \[3\], expected \[n, m\]$"):
        add(random(3, 3), random(3))
    with pytest.raises(tenon.CallError, match=r"^argument 'x': dtype float64, expected float32$"):
        add(random(3, 3).astype(np.float64), random(3, 3))
    with pytest.raises(tenon.CallError, match=r"^add: argument 'y' is missing$"):
        add(random(3, 3))
    with pytest.raises(tenon.CallError, match=r"^out 0: shape \[3, 4\], expected \[3, 3\]$"):
        add(random(3, 3), random(3, 3), out=np.zeros((3, 4), np.float32))
    add.close()
    with pytest.raises(tenon.CallError, match=r"^add: the executable is closed$"):
        add(random(5, 3), random(5, 3))


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_results_go_where_out_says(place: dict[str, str]):
    add = tenon.compile(ADD, **place)  # pyright: ignore[reportArgumentType]
    for n in (3, 5, 3):
        out = np.zeros((n, 2), np.float32)
        assert add(x=random(n, 2), y=random(n, 2), out=out) is out
        np.testing.assert_array_equal(out, random(n, 2) * 2)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_dim_may_be_0_where_its_bounds_say_so(place: dict[str, str]):
    text = f"""
graph.dim @n min 0 max 4
graph.dim @m min 0 max 4
func.func @f(%x: {tensor("n", 3)}, %y: {tensor("m", 3)})
    -> ({tensor("n + m", 3)}, {tensor(3)}, {tensor("n")}) {{
  %z = graph.concat %x, %y axis 0 : {tensor("n", 3)}, {tensor("m", 3)} -> {tensor("n + m", 3)}
  %s = graph.reduce add %z axes [0] : {tensor("n + m", 3)} -> {tensor(3)}
  %t = graph.reduce max %x axes [1] : {tensor("n", 3)} -> {tensor("n")}
  func.return %z, %s, %t : {tensor("n + m", 3)}, {tensor(3)}, {tensor("n")}
}}
"""
    f = tenon.compile(text, **place)  # pyright: ignore[reportArgumentType]
    for n in range(5):
        for m in range(5):
            x, y = random(n, 3), random(m, 3, seed=1)
            z, s, t = f(x, y)
            np.testing.assert_array_equal(z, np.concatenate([x, y]))
            np.testing.assert_allclose(s, z.sum(0), rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(t, x.max(1, initial=-np.inf))


def test_a_value_of_a_dim_has_a_program_of_its_own_if_asked(n_compiled: list[str]):
    function = tenon.compile(SOFTMAX, specialize={"n": [8, 16]})
    assert len(n_compiled) == 1
    for n in (3, 8, 8, 16, 5, 8, 64):
        np.testing.assert_allclose(function(random(4, n)), softmax(random(4, n)), rtol=1e-5, atol=1e-6)
    assert len(n_compiled) == 3
    assert "i64 %n" in n_compiled[0] and not any("i64 %n" in source for source in n_compiled[1:])


def test_one_of_two_dims_can_be_specialized(n_compiled: list[str]):
    add = tenon.compile(ADD, specialize={"m": [8]})
    for n in range(1, 10):
        for m in (7, 8):
            np.testing.assert_array_equal(add(random(n, m), random(n, m)), random(n, m) * 2)
    assert len(n_compiled) == 2


@pytest.mark.parametrize(
    "values,message",
    [
        ({"k": [1]}, r"^compile: specialize names dim 'k', but the dims of @add are n, m$"),
        ({"n": [65]}, r"^compile: specialize has n = 65, but it is from 1 to 64$"),
    ],
)
def test_values_that_no_call_has_are_not_specialized(values: dict[str, list[int]], message: str):
    with pytest.raises(tenon.TenonError, match=message):
        tenon.compile(ADD, specialize=values)


def test_a_program_that_is_lowered_is_not_specialized():
    lowered = tenon.compile(ADD, backend="reference", level="sched").stages["sched"]
    with pytest.raises(
        tenon.TenonError, match=r"^compile: specialize takes a module at graph, @add is a program$"
    ):
        tenon.compile(lowered, specialize={"n": [8]})
    np.testing.assert_array_equal(tenon.compile(lowered)(random(3, 4), random(3, 4)), random(3, 4) * 2)


def test_a_dim_that_no_argument_tells_is_an_error():
    text = (
        N
        + f"func.func @f(%x: {tensor('2 * n')}) -> {tensor('2 * n')} {{ func.return %x : {tensor('2 * n')} }}"
    )
    f = tenon.compile(text)
    assert f(random(6)).shape == (6,)
    with pytest.raises(
        tenon.CallError, match=r"^f: argument 'x': axis 0 is 5, expected 2 \* n for a whole number n$"
    ):
        f(random(5))
    with pytest.raises(
        tenon.CallError,
        match=r"^f: argument 'x': axis 0 is 130, but it is 2 \* n with n = 65, and n is from 1 to 64$",
    ):
        f(random(130))
    text = text.replace("2 * n", "n floordiv 2")
    with pytest.raises(
        tenon.TenonError, match=r"f: no argument tells the value of dim @n \(x is \[n floordiv 2\]\)"
    ):
        tenon.compile(text)
    with pytest.raises(
        tenon.TenonError, match=r"f: dim @n is not declared \(hint: graph.dim @n min 1 max 64\)"
    ):
        tenon.compile(text.removeprefix(N))
    inside = (
        N
        + f"""
func.func @f(%x: tensor<4xf32>) -> tensor<f32> {{
  %i = graph.iota axis 0 : {tensor("n")}
  %s = graph.reduce add %i axes [0] : {tensor("n")} -> tensor<f32>
  func.return %s : tensor<f32>
}}
"""
    )
    with pytest.raises(tenon.TenonError, match=r"sched\.dim: no argument of @f tells the value of dim @n"):
        tenon.compile(inside)


def test_a_program_with_named_dims_has_no_memory_plan_of_its_own_but_each_size_has():
    add = tenon.compile(ADD)
    assert isinstance(add, SizedExecutable)
    with pytest.raises(
        tenon.TenonError, match=r"^add: the memory plan depends on n, m \(hint: executable_for"
    ):
        add.memory_plan()
    assert "24" in str(add.executable_for({"n": 2, "m": 3}).memory_plan())
    assert repr(add) == "<SizedExecutable add(x: float32[n, m], y: float32[n, m]) -> (float32[n, m]) on llvm>"
    assert "dims [m, n]" in add.stages["low"]
    assert add.source == add.stages["source"]


def test_temporaries_lie_close_together_for_each_size():
    dims = "graph.dim @n min 1 max 1000000\n"
    x = tensor("n", "n")
    row = tensor("n")
    text = (
        dims
        + f"""
func.func @f(%x: {x}) -> {row} {{
  %a = graph.exp %x : {x}
  %s = graph.reduce add %a axes [0] : {x} -> {row}
  %b = graph.mul %a, %a : {x}
  %sb = graph.broadcast %s : {row} -> {x}
  %c = graph.contract %b, %a maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>] : {x}, {x} -> {x}
  %d = graph.add %c, %sb : {x}
  %e = graph.contract %d, %c maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>] : {x}, {x} -> {x}
  %t = graph.reduce add %e axes [1] : {x} -> {row}
  func.return %t : {row}
}}
"""
    )
    f = tenon.compile(text)
    assert isinstance(f, SizedExecutable)
    for n in (1, 5, 16):
        x = random(n, n)
        a = np.exp(x)
        c = (a * a) @ a
        np.testing.assert_allclose(f(x), ((c + a.sum(0)) @ c).sum(1), rtol=1e-3)
        plan = f.executable_for({"n": n}).memory_plan()
        assert 0 < plan.temporary_nbytes <= 4 * 4 * n * n + 1024


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_all_sizes_share_the_nodes_of_a_program(place: dict[str, str]):
    text = f"""
graph.dim @n min 0 max 64
graph.tnode @w : tensor<8xf32> = dense<1.0>
func.func @f(%x: {tensor("n", 8)}) -> {tensor("n", 8)} {{
  %w = graph.read @w : tensor<8xf32>
  %b = graph.broadcast %w : tensor<8xf32> -> {tensor("n", 8)}
  %y = graph.add %x, %b : {tensor("n", 8)}
  %s = graph.reduce add %x axes [0] : {tensor("n", 8)} -> tensor<8xf32>
  graph.write add @w, %s : tensor<8xf32>
  func.return %y : {tensor("n", 8)}
}}
"""
    f = tenon.compile(text, specialize={"n": [5]}, **place)  # pyright: ignore[reportArgumentType]
    w = np.ones(8, np.float32)
    np.testing.assert_array_equal(f.nodes["w"], w)
    for n in (3, 5, 0, 64, 3, 5):
        x = random(n, 8)
        np.testing.assert_allclose(f(x), x + w, rtol=1e-5)
        w += x.sum(0)
        np.testing.assert_allclose(f.nodes["w"], w, rtol=1e-4, atol=1e-4)
    f.nodes["w"] = np.zeros(8, np.float32)
    np.testing.assert_array_equal(f(random(2, 8)), random(2, 8))
    f.close()


def test_threads_share_a_program_of_many_sizes():
    add = tenon.compile(ADD)

    def call(n: int) -> bool:
        x = random(n % 7 + 1, n % 5 + 1)
        return bool((add(x, x) == x * 2).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(200)))


def test_more_sizes_than_are_kept_ready_still_run(monkeypatch: pytest.MonkeyPatch, n_compiled: list[str]):
    monkeypatch.setattr(sized_executable, "MOST_SIZES", 3)
    add = tenon.compile(ADD)
    for n in (1, 2, 3, 4, 5, 1, 2, 3, 4, 5):
        np.testing.assert_array_equal(add(random(n, 2), random(n, 2)), random(n, 2) * 2)
    assert len(n_compiled) == 1


@pytest.mark.parametrize(
    "sizes,message",
    [
        ("k=3", r"specialize-dims: there is no dim @k \(dims: n, m\)"),
        ("n=65", r"specialize-dims: n = 65 is out of bounds \(1 to 64\)"),
        ("n", r"specialize-dims: 'n' is not of the form name=value"),
        ("n=-1", r"specialize-dims: 'n=-1' is not of the form name=value"),
    ],
)
def test_sizes_that_no_dim_has_are_refused(sizes: str, message: str):
    with pytest.raises(tenon.TenonError, match=message):
        tenon.compile(ADD, backend="reference", pipeline=f'specialize-dims{{sizes="{sizes}"}}')


def test_what_is_lowered_is_not_specialized():
    with pytest.raises(
        tenon.TenonError,
        match=r"specialize-dims: cannot specialize a sched.kernel \(needs a module at graph\)",
    ):
        tenon.compile(ADD, pipeline='convert-graph-to-sched,specialize-dims{sizes="n=8"}')


def refused(text: str, pipeline: str | None = None, **options: Any) -> str:
    with pytest.raises(tenon.TenonError) as caught:
        tenon.compile(text, pipeline=pipeline, **options)
    return caught.value.message


def test_dims_inside_of_a_function_must_be_declared():
    text = f"""
func.func @f(%x: tensor<4xf32>) -> tensor<f32> {{
  %i = graph.iota axis 0 : {tensor("k")}
  %s = graph.reduce add %i axes [0] : {tensor("k")} -> tensor<f32>
  func.return %s : tensor<f32>
}}
"""
    message = "dim k of tensor<?xf32, #graph.dims<k>> is not declared (hint: graph.dim @k min 1 max 64)"
    assert message in refused(text)


def test_a_box_that_may_not_fit_is_refused():
    x = tensor("n", 4)
    text = (
        N
        + f"""
func.func @f(%x: {x}, %i: tensor<i64>) -> tensor<2x4xf32> {{
  %y = graph.dynamic_slice %x[%i, %i] sizes [2, 4] : {x}[tensor<i64>, tensor<i64>]
  func.return %y : tensor<2x4xf32>
}}
"""
    )
    assert "graph.dynamic_slice: axis 0 of n may have less than 2 elements" in refused(text)


def test_work_items_are_counted_by_a_number():
    kernel = (
        N
        + """
sched.kernel @f(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] {
  sched.axis %i = n thread {
    %v = memref.load %x[%i] : memref<?xf32, {dims = #graph.dims<n>}>
    memref.store %v, %x[%i] : memref<?xf32, {dims = #graph.dims<n>}>
  }
}
sched.program @p(%x: memref<?xf32, {dims = #graph.dims<n>}>) : (tensor<?xf32, #graph.dims<n>>) -> () {
  %n = sched.dim @n
  %t = sched.launch @f(%n, %x) after() : index, memref<?xf32, {dims = #graph.dims<n>}>
  sched.return after(%t)
}
"""
    )
    assert "there would be n work-items, expected a number" in refused(kernel, "convert-sched-to-low")


PROGRAM = (
    N
    + """
low.kernel @f(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>,
    %y: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] grid [n, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<?xf32, {dims = #graph.dims<n>}>
  memref.store %v, %y[%i] : memref<?xf32, {dims = #graph.dims<n>}>
}
sched.program @p(%k: index, %x: memref<?xf32, {dims = #graph.dims<n>}>)
    : (index, tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>> {
  %y = sched.buffer global result : memref<?xf32, {dims = #graph.dims<n>}>
  %t = sched.launch @f(%k, %x, %y) after()
      : index, memref<?xf32, {dims = #graph.dims<n>}>, memref<?xf32, {dims = #graph.dims<n>}>
  sched.return %y after(%t) : memref<?xf32, {dims = #graph.dims<n>}>
}
"""
)


def test_a_launch_hands_over_values_of_dims():
    assert "sched.launch: 'k' of @p is not the value of a dim" in refused(PROGRAM)
    dim = PROGRAM.replace("  %y = sched.buffer", "  %n = sched.dim @n\n  %y = sched.buffer").replace(
        "(%k, %x", "(%n, %x"
    )
    copy = tenon.compile(dim)
    np.testing.assert_array_equal(copy(1, random(5)), random(5))
    np.testing.assert_array_equal(copy(k=1, x=random(9)), random(9))


def test_the_interpreter_needs_to_know_every_dim():
    other = PROGRAM.replace(N, N + "graph.dim @m min 1 max 4\n").replace(
        "  %y = sched.buffer", "  %m = sched.dim @m\n  %y = sched.buffer"
    )
    copy = tenon.compile(other, backend="reference")
    with pytest.raises(tenon.TenonError, match=r"^sched\.dim: no argument tells the value of dim @m$"):
        copy(1, random(5))


def test_random_inputs_need_declared_dims_and_reach_the_edges_of_their_bounds():
    type = FunctionType.from_lists([graph.tensor_of(f32, (dim("n"), 2))], [])
    with pytest.raises(tenon.TenonError, match=r"^random inputs: dim @n of tensor<.*> is not declared$"):
        random_inputs(type, 0)
    symbols = {"n": DimSymbol("n", 3, 64), "o": DimSymbol("o", 0, 10**9)}
    assert [random_sizes(symbols, seed)["n"] for seed in (1, 2)] == [3, 64]
    assert [random_sizes(symbols, seed)["o"] for seed in (0, 1)] == [0, 4096]
    (array,) = random_inputs(type, 2, symbols)
    assert array.shape == (64, 2)


def test_an_index_that_may_be_negative_is_not_divided():
    i = variable(Axis(dim("n", 1, 4), "i"))
    check_not_negative("graph.slice", i)
    with pytest.raises(PassFailedException, match=r"^graph\.slice: cannot divide the index .* as low as -1$"):
        check_not_negative("graph.slice", i + -1)


def test_a_scan_whose_length_nothing_tells_is_not_interpreted():
    module = parse_module(
        N + "func.func @f(%x: tensor<f32>) -> tensor<f32> {\n"
        "%y = graph.scan %i = n (%s = %x) : (tensor<f32>) -> (tensor<f32>) { graph.yield %s : tensor<f32> }\n"
        "func.return %y : tensor<f32>\n}"
    )
    with pytest.raises(InterpreterError, match=r"nothing tells how often it runs \(n times\)$"):
        run_graph(module, "f", [np.float32(1) + np.zeros((), np.float32)])


def test_a_loop_over_an_extent_that_may_become_zero():
    x, rest = tensor("n", element="i32"), tensor("n - 1", element="i32")
    text = (
        N
        + f"""
func.func @f(%x: {x}, %s: tensor<i32>) -> (tensor<i32>, {rest}) {{
  %y = graph.slice %x offsets [1] sizes [n - 1] strides [1] : {x}
  %r, %q = graph.scan %k = n - 1 (%c = %s) over (%e = %y) : (tensor<i32>, {rest}) -> (tensor<i32>, {rest}) {{
    %d = graph.add %c, %e : tensor<i32>
    graph.yield %d, %d : tensor<i32>, tensor<i32>
  }}
  func.return %r, %q : tensor<i32>, {rest}
}}
"""
    )

    def expected(x: Array, s: Array) -> tuple[Array, ...]:
        return s + x[1:].sum(dtype=np.int32), s + np.cumsum(x[1:], dtype=np.int32)

    start = np.array(5, np.int32)
    sweep(text, lambda n: [np.arange(n, dtype=np.int32), start], expected, [(1,), (3,), (2,), (64,)])


LAST = f"""graph.dim @n min 1 max 33
func.func @main(%x: {tensor("n")}, %s: tensor<f32>) -> {tensor("n")} {{
  %y = graph.slice %x offsets [1] sizes [n - 1] strides [1] : {tensor("n")}
  %z = graph.sort %y axis 0 : {tensor("n - 1")}
  %r = graph.pad %z, %s low [0] high [1] : {tensor("n - 1")}
  func.return %r : {tensor("n")}
}}"""


@pytest.mark.parametrize("level", ["sched", "low"])
def test_an_extent_that_is_0_at_one_size_has_a_program_of_its_own_there(level: str):
    with tenon.compile(LAST, backend="reference", level=level) as executable:
        for n in (1, 2, 33):
            x = random(n)
            expected = np.append(np.sort(x[1:]), np.float32(7))
            np.testing.assert_array_equal(executable(x, np.float32(7)), expected)


def test_an_index_into_an_axis_that_is_empty_at_one_size_is_an_error_there():
    text = f"""graph.dim @n min 1 max 33
func.func @main(%x: {tensor("n")}, %i: tensor<2xi64>) -> tensor<2xf32> {{
  %y = graph.slice %x offsets [1] sizes [n - 1] strides [1] : {tensor("n")}
  %r = graph.gather %y[%i] axes [0] : {tensor("n - 1")}[tensor<2xi64>] -> tensor<2xf32>
  func.return %r : tensor<2xf32>
}}"""
    with tenon.compile(text) as executable:
        x, i = random(5), np.array([3, 0])
        np.testing.assert_array_equal(executable(x, i), x[1:][i])
        with pytest.raises(tenon.TenonError) as caught:
            executable(x[:1], i)
    assert "graph.gather: axis 0 has no elements to gather" in str(caught.value)


def test_a_quotient_of_what_may_be_negative_is_refused():
    wide = tensor("(n - m) floordiv k + 40")
    text = f"""graph.dim @n min 1 max 33
graph.dim @m min 1 max 9
graph.dim @k min 2 max 3
func.func @main(%x: {tensor("n")}, %z: {tensor("m", "k")}) -> {wide} {{
  %s = graph.slice %x offsets [0] sizes [1] strides [1] : {tensor("n")}
  %y = graph.broadcast %s : tensor<1xf32> -> {wide}
  func.return %y : {wide}
}}"""
    with pytest.raises(tenon.TenonError) as caught:
        tenon.compile(text)
    assert "graph.broadcast: cannot schedule an extent" in str(caught.value)
    assert "may be negative, down to -8)" in str(caught.value)


def test_an_extent_that_a_dim_divides_says_nothing_of_it() -> None:
    program = tenon.compile("""
    graph.dim @n min 0 max 64
    graph.dim @m min 0 max 64
    func.func @f(%x: tensor<?xf32, #graph.dims<64 floordiv n>>, %y: tensor<?x?xf32, #graph.dims<n, m>>)
        -> tensor<?xf32, #graph.dims<64 floordiv n>> {
      %z = graph.neg %x : tensor<?xf32, #graph.dims<64 floordiv n>>
      func.return %z : tensor<?xf32, #graph.dims<64 floordiv n>>
    }""")
    found = program(np.ones(32, np.float32), np.ones((2, 7), np.float32))
    np.testing.assert_array_equal(found, -np.ones(32, np.float32))

"""Calls that come again find their programs without being traced; no call finds that of another."""

from threading import Thread

import numpy as np
import pytest
import tenon
from tenon.frontends.stablehlo import jax_arrays
from tenon.frontends.stablehlo.seen_calls import SeenCalls

jax = pytest.importorskip("jax")
jnp = jax.numpy


def scaled(x, factor=1.0, *, times: int = 1, kind: str = "sum"):
    y = x * factor * times
    return {"sum": y.sum, "all": lambda: y, "max": y.max}[kind]()


def test_a_call_finds_the_program_of_calls_that_jax_traces_alike_and_no_other():
    seen = SeenCalls(jax, {"static_argnames": ("times", "kind")})
    x = jnp.arange(5.0)
    assert seen.program_for((x, 2.0), {"times": 3}) is None
    seen.add("first", (x, 2.0), {"times": 3})
    seen.add("second", (x, 2.0), {"times": 4})
    assert seen.program_for((x + 1, 3.0), {"times": 3}) == "first"
    assert seen.program_for((np.zeros(5, np.float32), 3.0), {"times": 3}) == "first"
    assert seen.program_for((x, 2.0), {"times": 4}) == "second"
    others = [
        ((x, 2.0), {"times": 5}),
        ((x, 2.0), {}),
        ((x, 2), {"times": 3}),
        ((x, jnp.float32(2.0)), {"times": 3}),
        ((x[1:], 2.0), {"times": 3}),
        ((x.astype(jnp.int32), 2.0), {"times": 3}),
        (([x], 2.0), {"times": 3}),
        ((x, object()), {"times": 3}),
    ]
    for arguments, named in others:
        assert seen.program_for(arguments, named) is None
    with jax.default_matmul_precision("float32"):
        assert seen.program_for((x, 2.0), {"times": 3}) is None


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_calls_of_other_kinds_have_programs_of_their_own(n_calls: int):
    compiled = tenon.jax_compile(scaled, static_argnums=(), static_argnames=("times", "kind"))
    calls = [
        ((jnp.arange(5.0),), {}),
        ((jnp.arange(5),), {}),
        ((jnp.arange(6.0),), {"kind": "max"}),
        ((jnp.arange(6.0), 2), {"kind": "all"}),
        ((jnp.arange(6.0), 2.5), {"kind": "all"}),
        ((jnp.arange(6.0), jnp.float32(2.5)), {"kind": "all", "times": 2}),
        ((jnp.arange(6.0).reshape(2, 3), True), {"kind": "all"}),
        ((np.arange(5, dtype=np.float32),), {"kind": "all"}),
        ((jnp.arange(5, dtype=jnp.bfloat16),), {"kind": "all"}),
        ((jnp.arange(5.0) * 1j,), {"kind": "all"}),
    ]
    for _ in range(n_calls):
        for arguments, named in calls:
            found, wanted = compiled(*arguments, **named), scaled(*arguments, **named)
            assert isinstance(found, jax.Array)
            assert found.dtype == jnp.asarray(wanted).dtype
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))


def test_settings_of_jax_and_containers_tell_calls_apart():
    compiled = tenon.jax_compile(
        lambda tree: sum(v * (2 if k == "a" else 3) for k, v in sorted(tree.items()))
    )
    for _ in range(3):
        assert float(compiled({"a": 1.0})) == 2.0
        assert float(compiled({"b": 1.0})) == 3.0
        assert float(compiled({"a": 1.0, "b": 2.0})) == 8.0
    for _ in range(3):
        with jax.enable_x64(True):
            assert compiled({"a": jnp.float64(0.1)}).dtype == np.float64
            assert compiled({"a": np.float64(0.1)}).dtype == np.float64
        assert compiled({"a": np.float64(0.1)}).dtype == np.float32


def test_threads_and_transformations_of_jax_use_what_was_seen():
    compiled = tenon.jax_compile(lambda x, y: (x * y).sum())
    x = jnp.arange(4.0)
    found: dict[int, float] = {}

    def work(number: int) -> None:
        for _ in range(20):
            found[number] = float(compiled(x + number, x))

    threads = [Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: float(((x + number) * x).sum()) for number in range(4)}
    np.testing.assert_array_equal(jax.grad(compiled)(x, x + 1), x + 1)


def test_an_argument_that_is_none_is_an_error_of_jax_each_time():
    compiled = tenon.jax_compile(lambda x: x + 1)
    for _ in range(2):
        compiled(jnp.zeros(3))
    for _ in range(2):
        with pytest.raises(TypeError, match="object"):
            compiled(object())


def test_what_jax_refuses_to_run_is_traced_each_time():
    class Refusing:
        @staticmethod
        def jit(function, **options):
            def refused(*arguments):
                raise ValueError("no such devices")

            return refused

        class tree_util:
            @staticmethod
            def register_pytree_node(*_):
                pass

    seen = SeenCalls(Refusing, {})
    for _ in range(2):
        seen.add("program", (1.0,), {})
        assert seen.program_for((1.0,), {}) is None


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "bfloat16", "float16", "complex64"])
@pytest.mark.parametrize("is_known", [True, False])
def test_arrays_become_those_of_jax(dtype: str, is_known: bool, monkeypatch: pytest.MonkeyPatch):
    if not is_known:

        def missing(name: str):
            raise ImportError(name)

        monkeypatch.setattr(jax_arrays, "import_module", missing)
    array = np.arange(6).reshape(2, 3).astype(jnp.dtype(dtype))
    found = jax_arrays.converter_to_jax(jax)(array)
    assert isinstance(found, jax.Array) and found.dtype == array.dtype
    np.testing.assert_array_equal(np.asarray(found), array)


def test_an_import_of_jax_that_does_something_else_is_not_taken(monkeypatch: pytest.MonkeyPatch):
    class Other:
        @staticmethod
        def dlpack_managed_tensor_to_buffer(capsule, device, stream):
            return jnp.zeros((2, 3))

    monkeypatch.setattr(jax_arrays, "import_module", lambda name: Other)
    found = jax_arrays.converter_to_jax(jax)(np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(np.asarray(found), 1)

"""Makes a kernel ready to be called in each library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from ..harness import Thunk
from .kernel import Kernel, parts
from .sides import jax_side, numpy_side, tenon_side

Arguments = Mapping[str, Any]
Maker = Callable[[Kernel, Arguments, Arguments], Thunk | None]
"""Takes a kernel, its arguments and its options, and returns what runs it; None where it has no source."""

PEER_NAMES = ("numpy", "numba", "jax")


def of_numpy(kernel: Kernel, arguments: Arguments, options: Arguments) -> Thunk:
    values = list(arguments.values())
    if kernel.on_numpy is not None:
        function = kernel.on_numpy
        return lambda: function(*values, **options)
    side = numpy_side()
    return lambda: kernel.on_arrays(side, *values, **options)


def of_tenon(kernel: Kernel, arguments: Arguments, options: Arguments) -> Thunk:
    import tenon
    import tenon.numpy as tnp

    side = tenon_side()
    values = [_mapped(tnp.asarray, parts(value)) for value in arguments.values()]
    # What is bound to a function need not be looked through at each call, as what a closure holds.
    compiled = tenon.jit(partial(kernel.on_arrays, side, **options), name=kernel.name)
    return lambda: compiled(*values)


def of_numba(kernel: Kernel, arguments: Arguments, options: Arguments) -> Thunk | None:
    import numba

    if kernel.loops is None:
        return None
    # As in the contest: without these, sums use no vectors.
    compiled = numba.njit(fastmath={"reassoc", "contract"})(kernel.loops)
    # Of its own, as those of Tenon and jax are: what numpy read last is in a cache that is shared.
    values = [*(_mapped(_copied, value) for value in arguments.values()), *options.values()]
    return lambda: compiled(*values)


def of_jax(kernel: Kernel, arguments: Arguments, options: Arguments) -> Thunk:
    import jax
    import jax.numpy as jnp

    side = jax_side()
    function = kernel.on_jax or kernel.on_arrays
    # What is written for jax has complex dtypes.
    values = [
        _mapped(jnp.asarray, parts(value) if kernel.on_jax is None else value) for value in arguments.values()
    ]
    compiled = jax.jit(partial(function, side, **options))
    return lambda: jax.block_until_ready(compiled(*values))


def _mapped(convert: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(convert(each) for each in value)
    return value if isinstance(value, float) else convert(value)


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


MAKERS: Mapping[str, Maker] = {"numpy": of_numpy, "numba": of_numba, "jax": of_jax}
"""Of the peers, by name."""


def find_peers(names: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the versions of the peers that are installed, and why the others are not there."""
    installed: dict[str, str] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            installed[name] = str(import_module(name).__version__)
        except ImportError as error:
            missing[name] = str(error)
    if "jax" in installed:
        import_module("jax").config.update("jax_enable_x64", True)
    return installed, missing

"""Constants of exported programs: which arguments may be some, and that the file holds what is used only."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp

TEXT = """
graph.dim @n min 1 max 9
func.func @f(%w: tensor<3xf32>, %x: tensor<?x3xf32, #graph.dims<n, 3>>, %unused: tensor<999xf32>)
    -> (tensor<?x3xf32, #graph.dims<n, 3>>, tensor<3xf32>) {
  %v = graph.broadcast %w : tensor<3xf32> -> tensor<?x3xf32, #graph.dims<n, 3>>
  %y = graph.mul %x, %v : tensor<?x3xf32, #graph.dims<n, 3>>
  func.return %y, %w : tensor<?x3xf32, #graph.dims<n, 3>>, tensor<3xf32>
}"""

needs_linker = pytest.mark.skipif(not (shutil.which("cc") or shutil.which("ld")), reason="needs a linker")

W, X, B = np.arange(3, dtype=np.float32), np.ones((4, 3), np.float32), np.zeros(4, np.float32)


@needs_linker
def test_constants_may_stand_anywhere_among_the_arguments(tmp_path: Path) -> None:
    constants = {"unused": np.zeros(999, np.float32), "w": W}
    with pytest.raises(tenon.CallError, match=r"constant 'w': shape \[2, 2\], expected \[3\]"):
        tenon.export(TEXT, tmp_path / "m", constants={"w": np.zeros((2, 2), np.float32)})
    exported = tenon.export(TEXT, tmp_path / "m", constants=constants, weights="file")
    assert (tmp_path / "m.weights").stat().st_size == 64 + W.nbytes
    assert exported.library is not None
    loaded = tenon.load(exported.library)
    assert loaded.argument_names == ("x",)
    scaled, same = loaded(X)
    assert scaled.tolist() == (X * W).tolist() and same.tolist() == W.tolist()


def test_what_tells_a_dim_or_is_donated_is_no_constant(tmp_path: Path) -> None:
    with pytest.raises(tenon.TenonError, match="argument 'x' tells the value of dim @n"):
        tenon.export(TEXT, tmp_path / "m", constants={"x": X})
    step = tenon.jit(lambda state, x: state * 0.5 + x, donate_argnums=0)
    with tenon.compile(str(step.lower(B, B).module)) as executable:
        name = executable.argument_names[0]
        with pytest.raises(tenon.TenonError, match=f"argument '{name}' is written to"):
            tenon.export(executable, tmp_path / "m", constants={name: B})
    with pytest.raises(tenon.TenonError, match="there is no argument 'z'"):
        tenon.export(TEXT, tmp_path / "m", constants={"z": X})


@needs_linker
def test_frozen_weights_are_there_once_as_they_are_packed(tmp_path: Path) -> None:
    weight = tenon.freeze(np.random.default_rng(0).normal(size=(256, 512)).astype(np.float32))
    layer = tenon.jit(lambda x: tnp.tanh(x @ weight))
    x = np.random.default_rng(1).normal(size=(64, 256)).astype(np.float32)
    exported = tenon.export(layer, tmp_path / "m", x, weights="file")
    assert (tmp_path / "m.weights").stat().st_size < 1.3 * weight.nbytes
    assert exported.library is not None
    assert tenon.load(exported.library)(x).tobytes() == np.asarray(layer(x)).tobytes()

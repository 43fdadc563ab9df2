"""`tenon.from_torch`: exported programs as functions of arrays."""

from __future__ import annotations

import numpy as np
import pytest
import tenon
import tenon.numpy as tnp
import torch
from tenon.frontends.torch.told import LeftToTorchWarning, forget_told
from torch import Tensor, nn


class Model(nn.Module):
    """A net with two results in a dict, and a constant of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 4)
        self.norm = nn.BatchNorm1d(4)
        self.shift = torch.arange(4.0)

    def forward(self, x: Tensor, scale: float = 1.0) -> dict[str, Tensor]:
        hidden = self.norm(self.layer(x))
        return {"hidden": hidden, "scores": (hidden * scale + self.shift).softmax(-1)}


def test_an_exported_program_is_a_function_of_numpy_arrays():
    model, x = Model().eval(), torch.randn(5, 6)
    function = tenon.from_torch(torch.export.export(model, (x,)))
    found, expected = function(x.numpy()), model(x)
    assert list(found) == ["hidden", "scores"] and type(found["scores"]) is np.ndarray
    np.testing.assert_allclose(found["scores"], expected["scores"].detach().numpy(), rtol=1e-5)
    torch.testing.assert_close(function(x), expected)
    assert "prepared" in str(function.explain()) or "kernel" in str(function.explain())


def test_dynamic_shapes_of_an_export_are_named_dims():
    model = Model().eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(model, (torch.randn(5, 6),), dynamic_shapes={"x": {0: batch}})
    function = tenon.from_torch(exported)
    for count in (2, 9, 64):
        x = torch.randn(count, 6)
        torch.testing.assert_close(function(x), model(x))
    with pytest.raises(tenon.CallError, match=r"from 0 to 64"):
        function(torch.randn(65, 6))


@pytest.mark.parametrize("least", [0, 2])
def test_extents_are_those_that_torch_takes_and_not_those_that_it_traced(least: int):
    model = Model().eval()
    batch = torch.export.Dim("batch", min=least, max=8)
    exported = torch.export.export(model, (torch.randn(5, 6),), dynamic_shapes={"x": {0: batch}})
    function = tenon.from_torch(exported)
    for extent in (1, 0, 2, 8):
        x = torch.randn(extent, 6)
        torch.testing.assert_close(function(x), model(x))
    with pytest.raises(tenon.CallError, match="axis 0 is 9"):
        function(torch.randn(9, 6))


class Scattered(nn.Module):
    def forward(self, x: Tensor, index: Tensor, source: Tensor) -> Tensor:
        return x.scatter_reduce(0, index, source, "sum") * 2


@pytest.mark.parametrize("least", [0, 1])
def test_a_scatter_of_too_few_elements_is_an_error(least: int):
    """That there are enough is a guard of an exported program, at which functions of it do not look."""
    forget_told()
    model, x = Scattered(), torch.randn(7)
    shapes = {name: {0: torch.export.Dim(f"{name}_0", min=least)} for name in ("x", "index", "source")}
    example = (x, torch.randint(7, (5,)), torch.randn(9))
    exported = torch.export.export(model, example, dynamic_shapes=shapes)
    with pytest.warns(LeftToTorchWarning, match="may have fewer elements than there are indices"):
        function = tenon.from_torch(exported)
    torch.testing.assert_close(function(*example), model(*example))
    with pytest.raises(RuntimeError, match="no larger"):
        function(x, torch.randint(7, (9,)), torch.randn(5))


def test_least_extents_above_2_are_checked():
    batch = torch.export.Dim("batch", min=3, max=8)
    function = tenon.from_torch(
        torch.export.export(Model().eval(), (torch.randn(5, 6),), dynamic_shapes={"x": {0: batch}})
    )
    assert function(torch.randn(3, 6))["scores"].shape == (3, 4)
    with pytest.raises(tenon.CallError, match="from 3 to 8"):
        function(torch.randn(2, 6))


def test_buffers_that_a_program_changes_belong_to_the_function():
    model = Model().train()
    function = tenon.from_torch(torch.export.export(model, (torch.randn(5, 6),)))
    for _ in range(3):
        x = torch.randn(5, 6)
        torch.testing.assert_close(function(x), model(x), rtol=1e-4, atol=1e-5)
    model.eval()
    assert function.changed["norm.num_batches_tracked"] == 3


def test_arguments_that_a_program_changes_are_changed():
    class Doubles(nn.Module):
        def forward(self, x: Tensor, y: Tensor) -> Tensor:
            y.mul_(2)
            return x + y

    function = tenon.from_torch(torch.export.export(Doubles(), (torch.ones(2, 3), torch.ones(2, 3))))
    x, y = torch.ones(2, 3), torch.full((2, 3), 4.0)
    torch.testing.assert_close(function(x, y), torch.full((2, 3), 9.0))
    torch.testing.assert_close(y, torch.full((2, 3), 8.0))
    values = np.full((2, 3), 4, np.float32)
    np.testing.assert_array_equal(function(x.numpy(), values), np.full((2, 3), 9))
    np.testing.assert_array_equal(values, np.full((2, 3), 8))
    turned = np.full((3, 2), 4, np.float32).T
    for given in (turned, tnp.asarray(values)):
        with pytest.raises(
            tenon.CallError, match="an argument of shape \\(2, 3\\) is changed by the program"
        ):
            function(x.numpy(), given)


def test_large_weights_are_prepared_once():
    model, x = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64)), torch.randn(32, 64)
    function = tenon.from_torch(torch.export.export(model, (x,)))
    torch.testing.assert_close(function(x), model(x), rtol=1e-4, atol=1e-5)
    assert "prepared once" in str(function.explain())


def test_weights_are_those_of_the_export():
    model, x = nn.Linear(64, 4), torch.randn(2, 64)
    function = tenon.from_torch(torch.export.export(model, (x,)))
    expected = model(x)
    with torch.no_grad():
        model.weight.zero_()
    torch.testing.assert_close(function(x), expected)


class Pair(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ y + 1


def test_arguments_by_position_are_taken_as_all_others_are():
    x, y = torch.randn(3, 4), torch.randn(4, 2)
    function = tenon.from_torch(torch.export.export(Pair(), (x, y)))
    for first in (x, nn.Parameter(x), x.T.contiguous().T, x.numpy(), tnp.asarray(x.numpy())):
        for second in (y, y.numpy()):
            found = function(first, second)
            is_tensor = isinstance(first, Tensor) or isinstance(second, Tensor)
            assert type(found) is (Tensor if is_tensor else np.ndarray)
            np.testing.assert_allclose(np.asarray(found), (x @ y + 1).numpy(), rtol=1e-5)
    for wrong in ((x,), (x, y, y), ((x,), y), ([x], y)):
        with pytest.raises(tenon.CallError, match="exported: arguments are"):
            function(*wrong)
    with pytest.raises(tenon.CallError, match="exported: arguments are"):
        function(x, y=y)


def test_wrong_arguments_are_errors():
    function = tenon.from_torch(torch.export.export(nn.Linear(6, 4), (torch.randn(2, 6),)))
    with pytest.raises(tenon.CallError, match=r"arguments are .* expected"):
        function(torch.randn(2, 6), torch.randn(2, 6))
    with pytest.raises(tenon.CallError, match=r"expected"):
        function(torch.randn(3, 6))
    with pytest.raises(TypeError, match=r"^from_torch: Linear, expected an ExportedProgram \(hint"):
        tenon.from_torch(nn.Linear(6, 4))

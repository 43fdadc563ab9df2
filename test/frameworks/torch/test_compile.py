"""`torch.compile(backend="tenon")`: whole nets beside torch's own results, and what is not only computing."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
import tenon
import torch
from tenon.frontends.torch import graph_program
from tenon.frontends.torch.told import LeftToTorchWarning
from torch import Tensor, nn
from torch.nn import functional

_SPEC = spec_from_file_location("nets", Path(__file__).parent / "nets.py")
assert _SPEC is not None and _SPEC.loader is not None
nets: Any = module_from_spec(_SPEC)
_SPEC.loader.exec_module(nets)


pytestmark = pytest.mark.usefixtures("nothing_is_compiled_yet")


NETS: dict[str, tuple[Callable[[], nn.Module], Callable[[], tuple[Tensor, Tensor]]]] = {
    "mlp": (nets.mlp, lambda: (torch.randn(8, 20), torch.randint(0, 10, (8,)))),
    "cells": (nets.Cells, lambda: (torch.randn(4, 5, 8), torch.randint(0, 3, (4,)))),
    "transformer": (
        nets.Transformer,
        lambda: (torch.randint(0, 50, (2, 12)), torch.randint(0, 50, (2, 12))),
    ),
    "resnet": (nets.ResNet, lambda: (torch.randn(2, 3, 32, 32), torch.randint(0, 10, (2,)))),
}


def step(model: nn.Module, call: Any, x: Tensor, y: Tensor) -> Tensor:
    """Returns the loss of one training step, which changes the model."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = functional.cross_entropy(call(x).flatten(0, -2), y.flatten())
    loss.backward()
    optimizer.step()
    return loss.detach()


@pytest.mark.parametrize("name", NETS)
def test_a_net_gives_and_learns_what_torchs_does(name: str):
    make, data = NETS[name]
    mine = make()
    its, (x, y) = copy.deepcopy(mine), data()
    compiled = torch.compile(mine, backend="tenon")
    torch.testing.assert_close(step(mine, compiled, x, y), step(its, its, x, y), rtol=1e-5, atol=1e-5)
    # Parameters that learned, and what batch norms have seen.
    torch.testing.assert_close(dict(mine.state_dict()), dict(its.state_dict()), rtol=1e-4, atol=1e-5)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), its(x), rtol=1e-4, atol=1e-4)


def test_one_program_serves_all_extents_of_a_dynamic_axis():
    model = nets.mlp()
    counts: list[int] = []

    def backend(module: Any, inputs: Any, **options: Any) -> Any:
        counts.append(1)
        from tenon.frontends.torch.backend import tenon as compile_graph

        return compile_graph(module, inputs, **options)

    compiled = torch.compile(model, backend=backend, dynamic=True)
    compiled(torch.randn(9, 20))
    before = len(counts)
    for count in (3, 5, 7, 33):
        x = torch.randn(count, 20)
        torch.testing.assert_close(compiled(x), model(x))
    assert len(counts) == before


def test_sizes_are_numbers_of_a_program_too():
    def scaled(x: Tensor) -> Tensor:
        return x.reshape(-1) * x.shape[0] + torch.arange(x.shape[0] * x.shape[1]) / (x.shape[1] + 1)

    compiled = torch.compile(scaled, backend="tenon", dynamic=True)
    for shape in ((2, 3), (5, 4)):
        x = torch.randn(shape)
        torch.testing.assert_close(compiled(x), scaled(x))


def test_gradients_of_dynamic_shapes_are_torchs():
    model = nets.mlp()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    for count in (3, 5):
        x = torch.randn(count, 20, requires_grad=True)
        mine = torch.autograd.grad((compiled(x) ** 2).sum(), x)
        torch.testing.assert_close(mine, torch.autograd.grad((model(x) ** 2).sum(), x), rtol=1e-4, atol=1e-5)


def test_an_op_that_is_not_covered_runs_in_torch_and_is_told_once():
    def spread(x: Tensor) -> Tensor:
        values = torch.linalg.svdvals(x * 2)
        return values * 3

    x = torch.randn(4, 4)
    compiled = torch.compile(spread, backend="tenon")
    with pytest.warns(LeftToTorchWarning, match=r"_linalg_svd.default runs in torch: it is not in the table"):
        found = compiled(x)
    torch.testing.assert_close(found, spread(x), rtol=1e-4, atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeftToTorchWarning)
        compiled(x + 1)
        torch.compile(spread, backend="tenon", dynamic=True)(torch.randn(3, 3))
    text = str(tenon.explain(compiled, x))
    assert "1 ops left to torch" in text and "test_compile.py" in text and "svdvals(x * 2)" in text
    assert text.count("kernel @") >= 2


def test_random_numbers_are_torchs_in_their_order():
    def noisy(x: Tensor) -> Tensor:
        chosen = torch.bernoulli(x * 0.5) + functional.rrelu(-x, training=True)
        return functional.dropout(x * 2, 0.5) + torch.rand_like(x).exp() + functional.dropout(x, 0.1) + chosen

    results: list[tuple[Tensor, Tensor]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftToTorchWarning)
        for function in (noisy, torch.compile(noisy, backend="tenon")):
            torch.manual_seed(1)
            x = torch.ones(100, requires_grad=True)
            for _ in range(2):
                found = function(x)
                found.sum().backward()
            assert x.grad is not None
            results.append((found.detach(), x.grad))
    torch.testing.assert_close(results[1], results[0])


def test_views_that_torch_makes_have_sizes_of_what_is_computed():
    class Patches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 8, 4, 4)
            self.places = nn.Parameter(torch.randn(1, 21, 8))

        def forward(self, x: Tensor) -> Tensor:
            rows = self.patches(x).flatten(2).transpose(1, 2)
            first = rows.new_zeros(1, 1, 8).expand(rows.shape[0], -1, -1)
            return torch.cat([first, rows], 1) + self.places

    mine = Patches()
    its, x = copy.deepcopy(mine), torch.randn(2, 3, 17, 21)
    compiled = torch.compile(mine, backend="tenon", dynamic=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeftToTorchWarning)
        for net in (compiled, its):
            net(x).square().sum().backward()
    for one, other in zip(mine.parameters(), its.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-4)


WINDOWS: dict[str, Callable[[Tensor], Tensor]] = {
    "strided convolution": lambda x: functional.conv2d(x, torch.ones(2, 3, 3, 3), stride=(3, 2), padding=1),
    "dilated convolution": lambda x: functional.conv2d(x, torch.ones(2, 3, 3, 3), stride=2, dilation=2),
    "transposed convolution": lambda x: functional.conv_transpose2d(x, torch.ones(3, 2, 3, 3), stride=2),
    "max pool": lambda x: functional.max_pool2d(x, 3, 2, 1),
    "max pool that ends behind": lambda x: functional.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "max pool with gaps": lambda x: functional.max_pool2d(x, 2, 3, 0, 2),
    "average": lambda x: functional.avg_pool2d(x, 3, 2, 1),
    "average that ends behind": lambda x: functional.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
    "average of what is inside": lambda x: functional.avg_pool2d(x, 3, 2, 1, False, False),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_over_open_extents_train_here(name: str):
    compiled = torch.compile(WINDOWS[name], backend="tenon", dynamic=True)
    for shape in ((2, 3, 9, 10), (3, 3, 12, 15), (4, 3, 17, 8)):
        mine = torch.randn(shape).requires_grad_()
        its = mine.detach().clone().requires_grad_()
        found, expected = compiled(mine), WINDOWS[name](its)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        found.square().sum().backward()
        expected.square().sum().backward()
        torch.testing.assert_close(mine.grad, its.grad, rtol=1e-4, atol=1e-4)


def test_a_batch_norm_over_open_extents_learns_what_torchs_does():
    mine = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    its = copy.deepcopy(mine)
    compiled = torch.compile(mine, backend="tenon", dynamic=True)
    for shape in ((2, 3, 16, 18), (3, 3, 21, 20)):
        x = torch.randn(shape)
        for net in (compiled, its):
            net(x).square().sum().backward()
    torch.testing.assert_close(dict(mine.state_dict()), dict(its.state_dict()), rtol=1e-4, atol=1e-5)
    for one, other in zip(mine.parameters(), its.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-3)


def test_averages_over_open_extents_train_here(recwarn: pytest.WarningsRecorder):
    def loss(x: Tensor) -> Tensor:
        return functional.adaptive_avg_pool2d(x * x, 1).sin().sum() + (x * x).mean()

    x = torch.randn(3, 4, 5, 6, requires_grad=True)
    torch.compile(loss, backend="tenon", dynamic=True)(x).backward()
    its = x.detach().clone().requires_grad_()
    loss(its).backward()
    torch.testing.assert_close(x.grad, its.grad)
    assert not [each for each in recwarn if issubclass(each.category, LeftToTorchWarning)]


def test_arguments_that_a_model_changes_are_changed():
    def changed(x: Tensor, total: Tensor) -> Tensor:
        total += x.sum(0)
        x[0] = 7
        return x * 2

    x, total = torch.randn(3, 4), torch.zeros(4)
    mine, its = (x.clone(), total.clone()), (x.clone(), total.clone())
    torch.testing.assert_close(torch.compile(changed, backend="tenon")(*mine), changed(*its))
    torch.testing.assert_close(mine, its)


def test_results_that_show_the_same_memory_do_so():
    def views(x: Tensor) -> tuple[Tensor, ...]:
        y = x + 1
        return y, y.t(), y[0], x.view(-1)

    x = torch.randn(3, 4)
    y, turned, row, flat = torch.compile(views, backend="tenon")(x)
    y[0, 1] = 50
    flat[0] = 60
    assert turned[1, 0] == row[1] == 50 and x[0, 0] == 60


def test_parameters_are_read_where_they_are():
    model = nn.Linear(3, 2)
    compiled = torch.compile(model, backend="tenon")
    x = torch.randn(1, 3)
    with torch.no_grad():
        compiled(x)
        model.weight.mul_(2)
        model.bias.zero_()
        torch.testing.assert_close(compiled(x), model(x))
        model.weight.data = torch.zeros_like(model.weight)
        assert not compiled(x).any()


def test_tensors_in_other_orders_of_memory_are_taken():
    def product(x: Tensor, y: Tensor) -> Tensor:
        return functional.relu(x.permute(0, 2, 1) @ y)

    x, y = torch.randn(2, 4, 5), torch.randn(2, 6, 4).transpose(1, 2)
    compiled = torch.compile(product, backend="tenon")
    torch.testing.assert_close(compiled(x, y), product(x, y))
    channels_last = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    conv = nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last)
    found, expected = torch.compile(conv, backend="tenon")(channels_last), conv(channels_last)
    torch.testing.assert_close(found, expected, check_stride=True)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.float16], ids=str)
def test_nets_of_other_dtypes_give_what_torchs_do(dtype: torch.dtype):
    model, x = nets.mlp().to(dtype), torch.randn(4, 20, dtype=dtype)
    with torch.no_grad():
        found, expected = torch.compile(model, backend="tenon")(x), model(x)
    close = {torch.float64: 1e-9, torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    torch.testing.assert_close(found, expected, rtol=close, atol=close)


def test_a_graph_without_ops_is_no_program():
    x = torch.randn(3)
    assert torch.compile(lambda x: (x, 3), backend="tenon")(x)[1] == 3
    torch.testing.assert_close(
        torch.compile(lambda x: x[1:].view(2, 1), backend="tenon")(x), x[1:].view(2, 1)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fast": True}, r"tenon: the backend has no option 'fast' \(it has: keep\)"),
        ({"keep": 1}, r"tenon: the option keep is 1, expected a bool"),
    ],
)
def test_options_that_the_backend_does_not_have(options: dict[str, Any], message: str):
    with pytest.raises(Exception, match=message):
        torch.compile(lambda x: x + 1, backend="tenon", options=options)(torch.ones(1))


def test_an_extent_that_is_scaled_by_a_float_runs_in_torch():
    def enlarged(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(x[None, None], scale_factor=1.5, mode="nearest") * 2

    compiled = torch.compile(enlarged, backend="tenon", dynamic=True)
    x, taller = torch.randn(4, 6), torch.randn(5, 6)
    # Each op that reads the extent is told.
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LeftToTorchWarning)
        found = compiled(x)
    assert any("arange.default runs in torch: an extent is 1.5" in str(each.message) for each in told)
    assert torch.equal(found, enlarged(x))
    assert torch.equal(compiled(taller), enlarged(taller))


PARTS = {
    "chunk": lambda x: x.chunk(2, 1)[0],
    "chunk beside a result": lambda x: (x * 2, x.chunk(2, 1)[1]),
    "chunk of a transpose": lambda x: x.transpose(1, 2).chunk(3, 2)[1],
    "split": lambda x: x.split([x.shape[1] - 4, 4], 1)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "bits": lambda x: x.view(torch.int32),
    "slice": lambda x: x[:, : x.shape[1] // 2],
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_parts_of_an_argument_that_are_returned_are_in_its_memory(name: str, dynamic: bool):
    torch.compiler.reset()
    compiled = torch.compile(PARTS[name], backend="tenon", fullgraph=True, dynamic=dynamic)
    for length in (37, 13):
        x = torch.randn(2, length, 12)
        found, wanted = compiled(x), PARTS[name](x)
        found, wanted = (each[-1] if isinstance(each, tuple) else each for each in (found, wanted))
        assert found.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        assert (found.stride(), found.storage_offset()) == (wanted.stride(), wanted.storage_offset())
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)


def test_a_region_that_has_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch):
    torch.compiler.reset()
    tried: list[object] = []

    class Counted(graph_program.RegionProgram):
        def __init__(self, region: Any, *arguments: Any) -> None:
            tried.append(region.key)
            super().__init__(region, *arguments)

    monkeypatch.setattr(graph_program, "RegionProgram", Counted)

    def padded(x: Tensor) -> Tensor:
        # Torch computes digamma, between two regions, and what is padded to a multiple of 8.
        x = torch.digamma(x * x + 1) * 2
        x = functional.pad(x, (0, 0, 0, (-x.shape[1]) % 8)).view(x.shape[0], -1, 8, x.shape[2])
        return x.cumsum(2) * x.sum(1, keepdim=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = torch.compile(padded, backend="tenon", dynamic=True)
        x = torch.randn(2, 13, 5)
        torch.testing.assert_close(compiled(x), padded(x), rtol=1e-4, atol=1e-4)
    assert len(tried) > 2
    assert len(set(tried)) == len(tried)


def test_views_of_arguments_that_begin_inside_of_their_memory_are_changed_and_returned():
    def f(a: Tensor) -> Tensor:
        part = a.chunk(2, 1)[0]
        part.mul_(2)
        return part

    for dynamic in (False, True):
        torch.compiler.reset()
        a, b = (torch.arange(1.0, 33.0).reshape(8, 4)[4:] for _ in range(2))
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", LeftToTorchWarning
            )  # Torch makes what it changes, of dynamic shapes.
            found, expected = torch.compile(f, backend="tenon", dynamic=dynamic)(a), f(b)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(a, b)
        assert found.storage_offset() == expected.storage_offset()
        found.zero_()
        assert a[0, 0] == 0  # It is the memory of the argument.

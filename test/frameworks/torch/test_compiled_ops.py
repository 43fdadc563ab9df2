"""Ops as torch.compile captures them, with their gradients, beside torch's own: none is left to torch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

pytestmark = pytest.mark.usefixtures("all_is_compiled")


def check(function: Callable[..., Tensor], *tensors: Tensor, dynamic: bool = False) -> None:
    """Checks results, and gradients of tensors that ask for them."""
    torch.compiler.reset()
    found: list[tuple[Any, ...]] = []
    for each in (torch.compile(function, backend="tenon", dynamic=dynamic), function):
        given = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
        result = each(*given)
        if result.requires_grad:
            (result * torch.arange(1.0, result.numel() + 1).view_as(result)).sum().backward()
        found.append((result.detach(), *(tensor.grad for tensor in given)))
    torch.testing.assert_close(*found, equal_nan=True, rtol=1e-4, atol=1e-4)


def random(*shape: int) -> Tensor:
    return torch.randn(shape, requires_grad=True)


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "strides": lambda x: x.as_strided((3, 2), (1, 4), 2) * 2,
    "of a transpose": lambda x: (x * 2).t().as_strided((6, 5), (1, 6)) + 1,
    "that overlap": lambda x: (x + 1).as_strided((4, 3), (2, 1), 1).sin(),
    "all of it": lambda x: (x + 1).as_strided((5, 6), (6, 1)) + x,
    "in three axes": lambda x: (x * x).t().as_strided((2, 3, 5), (3, 1, 6)) * 2,
    "that are written": lambda x: torch.as_strided_scatter(x * 1, x[:2, :3], (2, 3), (7, 2), 1),
    "that are all written": lambda x: torch.as_strided_scatter(x * 1, x.t() * 3, (6, 5), (1, 6)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_of_memory(name: str):
    check(VIEWS[name], random(5, 6))


def assigned(x: Tensor, mask: Any, value: Any) -> Tensor:
    x = x * 1
    x[mask] = value
    return x


MASKS: dict[str, Callable[[Tensor], Tensor]] = {
    "a number": lambda x: assigned(x, x > 0, 7.0),
    "not a number": lambda x: assigned(x, torch.isnan(x), 1),
    "added to": lambda x: x.index_put((x > 0,), torch.tensor([7.0]), True),
    "rows": lambda x: assigned(x, x[..., 0] > 0, torch.arange(3.0)),
    "rows of rows": lambda x: assigned(x, x[:, 0, 0] > 0, torch.ones(1, 5, 3)),
    "columns": lambda x: assigned(x, (slice(None), x[0, :, 0] > 0), torch.arange(4.0).view(4, 1, 1)),
    "a choice": lambda x: torch.where(x > 0, x, 0) + x.masked_fill(x < 0, torch.tensor(3.0)),
}


@pytest.mark.parametrize("name", MASKS)
def test_assignments_by_masks(name: str):
    check(MASKS[name], random(4, 5, 3))


@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_rows(mode: str, padding: int | None):
    places, offsets = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9]), torch.tensor([0, 0, 4, 7])

    def bag(weight: Tensor, places: Tensor, *offsets: Tensor, **options: Any) -> Tensor:
        return functional.embedding_bag(places, weight, *offsets, mode=mode, padding_idx=padding, **options)

    check(bag, random(10, 4), places, offsets)
    check(bag, random(10, 4), places.view(2, 4))
    check(
        lambda *given: bag(*given, include_last_offset=True), random(10, 4), places, torch.tensor([0, 3, 8])
    )
    if mode == "sum":
        factors = torch.arange(8.0)
        check(lambda *given: bag(*given, per_sample_weights=factors), random(10, 4), places, offsets)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_whole_layers_of_transformers(norm_first: bool, activation: str):
    layer = nn.TransformerEncoderLayer(
        32, 4, 64, activation=activation, batch_first=True, norm_first=norm_first
    ).eval()
    causal = torch.ones(7, 7, dtype=torch.bool).triu(1)
    padding = torch.arange(7) >= torch.tensor([4, 7, 1])[:, None]
    masks: list[dict[str, Tensor]] = [{}, {"src_mask": causal}, {"src_key_padding_mask": padding}]
    masks += [{"src_mask": causal, "src_key_padding_mask": padding}]
    masks += [{"src_key_padding_mask": torch.ones_like(padding)}]
    with torch.no_grad():
        for options in masks:
            check(lambda x, options=options: layer(x, **options), torch.randn(3, 7, 32))


LEFT: dict[str, tuple[str, Callable[..., Tensor], tuple[Tensor, ...]]] = {
    "views with sizes of calls": (
        "places in memory that are known when it runs",
        lambda x: x.as_strided((x.shape[0], 2), (2, 1), 1) * 2,
        (torch.randn(5, 6),),
    ),
    "bags by frequency": (
        "scale_grad_by_freq",
        lambda x: functional.embedding_bag(torch.tensor([[1, 1]]), x, scale_grad_by_freq=True),
        (random(3, 4),),
    ),
    "sparse gradients": (
        "layout torch.sparse_coo",
        lambda x: functional.embedding_bag(torch.tensor([[1, 1]]), x, mode="sum", sparse=True),
        (random(3, 4),),
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_left_to_torch(name: str):
    reason, function, tensors = LEFT[name]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        check(function, *tensors, dynamic=True)
    assert any(reason in str(each.message) for each in told)


def test_attention_gives_its_weights():
    attention = nn.MultiheadAttention(32, 4, batch_first=True).eval()
    kinds: list[dict[str, Any]] = [{}, {"average_attn_weights": False}]
    kinds += [{"attn_mask": torch.rand(12, 7, 7) > 0.8}, {"attn_mask": torch.ones(7, 7).triu(1).bool()}]
    with torch.no_grad():
        for options in kinds:
            for number in (0, 1):
                check(
                    lambda x, options=options, number=number: attention(x, x, x, **options)[number],
                    torch.randn(3, 7, 32),
                )


def test_products_of_rows_that_are_looked_up():
    table, weight = random(50, 96), random(96, 48)
    check(lambda x, w: x[torch.arange(40) % 7] @ w, table, weight)
    with torch.no_grad():
        check(lambda x, w: functional.embedding(torch.arange(40) % 7, x) @ w, table, weight)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.int64])
def test_the_greatest_and_the_least_are_torchs_with_nan_the_greatest(dtype: torch.dtype, largest: bool):
    torch.compiler.reset()
    x = torch.stack([torch.randperm(100) - 50 for _ in range(3)]).to(dtype)
    if dtype.is_floating_point:
        x[0, 3], x[1, 4], x[2, 5] = float("nan"), float("inf"), float("-inf")
    for k in (1, 5, 60):
        found = torch.compile(torch.topk, backend="tenon", dynamic=False)(x, k, 1, largest)
        wanted = torch.topk(x, k, 1, largest)
        torch.testing.assert_close(tuple(found), tuple(wanted), rtol=0, atol=0, equal_nan=True)


def messages(x: Tensor, source: Tensor) -> Tensor:
    """Returns what edges bring to where they lead: of the nodes where they begin."""
    return x[source].tanh()


def along(target: Tensor, of_edges: Tensor) -> Tensor:
    return target.unsqueeze(-1).expand(-1, of_edges.shape[1])


def reduced(reduce: str, include_self: bool) -> Callable[..., Tensor]:
    def function(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
        edges = messages(x, source)
        nodes, places = torch.full_like(x, 0.5), along(target, edges)
        return nodes.scatter_reduce_(0, places, edges, reduce, include_self=include_self) * 2

    return function


def softmax_of_edges(x: Tensor, source: Tensor, target: Tensor) -> Tensor:
    edges = (x[source] * x[target]).sum(-1)
    most = torch.full((x.shape[0],), -1e30).scatter_reduce_(0, target, edges, "amax")
    powers = (edges - most[target]).exp()
    shares = powers / torch.zeros(x.shape[0]).scatter_add_(0, target, powers)[target]
    return torch.zeros_like(x).index_add_(0, target, shares[:, None] * x[source])


GRAPHS: dict[str, Callable[..., Tensor]] = {
    f"scatter_reduce {reduce} {include_self}": reduced(reduce, include_self)
    for reduce in ("sum", "mean", "amax", "amin", "prod")
    for include_self in (True, False)
} | {
    "scatter": lambda x, source, target: torch.zeros_like(x).scatter(
        # Each node gets the same of all edges that lead to it.
        0,
        along(target, x[target]),
        x[target].tanh(),
    ),
    "scatter_add": lambda x, source, target: torch.zeros_like(x).scatter_add(
        0, along(target, x), messages(x, source)
    ),
    "index_add": lambda x, source, target: torch.zeros_like(x).index_add_(0, target, messages(x, source)),
    "softmax": softmax_of_edges,
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("has_gradients", [False, True])
def test_nodes_and_edges_of_graphs_vary_on_their_own(name: str, has_gradients: bool):
    torch.compiler.reset()
    function = GRAPHS[name]
    compiled = torch.compile(function, backend="tenon", fullgraph=True, dynamic=True)
    for nodes, edges in ((30, 100), (7, 19), (101, 57), (33, 2)):
        x = torch.randn(nodes, 17, requires_grad=has_gradients)
        source, target = torch.randint(nodes, (edges,)), torch.randint(nodes, (edges,))
        found, expected = compiled(x, source, target), function(x, source, target)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        if has_gradients:
            mine, its = (torch.autograd.grad(y.square().sum(), x)[0] for y in (found, expected))
            torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-4)


def test_a_scatter_reads_as_much_of_its_source_as_there_are_indices():
    function: Callable[..., Tensor] = lambda x, index, source: x.scatter_reduce(0, index, source, "sum")  # noqa: E731
    compiled = torch.compile(function, backend="tenon", dynamic=True)
    for n_indices, n_sources, extent in ((5, 9, 7), (6, 8, 7), (4, 4, 7), (2, 300, 11)):
        x, index = torch.randn(extent), torch.randint(extent, (n_indices,))
        source = torch.randn(n_sources)
        torch.testing.assert_close(compiled(x, index, source), function(x, index, source))
    # Where there are fewer, it is torch's error.
    with pytest.raises(RuntimeError, match="no larger than src"):
        compiled(torch.randn(7), torch.randint(7, (9,)), torch.randn(5))

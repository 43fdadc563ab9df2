"""What is made of parameters is kept until they change, in whatever way that is."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import tenon
import torch
from tenon.frontends.torch import weights as weights_module
from torch import Tensor, nn


@pytest.fixture(autouse=True)
def _nothing_is_compiled_yet() -> None:
    torch.compiler.reset()
    torch.manual_seed(0)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many tensors something was made of, each time."""
    counts: list[int] = []
    prepared = weights_module.prepared

    def counted(executable: Any, frozen: Any) -> Any:
        counts.append(len(frozen))
        return prepared(executable, frozen)

    monkeypatch.setattr(weights_module, "prepared", counted)
    return counts


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(64, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Linear(96, 33)).eval()


def no_grad_fill(model: nn.Sequential) -> None:
    with torch.no_grad():
        model[0].weight.add_(1)


def view(model: nn.Sequential) -> None:
    with torch.no_grad():
        model[0].weight[3, 5] += 90


def in_inference(model: nn.Sequential) -> None:
    with torch.inference_mode():
        model[0].weight.view(-1)[7:9] += 90


def data(model: nn.Sequential) -> None:
    model[0].weight.data = torch.randn(96, 64)


def within_data(model: nn.Sequential) -> None:
    model[0].weight.data.mul_(2)


def numpy_array(model: nn.Sequential) -> None:
    model[3].weight.detach().numpy()[:] += 3


def other_state(model: nn.Sequential) -> dict[str, Tensor]:
    return {
        name: torch.rand_like(each) + 0.1 if each.is_floating_point() else each
        for name, each in model.state_dict().items()
    }


def loaded(model: nn.Sequential) -> None:
    model.load_state_dict(other_state(model))


def assigned(model: nn.Sequential) -> None:
    model.load_state_dict(other_state(model), assign=True)


def learned(model: nn.Sequential) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.randn(8, 64)).square().sum().backward()
    optimizer.step()


def seen(model: nn.Sequential) -> None:
    model.train()(torch.randn(8, 64))
    model.eval()


def replaced(model: nn.Sequential) -> None:
    model[0] = nn.Linear(64, 96)


KEEP = {"keep": True}

DTYPES = {
    "doubles": torch.float64,
    "singles": torch.float32,
    "halves": torch.float16,
    "brains": torch.bfloat16,
    "flags": torch.bool,
}

CHANGES = [
    no_grad_fill,
    view,
    in_inference,
    data,
    within_data,
    numpy_array,
    loaded,
    assigned,
    learned,
    seen,
    replaced,
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda each: each.__name__)
def test_what_changed_is_made_anew(change: Callable[[nn.Sequential], None], made: list[int]):
    model, x = net(), torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    before = None
    for _ in range(3):
        with torch.no_grad():
            found = [compiled(x) for _ in range(2)]
            torch.testing.assert_close(found[0], model(x), rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)
        assert before is None or not torch.equal(found[0], before)
        before = found[0]
        change(model)
    assert len(made) == 3


def test_views_that_were_made_before_write_too(made: list[int]):
    model, x = net(), torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    row = model[0].weight.detach()[3]
    with torch.no_grad():
        compiled(x)
        row += 5
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert len(made) == 2


def transposed(model: Any) -> None:
    model.table.data.T.numpy()[:] = 2


def single(model: Any) -> None:
    model.scale.data.numpy()[...] = 4


@pytest.mark.parametrize("change", [transposed, single], ids=lambda each: each.__name__)
def test_elements_in_any_order_of_memory_are_compared(change: Any, made: list[int]):
    class Views(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.ones(48, 64).T)
            self.register_buffer("scale", torch.ones(()))

        def forward(self, x: Tensor) -> Tensor:
            return x @ self.table.exp() * self.scale.exp()

    model, x = Views(), torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    with torch.no_grad():
        for number in (1, 2):
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
            assert len(made) == number
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
            assert len(made) == number
            change(model)


def test_elements_of_any_size_are_compared(made: list[int]):
    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            for name, dtype in DTYPES.items():
                self.register_buffer(name, torch.ones(64, 64, dtype=dtype))
            self.register_buffer("nothing", torch.ones(0, 64))

        def forward(self, x: Tensor) -> Tensor:
            y = x + self.nothing.exp().sum()
            for name in DTYPES:
                y = y @ (getattr(self, name).float() - 0.9).T.exp() / 100
            return y

    model, x = Mixed(), torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    for number, name in enumerate([*DTYPES, "nothing"], 1):
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-3, atol=1e-3)
        assert len(made) == number
        # Not counted by torch.
        getattr(model, name).data.view(torch.uint8).numpy()[:] = 0


def test_nothing_is_made_twice_of_what_stays(made: list[int]):
    model = net()
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    with torch.no_grad():
        for _ in range(5):
            x = torch.randn(17, 64)
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert len(made) == 1


def test_modules_of_one_graph_have_what_is_made_of_their_own(made: list[int]):
    layers = [nn.Linear(64, 96) for _ in range(3)]
    compiled = [torch.compile(layer, backend="tenon", options=KEEP) for layer in layers]
    x = torch.randn(17, 64)
    with torch.no_grad():
        for _ in range(2):
            for layer, each in zip(layers, compiled, strict=True):
                torch.testing.assert_close(each(x), layer(x), rtol=1e-4, atol=1e-4)
    assert len(made) == 3


def test_tensors_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch):
    known: list[Any] = []
    make = weights_module.Weights.__init__

    def noted(self: Any, *arguments: Any) -> None:
        make(self, *arguments)
        known.append(self)

    monkeypatch.setattr(weights_module.Weights, "__init__", noted)

    def product(x: Tensor, layer: nn.Linear) -> Tensor:
        return layer(x)

    compiled = torch.compile(product, backend="tenon", options=KEEP)
    layers = [nn.Linear(64, 96) for _ in range(2)]
    with torch.no_grad():
        for layer in layers:
            compiled(torch.randn(17, 64), layer)
    (weights,) = known
    assert len(weights.kept) == 2
    del layer, layers[0]
    gc.collect()
    assert len(weights.kept) == 1


@pytest.mark.parametrize("how", ["shared", "inference"])
def test_nothing_is_kept_of_tensors_that_torch_counts_no_changes_of(how: str, made: list[int]):
    if how == "shared":
        model = net().share_memory()
    else:
        with torch.inference_mode():
            model = net()
    x = torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    with torch.inference_mode():
        for number in range(3):
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
            model[0].weight.data[5, number] = 100
    assert len(made) == 3


def test_buffers_that_a_model_changes_itself_are_no_weights(made: list[int]):
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.total: Tensor
            self.register_buffer("total", torch.zeros(64, 64))

        def forward(self, x: Tensor) -> Tensor:
            self.total += x.T @ x
            return x @ self.total

    mine, its = Counted(), Counted()
    compiled = torch.compile(mine, backend="tenon", options=KEEP)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(17, 64)
            torch.testing.assert_close(compiled(x), its(x), rtol=1e-4, atol=1e-3)
    assert not made


def test_nothing_is_kept_unless_that_is_asked_for(made: list[int]):
    model, x = net(), torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon")
    with torch.no_grad():
        compiled(x)
        model[0].weight.data[0, 1] = 100
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)
    assert not made


def test_what_is_learned_between_calls_is_read():
    model, x = net(), torch.randn(17, 64)
    compiled = torch.compile(model, backend="tenon", options=KEEP)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(3):
        compiled(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-4)


class Thirds(nn.Module):
    """The attention of few tokens, whose queries, keys and values are parts of one product."""

    def __init__(self, features: int, heads: int) -> None:
        super().__init__()
        self.heads, self.product = heads, nn.Linear(features, 3 * features)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.product(x).chunk(3, -1)
        queries, keys, values = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        found = nn.functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return found.transpose(1, 2).flatten(2)


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize("tokens", [1, 2, 3])
@pytest.mark.parametrize(("features", "heads"), [(512, 8), (60, 5)])
def test_attention_of_few_tokens_is_that_of_torch(features: int, heads: int, tokens: int, keep: bool) -> None:
    model, x = Thirds(features, heads).eval(), torch.randn(1, tokens, features)
    compiled = torch.compile(model, backend="tenon", options={"keep": keep}, dynamic=False)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), rtol=1e-4, atol=1e-5)


def test_an_explanation_is_of_the_program_that_keeps():
    model, x = net(), torch.randn(17, 64)
    with torch.no_grad():
        kept = tenon.explain(torch.compile(model, backend="tenon", options=KEEP), x)
        plain = tenon.explain(torch.compile(model, backend="tenon"), x)
        of_a_function = tenon.explain(torch.compile(lambda x: model(x), backend="tenon", options=KEEP), x)
    (graph,), (other,) = kept.graphs, plain.graphs
    assert len(graph.kept) == 1 and graph.programs[0].prepared and len(of_a_function.graphs[0].kept) == 1
    assert len(graph.programs[0].kernels) < len(other.programs[0].kernels)
    assert not other.kept and not other.programs[0].prepared
    text = str(kept)
    assert "prepared once: " in text and "of parameters and buffers, until they change:" in text
    assert "until they change" not in str(plain)


def test_an_explanation_is_of_dynamic_shapes_where_the_program_is():
    compiled = torch.compile(lambda x: x * 2 + 1, backend="tenon", dynamic=True)
    assert "5x7" not in str(tenon.explain(compiled, torch.ones(5, 7)))


def test_a_program_of_another_compiler_is_explained_as_ours_would_be():
    model, x = net(), torch.randn(17, 64)
    with torch.no_grad():
        explained = tenon.explain(torch.compile(model, backend="eager"), x)
    assert len(explained.graphs) == 1 and not explained.graphs[0].kept

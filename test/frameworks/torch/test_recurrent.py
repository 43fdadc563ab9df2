"""Recurrent layers of exported programs: loops over their steps, with torch's results."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest
import tenon
import torch
from tenon.frontends.torch.told import LeftToTorchWarning, forget_told
from torch import nn

KINDS = {
    "LSTM": (nn.LSTM, {}),
    "LSTM with a projection": (nn.LSTM, {"proj_size": 3}),
    "GRU": (nn.GRU, {}),
    "tanh": (nn.RNN, {}),
    "relu": (nn.RNN, {"nonlinearity": "relu"}),
}

FORMS = {
    "layers": {"num_layers": 3},
    "directions": {"bidirectional": True, "batch_first": True},
    "all": {"num_layers": 2, "bidirectional": True, "batch_first": True, "dtype": torch.float64},
    "no bias": {"num_layers": 2, "bias": False},
}


def exported(model: nn.Module, *arguments: Any, **options: Any) -> Any:
    return tenon.from_torch(torch.export.export(model.eval(), arguments, **options))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_recurrent_layers_give_what_torch_does(kind: str, form: str):
    make, options = KINDS[kind]
    model, x = make(6, 5, **options, **FORMS[form]), torch.randn(4, 7, 6, dtype=FORMS[form].get("dtype"))
    function = exported(model, x)
    torch.testing.assert_close(function(x), model(x))
    assert "0 ops left to torch" in str(function.explain())


@pytest.mark.parametrize("kind", KINDS)
def test_layers_begin_with_a_given_state(kind: str):
    make, options = KINDS[kind]
    model, x = make(6, 5, **options), torch.randn(7, 2, 6)
    state = tuple(torch.randn_like(each) for each in model(x)[1]) if make is nn.LSTM else torch.randn(1, 2, 5)
    torch.testing.assert_close(exported(model, x, state)(x, state), model(x, state))


def test_a_sequence_of_no_batch_and_of_one_step():
    model = nn.GRU(6, 5)
    for x in (torch.randn(7, 6), torch.randn(1, 6), torch.randn(1, 1, 6)):
        torch.testing.assert_close(exported(model, x)(x), model(x))


def test_the_steps_are_a_loop():
    model = nn.LSTM(6, 5)
    counts = []
    for length in (8, 64):
        function = exported(model, torch.randn(length, 2, 6))
        function(torch.randn(length, 2, 6))
        counts.append(int(re.search(r"(\d+) kernels?", str(function.explain())).group(1)))
    assert counts[0] == counts[1] < 10


def test_open_batches_are_compiled():
    model = nn.LSTM(6, 5, batch_first=True)
    batch = torch.export.Dim("batch", min=1, max=16)
    function = exported(model, torch.randn(3, 7, 6), dynamic_shapes=({0: batch},))
    for count in (1, 3, 16):
        x = torch.randn(count, 7, 6)
        torch.testing.assert_close(function(x), model(x))
    assert "0 ops left to torch" in str(function.explain())


def test_a_layer_of_halves_is_left_to_torch():
    forget_told()
    model, x = nn.GRU(6, 5).to(torch.bfloat16), torch.randn(4, 2, 6).to(torch.bfloat16)
    with pytest.warns(LeftToTorchWarning, match=r"gru\.input runs in torch: torch rounds bfloat16 in ways"):
        function = exported(model, x)
    torch.testing.assert_close(function(x), model(x))


def test_a_layer_that_drops_is_left_to_torch():
    forget_told()
    model, x = nn.GRU(6, 5, 2, dropout=0.5), torch.randn(4, 2, 6)
    with pytest.warns(LeftToTorchWarning, match="what a dropout drops between its layers is drawn at random"):
        tenon.from_torch(torch.export.export(model.train(), (x,)))
    with warnings.catch_warnings():
        warnings.simplefilter("error", LeftToTorchWarning)
        torch.testing.assert_close(exported(model, x)(x), model(x))

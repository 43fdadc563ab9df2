"""
Recurrent layers, which exported programs have whole: a loop over the steps. Where torch captures for
`torch.compile` it writes each step out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from ... import nn
from ... import numpy as tnp
from ...control_flow import scan
from .promotion import HALVES
from .table import NotCoveredError, Traced, aten

State: TypeAlias = tuple[Traced, ...]
Step: TypeAlias = Callable[[Traced, State], State]
"""Takes what is given to a step, and what is carried; returns what is carried on, the output first."""
Cell: TypeAlias = Callable[["_Weights", Traced], tuple[Traced, Step]]
"""Takes the weights of a direction and the inputs of all steps; returns what steps get, and the step."""


class _Options(NamedTuple):
    """The arguments that all of these ops end with."""

    has_biases: bool
    num_layers: int
    dropout: float
    train: bool
    bidirectional: bool
    batch_first: bool


class _Weights(NamedTuple):
    """The matrices of a direction of a layer, inputs first, and its biases, if it has any."""

    of_input: Traced
    of_state: Traced
    input_bias: Traced | None = None
    state_bias: Traced | None = None
    projection: Traced | None = None


@aten("lstm.input")
def lstm(
    x: Traced, hx: Sequence[Traced], params: Sequence[Traced], *options: Any, **named: Any
) -> tuple[Traced, ...]:
    return _layers(x, tuple(hx), params, _lstm, _Options(*options, **named))


def _lstm(weights: _Weights, inputs: Traced) -> tuple[Traced, Step]:
    def step(given: Traced, state: State) -> State:
        hidden, cell = state
        enter, forget, new, leave = tnp.split(given + tnp.matmul(hidden, weights.of_state), 4, axis=-1)
        cell = nn.sigmoid(forget) * cell + nn.sigmoid(enter) * tnp.tanh(new)
        hidden = nn.sigmoid(leave) * tnp.tanh(cell)
        return hidden if weights.projection is None else tnp.matmul(hidden, weights.projection), cell

    return _given(weights, inputs), step


@aten("gru.input")
def gru(x: Traced, hx: Traced, params: Sequence[Traced], *options: Any, **named: Any) -> tuple[Traced, ...]:
    return _layers(x, (hx,), params, _gru, _Options(*options, **named))


def _gru(weights: _Weights, inputs: Traced) -> tuple[Traced, Step]:
    def step(given: Traced, state: State) -> State:
        (hidden,) = state
        of_hidden = _with(tnp.matmul(hidden, weights.of_state), weights.state_bias)
        reset, update, new = tnp.split(given, 3, axis=-1)
        its_reset, its_update, its_new = tnp.split(of_hidden, 3, axis=-1)
        new = tnp.tanh(new + nn.sigmoid(reset + its_reset) * its_new)
        return ((hidden - new) * nn.sigmoid(update + its_update) + new,)

    # The reset gate scales the bias of the state as well, which is added in each step.
    return _with(tnp.matmul(inputs, weights.of_input), weights.input_bias), step


@aten("rnn_tanh.input")
def rnn_tanh(
    x: Traced, hx: Traced, params: Sequence[Traced], *options: Any, **named: Any
) -> tuple[Traced, ...]:
    return _layers(x, (hx,), params, _without_gates(tnp.tanh), _Options(*options, **named))


@aten("rnn_relu.input")
def rnn_relu(
    x: Traced, hx: Traced, params: Sequence[Traced], *options: Any, **named: Any
) -> tuple[Traced, ...]:
    return _layers(x, (hx,), params, _without_gates(nn.relu), _Options(*options, **named))


def _without_gates(activation: Callable[[Any], Any]) -> Cell:
    def cell(weights: _Weights, inputs: Traced) -> tuple[Traced, Step]:
        def step(given: Traced, state: State) -> State:
            return (activation(given + tnp.matmul(state[0], weights.of_state)),)

        return _given(weights, inputs), step

    return cell


def _given(weights: _Weights, inputs: Traced) -> Traced:
    """Returns the inputs of all steps times their weights, which is one product, and both biases."""
    both = _with(tnp.matmul(inputs, weights.of_input), weights.input_bias)
    return _with(both, weights.state_bias)


def _with(x: Traced, bias: Traced | None) -> Traced:
    return x if bias is None else x + bias


def _layers(
    x: Traced, initial: State, params: Sequence[Traced], cell: Cell, options: _Options
) -> tuple[Traced, ...]:
    """
    Returns the outputs of the last layer, and what each direction of each layer ended with.

    Raises:
        NotCoveredError: what is dropped is drawn at random, or torch adds up halves in its own way.
    """
    if options.train and options.dropout and options.num_layers > 1:
        raise NotCoveredError("what a dropout drops between its layers is drawn at random")
    if x.dtype in HALVES:
        raise NotCoveredError(f"torch rounds {x.dtype} in ways of its own")
    is_projected = len(initial) == 2 and initial[0].shape[-1] != initial[1].shape[-1]
    n_directions = 1 + options.bidirectional
    n_params = 2 + 2 * options.has_biases + is_projected
    x = tnp.swapaxes(x, 0, 1) if options.batch_first else x
    ends: list[State] = []
    for layer in range(options.num_layers):
        outputs: list[Traced] = []
        for is_reversed in (False, True)[:n_directions]:
            number = n_directions * layer + is_reversed
            of_direction = params[n_params * number : n_params * (number + 1)]
            given, step = cell(_weights(of_direction, options.has_biases, is_projected), x)
            end, output = scan(
                lambda state, gates, step=step: ((after := step(gates, state)), after[0]),
                tuple(each[number] for each in initial),
                given,
                reverse=is_reversed,
            )
            ends.append(end)
            outputs.append(output)
        x = outputs[0] if n_directions == 1 else tnp.concat(outputs, axis=-1)
    x = tnp.swapaxes(x, 0, 1) if options.batch_first else x
    return x, *(tnp.stack(each) for each in zip(*ends, strict=True))


def _weights(params: Sequence[Traced], has_biases: bool, is_projected: bool) -> _Weights:
    of_input, of_state = map(tnp.transpose, params[:2])
    input_bias, state_bias = params[2:4] if has_biases else (None, None)
    projection = tnp.transpose(params[-1]) if is_projected else None
    return _Weights(of_input, of_state, input_bias, state_bias, projection)

"""Recurrent layers: a loop over the steps of sequences, in either direction or both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....errors import TenonError
from ... import nn
from ... import numpy as tnp
from ...control_flow import scan
from ..registry import onnx_op
from . import activations

Activation = Callable[[Any], Any]
State = tuple[Any, ...]
Product = Callable[[Any], Any]
ProductOf = Callable[[int], Product]
"""Takes the number of a direction, and returns what multiplies by its weights."""
Step = Callable[[Any, State], State]
"""Takes a step's inputs times their weights, and what is carried; returns what is carried on."""

_PLAIN: dict[str, Activation] = {
    "elu": activations.elu,
    "hardsigmoid": activations.hard_sigmoid,
    "leakyrelu": activations.leaky_relu,
    "relu": nn.relu,
    "scaledtanh": tnp.tanh,
    "sigmoid": nn.sigmoid,
    "softplus": nn.softplus,
    "softsign": activations.softsign,
    "tanh": tnp.tanh,
    "thresholdedrelu": activations.thresholded_relu,
    "affine": lambda x: x,
}


def _with_numbers(name: str, alpha: float | None, beta: float | None) -> Activation:
    """Returns an activation with its numbers, where they are given."""
    if name not in _PLAIN:
        raise TenonError(f"the activation {name!r} is not known")
    if name == "hardsigmoid":
        low, high = 0.2 if alpha is None else alpha, 0.5 if beta is None else beta
        return lambda x: activations.hard_sigmoid(x, alpha=low, beta=high)
    if name in ("affine", "scaledtanh"):
        a, b = 1.0 if alpha is None else alpha, (0.0 if name == "affine" else 1.0) if beta is None else beta
        if name == "affine":
            return lambda x: tnp.add(tnp.multiply(x, a), b)
        return lambda x: tnp.multiply(tnp.tanh(tnp.multiply(x, b)), a)
    if alpha is None:
        return _PLAIN[name]
    function: Any = _PLAIN[name]
    return lambda x: function(x, alpha=alpha)


_WITH_ALPHA = ("affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "thresholdedrelu")
_WITH_BETA = ("affine", "hardsigmoid", "scaledtanh")


def _activations(
    names: Sequence[str] | None,
    defaults: Sequence[str],
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    n_directions: int,
) -> list[Activation]:
    """Returns the activations of all directions; numbers go to those that have some, in order."""
    wanted = list(names or list(defaults) * n_directions)
    if len(wanted) != len(defaults) * n_directions:
        raise TenonError(f"{len(wanted)} activations, expected {len(defaults) * n_directions}")
    first, second = iter(alphas or ()), iter(betas or ())
    found: list[Activation] = []
    for each in wanted:
        name = each.lower()
        alpha = next(first, None) if name in _WITH_ALPHA else None
        beta = next(second, None) if name in _WITH_BETA else None
        found.append(_with_numbers(name, alpha, beta))
    return found


class _Layer:
    """What the three kinds of layers have in common."""

    def __init__(
        self,
        x: Any,
        kernel: Any,
        recurrence: Any,
        bias: Any,
        lengths: Any,
        hidden_size: int | None,
        direction: str,
        layout: int,
        clip: float | None,
        n_gates: int,
        of_inputs: ProductOf | None = None,
    ) -> None:
        if direction not in ("forward", "reverse", "bidirectional"):
            raise TenonError(f"direction is {direction!r}, expected forward, reverse or bidirectional")
        self.x = tnp.swapaxes(x, 0, 1) if layout else x
        self.layout = layout
        self.kernel, self.recurrence, self.bias = kernel, recurrence, bias
        self.lengths = lengths
        self.size: int = recurrence.shape[-1]
        self.reverses = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}[direction]
        self.clip = clip
        self.of_inputs: ProductOf = of_inputs or _products_by(kernel)
        if hidden_size is not None and hidden_size != self.size:
            raise TenonError(f"hidden_size is {hidden_size}, the weights have shape {recurrence.shape}")
        if kernel.shape[0] != len(self.reverses) or kernel.shape[1] != n_gates * self.size:
            raise TenonError(f"weights of shape {kernel.shape} for {direction} and {n_gates} gates")

    def clipped(self, x: Any) -> Any:
        return x if self.clip is None else tnp.clip(x, -self.clip, self.clip)

    def initial(self, given: Any, number: int) -> Any:
        """Returns what a direction begins with, zeros by default."""
        if given is None:
            return tnp.zeros((self.x.shape[1], self.size), dtype=self.x.dtype)
        return given[:, number] if self.layout else given[number]

    def biases(self, number: int, n_gates: int) -> tuple[Any, Any]:
        """Returns the biases of inputs and of what is carried."""
        if self.bias is None:
            none = tnp.zeros((n_gates * self.size,), dtype=self.x.dtype)
            return none, none
        count = n_gates * self.size
        return self.bias[number, :count], self.bias[number, count:]

    def run(self, made: Callable[[int], tuple[Step, State]]) -> tuple[Any, ...]:
        """
        Returns the outputs of all steps and directions, and what each direction ended with. `made` gives the
        step of a direction, and what it begins with.
        """
        ends: list[State] = []
        outputs: list[Any] = []
        for number in range(len(self.reverses)):
            end, output = self._run_direction(number, *made(number))
            ends.append(end)
            outputs.append(output)
        steps = tnp.stack(outputs, axis=2 if self.layout else 1)
        steps = tnp.moveaxis(steps, 0, 1) if self.layout else steps
        axis = 1 if self.layout else 0
        last = [tnp.stack([each[k] for each in ends], axis=axis) for k in range(len(ends[0]))]
        return steps, *last

    def _run_direction(self, number: int, step: Step, state: State) -> tuple[State, Any]:
        """Returns what a direction carries at the end, and what it gives at each step."""
        # The inputs of all steps are one product.
        inputs = self.of_inputs(number)(self.x)
        places: Any = tnp.arange(self.x.shape[0])

        def one(carried: State, given: Any) -> Any:
            x, place = given
            found = step(x, carried)
            if self.lengths is None:
                return found, found[0]
            is_inside = tnp.expand_dims(tnp.less(place, tnp.astype(self.lengths, np.dtype(np.int64))), 1)
            kept = tuple(tnp.where(is_inside, new, old) for new, old in zip(found, carried, strict=True))
            return kept, tnp.where(is_inside, found[0], tnp.zeros_like(found[0]))

        return scan(one, state, (inputs, places), reverse=self.reverses[number])


def _products_by(weights: Any) -> ProductOf:
    """Returns what multiplies rows by the transpose of the weights of a direction."""

    def product_of(number: int) -> Product:
        turned = tnp.transpose(weights[number])
        return lambda x: tnp.matmul(x, turned)

    return product_of


def _parts(x: Any, count: int) -> list[Any]:
    return list(tnp.split(x, count, axis=-1))


@onnx_op("RNN", since=7)
def rnn(
    x: Any,
    kernel: Any,
    recurrence: Any,
    bias: Any = None,
    lengths: Any = None,
    initial: Any = None,
    *,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
) -> tuple[Any, ...]:
    layer = _Layer(x, kernel, recurrence, bias, lengths, hidden_size, direction, layout, clip, 1)
    functions = _activations(activations, ("Tanh",), activation_alpha, activation_beta, len(layer.reverses))

    def made(number: int) -> tuple[Step, State]:
        first, second = layer.biases(number, 1)
        r, both, f = tnp.transpose(recurrence[number]), tnp.add(first, second), functions[number]

        def step(given: Any, state: State) -> State:
            total = tnp.add(tnp.add(given, tnp.matmul(state[0], r)), both)
            return (f(layer.clipped(total)),)

        return step, (layer.initial(initial, number),)

    return layer.run(made)


@onnx_op("GRU", since=7)
def gru(
    x: Any,
    kernel: Any,
    recurrence: Any,
    bias: Any = None,
    lengths: Any = None,
    initial: Any = None,
    *,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
) -> tuple[Any, ...]:
    """The gates are update, reset and hidden, in this order."""
    layer = _Layer(x, kernel, recurrence, bias, lengths, hidden_size, direction, layout, clip, 3)
    functions = _activations(
        activations, ("Sigmoid", "Tanh"), activation_alpha, activation_beta, len(layer.reverses)
    )
    size = layer.size

    def made(number: int) -> tuple[Step, State]:
        first, second = layer.biases(number, 3)
        r = tnp.transpose(recurrence[number])
        f, g = functions[2 * number : 2 * number + 2]

        def step(given: Any, state: State) -> State:
            (h,) = state
            parts = _parts(tnp.add(given, first), 3)
            gates = tnp.add(tnp.matmul(h, r[:, : 2 * size]), second[: 2 * size])
            update, reset = (
                f(layer.clipped(tnp.add(a, b))) for a, b in zip(parts, _parts(gates, 2), strict=False)
            )
            last = r[:, 2 * size :]
            if linear_before_reset:
                carried = tnp.multiply(reset, tnp.add(tnp.matmul(h, last), second[2 * size :]))
            else:
                carried = tnp.add(tnp.matmul(tnp.multiply(reset, h), last), second[2 * size :])
            hidden = g(layer.clipped(tnp.add(parts[2], carried)))
            return (tnp.add(tnp.multiply(tnp.subtract(1, update), hidden), tnp.multiply(update, h)),)

        return step, (layer.initial(initial, number),)

    return layer.run(made)


@onnx_op("LSTM", since=7)
def lstm(
    x: Any,
    kernel: Any,
    recurrence: Any,
    bias: Any = None,
    lengths: Any = None,
    initial: Any = None,
    initial_cell: Any = None,
    peepholes: Any = None,
    *,
    activation_alpha: list[float] | None = None,
    activation_beta: list[float] | None = None,
    activations: list[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
) -> tuple[Any, ...]:
    return lstm_of(
        x,
        (kernel, recurrence),
        bias,
        lengths,
        initial,
        initial_cell,
        peepholes,
        numbers=(activation_alpha, activation_beta),
        activations=activations,
        clip=clip,
        direction=direction,
        hidden_size=hidden_size,
        input_forget=input_forget,
        layout=layout,
    )


def lstm_of(
    x: Any,
    weights: tuple[Any, Any],
    bias: Any,
    lengths: Any,
    initial: Any,
    initial_cell: Any,
    peepholes: Any,
    *,
    numbers: tuple[list[float] | None, list[float] | None],
    activations: list[str] | None,
    clip: float | None,
    direction: str,
    hidden_size: int | None,
    input_forget: int,
    layout: int = 0,
    products: tuple[ProductOf, ProductOf] | None = None,
) -> tuple[Any, ...]:
    """
    An LSTM, whose gates are input, output, forget and cell, in this order. `weights` are those of inputs and
    of the hidden state, of direction, gate and input; `products` give for a direction what multiplies by
    them, which is in floats by default.
    """
    kernel, recurrence = weights
    of_inputs, of_state = products or (None, _products_by(recurrence))
    layer = _Layer(x, kernel, recurrence, bias, lengths, hidden_size, direction, layout, clip, 4, of_inputs)
    functions = _activations(activations, ("Sigmoid", "Tanh", "Tanh"), *numbers, len(layer.reverses))

    def made(number: int) -> tuple[Step, State]:
        first, second = layer.biases(number, 4)
        product, both = of_state(number), tnp.add(first, second)
        holes = None if peepholes is None else _parts(peepholes[number], 3)
        f, g, h = functions[3 * number : 3 * number + 3]

        def step(given: Any, state: State) -> State:
            hidden, cell = state
            total = tnp.add(tnp.add(given, product(hidden)), both)
            enter, leave, forget, new = _parts(total, 4)
            if holes is not None:
                enter = tnp.add(enter, tnp.multiply(holes[0], cell))
                forget = tnp.add(forget, tnp.multiply(holes[2], cell))
            enter = f(layer.clipped(enter))
            forget = tnp.subtract(1, enter) if input_forget else f(layer.clipped(forget))
            cell = tnp.add(tnp.multiply(forget, cell), tnp.multiply(enter, g(layer.clipped(new))))
            if holes is not None:
                leave = tnp.add(leave, tnp.multiply(holes[1], cell))
            return tnp.multiply(f(layer.clipped(leave)), h(cell)), cell

        return step, (layer.initial(initial, number), layer.initial(initial_cell, number))

    return layer.run(made)

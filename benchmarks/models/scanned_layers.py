"""Layers with a state, for libraries that have no LSTM of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from .array_layers import ArrayLayers


class ScannedLayers(ArrayLayers):
    @abstractmethod
    def scan(self, body: Callable[..., Any], initial: Any, inputs: Any) -> Any:
        """Returns the outputs of `body(state, input) -> (state, output)` along axis 0."""
        ...

    def lstm(self, x: Any, input_gates: Any, state_gates: Any, bias: Any) -> Any:
        width = state_gates.shape[0]
        given = self.np.permute_dims(x @ input_gates + bias, (1, 0, 2))
        zeros = self.np.zeros((x.shape[0], width), dtype=given.dtype)

        def step(carried: Any, gates: Any) -> Any:
            state, cell = carried
            i, f, g, o = self.split(gates + state @ state_gates, 4)
            cell = self.sigmoid(f) * cell + self.sigmoid(i) * self.np.tanh(g)
            state = self.sigmoid(o) * self.np.tanh(cell)
            return (state, cell), state

        return self.np.permute_dims(self.scan(step, (zeros, zeros), given), (1, 0, 2))

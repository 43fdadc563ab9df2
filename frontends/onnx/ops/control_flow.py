"""
Branches and loops: those of values that are known are traced away, all others stay branches and loops of the
program, whose arrays keep their shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from ....errors import TenonError
from ... import numpy as tnp
from ...control_flow import cond as traced_cond
from ...control_flow import scan as traced_scan
from ...control_flow import while_loop
from ...numpy.arguments.axes import axis_of
from ..graphs import Context
from ..registry import onnx_op
from ..values import Value, ValueNeeded, has_extents, ints, is_known

_MOST_UNROLLED = 16
"""The rounds up to which a loop is written out."""

_MOST_ROUNDS = 1 << 16
"""The rounds that are traced one by one where nothing else can be done."""

_DIFFERENT = (TypeError, ValueError)
"""What is raised where branches, or the rounds of a loop, give other shapes or dtypes."""


class _Undecided(TenonError):
    """Whether a loop goes on is known at each call only."""


def _scalar(context: Context, value: Value) -> Any:
    return tnp.reshape(context.lift(value), ())


def _lifted(context: Context, values: Sequence[Value]) -> list[Any]:
    """Returns values as traced arrays. Raises TypeError for a sequence, and for what is left out."""
    if any(value is None or isinstance(value, list) for value in values):
        raise TypeError("a sequence, or nothing, where a tensor is expected")
    return [context.lift(value) for value in values]


@onnx_op("If", raw=True)
def branches(condition: Value, *, then_branch: Any, else_branch: Any, context: Context) -> tuple[Value, ...]:
    """The results of one graph or the other, of which only that is run."""
    if is_known(condition):
        chosen = then_branch if bool(condition.reshape(())) else else_branch
        return tuple(context.run_graph(chosen, []))

    def traced(graph: Any) -> Callable[[], list[Any]]:
        return lambda: _lifted(context, context.run_graph(graph, []))

    try:
        found = traced_cond(_scalar(context, condition), traced(then_branch), traced(else_branch))
    except _DIFFERENT as error:
        raise context.needs(f"the condition ({' '.join(str(error).split())})", [condition]) from None
    return tuple(cast("list[Any]", found))


@onnx_op("Loop", raw=True)
def loop(
    trip_count: Value = None, condition: Value = None, *state: Value, body: Any, context: Context
) -> tuple[Value, ...]:
    """
    Runs a graph so often, and for as long as it says. What it carries is given back, and then what it gives
    in each round, stacked.
    """
    rounds = _Loop(body, context, trip_count, condition, list(state))
    if rounds.is_bounded:
        try:
            return tuple(rounds.counted())
        except _Undecided:
            pass
    try:
        return tuple(rounds.open_ended())
    except _DIFFERENT as error:
        why = " ".join(str(error).split())
        raise context.needs(f"how often it runs ({why})", rounds.deciding) from None


class _Loop:
    """One loop: its graph, and what it begins with."""

    def __init__(
        self, body: Any, context: Context, trip_count: Value, condition: Value, state: list[Value]
    ) -> None:
        self.body = body
        self.context = context
        self.trip_count = trip_count
        self.condition = condition
        self.state = state
        self.n_stacks = len(body.output) - 1 - len(state)
        if self.n_stacks < 0:
            raise TenonError(f"the body has {len(body.output)} results for {len(state)} carried values")

    @property
    def is_bounded(self) -> bool:
        """Whether it is known how often the loop runs at most, and that it begins."""
        return is_known(self.trip_count) and is_known(self.condition)

    @property
    def deciding(self) -> list[Value]:
        """
        What has to be known of a loop that is not written out: how often it runs and whether it begins. Where
        that does not say how it ends, the state too, of which each value has a program of its own.
        """
        first = [self.trip_count, self.condition]
        return first if self.context.run.sources_of(first) else [*first, *self.state]

    def counted(self) -> list[Value]:
        """Returns the results where the number of rounds is known. Raises _Undecided where it is not."""
        count: Any = None if self.trip_count is None else ints(self.trip_count)[0]
        if self.condition is not None and not bool(self.condition.reshape(())):
            count = 0
        is_number = isinstance(count, int)
        is_short = count is None or (is_number and 0 < count <= _MOST_UNROLLED)
        if is_short or (is_number and count > 0 and is_known(self.state)):
            return self._unrolled(_MOST_ROUNDS if count is None else count, count is None)
        if not self.n_stacks and is_number and count <= 0:
            return list(self.state)
        try:
            return self._scanned(max(count, 0) if is_number else count)
        except _DIFFERENT:
            if not is_number or not 0 < count <= _MOST_ROUNDS:
                raise
            return self._unrolled(count, False)

    def _round(self, number: Value, state: Sequence[Value]) -> tuple[Value, list[Value], list[Value]]:
        results = self.context.run_graph(self.body, [number, np.array(True), *state])
        n_state = len(self.state)
        return results[0], results[1 : 1 + n_state], results[1 + n_state :]

    def _unrolled(self, count: int, is_endless: bool) -> list[Value]:
        state: list[Value] = self.state
        stacks: list[list[Value]] = [[] for _ in range(self.n_stacks)]
        for number in range(count):
            goes_on, state, outputs = self._round(np.array(number, np.int64), state)
            for stack, output in zip(stacks, outputs, strict=True):
                stack.append(output)
            if not is_known(goes_on):
                raise _Undecided(f"{self.context.who}: whether it goes on is known at each call only")
            if not bool(goes_on.reshape(())):
                break
        else:
            if is_endless:
                raise TenonError(f"{self.context.who}: a loop that does not end")
        return [*state, *[_stacked(self.context, stack) for stack in stacks]]

    def _scanned(self, count: Any) -> list[Value]:
        def one(state: Any, number: Any) -> Any:
            goes_on, following, outputs = self._round(number, state)
            if not is_known(goes_on) or not bool(goes_on.reshape(())):
                raise _Undecided(f"{self.context.who}: whether it goes on is known at each call only")
            return _lifted(self.context, following), _lifted(self.context, outputs)

        numbers = tnp.arange(count, dtype=np.dtype(np.int64))
        state, stacks = traced_scan(one, _lifted(self.context, self.state), numbers)
        return [*state, *stacks]

    def open_ended(self) -> list[Value]:
        """Returns the results of a loop that ends when its values say so."""
        if self.n_stacks:
            raise TypeError("how long its results are is known at each call only")
        begins = np.array(True) if self.condition is None else self.condition
        limit = None if self.trip_count is None else _scalar(self.context, self.trip_count)

        def goes_on(carried: Any) -> Any:
            number, more, _ = carried
            return more if limit is None else tnp.logical_and(more, tnp.less(number, limit))

        def one(carried: Any) -> Any:
            number, _, state = carried
            more, following, _ = self._round(number, state)
            return tnp.add(number, 1), _scalar(self.context, more), _lifted(self.context, following)

        first = self.context.lift(np.array(0, np.int64))
        initial = (first, _scalar(self.context, begins), _lifted(self.context, self.state))
        return list(while_loop(goes_on, one, initial)[2])


def _stacked(context: Context, values: Sequence[Value]) -> Value:
    """Returns what a loop gave in each round along a new axis."""
    if all(is_known(value) and not has_extents(value) for value in values):
        return np.stack(cast(Any, values))
    return tnp.stack(_lifted(context, values))


@onnx_op("Scan", since=9, raw=True)
def scan(
    *inputs: Value,
    body: Any,
    num_scan_inputs: int,
    scan_input_axes: list[int] | None = None,
    scan_input_directions: list[int] | None = None,
    scan_output_axes: list[int] | None = None,
    scan_output_directions: list[int] | None = None,
    context: Context,
) -> tuple[Value, ...]:
    """Runs a graph on the slices of arrays, one after the other, and stacks what it gives."""
    n_state = len(inputs) - num_scan_inputs
    if n_state < 0 or not num_scan_inputs:
        raise TenonError(f"{num_scan_inputs} scan inputs among {len(inputs)}")
    axes = scan_input_axes or [0] * num_scan_inputs
    directions = scan_input_directions or [0] * num_scan_inputs
    sources = [
        _turned(tnp.moveaxis(array, axis_of("Scan", axis, len(array.shape)), 0), direction)
        for array, axis, direction in zip(_lifted(context, inputs[n_state:]), axes, directions, strict=True)
    ]
    initial = _lifted(context, inputs[:n_state])

    def one(state: Any, slices: Any) -> Any:
        results = _lifted(context, context.run_graph(body, [*state, *slices]))
        return results[:n_state], results[n_state:]

    try:
        state, stacks = traced_scan(one, initial, sources)
    except (*_DIFFERENT, ValueNeeded):
        state, stacks = _written_out(one, initial, sources)
    stacks = cast("list[Any]", stacks)
    axes = scan_output_axes or [0] * len(stacks)
    directions = scan_output_directions or [0] * len(stacks)
    found = [
        tnp.moveaxis(_turned(stack, direction), 0, axis)
        for stack, axis, direction in zip(stacks, axes, directions, strict=True)
    ]
    return (*cast("list[Any]", state), *found)


def _turned(x: Any, direction: int) -> Any:
    return tnp.flip(x, axis=0) if direction else x


def _written_out(one: Callable[[Any, Any], Any], state: Any, sources: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Returns the results of rounds that are traced one by one, as their shapes differ."""
    count: Any = sources[0].shape[0]
    if not isinstance(count, int) or not 0 < count <= _MOST_ROUNDS:
        raise TenonError(f"rounds of different shapes, {count} of them")
    outputs: list[Any] = []
    for number in range(count):
        state, found = one(state, [source[number] for source in sources])
        outputs.append(found)
    return state, [tnp.stack(list(column)) for column in zip(*outputs, strict=True)]


@onnx_op("Scan", since=8, raw=True)
def scan_of_batches(
    *inputs: Value,
    body: Any,
    num_scan_inputs: int,
    directions: list[int] | None = None,
    context: Context,
) -> tuple[Value, ...]:
    """As `scan`, for each of a batch, which is the first axis of all arrays. All sequences are as long."""
    if len(inputs) < 2:
        raise TenonError(f"{len(inputs)} inputs, expected the lengths, which may be left out, and a sequence")
    if inputs[0] is not None:
        raise TenonError("sequences of several lengths are not supported")
    arrays = _lifted(context, inputs[1:])
    batch = arrays[0].shape[0] if arrays[0].shape else None
    if not isinstance(batch, int) or not 0 < batch <= _MOST_ROUNDS:
        raise TenonError(f"a batch of {batch}")
    if any(not array.shape or array.shape[0] != batch for array in arrays):
        raise TenonError(f"shapes {[array.shape for array in arrays]}, of one batch")
    rows = [
        scan(
            *[array[number] for array in arrays],
            body=body,
            num_scan_inputs=num_scan_inputs,
            scan_input_directions=directions,
            context=context,
        )
        for number in range(batch)
    ]
    return tuple([tnp.stack(list(column)) for column in zip(*rows, strict=True)])

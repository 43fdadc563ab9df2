"""A trace that was compiled: it is called with plain arrays, and gives arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from ...compiler.compile import Executable, compile_own, compiled_here
from ...compiler.source import Unseparated
from ...errors import CallError, TenonError
from ...runtime.timeline import timeline
from ..arrays.array import Array
from ..arrays.aval import Aval, aval_of
from ..arrays.concrete import ConcreteArray, NumpyArray, array_of_values
from ..tracing.leaves import check_range, values_of
from ..tracing.source_lines import frame_text, user_location, with_excerpt
from ..tracing.trace import Captured, Trace
from .preparation import prepared

DirectCall = Callable[[tuple[Any, ...], None], Any]


class CompiledTrace:
    """
    What a finished trace became. `run` takes the plain values of the arguments, in order, and gives arrays;
    the arrays that the trace captured are read at each call. What the program makes of frozen arrays is made
    here, and given to it besides. What it makes of frozen arguments `preparation` makes, which the caller
    runs on their values, all in their order, and gives to `run` behind the arguments.
    """

    __slots__ = (
        "captured",
        "direct",
        "executable",
        "is_dynamic",
        "preparation",
        "prepared",
        "ranges",
        "result_avals",
    )

    def __init__(
        self,
        trace: Trace,
        result_avals: Sequence[Aval],
        module: ModuleOp | None = None,
        captured: Sequence[Captured] | None = None,
        **options: Any,
    ) -> None:
        """`module` and `captured` take the places of what was traced."""
        options["callbacks"] = trace.callbacks
        self.captured = trace.captured_arrays() if captured is None else tuple(captured)
        frozen = [self.captured[number].values for number in trace.frozen]
        module = module or trace.module
        self.preparation: Executable | None = None
        self.prepared: tuple[NumpyArray, ...] = ()
        if trace.frozen_arguments:
            assert not self.captured, "a trace of frozen arguments that captured arrays"
            self.executable, self.preparation = _compile_apart(module, True, **options)
        else:
            self.executable, self.prepared = compile_with_frozen(module, frozen, **options)
        self.captured = (*self.captured, *self.prepared)
        self.result_avals = tuple(result_avals)
        self.is_dynamic = any(not aval.is_static for aval in self.result_avals)
        if len(trace.frozen) == len(trace.captured) > 0:
            self.captured = FixedValues(values_of_captured(self.captured))
        self.ranges = tuple(trace.ranges)
        self.direct: DirectCall | None = self.executable.direct_call

    @property
    def fixed_values(self) -> Sequence[Any]:
        """The values, now, of what the program takes besides the arguments of a call."""
        return values_of_captured(self.captured)

    @property
    def is_simple(self) -> bool:
        """Whether a call takes no more than the values of the arguments, and gives one array."""
        return not self.captured and not self.is_dynamic and len(self.result_avals) == 1

    def run(self, values: Sequence[Any]) -> list[ConcreteArray]:
        """
        Returns the results for plain values of the arguments.

        Raises:
            CallError: a captured array has another shape or dtype than it had.
            DeviceError: the device failed.
        """
        arguments = tuple(values)
        if self.captured:
            arguments = (*values, *values_of_captured(self.captured))
        results: Any = None
        if self.direct is not None and timeline.CURRENT[0] is None:
            results = self.direct(arguments, None)
        if results is None:
            results = self._called(arguments)
        return self.arrays_of(results)

    def arrays_of(self, results: Any) -> list[ConcreteArray]:
        """Returns what the program gave, one plain array or a tuple of them, as arrays."""
        found: tuple[Any, ...] = (results,) if len(self.result_avals) == 1 else results
        avals = self.result_avals
        if self.is_dynamic:
            avals = [
                aval_of(each.dtype, each.shape, aval.weak) for each, aval in zip(found, avals, strict=True)
            ]
        return [array_of_values(each, aval) for each, aval in zip(found, avals, strict=True)]

    def _called(self, arguments: tuple[Any, ...]) -> Any:
        """Calls the program with all its checks; errors are at the user's line."""
        try:
            return self.executable(*arguments)
        except CallError as error:
            if error.location is None:
                error.location = frame_text(user_location())
            raise with_excerpt(error) from None

    def check_ranges(self, leaves: Sequence[Any]) -> None:
        """Raises OverflowError where a Python integer does not fit the dtype that the program gives it."""
        for number, dtype in self.ranges:
            if not isinstance(leaves[number], Array):  # What is computed wraps, in a program too.
                check_range(leaves[number], dtype)


class FixedValues(tuple[Any, ...]):
    """The values of captured arrays that are all frozen, and what was made of them."""

    __slots__ = ()


def values_of_captured(captured: Sequence[Captured]) -> Sequence[Any]:
    """Returns what captured arrays, or what finds them, have for values now."""
    if captured.__class__ is FixedValues:
        return captured
    return [values_of(array() if callable(array) else array) for array in captured]


def array_now(captured: Captured) -> Any:
    """Returns a captured array, or the one that is now where it is read from."""
    return captured() if callable(captured) else captured


def compile_with_frozen(
    module: ModuleOp, frozen: Sequence[NumpyArray], **options: Any
) -> tuple[Executable, tuple[NumpyArray, ...]]:
    """
    Returns the program of a module with one function, and what it takes besides that function's arguments:
    what is made of the `frozen` ones, in their order.
    """
    executable, preparation = _compile_apart(module, bool(frozen), **options)
    if preparation is None:
        return executable, ()
    # Where code for another processor is wanted, this one makes what that is given.
    with compiled_here(preparation) as here:
        return executable, prepared(here, frozen)


def _compile_apart(module: ModuleOp, is_frozen: bool, **options: Any) -> tuple[Executable, Executable | None]:
    """
    Returns the program of a module with one function, and the one that makes of the frozen arguments what
    that takes besides them all; None where that is nothing.
    """
    function = module.body.block.last_op
    assert isinstance(function, func.FuncOp), "a module that ends with no function"
    unseparated = Unseparated()
    if is_frozen and options.get("pipeline") is None:
        options |= {"part": "rest", "unseparated": unseparated}
    executable = compile_module(module, **options)
    preparation: Executable | None = None
    if len(executable.argument_names) > len(function.body.block.args):
        options |= {"part": "preparation", "specialize": None}
        preparation = compile_module(module, **options)
    # Where nothing is prepared.
    unseparated.taken()
    return executable, preparation


def compile_module(module: ModuleOp, **options: Any) -> Any:
    """As `tenon.compile`, of a module that nobody changes; errors show the user's line."""
    try:
        return compile_own(module, **options)
    except TenonError as error:
        raise with_excerpt(error) from None

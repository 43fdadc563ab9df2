"""A trace: a function of `graph` that is being written by a Python function which runs, and its arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FileLineColLoc, FunctionType, ModuleOp, UnitAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ...algorithms.emitter import Emitter
from ...dialects import graph
from ...dialects.graph.base import set_fastmath
from ...dialects.modules.argument_marks import DONATED, FROZEN
from ...errors import TracingError
from ...semantics.numpy_types import dense_of
from ..arrays.array import Array, function
from ..arrays.aval import Aval, aval_of, dtype_of_type, shape_of_type
from ..arrays.promotion import kind_of
from ..arrays.tracing_state import ENTERED, STACK
from .source_lines import frame_text, user_location, with_excerpt
from .traced_extent import traced

if TYPE_CHECKING:
    from .host_callback import HostCallback

NumpyArray = npt.NDArray[Any]

Captured = Any
"""An array, or a function that gives the one which is in some place now."""

LARGEST_CONSTANT = 256
"""The most bytes of an array that becomes part of the program; a larger one is an argument of it."""


def current_trace() -> Trace | None:
    """Returns the trace that is written by this thread, the innermost one."""
    if not ENTERED[0]:
        return None
    traces = STACK.traces
    return cast(Trace, traces[-1]) if traces else None


class Scope:
    """A block that is written: of the function itself, or of a region inside it."""

    __slots__ = ("block", "constants", "is_open", "parent", "what")

    def __init__(self, block: Block, parent: Scope | None, what: str):
        self.block = block
        self.what = what
        self.parent = parent
        self.is_open = True
        self.constants: dict[Any, TracedArray] = {}


class Trace:
    """
    Writes one function. `with trace:` makes it the one of this thread; afterwards no array of it can be used.
    Arguments are added by `argument`, ops by `add`; `finish` makes the module.
    """

    def __init__(
        self,
        name: str,
        declarations: Sequence[Operation] = (),
        fastmath: FastMathFlagsAttr | None = None,
    ) -> None:
        self.name = name
        self.fastmath = fastmath
        """The flags that all float ops get."""
        self.module = ModuleOp(list(declarations))
        """The module with the function, which `finish` puts there, after the declarations that it takes."""
        self.location = user_location()
        self.block = Block()
        self.scope = Scope(self.block, None, "its trace")
        self.thread = threading.get_ident()
        self.captured: list[tuple[Captured, TracedArray]] = []
        """Arrays from outside that are arguments of the program, with what stands for them."""
        self.captured_shardings: dict[int, Any] = {}
        """How those among them are split that are spread over the mesh, by their numbers."""
        self.frozen: list[int] = []
        """The numbers of those among them that are frozen."""
        self.frozen_arguments: list[int] = []
        """The numbers of other arguments that are: who calls keeps what is made of them until they change."""
        self.ranges: dict[tuple[int, np.dtype[Any]], None] = {}
        """The numbers of arguments that are Python integers, with dtypes that must hold them."""
        self.counted: dict[SSAValue, tuple[int | None, int | None]] = {}
        """The least and the greatest of integers that count the rounds of loops, where these are known."""
        self.watched: dict[int, Callable[[], Any]] = {}
        """By the ids of arrays: what reads them at each call, from places outside of the function."""
        self.values_read: set[int] = set()
        """The ids of arrays whose values the function read: the program is for these values only."""
        self.place: FileLineColLoc | None = None
        """Where ops come from that are of another program, which is translated; else the user's line."""
        self.has_effects = False
        """Whether the function does more than to compute results."""
        self.mesh: Any = None
        """The mesh that arrays of it are split over, where they are."""
        self.callbacks: dict[str, HostCallback] = {}
        """The functions that the program calls, by the names that it has for them."""
        self._captured: dict[int, TracedArray] = {}
        self._scalars: dict[SSAValue, bool | int | float] = {}

    def __enter__(self) -> Trace:
        STACK.traces.append(self)
        ENTERED[0] += 1
        return self

    def __exit__(self, *exception: object) -> None:
        ENTERED[0] -= 1
        popped = STACK.traces.pop()
        assert popped is self, "traces are left in another order than they are entered"
        scope: Scope | None = self.scope
        while scope is not None:
            scope.is_open = False
            scope = scope.parent

    def new_scope(self, block: Block, what: str) -> Scope:
        """Returns a block that lies in the one that is written now; `what` is what errors call it."""
        return Scope(block, self.scope, what)

    def argument(self, aval: Aval, name: str, frozen: bool = False) -> TracedArray:
        """Adds an argument of the function; what is made of a `frozen` one alone is made apart."""
        if frozen:
            self.frozen_arguments.append(len(self.block.args))
        value = self.block.insert_arg(aval.type, len(self.block.args))
        value.name_hint = _identifier(name)
        value.location = self.location
        root = self.scope
        while root.parent is not None:
            root = root.parent
        return TracedArray(self, root, value, aval)

    def add(self, op: Operation, weak: bool = False, aval: Aval | None = None) -> TracedArray:
        """
        Adds an op with one result, of the user's line that asks for it, and returns that. `aval` is what
        stands for the result, where that is known.
        """
        op.location = self.place or user_location()
        self.scope.block.add_op(op)
        value = op.results[0]
        if aval is None:
            aval = aval_of(dtype_of_type(cast(Any, value.type)), shape_of_type(value.type), weak)
        return TracedArray(self, self.scope, value, aval)

    def add_all(self, op: Operation, avals: Sequence[Aval]) -> list[TracedArray]:
        """Adds an op of the user's line, and returns its results, for which `avals` stand."""
        op.location = self.place or user_location()
        self.scope.block.add_op(op)
        return [
            TracedArray(self, self.scope, value, aval) for value, aval in zip(op.results, avals, strict=True)
        ]

    def write(self, who: str, algorithm: Callable[[Emitter], Sequence[SSAValue]]) -> list[TracedArray]:
        """Lets an algorithm add ops, of the user's line and with `who` in errors; returns what it gives."""
        emitter = Emitter(self.scope.block, who)
        emitter.location = self.place or user_location()
        return [
            TracedArray(
                self,
                self.scope,
                value,
                aval_of(dtype_of_type(cast(Any, value.type)), shape_of_type(value.type)),
            )
            for value in algorithm(emitter)
        ]

    def callback(self, function: HostCallback) -> str:
        """Returns what the program calls a function: its own name, with a number where others have that."""
        for name, known in self.callbacks.items():
            if known == function:
                return name
        wanted = name = _identifier(function.name)
        number = 0
        while name in self.callbacks:
            number += 1
            name = f"{wanted}_{number}"
        self.callbacks[name] = function
        return name

    def is_for_host(self, reader: object) -> bool:
        """Returns whether a function, or one with that code, is one that the program calls when it runs."""
        return reader is not None and any(callback.is_of(reader) for callback in self.callbacks.values())

    def constant(self, values: NumpyArray, weak: bool = False) -> TracedArray:
        """
        Returns a constant of the program: one for equal values. The values are copied.

        Raises:
            TenonError: there are no arrays of its dtype.
        """
        key = (values.dtype, values.shape, values.tobytes(), weak)
        scope: Scope | None = self.scope
        while scope is not None:
            found = scope.constants.get(key)
            if found is not None:
                return found
            scope = scope.parent
        aval = aval_of(values.dtype, values.shape, weak)
        result = self.add(graph.ConstantOp(dense_of(values, aval.type)), weak)
        self.scope.constants[key] = result
        if weak and not values.shape:
            self._scalars[result.value] = values.item()
        return result

    def capture(self, array: NumpyArray | Array, sharding: Any = None) -> TracedArray:
        """
        Returns what stands for an array that the function finds outside of its arguments: an argument of the
        program, whose values are read at each call. Small arrays of Tenon's, which are immutable, are
        constants instead. `sharding` says how one that is spread over the mesh is split.
        """
        from ..arrays.concrete import ConcreteArray, as_concrete, is_frozen

        read = self.watched.get(id(array))
        frozen = is_frozen(array)
        if frozen:
            # The program has what was made of these elements: another array in its place is another program.
            self.values_read.add(id(array))
            read = None
        if read is None and isinstance(array, ConcreteArray) and array.nbytes <= LARGEST_CONSTANT:
            return self.constant(array.values, array.weak)
        found = self._captured.get(id(array))
        if found is None:
            aval = array.aval if isinstance(array, Array) else as_concrete(array).aval
            found = self._captured[id(array)] = self.argument(aval, f"captured{len(self.captured)}")
            if frozen:
                self.frozen.append(len(self.captured))
            if sharding is not None:
                self.captured_shardings[len(self.captured)] = sharding
            self.captured.append((array if read is None else read, found))
        return found

    def depends_on_values(self, array: object, is_viewed: bool) -> bool:
        """
        Returns whether the program is for the values that an array had: the function read them, or did with
        a numpy array what is not seen, as the program does not read it, nor a view that `is_viewed` of it.
        """
        number = id(array)
        if number in self.values_read:
            return True
        return isinstance(array, np.ndarray) and not is_viewed and number not in self._captured

    def with_weakness(self, x: TracedArray, weak: bool) -> TracedArray:
        """Returns the same value as one that gives way to other dtypes, or does not."""
        return TracedArray(self, x.scope, x.value, aval_of(x.aval.dtype, x.aval.shape, weak))

    def scalar_cast(self, x: TracedArray, dtype: np.dtype[Any]) -> TracedArray | None:
        """
        Returns a Python scalar that is a constant of the trace in another dtype, and None for all else. Notes
        that a Python integer which is an argument must fit that dtype at each call.

        Raises:
            OverflowError: the integer does not fit.
        """
        value = x.value
        if value in self._scalars and kind_of(x.aval.dtype) <= kind_of(dtype):
            with np.errstate(over="ignore"):  # As in the program, a float that is too large is infinite.
                scalar = np.array(self._scalars[value], dtype)
            return self.constant(scalar)
        if not isinstance(value, BlockArgument) or value.block is not self.block:
            return None
        is_scalar = not x.aval.shape and value.index < self.argument_count
        if is_scalar and x.aval.dtype.kind in "iu" and dtype.kind in "iu":
            self.ranges[value.index, dtype] = None
        return None

    @property
    def argument_count(self) -> int:
        """How many arguments there are that are no captured arrays."""
        return len(self.block.args) - len(self.captured)

    def captured_arrays(self) -> tuple[Captured, ...]:
        """Returns the arrays that the last arguments of the program stand for, or what reads them."""
        return tuple([array for array, _ in self.captured])

    def finish(self, results: Sequence[TracedArray], donated: Sequence[int] = ()) -> None:
        """Ends the function, which gives `results`; `donated` are the numbers of arguments it may use up."""
        location = self.location
        returned = func.ReturnOp(*[result.value for result in results])
        returned.location = location
        self.block.add_op(returned)
        type = FunctionType.from_lists(
            [argument.type for argument in self.block.args], [result.aval.type for result in results]
        )
        function = func.FuncOp(_identifier(self.name), type, Region([self.block]))
        marks = dict.fromkeys(donated, _DONATED) | dict.fromkeys(self.frozen_arguments, _FROZEN)
        for number in self.frozen:
            marks[cast(BlockArgument, self.captured[number][1].value).index] = _FROZEN
        if marks:
            attributes = [marks.get(number, _UNMARKED) for number in range(len(self.block.args))]
            function.properties["arg_attrs"] = ArrayAttr(attributes)
        function.location = location
        self.module.body.block.add_op(function)
        if self.fastmath is not None:
            set_fastmath(function, self.fastmath)
        for op in (self.module, *self.module.body.block.ops):
            op.location = location

    def error(self, message: str) -> TracingError:
        """Returns an error at the user's line."""
        error = TracingError(message, location=frame_text(user_location()))
        with_excerpt(error)
        return error


_UNMARKED = DictionaryAttr({})
_DONATED = DictionaryAttr({DONATED: UnitAttr()})
_FROZEN = DictionaryAttr({FROZEN: UnitAttr()})


def _identifier(name: str) -> str:
    text = "".join(char if char.isascii() and (char.isalnum() or char == "_") else "_" for char in name)
    return f"f_{text}" if not text or text[0].isdigit() else text


class TracedArray(Array):
    """
    A value of a function that is being traced. It has a dtype and a shape; reading its elements is a
    `TracingError` that names the line and says what to do. After the trace it cannot be used at all.
    """

    __slots__ = ("scope", "trace", "value")

    def __init__(self, trace: Trace, scope: Scope, value: SSAValue, aval: Aval):
        self.trace = trace
        self.scope = scope
        self.value = value
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        shape = self.aval.shape
        return shape if self.aval.is_static else tuple(map(traced, shape))

    def check_usable(self) -> None:
        """Raises TracingError where the trace is over, or written by another thread."""
        if not self.scope.is_open:
            raise self.trace.error(
                f"an array of shape {self.shape} of @{self.trace.name} is used after {self.scope.what} ended "
                "(hint: return it; do not keep it in a global, an attribute or a container)"
            )
        if self.trace.thread != threading.get_ident():
            raise self.trace.error(
                f"an array of the trace of @{self.trace.name} is used in another thread "
                "(hint: start threads outside of the function, each with a trace of its own)"
            )

    def _no_value(self, what: str, hint: str) -> NoReturn:
        raise self.trace.error(
            f"{what}: the values of an array of dtype {self.dtype} and shape {self.shape} are not known "
            f"while @{self.trace.name} is traced (hint: {hint})"
        )

    def __bool__(self) -> bool:
        self._no_value(
            "bool",
            "tenon.numpy.where or tenon.cond instead of if, tenon.while_loop instead of while, & and | "
            "instead of and and or, or a static argument",
        )

    def __int__(self) -> int:
        self._no_value("int", "x.astype, or a static argument")

    def __float__(self) -> float:
        self._no_value("float", "x.astype, or a static argument")

    def __complex__(self) -> complex:
        self._no_value("complex", "compute it outside of the function")

    def __index__(self) -> int:
        self._no_value("index", "tenon.numpy.take for an element, a static argument for an extent or a range")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self._no_value(
            "numpy",
            "the function of tenon.numpy instead of numpy's; where an array of numpy's is indexed, "
            "tenon.numpy.asarray(a)[i]",
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **named: Any) -> Any:
        """Numpy's ufuncs are those of `tenon.numpy`, where that has them."""
        found = _namesake(ufunc.__name__) if method == "__call__" and not named else None
        if found is None:
            asked = ", ".join(named)
            self._no_value(
                f"numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method}",
                f"a function of tenon.numpy{', which takes no ' + asked if asked else ''}",
            )
        return found(*inputs)

    def __array_function__(self, called: Any, types: Any, arguments: Any, named: Any) -> Any:
        """Numpy's functions are those of `tenon.numpy`, where that has them."""
        found = _namesake(called.__name__)
        if found is None:
            self._no_value(f"numpy.{called.__name__}", "functions of tenon.numpy")
        return found(*arguments, **named)

    def __dlpack__(self, **named: Any) -> NoReturn:
        self._no_value("dlpack", "return the array, and hand over what the call gives")

    def item(self, *index: int) -> NoReturn:
        """Raises TracingError: there is no value."""
        self._no_value("item", "return the array, and read what the call gives")

    def tolist(self) -> NoReturn:
        """Raises TracingError: there are no values."""
        self._no_value("tolist", "return the array, and read what the call gives")

    def numpy(self) -> NoReturn:
        """Raises TracingError: there are no values."""
        self._no_value("numpy", "return the array, and read what the call gives")

    def __reduce__(self) -> NoReturn:
        self._no_value("pickle", "return the array, and pickle what the call gives")

    def __copy__(self) -> TracedArray:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TracedArray:
        return self

    def __repr__(self) -> str:
        return f"<traced {self.aval} of @{self.trace.name}>"

    def __format__(self, spec: str) -> str:
        if spec:
            self._no_value("format", "print what the call gives")
        return repr(self)


def _namesake(name: str) -> Any:
    try:
        return function(name)
    except AttributeError:
        return None

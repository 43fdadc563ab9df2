"""Arrays that stand for values which are not known yet."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from xdsl.ir import SSAValue

from ..arrays.array import Array, function
from ..arrays.aval import Aval
from .extents import traced
from .trace import Scope, Trace


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
        self._no_value("numpy", "the function of tenon.numpy instead of numpy's")

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

"""`tenon.from_onnx`: a model in an ONNX file as a function of arrays."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Any, cast

import numpy as np

from ...dialects import graph
from ...errors import CallError, TenonError
from ..arrays.array import Array
from ..arrays.aval import aval_of
from ..arrays.concrete import ConcreteArray
from ..calls.compiled_trace import CompiledTrace
from ..jit.dims import Dim
from ..tracing.trace import Trace, TracedArray, current_trace
from . import fusions as fusions  # The rooms register what ops are.
from . import layers as layers
from . import ops as ops
from . import quantised as quantised
from .call_inputs import CallInputs
from .call_program import CallProgram, Computed, mapped
from .coverage import check_supported
from .functions import Functions, opsets_of
from .graphs import Frame, Run, Scope, add_initializers, run_graph
from .loading import graph_inputs, load_model
from .storage import carried, carrier_of, stored, stored_array
from .tensors import TensorReader
from .values import GraphInput, NumpyArray, Value, ValueNeeded, is_known, leaves_of

_MOST_PROGRAMS = 64
"""How many programs are kept for one model: the one that was used the longest ago goes."""


def from_onnx(
    model: Any,
    *,
    backend: str = "llvm",
    target: str | None = None,
    pipeline: str | None = None,
    dims: Mapping[str, int | Dim] | None = None,
) -> OnnxModel:
    """
    Returns a model as a function of arrays. `model` is the path of a file, its bytes, or a `ModelProto`.

        classify = tenon.from_onnx("model.onnx")
        scores = classify(images)

    Initializers are frozen: what a program makes of them alone is made once. Tensors in files beside the
    model are mapped into memory. Dims that the model names are left open, one program serves their extents
    from 1 to 65536; `dims` says of such a name what bounds it has instead (a `Dim`), or which number it is.
    Where ops ask for more of an extent than its bounds tell, and where a dim has no name, each shape gets its
    own program. So does each value of an input that shapes are computed from.

    `backend`, `target` and `pipeline` are as in `tenon.jit`.

    Raises:
        TenonError: there is no such file, it holds no model, or the model has ops or types that are not
            supported: it lists all ops.
        TypeError: `model` is none, or a dim neither a number nor a `Dim`.
        ValueError: the model has no dim that `dims` names.
        MissingExtraError: the package onnx is not installed.
    """
    proto, external = load_model(model)
    check_supported(proto)
    options = {"backend": backend, "target": target, "pipeline": pipeline}
    return OnnxModel(proto, TensorReader(external), options, dims or {})


class OnnxModel:
    """
    A model that is called with arrays: numpy's, Tenon's, or others that DLPack hands over. It gives numpy
    arrays, a tuple where the model has several results. Made by `from_onnx`. Threads may share it.
    """

    def __init__(
        self,
        proto: Any,
        reader: TensorReader,
        options: Mapping[str, Any],
        dims: Mapping[str, int | Dim],
    ) -> None:
        self._graph = proto.graph
        self._reader = reader
        self._functions = Functions(proto.functions)
        self._opsets = opsets_of(proto.opset_import) or {"": 1}
        self._options = dict(options)
        self.name: str = proto.graph.name or "model"
        given = {tensor.name for tensor in proto.graph.initializer}
        inputs = graph_inputs(proto.graph.input)
        self.inputs = tuple([each for each in inputs if each.name not in given])
        """What a call takes, in order."""
        self._taken = CallInputs(self.name, self.inputs, dims)
        self.outputs = tuple(graph_inputs(proto.graph.output))
        """What a call gives, in order."""
        self._by_value: frozenset[str] = frozenset()
        """The inputs for the values of which programs are made."""
        self._folds_all = False
        self._why_static: str | None = None
        self._initializers: dict[int, tuple[Any, NumpyArray]] = {}
        self._programs: OrderedDict[Any, CallProgram] = OrderedDict()
        self._lock = Lock()

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, each)) for each in (self.inputs, self.outputs))
        return f"<ONNX model {self.name} ({inputs}) -> ({outputs})>"

    @property
    def dims(self) -> Mapping[str, int | Dim]:
        """What each named dim of the inputs is, by what the model calls it."""
        return dict(self._taken.dims)

    @property
    def initializers(self) -> list[tuple[str, NumpyArray]]:
        """The initializers that were read so far, with their names."""
        return [(tensor.name, array) for tensor, array in self._initializers.values()]

    @property
    def n_programs(self) -> int:
        """How many programs there are: one for each kind of call."""
        return len(self._programs)

    @property
    def notes(self) -> list[str]:
        """What calls found out so far that programs depend on, besides the dtypes."""
        found: list[str] = []
        if self._by_value:
            found.append(f"a program for each value of {', '.join(sorted(self._by_value))}")
        if self._why_static is not None:
            found.append(f"a program for each shape: {self._why_static}")
        return found

    def __call__(self, /, *inputs: Any, **named: Any) -> Any:
        """
        Returns the results for inputs, in order or by name.

        Raises:
            CallError: the inputs do not fit.
            TenonError: an op does not take what it is given, which names the node.
            DeviceError: the device failed.
        """
        results = self.run(self.bound(inputs, named))
        return results[0] if len(results) == 1 else tuple(results)

    def bound(self, inputs: tuple[Any, ...], named: Mapping[str, Any]) -> list[Any]:
        """Returns the inputs of a call in order. Raises CallError where one is missing or not known."""
        return self._taken.bound(inputs, named)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        """Returns all results, in order, for all inputs, in order; the errors are those of a call."""
        if current_trace() is not None and any(isinstance(each, Array) for each in inputs):
            return self.inlined(inputs)
        values = [self._taken.checked(info, value) for info, value in zip(self.inputs, inputs, strict=True)]
        program = self._program(values)
        return program.run([carried(leaf) for value in values for leaf in leaves_of(value)])

    def _program(self, values: Sequence[Value]) -> CallProgram:
        """Returns the program for a call, made if there is none."""
        extents = self._taken.extents(values)
        with self._lock:
            while True:
                is_static = bool(self._why_static or self._by_value) or self._taken.is_outside(extents)
                pairs = zip(self.inputs, values, strict=True)
                key = tuple([self._key(info, value, is_static) for info, value in pairs])
                found = self._programs.get(key)
                if found is not None:
                    self._programs.move_to_end(key)
                    return found
                try:
                    made = self._made(values, is_static)
                except ValueNeeded as error:
                    self._note_needed(error)
                    continue
                except TenonError as error:
                    if is_static or not extents:
                        raise
                    self._why_static = error.message
                    continue
                self._programs[key] = made
                if len(self._programs) > _MOST_PROGRAMS:
                    self._programs.popitem(last=False)
                return made

    def _note_needed(self, error: ValueNeeded) -> None:
        """Makes programs for the values of more inputs. Raises the error where that changes nothing."""
        if not error.inputs <= self._by_value:
            self._by_value |= error.inputs
        elif not self._folds_all:
            self._folds_all = True
        else:
            raise error

    def _key(self, info: GraphInput, value: Value, is_static: bool) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return tuple([self._key(info, each, True) for each in cast("list[Value]", value)])
        if info.name in self._by_value:
            return value.dtype, value.shape, value.tobytes()
        if is_static or info.shape is None or None in info.shape:
            return value.dtype, value.shape
        return value.dtype

    def _made(self, values: Sequence[Value], is_static: bool) -> CallProgram:
        dims = [] if is_static else [dim for dim in self._taken.dims.values() if isinstance(dim, Dim)]
        trace = Trace(self.name, [graph.DimOp(each.name, each.minimum, each.maximum) for each in dims])
        numbers: list[int] = []
        n_leaves = 0
        with trace:
            inputs: list[Value] = []
            run = self._run()
            for info, value in zip(self.inputs, values, strict=True):

                def argument(leaf: NumpyArray, info: GraphInput = info) -> Value:
                    nonlocal n_leaves
                    n_leaves += 1
                    if info.name in self._by_value:
                        return leaf
                    numbers.append(n_leaves - 1)
                    shape = leaf.shape if is_static else self._taken.open_shape(info, leaf.shape)
                    aval = aval_of(carrier_of(leaf.dtype), shape)
                    array = stored(trace.argument(aval, info.name), leaf.dtype)
                    run.note_sources(array, frozenset([info.name]))
                    return array

                inputs.append(mapped(value, argument))
            results = self._results(run, inputs)
            traced: list[TracedArray] = []
            kept = [self._kept(run, trace, each, traced) for each in results]
            trace.finish(traced)
        avals = [each.aval for each in traced]
        compiled = CompiledTrace(trace, avals, **self._options) if traced or trace.has_effects else None
        return CallProgram(compiled, tuple(numbers), tuple(kept))

    def _run(self) -> Run:
        run = Run(self._reader, self._functions, self._folds_all)
        run.initializers = self._initializers
        return run

    def _results(self, run: Run, inputs: Sequence[Value]) -> list[Value]:
        scope = Scope(Frame(run, self._opsets, {}))
        scope.values.update({info.name: value for info, value in zip(self.inputs, inputs, strict=True)})
        add_initializers(self._graph, scope)
        return run_graph(self._graph, scope, self.name)

    def _kept(self, run: Run, trace: Trace, value: Value, traced: list[TracedArray]) -> Any:
        """Returns what a program keeps of a result; the arrays that it computes are added to `traced`."""

        def kept(leaf: Any) -> Any:
            dtype: np.dtype[Any] = leaf.dtype
            if is_known(leaf) and dtype.kind != "O":
                return np.array(leaf)
            traced.append(stored_array(run.lifting.lift(trace, leaf)))
            return Computed(len(traced) - 1, np.dtype(np.int64) if dtype.kind == "O" else dtype)

        return mapped(value, kept)

    def inlined(self, inputs: Sequence[Any]) -> list[Any]:
        """
        Returns the results as arrays of the trace that is being written, of which the model is a part.

        Raises:
            CallError: the inputs, some of which may be arrays with values, do not fit.
            TenonError: an op does not take what it is given, or needs values (`ValueNeeded`).
        """
        trace = current_trace()
        assert trace is not None, "inlined outside of a trace"
        run = self._run()
        values: list[Value] = []
        for info, value in zip(self.inputs, inputs, strict=True):
            array = value
            if isinstance(value, ConcreteArray):
                array = value.values
            if not isinstance(array, TracedArray) and array is not None:
                array = self._taken.checked(info, array)
            elif isinstance(array, TracedArray) and info.dtype not in (None, array.dtype):
                raise CallError(f"{self.name}: input '{info.name}' is {array.dtype}, expected {info.dtype}")
            run.note_sources(array, frozenset([info.name]))
            values.append(array)

        def lifted(leaf: Any) -> Any:
            return run.lifting.lift(trace, leaf)

        return [mapped(each, lifted) for each in self._results(run, values)]

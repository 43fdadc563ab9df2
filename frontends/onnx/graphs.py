"""Runs the nodes of a graph: what is known is computed, all else is traced by the rules of the ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from ...errors import TenonError
from ..tracing.trace import TracedArray, current_trace
from .attributes import attribute_value, resolved_attributes
from .folding import folded
from .forms import FormCall, Forms, find_form_rule
from .functions import Functions, ModelFunction
from .registry import Rule, find_numpy_rule, find_rule
from .storage import Stored
from .tensors import TensorReader
from .values import (
    MOST_MADE,
    Lifting,
    NumpyArray,
    Value,
    ValueNeeded,
    has_extents,
    is_known,
    leaves_of,
    size_of,
)

_MOST_FOLDED = 1 << 14
"""The elements up to which known arrays are computed with; weights are left to programs."""

_SPECIAL = frozenset(["n_outputs", "opset", "context", "lift"])
"""The parameters of rules that no attribute goes to."""

_RULE_ERRORS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError)
"""What functions of `tenon.numpy` raise for arguments that do not go together."""


@dataclass(eq=False, slots=True)
class Run:
    """One run through a model, which traces it."""

    reader: TensorReader
    functions: Functions
    folds_all: bool = False
    """Whether everything known is computed with, however large."""
    lifting: Lifting = field(default_factory=Lifting)
    forms: Forms = field(default_factory=Forms)
    initializers: dict[int, tuple[Any, NumpyArray]] = field(default_factory=dict[int, tuple[Any, NumpyArray]])
    """What was read of the model, by the ids of its protos, which are kept as long."""
    _sources: dict[int, tuple[Any, frozenset[str]]] = field(
        default_factory=dict[int, tuple[Any, frozenset[str]]]
    )

    def sources_of(self, values: Sequence[Value]) -> frozenset[str]:
        """Returns the inputs of the model that traced arrays are computed from."""
        found: set[str] = set()
        for value in values:
            for leaf in leaves_of(value):
                known = self._sources.get(id(leaf))
                if known is not None:
                    found |= known[1]
        return frozenset(found)

    def note_sources(self, value: Value, inputs: frozenset[str]) -> None:
        """Notes the inputs that the traced arrays of a value are computed from."""
        for leaf in leaves_of(value):
            if isinstance(leaf, TracedArray | Stored) and id(leaf) not in self._sources:
                self._sources[id(leaf)] = leaf, inputs


@dataclass(frozen=True, slots=True)
class Frame:
    """What names mean in the body of a model, or of a function: ops and attributes."""

    run: Run
    opsets: Mapping[str, int]
    attributes: Mapping[str, Any]
    """The attributes that a function was called with."""
    depth: int = 0


_MOST_NESTED = 64


class Scope:
    """The values of a graph by name, and those of the graphs around it."""

    def __init__(self, frame: Frame, parent: Scope | None = None) -> None:
        self.frame = frame
        self.parent = parent
        self.values: dict[str, Value] = {}

    def __getitem__(self, name: str) -> Value:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.parent
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Context:
    """Where a node lies, for rules that run graphs or ask for more than their inputs."""

    scope: Scope
    who: str

    @property
    def run(self) -> Run:
        return self.scope.frame.run

    def lift(self, value: Value) -> Any:
        """Returns a value as a traced array, or a `Stored` one."""
        trace = current_trace()
        assert trace is not None, "a graph outside of a trace"
        return self.run.lifting.lift(trace, value)

    def run_graph(self, graph: Any, inputs: Sequence[Value]) -> list[Value]:
        """Returns the results of a graph that is an attribute, for its inputs."""
        if len(inputs) != len(graph.input):
            raise TenonError(f"{self.who}: its graph has {len(graph.input)} inputs, expected {len(inputs)}")
        scope = Scope(self.scope.frame, self.scope)
        names = [each.name for each in graph.input]
        scope.values.update(zip(names, inputs, strict=True))
        return run_graph(graph, scope, self.who)

    def needs(self, what: str, values: Sequence[Value]) -> ValueNeeded:
        """Returns the error of a rule that needs values which are not known."""
        inputs = self.run.sources_of(values)
        return ValueNeeded(f"{self.who}: {what} must be known when the model is imported", inputs)


def run_graph(graph: Any, scope: Scope, who: str) -> list[Value]:
    """
    Returns the results of a graph whose inputs `scope` has. Each error names its node.

    Raises:
        TenonError: an op is not supported, or does not take what it is given.
    """
    add_initializers(graph, scope)
    for number, node in enumerate(graph.node):
        _run_node(node, scope, node_name(node, number))
    return [_value(scope, each.name, f"{who}: its result") for each in graph.output]


def add_initializers(graph: Any, scope: Scope) -> None:
    """Adds the initializers of a graph to a scope, but those that an input has taken the place of."""
    run = scope.frame.run
    for tensor in graph.initializer:
        if tensor.name in scope.values:
            continue
        found = run.initializers.get(id(tensor))
        if found is None:
            found = tensor, run.reader.read(tensor, f"initializer '{tensor.name}'")
            run.initializers[id(tensor)] = found
        scope.values[tensor.name] = found[1]
    for sparse in graph.sparse_initializer:
        raise TenonError(f"initializer '{sparse.values.name}' is sparse, which is not supported")


def node_name(node: Any, number: int) -> str:
    """Returns what errors call a node: its op, its name and its number in the graph."""
    domain = f"{node.domain}." if node.domain not in ("", "ai.onnx") else ""
    name = f" '{node.name}'" if node.name else ""
    return f"{domain}{node.op_type}{name} (node {number})"


def _value(scope: Scope, name: str, who: str) -> Value:
    try:
        return scope[name]
    except KeyError:
        raise TenonError(f"{who} '{name}' is given by no node before it") from None


def _run_node(node: Any, scope: Scope, who: str) -> None:
    inputs = [_value(scope, name, f"{who}: input") if name else None for name in node.input]
    while inputs and inputs[-1] is None:
        inputs.pop()
    outputs = list(node.output)
    while outputs and not outputs[-1]:
        outputs.pop()
    frame = scope.frame
    attributes = resolved_attributes(node, frame.attributes)
    domain = "" if node.domain == "ai.onnx" else node.domain
    version = frame.opsets.get(domain)
    if version is None:
        raise TenonError(f"{who}: the model imports no version of the domain '{node.domain}'")
    context = Context(scope, who)
    function = frame.run.functions.of_model(domain, node.op_type, getattr(node, "overload", ""))
    try:
        if function is not None:
            results = _call_function(function, inputs, attributes, context, outputs)
        else:
            results = _apply(node, domain, version, inputs, attributes, context, outputs)
    except TenonError as error:
        raise _named(error, who) from None
    except _RULE_ERRORS as error:
        raise TenonError(f"{who}: {' '.join(str(error).split())}") from error
    if len(results) < len(outputs):
        raise TenonError(f"{who}: {len(outputs)} results are wanted, it has {len(results)}")
    run = frame.run
    sources: frozenset[str] | None = None
    for name, result in zip(outputs, results, strict=False):
        if not name:
            continue
        if result is not None and not is_known(result):
            if sources is None:
                sources = run.sources_of([*inputs, *_captured(node, scope)])
            run.note_sources(result, sources)
        scope.values[name] = result


def _captured(node: Any, scope: Scope) -> list[Value]:
    """Returns the values of `scope` that the graphs of a node may read."""
    found: list[Value] = []
    for attribute in node.attribute:
        if attribute.type == attribute.GRAPH:
            for inner in attribute.g.node:
                for name in inner.input:
                    try:
                        found.append(scope[name])
                    except KeyError:
                        continue
                found += _captured(inner, scope)
    return found


def _named(error: TenonError, who: str) -> TenonError:
    """Returns an error that names the innermost node which it is about."""
    if not error.message.startswith(who) and not getattr(error, "names_node", False):
        error.message = f"{who}: {error.message}"
        error.args = (error.message,)
    error.names_node = True  # type: ignore[attr-defined]
    return error


def _apply(
    node: Any,
    domain: str,
    version: int,
    inputs: list[Value],
    attributes: dict[str, Any],
    context: Context,
    outputs: Sequence[str],
) -> list[Value]:
    """Returns the results of a node by a rule, or by the function that its op stands for."""
    run = context.run
    rule = find_rule(domain, node.op_type, version)
    if rule is None:
        function = run.functions.of_schema(node, domain, version, inputs, attributes, context.who)
        return _call_function(function, inputs, attributes, context, outputs)
    kinds = run.functions.attribute_kinds(domain, node.op_type, version)
    for name, each in attributes.items():
        if kinds.get(name, each.type) != each.type:
            raise TenonError(f"{context.who}: attribute '{name}' is of another kind than the op says")
    values = {name: attribute_value(each, run.reader, context.who) for name, each in attributes.items()}
    # A quantised op says as an attribute the version of the op that it stands for.
    meant = values.get("opset")
    meant = meant if isinstance(meant, int) else version
    special = {"n_outputs": len(outputs), "opset": meant, "context": context}
    named = {name: value for name, value in special.items() if name in rule.attributes}
    if all(map(is_known, inputs)):
        numpy_rule = find_numpy_rule(domain, node.op_type, version)
        if numpy_rule is not None and (run.folds_all or size_of(inputs) <= _MOST_FOLDED):
            checked = _checked(numpy_rule, inputs, values, context.who)
            found = numpy_rule.function(*inputs, **checked, **_only(special, numpy_rule))
            if found is not NotImplemented:
                return _as_list(found)
    values = _checked(rule, inputs, values, context.who)

    def plain(inputs: Sequence[Value]) -> list[Value]:
        if _is_foldable(rule, inputs, run):
            most = MOST_MADE if run.folds_all else _MOST_FOLDED
            found = folded(lambda lift: _as_list(_called(rule, inputs, values | named, context, lift)), most)
            if found is not None:
                return found
        return _as_list(_called(rule, inputs, values | named, context, context.lift))

    form_rule = find_form_rule(domain, node.op_type)
    if form_rule is not None and len(outputs) == 1:
        forms = run.forms.of(inputs)
        if any(forms) or node.op_type == "DequantizeLinear":
            call = FormCall(node.op_type, inputs, forms, values, lambda given: plain(given)[0], context.lift)
            made = form_rule(call)
            if made is not None:
                value, form = made
                run.forms.note(value, form)
                return [value]
    return plain(inputs)


def _only(special: Mapping[str, Any], rule: Rule) -> dict[str, Any]:
    return {name: value for name, value in special.items() if name in rule.attributes}


def _is_foldable(rule: Rule, inputs: Sequence[Value], run: Run) -> bool:
    if rule.is_raw or not inputs or not all(map(is_known, inputs)) or any(map(has_extents, inputs)):
        return False
    return run.folds_all or size_of(list(inputs)) <= _MOST_FOLDED


def _checked(rule: Rule, inputs: Sequence[Value], values: dict[str, Any], who: str) -> dict[str, Any]:
    """Returns the attributes that a rule has. Raises TenonError where it does not take what is given."""
    if rule.variadic is None and len(inputs) > len(rule.inputs):
        raise TenonError(f"{who}: {len(inputs)} inputs, expected {len(rule.inputs)} or less")
    for number in range(rule.n_required):
        if number >= len(inputs) or inputs[number] is None:
            raise TenonError(f"{who}: input '{rule.inputs[number]}' is missing")
    unknown = sorted(values.keys() - rule.attributes)
    if unknown:
        raise TenonError(f"{who}: attribute '{unknown[0]}' is not supported")
    missing = sorted(rule.required - values.keys() - _SPECIAL)
    if missing:
        raise TenonError(f"{who}: attribute '{missing[0]}' is missing")
    return values


def _called(
    rule: Rule,
    inputs: Sequence[Value],
    named: Mapping[str, Any],
    context: Context,
    lift: Callable[[Value], Any],
) -> Any:
    if rule.is_raw:
        return rule.function(*inputs, **named)
    given: list[Any] = []
    for number, value in enumerate(inputs):
        name = rule.inputs[number] if number < len(rule.inputs) else cast(str, rule.variadic)
        if value is None or (name in rule.either and isinstance(value, np.ndarray)):
            given.append(value)
        elif name in rule.known:
            if not isinstance(value, np.ndarray):
                raise context.needs(f"input '{name}'", [value])
            given.append(value)
        elif isinstance(value, list):
            raise TenonError(f"{context.who}: input '{name}' is a sequence, expected a tensor")
        else:
            array = lift(value)
            if isinstance(array, Stored) and name not in rule.narrow:
                raise TenonError(f"{context.who}: input '{name}' is {array.dtype}: no arithmetic")
            given.append(array)
    if "lift" in rule.attributes:
        named = {**named, "lift": lift}
    return rule.function(*given, **named)


def _as_list(results: Any) -> list[Value]:
    return list(cast("tuple[Value, ...]", results)) if isinstance(results, tuple) else [results]


def _call_function(
    function: ModelFunction,
    inputs: Sequence[Value],
    attributes: Mapping[str, Any],
    context: Context,
    outputs: Sequence[str],
) -> list[Value]:
    """Returns what the body of a function gives, None for what is not wanted."""
    caller = context.scope.frame
    if caller.depth >= _MOST_NESTED:
        raise TenonError(f"{context.who}: functions call one another without end")
    proto = function.proto
    if len(inputs) > len(proto.input):
        raise TenonError(f"{context.who}: {len(inputs)} inputs, its function has {len(proto.input)}")
    given = {**function.defaults, **attributes}
    opsets = {**caller.opsets, **function.opsets}
    scope = Scope(Frame(caller.run, opsets, given, caller.depth + 1))
    padded = [*inputs, *[None] * (len(proto.input) - len(inputs))]
    scope.values.update(zip(proto.input, padded, strict=True))
    for number, node in enumerate(proto.node):
        _run_node(node, scope, f"{context.who}: {node_name(node, number)}")
    if len(outputs) > len(proto.output):
        raise TenonError(f"{context.who}: {len(outputs)} results are wanted, it has {len(proto.output)}")
    return [
        _value(scope, name, f"{context.who}: its result") if wanted else None
        for name, wanted in zip(proto.output, outputs, strict=False)
    ]

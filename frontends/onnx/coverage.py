"""Which ops of a model are not supported: all of them at once, before anything is traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors import TenonError
from .functions import Functions, opsets_of, schema_of
from .registry import find_rule


def unsupported_ops(model: Any) -> Counter[str]:
    """Returns how often a model has each op that there is neither a rule nor a function for."""
    found: Counter[str] = Counter()
    functions = Functions(model.functions)
    _count(model.graph.node, opsets_of(model.opset_import), functions, found)
    for each in model.functions:
        _count(each.node, opsets_of(each.opset_import), functions, found)
    return found


def check_supported(model: Any) -> None:
    """Raises TenonError, which lists them with their counts, where a model has ops that are not supported."""
    found = unsupported_ops(model)
    if found:
        listed = ", ".join(f"{name} ({count})" for name, count in sorted(found.items()))
        raise TenonError(f"from_onnx: ops that are not supported: {listed}")


def _count(
    nodes: Sequence[Any], opsets: Mapping[str, int], functions: Functions, found: Counter[str]
) -> None:
    for node in nodes:
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = opsets.get(domain, 0)
        if not _is_supported(domain, node.op_type, version, getattr(node, "overload", ""), functions, 0):
            found[f"{domain}.{node.op_type}" if domain else node.op_type] += 1
        for attribute in node.attribute:
            graphs = [attribute.g] if attribute.type == attribute.GRAPH else attribute.graphs
            for graph in graphs:
                _count(graph.node, opsets, functions, found)


def _is_supported(
    domain: str, name: str, version: int, overload: str, functions: Functions, depth: int
) -> bool:
    if functions.of_model(domain, name, overload) is not None:
        return True
    if find_rule(domain, name, version) is not None:
        return True
    body = functions.plain_body(domain, name, version)
    if body is None:
        schema = schema_of(domain, name, version)
        return schema is not None and schema.has_context_dependent_function
    inner: Counter[str] = Counter()
    if depth < 8:
        _count(body.proto.node, body.opsets, functions, inner)
    return not inner

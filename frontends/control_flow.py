"""
`cond`, `switch`, `while_loop`, `fori_loop` and `scan`: branches and loops of a traced function, which stay
branches and loops in its program.

Carried values, operands and results are trees. Outside of a trace the functions run in Python, with arrays in
the place of traced ones: they give the same dtypes and results, but for a Python scalar that a branch gives.
It stays weak there, as the other branch is not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ..dialects import graph
from ..dialects.dims.expressions import DimExpr, Extent
from .arrays.array import function
from .arrays.aval import Aval, aval_of
from .arrays.promotion import kind_of
from .arrays.tree import Node, flatten, paths, unflatten
from .carried import CarriedValues, array_for, arrays_for, check_carried, check_structures
from .tracing import graph_ops
from .tracing.extents import greatest, is_at_least
from .tracing.leaves import aval_of_value, lift
from .tracing.trace import Trace, TracedArray, current_trace
from .tracing.traced_region import TracedRegion


def cond(condition: Any, on_true: Callable[..., Any], on_false: Callable[..., Any], /, *operands: Any) -> Any:
    """
    Returns `on_true(*operands)` where a boolean array of rank 0 is true, else `on_false(*operands)`. Only
    that one is computed. Both must give the same structure, and arrays of the same dtypes and shapes.

    Raises:
        TypeError: the condition is no boolean of rank 0, or the branches give other structures or dtypes.
        ValueError: they give other shapes.
    """
    trace, is_known = current_trace(), isinstance(condition, bool | np.bool_)
    if trace is None or is_known:
        _check_scalar("cond", "the condition", aval_of_value(condition, "cond: the condition"), "b")
        result = on_true(*operands) if condition else on_false(*operands)
        return result if is_known else arrays_for(result, "cond: a result")
    decides = lift(trace, condition, "cond: the condition")
    _check_scalar("cond", "the condition", decides.aval, "b")
    then_region = TracedRegion(trace, "a branch")
    else_region = TracedRegion(trace, "a branch")
    with then_region:
        then_leaves, structure = _leaves(trace, on_true(*operands), "cond: a result")
    with else_region:
        else_leaves, other = _leaves(trace, on_false(*operands), "cond: a result")
    check_structures("cond", "on_true", structure, "on_false", other)
    types = [
        _agreed("cond", path, first.aval, second.aval)
        for path, first, second in zip(paths(structure), then_leaves, else_leaves, strict=True)
    ]
    for region, leaves in ((then_region, then_leaves), (else_region, else_leaves)):
        region.finish([_as(region, leaf, aval) for leaf, aval in zip(leaves, types, strict=True)])
    op = graph.IfOp(
        decides.value, [aval.type for aval in types], then_region.detached(), else_region.detached()
    )
    return unflatten(structure, iter(trace.add_all(op, types)))


def switch(index: Any, branches: Sequence[Callable[..., Any]], /, *operands: Any) -> Any:
    """
    Returns `branches[index](*operands)`, of an index that is clamped into their range. Only that one is
    computed.

    Raises:
        TypeError: the index is no integer of rank 0, or the branches give other structures or dtypes.
        ValueError: there are no branches, or they give other shapes.
    """
    if not branches:
        raise ValueError("switch: no branches, expected one or more")
    aval = aval_of_value(index, "switch: the index")
    _check_scalar("switch", "the index", aval, "iu")
    is_known = isinstance(index, int)
    if current_trace() is None or is_known:
        result = branches[max(0, min(int(index), len(branches) - 1))](*operands)
        return result if is_known else arrays_for(result, "switch: a result")
    return _switch(index, branches, 0, operands)


def _switch(index: Any, branches: Sequence[Callable[..., Any]], first: int, operands: tuple[Any, ...]) -> Any:
    """Chooses among branches by halves; `first` is the number of the first one."""
    if len(branches) == 1:
        return branches[0](*operands)
    half = len(branches) // 2
    return cond(
        function("less")(index, first + half),
        lambda *given: _switch(index, branches[:half], first, given),
        lambda *given: _switch(index, branches[half:], first + half, given),
        *operands,
    )


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any, /) -> Any:
    """
    Returns `initial` after `body` was applied to it for as long as `condition` holds for it. What `body`
    gives must have the structure, the dtypes and the shapes of what it takes; a Python scalar in `initial`
    takes the dtype that `body` gives.

    Raises:
        TypeError: the condition gives no boolean of rank 0, or the body another structure or dtype.
        ValueError: the body gives other shapes.
    """
    trace = current_trace()
    if trace is None:
        return _while_of_values(condition, body, initial)
    leaves, structure = _leaves(trace, initial, "while_loop: a carried value")
    while True:
        before = TracedRegion(trace, "the condition of a loop", [leaf.aval for leaf in leaves])
        with before:
            decides = lift(trace, condition(before.tree(structure)), "while_loop: what the condition gives")
            _check_scalar("while_loop", "what the condition gives", decides.aval, "b")
        inside = TracedRegion(trace, "the body of a loop", [leaf.aval for leaf in leaves])
        with inside:
            found, other = _leaves(trace, body(inside.tree(structure)), "while_loop: a carried value")
        check_structures("while_loop", "the initial value", structure, "the body", other)
        wanted = _carried("while_loop", structure, leaves, found)
        if wanted is None:
            break
        before.drop()
        inside.drop()
        leaves = wanted
    before.finish([decides], graph.ConditionOp(decides.value))
    inside.finish(found)
    op = graph.WhileOp([leaf.value for leaf in leaves], before.detached(), inside.detached())
    return unflatten(structure, iter(trace.add_all(op, _strong(leaves, found))))


def _while_of_values(condition: Callable[[Any], Any], body: Callable[[Any], Any], initial: Any) -> Any:
    carried = CarriedValues("while_loop", initial)
    what = "what the condition gives"
    while True:
        more = condition(carried.value)
        _check_scalar("while_loop", what, aval_of_value(more, f"while_loop: {what}"), "b")
        if not more:
            break
        carried.take(body(carried.value))
    if carried.is_open:
        return _traced(partial(while_loop, condition, body), carried.value)
    return carried.result


def _traced(loop: Callable[..., Any], *arguments: Any) -> Any:
    """Returns what a loop without iterations gives: only one that is traced knows what its body would."""
    from .jit.jit import jit

    return jit(loop)(*arguments)


def fori_loop(begin: Any, end: Any, body: Callable[[Any, Any], Any], initial: Any, /) -> Any:
    """
    Returns `initial` after `value = body(i, value)` for each `i` from `begin` on, up to before `end`. The
    rules of `while_loop` hold for what `body` gives.

    Raises:
        TypeError: a bound is no integer of rank 0, or the body gives another structure or dtype.
        ValueError: the body gives other shapes.
    """
    for what, bound in (("begin", begin), ("end", end)):
        _check_scalar("fori_loop", what, aval_of_value(bound, f"fori_loop: {what}"), "iu")
    if isinstance(begin, int | DimExpr) and isinstance(end, int | DimExpr):
        if isinstance(begin, int) and isinstance(end, int) and current_trace() is None:
            return _fori_of_values(begin, end, body, initial)
        return _scan(
            "fori_loop",
            lambda value, number, _: (body(number if begin == 0 else number + begin, value), None),
            initial,
            None,
            greatest(end - begin, 0),
            False,
        )[0]
    _, found = while_loop(
        lambda state: function("less")(state[0], state[1][0]),
        lambda state: (state[0] + 1, (state[1][0], body(state[0], state[1][1]))),
        (begin, (end, initial)),
    )
    return found[1]


def _fori_of_values(begin: int, end: int, body: Callable[[Any, Any], Any], initial: Any) -> Any:
    carried = CarriedValues("fori_loop", initial)
    for number in range(begin, end):
        index = array_for(number, "fori_loop")
        while not carried.take(body(index, carried.value)):
            pass
    if carried.is_open:
        return _traced(partial(fori_loop, begin, end, body), carried.value)
    return carried.result


def scan(
    body: Callable[[Any, Any], Any],
    initial: Any,
    inputs: Any = None,
    /,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """
    Returns `(value, stacks)`: the carried value after `value, output = body(value, slices)` for each element
    of the arrays in `inputs` along axis 0, from the last one on where `reverse`, and the outputs stacked
    along a new axis 0. `length` is needed where there are no inputs; `slices` are None then.

    Raises:
        TypeError: the body gives no pair, or carries another structure or dtype.
        ValueError: the inputs have different extents or no axis, `length` is another one, negative or
            missing, or the body carries other shapes.
    """
    leaves: list[Any] = []
    structure = flatten(inputs, leaves)
    extents: dict[str, int] = {}
    for path, leaf in zip(paths(structure, "inputs"), leaves, strict=True):
        shape = aval_of_value(leaf, f"scan: {path}").shape
        if not shape:
            raise ValueError(f"scan: {path} has rank 0, expected an axis to go along")
        extents[path] = shape[0]
    if length is not None:
        if not is_at_least(length, 0):
            raise ValueError(f"scan: length is {length}, expected 0 or more")
        extents["length"] = length
    if not extents:
        raise ValueError("scan: no inputs and no length, expected one of them")
    if len(set(extents.values())) > 1:
        listed = ", ".join(f"{name}: {extent}" for name, extent in extents.items())
        raise ValueError(f"scan: different extents along axis 0 ({listed})")
    count = next(iter(extents.values()))
    if current_trace() is None:
        return _scan_of_values(body, initial, structure, leaves, count, reverse)
    return _scan("scan", lambda value, _, slices: body(value, slices), initial, inputs, count, reverse)


def _scan_of_values(
    body: Callable[[Any, Any], Any],
    initial: Any,
    structure: Node | None,
    leaves: list[Any],
    count: int,
    reverse: bool,
) -> tuple[Any, Any]:
    if not count:
        # There is no output to take the shapes from.
        def none(value: Any, *given: Any) -> Any:
            return scan(body, value, unflatten(structure, iter(given)), count, reverse)

        return _traced(none, initial, *leaves)
    carried = CarriedValues("scan", initial)
    arrays = [array_for(leaf, "scan: an input") for leaf in leaves]
    outputs: list[list[Any]] = []
    output_structure: Node | None = None
    for number in range(count - 1, -1, -1) if reverse else range(count):
        slices = unflatten(structure, iter([array[number] for array in arrays]))
        following, output = _pair("scan", body(carried.value, slices))
        while not carried.take(following):
            following, output = _pair("scan", body(carried.value, slices))
        found: list[Any] = []
        output_structure = flatten(output, found)
        outputs.append([array_for(leaf, "scan: an output") for leaf in found])
    if reverse:
        outputs.reverse()
    stacks = [function("stack")(column) for column in zip(*outputs, strict=True)]
    return carried.result, unflatten(output_structure, iter(stacks))


def _scan(
    who: str,
    body: Callable[[Any, Any, Any], Any],
    initial: Any,
    inputs: Any,
    count: Extent,
    reverse: bool,
) -> tuple[Any, Any]:
    trace = graph_ops.the_trace(who)
    leaves, structure = _leaves(trace, initial, f"{who}: a carried value")
    sources, input_structure = _leaves(trace, inputs, f"{who}: an input")
    counter = aval_of(np.dtype(np.int64), (), True)
    slices = [aval_of(source.dtype, source.shape[1:], source.weak) for source in sources]
    while True:
        inside = TracedRegion(
            trace, "the body of a loop", [counter, *[leaf.aval for leaf in leaves], *slices]
        )
        with inside:
            number, *rest = inside.arguments
            trace.counted[number.value] = (0, count - 1 if isinstance(count, int) else None)
            value = unflatten(structure, iter(rest[: len(leaves)]))
            given = unflatten(input_structure, iter(rest[len(leaves) :]))
            following, output = _pair(who, body(value, number, given))
            found, other = _leaves(trace, following, f"{who}: a carried value")
            outputs, output_structure = _leaves(trace, output, f"{who}: an output")
        check_structures(who, "the initial value", structure, "the body", other)
        wanted = _carried(who, structure, leaves, found)
        if wanted is None:
            break
        inside.drop()
        leaves = wanted
    inside.finish([*found, *outputs])
    stacks = [aval_of(each.dtype, (count, *each.shape)) for each in outputs]
    carried = _strong(leaves, found)
    op = graph.ScanOp(
        count,
        [leaf.value for leaf in leaves],
        [source.value for source in sources],
        [aval.type for aval in (*carried, *stacks)],
        inside.detached(),
        reverse,
    )
    results = trace.add_all(op, [*carried, *stacks])
    return (
        unflatten(structure, iter(results[: len(leaves)])),
        unflatten(output_structure, iter(results[len(leaves) :])),
    )


def _as(region: TracedRegion, leaf: TracedArray, aval: Aval) -> TracedArray:
    if leaf.aval.dtype == aval.dtype:
        return leaf
    with region:
        return graph_ops.cast(leaf, aval.dtype)


def _leaves(trace: Trace, tree: Any, who: str) -> tuple[list[TracedArray], Node | None]:
    leaves: list[Any] = []
    structure = flatten(tree, leaves)
    return [lift(trace, leaf, who) for leaf in leaves], structure


def _strong(leaves: Sequence[TracedArray], found: Sequence[TracedArray]) -> list[Aval]:
    """Returns what the results of a loop are: weak where both what it takes and what it gives are."""
    return [
        aval_of(before.dtype, before.shape, before.weak and after.weak)
        for before, after in zip(leaves, found, strict=True)
    ]


def _carried(
    who: str, structure: Node | None, leaves: Sequence[TracedArray], found: Sequence[TracedArray]
) -> list[TracedArray] | None:
    """
    Returns None where what a body gives fits what it takes, and otherwise what to begin with instead: Python
    scalars in the dtypes that the body gives.
    """
    wanted: list[TracedArray] = []
    for path, before, after in zip(paths(structure), leaves, found, strict=True):
        check_carried(who, path, before.aval, after.aval)
        same_dtype = before.dtype == after.dtype
        wanted.append(before if same_dtype else graph_ops.cast(before, after.dtype, after.weak))
    same = all(before is after for before, after in zip(leaves, wanted, strict=True))
    return None if same else wanted


def _agreed(who: str, path: str, first: Aval, second: Aval) -> Aval:
    """Returns what two branches give: a Python scalar in one takes the dtype of the array in the other."""
    where = f"result{' ' + path if path else ''}"
    if first.shape != second.shape:
        raise ValueError(
            f"{who}: {where} has shape {first.shape} in one branch and {second.shape} in the other"
        )
    weak, strong = (first, second) if first.weak else (second, first)
    fits = first.weak != second.weak and kind_of(weak.dtype) <= kind_of(strong.dtype)
    if first.dtype != second.dtype and not fits:
        raise TypeError(
            f"{who}: {where} has dtype {first.dtype} in one branch and {second.dtype} in the other "
            "(hint: x.astype)"
        )
    return aval_of(strong.dtype, strong.shape, first.weak and second.weak)


def _check_scalar(who: str, what: str, aval: Aval, kinds: str) -> None:
    if aval.shape or aval.dtype.kind not in kinds:
        expected = "a boolean" if kinds == "b" else "an integer"
        raise TypeError(f"{who}: {what} is {aval.dtype} of shape {aval.shape}, expected {expected} of rank 0")


def _pair(who: str, result: Any) -> tuple[Any, Any]:
    kind: str = result.__class__.__name__
    if not isinstance(result, tuple) or len(cast("tuple[Any, ...]", result)) != 2:
        raise TypeError(f"{who}: the body gives {kind}, expected a pair (carried, output)")
    return cast("tuple[Any, Any]", result)

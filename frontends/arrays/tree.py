"""
Trees: nested lists, tuples, named tuples, dicts and None with arrays at the leaves, and classes registered by
`register_tree`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, cast

from ...errors import TenonError
from .interned import Interned
from .static_key import static_key

Flatten = Callable[[Any], tuple[Sequence[Any], Any]]
Unflatten = Callable[[Any, Sequence[Any]], Any]

LEAF = None
"""The structure of a leaf."""

MOST_NESTED = 100
"""
How deep containers may be nested: what walks trees calls itself twice for each level, and Python allows a
thousand calls.
"""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Node:
    """
    The structure of a container: its class, what it has besides children, and their structures. There is one
    for all that are the same, so that they are compared by identity.
    """

    kind: Any
    extra: Any
    children: tuple[Node | None, ...]
    labels: tuple[str, ...]
    """How each child is reached: `[0]`, `['w']`, `.w`."""
    depth: int
    """How many containers stand in one another at most, this one among them."""

    def __str__(self) -> str:
        inside = ", ".join(
            f"{label}: {'*' if child is LEAF else child}"
            for label, child in zip(self.labels, self.children, strict=True)
        )
        return f"{self.kind.__name__}({inside})"


_NODES: Interned[Any, Node] = Interned()


def _node(
    kind: type[Any], extra: Any, children: tuple[Node | None, ...], labels: tuple[str, ...] | None
) -> Node:
    key = (kind, extra.__class__, _key_of(extra), children)
    found = _NODES.get(key)
    if found is None:
        if labels is None:
            labels = tuple([f"[{each!r}]" for each in extra])
        depth = 1 + max([child.depth for child in children if child is not None], default=0)
        if depth > MOST_NESTED:
            raise _too_deep("tree")
        found = _NODES.add(key, Node(kind, extra, children, labels, depth))
    return found


def _key_of(extra: Any) -> Any:
    if extra is None:
        return None
    if extra.__class__ is tuple:
        # Most are keys of dicts, which are strings.
        keys = cast("tuple[Any, ...]", extra)
        return tuple([key if key.__class__ is str else static_key(key, "tree: a key") for key in keys])
    return static_key(extra, "tree: extra data")


_REGISTERED: dict[type, tuple[Flatten, Unflatten]] = {}


def register_tree(kind: type, flatten: Flatten | None = None, unflatten: Unflatten | None = None) -> type:
    """
    Makes a class one of trees, and returns it, so that it can stand above a dataclass as a decorator.
    `flatten` gives the children of an instance and hashable extra data, `unflatten` makes an instance of
    extra data and children. A dataclass needs neither: its fields are the children.

    Raises:
        TypeError: it is no class, or no dataclass and a function is missing.
        ValueError: it is registered already, or is a list, tuple, dict or None.
    """
    if not isinstance(kind, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"register_tree: {kind!r} is not a class")
    name = kind.__name__
    if kind in _REGISTERED or kind in (list, tuple, dict, OrderedDict, type(None)):
        raise ValueError(f"register_tree: {name} is a tree already")
    if flatten is None or unflatten is None:
        if flatten is not None or unflatten is not None or not is_dataclass(kind):
            raise TypeError(
                f"register_tree: {name} is no dataclass, expected functions flatten and unflatten"
            )
        names = tuple(field.name for field in fields(kind))
        flatten = _dataclass_children(names)
        unflatten = _new_dataclass(kind, names)
    _REGISTERED[kind] = (flatten, unflatten)
    return kind


def _dataclass_children(names: tuple[str, ...]) -> Flatten:
    return lambda instance: ([getattr(instance, name) for name in names], names)


def _new_dataclass(kind: type, names: tuple[str, ...]) -> Unflatten:
    return lambda extra, children: kind(**dict(zip(names, children, strict=True)))


def flatten(tree: Any, leaves: list[Any]) -> Node | None:
    """
    Appends the leaves of a tree to `leaves`, dicts by their sorted keys, and returns its structure.

    Raises:
        TenonError: a container has itself inside, or containers are nested more than `MOST_NESTED` deep.
        TypeError: the keys of a dict cannot be sorted, or extra data is not hashable.
    """
    try:
        return _flatten(tree, leaves)
    except RecursionError:
        check_nesting(tree, "tree")
        raise


def check_nesting(tree: Any, who: str) -> None:
    """
    Looks at the outermost containers that may be nested without end.

    Raises:
        TenonError: a container has itself inside, or containers are nested more than `MOST_NESTED` deep.
    """
    around: list[tuple[Any, Iterator[Any]]] = [(tree, iter(_contents(tree)))]
    inside = {id(tree)}
    while around:
        container, rest = around[-1]
        child = next(rest, rest)
        if child is rest:
            around.pop()
            inside.discard(id(container))
        elif id(child) in inside:
            raise TenonError(f"{who}: a {type(child).__name__} contains itself")
        elif contents := _contents(child):
            if len(around) == MOST_NESTED:
                raise _too_deep(who)
            around.append((child, iter(contents)))
            inside.add(id(child))


def _contents(tree: Any) -> Sequence[Any]:
    """Returns what a container holds, nothing for a leaf."""
    if isinstance(tree, dict):
        return list(cast("dict[Any, Any]", tree).values())
    if isinstance(tree, list | tuple):
        return cast("Sequence[Any]", tree)
    registered = _REGISTERED.get(tree.__class__)
    return () if registered is None else registered[0](tree)[0]


def _too_deep(who: str) -> TenonError:
    return TenonError(f"{who}: containers are nested more than {MOST_NESTED} deep")


def _flatten(tree: Any, leaves: list[Any]) -> Node | None:
    kind: Any = tree.__class__
    if kind is tuple or kind is list:
        items = cast("Sequence[Any]", tree)
        children = tuple([_flatten(item, leaves) for item in items])
        return _node(kind, None, children, _numbered(len(children)))
    if kind is dict or kind is OrderedDict:
        keys = tuple(tree) if kind is OrderedDict else _sorted_keys(tree)
        children = tuple([_flatten(tree[key], leaves) for key in keys])
        return _node(kind, keys, children, None)
    if tree is None:
        return _node(kind, None, (), ())
    registered = _REGISTERED.get(kind)
    if registered is not None:
        items, extra = registered[0](tree)
        children = tuple([_flatten(item, leaves) for item in items])
        is_named = is_dataclass(kind) and extra == tuple([each.name for each in fields(kind)])
        labels = tuple([f".{name}" for name in extra]) if is_named else _numbered(len(children))
        return _node(tree.__class__, extra, children, labels)
    if isinstance(tree, tuple) and hasattr(kind, "_fields"):
        items = cast("Sequence[Any]", tree)
        children = tuple([_flatten(item, leaves) for item in items])
        return _node(kind, None, children, tuple([f".{name}" for name in kind._fields]))  # type: ignore[attr-defined]
    leaves.append(tree)
    return LEAF


def unflatten(structure: Node | None, leaves: Iterator[Any]) -> Any:
    """Returns the tree of this structure with the next of `leaves`."""
    if structure is None:
        return next(leaves)
    kind: Any = structure.kind
    if kind is type(None):
        return None
    children = [unflatten(child, leaves) for child in structure.children]
    if kind is dict:
        return dict[Any, Any](zip(structure.extra, children, strict=True))
    if kind is OrderedDict:
        return OrderedDict[Any, Any](zip(structure.extra, children, strict=True))
    if kind is tuple:
        return tuple(children)
    if kind is list:
        return children
    registered = _REGISTERED.get(kind)
    if registered is not None:
        return registered[1](structure.extra, children)
    return kind(*children)


def is_plain(structure: Node | None) -> bool:
    """Returns whether containers are lists, tuples, named ones too, None, and dicts with strings for keys."""
    if structure is None:
        return True
    kind = structure.kind
    if kind is dict:
        if not all(key.__class__ is str for key in structure.extra):
            return False
    elif kind not in (list, tuple, type(None)) and (kind in _REGISTERED or not issubclass(kind, tuple)):
        return False
    return all(map(is_plain, structure.children))


def add_leaves(tree: Any, structure: Node, leaves: list[Any]) -> bool:
    """
    Appends the leaves of a tree whose containers are those of a structure, which `is_plain`, and returns
    whether they are. What stands where the structure has a leaf may be another container: that is to be seen
    of the leaves.
    """
    kind, children = structure.kind, structure.children
    if tree.__class__ is not kind:
        return False
    if kind is dict:
        if len(tree) != len(children) or not _STRINGS.issuperset(map(type, tree)):
            return False
        try:
            items = [tree[key] for key in structure.extra]
        except KeyError:
            return False
    elif tree is None:
        return True
    elif len(tree) != len(children):
        return False
    else:
        items = tree
    if structure.depth == 1:
        leaves += items
        return True
    for item, child in zip(items, children, strict=True):
        if child is None:
            leaves.append(item)
        elif not add_leaves(item, child, leaves):
            return False
    return True


_STRINGS = frozenset((str,))


def paths(structure: Node | None, prefix: str = "") -> Iterator[str]:
    """Yields how each leaf is reached: `params['w'][0]`."""
    if structure is None:
        yield prefix
        return
    for child, label in zip(structure.children, structure.labels, strict=True):
        yield from paths(child, prefix + label)


def _sorted_keys(tree: Any) -> tuple[Any, ...]:
    try:
        return tuple(sorted(tree))
    except TypeError:
        raise TypeError(f"tree: the keys of a dict cannot be sorted ({list(tree)})") from None


_NUMBERED = [tuple(f"[{number}]" for number in range(count)) for count in range(16)]


def _numbered(count: int) -> tuple[str, ...]:
    return _NUMBERED[count] if count < len(_NUMBERED) else tuple(f"[{number}]" for number in range(count))

"""
Names of tensor nodes, for code and for people.

A label is a list of words, the last the most telling; words that are no identifiers are for display only and
make no names. A label that starts with `grad` is that of the gradient of what the other words name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence

from xdsl.utils.str_enum import StrEnum

_WORD = re.compile(r"[A-Za-z0-9_]+")
_LIKE_AN_ID = re.compile(r"n\d+(?![A-Za-z0-9])")


class IdentStyle(StrEnum):
    """How `styled_ident` names a node."""

    HEURISTIC_DOT_GRAD = "heuristic_dot_grad"
    """`w`, `w.grad`; with the id where several nodes would have this name: `n42_w`."""
    HEURISTIC_UNDER_GRAD = "heuristic_under_grad"
    """`w`, `w_grad`; with the id as above. Names are identifiers in C."""
    NAME_AND_LABEL = "name_and_label"
    """`n42_grad_w`"""
    NAME_ONLY = "name_only"
    """`n42`"""


def ident_of(id: int) -> str:
    """Returns a node's shortest name: `n42`."""
    return f"n{id}"


def label_words(label: Sequence[str]) -> list[str]:
    """Returns the words of a label that may be part of an identifier."""
    return [word for word in label if _WORD.fullmatch(word)]


def no_grad_ident_label(label: Sequence[str]) -> tuple[bool, str | None]:
    """
    Returns whether a label is a gradient's, and the name that the other words make: an identifier, or None
    where no word is left. Words that start with a digit go last.
    """
    words = sorted(label_words(label), key=lambda word: word[0].isdigit())
    is_grad = words[:1] == ["grad"]
    name = "_".join(words[1:] if is_grad else words)
    if not name:
        return is_grad, None
    return is_grad, f"_{name}" if name[0].isdigit() else name


def styled_ident(
    id: int,
    label: Sequence[str],
    style: IdentStyle,
    repeating_nograd_idents: Container[str] = (),
    repeating_grad_idents: Container[str] = (),
) -> str:
    """
    Returns the name of a node in a style. The heuristic styles add the id to names that repeat: those that
    several nodes have, gradients and others apart.
    """
    short = ident_of(id)
    if style is IdentStyle.NAME_ONLY:
        return short
    if style is IdentStyle.NAME_AND_LABEL:
        return "_".join([short, *label_words(label)])
    is_grad, name = no_grad_ident_label(label)
    separator = "." if style is IdentStyle.HEURISTIC_DOT_GRAD else "_"
    suffix = f"{separator}grad" if is_grad else ""
    if name is None:
        return short + suffix
    repeating = repeating_grad_idents if is_grad else repeating_nograd_idents
    return f"{short}_{name}{suffix}" if name in repeating else name + suffix


def styled_idents(labels: Iterable[tuple[int, Sequence[str]]], style: IdentStyle) -> dict[int, str]:
    """
    Returns the names of nodes, given by id and label, by id. No two have the same name: one that several
    would have, or that could be taken for another node's id, gets its id.
    """
    pairs = list(labels)
    plain = [styled_ident(id, label, style) for id, label in pairs]
    counts = Counter(plain)
    repeating: dict[bool, set[str]] = {False: set(), True: set()}
    for (_, label), ident in zip(pairs, plain, strict=True):
        is_grad, name = no_grad_ident_label(label)
        if name is not None and (counts[ident] > 1 or _LIKE_AN_ID.match(ident)):
            repeating[is_grad].add(name)
    return {id: styled_ident(id, label, style, repeating[False], repeating[True]) for id, label in pairs}


def debug_name(id: int, label: Sequence[str], code_name: str | None = None) -> str:
    """Returns the name for messages: the one in code where there is one, else the label's, else the id."""
    if code_name is not None:
        stem = code_name.removesuffix("_grad")
        return f"{stem}.grad" if stem and stem != code_name else code_name
    words = label_words(label)
    is_grad = words[:1] == ["grad"]
    name = "_".join(words[1:] if is_grad else words) or ident_of(id)
    return f"{name}.grad" if is_grad else name


def better_code_name(id: int, old: str | None, new: str) -> str:
    """
    Returns which of two names of a node code should use: one with the node's id, which nothing else can have,
    else the longer one.
    """
    if old is None or has_id(id, new):
        return new
    return new if len(new) > len(old) and not has_id(id, old) else old


def has_id(id: int, name: str) -> bool:
    """Returns whether a name starts with the id of node `id`."""
    short = ident_of(id)
    return name == short or name.startswith((f"{short}_", f"{short}."))

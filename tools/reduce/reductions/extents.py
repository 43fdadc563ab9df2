"""
Which extents of a module are one and the same, and which follow from others.

An extent is named by what has it and a number: a value and an axis, or an op and the number of a dim of its
own. Those that must be equal are one class; relations between classes say what the others must be when one
of them changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from ..search import NotApplicable

Place = tuple[SSAValue | Operation, int]

NewExtent = Callable[[Place], int | None]
"""Says what the extent of a place is to be, None where nothing is known about it."""


@dataclass(frozen=True)
class Relation:
    """`whole` is what `compute` gives for the extents of `parts`; if `is_limit`, it is no more than that."""

    whole: Place
    parts: tuple[Place, ...]
    compute: Callable[[Sequence[int]], int]
    is_limit: bool


@dataclass
class ExtentClasses:
    """Classes of equal extents, in the order in which they were added."""

    _parents: dict[Place, Place] = field(default_factory=dict[Place, Place])
    _extents: dict[Place, int] = field(default_factory=dict[Place, int])
    _relations: list[Relation] = field(default_factory=list[Relation])

    def add(self, place: Place, extent: int) -> None:
        """Adds an extent, which is a class of its own as yet."""
        self._parents[place] = place
        self._extents[place] = extent

    def __contains__(self, place: Place) -> bool:
        return place in self._parents

    def join(self, first: Place, second: Place) -> None:
        """Makes two extents one, if they are equal; places that were not added have no known extent."""
        if first not in self or second not in self or self._extents[first] != self._extents[second]:
            return
        first, second = self._root(first), self._root(second)
        if first != second:
            self._parents[second] = first

    def relate(
        self,
        whole: Place,
        parts: Sequence[Place],
        compute: Callable[[Sequence[int]], int],
        is_limit: bool = False,
    ) -> None:
        """Says that an extent follows from others, or with `is_limit` that they bound it."""
        if whole in self and all(part in self for part in parts):
            self._relations.append(Relation(whole, tuple(parts), compute, is_limit))

    def free(self) -> list[Place]:
        """Returns one place of each class that may be chosen: those that do not follow, and are above 1."""
        following = {self._root(relation.whole) for relation in self._relations if not relation.is_limit}
        return [
            place
            for place, parent in self._parents.items()
            if place == parent and place not in following and self._extents[place] > 1
        ]

    def solve(self, wanted: Mapping[Place, int]) -> NewExtent:
        """
        Returns the extent of each place, None for unknown ones, where some have the extents that are wanted.

        Raises `NotApplicable` where no extents fit, or one would be 0.
        """
        new = {self._root(place): extent for place, extent in wanted.items()}

        def extent_of(place: Place) -> int:
            root = self._root(place)
            return new.get(root, self._extents[root])

        for _ in range(len(self._relations) + 1):
            is_settled = True
            for relation in self._relations:
                value = relation.compute([extent_of(part) for part in relation.parts])
                found = extent_of(relation.whole)
                if value == found or (relation.is_limit and value > found):
                    continue
                if value < 1:
                    raise NotApplicable(f"an extent of {found} would be {value}")
                new[self._root(relation.whole)] = value
                is_settled = False
            if is_settled:
                return lambda place: extent_of(place) if place in self else None
        raise NotApplicable("extents follow from one another in several ways")

    def extent(self, place: Place) -> int:
        """Returns the extent that a place has."""
        return self._extents[self._root(place)]

    def _root(self, place: Place) -> Place:
        while (parent := self._parents[place]) != place:
            self._parents[place] = self._parents[parent]
            place = parent
        return place

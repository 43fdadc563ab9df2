"""Numbers that stand for attributes: those of equal ones are equal."""

from xdsl.ir import Attribute


class AttributeNumbers:
    """Looks attributes up by what they are, and by equality once for each: hashes of attributes take long."""

    def __init__(self) -> None:
        self._by_identity: dict[int, tuple[Attribute, int]] = {}
        """With the attribute, so that no other one has its identity."""
        self._by_value: dict[Attribute, int] = {}

    def of(self, attribute: Attribute) -> int:
        found = self._by_identity.get(id(attribute))
        if found is None:
            number = self._by_value.setdefault(attribute, len(self._by_value))
            found = self._by_identity[id(attribute)] = attribute, number
        return found[1]

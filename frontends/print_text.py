"""The text of `debug_print`: of what Python's formats say, what is left to say when a program runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

_FORMATTER = Formatter()


class PrintText:
    """
    `format` has a number for each of `arrays`, the values of the kind `array_type`; all others are in the
    text.

    Raises:
        ValueError: the text is no format, mixes numbered fields with others, has an array in the
            specification of another field, or a value is not in it.
        LookupError: there is no value for a field.
    """

    def __init__(self, format: str, values: Sequence[Any], named: Mapping[str, Any], array_type: Any) -> None:
        self.arrays: list[Any] = []
        self._values = values
        self._named = named
        self._array_type = array_type
        self._places: dict[int | str, int] = {}
        """The numbers of the arrays, by what the caller's fields call them."""
        self._used: set[int | str] = set()
        self._n_automatic = 0
        self._is_numbered = False
        self.format = self._text(format)
        for key in (*range(len(values)), *named):
            if key not in self._used:
                raise ValueError(f"debug_print: value {key!r} is not in the text {format!r}")

    def _text(self, format: str) -> str:
        parts: list[str] = []
        for literal, field, specification, conversion in _FORMATTER.parse(format):
            parts.append(_escaped(literal))
            if field is not None:
                parts.append(self._field(field, specification or "", conversion))
        return "".join(parts)

    def _field(self, field: str, specification: str, conversion: str | None) -> str:
        key, rest = self._split(field)
        value = self._value(key)
        specification = self._specification(specification)
        if isinstance(value, self._array_type):
            number = self._places.get(key)
            if number is None:
                number = self._places[key] = len(self.arrays)
                self.arrays.append(value)
            how = f"!{conversion}" if conversion else ""
            return f"{{{number}{rest}{how}{':' if specification else ''}{specification}}}"
        found, _ = _FORMATTER.get_field(f"0{rest}", (value,), {})
        shown = _FORMATTER.convert_field(found, conversion)  # type: ignore[arg-type]
        return _escaped(_FORMATTER.format_field(shown, specification))

    def _specification(self, text: str) -> str:
        """Returns a specification with the values of the fields in it."""
        parts: list[str] = []
        for literal, field, inner, conversion in _FORMATTER.parse(text):
            parts.append(literal)
            if field is None:
                continue
            n_arrays = len(self.arrays)
            parts.append(self._field(field, inner or "", conversion))
            if len(self.arrays) > n_arrays or parts[-1].startswith("{"):
                raise ValueError(f"debug_print: {{{field}}} in {text!r} is an array, expected a constant")
        return "".join(parts)

    def _split(self, field: str) -> tuple[int | str, str]:
        """Returns the number or the name that a field begins with, and what is asked of the value."""
        end = min((place for place in (field.find("."), field.find("[")) if place >= 0), default=len(field))
        name, rest = field[:end], field[end:]
        if name and not name.isdecimal():
            return name, rest
        if self._n_automatic if name else self._is_numbered:
            raise ValueError("debug_print: the text has fields with numbers and fields without")
        if name:
            self._is_numbered = True
            return int(name), rest
        self._n_automatic += 1
        return self._n_automatic - 1, rest

    def _value(self, key: int | str) -> Any:
        self._used.add(key)
        if isinstance(key, str):
            if key not in self._named:
                raise KeyError(f"debug_print: there is no value '{key}' (values: {', '.join(self._named)})")
            return self._named[key]
        if key >= len(self._values):
            raise IndexError(f"debug_print: there is no value {key} ({len(self._values)} values)")
        return self._values[key]


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")

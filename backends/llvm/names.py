"""Names in LLVM IR: of functions, from kernels' symbols, and of values, from their hints."""

import re

_HINT_ILLEGAL = re.compile(r"[^A-Za-z0-9_]")
_ESCAPE = re.compile(r"\$([0-9a-f]{2})")


def function_stem(symbol: str) -> str:
    """
    Returns what the names of kernel `symbol`'s functions begin with. Different symbols give different stems.

    A stem holds no dot and a function's name always does (`softmax.range`), so that a kernel called `floor`
    is not mistaken for libm's.
    """
    return "".join(
        character
        if character.isascii()
        and (character == "_" or character.isalpha() or (place and character.isdigit()))
        else "".join(f"${byte:02x}" for byte in character.encode())
        for place, character in enumerate(symbol)
    )


def symbol_of_stem(stem: str) -> str:
    """Returns the symbol that `function_stem` made `stem` of."""
    escaped = _ESCAPE.sub(lambda match: chr(int(match.group(1), 16)), stem)
    return escaped.encode("latin-1").decode()


class ValueNames:
    """
    The names of the values and labels of one function, unique and the same in every run. Without hints,
    functions that do the same have the same names.
    """

    def __init__(self, has_hints: bool = True) -> None:
        self._uses: dict[str, int] = {}
        self._has_hints = has_hints

    def fresh(self, hint: str | None) -> str:
        """Returns `%hint`, or `%hint.1`, `%hint.2`, ... when that is taken."""
        base = _HINT_ILLEGAL.sub("_", hint) if hint and self._has_hints else "v"
        if base[0].isdigit():
            base = f"v{base}"
        count = self._uses.get(base, 0)
        self._uses[base] = count + 1
        return f"%{base}.{count}" if count else f"%{base}"

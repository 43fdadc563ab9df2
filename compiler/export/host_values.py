"""Numbers of a host program in LLVM IR: extents made of dims, bytes, places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...dialects.dims.expressions import (
    DimAtom,
    DimSymbol,
    Extent,
    Greatest,
    Least,
    Monomial,
    Quotient,
    Remainder,
    terms_of,
)


class HostFunction:
    """The lines of one function of LLVM IR, and the names of its values."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def label(self, name: str) -> None:
        """Begins a block; the one before must have ended."""
        self.lines.append(f"{name}:")

    def do(self, text: str) -> None:
        """Writes what gives no value."""
        self.lines.append(f"  {text}")

    def emit(self, text: str) -> str:
        """Writes what gives a value, and returns that."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {text}")
        return name

    def place(self, base: str, offset: int | str) -> str:
        """Returns the pointer `offset` bytes behind another one."""
        return base if offset == 0 else self.emit(f"getelementptr i8, ptr {base}, i64 {offset}")


class HostNumbers:
    """
    Extents as i64 values of a function: numbers stand as they are, and each expression is computed once. What
    does not fit into an i64 is noted in `overflows`, values of i1.
    """

    def __init__(self, function: HostFunction, dims: Mapping[str, str]) -> None:
        """`dims` are the values of the dims by their names in the program."""
        self._function = function
        self._dims = dims
        self._known: dict[Extent, str] = {}
        self.overflows: list[str] = []

    def value(self, extent: Extent) -> str:
        if isinstance(extent, int):
            return str(extent)
        found = self._known.get(extent)
        if found is None:
            found = "0"
            for monomial, factor in terms_of(extent):
                found = self.sum(found, self._term(monomial, factor))
            self._known[extent] = found
        return found

    def product(self, extents: Iterable[Extent]) -> str:
        found = "1"
        for extent in extents:
            found = self._times(found, self.value(extent))
        return found

    def sum(self, first: str, second: str) -> str:
        if first == "0" or second == "0":
            return second if first == "0" else first
        return self._checked("sadd", first, second)

    def greatest(self, values: Iterable[str]) -> str:
        found, *others = values
        for other in others:
            found = self._function.emit(f"call i64 @llvm.smax.i64(i64 {found}, i64 {other})")
        return found

    def aligned(self, value: str, alignment: int) -> str:
        """Returns a number rounded up to a multiple of a power of two."""
        if value.isdigit():
            return str(-(-int(value) // alignment) * alignment)
        more = self.sum(value, str(alignment - 1))
        return self._function.emit(f"and i64 {more}, {-alignment}")

    def _term(self, monomial: Monomial, factor: int) -> str:
        found = str(factor)
        for atom in monomial:
            found = self._times(found, self._atom(atom))
        return found

    def _atom(self, atom: DimAtom) -> str:
        emit = self._function.emit
        match atom:
            case DimSymbol():
                return self._dims[atom.name]
            case Quotient(operand, divisor) | Remainder(operand, divisor):
                first, positive = self.value(operand), self.value(divisor)
                if not positive.isdigit():
                    # Of a program that is not run, as the values of its dims are refused.
                    positive = emit(f"call i64 @llvm.smax.i64(i64 {positive}, i64 1)")
                rest = emit(f"srem i64 {first}, {positive}")
                below = emit(f"icmp slt i64 {rest}, 0")
                if isinstance(atom, Remainder):
                    added = emit(f"select i1 {below}, i64 {positive}, i64 0")
                    return emit(f"add i64 {rest}, {added}")
                whole = emit(f"sdiv i64 {first}, {positive}")
                return emit(f"sub i64 {whole}, {emit(f'zext i1 {below} to i64')}")
            case Greatest(one, other):
                first, second = self.value(one), self.value(other)
                return emit(f"call i64 @llvm.smax.i64(i64 {first}, i64 {second})")
            case Least(one, other):
                first, second = self.value(one), self.value(other)
                return emit(f"call i64 @llvm.smin.i64(i64 {first}, i64 {second})")

    def _times(self, first: str, second: str) -> str:
        if first == "1" or second == "1":
            return second if first == "1" else first
        if first.lstrip("-").isdigit() and second.lstrip("-").isdigit():
            return str(int(first) * int(second))
        return self._checked("smul", first, second)

    def _checked(self, operation: str, first: str, second: str) -> str:
        if first.lstrip("-").isdigit() and second.lstrip("-").isdigit():
            return str(int(first) + int(second))
        emit = self._function.emit
        pair = emit(f"call {{ i64, i1 }} @llvm.{operation}.with.overflow.i64(i64 {first}, i64 {second})")
        self.overflows.append(emit(f"extractvalue {{ i64, i1 }} {pair}, 1"))
        return emit(f"extractvalue {{ i64, i1 }} {pair}, 0")


def leave_if(function: HostFunction, conditions: Sequence[str], leaves: str, name: str) -> None:
    """Writes that a function ends, as `leaves` says, where one of some i1 holds; `name` is for blocks."""
    if not conditions:
        return
    first, *others = conditions
    for other in others:
        first = function.emit(f"or i1 {first}, {other}")
    function.do(f"br i1 {first}, label %{name}.wrong, label %{name}.fine")
    function.label(f"{name}.wrong")
    function.do(leaves)
    function.label(f"{name}.fine")


def definition(head: str, function: HostFunction) -> str:
    """Returns the text of a function of its own module, whose head is a type, a name and parameters."""
    body = "\n".join(function.lines)
    return f"define internal {head} nounwind {{\n{body}\n}}\n"

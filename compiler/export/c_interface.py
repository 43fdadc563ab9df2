"""What an exported program looks like from C: names, types and return codes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from ...dialects.dims.expressions import DimSymbol, Extent, product
from ...errors import TenonError
from ...runtime.plan.program_plan import ProgramPlan
from ...runtime.plan.signature import ArrayType


class ReturnCode(IntEnum):
    """What functions of an exported program return. `backends/llvm/native/library_pool.ll` has some too."""

    OK = 0
    NULL = 1
    MISALIGNED = 2
    BAD_DIM = 3
    NO_MEMORY = 4
    BAD_FILE = 5
    BAD_THREADS = 6
    DEVICE = 7

    @property
    def meaning(self) -> str:
        return _MEANINGS[self]


_MEANINGS = {
    ReturnCode.OK: "all went well",
    ReturnCode.NULL: "a pointer to an array with elements, or to weights, is NULL",
    ReturnCode.MISALIGNED: "a pointer is no multiple of what its elements, or the workspace, are aligned to",
    ReturnCode.BAD_DIM: "a dim is out of its range, or an axis would have no elements",
    ReturnCode.NO_MEMORY: "there is not enough memory",
    ReturnCode.BAD_FILE: "the file of weights cannot be read, or belongs to another program",
    ReturnCode.BAD_THREADS: "the number of threads is not from 0 to 1024",
    ReturnCode.DEVICE: "a function of OpenCL failed; the header says how to see which",
}

C_TYPES: Mapping[str, str] = {
    "float64": "double",
    "float32": "float",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    "float8_e5m2": "uint8_t",
    "float8_e4m3fn": "uint8_t",
    "float8_e4m3": "uint8_t",
    "int64": "int64_t",
    "int32": "int32_t",
    "int16": "int16_t",
    "int8": "int8_t",
    "uint64": "uint64_t",
    "uint32": "uint32_t",
    "uint16": "uint16_t",
    "uint8": "uint8_t",
    "bool": "uint8_t",
}
"""What elements are in C, by the names of their dtypes; floats that C lacks are their bits."""

_RESERVED = """
alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break
case catch char char8_t char16_t char32_t class co_await co_return co_yield compl concept const const_cast
consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum explicit
export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return
short signed sizeof static static_assert static_cast struct switch synchronized template this thread_local
throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile
wchar_t while xor xor_eq int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t NULL
main linux unix i386 errno stdin stdout stderr EOF
"""
"""Words of C and C++, and macros, that are no names of arguments."""


def c_identifier(text: str) -> str:
    """Returns an identifier of C and C++ that resembles `text`; `x` where nothing of it is left."""
    found = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "x"
    if found[0].isdigit():
        found = f"x{found}"
    return f"{found}_" if found in _RESERVED.split() else found


class CNames:
    """Names of the parameters of one function, each once."""

    def __init__(self, *taken: str) -> None:
        self._taken = set(taken)

    def fresh(self, text: str) -> str:
        base = found = c_identifier(text)
        count = 1
        while found in self._taken:
            count += 1
            found = f"{base}{'_' if base[-1].isdigit() else ''}{count}"
        self._taken.add(found)
        return found


@dataclass(frozen=True, slots=True)
class CArray:
    """An array that is given or filled. `extents` are its shape, with numbers or dims."""

    name: str
    type: ArrayType
    c_type: str

    @property
    def extents(self) -> tuple[Extent, ...]:
        return self.type.shape if self.type.extents is None else self.type.extents

    @property
    def count(self) -> Extent:
        """How many elements it has."""
        return product(self.extents)

    @property
    def alignment(self) -> int:
        return self.type.dtype.itemsize


@dataclass(frozen=True, slots=True)
class CDim:
    """A named dim as a parameter, and the values that it may have."""

    name: str
    symbol: DimSymbol

    @property
    def least(self) -> int:
        """The least value. Programs for axes without elements are programs of their own."""
        return max(self.symbol.minimum, 1)


@dataclass(frozen=True)
class CInterface:
    """The functions of an exported program: `name` is what their names begin with."""

    name: str
    program: str
    inputs: tuple[CArray, ...]
    outputs: tuple[CArray, ...]
    dims: tuple[CDim, ...]
    in_place: tuple[tuple[str, str], ...]
    """Pairs of an input and an output that may be the same memory."""

    @property
    def dim_names(self) -> dict[str, str]:
        """The names that dims have in C, by those that they have in the program."""
        return {dim.symbol.name: dim.name for dim in self.dims}

    def function(self, what: str) -> str:
        return f"{self.name}_{what}"


def interface_of(plan: ProgramPlan, name: str) -> CInterface:
    """
    Returns how a program is called from C.

    Raises:
        TenonError: a result or an argument has an extent that no named dim tells, or the program has tensor
            nodes, static symbols or calls of the host.
    """
    _check_exportable(plan)
    signature = plan.signature
    names = CNames(
        "workspace", "executor", "weights", "model", "queue", "path", "threads", "context", "device"
    )
    inputs = tuple(
        _array(names.fresh(argument), type, f"argument '{argument}'")
        for argument, type in zip(signature.argument_names, signature.argument_types, strict=True)
    )
    single = len(signature.result_types) == 1
    outputs = tuple(
        _array(names.fresh("result" if single else f"result{number}"), type, f"result {number}")
        for number, type in enumerate(signature.result_types)
    )
    sources = () if plan.varying is None else plan.varying.dims.sources
    dims = tuple(CDim(names.fresh(source.symbol.name), source.symbol) for source in sources)
    taken = plan.taken_arguments
    in_place = tuple((inputs[argument].name, outputs[result].name) for result, argument in taken.items())
    return CInterface(c_identifier(name), signature.name, inputs, outputs, dims, in_place)


def _check_exportable(plan: ProgramPlan) -> None:
    who = f"export: @{plan.signature.name}"
    for call in plan.host_calls:
        raise TenonError(f"{who}: {call.op_name}: {call} asks the host, which a library has not")
    if plan.nodes or plan.merge_node is not None:
        node = plan.nodes[0].name if plan.nodes else plan.merge_node
        raise TenonError(
            f"{who}: tensor node '{node}' keeps its values between calls, a library has no state"
        )
    if plan.symbols:
        raise TenonError(f"{who}: static symbol '{plan.symbols[0].name}' is no array")


def _array(name: str, type: ArrayType, who: str) -> CArray:
    if -1 in (type.shape if type.extents is None else type.extents):
        raise TenonError(f"export: {who} is {type}, expected numbers or named dims (hint: graph.dim)")
    return CArray(name, type, C_TYPES[type.dtype.name])

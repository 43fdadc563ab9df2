"""What `tenon.compile` returns: a program that is called with numpy arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ...backends.interface import Backend, CallProgram, DeviceInfo, MachineCode
from ...errors import CallError, TenonError
from ..memory.aligned_arrays import aligned_side_by_side
from ..plan.argument_kinds import check_kind
from ..plan.program_plan import Launch, SymbolPlan
from ..plan.signature import Array, ArrayType, Signature, checked_array
from ..plan.stages import Stages
from ..process_bound import ProcessBound
from ..timeline import timeline
from .device_array import DeviceArray
from .node_arrays import NodeArrays
from .symbol_arguments import SymbolArguments

if TYPE_CHECKING:
    from ..plan.lowered_program import LoweredProgram
    from ..reports.explanation import Explanation
    from ..reports.kernel_statistics import ProgramStatistics
    from ..reports.memory_plan import MemoryPlan
    from ..reports.roofline import Roofline

DirectCall = Callable[[tuple[Any, ...], Any], Any]
"""Runs a program on the arguments and `out` of a call, or returns None where that takes a closer look."""


@dataclass(frozen=True)
class CompiledFunction:
    """What a function takes and gives, and the texts that it went through, whatever runs it."""

    signature: Signature
    backend_name: str
    stages: Stages
    symbols: Sequence[SymbolPlan] = ()
    executed_stage: str = "source"
    """The stage whose text runs."""


class Executable(ProcessBound, ABC):
    """
    A compiled program. Any number of threads may call it; it holds device memory until `close`, the end of a
    `with`, or the garbage collector.
    """

    COPY_HINT = "pickle the text of a stage, executable.stages['graph'], and compile that"

    nodes: NodeArrays
    """The tensor nodes of the program, which keep their values from call to call."""

    def __init__(self, function: CompiledFunction) -> None:
        self.signature = signature = function.signature
        self.backend_name = function.backend_name
        self.stages = function.stages
        """The text of each stage by its name: `graph`, `sched`, `low`, `source`."""
        self._executed_stage = function.executed_stage
        self._symbols = SymbolArguments(signature, function.symbols) if function.symbols else None
        self._takes_out = "out" in signature.argument_names
        self._returns_one = len(signature.result_types) == 1
        self.direct_call: DirectCall | None = None
        """
        What runs the program on a tuple of plain arrays and `out`, which may be None, without the checks of a
        call: it returns None, having done nothing, where an argument does not fit. None where calls take
        more. It is not on the timeline.
        """
        self.call_program: CallProgram | None = None
        """The program whose `call` `direct_call` is, where objects can go straight to it."""
        self.explainer: Callable[[], Explanation] | None = None
        """What tells how it came about; set by whoever compiled it."""
        self.lowered_for: Callable[[Backend], LoweredProgram] | None = None
        """What makes the program for a backend's device, to be exported; set by whoever compiled it."""
        self.backend: Backend | None = None
        """What it was compiled for; set by whoever compiled it, None for the interpreter."""

    @property
    def name(self) -> str:
        """The name of the function that was compiled."""
        return self.signature.name

    @property
    def argument_names(self) -> tuple[str, ...]:
        return self.signature.argument_names

    @property
    def argument_types(self) -> tuple[ArrayType, ...]:
        return self.signature.argument_types

    @property
    def result_types(self) -> tuple[ArrayType, ...]:
        return self.signature.result_types

    @property
    def source(self) -> str:
        """
        The text that runs: LLVM IR, OpenCL C, or for the reference interpreter the IR it executes. Raises
        TenonError where there is none: it was loaded from a library.
        """
        if self._executed_stage not in self.stages:
            raise TenonError(f"{self.name}: a library has no texts of its program")
        return self.stages[self._executed_stage]

    def assembly(self) -> str:
        """
        Returns the machine code of the kernels as text.

        Raises:
            TenonError: the backend makes none itself.
        """
        source, compiler, device = self._machine_code()
        return compiler.assembly(source, device)

    def object_code(self) -> bytes:
        """
        Returns the kernels as an object file, for a linker: the function `NAME.chunk` of each takes the table
        of its arguments' addresses, and the first and the end of the work-groups to run.

        Raises:
            TenonError: the backend makes none itself.
        """
        source, compiler, device = self._machine_code()
        return compiler.object_code(source, device)

    def _machine_code(self) -> tuple[str, MachineCode, DeviceInfo]:
        backend = self.backend
        if backend is None or not isinstance(backend.compiler, MachineCode):
            raise TenonError(f"{self.name}: backend {self.backend_name} makes no machine code itself")
        return self.source, backend.compiler, backend.device

    def __call__(self, /, *arguments: Any, out: Any = None, **named: Any) -> Any:
        """
        Runs the program on numpy arrays, given in order, by name, or both. Returns one array for one result,
        else a tuple of them; they are new at each call. Static symbols are given as integers, in their places
        among the arguments.

        With `out=` the results are written into the arrays given there (one array, or a tuple) and those are
        returned; an argument that overlaps them is copied first. The name `out` means the argument of the
        program if it has one of that name. Results are always new then.

        An argument that the function declares as `{tenon.donated}` is given away: its array may be written
        to, and may be the very array that a result is returned in. One that cannot be written, or that
        overlaps another argument, is copied first.

        An argument must have the very dtype and shape that the program was compiled for; one that is not
        contiguous or not aligned is copied. Arrays of Tenon and of other libraries, which give their elements
        by DLPack or `__array__`, are taken in their own memory where they are in the host's.

        Raises:
            CallError: an argument does not fit, a tensor node that is read has no values, or the executable
                is closed.
            DeviceError: the device failed.
        """
        call_directly = self.direct_call
        if call_directly is not None and timeline.CURRENT[0] is None:
            if named:
                arguments, named = self.signature.ordered(arguments, named), {}
            results = call_directly(arguments, out)
            if results is not None:
                return results
        if self._takes_out and out is not None:
            out, named = None, {**named, "out": out}
        results = self._call_checked(arguments, named, out)
        return results[0] if self._returns_one else tuple(results)

    def aligned_results(self, numbers: Sequence[int] | None = None) -> tuple[Array, ...]:
        """
        Returns arrays for `out`, or for the results of these numbers, that begin at a line of the cache, as
        vectors that other programs load of them do then; those of numpy begin anywhere. They lie side by
        side. The results have numbers as extents.
        """
        wanted = range(len(self.result_types)) if numbers is None else numbers
        types = [self.result_types[number] for number in wanted]
        return tuple(aligned_side_by_side([(type.shape, type.dtype) for type in types]))

    def _call_checked(self, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> list[Array]:
        values: Mapping[str, int] = {}
        if self._symbols is not None:
            values, positional, named = self._symbols.take(positional, named)
        arrays = self.signature.bind(positional, named)
        if out is None:
            return self._run(arrays, None, values)
        targets = self.signature.bind_out(out)
        for i, array in enumerate(arrays):
            if any(np.may_share_memory(array, target) for target in targets):
                arrays[i] = array.copy()
        return self._run(arrays, targets, values)

    @abstractmethod
    def _run(
        self, arrays: list[Array], targets: list[Array] | None, values: Mapping[str, int]
    ) -> list[Array]:
        """
        Returns the results for arguments that fit: in `targets`, where given, else in new arrays. `values`
        are those of the static symbols.
        """

    def execute(
        self, inputs: Mapping[str, Any] | Sequence[Any], outputs: Sequence[int] | None = None
    ) -> dict[int, DeviceArray]:
        """
        Runs the program on arrays of its device, and leaves the results there. `inputs` are the arguments by
        name or in order: a `DeviceArray` of the device is used where it lies, all else is copied to it; no
        argument is changed, not even a donated one. Returns the results of the numbers `outputs`, None for
        all, each a new array. Does not wait for the device.

        Raises:
            CallError: an argument does not fit, there is no such result, a tensor node that is read has no
                values, or the executable is closed.
            DeviceError: the device failed.
        """
        named: Mapping[str, Any] = inputs if isinstance(inputs, Mapping) else {}
        positional: Sequence[Any] = () if isinstance(inputs, Mapping) else inputs
        values: Mapping[str, int] = {}
        if self._symbols is not None:
            values, positional, named = self._symbols.take(positional, named)
        given: list[Any] = list(self.signature.ordered(positional, named))
        for number, (value, type) in enumerate(zip(given, self.argument_types, strict=True)):
            who = f"argument '{self.argument_names[number]}'"
            if isinstance(value, DeviceArray):
                value.check(type, who)
            else:
                given[number] = checked_array(value, type, who)
        return self._execute(given, self._chosen(outputs), values)

    def _chosen(self, outputs: Sequence[int] | None) -> tuple[int, ...]:
        """Returns the numbers of results. Raises `CallError` where there is no such result."""
        count = len(self.result_types)
        for number in () if outputs is None else outputs:
            check_kind(f"{self.name}: outputs", number, "numbers of results", int)
            if not 0 <= number < count:
                raise CallError(f"{self.name}: there is no result {number} (results: {count})")
        return tuple(range(count) if outputs is None else outputs)

    @abstractmethod
    def _execute(
        self, given: list[Array | DeviceArray], chosen: Sequence[int], values: Mapping[str, int]
    ) -> dict[int, DeviceArray]:
        """Returns the results `chosen` for arguments that fit."""

    @abstractmethod
    def memory_plan(self) -> MemoryPlan:
        """
        Returns where every buffer lies and when it is used.

        Raises:
            TenonError: the program is interpreted.
        """

    @property
    def launches(self) -> tuple[Launch, ...]:
        """
        The launches of kernels that a call makes, with what each reads and writes.

        Raises:
            TenonError: the program is interpreted, or launches depend on sizes.
        """
        raise TenonError(f"{self.name}: the reference interpreter launches no kernels")

    def statistics(
        self, *arguments: Any, runs: int = 10, roofline: Roofline | bool = True
    ) -> ProgramStatistics:
        """
        Runs the program `runs` times, kernel by kernel, and returns what each kernel took, and how much of
        `roofline` that is; True is the device's, which is measured when it is first asked for, False none.

        Raises:
            TenonError: the program is interpreted, or `runs` is less than 1.
            CallError: an argument does not fit.
        """
        raise TenonError(f"{self.name}: the reference interpreter has no kernels to time")

    def explain(self) -> Explanation:
        """
        Returns what the compiler did: which ops are in which kernel, and why not in one, the schedule of each
        kernel, what is copied and what shares memory. Printed it is a story. The passes run again for it.

        Raises:
            TenonError: the passes left no kernels, or the executable was put together from parts.
        """
        if self.explainer is None:
            raise TenonError(f"{self.name}: nothing is known of how it was compiled")
        return self.explainer()

    @abstractmethod
    def close(self) -> None:
        """Gives the device memory back; calls are errors afterwards. Closing twice is closing once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _closed_error(self) -> CallError:
        return CallError(f"{self.name}: the executable is closed")

    def __repr__(self) -> str:
        types = dict(zip(self.argument_names, self.argument_types, strict=True))
        names = self.argument_names if self._symbols is None else self._symbols.names
        arguments = ", ".join(f"{name}: {types.get(name, 'index')}" for name in names)
        results = ", ".join(map(str, self.result_types))
        return f"<{type(self).__name__} {self.name}({arguments}) -> ({results}) on {self.backend_name}>"

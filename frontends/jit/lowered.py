"""What `jit(f).lower(...)` gives: a traced function at every level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ...errors import TenonError
from ...runtime.process_bound import ProcessBound
from ..calls.compiled_trace import CompiledTrace
from ..calls.versions import TracedCall, Version
from .call_signature import CallSignature, Parameters
from .misses import differences

CODES = {"ll": "llvm-ir", "s": "asm", "cl": "opencl-c"}
"""Kinds of code, and what `tenon-opt -t` calls them."""


@dataclass(frozen=True, slots=True)
class ProgramCost:
    """Arithmetic operations and bytes that one call moves, as the analysis of its schedule counts them."""

    flops: int
    read_nbytes: int
    written_nbytes: int
    kernel_count: int

    def __str__(self) -> str:
        return (
            f"{self.flops} flops, {self.read_nbytes} bytes read, {self.written_nbytes} bytes written, "
            f"{self.kernel_count} kernels"
        )


class Lowered(ProcessBound):
    """A function that was traced for one signature, and is compiled when something of it is asked for."""

    COPY_HINT = "pickle the function and its arguments, and lower it there"

    def __init__(
        self, call: TracedCall, parameters: Parameters, signature: CallSignature, options: Mapping[str, Any]
    ) -> None:
        self.call = call
        self.parameters = parameters
        self.signature = signature
        self._options = options

    @property
    def module(self) -> ModuleOp:
        """The module that was traced."""
        return self.call.trace.module

    @cached_property
    def version(self) -> Version:
        """The program with what it takes to call it."""
        return self.call.compiled(**self._options)

    @property
    def programs(self) -> tuple[CompiledTrace, ...]:
        """The programs of all devices where arrays are spread over a mesh of such, else the only one."""
        ranks = self.version.ranks
        return (self.program,) if ranks is None else ranks.programs

    @property
    def program(self) -> CompiledTrace:
        """
        The program, that of the first device of a mesh.

        Raises:
            TenonError: the function computes no array.
        """
        program = self.version.program
        if program is None:
            raise TenonError(f"{self.parameters.name}: computes no array, so there is no program")
        return program

    def compiled_for(self, backend: str, target: str | None) -> CompiledTrace:
        """
        Returns the program for another backend or processor, its own one where those are its own.

        Raises:
            TenonError: the function computes no array, or cannot be compiled for it.
        """
        own = self._options
        processor = own["target"] if target is None else target
        if (backend, processor) == (own["backend"], own["target"]):
            return self.program
        options: dict[str, Any] = dict(own)
        options.update(backend=backend, target=processor if backend == "llvm" else None)
        program = self.call.compiled(**options).program
        return self.program if program is None else program

    def text(self, level: str = "graph") -> str:
        """
        Returns the text of a level: `traced` as it was traced, `graph`, `sched` and `low` at the end of their
        passes, `source` as the backend's compiler gets it.

        Raises:
            TenonError: there is no such level.
        """
        if level == "traced":
            return str(self.module) + "\n"
        stages = self.program.executable.stages
        if level not in stages:
            raise TenonError(f"lower: level {level!r} is not one of {', '.join(['traced', *stages])}")
        return stages[level]

    def code(self, kind: str = "ll") -> str:
        """
        Returns the kernels as LLVM IR (`ll`) or assembly (`s`) of the function's target, or as OpenCL C
        (`cl`), whatever backend the function is for.

        Raises:
            TenonError: it is another kind, or an op cannot be expressed.
        """
        if kind not in CODES:
            raise TenonError(f"lower: code {kind!r} is not one of {', '.join(CODES)}")
        target = None if kind == "cl" else self._options["target"]
        from ...compiler.lowering import code_text

        return code_text(self.text("low"), CODES[kind], target)

    def object_code(self) -> bytes:
        """
        Returns the kernels as an object file; see `Executable.object_code`.

        Raises:
            TenonError: the backend makes none itself.
        """
        return self.program.executable.object_code()

    def cost(self) -> ProgramCost:
        """
        Returns what a call costs.

        Raises:
            TenonError: the program is interpreted.
        """
        plan = getattr(self.program.executable, "program", None)
        if plan is None:
            raise TenonError(f"{self.parameters.name}: the reference interpreter has no costs")
        costs = [cost for cost in plan.costs if cost is not None]
        return ProgramCost(
            sum(cost.flops for cost in costs),
            sum(cost.read_nbytes for cost in costs),
            sum(cost.written_nbytes for cost in costs),
            len(plan.kernel_names),
        )

    def memory_plan(self) -> Any:
        """
        Returns where every buffer lies and when it is used.

        Raises:
            TenonError: the program is interpreted.
        """
        return self.program.executable.memory_plan()

    def explain(self) -> Any:
        """
        Returns what the compiler did, which is a story where it is printed: which ops are in which kernel,
        and why not in one, how each kernel is scheduled, what is copied and what shares memory.
        """
        return self.program.executable.explain()

    def compile(self) -> CompiledCall:
        """Returns the program as a function of arguments of this signature."""
        return CompiledCall(self)

    def __repr__(self) -> str:
        return f"<lowered {self.parameters.name}({', '.join(map(str, self.signature.avals))})>"


class CompiledCall(ProcessBound):
    """A function that is compiled for one signature, and takes no other."""

    COPY_HINT = "pickle the function and its arguments, and compile it there"

    def __init__(self, lowered: Lowered) -> None:
        self._lowered = lowered
        self._version = lowered.version

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """
        Runs the program.

        Raises:
            TypeError: the arguments are of another signature.
        """
        parameters, expected = self._lowered.parameters, self._lowered.signature
        leaves: list[Any] = []
        signature = parameters.signature_of(parameters.canonical(arguments, named), leaves)
        if signature.key != expected.key:
            reasons = "; ".join(differences(signature, expected))
            raise TypeError(f"{parameters.name}: compiled for another signature ({reasons})")
        return self._version.run(leaves)

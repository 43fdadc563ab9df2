"""What `jit(f).lower(...)` gives: a traced function at every level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ..driver import code_text
from ..errors import TenonError
from .aval import Aval
from .compiled_trace import CompiledTrace
from .explain import CallSignature
from .trace import Trace
from .traced import TracedArray
from .tree import Node

if TYPE_CHECKING:
    from .jit import Jitted

CODES = {"ll": "llvm-ir", "s": "asm", "cl": "opencl-c"}
"""Kinds of code with the targets that write them."""


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


class Lowered:
    """A function that was traced for one signature, and is compiled when something of it is asked for."""

    def __init__(
        self,
        trace: Trace,
        module: ModuleOp,
        result_avals: Sequence[Aval],
        structure: Node | None,
        parts: list[Any],
        jitted: Jitted,
        signature: CallSignature,
    ) -> None:
        self.module = module
        """The module that was traced."""
        self._trace = trace
        self._result_avals = result_avals
        self._structure = structure
        self._parts = parts
        self._jitted = jitted
        self._signature = signature

    @cached_property
    def program(self) -> CompiledTrace:
        return CompiledTrace(self._trace, self.module, self._result_avals, **self._jitted.options)

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
        Returns the kernels as LLVM IR (`ll`), as assembly of this processor (`s`) or as OpenCL C (`cl`),
        whatever backend the function is for.

        Raises:
            TenonError: it is another kind, or an op cannot be expressed.
        """
        if kind not in CODES:
            raise TenonError(f"lower: code {kind!r} is not one of {', '.join(CODES)}")
        return code_text(self.text("low"), CODES[kind])

    def cost(self) -> ProgramCost:
        """
        Returns what a call costs.

        Raises:
            TenonError: the program is interpreted.
        """
        plan = getattr(self.program.executable, "program", None)
        if plan is None:
            raise TenonError(f"{self._jitted.name}: the reference interpreter has no costs")
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

    def compile(self) -> CompiledCall:
        """Returns the program as a function of arguments of this signature."""
        return CompiledCall(self)

    def __repr__(self) -> str:
        return f"<lowered {self._jitted.name}({', '.join(map(str, self._signature.avals))})>"


class CompiledCall:
    """A function that is compiled for one signature, and takes no other."""

    def __init__(self, lowered: Lowered) -> None:
        from .jit import _ARRAY, Version

        self._lowered = lowered
        program = lowered.program if lowered._result_avals else None
        parts = [_ARRAY if isinstance(part, TracedArray) else part for part in lowered._parts]
        self._version = Version(program, lowered._structure, parts, ())

    def __call__(self, /, *arguments: Any, **named: Any) -> Any:
        """
        Runs the program.

        Raises:
            TypeError: the arguments are of another signature.
        """
        lowered = self._lowered
        leaves: list[Any] = []
        arguments, named = lowered._jitted._canonical(arguments, named)
        signature = lowered._jitted._signature(arguments, named, leaves)
        if signature.key != lowered._signature.key:
            from .explain import differences

            reasons = "; ".join(differences(signature, lowered._signature))
            raise TypeError(f"{lowered._jitted.name}: compiled for another signature ({reasons})")
        return self._version.run(leaves)

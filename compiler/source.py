"""A function that is to be compiled, as it was given, and what is asked of the compile."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.passes import ModulePass

from ..backends.interface import Backend, DeviceInfo
from ..dialects.dims.expressions import DimExpr
from ..dialects.graph.types import tensor_of
from ..dialects.modules.level import IRLevel
from ..dialects.modules.parsing import location_text, parse_module, verify_module
from ..dialects.modules.record import ModuleRecord
from ..errors import TenonError
from ..passes.pass_manager import PassManager
from ..runtime.plan.signature import Signature
from ..runtime.timeline.spans import Category
from ..runtime.timeline.timeline import span
from ..semantics.host_calls import HostFunctions
from ..semantics.numpy_types import element_type_of_dtype
from ..semantics.world import World
from .tuning import tuning_pass, tuning_path

if TYPE_CHECKING:
    from ..dialects.modules.entry import Entry


@dataclass(eq=False)
class ProgramSource:
    """
    A function that is to be compiled, as it was given: `program` does not change, where it is the caller's
    from `keep` on.
    """

    program: ModuleOp | ModuleRecord | str
    entry: str | None = None
    filename: str = "<string>"
    schedule: ModulePass | None = None
    """What schedules some of its kernels."""
    tuning: str | Path | None = None
    """The database that may have schedules for them; None is the environment's."""
    is_tuned: bool = True
    callbacks: HostFunctions = field(default_factory=dict[str, Callable[..., Any]])
    """The functions that it may call."""
    world: World | None = None
    """Where it meets the other ranks."""
    is_verified: bool = False

    def keep(self) -> None:
        """Keeps what the program is now: from here on the caller may change the module."""
        if isinstance(self.program, ModuleOp):
            self.program = ModuleRecord(self.program)

    def tune(self, backend: Backend) -> None:
        """
        Finds the schedules that a database has for kernels on a device, unless something else schedules them.

        Raises:
            TuningError: the database cannot be read, or is none.
        """
        if self.is_tuned and self.schedule is None and (path := tuning_path(self.tuning)) is not None:
            self.schedule = tuning_pass(path, backend)

    def prepared(self) -> tuple[ModuleOp, Entry]:
        """
        Returns a module of the caller's own with the function and what it calls, and the function.

        Raises:
            TenonError: the module is wrong, has no such function, or the function takes or gives no tensors.
        """
        # Only now: a program that is kept needs none of it.
        from ..dialects.modules.entry import find_entry, keep_only

        program = self.program
        with span("parse", Category.COMPILE):
            match program:
                case str():
                    module = parse_module(program, self.filename)
                case ModuleOp():
                    module = program.clone()
                case ModuleRecord():
                    module = program.module()
            if not self.is_verified:
                verify_module(module)
                self.is_verified = True
        chosen = find_entry(module, self.entry)
        # What is no tensor is an error of the program as it was written, before passes change it.
        signature_of(chosen)
        keep_only(module, chosen)
        return module, chosen

    def module(self) -> ModuleOp:
        """Returns the module of `prepared`."""
        return self.prepared()[0]


@dataclass(eq=False)
class Unseparated:
    """
    A function with frozen arguments after the passes that its two programs have in common: the compile of the
    rest leaves the module here, and that of the preparation takes it. `vanishing` are the extents that a
    program of its own has where they are 0: those of the function as it was written.
    """

    module: ModuleOp | None = None
    vanishing: tuple[DimExpr, ...] = ()

    def taken(self) -> ModuleOp | None:
        """Returns the module, which is then the caller's; None where the rest was not compiled."""
        found, self.module = self.module, None
        return found


@dataclass(frozen=True)
class CompileRequest:
    """A function, what it is compiled for, and how."""

    source: ProgramSource
    backend: Backend | None
    """None is the interpreter."""
    pipeline: PassManager | str | None = None
    level: IRLevel | None = IRLevel.LOW
    """Where the default passes end; None runs none of them."""
    instruments: Sequence[object] = ()
    specialize: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Values of dims that get a program of their own."""
    part: str | None = None
    """
    Of a function with frozen arguments what is made of these, "preparation", or the "rest", which takes that
    besides; None is all of it.
    """
    unseparated: Unseparated | None = None
    """What the compiles of the two parts share, the rest first; None is nothing."""

    @property
    def device(self) -> DeviceInfo | None:
        return None if self.backend is None else self.backend.device


def signature_of(entry: Entry) -> Signature:
    """Returns what `entry` takes and gives. Raises TenonError, with its place, where that is no tensor."""
    from ..dialects.modules.entry import argument_names

    try:
        return Signature.of(entry.sym_name.data, argument_names(entry), entry.function_type)
    except TenonError as error:
        raise TenonError(error.message, location=location_text(entry.location)) from error


def take_prepared(entry: Entry, signature: Signature) -> None:
    """
    Has a function take what another program of the same function takes besides, which is of `signature`, and
    read its frozen arguments itself.
    """
    if not isinstance(entry, func.FuncOp):
        return
    block = entry.body.block
    for type in signature.argument_types[len(block.args) :]:
        tensor = tensor_of(element_type_of_dtype(type.dtype), type.shape)
        block.insert_arg(tensor, len(block.args)).location = entry.location
    outputs = list(entry.function_type.outputs)
    entry.properties["function_type"] = FunctionType.from_lists([each.type for each in block.args], outputs)
    entry.properties.pop("arg_attrs", None)

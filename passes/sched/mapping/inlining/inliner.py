"""Has kernels compute what other kernels would have filled a buffer with for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import chain

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, BlockArgument

from .....dialects import sched
from .....dialects.memory_modes import ModeKind
from .....dialects.modules.hazards import item_blocks, items_in
from .....dialects.modules.kernel_access import KernelAccess, access_of, accesses_of
from ....rewriting.kernel_names import KernelNames
from ..handovers import erase_unlaunched, kernel_name
from ..producing_kernels import (
    ElementCode,
    compute_argument,
    copied_kernel,
    element_code,
    known_inputs,
    launch_without,
    producer_of,
)


class Inliner:
    """
    Puts launches of a module in the place of two: one that fills a buffer for the other alone. `arguments`
    gives those of a kernel whose elements it may compute itself, by code that `is_taken`. `noted` are the
    pass, and why the buffer is no memory.
    """

    def __init__(
        self,
        module: ModuleOp,
        arguments: Callable[[sched.KernelOp], Iterable[BlockArgument]],
        is_taken: Callable[[ElementCode], bool],
        noted: tuple[str, str],
    ):
        self.module = module
        self.arguments = arguments
        self.is_taken = is_taken
        self.noted = noted
        self.kernels = {op.sym_name.data: op for op in module.ops if isinstance(op, sched.KernelOp)}
        self.codes: dict[str, ElementCode | None] = {}
        self.made: dict[tuple[str, int, str, tuple[int, ...]], sched.KernelOp] = {}
        """
        What was made of a kernel, the number of an argument, the kernel that fills that, and the numbers of
        the inputs of that one, and of what they are of the first one.
        """
        self.base_names: dict[sched.KernelOp, str] = {}
        """What a kernel that was made is named after: the kernel of the planner's launch."""
        self.replaced: dict[str, None] = {}
        """Kernels of launches that are gone."""

    # Of most programs nothing is inlined.
    @cached_property
    def accesses(self) -> dict[str, KernelAccess]:
        return accesses_of(self.module)

    @cached_property
    def names(self) -> KernelNames:
        return KernelNames(self.module)

    def run(self) -> None:
        """Inlines what all programs of the module launch, and erases kernels that nothing launches then."""
        for program in [inner for inner in self.module.ops if isinstance(inner, sched.ProgramOp)]:
            for block in item_blocks(program):
                self._inline_block(block)
        if self.replaced:
            erase_unlaunched(self.module, [self.kernels[name] for name in self.replaced])

    def _inline_block(self, block: Block) -> None:
        for launch in items_in(block):
            while isinstance(launch, sched.LaunchOp) and (found := self._find(launch)) is not None:
                launch = self._inline(launch, *found)

    def _find(self, launch: sched.LaunchOp) -> tuple[int, sched.LaunchOp, ElementCode] | None:
        """Returns the number of an argument, and the launch and the code that make what it holds."""
        kernel = self.kernels.get(kernel_name(launch))
        for argument in () if kernel is None else self.arguments(kernel):
            assert kernel is not None, "an argument of no kernel"
            producer = producer_of(launch, argument.index, self.accesses)
            code = None if producer is None else self._code(kernel_name(producer))
            if producer is None or code is None or not code.may_be_in(kernel):
                continue
            if code.result.type == argument.type and self.is_taken(code):
                return argument.index, producer, code
        return None

    def _code(self, name: str) -> ElementCode | None:
        if name not in self.codes:
            kernel = self.kernels.get(name)
            self.codes[name] = None if kernel is None else element_code(kernel)
        return self.codes[name]

    def _inline(
        self, launch: sched.LaunchOp, number: int, producer: sched.LaunchOp, code: ElementCode
    ) -> sched.LaunchOp:
        """Puts one launch in the place of two."""
        old, known = kernel_name(launch), known_inputs(launch, producer, number, code)
        numbers = tuple(chain(*((each.index, place) for each, place in known.items())))
        key = (old, number, kernel_name(producer), numbers)
        if key not in self.made:
            self.made[key] = self._write(self.kernels[old], number, code, known)
        self.replaced.update(dict.fromkeys((old, kernel_name(producer))))
        self._note_origin(producer)
        return launch_without(launch, producer, self.made[key].sym_name.data, number, code, known)

    def _write(
        self, kernel: sched.KernelOp, number: int, code: ElementCode, known: Mapping[BlockArgument, int]
    ) -> sched.KernelOp:
        """Adds a copy of a kernel that computes what another one loads as argument `number`."""
        base = self.base_names.get(kernel, kernel.sym_name.data)
        new = copied_kernel(kernel, self.names.fresh(f"{base}_inlined"))
        self.base_names[new] = base
        compute_argument(new, new.body.block.args[number], code, known)
        name = new.sym_name.data
        self.kernels[name] = new
        self.accesses[name] = access_of(new)
        return new

    def _note_origin(self, producer: sched.LaunchOp) -> None:
        """Says of the result of a launch, where it says what it computes, that it is in no memory."""
        if producer.origins is not None and len(producer.origins):
            *others, last = producer.origins
            name, why = self.noted
            noted = last.decided(ModeKind.VIRTUAL, why, name)
            producer.origins = ArrayAttr([*others, noted])

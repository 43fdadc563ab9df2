"""The steps of a host program in LLVM IR: a block for each, and branches where a step says which is next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from struct import pack

from ...backends.llvm.names import function_stem
from ...backends.llvm.programs.step_image import COPIED_BYTES_PER_NANOSECOND, UNKNOWN_GROUP_NANOSECONDS
from ...backends.steps import (
    BranchStep,
    CopyStep,
    HostStep,
    JumpStep,
    LaunchStep,
    LoopStep,
    NextStep,
    PlaceStep,
    Step,
    SyncStep,
)
from ...runtime.plan.program_plan import BufferKind, BufferPlan, ProgramPlan
from .host_values import HostFunction, HostNumbers


@dataclass(frozen=True, slots=True)
class ProgramSizes:
    """The sizes of a program in one function: values of i64, or numbers."""

    numbers: HostNumbers
    nbytes: tuple[str, ...]
    """The bytes of each buffer."""
    offsets: Mapping[int, str]
    """Where each temporary, and each argument that is copied, lies in the workspace."""
    workspace_nbytes: str


def n_words(plan: ProgramPlan) -> int:
    """Returns the words of the longest table that a step's function is given."""
    launches = [(number, step) for number, step in enumerate(plan.steps) if isinstance(step, LaunchStep)]
    sizes = {number: step.sizes for number, step in launches} if plan.varying is None else plan.varying.taken
    # A copy takes two.
    return max([2, *(len(sizes[number]) + len(step.buffers) for number, step in launches)])


class HostSteps:
    """Writes the steps of a program, and the return, into a function whose arguments are checked."""

    def __init__(
        self,
        plan: ProgramPlan,
        function: HostFunction,
        sizes: ProgramSizes,
        dims: Mapping[str, str],
        inputs: Sequence[str],
        outputs: Sequence[str],
        workspace: str,
    ) -> None:
        self._plan, self._function, self._sizes, self._dims = plan, function, sizes, dims
        self._inputs, self._outputs, self._workspace = inputs, outputs, workspace
        self._taken = {argument: result for result, argument in plan.taken_arguments.items()}
        self._share = ""
        self._places: dict[int, str] = {}

    def write(self) -> None:
        plan, function = self._plan, self._function
        self._share = self._share_of_greatest()
        for number, buffer in enumerate(plan.buffers):
            if buffer.kind is not BufferKind.ROW:
                self._places[number] = self._placed(number, buffer)
        function.do("br label %step0")
        for number, step in enumerate(plan.steps):
            function.label(f"step{number}")
            self._write_step(number, step)
        function.label(f"step{len(plan.steps)}")
        taken = plan.taken_arguments
        for number, index in enumerate(plan.returned):
            if (
                self._sizes.nbytes[index] != "0"
                and number not in taken
                and not plan.is_computed_in_place(number)
            ):
                self._copy(self._outputs[number], self._at(index), self._sizes.nbytes[index])
        own = function.emit("load ptr, ptr %own.at")
        function.do(f"call void @free(ptr {own})")
        function.do("ret i32 0")

    def _placed(self, number: int, buffer: BufferPlan) -> str:
        """Returns where a buffer lies; arguments that are written to are copied there."""
        function, offsets = self._function, self._sizes.offsets
        match buffer.kind:
            case BufferKind.ARGUMENT:
                given = self._inputs[buffer.number]
                if buffer.number in self._taken:
                    place = self._outputs[self._taken[buffer.number]]
                elif number in offsets:
                    place = function.place(self._workspace, offsets[number])
                else:
                    return given
                # An input may be the output itself, but overlaps nothing in part.
                function.do(
                    f"call void @llvm.memmove.p0.p0.i64(ptr {place}, ptr {given}, "
                    f"i64 {self._sizes.nbytes[number]}, i1 false)"
                )
                return place
            case BufferKind.CONSTANT:
                return function.place("%weights", buffer.offset)
            case BufferKind.TEMPORARY:
                return function.place(self._workspace, offsets[number])
            case BufferKind.RESULT:
                return self._outputs[buffer.number]
            case _:
                raise AssertionError(f"a library has no {buffer.kind.value}")

    def _at(self, number: int) -> str:
        place = self._places.get(number)
        return self._function.emit(f"load ptr, ptr %row{number}") if place is None else place

    def _write_step(self, number: int, step: Step) -> None:
        function, following = self._function, f"%step{number + 1}"
        match step:
            case LaunchStep():
                self._write_launch(number, step)
            case CopyStep():
                varying = self._plan.varying
                size = step.nbytes if varying is None else varying.copied_nbytes[number]
                nbytes = self._sizes.numbers.value(size)
                self._copy(self._at(step.target), self._at(step.source), nbytes)
            case SyncStep():
                pass
            case LoopStep():
                self._begin_loop(number, step)
                return
            case NextStep():
                begin = f"%iteration{step.begin}"
                done = function.emit(f"load i64, ptr {begin}")
                more = function.emit(f"add i64 {done}, 1")
                function.do(f"store i64 {more}, ptr {begin}")
                again = function.emit(f"icmp slt i64 {more}, {self._length(step.begin)}")
                function.do(f"br i1 {again}, label %loop{step.begin}, label {following}")
                return
            case BranchStep():
                condition = function.emit(f"load i8, ptr {self._at(step.condition)}")
                holds = function.emit(f"icmp ne i8 {condition}, 0")
                function.do(f"br i1 {holds}, label {following}, label %step{step.target}")
                return
            case JumpStep():
                following = f"%step{step.target}"
            case PlaceStep():
                self._place_rows(number, step, None)
            case HostStep():
                raise AssertionError(f"a library does not call the host: {step.what}")
        function.do(f"br label {following}")

    def _length(self, begin: int) -> str:
        varying, loop = self._plan.varying, self._plan.steps[begin]
        assert isinstance(loop, LoopStep), f"step {begin} begins no loop"
        return self._sizes.numbers.value(loop.count if varying is None else varying.lengths[begin])

    def _begin_loop(self, number: int, step: LoopStep) -> None:
        function = self._function
        length = self._length(number)
        function.do(f"store i64 0, ptr %iteration{number}")
        some = function.emit(f"icmp sgt i64 {length}, 0")
        function.do(f"br i1 {some}, label %loop{number}, label %step{step.end + 1}")
        function.label(f"loop{number}")
        index = function.emit(f"load i64, ptr %iteration{number}")
        if step.reverse:
            last = function.emit(f"sub i64 {length}, 1")
            index = function.emit(f"sub i64 {last}, {index}")
        if step.counter is not None:
            function.do(f"store i64 {index}, ptr {self._at(step.counter)}")
        self._place_rows(number, step, index)
        function.do(f"br label %step{number + 1}")

    def _place_rows(self, number: int, step: LoopStep | PlaceStep, index: str | None) -> None:
        """Writes where the rows are of an iteration, or those that no loop moves."""
        function, numbers, varying = self._function, self._sizes.numbers, self._plan.varying
        for place, row in enumerate(step.rows):
            stride = row.stride_nbytes if varying is None else varying.row_nbytes[number][place]
            offset = numbers.value(stride)
            if index is not None:
                offset = function.emit(f"mul i64 {index}, {offset}")
            function.do(f"store ptr {function.place(self._at(row.source), offset)}, ptr %row{row.row}")

    def _write_launch(self, number: int, step: LaunchStep) -> None:
        function, numbers, varying = self._function, self._sizes.numbers, self._plan.varying
        if varying is None:
            words = [str(size) for size in step.sizes]
            extent = str(prod(step.grid))
            expected = str(step.nanoseconds or prod(step.grid) * UNKNOWN_GROUP_NANOSECONDS)
        else:
            words = [self._dims[name] for name in varying.taken[number]]
            extent = numbers.product(varying.grids[number])
            if step.nanoseconds:
                scaled = function.emit(f"fmul double {self._share}, {_double(step.nanoseconds)}")
                expected = function.emit(f"call i64 @llvm.fptosi.sat.i64.f64(double {scaled})")
            else:
                expected = function.emit(f"mul i64 {extent}, {UNKNOWN_GROUP_NANOSECONDS}")
        if extent == "0":
            return
        values = [*(f"i64 {word}" for word in words), *(f"ptr {self._at(each)}" for each in step.buffers)]
        self._launch(f"{function_stem(step.kernel)}.chunk", values, extent, expected)

    def _copy(self, target: str, source: str, nbytes: str) -> None:
        expected = self._function.emit(f"sdiv i64 {nbytes}, {COPIED_BYTES_PER_NANOSECOND}")
        self._launch("copy_part", [f"ptr {target}", f"ptr {source}"], nbytes, expected)

    def _launch(self, name: str, table: Sequence[str], extent: str, nanoseconds: str) -> None:
        function = self._function
        for place, value in enumerate(table):
            function.do(f"store {value}, ptr {function.place('%table', 8 * place)}")
        function.do(
            f"call void @launch(ptr %executor, ptr @{name}, ptr %table, i64 {extent}, i64 {nanoseconds})"
        )

    def _share_of_greatest(self) -> str:
        """Returns how much of their greatest size all buffers have, a double; nothing for fixed sizes."""
        plan, function = self._plan, self._function
        if plan.varying is None:
            return ""
        total = _double(0)
        for nbytes in self._sizes.nbytes:
            one = function.emit(f"sitofp i64 {nbytes} to double")
            total = function.emit(f"fadd double {total}, {one}")
        greatest = sum(buffer.nbytes for buffer in plan.buffers)
        return function.emit(f"fdiv double {total}, {_double(greatest or 1)}")


def _double(value: float) -> str:
    """Returns a constant as LLVM writes those that have no short text."""
    return f"0x{pack('>d', float(value)).hex().upper()}"

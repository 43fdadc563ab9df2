"""
A host program as one function of LLVM IR: what `native/steps.ll` walks as data is code here, which needs no
memory but a workspace that each call has to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...backends.llvm.names import function_stem
from ...backends.llvm.programs.step_image import (
    LEAST_PARALLEL_NANOSECONDS,
    LEAST_PART_NANOSECONDS,
)
from ...backends.steps import LoopStep
from ...dialects.buffer_size import ALIGNMENT
from ...dialects.dims.expressions import DimExpr
from ...runtime.plan.program_plan import BufferKind, ProgramPlan, packing
from .c_interface import CArray, CInterface, ReturnCode
from .host_steps import HostSteps, ProgramSizes, n_words
from .host_values import HostFunction, HostNumbers, definition, leave_if

LAUNCH = f"""
; Runs a range of work-groups, or of bytes: shared out by the caller's executor where that is worth it.
define internal void @launch(
    ptr %executor, ptr %function, ptr %table, i64 %extent, i64 %nanoseconds) nounwind {{
entry:
  %some = icmp ne i64 %extent, 0
  br i1 %some, label %run, label %out
run:
  %none = icmp eq ptr %executor, null
  %one = icmp slt i64 %extent, 2
  %short = icmp slt i64 %nanoseconds, {LEAST_PARALLEL_NANOSECONDS}
  %small = or i1 %one, %short
  %serial = or i1 %none, %small
  br i1 %serial, label %alone, label %share
alone:
  call void %function(ptr %table, i64 0, i64 %extent)
  br label %out
share:
  %scaled = mul i64 %extent, {LEAST_PART_NANOSECONDS}
  %part = sdiv i64 %scaled, %nanoseconds
  %least = call i64 @llvm.smax.i64(i64 %part, i64 1)
  %run.of = load ptr, ptr %executor
  %context.at = getelementptr ptr, ptr %executor, i64 1
  %context = load ptr, ptr %context.at
  call void %run.of(ptr %context, ptr %function, ptr %table, i64 %extent, i64 %least)
  br label %out
out:
  ret void
}}

declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare {{ i64, i1 }} @llvm.smul.with.overflow.i64(i64, i64)
declare {{ i64, i1 }} @llvm.sadd.with.overflow.i64(i64, i64)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.fptosi.sat.i64.f64(double)
declare i32 @posix_memalign(ptr, i64, i64)
declare void @free(ptr)
declare void @copy_part(ptr, i64, i64)
"""
"""What functions of host programs call."""


class HostProgram:
    """Writes the functions of one program. The plan has neither nodes nor calls of the host."""

    def __init__(self, plan: ProgramPlan, interface: CInterface, vanishing: Sequence[DimExpr]) -> None:
        """`vanishing` are the extents that a program of its own has where they are 0."""
        self._plan = plan
        self._interface = interface
        self._vanishing = vanishing
        self._dims = {dim.symbol.name: f"%dim{number}" for number, dim in enumerate(interface.dims)}
        self._taken = {argument: result for result, argument in plan.taken_arguments.items()}
        """The results in whose memory donated arguments are used up, by argument."""

    def text(self, run: str, workspace_size: str) -> str:
        """
        Returns the function that runs the program, and the one that tells how much workspace it takes, under
        these names. The weights are the last but two of its parameters.
        """
        return "\n".join(
            (
                *(
                    f"declare void @{function_stem(name)}.chunk(ptr, i64, i64)"
                    for name in self._kernel_names()
                ),
                LAUNCH,
                self._workspace_function(workspace_size),
                self._run_function(run),
            )
        )

    def _kernel_names(self) -> tuple[str, ...]:
        return self._plan.kernel_names

    def _workspace_function(self, name: str) -> str:
        function = HostFunction()
        function.label("entry")
        sizes = self._sizes(function, lambda code: f"ret i64 {-code}")
        function.do(f"ret i64 {sizes.workspace_nbytes}")
        parameters = ", ".join(f"i64 {dim}" for dim in self._dims.values())
        return definition(f"i64 @{name}({parameters})", function)

    def _run_function(self, name: str) -> str:
        interface = self._interface
        inputs = [f"%input{number}" for number in range(len(interface.inputs))]
        outputs = [f"%output{number}" for number in range(len(interface.outputs))]
        function = HostFunction()
        function.label("entry")
        function.do(f"%table = alloca [{n_words(self._plan)} x i64], align 8")
        function.do("%own.at = alloca ptr")
        function.do("store ptr null, ptr %own.at")
        for number in self._rows():
            function.do(f"%row{number} = alloca ptr")
        for number, step in enumerate(self._plan.steps):
            if isinstance(step, LoopStep):
                function.do(f"%iteration{number} = alloca i64")
        sizes = self._sizes(function, lambda code: f"ret i32 {code}")
        arrays = list(zip((*inputs, *outputs), (*interface.inputs, *interface.outputs), strict=True))
        self._check_pointers(function, sizes.numbers, arrays)
        workspace = _workspace(function, sizes.workspace_nbytes)
        HostSteps(self._plan, function, sizes, self._dims, inputs, outputs, workspace).write()
        parameters = [
            *(f"ptr {each}" for each in (*inputs, *outputs)),
            *(f"i64 {dim}" for dim in self._dims.values()),
            "ptr %weights",
            "ptr %workspace",
            "ptr %executor",
        ]
        return definition(f"i32 @{name}({', '.join(parameters)})", function)

    def _rows(self) -> list[int]:
        return [n for n, buffer in enumerate(self._plan.buffers) if buffer.kind is BufferKind.ROW]

    def _sizes(self, function: HostFunction, refuse: Callable[[ReturnCode], str]) -> ProgramSizes:
        """Writes the checks of the dims, and the sizes; what is wrong ends the function."""
        plan, varying = self._plan, self._plan.varying
        numbers = HostNumbers(function, self._dims)
        if varying is None:
            nbytes = [str(buffer.nbytes) for buffer in plan.buffers]
        else:
            wrong: list[str] = []
            for dim in self._interface.dims:
                value = self._dims[dim.symbol.name]
                wrong.append(function.emit(f"icmp slt i64 {value}, {dim.least}"))
                wrong.append(function.emit(f"icmp sgt i64 {value}, {dim.symbol.maximum}"))
            leave_if(function, wrong, refuse(ReturnCode.BAD_DIM), "dims")
            wrong = [function.emit(f"icmp sle i64 {numbers.value(each)}, 0") for each in self._vanishing]
            leave_if(function, wrong, refuse(ReturnCode.BAD_DIM), "extents")
            nbytes = [numbers.value(size) for size in varying.buffer_nbytes]
        offsets, end = self._offsets(numbers, nbytes)
        for number, buffer in enumerate(plan.buffers):
            if self._is_copied(number):
                offsets[number] = end
                end = numbers.aligned(numbers.sum(end, nbytes[number]), ALIGNMENT)
            assert buffer.kind not in (BufferKind.NODE, BufferKind.MERGE), "a library has no nodes"
        if varying is not None:
            # Before sizes are used.
            self._needed(numbers)
            leave_if(function, numbers.overflows, refuse(ReturnCode.NO_MEMORY), "sizes")
        return ProgramSizes(numbers, tuple(nbytes), offsets, end)

    def _needed(self, numbers: HostNumbers) -> None:
        """Computes what the steps and the checks of a program with dims will ask for."""
        varying = self._plan.varying
        assert varying is not None
        for grid in varying.grids.values():
            numbers.product(grid)
        for extent in (*varying.copied_nbytes.values(), *varying.lengths.values()):
            numbers.value(extent)
        for strides in varying.row_nbytes.values():
            for stride in strides:
                numbers.value(stride)
        for array in (*self._interface.inputs, *self._interface.outputs):
            numbers.value(array.count * array.type.dtype.itemsize)

    def _is_copied(self, number: int) -> bool:
        """Returns whether a buffer is an argument that is written to, in memory that no result takes."""
        buffer = self._plan.buffers[number]
        is_donated = buffer.kind is BufferKind.ARGUMENT and buffer.number in self._plan.donated
        return is_donated and buffer.number not in self._taken

    def _offsets(self, numbers: HostNumbers, nbytes: Sequence[str]) -> tuple[dict[int, str], str]:
        """Returns where the temporaries lie, and where they end."""
        plan = self._plan
        if plan.varying is None:
            placed = {
                number: str(buffer.offset)
                for number, buffer in enumerate(plan.buffers)
                if buffer.kind is BufferKind.TEMPORARY
            }
            return placed, numbers.aligned(str(plan.temporary_nbytes), ALIGNMENT)
        offsets: dict[int, str] = {}
        ends: dict[int, str] = {}
        end = "0"
        for number, passed in packing(plan.buffers, [buffer.nbytes for buffer in plan.buffers]):
            if passed:
                end = numbers.greatest([end, *(ends[other] for other in passed)])
            offsets[number] = end
            ends[number] = numbers.aligned(numbers.sum(end, nbytes[number]), ALIGNMENT)
        return offsets, numbers.greatest(ends.values()) if ends else "0"

    def _check_pointers(
        self, function: HostFunction, numbers: HostNumbers, arrays: Sequence[tuple[str, CArray]]
    ) -> None:
        # Weights inside of the library have a place: that is known when it is compiled.
        missing = [function.emit("icmp eq ptr %weights, null")] if self._plan.constants.nbytes else []
        misaligned: list[str] = []
        for pointer, array in arrays:
            count = numbers.value(array.count)
            if count == "0":
                continue
            missing.append(function.emit(f"icmp eq ptr {pointer}, null"))
            if array.alignment > 1:
                address = function.emit(f"ptrtoint ptr {pointer} to i64")
                rest = function.emit(f"and i64 {address}, {array.alignment - 1}")
                misaligned.append(function.emit(f"icmp ne i64 {rest}, 0"))
        leave_if(function, missing, f"ret i32 {ReturnCode.NULL}", "null")
        leave_if(function, misaligned, f"ret i32 {ReturnCode.MISALIGNED}", "misaligned")


def _workspace(function: HostFunction, nbytes: str) -> str:
    """Writes what takes the caller's workspace, or memory where there is none; returns where it lies."""
    if nbytes == "0":
        return "null"
    given = function.emit("icmp ne ptr %workspace, null")
    function.do(f"br i1 {given}, label %workspace.given, label %workspace.missing")
    function.label("workspace.given")
    rest = function.emit(f"and i64 {function.emit('ptrtoint ptr %workspace to i64')}, {ALIGNMENT - 1}")
    leave_if(
        function, [function.emit(f"icmp ne i64 {rest}, 0")], f"ret i32 {ReturnCode.MISALIGNED}", "workspace"
    )
    function.do("br label %workspace.ready")
    function.label("workspace.missing")
    error = function.emit(f"call i32 @posix_memalign(ptr %own.at, i64 {ALIGNMENT}, i64 {nbytes})")
    leave_if(
        function, [function.emit(f"icmp ne i32 {error}, 0")], f"ret i32 {ReturnCode.NO_MEMORY}", "memory"
    )
    own = function.emit("load ptr, ptr %own.at")
    function.do("br label %workspace.ready")
    function.label("workspace.ready")
    return function.emit(f"phi ptr [ %workspace, %workspace.fine ], [ {own}, %memory.fine ]")

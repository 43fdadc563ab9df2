"""The function of C that runs a program by OpenCL: each step one call, loops and branches as they are."""

from __future__ import annotations

from collections.abc import Sequence

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
from ...dialects.dims.expressions import DimExpr, Extent
from ...runtime.plan.program_plan import BufferKind, ProgramPlan, packing
from .c_interface import CInterface
from .c_numbers import c_number
from .header import array_parameters, joined


class OpenCLRun:
    """Writes the function of one program. The plan has neither nodes nor calls of the host."""

    def __init__(self, plan: ProgramPlan, interface: CInterface, vanishing: Sequence[DimExpr]) -> None:
        self._plan, self._interface, self._vanishing = plan, interface, vanishing
        self._names = interface.dim_names
        self._kernels = plan.kernel_names
        self._memories: list[str] = []
        """What gives each piece of memory of a run: its bytes, and the input that it begins with."""

    def text(self) -> str:
        """Returns the function."""
        interface, plan = self._interface, self._plan
        body = _Lines()
        self._write_checks(body)
        places = self._write_places(body)
        steps = _Lines()
        targets = self._targets()
        for number, step in enumerate(plan.steps):
            if number in targets:
                steps.add(f"step{number}:;")
            self._write_step(steps, number, step)
        if len(plan.steps) in targets:
            steps.add(f"step{len(plan.steps)}:;")
        for output, index in zip(interface.outputs, plan.returned, strict=True):
            at = f"places[{index}]"
            steps.transfer("Read", self._nbytes(index), f"{at}.memory", f"{at}.offset", output.name)
        steps.add("error = clFinish(queue);")
        parameters = [
            f"{interface.name}_program *program",
            "cl_command_queue queue",
            *array_parameters(interface),
        ]
        return "\n".join(
            (
                f"int {interface.function('run')}({joined(parameters)}) {{",
                "  cl_int error = CL_SUCCESS;",
                *body.lines,
                f"  cl_mem memories[{len(self._memories) + 1}] = {{0}};",
                f"  struct place places[{len(plan.buffers) + 1}] = {{{{0}}}};",
                *(
                    f"  int64_t iteration{n} = 0;"
                    for n, s in enumerate(plan.steps)
                    if isinstance(s, LoopStep)
                ),
                *places.lines,
                *steps.lines,
                "end:",
                f"  for (int i = 0; i < {len(self._memories)}; i++) {{",
                "    if (memories[i]) clReleaseMemObject(memories[i]);",
                "  }",
                "  program->error = error;",
                "  return error ? TENON_DEVICE : TENON_OK;",
                "}",
                "",
            )
        )

    def _number(self, extent: Extent) -> str:
        return c_number(extent, self._names)

    def _nbytes(self, index: int) -> str:
        """Returns the bytes of a buffer: a number, or the variable that has them."""
        return str(self._plan.buffers[index].nbytes) if self._plan.varying is None else f"nbytes[{index}]"

    def _write_checks(self, body: _Lines) -> None:
        varying = self._plan.varying
        if varying is not None:
            body.add("int is_wrong = 0, *wrong = &is_wrong;")
            for dim in self._interface.dims:
                outside = f"{dim.name} < {dim.least} || {dim.name} > {dim.symbol.maximum}"
                body.add(f"if ({outside}) return TENON_BAD_DIM;")
            for extent in self._vanishing:
                body.add(f"if ({self._number(extent)} <= 0) return TENON_BAD_DIM;")
            sizes = ",\n      ".join(self._number(size) for size in varying.buffer_nbytes)
            body.add(f"const int64_t nbytes[] = {{{sizes}}};")
        arrays = (*self._interface.inputs, *self._interface.outputs)
        for array in arrays:
            if array.count != 0:
                body.add(f"if (!{array.name}) return TENON_NULL;")

    def _write_places(self, body: _Lines) -> _Lines:
        """Writes the sizes into `body`, and returns what makes the memory and says where buffers lie."""
        plan, found = self._plan, _Lines()
        offsets, end = self._offsets(body)
        if plan.varying is not None:
            body.add("if (is_wrong) return TENON_NO_MEMORY;")
        temporaries = self._memory(found, end, "") if end != "0" else ""
        for number, buffer in enumerate(plan.buffers):
            at, nbytes = f"places[{number}]", self._nbytes(number)
            match buffer.kind:
                case BufferKind.ARGUMENT:
                    memory = self._memory(found, nbytes, self._interface.inputs[buffer.number].name)
                    found.add(f"{at}.memory = {memory};")
                case BufferKind.RESULT:
                    found.add(f"{at}.memory = {self._memory(found, nbytes, '')};")
                case BufferKind.CONSTANT:
                    found.add(f"{at}.memory = program->weights;")
                    found.add(f"{at}.offset = {buffer.offset};")
                case BufferKind.TEMPORARY:
                    found.add(f"{at}.memory = {temporaries or self._memory(found, '0', '')};")
                    found.add(f"{at}.offset = (cl_ulong)({offsets[number]});")
                case BufferKind.ROW:
                    pass
                case BufferKind.NODE | BufferKind.MERGE:
                    raise AssertionError("a library has no nodes")
        return found

    def _memory(self, found: _Lines, nbytes: str, source: str) -> str:
        """Writes what makes a piece of memory, which begins with an input, and returns its name."""
        name = f"memories[{len(self._memories)}]"
        self._memories.append(nbytes)
        size = f"(size_t)({nbytes} ? {nbytes} : 1)" if not nbytes.isdigit() else str(max(int(nbytes), 1))
        found.add(f"{name} = clCreateBuffer(program->context, CL_MEM_READ_WRITE, {size}, NULL, &error);")
        found.add("if (error) goto end;")
        if source:
            found.transfer("Write", nbytes, name, "0", source)
        return name

    def _offsets(self, body: _Lines) -> tuple[dict[int, str], str]:
        """Returns where the temporaries lie, and where they end."""
        plan = self._plan
        temporaries = {n: b for n, b in enumerate(plan.buffers) if b.kind is BufferKind.TEMPORARY}
        if plan.varying is None:
            return {n: str(b.offset) for n, b in temporaries.items()}, str(plan.temporary_nbytes)
        if not temporaries:
            return {}, "0"
        body.add("int64_t end = 0, last = 0;")
        for number, passed in packing(plan.buffers, [buffer.nbytes for buffer in plan.buffers]):
            for other in passed:
                body.add(f"end = max_of(end, end{other});")
            body.add(f"const int64_t offset{number} = end;")
            body.add(
                f"const int64_t end{number} = aligned(sum_of(end, {self._nbytes(number)}, wrong), wrong);"
            )
            body.add(f"last = max_of(last, end{number});")
        return {number: f"offset{number}" for number in temporaries}, "last"

    def _targets(self) -> set[int]:
        """Returns the steps that others go on with."""
        found: set[int] = set()
        for step in self._plan.steps:
            match step:
                case LoopStep():
                    found |= {step.end + 1}
                case BranchStep() | JumpStep():
                    found.add(step.target)
                case _:
                    pass
        return found

    def _write_step(self, body: _Lines, number: int, step: Step) -> None:
        match step:
            case LaunchStep():
                self._write_launch(body, number, step)
            case CopyStep():
                varying = self._plan.varying
                size = self._number(step.nbytes if varying is None else varying.copied_nbytes[number])
                source, target = f"places[{step.source}]", f"places[{step.target}]"
                body.enqueue(
                    size,
                    "CopyBuffer",
                    f"{source}.memory, {target}.memory, {source}.offset, {target}.offset, (size_t)({size})",
                )
            case LoopStep():
                self._write_loop(body, number, step)
            case NextStep():
                length = self._length(step.begin)
                body.add(f"if (++iteration{step.begin} < {length}) goto loop{step.begin};")
            case BranchStep():
                condition = f"places[{step.condition}]"
                body.add("{")
                body.add("  unsigned char holds = 0;")
                body.transfer("Read", "1", f"{condition}.memory", f"{condition}.offset", "&holds")
                body.add(f"  if (!holds) goto step{step.target};")
                body.add("}")
            case JumpStep():
                body.add(f"goto step{step.target};")
            case PlaceStep():
                self._place_rows(body, number, step, "")
            case SyncStep():
                pass
            case HostStep():
                raise AssertionError(f"a library does not call the host: {step.what}")

    def _length(self, begin: int) -> str:
        varying, loop = self._plan.varying, self._plan.steps[begin]
        assert isinstance(loop, LoopStep), f"step {begin} begins no loop"
        return self._number(loop.count if varying is None else varying.lengths[begin])

    def _write_loop(self, body: _Lines, number: int, step: LoopStep) -> None:
        length = self._length(number)
        body.add(f"iteration{number} = 0;")
        body.add(f"if ({length} <= 0) goto step{step.end + 1};")
        body.add(f"loop{number}:;")
        body.add("{")
        index = f"{length} - 1 - iteration{number}" if step.reverse else f"iteration{number}"
        body.add(f"  const cl_long index = {index};")
        if step.counter is not None:
            at = f"places[{step.counter}]"
            body.transfer("Write", "8", f"{at}.memory", f"{at}.offset", "&index")
        self._place_rows(body, number, step, "index * ")
        if step.counter is None and not step.rows:
            body.add("  (void)index;")
        body.add("}")

    def _place_rows(self, body: _Lines, number: int, step: LoopStep | PlaceStep, times: str) -> None:
        varying = self._plan.varying
        for place, row in enumerate(step.rows):
            stride = self._number(row.stride_nbytes if varying is None else varying.row_nbytes[number][place])
            body.add(f"  places[{row.row}] = places[{row.source}];")
            body.add(f"  places[{row.row}].offset += (cl_ulong)({times}({stride}));")

    def _write_launch(self, body: _Lines, number: int, step: LaunchStep) -> None:
        varying = self._plan.varying
        if varying is None:
            sizes, grid = [str(size) for size in step.sizes], [str(extent) for extent in step.grid]
        else:
            sizes = [self._names[name] for name in varying.taken[number]]
            grid = [self._number(extent) for extent in varying.grids[number]]
        kernel = self._kernels.index(step.kernel)
        body.add("{")
        body.add(
            f"  const int64_t sizes[] = {{{', '.join(sizes) or '0'}}}, groups[] = {{{', '.join(grid)}}};"
        )
        body.add(f"  const int buffers[] = {{{', '.join(map(str, step.buffers)) or '0'}}};")
        body.add(f"  const size_t block[] = {{{', '.join(map(str, step.block))}}};")
        body.add(
            f"  error = launch(queue, program->kernels[{kernel}], sizes, {len(sizes)}, places, buffers, "
            f"{len(step.buffers)}, groups, block);"
        )
        body.add("  if (error) goto end;")
        body.add("}")


class _Lines:
    """Lines of the body of a function."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        self.lines.append(f"  {line}" if line else "")

    def transfer(self, way: str, nbytes: str, memory: str, offset: str, host: str) -> None:
        """Writes what waits until so many bytes were read into, or written from, memory of the host."""
        self.enqueue(nbytes, f"{way}Buffer", f"{memory}, CL_TRUE, {offset}, (size_t)({nbytes}), {host}")

    def enqueue(self, nbytes: str, what: str, arguments: str) -> None:
        """Writes a command on so many bytes, for none of which there is no command."""
        if nbytes == "0":
            return
        if not nbytes.isdigit():
            self.add(f"if ({nbytes})")
        self.add(f"  error = clEnqueue{what}(queue, {arguments}, 0, NULL, NULL);")
        self.add("if (error) goto end;")

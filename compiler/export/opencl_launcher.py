"""A host program as C that drives OpenCL: what makes a program, runs it and gives it back."""

from __future__ import annotations

from collections.abc import Sequence

from ...backends.opencl.emission.names import kernel_name
from ...dialects.dims.expressions import DimExpr
from ...runtime.plan.program_plan import ProgramPlan
from .c_interface import CInterface
from .c_numbers import helpers_of
from .opencl_run import OpenCLRun

_FILE = """\
static int read_file(const char *path, size_t nbytes, char **contents, size_t *found) {{
  FILE *file = path ? fopen(path, "rb") : NULL;
  *contents = NULL;
  if (!file) return TENON_BAD_FILE;
  int code = TENON_BAD_FILE;
  long end = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
  if (end > 0 && (!nbytes || (size_t)end == nbytes) && !fseek(file, 0, SEEK_SET)) {{
    code = (*contents = malloc((size_t)end)) ? TENON_OK : TENON_NO_MEMORY;
    if (!code && fread(*contents, 1, (size_t)end, file) != (size_t)end) code = TENON_BAD_FILE;
    *found = (size_t)end;
  }}
  fclose(file);
  if (code) free(*contents), *contents = NULL;
  return code;
}}
"""

_CREATE = """\
int {name}_create(cl_context context, cl_device_id device, const char *source_path{weights_parameter},
        {name}_program **made) {{
  char *source = NULL{weights_variable};
  size_t nbytes = 0;
  cl_device_fp_config floats = 0;
  cl_int error = CL_SUCCESS;
  *made = NULL;
  {name}_program *program = calloc(1, sizeof *program);
  if (!program) return TENON_NO_MEMORY;
  program->context = context;
  int code = read_file(source_path, 0, &source, &nbytes);
  if (code) goto end;
  const char *text = source;
  code = TENON_DEVICE;
  program->program = clCreateProgramWithSource(context, 1, &text, &nbytes, &error);
  if (error) goto end;
  error = clGetDeviceInfo(device, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
  if (error) goto end;
  error = clBuildProgram(program->program, 1, &device,
                         floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT
                             ? "-cl-std=CL1.2 -w -cl-fp32-correctly-rounded-divide-sqrt"
                             : "-cl-std=CL1.2 -w",
                         NULL, NULL);
  if (error) goto end;
  for (int i = 0; i < N_KERNELS; i++) {{
    program->kernels[i] = clCreateKernel(program->program, kernel_names[i], &error);
    if (error) goto end;
  }}
{weights}  code = TENON_OK;
end:
  free(source);
{free_weights}  if (code) {{
    {name}_destroy(program);
    return code;
  }}
  *made = program;
  return TENON_OK;
}}
"""

_WEIGHTS = """\
  code = read_file(weights_path, {nbytes}, &weights, &nbytes);
  if (code) goto end;
  code = TENON_DEVICE;
  program->weights =
      clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, nbytes, weights, &error);
  if (error) goto end;
"""

_DESTROY = """\
void {name}_destroy({name}_program *program) {{
  if (!program) return;
  for (int i = 0; i < N_KERNELS; i++) {{
    if (program->kernels[i]) clReleaseKernel(program->kernels[i]);
  }}
  if (program->weights) clReleaseMemObject(program->weights);
  if (program->program) clReleaseProgram(program->program);
  free(program);
}}

cl_int {name}_error(const {name}_program *program) {{ return program->error; }}
"""

_LAUNCH = """\
static cl_int launch(cl_command_queue queue, cl_kernel kernel, const int64_t *sizes, cl_uint n_sizes,
                     const struct place *places, const int *buffers, cl_uint n_buffers,
                     const int64_t *groups, const size_t *block) {{
  cl_uint place = 0;
  size_t items[3];
  for (int axis = 0; axis < 3; axis++) {{
    if (!groups[axis]) return CL_SUCCESS;
    items[axis] = (size_t)groups[axis] * block[axis];
  }}
  for (cl_uint i = 0; i < n_sizes; i++) {{
    cl_long size = sizes[i];
    cl_int error = clSetKernelArg(kernel, place++, sizeof size, &size);
    if (error) return error;
  }}
  for (cl_uint i = 0; i < n_buffers; i++) {{
    const struct place *at = &places[buffers[i]];
    cl_int error = clSetKernelArg(kernel, place++, sizeof at->memory, &at->memory);
    if (!error) error = clSetKernelArg(kernel, place++, sizeof at->offset, &at->offset);
    if (error) return error;
  }}
  return clEnqueueNDRangeKernel(queue, kernel, 3, NULL, items, block, 0, NULL, NULL);
}}
"""


class OpenCLLauncher:
    """Writes the C of one program. The plan has neither nodes nor calls of the host."""

    def __init__(self, plan: ProgramPlan, interface: CInterface, vanishing: Sequence[DimExpr]) -> None:
        self._plan, self._interface, self._vanishing = plan, interface, vanishing
        self._kernels = plan.kernel_names

    def text(self, header: str) -> str:
        """Returns the file; `header` is what the header is called."""
        name, nbytes = self._interface.name, self._plan.constants.nbytes
        weights = {
            "weights_parameter": ", const char *weights_path" if nbytes else "",
            "weights_variable": ", *weights = NULL" if nbytes else "",
            "weights": _WEIGHTS.format(nbytes=nbytes) if nbytes else "",
            "free_weights": "  free(weights);\n" if nbytes else "",
        }
        run = OpenCLRun(self._plan, self._interface, self._vanishing).text()
        kernels = ", ".join(f'"{kernel_name(kernel)}"' for kernel in self._kernels) or "NULL"
        return "\n".join(
            (
                f'#include "{header}"\n\n#include <stdio.h>\n#include <stdlib.h>\n',
                f"enum {{ N_KERNELS = {len(self._kernels)} }};\n",
                f"static const char *const kernel_names[] = {{{kernels}}};\n",
                f"struct {name}_program {{\n  cl_context context;\n  cl_program program;\n"
                f"  cl_kernel kernels[N_KERNELS + 1];\n  cl_mem weights;\n  cl_int error;\n}};\n",
                "/* Where a buffer of the program lies. */",
                "struct place {\n  cl_mem memory;\n  cl_ulong offset;\n};\n",
                _FILE.format(),
                _DESTROY.format(name=name),
                _CREATE.format(name=name, **weights),
                *([_LAUNCH.format()] if self._kernels else []),
                helpers_of(run),
                run,
            )
        )

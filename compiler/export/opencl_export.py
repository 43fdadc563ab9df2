"""An executable as sources for OpenCL: kernels, a launcher in C, and its header."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

from ...backends.registry import get_backend
from ...runtime.executables.executable import Executable
from ...runtime.plan.signature import Array
from .c_interface import CInterface, c_identifier, interface_of
from .export import Exported, checked_path, lowered_of, write
from .fixed_arguments import with_fixed_arguments
from .header import CODES, array_lines, array_parameters, documented, joined
from .opencl_launcher import OpenCLLauncher


def export_for_opencl(
    executable: Executable,
    path: str | PathLike[str],
    *,
    constants: Mapping[str, Array] | None = None,
    name: str | None = None,
) -> Exported:
    """
    Writes an executable as `path.cl`, `path.c` and `path.h`, with its constants in `path.weights`; see
    `tenon.export`. Kernels are scheduled for the executable's device, else for the first one of OpenCL.

    Raises:
        TenonError: it cannot be exported, or a file cannot be written.
        MissingExtraError: pyopencl, which describes the device, is not installed.
    """
    file = checked_path(path, name)
    backend = executable.backend
    if backend is None or backend.name != "opencl":
        backend = get_backend("opencl")
    lowered = with_fixed_arguments(lowered_of(executable, backend), constants or {})
    plan = lowered.plan
    interface = interface_of(plan, c_identifier(name or file.name))
    launcher = OpenCLLauncher(plan, interface, lowered.vanishing)
    files = {
        ".cl": lowered.source.encode(),
        ".c": launcher.text(f"{file.name}.h").encode(),
        ".h": _header(interface, plan.constants.nbytes).encode(),
    }
    if plan.constants.nbytes:
        files[".weights"] = plan.constants.tobytes()
    for suffix, contents in files.items():
        write(file.with_name(f"{file.name}{suffix}"), contents)
    return Exported(tuple(file.with_name(f"{file.name}{suffix}") for suffix in files), None)


def _header(interface: CInterface, weights_nbytes: int) -> str:
    name = interface.name
    guard = f"{name.upper()}_H"
    weights = ["const char *weights_path"] if weights_nbytes else []
    created = ["cl_context context", "cl_device_id device", "const char *source_path", *weights]
    run = [f"{name}_program *program", "cl_command_queue queue", *array_parameters(interface)]
    paths = f"{name}.cl and {name}.weights" if weights_nbytes else f"{name}.cl"
    return "\n".join(
        (
            f"/* The program {name}, compiled ahead of time by Tenon, for OpenCL 1.2. */",
            f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
            "#ifndef CL_TARGET_OPENCL_VERSION\n#define CL_TARGET_OPENCL_VERSION 120\n#endif",
            "#ifdef __APPLE__\n#include <OpenCL/opencl.h>\n#else\n#include <CL/cl.h>\n#endif\n",
            '#ifdef __cplusplus\nextern "C" {\n#endif\n',
            CODES,
            "/* A program that is built for one device. */",
            f"typedef struct {name}_program {name}_program;\n",
            documented(
                f"Builds the program for a device, from the files {paths}. Returns TENON_OK, or "
                "TENON_BAD_FILE, TENON_NO_MEMORY or TENON_DEVICE and then NULL in *program.",
                (),
                f"int {name}_create({joined([*created, f'{name}_program **program'])});",
            ),
            documented(
                "Runs the program on a queue of its device that works in order, and waits for the outputs. "
                "One call at a time uses a program. Returns TENON_OK, TENON_NULL, TENON_BAD_DIM, "
                f"TENON_NO_MEMORY or TENON_DEVICE; {name}_error then gives the code of OpenCL.",
                array_lines(interface),
                f"int {name}_run({joined(run)});\ncl_int {name}_error(const {name}_program *program);",
            ),
            f"/* Gives all memory of a program back; no call may be using it. */\n"
            f"void {name}_destroy({name}_program *program);\n",
            f"#ifdef __cplusplus\n}}\n#endif\n#endif /* {guard} */\n",
        )
    )

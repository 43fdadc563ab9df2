"""The C header of an exported program."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects.buffer_size import ALIGNMENT
from ...dialects.dims.expressions import DimSymbol, Extent, dim, substituted
from .c_interface import CArray, CInterface, ReturnCode

_CODES = "\n".join(f"  TENON_{code.name} = {code.value}, /* {code.meaning} */" for code in ReturnCode)

CODES = f"""#ifndef TENON_CODES
#define TENON_CODES
/* What functions of programs that Tenon exports return. */
enum {{
{_CODES}
}};
#endif
"""

EXECUTOR = """#ifndef TENON_EXECUTOR
#define TENON_EXECUTOR
/* A function of a program that works on the part begin <= i < end of a range. */
typedef void (*tenon_range)(void *table, int64_t begin, int64_t end);

/*
 * Who runs ranges: run(context, function, table, extent, least) calls function(table, begin, end) for parts
 * that make up 0 <= i < extent, each once, in any order and in any threads, and returns when all are done.
 * Parts of less than `least` are not worth a thread. Which thread runs what changes no bit of a result.
 */
typedef struct {
  void (*run)(void *context, tenon_range function, void *table, int64_t extent, int64_t least);
  void *context;
} tenon_executor;
#endif
"""


def header_text(interface: CInterface, weights_nbytes: int | None) -> str:
    """Returns the header of a library; `weights_nbytes` are those of its file of weights, if there is one."""
    guard = f"{interface.name.upper()}_H"
    about = f"The program {interface.name}, compiled ahead of time by Tenon. It needs libc and libm."
    parts = [
        f"/* {about} */\n#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        CODES,
        EXECUTOR,
        run_declaration(interface, weights_nbytes is not None),
        _workspace_declaration(interface),
        _threads_declarations(interface),
        *([] if weights_nbytes is None else [_weights_declarations(interface, weights_nbytes)]),
        "/* What the program takes and gives, as text (JSON). */",
        f"const char *{interface.function('describe')}(void);\n",
        f"#ifdef __cplusplus\n}}\n#endif\n#endif /* {guard} */\n",
    ]
    return "\n".join(parts)


def run_declaration(interface: CInterface, has_weights: bool) -> str:
    """Returns the documented declaration of the function that runs the program."""
    parameters = array_parameters(interface)
    weights: list[str] = []
    if has_weights:
        parameters.append("const void *weights")
        weights.append(f" *   weights     what {interface.function('weights_open')} gave, not NULL")
    parameters += ["void *workspace", "const tenon_executor *executor"]
    lines = [
        *array_lines(interface),
        *weights,
        f" *   workspace   {interface.function('workspace_size')}(...) bytes at a multiple of {ALIGNMENT},",
        " *               which no other call uses meanwhile; NULL to take them from the heap for the call",
        " *   executor    who runs large kernels; NULL for the calling thread alone",
    ]
    return documented(
        "Runs the program. Any number of threads may call it at the same time. Returns TENON_OK, TENON_NULL, "
        "TENON_MISALIGNED, TENON_BAD_DIM or TENON_NO_MEMORY; only after TENON_OK are the outputs written.",
        lines,
        f"int {interface.function('run')}({joined(parameters)});",
    )


def array_parameters(interface: CInterface) -> list[str]:
    """Returns the declarations of arrays and dims as parameters."""
    return [
        *(f"const {array.c_type} *{array.name}" for array in interface.inputs),
        *(f"{array.c_type} *{array.name}" for array in interface.outputs),
        *_dim_parameters(interface),
    ]


def array_lines(interface: CInterface) -> list[str]:
    """Returns the lines of a comment that say what arrays and dims are."""
    lines = [_array_line("in", array, interface) for array in interface.inputs]
    lines += [_array_line("out", array, interface) for array in interface.outputs]
    lines += [f" *   {each.name:<11} {each.least} to {each.symbol.maximum}" for each in interface.dims]
    if interface.outputs:
        lines.append(" *   Arrays are in row-major order. An output overlaps no other array, except that")
        same = [f"{output} may be {given}" for given, output in interface.in_place]
        if same:
            lines.append(f" *   {', '.join(same)} (the same pointer).")
        else:
            lines[-1] = " *   Arrays are in row-major order. An output overlaps no other array."
    return lines


def documented(about: str, lines: Sequence[str], declaration: str) -> str:
    """Returns a declaration behind a comment."""
    words, text, line = about.split(), ["/*"], " *"
    for word in words:
        if len(line) + len(word) + 1 > 108:
            text.append(line)
            line = " *"
        line += f" {word}"
    text += [line, *([" *"] if lines else []), *lines, " */", declaration, ""]
    return "\n".join(text)


def _workspace_declaration(interface: CInterface) -> str:
    return documented(
        "Returns the bytes of workspace that a call takes, or -TENON_BAD_DIM or -TENON_NO_MEMORY.",
        (),
        f"int64_t {interface.function('workspace_size')}({joined(_dim_parameters(interface)) or 'void'});",
    )


def _threads_declarations(interface: CInterface) -> str:
    start, stop = interface.function("threads_start"), interface.function("threads_stop")
    return documented(
        f"{start} makes an executor of so many threads, the caller's among them; 0 is for one for each "
        "processor. They start when first needed. One call has them at a time, another one meanwhile runs "
        "alone. Returns TENON_OK, TENON_BAD_THREADS or TENON_NO_MEMORY. Not to be used in the child of a "
        f"fork. {stop} ends the threads when no call uses them.",
        (),
        f"int {start}(tenon_executor *executor, int threads);\nvoid {stop}(tenon_executor *executor);",
    )


def _weights_declarations(interface: CInterface, nbytes: int) -> str:
    opened, closed = interface.function("weights_open"), interface.function("weights_close")
    return documented(
        f"{opened} maps the file of weights, {nbytes} bytes of them, which all calls may share. Returns "
        f"TENON_OK, or TENON_BAD_FILE or TENON_NO_MEMORY and then NULL in *weights. {closed} unmaps it when "
        "no call uses it.",
        (),
        f"int {opened}(const char *path, const void **weights);\nvoid {closed}(const void *weights);",
    )


def _dim_parameters(interface: CInterface) -> list[str]:
    return [f"int64_t {each.name}" for each in interface.dims]


def _array_line(way: str, array: CArray, interface: CInterface) -> str:
    shape = "".join(f"[{extent_text(extent, interface)}]" for extent in array.extents)
    kind = array.type.dtype.name
    if kind == "bool":
        kind = "bool, 0 or 1"
    elif array.c_type not in (f"{kind}_t", "float", "double"):
        kind = f"the bits of {kind}"
    return f" *   {array.name:<11} {way}, {kind}{' ' if shape else ''}{shape}"


def extent_text(extent: Extent, interface: CInterface) -> str:
    """Returns an extent in the names that dims have in C."""
    names = interface.dim_names

    def renamed(symbol: DimSymbol) -> Extent:
        return dim(names[symbol.name])

    return str(substituted(extent, renamed))


def joined(parameters: Sequence[str]) -> str:
    """Returns parameters in as many lines as they take."""
    lines = [""]
    for parameter in parameters:
        if lines[-1] and len(lines[-1]) + len(parameter) > 84:
            lines.append("")
        lines[-1] += f", {parameter}" if lines[-1] else parameter
    return ",\n        ".join(lines)

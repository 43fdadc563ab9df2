"""`tenon-import`: writes a model as the text of a module, its weights in a file beside it."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from ..errors import TenonError
from ..frontends.jit.dims import Dim
from ..frontends.onnx.imported import OnnxModel, from_onnx
from ..frontends.onnx.program import program_of
from ..frontends.stablehlo.weights import program_with_weights
from .completion import add_completion_argument
from .exit_codes import SUCCESS
from .run.input_arrays import read_array, readable
from .run.safetensors_file import SUFFIX, write_safetensors
from .source_text import BYTECODE, decoded, display_name, read_source
from .tool_run import ToolRun, reason_of

TOOL = "tenon-import"

EPILOG = """\
exit codes: 0 success, 1 diagnostics, 2 wrong command line, 70 a bug of Tenon.
The function takes the inputs of the model and then its weights, which are in the file of weights by the names
of the arguments: tenon-run model.mlir --inputs model.npz --input x.npy"""

Array = npt.NDArray[Any]


def _named(text: str) -> tuple[str, str]:
    # A name may have a `=` in it, what follows has none.
    name, _, value = text.rpartition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"expected NAME=..., found '{text}'")
    return name, value


def _dim(text: str) -> tuple[str, int | tuple[int, int]]:
    name, value = _named(text)
    low, colon, high = value.partition(":")
    if not low.isdecimal() or (colon and not high.isdecimal()):
        raise argparse.ArgumentTypeError(f"expected NAME=NUMBER or NAME=LEAST:GREATEST, found '{text}'")
    return name, (int(low), int(high)) if colon else int(low)


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, value = _named(text)
    extents = value.split(",") if value != "()" else []
    if not all(each.isdecimal() for each in extents):
        raise argparse.ArgumentTypeError(f"expected NAME=2,3 or, for a scalar, NAME=(), found '{text}'")
    return name, tuple([int(each) for each in extents])


def _value(text: str) -> tuple[str, Path]:
    name, value = _named(text)
    return name, Path(value)


def _weights_file(text: str) -> Path:
    if Path(text).suffix not in (".npz", SUFFIX):
        raise argparse.ArgumentTypeError(f"expected a name that ends in .npz or {SUFFIX}, found '{text}'")
    return Path(text)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=TOOL,
        description="Writes a model of ONNX or StableHLO as the text of a module at the level graph.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "input_file",
        nargs="?",
        metavar="file",
        help="the model: ONNX, or the text of StableHLO; - or none: standard input",
    )
    parser.add_argument(
        "-o", dest="output", default="-", metavar="FILE", help="where the text goes; -: standard output"
    )
    parser.add_argument(
        "--weights",
        type=_weights_file,
        metavar="FILE",
        help="the .npz or .safetensors that the weights go to (default: an .npz beside the text)",
    )
    parser.add_argument(
        "--dim",
        type=_dim,
        action="append",
        default=[],
        metavar="NAME=NUMBER",
        help="how large a dim is that the model names; or NAME=LEAST:GREATEST, the bounds of an open one",
    )
    parser.add_argument(
        "--shape",
        type=_shape,
        action="append",
        default=[],
        metavar="NAME=EXTENTS",
        help="the shape of an input that has axes without a name: images=1,3,224,224",
    )
    parser.add_argument(
        "--value",
        type=_value,
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="an .npy with the values of an input that the program is made for and does not take",
    )
    add_completion_argument(parser, {})
    parser.add_argument("--debug", action="store_true", help="show the Python traceback of a bug")
    parsed = parser.parse_args(arguments)
    for flag in ("dim", "shape", "value"):
        names = [name for name, _ in getattr(parsed, flag)]
        if twice := [name for name in names if names.count(name) > 1]:
            parser.error(f"--{flag}: {twice[0]} is given twice")
    return parsed


def _import(parsed: argparse.Namespace) -> int:
    module, arrays = _program(parsed)
    weights: Path | None = parsed.weights
    if weights is None and parsed.output != "-":
        weights = Path(parsed.output).with_suffix(".npz")
    text = str(module) + "\n"
    if arrays and weights is None:
        raise TenonError(f"the model's {len(arrays)} weights have no file to go to (hint: -o, --weights)")
    # The weights first: where there is a text it has its weights. A file without any is written too: who runs
    # the text names it, and one that lies there may be of another model.
    if weights is not None:
        write = write_safetensors if weights.suffix == SUFFIX else _write_arrays
        _replace(weights, lambda file: write(file, arrays))
    if parsed.output == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        _replace(Path(parsed.output), lambda file: file.write(text.encode()))
    return SUCCESS


def _program(parsed: argparse.Namespace) -> tuple[ModuleOp, Mapping[str, Array]]:
    """Returns the module of a model, and its weights."""
    path: str | None = parsed.input_file
    if path is None or path == "-":
        data = sys.stdin.buffer.read()
        text = decoded(data, path) if _is_text(data) else None
        source: str | bytes = data
    else:
        source = path
        text = read_source(path) if Path(path).suffix == ".mlir" else None
    if text is not None:
        if asked := [flag for flag in ("dim", "shape", "value") if getattr(parsed, flag)]:
            raise TenonError(f"--{asked[0]} is for models of ONNX, found text")
        return program_with_weights(text, display_name(path))
    model = _model(source, parsed.dim)
    values = {name: read_array(path) for name, path in parsed.value}
    program = program_of(model, shapes=dict(parsed.shape), values=values)
    return program.module, program.weights


def _is_text(source: bytes) -> bool:
    """Returns whether bytes are a program of MLIR, and no model of ONNX: these have bytes of value 0."""
    return source.startswith(BYTECODE) or (b"func.func" in source and b"\0" not in source)


def _model(source: Any, given: Sequence[tuple[str, int | tuple[int, int]]]) -> OnnxModel:
    """Returns a model with what is said of its dims. Raises TenonError where it has none of that name."""
    model = from_onnx(source)
    if not given:
        return model
    dims: dict[str, int | Dim] = {}
    for name, bounds in given:
        dim = model.dims.get(name)
        if dim is None:
            names = ", ".join(model.dims) or "none"
            raise TenonError(f"--dim: the model has no dim '{name}' (dims: {names})")
        if isinstance(bounds, int):
            dims[name] = bounds
            continue
        assert isinstance(dim, Dim), "a dim that is not open"
        try:
            dims[name] = Dim(dim.name, *bounds)
        except ValueError as error:
            raise TenonError(f"--dim: {error}") from None
    return from_onnx(source, dims=dims)


def _write_arrays(file: IO[bytes], arrays: Mapping[str, Array]) -> None:
    """Writes an .npz as numpy does, but of the same bytes each time: no time of day is in it."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, readable(array), allow_pickle=False)


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Writes a file that is there as a whole, or as it was."""
    temporary = path.with_name(f".{path.name}-{os.getpid()}")
    try:
        try:
            with temporary.open("xb") as file:
                write(file)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise TenonError(f"cannot write {path}: {reason_of(error)}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs `tenon-import` with the arguments of the process, or those given, and returns its exit code."""
    with ToolRun(TOOL) as run:
        parsed = _parse(arguments)
        run.debug = parsed.debug
        command = list(sys.argv[1:] if arguments is None else arguments)
        run.report_bug = lambda: shlex.join([TOOL, *command, "--debug"])
        run.exit_code = _import(parsed)
    return run.exit_code


if __name__ == "__main__":
    sys.exit(main())

"""An executable as files: a library, an object and a header, or the sources of one for OpenCL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import cast

from ...backends.interface import Backend
from ...backends.registry import get_backend
from ...errors import TenonError
from ...runtime.executables.executable import Executable
from ...runtime.plan.lowered_program import LoweredProgram
from ...runtime.plan.signature import Array
from .c_interface import c_identifier
from .fixed_arguments import with_fixed_arguments
from .library import library_of
from .link import linked
from .load import WEIGHTS_SUFFIX

WEIGHTS = ("inside", "file")


@dataclass(frozen=True)
class Exported:
    """The files that were written. `library` is None where there is none, and `note` says why."""

    files: tuple[Path, ...]
    library: Path | None
    note: str = ""

    def __str__(self) -> str:
        lines = [f"{file}: {file.stat().st_size} bytes" for file in self.files]
        return "\n".join([*lines, *([f"no shared library: {self.note}"] if self.note else [])])


def export_executable(
    executable: Executable,
    path: str | PathLike[str],
    *,
    constants: Mapping[str, Array] | None = None,
    target: str | None = None,
    weights: str = "inside",
    name: str | None = None,
) -> Exported:
    """
    Writes an executable as `path.h`, `path.o` and, with a linker, `path.so`; see `tenon.export`.

    Raises:
        TenonError: it cannot be exported, or a file cannot be written.
    """
    file = checked_path(path, name)
    if weights not in WEIGHTS:
        raise TenonError(f"export: weights {weights!r} is not one of {', '.join(WEIGHTS)}")
    backend = executable.backend
    if target is not None or backend is None or backend.name != "llvm":
        backend = get_backend("llvm", target)
    lowered = with_fixed_arguments(lowered_of(executable, backend), constants or {})
    library = library_of(lowered, backend, c_identifier(name or file.name), weights_apart=weights == "file")
    object_file = _beside(file, ".o")
    written = [_beside(file, ".h"), object_file]
    write(written[0], library.header.encode())
    write(object_file, library.object_code)
    if library.weights is not None:
        written.append(_beside(file, WEIGHTS_SUFFIX))
        write(written[-1], library.weights)
    shared = _beside(file, ".so")
    note = linked(object_file, shared, library.target.processor.arch)
    if note:
        return Exported(tuple(written), None, note)
    return Exported((*written, shared), shared)


def lowered_of(executable: Executable, backend: Backend) -> LoweredProgram:
    """Returns the program of an executable for a device. Raises TenonError where nothing is known of it."""
    if executable.lowered_for is None:
        raise TenonError(
            f"export: {executable.name} was not compiled here, so that there is nothing to export"
        )
    return executable.lowered_for(backend)


def checked_path(path: object, name: object) -> Path:
    """
    Returns a path whose name a suffix is added to.

    Raises:
        TenonError: it is none, its folder is not there, or `name` is no text.
    """
    if not isinstance(path, str | PathLike):
        raise TenonError(f"export: path is {path!r}, expected the path of files without a suffix")
    file = Path(cast("str | PathLike[str]", path))
    if not file.name or "\0" in file.name or not file.parent.is_dir():
        raise TenonError(f"export: {file} is no name of files in a folder that exists")
    if name is not None and not (isinstance(name, str) and name):
        raise TenonError(f"export: name is {name!r}, expected a name for C")
    return file


def _beside(file: Path, suffix: str) -> Path:
    return file.with_name(f"{file.name}{suffix}")


def write(file: Path, contents: bytes) -> None:
    """Writes a file. Raises `TenonError` where that fails."""
    try:
        file.write_bytes(contents)
    except OSError as error:
        raise TenonError(f"export: cannot write {file}: {(error.strerror or str(error)).lower()}") from None

"""`tenon.load`: a shared library that was exported, as an executable."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from ...backends.llvm.processors import host_processor
from ...backends.llvm.programs.library_call import LibraryCall
from ...dialects.dims.expressions import evaluated
from ...errors import CallError, DeviceError, TenonError
from ...runtime.executables.executable import CompiledFunction, Executable
from ...runtime.executables.library_executable import LibraryExecutable
from ...runtime.plan.signature import Array
from ...runtime.plan.stages import Stages
from ..sized import Sizes, for_sizes
from .c_interface import ReturnCode
from .description import Description, read_description
from .library import HEADER_NBYTES

WEIGHTS_SUFFIX = ".weights"


def load(path: str | PathLike[str], *, weights: str | PathLike[str] | None = None) -> Executable:
    """
    Returns the program of a shared library that `tenon.export` wrote, as an executable: called with numpy
    arrays, which are checked as those of every executable are. It runs in the threads of this process.
    `weights` is the file of its weights, by default beside it with the suffix `.weights`, where it has one.

    What the file says about itself is read and checked first. Loading it then runs code, of the file and of
    what it was linked with: load only what you would run.

    Raises:
        TenonError: the file cannot be read, is no library of Tenon's, is of another version of its
            interface, or took the place of one that is loaded, or its file of weights is not that of the
            program.
        DeviceError: it is for another processor than this machine's.
    """
    _check_path("path", path)
    if weights is not None:
        _check_path("weights", weights)
    file = Path(path).absolute()
    description = _described(file)
    if lacking := description.processor.lacking_on(host_processor()):
        raise DeviceError(f"{file}: target '{description.processor.name}' {lacking}")
    kept = None
    if description.weights_nbytes is not None:
        kept = _mapped(file.with_suffix(WEIGHTS_SUFFIX) if weights is None else Path(weights), description)
    signature, dims = description.signature, description.dims
    n_arrays = len(signature.argument_types) + len(signature.result_types)
    address = None if kept is None else kept.ctypes.data + HEADER_NBYTES
    call = LibraryCall(str(file), description.name, n_arrays, 0 if dims is None else len(dims.names), address)

    if call.description != description.data().rstrip(b"\0"):
        raise TenonError(
            f"{file}: another library was loaded from there before (hint: load it from another path, or in "
            "another process)"
        )

    def make(sizes: Sizes | None, keeper: Executable | None) -> Executable:
        values = () if sizes is None or dims is None else tuple([sizes[name] for name in dims.names])
        for extent in description.vanishing:
            if sizes is not None and evaluated(extent, sizes) <= 0:
                raise CallError(f"{signature.name}: {extent} is 0, for which the library has no program")

        def run(arrays: Sequence[Array], results: Sequence[Array]) -> None:
            # The mapped weights live as long as calls may come.
            assert kept is None or kept.size >= HEADER_NBYTES, "the weights are gone"
            code = ReturnCode(call((*arrays, *results), values))
            if code is not ReturnCode.OK:
                raise CallError(f"the library refuses the call: {code.meaning}")

        own = signature if sizes is None else signature.at(sizes)
        return LibraryExecutable(CompiledFunction(own, "llvm", Stages({})), run)

    return for_sizes(CompiledFunction(signature, "llvm", Stages({})), dims, False, make, None)


def _check_path(who: str, value: object) -> None:
    if not isinstance(value, str | PathLike):
        raise TenonError(f"load: {who} is {value!r}, expected the path of a file")


def _described(file: Path) -> Description:
    """Returns what a file says about itself."""
    try:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as contents:
            return read_description(contents, str(file))
    except OSError as error:
        raise TenonError(f"load: cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        # What is empty cannot be mapped.
        raise TenonError(f"{file}: is no library that Tenon exported") from None


def _mapped(file: Path, description: Description) -> np.memmap[tuple[int, ...], np.dtype[np.uint8]]:
    try:
        weights = np.memmap(file, np.uint8, "r")
    except OSError as error:
        raise TenonError(f"load: cannot read {file}: {(error.strerror or str(error)).lower()}") from None
    except ValueError:
        raise TenonError(f"{file}: {ReturnCode.BAD_FILE.meaning}") from None
    is_own = weights[:HEADER_NBYTES].tobytes() == description.weights_header
    if not is_own or weights.nbytes != HEADER_NBYTES + (description.weights_nbytes or 0):
        raise TenonError(f"{file}: {ReturnCode.BAD_FILE.meaning}")
    return weights

"""Calls of exported libraries, whose kernels use the threads of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ....errors import OutOfMemoryError, TenonError
from ..native.library import native_library

NO_MEMORY = 4


class LibraryCall:
    """
    One program of a shared library. Loading it runs what the library has to be run then, as every shared
    library may. It stays loaded as long as the process lives.
    """

    def __init__(self, path: str, name: str, n_arrays: int, n_dims: int, weights: int | None) -> None:
        """
        `name` is what its functions begin with; `weights` is the address of the weights, where they are not
        in the library.

        Raises:
            TenonError: the file cannot be loaded, or lacks a function.
        """
        try:
            library = ctypes.CDLL(path)
            self._run = library[f"{name}_run"]
            describe = library[f"{name}_describe"]
        except (OSError, AttributeError) as error:
            raise TenonError(f"{path}: cannot be loaded ({error})") from None
        describe.restype = ctypes.c_char_p
        self.description: bytes = describe() or b""
        """What the library that is loaded says: where one was loaded from this path before, that one is."""
        pointers = (ctypes.c_void_p,) * n_arrays
        kept = () if weights is None else (ctypes.c_void_p,)
        self._run.argtypes = (*pointers, *(ctypes.c_int64,) * n_dims, *kept, ctypes.c_void_p, ctypes.c_void_p)
        self._run.restype = ctypes.c_int
        executor = np.array([native_library().pool_execute, 0], np.int64)
        self._keeps = (library, executor)
        self._last = (*(() if weights is None else (weights,)), None, executor.ctypes.data)

    def __call__(self, arrays: Sequence[npt.NDArray[np.generic]], dims: Sequence[int]) -> int:
        """
        Runs the program on the arguments and then the results, and returns the library's code.

        Raises:
            OutOfMemoryError: there is no room for its temporaries.
        """
        code = int(self._run(*[array.ctypes.data for array in arrays], *dims, *self._last))
        if code == NO_MEMORY:
            raise OutOfMemoryError("there is not enough memory for the temporaries of a library")
        return code

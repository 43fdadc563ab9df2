"""llvmlite, imported when it is first needed."""

from importlib import import_module
from typing import Any


def llvmlite_binding() -> Any:
    """Returns the module `llvmlite.binding`, which comes without types."""
    return import_module("llvmlite.binding")


def llvmlite_version() -> str:
    return import_module("llvmlite").__version__


def new_engine() -> Any:
    """
    Returns an engine that loads object files. It keeps about 10 KiB of each library that is gone, until it is
    gone itself, with the last of its libraries.

    Its linker is JITLink, which maps all sections of an object in one piece, with an entry beside them for
    each function and datum of the process that they refer to. The code is of the small model: what it
    refers to lies within 2 GiB on x86-64, 4 GiB on aarch64 (a page relative to another; branches reach
    128 MiB there, and go through those entries). LLVM's older linker, RuntimeDyld, maps sections one by one,
    where the system finds room: it ends the process by an assertion where that is too far away. The large
    model would do too, but it loads the address of each constant first: a softmax of 64 rows of 256 takes
    5 to 20 % longer.
    """
    llvm = llvmlite_binding()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.create_lljit_compiler(use_jit_link=True)

"""Objects to shared libraries, with whichever linker there is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from ...backends.llvm.processors import host_processor

_SECONDS = 120


def linked(object_file: Path, library: Path, arch: str) -> str:
    """
    Links an object for processors of kind `arch` into a shared library that needs no more than the C library
    and its mathematics. Returns nothing, or why there is no library.
    """
    tried: list[str] = []
    for name, command in _commands(arch):
        made = library.with_name(f"{library.name}.partial")
        arguments = [*command, "-o", str(made), str(object_file), *_LIBRARIES[name == "ld"]]
        arguments += ["-soname", library.name] if name == "ld" else [f"-Wl,-soname,{library.name}"]
        try:
            found = subprocess.run(
                arguments,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            tried.append(f"{name}: {type(error).__name__}")
            continue
        if found.returncode == 0 and made.exists():
            # A library of that name that is in use stays as it is for those who use it.
            made.replace(library)
            return ""
        made.unlink(missing_ok=True)
        said = found.stderr.strip().splitlines() or [f"exit code {found.returncode}"]
        tried.append(f"{name}: {said[-1]}")
    if not tried:
        return f"there is no linker for {arch} (cc, {arch}-linux-gnu-gcc, ld, or the package ziglang)"
    return f"no linker for {arch} makes one ({'; '.join(tried)})"


_LIBRARIES = {
    False: ["-shared", "-Wl,--as-needed", "-lm", "-lpthread"],
    True: ["-shared", "--as-needed", "-l:libm.so.6", "-l:libc.so.6"],
}
"""What is linked with, by whether the linker is called itself and not through a compiler."""


def _commands(arch: str) -> list[tuple[str, list[str]]]:
    """Returns the linkers that are there, the best first, each with the beginning of its command."""
    is_host = arch == host_processor().arch
    names = ["cc", "gcc", "clang", "ld"] if is_host else [f"{arch}-linux-gnu-gcc"]
    found = [(name, [path]) for name in names if (path := shutil.which(name)) is not None]
    if find_spec("ziglang") is not None:
        zig = [sys.executable, "-m", "ziglang", "cc", "-target", f"{arch}-linux-gnu"]
        found.append(("ziglang", zig))
    return found

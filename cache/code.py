"""Machine code on disk, by the text that it was compiled from and what it was compiled for."""

from __future__ import annotations

from hashlib import blake2b

from ..backends.interface import CompiledArtifact, Compiler, DeviceInfo, ImageCompiler
from ..errors import KernelCompileError
from .fingerprint import library_fingerprint
from .frame import Record, digest_of
from .place import cache_folder


def source_digest(source: str) -> str:
    """Returns what `load_code` finds the code of a text by."""
    return digest_of(source.encode())


def compile_code(compiler: Compiler, source: str, device: DeviceInfo) -> CompiledArtifact:
    """
    Compiles a text, unless a process has done so before. Raises `KernelCompileError` with the compiler's own
    log.
    """
    folder = cache_folder()
    if folder is None or not isinstance(compiler, ImageCompiler):
        return compiler.compile(source, device)
    digest = source_digest(source)
    found = load_code(compiler, digest, device)
    if found is None:
        image = compiler.image(source, device)
        about = f"code for {device.name}, of {len(source)} characters"
        folder.store(_key(compiler, digest, device), Record(None, (image,), about))
        found = compiler.load(image, device)
    return found


def load_code(compiler: Compiler, digest: str, device: DeviceInfo) -> CompiledArtifact | None:
    """Returns what the text of a digest was compiled to, None where no such code is kept."""
    folder = cache_folder()
    if folder is None or not isinstance(compiler, ImageCompiler):
        return None
    key = _key(compiler, digest, device)
    record = folder.load(key)
    if record is None:
        return None
    try:
        return compiler.load(record.sections[0], device)
    except (KernelCompileError, IndexError):
        folder.discard(key)
        return None


def _key(compiler: ImageCompiler, digest: str, device: DeviceInfo) -> str:
    what = (library_fingerprint(), compiler.fingerprint(device), digest)
    return f"code-{blake2b(repr(what).encode(), digest_size=32).hexdigest()}"

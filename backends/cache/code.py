"""Machine code on disk, by the text that it was compiled from and what it was compiled for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from typing import TypeGuard

from ...errors import KernelCompileError
from ..interface import CompiledArtifact, Compiler, DeviceInfo, ImageCompiler
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
    if folder is None or not makes_images(compiler):
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
    if folder is None or not makes_images(compiler):
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


def has_code(compiler: Compiler, digest: str, device: DeviceInfo) -> bool:
    """Returns whether code of a text is kept, as far as that can be told without reading it."""
    folder = cache_folder()
    if folder is None or not makes_images(compiler):
        return False
    return folder.has(_key(compiler, digest, device))


def kept_bytes(about: str, depends_on: Sequence[str], make: Callable[[], bytes]) -> bytes:
    """
    Returns what `make` returns, or what it returned to an earlier process. It must depend on nothing but
    `depends_on` and what compiles.
    """
    folder = cache_folder()
    if folder is None:
        return make()
    key = _key_of("native", tuple(depends_on))
    record = folder.load(key)
    if record is not None and len(record.sections) == 1:
        return record.sections[0]
    made = make()
    folder.store(key, Record(None, (made,), about))
    return made


def makes_images(compiler: Compiler) -> TypeGuard[ImageCompiler]:
    """Returns whether what a compiler makes can be kept."""
    return _makes_images(type(compiler))


@cache
def _makes_images(kind: type[Compiler]) -> bool:
    return issubclass(kind, ImageCompiler)


def _key(compiler: ImageCompiler, digest: str, device: DeviceInfo) -> str:
    return _key_of("code", (compiler.fingerprint(device), digest))


def _key_of(kind: str, depends_on: tuple[str, ...]) -> str:
    what = (library_fingerprint(), depends_on)
    return f"{kind}-{blake2b(repr(what).encode(), digest_size=32).hexdigest()}"

"""What every driver says of kernels that it has not, and of launches that do not fit one."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import DeviceError


def no_kernel(backend: str, name: str, entry_points: Sequence[str]) -> DeviceError:
    """Returns what to raise where an artifact has no kernel `@name`."""
    present = ", ".join(entry_points) or "none"
    return DeviceError(f"{backend}: no kernel @{name} (there are: {present})")


def wrong_arity(backend: str, name: str, n_wanted: int, n_given: int) -> DeviceError:
    """Returns what to raise where `@name` is given too few or too many arguments."""
    return DeviceError(f"{backend}: @{name} takes {n_wanted} arguments, {n_given} are given")


def check_extents(
    backend: str,
    name: str,
    grid: Sequence[int],
    block: Sequence[int],
    compiled: Sequence[int | None],
    own_block: Sequence[int],
) -> None:
    """
    Raises `DeviceError` where a launch asks for work-groups that the kernel was not `compiled` for, None
    where that is not known, or for a block that is not the kernel's own.
    """
    is_inside = len(grid) == len(compiled) and all(
        extent >= 0 and (most is None or extent <= most) for most, extent in zip(compiled, grid, strict=True)
    )
    if not is_inside or tuple(block) != tuple(own_block):
        raise DeviceError(
            f"{backend}: @{name} is compiled for grid {_text(compiled)} block {_text(own_block)}, launched "
            f"with grid {_text(grid)} block {_text(block)}"
        )


def _text(extents: Sequence[int | None]) -> str:
    return f"[{', '.join('?' if extent is None else str(extent) for extent in extents)}]"

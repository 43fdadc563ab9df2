"""What has code, memory or threads of one process."""

from typing import ClassVar, NoReturn


class ProcessBound:
    """A base of classes whose instances can be neither pickled nor copied: they would be of no process."""

    __slots__ = ()

    COPY_HINT: ClassVar[str]
    """What to do instead."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__}: cannot be pickled or copied, it has code or memory of this process "
            f"(hint: {self.COPY_HINT})"
        )

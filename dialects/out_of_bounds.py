"""The error of an access that is outside of its buffer: what finds it and what reports it both know it."""

from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException


class OutOfBoundsError(VerifyException):
    """An access is outside of its buffer; `op` is the access."""

    def __init__(self, op: Operation, message: str):
        super().__init__(message)
        self.op = op

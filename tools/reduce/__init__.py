"""
Makes modules smaller that show a failure, and keeps the failure.

`reduce_module` takes a module and a question about it; `WrongNumbers` and the other predicates are questions
that need no more. `tenon-reduce` is the command.
"""

from .command import CommandSucceeds
from .failures import Failure, FailureKind
from .module_reduction import reduce_module
from .predicates import ChangesSemantics, FailsLike, WrongNumbers
from .search import Progress, Reduction
from .trial import Trial

__all__ = [
    "ChangesSemantics",
    "CommandSucceeds",
    "FailsLike",
    "Failure",
    "FailureKind",
    "Progress",
    "Reduction",
    "Trial",
    "WrongNumbers",
    "reduce_module",
]

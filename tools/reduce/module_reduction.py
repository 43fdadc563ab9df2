"""Makes a module smaller, as long as it stays interesting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import ModuleOp

from ...dialects.modules.parsing import parse_module, verify_module
from ...errors import TenonError
from .reductions.reductions import ALL_REDUCTIONS
from .search import Progress, Question, Reduction, Search


def reduce_module(
    module: ModuleOp,
    is_interesting: Question,
    *,
    reductions: Sequence[Reduction] | None = None,
    report: Callable[[Progress], None] | None = None,
) -> ModuleOp:
    """
    Returns the smallest module that was found for which `is_interesting` is true; `module`, at any level, is
    left as it is. The result is read from its text, and asked about again.

    `is_interesting` is called with verified modules, which it must not change. It is called in this process:
    what may crash or hang belongs in a child, as in the predicates of this package (`WrongNumbers`, ...).
    `reductions` are by default all of them. `report` is called with each smaller module.

    Raises:
        TenonError: `module` does not verify, or is not interesting once it is printed and read again.
    """
    start = _read_again(module)
    if not is_interesting(start):
        raise TenonError("reduce: there is nothing to reduce, as the module is not interesting to begin with")
    search = Search(start, is_interesting, report)
    search.run(ALL_REDUCTIONS if reductions is None else reductions)
    found = _read_again(search.module)
    if not is_interesting(found):
        raise TenonError(
            "reduce: the smallest module is interesting no more when it is asked about again (is the answer "
            f"always the same?)\n{found}"
        )
    return found


def _read_again(module: ModuleOp) -> ModuleOp:
    read = parse_module(str(module), "<reduced>")
    verify_module(read)
    return read

"""
Says how loops run: as work-groups, work-items, vectors, unrolled, as a register tile, or one by one.

    sched.axis %i = 64 {           -->       sched.axis %i = 64 block(4) vector(8) {
      ...                                      ...
    }                                        }
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError, PassFailedException, VerifyException

from .....dialects import context, sched
from .....dialects.sched import Level, MappingAttr
from ....low.lowering.kernel import lower_kernel
from ..loop_nests.dependences import overwritten
from ..loop_nests.errors import ScheduleError, refuse
from ..loop_nests.loops import KernelLoop, describe, kernel_around
from ..loop_nests.reassociation import rounds

WHO = "map-axis"

_WORDS = re.compile(r"[a-z0-9() ]*")


def map_axes(mappings: Sequence[tuple[KernelLoop, str]], allow_reorder: bool = False) -> None:
    """
    Gives loops of a kernel the mappings that the words say: `block(4) vector(8)`; `serial` takes one away.
    All of them are given before they are checked, as some have a meaning together only.

    A reduction that runs in lanes keeps a partial result for each: another order, and other last bits, of
    what rounds, so that is for `allow_reorder`.

    Raises:
        ScheduleError: the words are no mapping, a loop is serial, a sum would change its order, or the kernel
            cannot run like that: work-groups that store the same element, an access whose elements do not lie
            beside one another in a vector, lanes around a local buffer or serial code, work-groups that are
            not the outermost axes, ...
    """
    if not mappings:
        return
    kernel = kernel_around(mappings[0][0])
    wanted: list[tuple[sched.AxisOp | sched.ReduceOp, MappingAttr]] = []
    for op, words in mappings:
        if isinstance(op, scf.ForOp):
            refuse(WHO, op, "it is serial, expected an axis or a reduction")
        mapping = _parsed(op, words)
        if isinstance(op, sched.ReduceOp) and not allow_reorder:
            _check_order(op, mapping)
        is_group = isinstance(op, sched.AxisOp) and mapping.level.data is not Level.SERIAL
        if is_group and (found := overwritten(op)) is not None:
            refuse(WHO, op, f"it cannot be {words}: {found}")
        wanted.append((op, mapping))
    before = [(op, op.mapping) for op, _ in wanted]
    for op, mapping in wanted:
        op.mapping = mapping
    try:
        kernel.verify()
        lower_kernel(kernel)
    except (PassFailedException, VerifyException) as error:
        for op, mapping in before:
            op.mapping = mapping
        op, words = mappings[-1]
        raise ScheduleError(f"{WHO}: {describe(op)}: it cannot be {words}: {error}") from error


def _check_order(op: sched.ReduceOp, mapping: MappingAttr) -> None:
    if rounds(op) and mapping.partials != op.mapping.partials:
        kind = op.kind.data.value
        results = "partial result" if mapping.partials == 1 else "partial results"
        refuse(
            WHO,
            op,
            f"{mapping.partials} {results} would change the order in which it combines by {kind} "
            "(hint: allow_reorder)",
        )


def _parsed(op: KernelLoop, words: str) -> MappingAttr:
    reason = "expected words like block(4) vector(8) unroll(2)"
    if _WORDS.fullmatch(words):
        try:
            parsed = Parser(context(), f"#sched.mapping<{words or 'serial'}>").parse_attribute()
            assert isinstance(parsed, MappingAttr), f"{parsed} is no mapping"
            return parsed
        except ParseError:
            pass
        except VerifyException as error:
            reason = str(error)
    refuse(WHO, op, f"'{words}' is no mapping ({reason})")

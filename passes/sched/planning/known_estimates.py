"""
Estimates that were made before, for values of which all is alike that an estimate looks at: the layers of a
model ask the same again and again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from ....dialects import graph
from ...machine.target import Target
from .accesses import Access, Kernel
from .fusion_cost import Estimate, estimate, ops_looked_at, part_stored_over
from .kernel_form import Form, FormParts, FormWriter, kernel_form
from .local_values import Hoisting, LocalBuffer


@dataclass(slots=True)
class KnownEstimates:
    """The estimates of one function, for one machine."""

    target: Target
    parts: FormParts = field(default_factory=FormParts)
    found: dict[Form, Estimate] = field(default_factory=dict[Form, Estimate])

    def estimate(
        self, op: Operation, accesses: Sequence[Access], place: Hoisting | LocalBuffer | str
    ) -> Estimate:
        """Returns what `estimate` does, found before where all is alike."""
        form = self._form(op, accesses, place)
        known = None if form is None else self.found.get(form)
        if known is None:
            known = estimate(op, accesses, place, self.target)
            if form is not None:
                self.found[form] = known
        return known

    def _form(
        self, op: Operation, accesses: Sequence[Access], place: Hoisting | LocalBuffer | str
    ) -> Form | None:
        writer = FormWriter(self.parts)
        kernels: dict[Kernel, int] = {}
        forms: list[object] = []
        for access in accesses:
            if access.kernel not in kernels:
                kernels[access.kernel] = len(kernels)
                form = kernel_form(access.kernel, writer)
                if form is None:
                    return None
                forms += (form, part_stored_over(op, access.kernel))
                forms += (
                    (writer.value(value), *map(writer.access, reads))
                    for value, reads in access.kernel.reads.items()
                )
            forms.append((kernels[access.kernel], writer.access(access)))
        for each in ops_looked_at(op):
            if isinstance(each, graph.CustomOp):
                return None
            forms.append((writer.op(each), *_uses_and_makers(each)))
        return (*forms, _place_form(place, writer))


def _uses_and_makers(op: Operation) -> Iterator[object]:
    """Yields what is asked of the operands of an op, and of what computes them."""
    for operand in op.operands:
        owner = operand.owner
        yield type(owner)
        yield operand.has_one_use()
        yield isinstance(owner, graph.ConstantOp) and owner.value.is_splat()


def _place_form(place: Hoisting | LocalBuffer | str, writer: FormWriter) -> object:
    if isinstance(place, str):
        return None
    prefix = None if place.prefix is None else writer.axis_set(place.prefix)
    if isinstance(place, Hoisting):
        return (prefix,)
    return (prefix, place.dims, writer.indices(place.first))

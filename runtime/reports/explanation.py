"""
What the compiler did with a program, as data and as a story.

    @f on llvm: 6 operations in 3 kernels
    ...
    kernel @f_1 computes %4: 8x32xf32
      %2  reduce add  8x1xf32   local         combined in registers, once for each (i)   f.py:4
      ...
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ..timeline.text_table import text_table


@dataclass(frozen=True, slots=True)
class PassEffect:
    """What a pass did: the rules that fired or decided, and of which ops there are more or fewer."""

    name: str
    rules: tuple[tuple[str, int], ...]
    ops: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        rules = ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in self.rules)
        ops = ", ".join(f"{change:+d} {name}" for name, change in self.ops)
        return f"{self.name}: {'; '.join(text for text in (rules, ops) if text)}"


@dataclass(frozen=True, slots=True)
class FusedOp:
    """
    An op of `graph` that a kernel computes: where its value lives (virtual, local or materialized), the rule
    of fusion that decided so and its reason, and the place in the source, `file:line`, which may be empty.
    """

    value: str
    operation: str
    type: str
    mode: str
    rule: str
    why: str
    place: str


@dataclass(frozen=True, slots=True)
class ProductSide:
    """
    One side of a sum of products: the buffer that it lies in, and how many elements apart neighbours along
    each axis are; None where they are not evenly so. `panel` is how many along such an axis lie side by side.
    """

    buffer: str
    strides: Mapping[str, int | str | None]
    panel: int | None = None

    def __str__(self) -> str:
        steps = [f"{axis}: {'uneven' if step is None else step}" for axis, step in self.strides.items()]
        panel = "" if self.panel is None else f", in panels of {self.panel}"
        return f"{self.buffer}[{', '.join(steps)}]{panel}"


@dataclass(frozen=True, slots=True)
class ProductExplanation:
    """A sum of products: the axes that it adds up, how many products that is, and its two sides."""

    axes: tuple[str, ...]
    depth: int
    sides: tuple[ProductSide, ProductSide]

    def __str__(self) -> str:
        lhs, rhs = self.sides
        return f"{self.depth} over {' and '.join(self.axes)} of {lhs} by {rhs}"


@dataclass(frozen=True, slots=True)
class KernelExplanation:
    """
    A kernel: what it computes, as one of its launches says, its schedule as lines of a tree, why its axes are
    mapped so, and what one launch costs; None where that was not analyzed. `recipe` are the steps that made
    the schedule, which `tenon.compile(schedules=)` and `tenon.Schedule.replay` take, or why there are none;
    `products` are its sums of products.
    """

    name: str
    launches: int
    ops: tuple[FusedOp, ...]
    schedule: tuple[str, ...]
    reasons: tuple[str, ...]
    flops: int | None = None
    nbytes: int | None = None
    recipe: tuple[Mapping[str, Any], ...] | str = ()
    products: tuple[ProductExplanation, ...] = ()

    def lines(self) -> Iterator[str]:
        often = "" if self.launches == 1 else f", launched at {self.launches} places"
        result = f" computes {self.ops[-1].value}: {self.ops[-1].type}" if self.ops else ""
        yield f"kernel @{self.name}{result}{often}"
        if self.ops:
            rows = [(op.value, op.operation, op.type, op.mode, op.rule, op.why, op.place) for op in self.ops]
            yield from (f"  {line}" for line in text_table(rows[0], "<<<<<<<", rows[1:]))
        yield "  schedule:"
        yield from (f"    {line}" for line in self.schedule)
        if self.products:
            yield "  products:"
            yield from (f"    {product}" for product in self.products)
        if self.reasons:
            yield "  why:"
            yield from (f"    {reason}" for reason in self.reasons)
        if isinstance(self.recipe, str):
            yield f"  no recipe: {self.recipe}"
        elif self.recipe:
            yield "  recipe:"
            yield from (f"    {json.dumps(step)}" for step in self.recipe)
        if self.flops is not None and self.nbytes is not None:
            rate = f", {self.flops / self.nbytes:.2g} operations per byte" if self.nbytes else ""
            yield f"  cost: {self.flops} operations, {self.nbytes} bytes moved{rate}"


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A value that one kernel stores and others load, and why they are not one kernel."""

    value: str
    nbytes: int
    producer: str
    consumers: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        consumers = " and ".join(f"@{name}" for name in self.consumers)
        return f"@{self.producer} hands {self.value} ({self.nbytes} bytes) to {consumers}: {self.why}"


@dataclass(frozen=True, slots=True)
class Temporary:
    """Memory of a value between kernels: the steps that it lives from and to, its place, who shares it."""

    value: str
    nbytes: int
    first_step: int
    last_step: int
    offset: int
    shares_with: tuple[str, ...]

    def __str__(self) -> str:
        shared = f", shared with {', '.join(self.shares_with)}" if self.shares_with else ""
        return (
            f"{self.value}: {self.nbytes} bytes at {self.offset:#x} from step {self.first_step} to step "
            f"{self.last_step}{shared}"
        )


@dataclass(frozen=True, slots=True)
class Explanation:
    """
    What became of a program. `passes` are those that did or decided something; `steps` is the program
    that the host runs, one line each, indented where it is in a loop or a branch; `constants` are names with
    bytes. Printed it is a story; the same program gives the same text.
    """

    name: str
    n_ops: int
    passes: tuple[PassEffect, ...]
    kernels: tuple[KernelExplanation, ...]
    steps: tuple[str, ...]
    not_fused: tuple[HandedOver, ...]
    temporaries: tuple[Temporary, ...]
    temporary_nbytes: int
    unshared_nbytes: int
    constants: tuple[tuple[str, int], ...]
    prepared: tuple[tuple[str, int], ...] = ()
    """What was made of frozen arrays before the first call, with bytes."""

    def to_json(self) -> str:
        """Returns an object with these fields."""
        return json.dumps(asdict(self), indent=2)

    def __str__(self) -> str:
        sections = [
            _section("what the passes did", self.passes),
            *("\n".join(kernel.lines()) for kernel in self.kernels),
            _section("not fused", self.not_fused),
            _section("steps", self.steps),
            _section("memory", tuple(self._memory())),
        ]
        kernels = "1 kernel" if len(self.kernels) == 1 else f"{len(self.kernels)} kernels"
        operations = "1 operation" if self.n_ops == 1 else f"{self.n_ops} operations"
        title = f"@{self.name}: {operations} in {kernels}" if self.n_ops else f"@{self.name}: {kernels}"
        return "\n\n".join([title, *(section for section in sections if section)]) + "\n"

    def _memory(self) -> Iterator[object]:
        yield from self.temporaries
        if self.temporaries:
            yield f"temporaries take {self.temporary_nbytes} bytes, {self.unshared_nbytes} if none shared"
        for name, nbytes in self.constants:
            yield f"{name}: a constant of {nbytes} bytes"
        for name, nbytes in self.prepared:
            yield f"prepared once: {name}, {nbytes} bytes"


def _section(title: str, items: Sequence[object]) -> str:
    return "\n".join([f"{title}:", *(f"  {item}" for item in items)]) if items else ""

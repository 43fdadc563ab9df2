"""What each op of `stablehlo` and `chlo` becomes: the rules of all families."""

from __future__ import annotations

from xdsl.ir import Operation

from ...dialects import stablehlo
from ...dialects.stablehlo import chlo
from . import (
    contraction,
    control,
    dynamic,
    elementwise,
    indexing,
    linear_algebra,
    movement,
    normalization,
    reduction,
    sorting,
)
from .arithmetic import bits, special_functions
from .arithmetic.narrow_integers import rules_of
from .complex_numbers import linear_algebra as complex_linear_algebra
from .complex_numbers import rules as complex_rules
from .conversion import COMPLEX_RULES, LIFTABLE, NARROW_RULES, Rule
from .devices import collectives, manual, shardings

RULES: dict[type[Operation], Rule] = {
    rule: made
    for family in (
        elementwise,
        special_functions,
        movement,
        contraction,
        reduction,
        indexing,
        sorting,
        bits,
        linear_algebra,
        normalization,
        control,
        collectives,
        manual,
        shardings,
        dynamic,
    )
    for rule, made in family.RULES.items()
}

COMPLEX_RULES.update(complex_rules.RULES)
COMPLEX_RULES.update(complex_linear_algebra.RULES)
LIFTABLE.update((*elementwise.RULES, *special_functions.RULES))
LIFTABLE.update((stablehlo.ConstantOp, chlo.ConstantOp, stablehlo.ReducePrecisionOp))
LIFTABLE.update((stablehlo.ComplexOp, chlo.ConjOp))
LIFTABLE.discard(stablehlo.MapOp)
NARROW_RULES.update(rules_of(RULES))

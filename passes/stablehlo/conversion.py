"""
The state of a conversion: which value of `graph` stands for which of `stablehlo`, and what has no conversion.

Rules are functions of a conversion and an op, which return the values of its results. Elementwise rules take
their shape from the operands they get, so that a region over elements can be written over whole arrays:
`Conversion.lifted` does that for reducers, comparators and the like.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, LocationAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.emitter import Emitter, Unsupported
from ...dialects import stablehlo
from ...dialects.dims.expressions import (
    DimSymbol,
    Extent,
    bounded,
    greatest,
    is_at_least,
    lower_bound,
    unbounded,
    upper_bound,
)
from ...dialects.element_types import ELEMENT_TYPES
from ...dialects.graph import tensor_of
from ...dialects.graph.types import difference, shape_of
from ...dialects.modules.parsing import location_text
from ...errors import TenonError
from .complex_parts import Parted
from .device_grid import DeviceGrid
from .extents import KnownNumbers
from .narrow_types import carried, carrier_of, is_narrow

Rule = Callable[["Conversion", Any], Sequence[SSAValue] | SSAValue]

ComplexRule = Callable[["Conversion", Any, Parted], Sequence[SSAValue]]
"""The rule of an op that has the parts of complex numbers: it returns those of its results."""

_ELEMENTS = frozenset[Attribute](ELEMENT_TYPES)


class Conversion(Emitter):
    """Converts the ops of one function into a block of `graph` ops."""

    def __init__(
        self,
        block: Block,
        rules: Mapping[type[Operation], Rule],
        dims: Mapping[str, DimSymbol] | None = None,
        devices: DeviceGrid | None = None,
        computations: Mapping[str, Region] | None = None,
        parted: Mapping[Operation, Parted] | None = None,
    ) -> None:
        super().__init__(block, "stablehlo")
        self._parted = parted or {}
        self.devices = devices
        self._computations = computations or {}
        self.is_manual = False
        """Whether ops are of the parts that a device has."""
        self._last_channel = 0
        self._rules = rules
        self.values: dict[SSAValue, SSAValue] = {}
        self._dims = dims or {}
        self.numbers = KnownNumbers(self.values.get, self._dims)
        self.tuples: dict[SSAValue, Sequence[SSAValue]] = {}
        self.unsupported_ops: Counter[str] = Counter()
        self.first_place: LocationAttr | None = None
        self._is_lifted = False
        self._stand_ins: set[SSAValue] = set()
        """Values of `stablehlo` that are made of what has no conversion."""

    def called(self, op: stablehlo.CustomCallOp) -> Region | None:
        """Returns the body of the only function that a call says it calls, None where there is none."""
        names = op.computations
        return self._computations.get(names[0]) if len(names) == 1 else None

    def channel(self) -> int:
        """Returns the number of the next collective."""
        self._last_channel += 1
        return self._last_channel

    def value(self, old: SSAValue) -> SSAValue:
        """Returns what stands for a value."""
        return self.values[old]

    def operand(self, op: Operation, number: int) -> SSAValue:
        """Returns what stands for an operand."""
        return self.values[op.operands[number]]

    def operands(self, op: Operation) -> list[SSAValue]:
        return [self.values[operand] for operand in op.operands]

    def extents(self, op: Operation, number: int) -> tuple[Extent, ...]:
        """Returns the numbers that an operand is, in row-major order, which must be known."""
        found = self.numbers.extents(op.operands[number])
        if found is None:
            raise self.unsupported(f"operand {number} is known at run time only")
        return tuple(map(unbounded, found))

    def at_least_zero(self, extent: Extent) -> Extent:
        """Returns an extent, and 0 where its dims may be such that it is negative."""
        return extent if is_at_least(bounded(extent, self._dims), 0) else greatest(extent, 0)

    def range_of(self, extent: Extent) -> tuple[int, int]:
        """Returns what an extent is never below and never above."""
        known = bounded(extent, self._dims)
        return lower_bound(known), upper_bound(known)

    def result_element(self, op: Operation, number: int = 0) -> Attribute:
        """Returns the element type of a result, as it is declared."""
        return self.declared(op, number).element_type

    def declared(self, op: Operation, number: int = 0) -> TensorType[Any]:
        """Returns the type of a result, as it is declared, of carriers for narrow integers."""
        type = carried(op.results[number].type)
        if not isinstance(type, TensorType):
            raise VerifyException(f"{op.name}: result {number} is {type}, expected a tensor")
        return cast(TensorType[Any], type)

    def of_parts(self, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
        """Returns what an op gives of some of its operands, as if it was of real numbers."""
        made = type_of(op).create(
            operands=operands,
            result_types=[op.results[0].type],
            properties=op.properties,
            attributes=op.attributes,
        )
        made.location = op.location
        rule = self._rules.get(type_of(op))
        if rule is None:
            raise Unsupported(op.name)
        result = rule(self, made)
        made.erase()
        return result if isinstance(result, SSAValue) else result[0]

    def static_result(self, op: Operation, number: int = 0) -> tuple[int, ...]:
        """Returns the shape of a result, which must be numbers."""
        return self.static(self.declared(op, number).get_shape(), "the shape of the result")

    def convert_block(self, block: Block, arguments: Sequence[SSAValue]) -> Operation:
        """Converts the ops of a block but the last one, for values of its arguments, and returns that."""
        if len(block.args) != len(arguments):
            raise VerifyException(
                f"{self.who}: a region takes {len(block.args)} values, expected {len(arguments)}"
            )
        self.values.update(zip(block.args, arguments, strict=True))
        *ops, last = block.ops
        for op in ops:
            self._convert(op)
        return last

    def inline(
        self, block: Block, arguments: Sequence[SSAValue], n_results: int | None = None
    ) -> list[SSAValue]:
        """Returns what a region gives for these values of its arguments, and checks how many results."""
        who = self.who
        last = self.convert_block(block, arguments)
        self.who = who
        if not isinstance(last, stablehlo.EndOp):
            raise VerifyException(f"{who}: a region ends in {last.name}, expected stablehlo.return")
        if n_results is not None and len(last.operands) != n_results:
            raise VerifyException(f"{who}: a region gives {len(last.operands)} results, expected {n_results}")
        return self.operands(last)

    def region(
        self,
        region: Region,
        types: Sequence[Attribute],
        end: Callable[[list[SSAValue]], Operation],
        n_results: int | None = None,
    ) -> Region:
        """Returns a region over arguments of these types that does the same, and ends as `end` says."""
        inner = Block(arg_types=types)
        for argument, old in zip(inner.args, region.block.args, strict=False):
            argument.name_hint, argument.location = old.name_hint, old.location
        return self.nested(lambda: self.inline(region.block, inner.args, n_results), end, inner)

    def lifted(
        self, region: Region, arguments: Sequence[SSAValue], n_results: int | None = None
    ) -> list[SSAValue]:
        """
        Returns what a region over single elements gives at each index of arrays of one shape. It must be of
        elementwise ops.
        """
        before, location = self._is_lifted, self.location
        shape = self.shape(arguments[0])
        self._is_lifted = True
        try:
            results = self.inline(region.block, arguments, n_results)
        finally:
            self._is_lifted = before
        self.location = location
        return [self.broadcast(result, shape) for result in results]

    def _convert(self, op: Operation) -> None:
        self.location, self.who = op.location, op.name
        try:
            results = self._converted(op)
        except Unsupported as error:
            self._note(f"{error.who} ({error.why})" if error.why else error.who, op)
            results = None
        except VerifyException as error:
            if self._stand_ins.isdisjoint(op.operands):
                text = " ".join(str(error).split())
                message = text if text.startswith(op.name) else f"{op.name}: {text}"
                raise TenonError(message, location=location_text(op.location)) from error
            # What stands for what has no conversion need not have its shape.
            results = None
        if results is None:
            results = [self._placeholder(result.type) for result in op.results]
            self._stand_ins.update(op.results)
        elif not self._stand_ins.isdisjoint(op.operands):
            self._stand_ins.update(op.results)
        for old, new in zip(op.results, results, strict=True):
            if new.name_hint is None and old.name_hint is not None and not new.uses:
                new.name_hint = old.name_hint
            self.values[old] = new

    def _converted(self, op: Operation) -> Sequence[SSAValue]:
        narrow: Attribute | None = None
        for type in (*(operand.type for operand in op.operands), *op.result_types):
            element = element_of(type)
            if is_narrow(element):
                narrow = element
            elif element is not None and element not in _ELEMENTS:
                raise self.unsupported(f"of {element}")
        if any(operand in self.tuples for operand in op.operands) and not isinstance(
            op, stablehlo.GetTupleElementOp
        ):
            raise self.unsupported("of a tuple")
        parted = self._parted.get(op)
        if parted is not None:
            return self._of_complex(op, parted)
        rule = (self._rules if narrow is None else NARROW_RULES).get(type_of(op))
        if rule is None and narrow is not None:
            raise self.unsupported(f"of {narrow}")
        if rule is None and op.name.startswith("graph.") and not op.regions:
            rule = _kept
        if rule is None:
            raise Unsupported(op.name)
        self._check_liftable(op)
        made = rule(self, op)
        return self._checked(op, (made,) if isinstance(made, SSAValue) else tuple(made))

    def _of_complex(self, op: Operation, parted: Parted) -> Sequence[SSAValue]:
        complex_rule = COMPLEX_RULES.get(type_of(op))
        if complex_rule is None:
            raise self.unsupported("of complex numbers")
        self._check_liftable(op)
        return self._checked(op, complex_rule(self, op, parted))

    def _check_liftable(self, op: Operation) -> None:
        if self._is_lifted and type_of(op) not in LIFTABLE:
            raise self.unsupported("in a region over elements")

    def _checked(self, op: Operation, results: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """Returns results, which must be what the op says."""
        if len(results) != len(op.results):
            raise VerifyException(f"{op.name}: declares {len(op.results)} results, expected {len(results)}")
        if not self._is_lifted:
            for number, (old, new) in enumerate(zip(op.results, results, strict=True)):
                self._check(op, number, old, new)
        return results

    def _check(self, op: Operation, number: int, old: SSAValue, new: SSAValue) -> None:
        """Raises `VerifyException` where a result is not what the op says."""
        if not isinstance(old.type, TensorType):
            return
        declared, found = self.declared(op, number), self.type(new)
        if any(extent == DYNAMIC_INDEX for extent in shape_of(found)):
            raise self.unsupported(f"result {number} has an extent that nothing tells")
        agreed = tuple(
            extent if wanted == DYNAMIC_INDEX else wanted
            for extent, wanted in zip(shape_of(found), declared.get_shape(), strict=False)
        )
        wanted = tensor_of(declared.element_type, agreed)
        where = difference(found, wanted)
        if where is not None or len(shape_of(found)) != len(declared.get_shape()):
            what = f"result {number} is {declared}, expected {found}"
            raise VerifyException(f"{op.name}: {what} ({where or 'another rank'})")

    def _note(self, what: str, op: Operation) -> None:
        self.unsupported_ops[what] += 1
        if self.first_place is None:
            self.first_place = op.location

    def _placeholder(self, type: Attribute) -> SSAValue:
        """Returns a value for what has none, so that what comes after is looked at too."""
        declared = element_of(type)
        if declared is None:
            return self.scalar(0, ELEMENT_TYPES[-1])
        element = carrier_of(declared)
        element = element if element in _ELEMENTS else ELEMENT_TYPES[0]
        extents = cast(TensorType[Any], type).get_shape()
        shape: list[Extent] = [1 if extent == DYNAMIC_INDEX else extent for extent in extents]
        return self.full(0, element, shape)

    def check_supported(self) -> None:
        """Raises `TenonError` that lists everything that had no conversion, and how often."""
        if not self.unsupported_ops:
            return
        listed = ", ".join(f"{what}: {count}" for what, count in self.unsupported_ops.most_common())
        count = sum(self.unsupported_ops.values())
        place = None if self.first_place is None else location_text(self.first_place)
        raise TenonError(
            f"convert-stablehlo-to-graph: no conversion for {count} op{'s' if count > 1 else ''} ({listed})",
            location=place,
        )


LIFTABLE: set[type[Operation]] = set()
"""The ops that a region over elements may consist of; `rules.py` fills it."""

COMPLEX_RULES: dict[type[Operation], ComplexRule] = {}
"""What ops that have the parts of complex numbers become; `rules.py` fills it."""

NARROW_RULES: dict[type[Operation], Rule] = {}
"""What ops over integers of 2 and 4 bits become; `rules.py` fills it."""


def element_of(type: Attribute) -> Attribute | None:
    """Returns the element type of a tensor type, None for another type."""
    return cast(TensorType[Any], type).element_type if isinstance(type, TensorType) else None


def type_of(op: Operation) -> type[Operation]:
    return type(op)


def _kept(c: Conversion, op: Operation) -> Sequence[SSAValue]:
    """Returns the results of an op of `graph`, as it is."""
    return c.put(op.clone(dict(zip(op.operands, c.operands(op), strict=True)))).results

"""What is done in fewer steps with xDSL's objects gives what xDSL gives, also where ops change meanwhile."""

from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

import pytest
from tenon.dialects import xdsl_speed
from xdsl.builder import ImplicitBuilder
from xdsl.dialects import arith, test
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    DenseArrayBase,
    ModuleOp,
    StringAttr,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.dialects.cf import ConditionalBranchOp
from xdsl.ir import (
    Attribute,
    Block,
    BlockOps,
    Data,
    Dialect,
    Operation,
    Region,
    SSAValue,
    TypeAttribute,
)
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, region_def, result_def
from xdsl.irdl.constraints import AttrConstraint


@irdl_op_definition
class _Named(IRDLOperation):
    name = "test.named"
    first = operand_def()
    second = operand_def()
    result = result_def()
    body = region_def()


def _op(number: int, *blocks: list[Operation]) -> test.TestOp:
    regions = [Region([Block(ops) for ops in blocks[:2]]), Region([Block(ops) for ops in blocks[2:]])]
    return test.TestOp(result_types=[i32], regions=regions, attributes={"number": StringAttr(str(number))})


def _module() -> ModuleOp:
    inner = _op(3, [_op(4), _op(5, [], [_op(6)])], [], [_op(7)])
    return ModuleOp([_op(1), _op(2, [inner, _op(8)], [_op(9)]), _op(10)])


def _recursive(op: Operation, reverse: bool, region_first: bool) -> Iterator[Operation]:
    """Walks as xDSL does."""

    def turned(things: Iterable[Operation | Block | Region]) -> list[object]:
        found = list[object](things)
        return found[::-1] if reverse else found

    if not region_first:
        yield op
    for region in turned(op.regions):
        assert isinstance(region, Region)
        for block in turned(region.blocks):
            assert isinstance(block, Block)
            for inner in turned(block.ops):
                assert isinstance(inner, Operation)
                yield from _recursive(inner, reverse, region_first)
    if region_first:
        yield op


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("region_first", [False, True])
def test_ops_are_walked_in_the_same_order(reverse: bool, region_first: bool) -> None:
    module = _module()
    expected = list(_recursive(module, reverse, region_first))
    assert len(expected) == 11
    assert list(module.walk(reverse=reverse, region_first=region_first)) == expected
    inside = [op for op in expected if op is not module]
    assert list(module.body.walk(reverse=reverse, region_first=region_first)) == inside
    assert list(module.body.block.walk(reverse=reverse, region_first=region_first)) == inside


def _walked(change: Callable[[ModuleOp, Operation], None]) -> list[str]:
    """Returns the numbers of what a walk sees while each op that it saw is changed."""
    module, seen = _module(), list[str]()
    for op in module.walk():
        if op is not module:
            number = op.attributes["number"]
            assert isinstance(number, StringAttr)
            seen.append(number.data)
            change(module, op)
    return seen


def test_a_walk_sees_what_happens_to_ops_as_xdsl_shows_it() -> None:
    def erase(module: ModuleOp, op: Operation) -> None:
        if not op.regions[0].blocks:
            op.detach()
            op.erase()

    def insert_after(module: ModuleOp, op: Operation) -> None:
        block = op.parent
        if block is not None and len(seen := list(module.walk())) < 30:
            block.insert_op_after(_op(len(seen)), op)

    def fill(module: ModuleOp, op: Operation) -> None:
        if op.attributes["number"] == StringAttr("1"):
            op.regions[0].add_block(Block([_op(11)]))

    assert _walked(erase) == [str(number) for number in range(1, 11)]
    # What is put directly behind an op was not the next one when that was seen.
    assert _walked(insert_after) == [str(number) for number in range(1, 11)]
    # The regions of an op are looked at after it was seen.
    assert _walked(fill) == ["1", "11", *(str(number) for number in range(2, 11))]


@pytest.mark.parametrize("reverse", [False, True])
def test_ops_may_go_once_what_is_inside_of_them_was_seen(reverse: bool) -> None:
    module = _module()
    expected = list(_recursive(module, reverse, True))
    seen: list[Operation] = []
    for op in module.walk(reverse=reverse, region_first=True):
        seen.append(op)
        if (block := op.parent) is not None:
            # What comes next is not what is put there now.
            new = _op(12)
            (block.insert_op_before if reverse else block.insert_op_after)(new, op)
            op.detach()
    assert seen == expected and len(module.body.ops) == 3
    assert all(op.attributes["number"] == StringAttr("12") for op in module.body.ops)


def test_the_ops_of_a_block_begin_with_the_first_when_they_were_asked_for() -> None:
    block = _module().body.block
    ops, first = iter(block.ops), block.first_op
    assert first is not None
    block.insert_op_before(_op(0), first)
    assert next(ops) is first and len(list(ops)) == 2
    assert list(Block().ops) == [] and len(block.ops) == 4
    assert list(reversed(block.ops)) == list(block.ops)[::-1]


def test_values_are_found_by_the_names_of_operands_and_results() -> None:
    source = test.TestOp(result_types=[i32, i64])
    op = _Named.build(operands=[*source.results], result_types=[i32], regions=[Region()])
    assert (op.first, op.second, op.result) == (*source.results, op.results[0])
    assert op.body is op.regions[0]
    with pytest.raises(AttributeError):
        _ = _Named.first


def test_a_slice_of_values_is_values_and_an_index_one() -> None:
    values = test.TestOp(result_types=[i32, i64, i32]).results
    assert isinstance(values[1:], SSAValues) and values[1:].types == (i64, i32)
    assert values[-1] is values[2]
    with pytest.raises(IndexError):
        _ = values[3]


def test_values_of_ops_with_several_lists_are_found_by_the_numbers_of_each() -> None:
    condition, index = test.TestOp(result_types=[i1, i64]).results
    block = Block()
    op = ConditionalBranchOp(condition, block, [index, condition], block, [index])
    assert op.cond is condition and tuple(op.then_arguments) == (index, condition)
    assert tuple(op.else_arguments) == (index,)
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, [1, 0, 3])
    assert tuple(op.then_arguments) == () and tuple(op.else_arguments) == (index, condition, index)
    # Numbers of other types are wrong, and read as what they are.
    op.properties["operandSegmentSizes"] = DenseArrayBase.from_list(i64, [1, 2, 1])
    assert tuple(op.else_arguments) == (index,)


def test_operands_are_replaced_with_their_uses() -> None:
    first, second = test.TestOp(result_types=[i32, i32]).results
    op = test.TestOp(operands=[first, second, first])
    assert [op.operands[number] for number in (0, 1, -1)] == [first, second, first]
    assert tuple(op.operands[1:]) == (second, first)
    op.operands = [second]
    assert first.first_use is None and [use.index for use in second.uses] == [0]
    op.operands[0] = first
    assert second.first_use is None and tuple(op.operands) == (first,)
    op.operands = []
    assert first.first_use is None and len(op.operands) == 0


def test_values_and_ops_are_told_apart_in_sets() -> None:
    ops = [test.TestOp(result_types=[i32]) for _ in range(4)]
    values = [op.results[0] for op in ops]
    assert len({*ops, *ops}) == 4 and len({*values, *values}) == 4
    assert dict(zip(values, ops, strict=True))[values[2]] is ops[2]


def test_ops_have_the_properties_that_are_not_given() -> None:
    assert arith.AddiOp.create(operands=[], result_types=[]).properties == {
        "overflowFlags": arith.IntegerOverflowAttr("none")
    }
    given = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])
    op = arith.AddiOp.create(operands=[], result_types=[], properties={"overflowFlags": given})
    assert op.properties == {"overflowFlags": given}
    with ImplicitBuilder(block := Block()):
        made = test.TestOp()
    assert block.first_op is made


def test_a_type_tells_its_shape_again() -> None:
    type = TensorType(i32, [4, -1])
    assert type.get_shape() == type.get_shape() == (4, -1)
    assert type == TensorType(i32, [4, -1]) and hash(type) == hash(TensorType(i32, [4, -1]))
    assert TensorType(i32, []).get_shape() == ()


def test_ops_are_made_as_xdsl_makes_them() -> None:
    empty = test.TestOp.create()
    assert not (*empty.operands, *empty.results, *empty.successors, *empty.regions)
    assert empty.location is UNKNOWN_LOC and empty.parent is None
    assert empty.properties == {} and empty.properties is not test.TestOp.create().properties
    block, source = Block(), test.TestOp(result_types=[i32])
    attributes = {"a": StringAttr("b")}
    op = test.TestOp.create(
        operands=[source.results[0]],
        result_types=[i32, i64],
        attributes=attributes,
        successors=[block],
        regions=[Region(Block())],
    )
    assert [use.operation for use in source.results[0].uses] == [op]
    assert [(value.type, value.index, value.op) for value in op.results] == [(i32, 0, op), (i64, 1, op)]
    assert op.attributes == attributes and op.attributes is not attributes
    assert list(op.successors) == [block] and op.regions[0].parent is op
    with pytest.raises(ValueError, match="already attached"):
        test.TestOp.create(regions=[op.regions[0]])


def test_an_op_is_put_into_one_block_and_none_of_its_own() -> None:
    inner, op = Block(), _op(1)
    inner.add_op(op)
    assert op.parent is inner
    with pytest.raises(ValueError, match="already attached"):
        Block().add_op(op)
    around = test.TestOp(regions=[Region(inner)])
    with pytest.raises(ValueError, match="contained in the operation"):
        inner.add_op(around)


def test_what_is_of_a_class_is_what_names_it_as_a_base() -> None:
    op = _op(1)
    assert isinstance(op, Operation) and isinstance(op, test.TestOp) and not isinstance(op, _Named)
    assert isinstance(op, _Named | test.TestOp) and not isinstance(op, Attribute)
    assert isinstance(i32, TypeAttribute) and isinstance(i32, Attribute) and not isinstance(i32, StringAttr)
    assert isinstance(StringAttr("a"), Data) and not isinstance(3, Attribute)
    assert issubclass(_Named, IRDLOperation) and not issubclass(_Named, test.TestOp)
    with pytest.raises(TypeError, match="abstract"):
        Data(3)  # pyright: ignore[reportAbstractUsage]


def test_classes_may_have_bases_of_other_metaclasses() -> None:
    class Counted(Protocol):
        def count(self) -> int: ...

    class Registered(metaclass=type("Meta", (ABCMeta,), {})):
        pass

    class Both(Data[int], Counted):
        name = "test.both"

        def count(self) -> int:
            return 1

    class Op(IRDLOperation, Registered):
        name = "test.other"

    assert issubclass(Both, Data) and issubclass(Op, IRDLOperation) and issubclass(Op, Registered)
    for base in (Attribute, Operation, SSAValue, AttrConstraint):
        assert type(base) is ABCMeta


def test_classes_are_made_of_their_bases_alone() -> None:
    class Counted(Protocol):
        def count(self) -> int: ...

    class Both(Data[int], Counted):
        name = "test.counted"

        def count(self) -> int:
            return 1

    class Inner(Both):
        name = "test.inner"

    for above in (Inner, Both, Data, Attribute):
        assert issubclass(Inner, above)
    assert not issubclass(Both, Inner) and not issubclass(Data, Both)
    for other in (Operation, SSAValue, Block, Region, TypeAttribute, StringAttr):
        assert not issubclass(Inner, other)
    assert issubclass(_Named, IRDLOperation) and issubclass(_Named, Operation)
    assert not issubclass(Operation, _Named) and not issubclass(_Named, test.TestOp)
    assert not issubclass(int, Attribute) and not isinstance(1, Operation)


def test_a_class_that_is_met_first_asks_no_others() -> None:
    asked: list[type] = []

    class Family(Data[int]):
        name = "test.family"

    class Member(Family):
        name = "test.member"

        @classmethod
        def __subclasshook__(cls, kind: type) -> bool:
            asked.append(kind)
            return False

    assert not issubclass(StringAttr, Family)
    assert asked == []
    assert not issubclass(StringAttr, Member)
    assert asked == [StringAttr]


def test_what_a_dialect_has_says_by_its_bases_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Base(IRDLOperation):
        pass

    class Meta(ABCMeta):
        pass

    class Registered(metaclass=Meta):
        pass

    @irdl_op_definition
    class First(Base):
        name = "test.first"

    @irdl_op_definition
    class Second(Base, Registered):
        name = "test.second"

    Dialect("test", [First, Second], [])
    first, second = First(), Second()
    asked: list[type] = []

    def ask(cls: type, value: object) -> bool:
        asked.append(cls)
        return issubclass(type(value), cls)

    monkeypatch.setattr(ABCMeta, "__instancecheck__", ask)
    assert isinstance(first, First) and not isinstance(second, First) and not isinstance(i32, First)
    assert not isinstance(first, ModuleOp) and not isinstance(i32, StringAttr)
    assert asked == []
    # What others are made of, and what has a type of its own, are left as they are.
    assert isinstance(first, Base) and asked == [Base]
    assert not isinstance(first, Second) and asked == [Base, Second]
    assert type(Second) is Meta


def test_an_attribute_is_data_or_has_parameters() -> None:
    class Other(Attribute):
        name = "test.other"

    for _ in range(2):
        with pytest.raises(TypeError, match="should only be Data or ParametrizedAttribute"):
            Other()


def test_it_is_installed_once() -> None:
    before = BlockOps.__iter__, Operation.walk, Operation.__init__, SSAValues.__getitem__
    xdsl_speed.apply()
    assert (BlockOps.__iter__, Operation.walk, Operation.__init__, SSAValues.__getitem__) == before

"""A module as it was at some time, kept as data: that takes a fraction of the time of a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue


class _BlockRecord(NamedTuple):
    number: int
    hint: str | None
    types: tuple[Attribute, ...]
    locations: tuple[LocationAttr, ...]
    hints: tuple[str | None, ...]
    ops: tuple[_OpRecord, ...]


class _OpRecord(NamedTuple):
    """An op; values and blocks are the numbers that they have in the order in which they are defined."""

    kind: type[Operation]
    operands: tuple[int, ...]
    types: tuple[Attribute, ...]
    hints: tuple[str | None, ...]
    properties: dict[str, Attribute]
    attributes: dict[str, Attribute]
    location: LocationAttr
    successors: tuple[int, ...]
    regions: tuple[tuple[_BlockRecord, ...], ...]


class ModuleRecord:
    """What a module is now. `module` makes it again; nothing that is done to the module changes that."""

    def __init__(self, module: ModuleOp) -> None:
        self._record: _OpRecord | None = None
        self._copy: ModuleOp | None = None
        try:
            self._record = _Recorder().op(module)
        except KeyError:
            # A value is used before it is defined, as may be in control flow.
            self._copy = module.clone()

    def module(self) -> ModuleOp:
        """Returns a new module that is as the one was which was recorded."""
        if self._record is None:
            assert self._copy is not None, "neither recorded nor copied"
            return self._copy.clone()
        made = _Maker().op(self._record)
        assert isinstance(made, ModuleOp), f"{made.name} was recorded, expected a module"
        return made


class _Recorder:
    def __init__(self) -> None:
        self._values: dict[SSAValue, int] = {}
        self._blocks: dict[Block, int] = {}

    def op(self, op: Operation) -> _OpRecord:
        """Raises KeyError where a value is used before it is defined."""
        values = self._values
        operands = tuple([values[operand] for operand in op.operands])
        regions = tuple([self._region(region) for region in op.regions])
        results = op.results
        self._define(results)
        return _OpRecord(
            type(op),
            operands,
            tuple([result.type for result in results]),
            tuple([result.name_hint for result in results]),
            op.properties.copy(),
            op.attributes.copy(),
            op.location,
            tuple([self._blocks[block] for block in op.successors]),
            regions,
        )

    def _region(self, region: Region) -> tuple[_BlockRecord, ...]:
        blocks = list(region.blocks)
        for block in blocks:
            self._blocks[block] = len(self._blocks)
        return tuple([self._block(block) for block in blocks])

    def _block(self, block: Block) -> _BlockRecord:
        arguments = block.args
        self._define(arguments)
        return _BlockRecord(
            self._blocks[block],
            block.name_hint,
            tuple([argument.type for argument in arguments]),
            tuple([argument.location for argument in arguments]),
            tuple([argument.name_hint for argument in arguments]),
            tuple([self.op(op) for op in block.ops]),
        )

    def _define(self, values: Sequence[SSAValue]) -> None:
        for value in values:
            self._values[value] = len(self._values)


class _Maker:
    def __init__(self) -> None:
        self._values: list[SSAValue] = []
        self._blocks: dict[int, Block] = {}

    def op(self, record: _OpRecord) -> Operation:
        values = self._values
        operands = [values[number] for number in record.operands]
        made = record.kind.create(
            operands=operands,
            regions=[self._region(blocks) for blocks in record.regions],
            result_types=record.types,
            properties=record.properties,
            attributes=record.attributes,
            location=record.location,
            successors=[self._blocks[number] for number in record.successors],
        )
        self._define(made.results, record.hints)
        return made

    def _region(self, records: Sequence[_BlockRecord]) -> Region:
        blocks = [Block(arg_types=record.types) for record in records]
        for record, block in zip(records, blocks, strict=True):
            self._blocks[record.number] = block
            if record.hint is not None:
                block.name_hint = record.hint
        for record, block in zip(records, blocks, strict=True):
            for argument, location in zip(block.args, record.locations, strict=True):
                argument.location = location
            self._define(block.args, record.hints)
            for op in record.ops:
                block.add_op(self.op(op))
        return Region(blocks)

    def _define(self, values: Sequence[SSAValue], hints: Sequence[str | None]) -> None:
        for value, hint in zip(values, hints, strict=True):
            if hint is not None:
                value.name_hint = hint
        self._values.extend(values)

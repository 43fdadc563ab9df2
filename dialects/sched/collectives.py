"""Items at which the ranks of a grid exchange what they hold: where that begins, and where it is awaited."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Data, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, prop_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..collective import Collective
from ..graph.attributes import ChannelAttr
from ..graph.types import tensor_type_of
from .host_call import HostItem

__all__ = ["AwaitOp", "CollectiveAttr", "CollectiveItem", "CollectiveOp"]


@irdl_attr_definition
class CollectiveAttr(Data[Collective], SpacedOpaqueSyntaxAttribute):
    """
    What is asked of the other ranks: `#sched<collective_kind all_reduce add on [2] axes = [0] channel = 1>`;
    printed bare by `sched.collective`.
    """

    name = "sched.collective_kind"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Collective:
        return Collective.parse(parser)

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data.text)


class CollectiveItem(HostItem):
    """An item at which a collective begins, or is awaited. All of one name the same buffers."""


@irdl_op_definition
class CollectiveOp(CollectiveItem):
    """
    Begins to exchange what `arguments` hold for what `targets` are to hold, as the op of `graph` of its name
    does, among the ranks of a group of the grid whose extents stand behind `on`. It is done when that has
    begun: until the `sched.await` of its channel is done, nothing may write the one, nor read or write the
    other. Collectives begin in the order of the text.

    Several buffers are exchanged as if they were one behind another, in an `all_reduce`.

    ```mlir
    %t1 = sched.collective all_reduce add on [2, 2] axes = [0] channel = 1(%x) to(%y) after(%t0)
        : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "sched.collective"
    collective = prop_def(CollectiveAttr)

    @staticmethod
    def what_name() -> str:
        return "collective"

    @staticmethod
    def parse_what(parser: Parser) -> CollectiveAttr:
        return CollectiveAttr(Collective.parse(parser))

    def print_what(self, printer: Printer) -> None:
        printer.print_string(self.collective.data.text)

    @property
    def keeps_order(self) -> bool:
        return True

    def verify_(self) -> None:
        super().verify_()
        asked = self.collective.data
        who = f"{self.name} {asked.kind}"
        if asked.channel < 1:
            raise VerifyException(f"{who}: channel {asked.channel} is less than 1")
        if not asked.grid or any(extent < 1 for extent in asked.grid):
            raise VerifyException(f"{who}: {list(asked.grid)} is no grid")
        if not asked.axes or len(set(asked.axes)) < len(asked.axes):
            raise VerifyException(f"{who}: {list(asked.axes)} are no axes of a grid")
        if not all(0 <= axis < len(asked.grid) for axis in asked.axes):
            raise VerifyException(f"{who}: axes {list(asked.axes)} are out of range for {list(asked.grid)}")
        if not self.arguments or len(self.arguments) != len(self.targets):
            raise VerifyException(f"{who}: takes {len(self.arguments)} buffers to {len(self.targets)}")
        if len(self.arguments) > 1 and asked.kind != "all_reduce":
            raise VerifyException(f"{who}: takes {len(self.arguments)} buffers, expected 1")
        for type in (*self.function_type.inputs, *self.function_type.outputs):
            self._check_type(tensor_type_of(type, who), who)
        if set(self.arguments) & set(self.targets):
            raise VerifyException(f"{who}: fills what it takes")
        if self.awaited is None:
            raise VerifyException(f"{who}: no sched.await of channel {asked.channel} comes after it")

    def _check_type(self, type: TensorType[Any], who: str) -> None:
        asked = self.collective.data
        first = tensor_type_of(self.function_type.inputs.data[0], who)
        if type.element_type != first.element_type:
            raise VerifyException(f"{who}: takes and fills both {first} and {type}")
        members = prod(asked.parts)
        for dim in (asked.dim, asked.concat_dim):
            if dim is not None and not 0 <= dim < type.get_num_dims():
                raise VerifyException(f"{who}: dim {dim} is out of range for {type}")
        for pair in asked.pairs:
            if not all(0 <= member < members for member in pair):
                raise VerifyException(f"{who}: pair {list(pair)} names none of {members} members")

    @property
    def awaited(self) -> AwaitOp | None:
        """The item that awaits it, None where none does."""
        op: Operation | None = self.next_op
        while op is not None:
            if isinstance(op, AwaitOp) and op.channel.data == self.collective.data.channel:
                return op
            op = op.next_op
        return None


@irdl_op_definition
class AwaitOp(CollectiveItem):
    """
    Waits for the collective that the `sched.collective` of its channel before it has begun, in the same
    block and with the same buffers: `targets` are there, and `arguments` may be written again.

    ```mlir
    %t2 = sched.await channel = 1(%x) to(%y) after(%t1) : (tensor<4xf32>) -> tensor<4xf32>
    ```
    """

    name = "sched.await"
    channel = prop_def(ChannelAttr)

    @staticmethod
    def what_name() -> str:
        return "channel"

    @staticmethod
    def parse_what(parser: Parser) -> ChannelAttr:
        parser.parse_keyword("channel")
        parser.parse_punctuation("=")
        return ChannelAttr(parser.parse_integer(allow_boolean=False))

    def print_what(self, printer: Printer) -> None:
        printer.print_string(f"channel = {self.channel.data}")

    @property
    def keeps_order(self) -> bool:
        return False

    @property
    def begun(self) -> CollectiveOp | None:
        """The item that begins what this one awaits, None where there is none."""
        op: Operation | None = self.prev_op
        while op is not None:
            if isinstance(op, AwaitOp) and op.channel == self.channel:
                return None
            if isinstance(op, CollectiveOp) and op.collective.data.channel == self.channel.data:
                return op
            op = op.prev_op
        return None

    def verify_(self) -> None:
        super().verify_()
        who, begun = f"{self.name} of channel {self.channel.data}", self.begun
        if begun is None:
            raise VerifyException(f"{who}: no sched.collective of that channel comes before it")
        mine, its = ([*op.arguments, *op.targets] for op in (self, begun))
        if mine != its or self.function_type != begun.function_type:
            raise VerifyException(f"{who}: has other buffers than its sched.collective")

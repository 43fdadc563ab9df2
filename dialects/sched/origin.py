"""What a launch was made of: the ops of `graph` that its kernel computes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ..graph.attributes import ModeAttr
from ..memory_modes import ModeKind

__all__ = ["OriginAttr"]


def _text(text: str | StringAttr) -> StringAttr:
    return text if isinstance(text, StringAttr) else StringAttr(text)


def _mode(mode: ModeKind | ModeAttr) -> ModeAttr:
    return mode if isinstance(mode, ModeAttr) else ModeAttr(mode)


@irdl_attr_definition
class OriginAttr(ParametrizedAttribute):
    """
    An op of `graph` that a launch computes: its value, what it does, the value's type, the memory mode with
    the reason for it and the rule that decided, and the op's place in the source, which may be empty:
    `#sched.origin<"%s", "reduce add", "4xf32", local, "combined in registers", "reduction", "f.mlir:3:8">`.

    Launches carry them in `origins`, in the order of the text, where `convert-graph-to-sched{origins=true}`
    made them. They are for people.
    """

    name = "sched.origin"
    value: StringAttr = param_def(converter=_text)
    operation: StringAttr = param_def(converter=_text)
    type: StringAttr = param_def(converter=_text)
    mode: ModeAttr = param_def(converter=_mode)
    why: StringAttr = param_def(converter=_text)
    rule: StringAttr = param_def(converter=_text)
    place: StringAttr = param_def(converter=_text)

    def decided(self, mode: ModeKind, why: str, rule: str) -> OriginAttr:
        """Returns the same op where something else was decided of its memory."""
        return OriginAttr(self.value, self.operation, self.type, mode, why, rule, self.place)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            words = [StringAttr(parser.parse_str_literal())]
            for _ in range(2):
                parser.parse_punctuation(",")
                words.append(StringAttr(parser.parse_str_literal()))
            parser.parse_punctuation(",")
            mode = ModeAttr(parser.parse_str_enum(ModeKind))
            reasons: list[StringAttr] = []
            for _ in range(3):
                parser.parse_punctuation(",")
                reasons.append(StringAttr(parser.parse_str_literal()))
        return (*words, mode, *reasons)

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            for text in (self.value, self.operation, self.type):
                printer.print_string_literal(text.data)
                printer.print_string(", ")
            printer.print_string(self.mode.data.value)
            for text in (self.why, self.rule, self.place):
                printer.print_string(", ")
                printer.print_string_literal(text.data)

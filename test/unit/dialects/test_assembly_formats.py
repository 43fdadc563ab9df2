"""Assembly formats of ops, which are read when an op is first parsed or printed."""

import pytest
from tenon.dialects import CUSTOM_DIALECTS, DIALECTS
from tenon.dialects.assembly_formats import LATE_DIALECTS, UnreadFormat
from tenon.dialects.modules.parsing import parse_module
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError


def test_the_formats_that_are_read_late_are_those_of_the_dialects():
    assert set(DIALECTS) - CUSTOM_DIALECTS == LATE_DIALECTS


@pytest.mark.parametrize("dialect", sorted(LATE_DIALECTS))
def test_every_format_that_is_read_late_is_right(dialect: str):
    for op_type in DIALECTS[dialect]().operations:
        if issubclass(op_type, IRDLOperation):
            definition = op_type.get_irdl_definition()
            if definition.assembly_format is not None:
                assert UnreadFormat(definition.assembly_format, definition).program.stmts


def test_a_format_is_read_once():
    definition = next(
        definition
        for op_type in DIALECTS["arith"]().operations
        if issubclass(op_type, IRDLOperation)
        and (definition := op_type.get_irdl_definition()).assembly_format is not None
    )
    assert definition.assembly_format is not None
    unread = UnreadFormat(definition.assembly_format, definition)
    assert unread.program is unread.program


def test_a_wrong_format_of_a_dialect_is_an_error_where_it_is_read():
    @irdl_op_definition
    class Wrong(IRDLOperation):
        name = "low.wrong_format"
        assembly_format = "$nothing attr-dict"

    with pytest.raises(ParseError, match="expected variable to refer to"):
        print(Wrong.build())


def test_a_wrong_format_of_a_users_dialect_is_an_error_where_it_is_defined():
    with pytest.raises(PyRDLOpDefinitionError, match="Error during the parsing of the assembly format"):

        @irdl_op_definition
        class Wrong(IRDLOperation):
            name = "users.wrong_format"
            assembly_format = "$nothing attr-dict"


def test_text_is_what_it_was():
    text = "builtin.module {\n  %x = arith.constant 1 : i32\n}"
    assert str(parse_module(text)) == text

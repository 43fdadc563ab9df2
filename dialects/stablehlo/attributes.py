"""The attributes of `stablehlo`: enumerations, and the dimension numbers that its indexing ops have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, TypeAlias

from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import Data, ParametrizedAttribute, SpacedOpaqueSyntaxAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.str_enum import StrEnum

__all__ = [
    "ChannelHandleAttr",
    "ComparisonDirection",
    "ComparisonDirectionAttr",
    "ComparisonType",
    "ComparisonTypeAttr",
    "CustomCallApiVersion",
    "CustomCallApiVersionAttr",
    "DimensionNumbersAttr",
    "DotAttr",
    "FftType",
    "FftTypeAttr",
    "GatherAttr",
    "OutputOperandAliasAttr",
    "Precision",
    "PrecisionAttr",
    "RngAlgorithm",
    "RngAlgorithmAttr",
    "RngDistribution",
    "RngDistributionAttr",
    "ScatterAttr",
    "TokenType",
    "Transpose",
    "TransposeAttr",
]


class ComparisonDirection(StrEnum):
    """What `stablehlo.compare` asks of two elements."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


@irdl_attr_definition
class ComparisonDirectionAttr(EnumAttribute[ComparisonDirection], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<comparison_direction LT>`; printed bare by `stablehlo.compare`."""

    name = "stablehlo.comparison_direction"


class ComparisonType(StrEnum):
    """How `stablehlo.compare` reads its elements."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


@irdl_attr_definition
class ComparisonTypeAttr(EnumAttribute[ComparisonType], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<comparison_type FLOAT>`; printed bare by `stablehlo.compare`."""

    name = "stablehlo.comparison_type"


class Precision(StrEnum):
    """How exact a product of matrices has to be."""

    DEFAULT = "DEFAULT"
    HIGH = "HIGH"
    HIGHEST = "HIGHEST"


@irdl_attr_definition
class PrecisionAttr(EnumAttribute[Precision], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<precision HIGHEST>`; printed bare in `precision = [...]`."""

    name = "stablehlo.precision"


class Transpose(StrEnum):
    """Which form of its matrix `stablehlo.triangular_solve` solves with."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


@irdl_attr_definition
class TransposeAttr(EnumAttribute[Transpose], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<transpose NO_TRANSPOSE>`."""

    name = "stablehlo.transpose"


class RngAlgorithm(StrEnum):
    """The generator of `stablehlo.rng_bit_generator`."""

    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


@irdl_attr_definition
class RngAlgorithmAttr(EnumAttribute[RngAlgorithm], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<rng_algorithm THREE_FRY>`; printed bare in `algorithm = ...`."""

    name = "stablehlo.rng_algorithm"


class RngDistribution(StrEnum):
    """What `stablehlo.rng` draws from."""

    UNIFORM = "UNIFORM"
    NORMAL = "NORMAL"


@irdl_attr_definition
class RngDistributionAttr(EnumAttribute[RngDistribution], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<rng_distribution UNIFORM>`; printed bare in `distribution = ...`."""

    name = "stablehlo.rng_distribution"


class FftType(StrEnum):
    """The transform of `stablehlo.fft`."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


@irdl_attr_definition
class FftTypeAttr(EnumAttribute[FftType], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<fft_type RFFT>`; printed bare in `type = ...`."""

    name = "stablehlo.fft_type"


class CustomCallApiVersion(StrEnum):
    """How the callee of a custom call is called."""

    API_VERSION_UNSPECIFIED = "API_VERSION_UNSPECIFIED"
    API_VERSION_ORIGINAL = "API_VERSION_ORIGINAL"
    API_VERSION_STATUS_RETURNING = "API_VERSION_STATUS_RETURNING"
    API_VERSION_STATUS_RETURNING_UNIFIED = "API_VERSION_STATUS_RETURNING_UNIFIED"
    API_VERSION_TYPED_FFI = "API_VERSION_TYPED_FFI"


@irdl_attr_definition
class CustomCallApiVersionAttr(EnumAttribute[CustomCallApiVersion], SpacedOpaqueSyntaxAttribute):
    """`#stablehlo<custom_call_api_version API_VERSION_ORIGINAL>`."""

    name = "stablehlo.custom_call_api_version"


_Numbers: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Fields in the order of the class: a list of dims, or a number as a list of one. Empty ones are left out."""


class DimensionNumbersAttr(Data[_Numbers]):
    """Lists of dims and numbers by name; what is not written is empty, or 0."""

    LISTS: ClassVar[tuple[str, ...]]
    NUMBERS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of(cls, fields: Mapping[str, tuple[int, ...]]) -> _Numbers:
        """Returns fields in their order, without those that say nothing."""
        written = [(name, tuple(fields.get(name, ()))) for name in (*cls.LISTS, *cls.NUMBERS)]
        return tuple((n, values) for n, values in written if values and (n in cls.LISTS or values != (0,)))

    def dims(self, name: str) -> tuple[int, ...]:
        """Returns a list of dims."""
        return dict(self.data).get(name, ())

    def number(self, name: str) -> int:
        """Returns a number."""
        return (*self.dims(name), 0)[0]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> _Numbers:
        fields: dict[str, tuple[int, ...]] = {}

        def field() -> None:
            name, start = parser.parse_identifier(), parser.pos
            parser.parse_punctuation("=")
            if name in fields:
                parser.raise_error(f"{cls.name}: {name} is given twice", start)
            if name in cls.LISTS:
                fields[name] = tuple(
                    parser.parse_comma_separated_list(
                        parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
                    )
                )
            elif name in cls.NUMBERS:
                fields[name] = (parser.parse_integer(allow_boolean=False),)
            else:
                known = ", ".join((*cls.LISTS, *cls.NUMBERS))
                parser.raise_error(f"{cls.name}: there is no {name} ({known})", start)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, field)
        return cls.of(fields)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(
                self.data,
                lambda field: printer.print_string(
                    f"{field[0]} = {field[1][0] if field[0] in self.NUMBERS else list(field[1])}"
                ),
            )


@irdl_attr_definition
class GatherAttr(DimensionNumbersAttr):
    """`#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0]>`."""

    name = "stablehlo.gather"
    LISTS: ClassVar = (
        "offset_dims",
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    )
    NUMBERS: ClassVar = ("index_vector_dim",)


@irdl_attr_definition
class ScatterAttr(DimensionNumbersAttr):
    """`#stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>`."""

    name = "stablehlo.scatter"
    LISTS: ClassVar = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    NUMBERS: ClassVar = ("index_vector_dim",)


@irdl_attr_definition
class DotAttr(DimensionNumbersAttr):
    """`#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>`."""

    name = "stablehlo.dot"
    LISTS: ClassVar = (
        "lhs_batching_dimensions",
        "rhs_batching_dimensions",
        "lhs_contracting_dimensions",
        "rhs_contracting_dimensions",
    )


@irdl_attr_definition
class ChannelHandleAttr(DimensionNumbersAttr):
    """`#stablehlo.channel_handle<handle = 1, type = 0>`: what processes exchange by."""

    name = "stablehlo.channel_handle"
    LISTS: ClassVar = ()
    NUMBERS: ClassVar = ("handle", "type")


@irdl_attr_definition
class OutputOperandAliasAttr(DimensionNumbersAttr):
    """`#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, ...>`: a hint."""

    name = "stablehlo.output_operand_alias"
    LISTS: ClassVar = ("output_tuple_indices", "operand_tuple_indices")
    NUMBERS: ClassVar = ("operand_index",)


@irdl_attr_definition
class TokenType(ParametrizedAttribute, TypeAttribute):
    """`!stablehlo.token`: what orders effects."""

    name = "stablehlo.token"

"""Products: dot_general and convolution, whose dims are written in forms of their own."""

from __future__ import annotations

from typing import ClassVar, Self, TypeAlias

from xdsl.dialects.builtin import ArrayAttr, DenseIntOrFPElementsAttr, TensorType, i64
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, opt_prop_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .attributes import DotAttr, PrecisionAttr
from .base import TypeStyle, WrittenOp
from .clauses import DimsOfDot, Fields, Precisions, ints_attribute, parse_flags, parse_ints

__all__ = ["ConvAttr", "ConvolutionOp", "DotGeneralOp", "DotOp", "DynamicConvOp"]


@irdl_op_definition
class DotGeneralOp(WrittenOp):
    """
    Sums of products, with batches first, then what is left of lhs and of rhs.

    ```mlir
    %c = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1]
        : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
    ```
    """

    name = "stablehlo.dot_general"
    N_OPERANDS: ClassVar = 2
    STYLE: ClassVar = TypeStyle.FUNCTION
    CLAUSES: ClassVar = (
        DimsOfDot("batching_dims", "dot_dimension_numbers", "batching"),
        DimsOfDot("contracting_dims", "dot_dimension_numbers", "contracting"),
        Precisions("precision", "precision_config"),
        Fields("algorithm", "algorithm"),
    )
    REQUIRED: ClassVar = ("dot_dimension_numbers",)
    dot_dimension_numbers = opt_prop_def(DotAttr)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])
    algorithm = opt_prop_def()


@irdl_op_definition
class DotOp(WrittenOp):
    """Sums of products over the last dim of lhs and the first of rhs."""

    name = "stablehlo.dot"
    N_OPERANDS: ClassVar = 2
    STYLE: ClassVar = TypeStyle.FUNCTION
    CLAUSES: ClassVar = (Precisions("precision", "precision_config"),)
    precision_config = opt_prop_def(ArrayAttr[PrecisionAttr])


_Dims: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""What each dim is: of lhs and result `b`, `f` or the number of a spatial one; of rhs `i`, `o` or that."""


def _parse_dims(parser: AttrParser) -> _Dims:
    def dim() -> str:
        number = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        return parser.parse_identifier() if number is None else str(number)

    def dims() -> tuple[str, ...]:
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, dim))

    lhs = dims()
    parser.parse_keyword("x")
    rhs = dims()
    parser.parse_punctuation("->")
    return lhs, rhs, dims()


def _dims_text(dims: _Dims) -> str:
    lhs, rhs, result = (f"[{', '.join(each)}]" for each in dims)
    return f"{lhs}x{rhs}->{result}"


@irdl_attr_definition
class ConvAttr(Data[_Dims]):
    """`#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`: what the dims of a convolution are."""

    name = "stablehlo.conv"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> _Dims:
        with parser.in_angle_brackets():
            return _parse_dims(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(_dims_text(self.data))

    def verify(self) -> None:
        lhs, rhs, result = self.data
        spatial = [str(number) for number in range(len(lhs) - 2)]
        for what, found, names in (("lhs", lhs, "bf"), ("rhs", rhs, "io"), ("result", result, "bf")):
            if sorted(found) != sorted((*spatial, *names)):
                raise VerifyException(f"{self.name}: dims of {what} are {', '.join(found)}")


class _Convolution(WrittenOp):
    STYLE: ClassVar = TypeStyle.FUNCTION
    REQUIRED: ClassVar = ("dimension_numbers",)
    dimension_numbers = opt_prop_def(ConvAttr)
    window_strides = opt_prop_def()
    padding = opt_prop_def()
    lhs_dilation = opt_prop_def()
    rhs_dilation = opt_prop_def()
    window_reversal = opt_prop_def()
    feature_group_count = opt_prop_def()
    batch_group_count = opt_prop_def()
    precision_config = opt_prop_def()

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        operands = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_unresolved_operand)
        parser.parse_keyword("dim_numbers")
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"dimension_numbers": ConvAttr(_parse_dims(parser))}
        parser.parse_punctuation(",")
        parser.parse_keyword("window")
        parser.parse_punctuation("=")

        def part() -> None:
            start = parser.pos
            keyword = parser.parse_identifier()
            parser.parse_punctuation("=")
            if keyword == "pad":
                pairs = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, lambda: parse_ints(parser))
                if any(len(pair) != 2 for pair in pairs):
                    parser.raise_error(f"{cls.name}: expected two paddings for each dim", start)
                type = TensorType(i64, [len(pairs), 2])
                numbers = [number for pair in pairs for number in pair]
                properties["padding"] = DenseIntOrFPElementsAttr.from_list(type, numbers)
            elif keyword == "reverse":
                properties["window_reversal"] = ints_attribute(parse_flags(parser))
            elif keyword in _WINDOW:
                properties[_WINDOW[keyword]] = ints_attribute(parse_ints(parser))
            else:
                parser.raise_error(f"{cls.name}: expected one of pad, reverse, {', '.join(_WINDOW)}", start)

        parser.parse_comma_separated_list(parser.Delimiter.BRACES, part)
        return cls.finished(parser, operands, properties)

    def print(self, printer: Printer) -> None:
        printer.print_operands(self.operands)
        assert self.dimension_numbers is not None, "verified"
        printer.print_string(f" dim_numbers = {_dims_text(self.dimension_numbers.data)}, window = {{")
        parts: list[str] = []
        for keyword, prop in (("stride", "window_strides"), ("pad", "padding"), *_DILATIONS):
            values = self.ints(prop)
            if values is None:
                continue
            if keyword == "pad":
                pairs = [list(pair) for pair in zip(values[::2], values[1::2], strict=True)]
                parts.append(f"pad = {pairs}")
            elif keyword == "reverse":
                parts.append(f"reverse = [{', '.join('true' if value else 'false' for value in values)}]")
            else:
                parts.append(f"{keyword} = {list(values)}")
        printer.print_string(", ".join(parts) + "}")
        written = {"dimension_numbers", "padding", *_WINDOW.values(), "window_reversal"}
        self.print_rest(printer, written)


_WINDOW = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}

_DILATIONS = (
    ("lhs_dilate", "lhs_dilation"),
    ("rhs_dilate", "rhs_dilation"),
    ("reverse", "window_reversal"),
)


@irdl_op_definition
class ConvolutionOp(_Convolution):
    """
    Sums of products of windows with a kernel.

    ```mlir
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2]}
        {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
        : (tensor<1x16x2xf32>, tensor<3x2x2xf32>) -> tensor<1x7x2xf32>
    ```
    """

    name = "stablehlo.convolution"
    N_OPERANDS: ClassVar = 2


@irdl_op_definition
class DynamicConvOp(_Convolution):
    """As `convolution`, with paddings that are an operand."""

    name = "stablehlo.dynamic_conv"
    N_OPERANDS: ClassVar = 3

"""Ops with indices, windows or regions that are written in the generic form, solvers and random bits."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, opt_prop_def

from .attributes import (
    FftTypeAttr,
    GatherAttr,
    RngAlgorithmAttr,
    RngDistributionAttr,
    ScatterAttr,
    TransposeAttr,
)
from .base import StablehloOp, WrittenOp
from .clauses import Bool, Enum, Ints

__all__ = [
    "BatchNormGradOp",
    "BatchNormInferenceOp",
    "BatchNormTrainingOp",
    "CholeskyOp",
    "DynamicGatherOp",
    "FftOp",
    "GatherOp",
    "ReduceWindowOp",
    "RngBitGeneratorOp",
    "RngOp",
    "ScatterOp",
    "SelectAndScatterOp",
    "SortOp",
    "TriangularSolveOp",
]


@irdl_op_definition
class GatherOp(StablehloOp):
    """Slices of its operand that begin at indices."""

    name = "stablehlo.gather"
    N_OPERANDS: ClassVar = 2
    REQUIRED: ClassVar = ("dimension_numbers", "slice_sizes")
    dimension_numbers = opt_prop_def(GatherAttr)
    slice_sizes = opt_prop_def()
    indices_are_sorted = opt_prop_def()


@irdl_op_definition
class DynamicGatherOp(StablehloOp):
    """As `gather`, of slices whose sizes are an operand."""

    name = "stablehlo.dynamic_gather"
    N_OPERANDS: ClassVar = 3
    REQUIRED: ClassVar = ("dimension_numbers",)
    dimension_numbers = opt_prop_def(GatherAttr)
    indices_are_sorted = opt_prop_def()


@irdl_op_definition
class ScatterOp(StablehloOp):
    """Its inputs with updates put in at indices, by a region."""

    name = "stablehlo.scatter"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    REQUIRED: ClassVar = ("scatter_dimension_numbers",)
    scatter_dimension_numbers = opt_prop_def(ScatterAttr)
    indices_are_sorted = opt_prop_def()
    unique_indices = opt_prop_def()


@irdl_op_definition
class SelectAndScatterOp(StablehloOp):
    """Values added to the elements that a region selects in each window."""

    name = "stablehlo.select_and_scatter"
    N_OPERANDS: ClassVar = 3
    N_REGIONS: ClassVar = 2
    window_dimensions = opt_prop_def()
    window_strides = opt_prop_def()
    padding = opt_prop_def()


@irdl_op_definition
class ReduceWindowOp(StablehloOp):
    """What a region makes of the elements of each window."""

    name = "stablehlo.reduce_window"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    REQUIRED: ClassVar = ("window_dimensions",)
    window_dimensions = opt_prop_def()
    window_strides = opt_prop_def()
    base_dilations = opt_prop_def()
    window_dilations = opt_prop_def()
    padding = opt_prop_def()


@irdl_op_definition
class SortOp(StablehloOp):
    """Its operands in the order that a region gives."""

    name = "stablehlo.sort"
    N_RESULTS: ClassVar = None
    N_REGIONS: ClassVar = 1
    dimension = opt_prop_def()
    is_stable = opt_prop_def()


@irdl_op_definition
class TriangularSolveOp(StablehloOp):
    """The solution of a system whose matrix is a triangle."""

    name = "stablehlo.triangular_solve"
    N_OPERANDS: ClassVar = 2
    REQUIRED: ClassVar = ("left_side", "lower", "unit_diagonal", "transpose_a")
    left_side = opt_prop_def()
    lower = opt_prop_def()
    unit_diagonal = opt_prop_def()
    transpose_a = opt_prop_def(TransposeAttr)


@irdl_op_definition
class CholeskyOp(WrittenOp):
    """The triangle whose product with its transpose is the operand."""

    name = "stablehlo.cholesky"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Bool("lower", "lower"),)
    lower = opt_prop_def()


@irdl_op_definition
class BatchNormInferenceOp(StablehloOp):
    """Its operand normalised by a mean and a variance."""

    name = "stablehlo.batch_norm_inference"
    N_OPERANDS: ClassVar = 5
    REQUIRED: ClassVar = ("epsilon", "feature_index")
    epsilon = opt_prop_def()
    feature_index = opt_prop_def()


@irdl_op_definition
class BatchNormTrainingOp(StablehloOp):
    """Its operand normalised by its own mean and variance, and these."""

    name = "stablehlo.batch_norm_training"
    N_OPERANDS: ClassVar = 3
    N_RESULTS: ClassVar = 3
    REQUIRED: ClassVar = ("epsilon", "feature_index")
    epsilon = opt_prop_def()
    feature_index = opt_prop_def()


@irdl_op_definition
class BatchNormGradOp(StablehloOp):
    """The derivatives of `batch_norm_training`."""

    name = "stablehlo.batch_norm_grad"
    N_OPERANDS: ClassVar = 5
    N_RESULTS: ClassVar = 3
    REQUIRED: ClassVar = ("epsilon", "feature_index")
    epsilon = opt_prop_def()
    feature_index = opt_prop_def()


@irdl_op_definition
class FftOp(WrittenOp):
    """A Fourier transform of the last dims."""

    name = "stablehlo.fft"
    N_OPERANDS: ClassVar = 1
    CLAUSES: ClassVar = (Enum("type", "fft_type", FftTypeAttr), Ints("length", "fft_length"))
    fft_type = opt_prop_def(FftTypeAttr)
    fft_length = opt_prop_def()


@irdl_op_definition
class RngOp(WrittenOp):
    """Random numbers, without a state."""

    name = "stablehlo.rng"
    N_OPERANDS: ClassVar = 3
    CLAUSES: ClassVar = (Enum("distribution", "rng_distribution", RngDistributionAttr),)
    rng_distribution = opt_prop_def(RngDistributionAttr)


@irdl_op_definition
class RngBitGeneratorOp(WrittenOp):
    """Random bits, and the state behind them."""

    name = "stablehlo.rng_bit_generator"
    N_OPERANDS: ClassVar = 1
    N_RESULTS: ClassVar = 2
    CLAUSES: ClassVar = (Enum("algorithm", "rng_algorithm", RngAlgorithmAttr),)
    REQUIRED: ClassVar = ("rng_algorithm",)
    rng_algorithm = opt_prop_def(RngAlgorithmAttr)

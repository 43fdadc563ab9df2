"""Normalisations of a batch, and their derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.builtin import FloatAttr
from xdsl.ir import Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...algorithms.emitter import Emitter
from ...dialects import graph, stablehlo
from ...dialects.dims.expressions import Extent
from ...dialects.graph import ReduceKind
from .conversion import Conversion, Rule


def _feature(c: Conversion, op: stablehlo.StablehloOp, x: SSAValue) -> tuple[int, float]:
    axis, epsilon = op.number("feature_index", -1), op.properties.get("epsilon")
    if not 0 <= axis < len(c.shape(x)) or not isinstance(epsilon, FloatAttr):
        raise VerifyException(f"{op.name}: feature_index is {axis} for {c.type(x)}, epsilon is {epsilon}")
    return axis, float(cast("FloatAttr[Any]", epsilon).value.data)


def _statistics(c: Conversion, x: SSAValue, axis: int) -> tuple[SSAValue, SSAValue, float]:
    """Returns the mean and the variance of each feature, and how many elements these are of."""
    others = [k for k in range(len(c.shape(x))) if k != axis]
    count = 1
    for extent in c.static([c.shape(x)[k] for k in others], "the extent that is normalised"):
        count *= extent
    mean = _over(c, c.reduce(ReduceKind.ADD, x, others), count)
    off = c.binary(graph.SubOp, x, c.along(mean, [axis], c.shape(x)))
    return mean, _over(c, c.reduce(ReduceKind.ADD, c.binary(graph.MulOp, off, off), others), count), count


def _over(c: Emitter, x: SSAValue, count: float) -> SSAValue:
    return c.binary(graph.DivOp, x, float(count))


def _normalised(
    c: Conversion, x: SSAValue, mean: SSAValue, variance: SSAValue, axis: int, epsilon: float
) -> SSAValue:
    shape = c.shape(x)
    spread = c.unary(graph.SqrtOp, c.binary(graph.AddOp, variance, epsilon))
    off = c.binary(graph.SubOp, x, c.along(mean, [axis], shape))
    return c.binary(graph.DivOp, off, c.along(spread, [axis], shape))


def _batch_norm(
    c: Conversion, x: SSAValue, scale: SSAValue, offset: SSAValue, normal: SSAValue, axis: int
) -> SSAValue:
    shape = c.shape(x)
    scaled = c.binary(graph.MulOp, normal, c.along(scale, [axis], shape))
    return c.binary(graph.AddOp, scaled, c.along(offset, [axis], shape))


def _batch_norm_inference(c: Conversion, op: stablehlo.BatchNormInferenceOp) -> SSAValue:
    x, scale, offset, mean, variance = c.operands(op)
    axis, epsilon = _feature(c, op, x)
    return _batch_norm(c, x, scale, offset, _normalised(c, x, mean, variance, axis, epsilon), axis)


def _batch_norm_training(c: Conversion, op: stablehlo.BatchNormTrainingOp) -> Sequence[SSAValue]:
    x, scale, offset = c.operands(op)
    axis, epsilon = _feature(c, op, x)
    mean, variance, _ = _statistics(c, x, axis)
    normal = _normalised(c, x, mean, variance, axis, epsilon)
    return _batch_norm(c, x, scale, offset, normal, axis), mean, variance


def _batch_norm_grad(c: Conversion, op: stablehlo.BatchNormGradOp) -> Sequence[SSAValue]:
    x, scale, mean, variance, gradient = c.operands(op)
    axis, epsilon = _feature(c, op, x)
    shape: Sequence[Extent] = c.shape(x)
    others = [k for k in range(len(shape)) if k != axis]
    count = 1
    for extent in c.static([shape[k] for k in others], "the extent that is normalised"):
        count *= extent
    normal = _normalised(c, x, mean, variance, axis, epsilon)
    to_offset = c.reduce(ReduceKind.ADD, gradient, others)
    to_scale = c.reduce(ReduceKind.ADD, c.binary(graph.MulOp, gradient, normal), others)
    spread = c.unary(graph.SqrtOp, c.binary(graph.AddOp, variance, epsilon))
    factor = c.along(c.binary(graph.DivOp, scale, spread), [axis], shape)
    middle = c.along(_over(c, to_offset, count), [axis], shape)
    slope = c.binary(graph.MulOp, normal, c.along(_over(c, to_scale, count), [axis], shape))
    rest = c.binary(graph.SubOp, c.binary(graph.SubOp, gradient, middle), slope)
    return c.binary(graph.MulOp, factor, rest), to_scale, to_offset


RULES: dict[type[Operation], Rule] = {
    stablehlo.BatchNormGradOp: _batch_norm_grad,
    stablehlo.BatchNormInferenceOp: _batch_norm_inference,
    stablehlo.BatchNormTrainingOp: _batch_norm_training,
}

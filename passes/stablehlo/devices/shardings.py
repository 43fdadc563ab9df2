"""
What `sdy` says of how arrays are spread over devices.

Meshes become the grid of the module, what is said of arguments and results their attribute `tenon.sharding`,
and of other values a `shard.shard`. On one device all of it says nothing.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.types import shape_of, tensor_type_of
from ....dialects.modules.parsing import location_text
from ....dialects.sharding import ARGUMENT_SHARDING
from ....dialects.stablehlo import sdy
from ....errors import TenonError
from ..conversion import Conversion, Rule
from ..device_grid import SHARDING, DeviceGrid


def drop_void_annotations(module: ModuleOp) -> None:
    """Takes out annotations that leave every dim open, those of single elements in regions among them."""
    for op in list(module.walk()):
        if isinstance(op, sdy.AnnotationOp):
            split = op.sharding.data
            if not split.unreduced and all(dim.is_open and not dim.axes for dim in split.dims):
                op.results[0].replace_all_uses_with(op.operands[0])
                op.detach()
                op.erase()


def write_grid(module: ModuleOp, devices: DeviceGrid | None) -> None:
    """
    Replaces the meshes of a module by the grid that they are, its first op, if there is more than one device.
    """
    meshes = [op for op in module.ops if isinstance(op, sdy.MeshOp)]
    first = module.body.block.first_op
    if first is not None and devices is not None and devices.size > 1:
        grid = devices.mesh.op()
        grid.location = meshes[0].location
        module.body.block.insert_op_before(grid, first)
    for op in meshes:
        op.detach()
        op.erase()


def write_shardings(function: func.FuncOp, devices: DeviceGrid | None) -> None:
    """
    Replaces what is said of the arguments and results of a converted function.

    Raises TenonError, with the place, where it does not fit them.
    """
    types = function.function_type
    for name, what, values in (
        ("arg_attrs", "argument", types.inputs.data),
        ("res_attrs", "result", types.outputs.data),
    ):
        said = function.properties.pop(name, None)
        if not isinstance(said, ArrayAttr) or devices is None or devices.size == 1:
            continue
        written: list[DictionaryAttr] = []
        each_said = cast("ArrayAttr[Attribute]", said)
        for number, (attributes, type) in enumerate(zip(each_said, values, strict=True)):
            sharding = attributes.data.get(SHARDING) if isinstance(attributes, DictionaryAttr) else None
            kept: dict[str, Attribute] = {}
            if isinstance(sharding, sdy.ShardingAttr):
                who = f"@{function.sym_name.data}: {what} {number}"
                try:
                    found = devices.sharding(who, sharding.data)
                except VerifyException as error:
                    raise TenonError(str(error), location=location_text(function.location)) from error
                shape = shape_of(tensor_type_of(type, who))
                where = location_text(function.location)
                kept[ARGUMENT_SHARDING] = found.checked(devices.mesh, shape, who, where).attribute
            written.append(DictionaryAttr(kept))
        if any(each.data for each in written):
            function.properties[name] = ArrayAttr(written)


def _annotation(c: Conversion, op: sdy.AnnotationOp) -> SSAValue:
    """What is said of the parts of a device means nothing to the others."""
    x = c.operand(op, 0)
    if c.devices is None:
        raise VerifyException(f"{op.name}: the module has no sdy.mesh")
    sharding = c.devices.sharding(op.name, op.sharding.data)
    if c.is_manual or c.devices.size == 1:
        return x
    # Late: few programs are annotated.
    from xdsl.dialects.shard import ShardOp

    wrong = sharding.wrong(c.devices.mesh, c.shape(x), "the operand")
    if wrong is not None:
        raise VerifyException(f"{op.name}: {wrong}")
    said = c.put(sharding.op(c.devices.mesh))
    return c.put(ShardOp(x, said.results[0], None)).results[0]


RULES: dict[type[Operation], Rule] = {
    sdy.ReshardOp: _annotation,
    sdy.ShardingConstraintOp: _annotation,
}

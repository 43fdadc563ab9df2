"""
The older annotations of XLA, `mhlo.sharding`, as those of `sdy`.

    {mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}

They say how many parts each dim has, and which device has which part: the numbers of the devices as an array
of `[2,2]`, transposed by `(1,0)`, as one of `[2,1,2]`, or listed. All devices are one axis of a mesh here, of
which each dim names the parts that it is split by. PyTorch/XLA writes them, and jax without Shardy.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod
from typing import cast

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from ....dialects import stablehlo
from ....dialects.modules.parsing import location_text
from ....dialects.stablehlo import sdy
from ....dialects.stablehlo.sdy_attributes import AxisPart, MeshAxes, SplitDim, TensorSplit
from ....errors import TenonError
from ..device_grid import LARGEST, SHARDING, digits_of

OLD_SHARDING = "mhlo.sharding"
"""The attribute of an argument, a result or a custom call."""

_DEVICES = "devices"
"""The name of the mesh, and of its axis."""

_TILED = re.compile(
    r"\{devices=\[(?P<tile>\d+(?:,\d+)*)\]"
    r"(?:<=\[(?P<shape>\d+(?:,\d+)*)\](?:T\((?P<order>\d+(?:,\d+)*)\))?|(?P<listed>\d+(?:,\d+)*))"
    r"(?P<last> last_tile_dim_replicate| last_tile_dims=\{replicated\})?\}"
)


def read_old_shardings(module: ModuleOp) -> None:
    """
    Replaces what `mhlo.sharding` says of arguments, results and values by annotations of a mesh of all
    devices, if there are several. A module with an `sdy.mesh` is annotated by that.

    Raises:
        TenonError: a string says what a grid cannot: devices in another order, one device for all of an
            array, manual parts, several kinds of parts.
    """
    if any(isinstance(op, sdy.MeshOp) for op in module.ops):
        return
    size = module.attributes.get("mhlo.num_partitions")
    n_devices = size.value.data if isinstance(size, IntegerAttr) else _devices_named(module)
    if not 1 < n_devices <= LARGEST:
        return
    found = False
    for op in list(module.walk()):
        if isinstance(op, func.FuncOp):
            types = op.function_type
            for name, values in (("arg_attrs", types.inputs.data), ("res_attrs", types.outputs.data)):
                found |= _translate_list(op, name, values, n_devices)
        elif isinstance(op, stablehlo.CustomCallOp) and op.target == "Sharding":
            text = _text_of(op.attributes.get(OLD_SHARDING, op.properties.get(OLD_SHARDING)))
            if text is not None and len(op.operands) == len(op.results) == 1:
                found = True
                _annotate(op, text, n_devices)
    first = module.body.block.first_op
    if found and first is not None:
        mesh = sdy.MeshOp.create(
            properties={
                "sym_name": StringAttr(_DEVICES),
                "mesh": sdy.MeshAttr(MeshAxes(((_DEVICES, n_devices),))),
            }
        )
        mesh.location = first.location
        module.body.block.insert_op_before(mesh, first)


def split_of(who: str, text: str, rank: int, n_devices: int, open_dims: Iterable[int] = ()) -> TensorSplit:
    """
    Returns what a string says of a tensor of so many dims.

    Raises VerifyException, which begins with `who` and has the string, for what a grid cannot say.
    """
    if text == "{replicated}":
        return _split((() for _ in range(rank)), open_dims)
    tiled = _TILED.fullmatch(text)
    if tiled is None:
        raise VerifyException(f"{who}: {OLD_SHARDING} {text} is not supported")
    tile = _numbers(tiled["tile"])
    if tiled["shape"] is not None:
        shape = _numbers(tiled["shape"])
        order = _numbers(tiled["order"]) if tiled["order"] is not None else tuple(range(len(shape)))
        if sorted(order) != [*range(len(shape))] or 0 in shape:
            raise VerifyException(f"{who}: {OLD_SHARDING} {text} does not number devices")
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        counted: list[tuple[int, int]] | None = [(strides[axis], shape[axis]) for axis in order]
        n_named = prod(shape)
    else:
        listed = _numbers(tiled["listed"])
        counted, n_named = digits_of(listed), len(listed)
    if n_named != n_devices or prod(tile) != n_devices or len(tile) != rank + (tiled["last"] is not None):
        raise VerifyException(
            f"{who}: {OLD_SHARDING} {text} does not fit {n_devices} devices and {rank} dims"
        )
    if counted is None or prod(extent for _, extent in counted) != n_devices:
        raise VerifyException(f"{who}: {OLD_SHARDING} {text} has its devices in another order")
    parts = _tiles(counted, tile)
    if parts is None:
        raise VerifyException(f"{who}: {OLD_SHARDING} {text} splits dims across axes of the devices")
    return _split(
        (
            [AxisPart(_DEVICES, n_devices // (stride * extent), extent) for stride, extent in each]
            for each in parts[:rank]
        ),
        open_dims,
    )


def _tiles(counted: list[tuple[int, int]], tile: tuple[int, ...]) -> list[list[tuple[int, int]]] | None:
    """
    Returns the strides and extents that each dim of a tile counts with, the slowest first, of those that the
    devices count with; None where one of these is split unevenly.
    """
    left = [each for each in counted if each[1] > 1]
    found: list[list[tuple[int, int]]] = []
    for wanted in reversed(tile):
        own: list[tuple[int, int]] = []
        while wanted > 1:
            stride, extent = left.pop()
            if wanted % extent == 0:
                own.append((stride, extent))
                wanted //= extent
            elif extent % wanted == 0:
                own.append((stride, wanted))
                left.append((stride * wanted, extent // wanted))
                wanted = 1
            else:
                return None
        found.append(own[::-1])
    return found[::-1]


def _split(dims: Iterable[Iterable[AxisPart]], open_dims: Iterable[int]) -> TensorSplit:
    are_open = frozenset(open_dims)
    return TensorSplit(
        _DEVICES, tuple(SplitDim(tuple(parts), number in are_open) for number, parts in enumerate(dims))
    )


def _translate_list(op: func.FuncOp, name: str, values: Iterable[Attribute], n_devices: int) -> bool:
    """Has `sdy` say what is said of arguments or results, and returns whether anything is."""
    said = op.properties.get(name)
    if not isinstance(said, ArrayAttr):
        return False
    made: list[Attribute] = []
    found = False
    what = "argument" if name == "arg_attrs" else "result"
    for number, (attributes, type) in enumerate(zip(cast("ArrayAttr[Attribute]", said), values, strict=True)):
        held = dict(attributes.data) if isinstance(attributes, DictionaryAttr) else {}
        text = _text_of(held.pop(OLD_SHARDING, None))
        if text is not None and isinstance(type, TensorType):
            who = f"@{op.sym_name.data}: {what} {number}"
            held[SHARDING] = _sharding(op, who, text, cast("TensorType[Attribute]", type), n_devices)
            found = True
        made.append(DictionaryAttr(held))
    op.properties[name] = ArrayAttr(made)
    return found


def _annotate(op: stablehlo.CustomCallOp, text: str, n_devices: int) -> None:
    """Replaces a custom call by what `sdy` has for it."""
    config = _text_of(op.properties.get("backend_config", op.attributes.get("backend_config"))) or ""
    unspecified = re.search(r"unspecified_dims=\[([\d,]*)\]", config)
    open_dims = _numbers(unspecified[1]) if unspecified is not None and unspecified[1] else ()
    sharding = _sharding(op, f"{op.name}: @Sharding", text, op.results[0].type, n_devices, open_dims)
    made = sdy.ShardingConstraintOp.create(
        operands=[op.operands[0]], result_types=[op.results[0].type], properties={"sharding": sharding}
    )
    made.location = op.location
    block = op.parent
    assert block is not None, "in no block"
    block.insert_op_before(made, op)
    op.results[0].replace_all_uses_with(made.results[0])
    op.detach()
    op.erase()


def _sharding(
    op: Operation, who: str, text: str, type: Attribute, n_devices: int, open_dims: Iterable[int] = ()
) -> sdy.ShardingAttr:
    rank = type.get_num_dims() if isinstance(type, TensorType) else 0
    try:
        return sdy.ShardingAttr(split_of(who, text, rank, n_devices, open_dims))
    except VerifyException as error:
        raise TenonError(str(error), location=location_text(op.location)) from error


def _devices_named(module: ModuleOp) -> int:
    """Returns how many devices the first string names that names several, 1 where there is none."""
    for op in module.walk():
        for value in (*op.properties.values(), *op.attributes.values()):
            for text in _texts_in(value):
                if (tiled := _TILED.fullmatch(text)) is not None:
                    return prod(_numbers(tiled["tile"]))
    return 1


def _texts_in(value: Attribute) -> Iterable[str]:
    if isinstance(value, StringAttr):
        yield value.data
    elif isinstance(value, ArrayAttr):
        for each in cast("ArrayAttr[Attribute]", value):
            if isinstance(each, DictionaryAttr) and (text := _text_of(each.data.get(OLD_SHARDING))):
                yield text


def _text_of(value: Attribute | None) -> str | None:
    return value.data if isinstance(value, StringAttr) else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(",")))

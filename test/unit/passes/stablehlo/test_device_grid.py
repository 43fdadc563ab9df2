"""Programs over devices: which grid they are of, what they exchange, and what they cannot say."""

import itertools

import numpy as np
import pytest
import tenon
from tenon import TenonError
from tenon.backends.registry import REFERENCE, get_backend
from tenon.compiler.all_ranks import compiled_call, partitioned_for_all
from tenon.compiler.foreign import as_graph
from tenon.dialects.graph import AxisIndexOp, CollectiveOp
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import verify_module
from tenon.dialects.sharding import Mesh

MESH = 'sdy.mesh @mesh = <["x"=2, "y"=2]>\n'
SUM = """({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %r = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %r : tensor<f32>
      })"""
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>"
ROWS = "groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"


def manual(
    body: str,
    result: str = "%a",
    part: str = "tensor<2x4xf32>",
    out: str = '[{"x"}, {"y"}]',
    mesh: str = MESH,
) -> str:
    """Returns a program whose devices have a block of 2x4 of `tensor<4x8xf32>` each."""
    sizes = {"x": 2, "y": 2}
    shape = [int(each) for each in part.removeprefix("tensor<").split("x")[:-1]]
    for dim, axes in enumerate(out.strip("[]").split("}, {")):
        for axis, size in sizes.items():
            shape[dim] *= size if f'"{axis}"' in axes else 1
    whole = f"tensor<{'x'.join(map(str, shape))}x{part.split('x')[-1]}"
    return f"""{mesh}
    func.func @f(%x: tensor<4x8xf32>) -> {whole} {{
      %0 = sdy.manual_computation(%x)
          in_shardings=[<@mesh, [{{"x"}}, {{"y"}}]>] out_shardings=[<@mesh, {out}>]
          manual_axes={{"x", "y"}} (%a: tensor<2x4xf32>) {{
        {body}
        sdy.return {result} : {part}
      }} : (tensor<4x8xf32>) -> {whole}
      return %0 : {whole}
    }}"""


def graph_of(text: str):
    module = as_graph(text)
    verify_module(module)
    return module


def on_ranks(text: str, *arguments: np.ndarray, backend: str = "llvm"):
    module = graph_of(text)
    programs = partitioned_for_all(module, find_entry(module, None))
    chosen = REFERENCE if backend == REFERENCE else get_backend(backend)
    return programs.run(arguments, compiled_call(chosen, None, {}))


def mesh_of(text: str) -> Mesh:
    mesh = Mesh.of(graph_of(text))
    assert mesh is not None
    return mesh


def error_of(text: str) -> str:
    with pytest.raises(TenonError) as caught:
        graph_of(text)
    return str(caught.value)


X = np.arange(32, dtype=np.float32).reshape(4, 8)


@pytest.mark.parametrize("backend", ["llvm", "reference"])
def test_devices_exchange_what_collectives_say(backend: str):
    groups = f"replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, {CHANNEL}"
    total = f'%b = "stablehlo.all_reduce"(%a) <{{{groups}, use_global_device_ids}}> {SUM}'
    (found,) = on_ranks(
        manual(f"{total} : (tensor<2x4xf32>) -> tensor<2x4xf32>", "%b", out='[{}, {"y"}]'), X, backend=backend
    )
    assert np.array_equal(found, X[:2] + X[2:])
    # The same in one process, whose interpreter runs all devices.
    text = manual(f"{total} : (tensor<2x4xf32>) -> tensor<2x4xf32>", "%b", out='[{}, {"y"}]')
    assert np.array_equal(tenon.compile(text, backend="reference")(X), found)


def test_a_region_that_is_no_one_op_combines_members_in_their_order():
    region = SUM.replace("stablehlo.add %p, %q", "stablehlo.subtract %p, %q")
    groups = f"replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, {CHANNEL}, use_global_device_ids"
    reduced = (
        f'%b = "stablehlo.all_reduce"(%a) <{{{groups}}}> {region} : (tensor<2x4xf32>) -> tensor<2x4xf32>'
    )
    (found,) = on_ranks(manual(reduced, "%b", out='[{"x"}, {}]'), X)
    assert np.array_equal(found, X[:, :4] - X[:, 4:])
    scattered = (
        f'%b = "stablehlo.reduce_scatter"(%a) <{{{groups}, scatter_dimension = 1 : i64}}> {region} '
        ": (tensor<2x4xf32>) -> tensor<2x2xf32>"
    )
    (found,) = on_ranks(manual(scattered, "%b", "tensor<2x2xf32>"), X)
    assert np.array_equal(found, X[:, :4] - X[:, 4:])


def test_the_first_of_a_group_tells_the_others_bit_for_bit():
    groups = f"replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, {CHANNEL}"
    told = f'%b = "stablehlo.collective_broadcast"(%a) <{{{groups}}}> : (tensor<2x4xf32>) -> tensor<2x4xf32>'
    x = np.array(X)
    x[0, 0], x[1, 1] = -0.0, np.nan
    (found,) = on_ranks(manual(told, "%b", out='[{}, {"y"}]'), x)
    assert found.tobytes() == x[:2].tobytes()


def test_without_a_channel_a_device_is_alone():
    alone = "replica_groups = dense<0> : tensor<1x1xi64>"
    body = f'%b = "stablehlo.all_reduce"(%a) <{{{alone}}}> {SUM} : (tensor<2x4xf32>) -> tensor<2x4xf32>'
    module = graph_of(manual(body, "%b"))
    assert not any(isinstance(op, CollectiveOp) for op in module.walk())
    # With one, but by replicas: each with all of its devices.
    body = body.replace(alone, f"{alone}, {CHANNEL}")
    (found,) = on_ranks(manual(body, "%b", out="[{}, {}]"), X)
    assert np.array_equal(found, sum(X[i : i + 2, j : j + 4] for i in (0, 2) for j in (0, 4)))


def test_numbers_of_devices_are_those_of_ranks():
    body = """%id = stablehlo.partition_id : tensor<ui32>
        %r = stablehlo.replica_id : tensor<ui32>
        %s = stablehlo.add %id, %r : tensor<ui32>
        %b = stablehlo.reshape %s : (tensor<ui32>) -> tensor<1x1xui32>"""
    (found,) = on_ranks(manual(body, "%b", "tensor<1x1xui32>"), X)
    assert found.tolist() == [[0, 1], [2, 3]]


def test_one_device_is_no_grid():
    body = f"""%id = stablehlo.partition_id : tensor<ui32>
        %b = "stablehlo.all_gather"(%a) <{{all_gather_dim = 0 : i64, {CHANNEL},
            replica_groups = dense<0> : tensor<1x1xi64>}}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
        %c = sdy.sharding_constraint %b <@mesh, [{{"x"}}, {{}}]> : tensor<4x8xf32>"""
    text = manual(body, "%c", "tensor<4x8xf32>", "[{}, {}]", 'sdy.mesh @mesh = <["x"=1, "y"=1]>\n')
    text = text.replace("tensor<2x4xf32>", "tensor<4x8xf32>")
    module = graph_of(text)
    assert not any(isinstance(op, AxisIndexOp) or op.name.startswith("shard.") for op in module.walk())
    assert np.array_equal(tenon.compile(text)(X), X)


@pytest.mark.parametrize(
    ("meshes", "group", "shape", "names"),
    [
        ('["x"=2, "y"=2]', None, (2, 2), ("x", "y")),
        ('["x"=4, "one"=1]', None, (4,), ("x",)),
        ('["x"=4]', "[[0, 1], [2, 3]]", (2, 2), ("stride2", "stride1")),
        ('["x"=4]', "[[0, 1, 2, 3]]", (4,), ("x",)),
        ('["x"=2, "y"=6]', "[[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]]", (2, 3, 2), None),
    ],
)
def test_the_grid_has_the_axes_that_are_named(meshes: str, group: str | None, shape, names):
    body = "%b = stablehlo.negate %x : tensor<24x8xf32>"
    text = f"sdy.mesh @mesh = <{meshes}>\nfunc.func @f(%x: tensor<24x8xf32>) -> tensor<24x8xf32> {{"
    if group is not None:
        rows = group.count("[") - 1
        columns = (group.count(",") + 1) // rows
        groups = f"replica_groups = dense<{group}> : tensor<{rows}x{columns}xi64>"
        body = f"""%b = sdy.manual_computation(%x) in_shardings=[<@mesh, [{{}}, {{}}]>]
            out_shardings=[<@mesh, [{{}}, {{}}]>] manual_axes={{"x"}} (%a: tensor<24x8xf32>) {{
              %c = "stablehlo.all_reduce"(%a) <{{{groups}, {CHANNEL}, use_global_device_ids}}> {SUM}
                  : (tensor<24x8xf32>) -> tensor<24x8xf32>
              sdy.return %c : tensor<24x8xf32>
            }} : (tensor<24x8xf32>) -> tensor<24x8xf32>"""
    mesh = mesh_of(f"{text} {body} return %b : tensor<24x8xf32> }}")
    assert mesh.shape == shape and (names is None or mesh.axis_names == names)


def test_meshes_of_the_same_devices_and_parts_of_axes_are_one_grid():
    annotated = """func.func @f(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
        -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@all, [{"i":(2)2}, {}]>}) {
      %y = sdy.reshard %x <@all, [{"i"}, {}]> : tensor<8x8xf32>
      %z = stablehlo.negate %y : tensor<8x8xf32>
      return %z : tensor<8x8xf32>
    }"""
    text = f'{MESH}sdy.mesh @all = <["i"=4]>\nsdy.mesh @none = <[]>\n{annotated}'
    assert mesh_of(text).shape == (2, 2)
    module = str(graph_of(text))
    assert "tenon.sharding = #shard<axisarray[[0], [1]]>" in module
    assert "split_axes = [[0, 1], []]" in module and "tenon.sharding = #shard<axisarray[[1], []]>" in module
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    assert np.array_equal(on_ranks(text, x)[0], -x)
    # On one rank what is annotated means nothing.
    assert np.array_equal(tenon.compile(text)(x), -x)


def test_annotations_that_leave_all_open_are_none():
    text = f"""{MESH}func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {{
      %y = sdy.sharding_constraint %x <@mesh, [{{?}}, {{?}}]> : tensor<8x8xf32>
      return %y : tensor<8x8xf32>
    }}"""
    assert "shard.shard" not in str(graph_of(text))
    assert "shard.shard" in str(graph_of(text.replace("[{?}, {?}]", "[{}, {?}]")))


def test_free_axes_of_a_region_have_the_same_parts():
    text = manual("%b = stablehlo.negate %a : tensor<2x8xf32>", "%b", "tensor<2x8xf32>", '[{"x"}, {}]')
    text = text.replace(
        'manual_axes={"x", "y"} (%a: tensor<2x4xf32>)', 'manual_axes={"x"} (%a: tensor<2x8xf32>)'
    )
    assert np.array_equal(on_ranks(text, X)[0], -X)


def collective(name: str, properties: str, region: str = "", result: str = "tensor<2x4xf32>") -> str:
    return manual(
        f'%b = "stablehlo.{name}"(%a) <{{{properties}, {CHANNEL}}}> {region} : (tensor<2x4xf32>) -> {result}',
        "%b",
        result,
    )


def outside(op: str, mesh: str = MESH, result: str = "tensor<8xf32>") -> str:
    return f"{mesh} func.func @f(%x: tensor<8xf32>) -> {result} {{ %y = {op}\n return %y : {result} }}"


ERRORS = {
    "outside": (
        outside(f'"stablehlo.all_reduce"(%x) <{{replica_{ROWS}}}> {SUM} : (tensor<8xf32>) -> tensor<8xf32>'),
        "stablehlo.all_reduce (outside of sdy.manual_computation)",
    ),
    "no mesh": (
        outside("stablehlo.partition_id : tensor<ui32>", "", "tensor<ui32>"),
        "stablehlo.partition_id (outside of sdy.manual_computation)",
    ),
    "groups": (
        collective(
            "all_reduce",
            "replica_groups = dense<[[0, 1, 2], [3, -1, -1]]> : tensor<2x3xi64>, use_global_device_ids",
            SUM,
        ),
        "stablehlo.all_reduce (groups that are not along axes of a mesh): 1",
    ),
    "groups no grid counts": (
        collective(
            "all_reduce",
            "replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, use_global_device_ids",
            SUM,
        ),
        "groups that are not along axes of a mesh",
    ),
    "no matrix": (
        collective("all_reduce", "replica_groups = dense<[0, 1]> : tensor<2xi64>", SUM),
        "stablehlo.all_reduce: replica_groups is dense<[0, 1]> : tensor<2xi64>, expected a matrix of numbers",
    ),
    "no numbers": (
        collective("all_reduce", 'replica_groups = "all"', SUM),
        'stablehlo.all_reduce: replica_groups is "all", expected a matrix of numbers',
    ),
    "dim": (
        collective("all_gather", f"replica_{ROWS}, all_gather_dim = 2 : i64, use_global_device_ids"),
        "stablehlo.all_gather: all_gather_dim 2 is out of range for rank 2",
    ),
    "scatter": (
        collective(
            "reduce_scatter",
            "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, "
            "scatter_dimension = 0 : i64, use_global_device_ids",
            SUM,
        ),
        "stablehlo.reduce_scatter: dim 0 of tensor<2x4xf32> is not split evenly by 4 devices",
    ),
    "split": (
        collective(
            "all_to_all",
            "replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, "
            "split_dimension = 0 : i64, concat_dimension = 1 : i64",
        ),
        "stablehlo.all_to_all: dim 0 of tensor<2x4xf32> is not split evenly by 4 devices",
    ),
    "count": (
        collective(
            "all_to_all",
            f"replica_{ROWS}, split_count = 4 : i64, split_dimension = 0 : i64, concat_dimension = 1 : i64",
        ),
        "stablehlo.all_to_all: split_count is not 2, the devices of a group",
    ),
    "pairs": (
        collective("collective_permute", "source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>"),
        "stablehlo.collective_permute: source_target_pairs are not pairs",
    ),
    "member": (
        collective("collective_permute", "source_target_pairs = dense<[[0, 7]]> : tensor<1x2xi64>"),
        "stablehlo.collective_permute: graph.collective_permute: target 7 is none of 4 members",
    ),
    "other order": (
        outside("stablehlo.negate %x : tensor<8xf32>", 'sdy.mesh @m = <["x"=2], device_ids=[1, 0]>\n'),
        "sdy.mesh: @m has its devices in another order ([1, 0])",
    ),
    "other devices": (
        outside("stablehlo.negate %x : tensor<8xf32>", f'{MESH}sdy.mesh @m = <["x"=2]>\n'),
        "sdy.mesh: @m has 2 devices, expected 65536 or fewer, and as many as @mesh",
    ),
    "too many": (
        outside("stablehlo.negate %x : tensor<8xf32>", 'sdy.mesh @m = <["x"=100000]>\n'),
        "sdy.mesh: @m has 100000 devices, expected 65536 or fewer",
    ),
    "no common axes": (
        outside(
            "stablehlo.negate %x : tensor<8xf32>",
            'sdy.mesh @m = <["x"=2, "y"=3]>\nsdy.mesh @n = <["x"=3, "y"=2]>\n',
        ),
        "sdy.mesh: @n and @m have no axes in common",
    ),
    "unreduced": (
        outside('sdy.reshard %x <@mesh, [{}], unreduced={"x"}> : tensor<8xf32>'),
        "sdy.reshard: unreduced tensors are not supported",
    ),
    "axis": (
        outside('sdy.reshard %x <@mesh, [{"z"}]> : tensor<8xf32>'),
        "sdy.reshard: the mesh has no axis z",
    ),
    "part of an axis": (
        outside('sdy.reshard %x <@mesh, [{"x":(1)3}]> : tensor<8xf32>'),
        "sdy.reshard: axis x of extent 2 has no such part",
    ),
    "mesh": (
        outside('sdy.reshard %x <@other, [{"x"}]> : tensor<8xf32>'),
        "sdy.reshard: there is no sdy.mesh @other",
    ),
    "mesh written out": (
        outside('sdy.reshard %x <mesh<["a"=3]>, [{"a"}]> : tensor<8xf32>'),
        "sdy.reshard: axis a is not along axes of @mesh",
    ),
    "annotation without a mesh": (
        outside('sdy.reshard %x <@mesh, [{"x"}]> : tensor<8xf32>', ""),
        "sdy.reshard: the module has no sdy.mesh",
    ),
    "annotation of another rank": (
        outside('sdy.reshard %x <@mesh, [{"x"}, {}]> : tensor<8xf32>'),
        "sdy.reshard: the operand has rank 1, its sharding 2 dims",
    ),
    "argument": (
        f'{MESH} func.func @f(%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{"z"}}]>}}) '
        "-> tensor<8xf32> { return %x : tensor<8xf32> }",
        "@f: argument 0: the mesh has no axis z",
    ),
    "argument of another rank": (
        f"{MESH} func.func @f(%x: tensor<8xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{}}]>}}) "
        "-> tensor<8xf32> { return %x : tensor<8xf32> }",
        "rank 1, its sharding 2 dims",
    ),
    "region without a mesh": (manual("", mesh=""), "sdy.manual_computation: the module has no sdy.mesh"),
    "region of other parts": (
        manual("").replace('in_shardings=[<@mesh, [{"x"}, {"y"}]>]', 'in_shardings=[<@mesh, [{"x"}, {}]>]'),
        "sdy.manual_computation: an argument is tensor<2x4xf32>, expected tensor<2x8xf32>",
    ),
    "uneven": (
        manual("")
        .replace("%x: tensor<4x8xf32>", "%x: tensor<4x7xf32>")
        .replace(": (tensor<4x8xf32>) ->", ": (tensor<4x7xf32>) ->"),
        "sdy.manual_computation: [4, 7] is not split evenly by [2, 2] devices",
    ),
    "argument's sharding": (
        manual("").replace('in_shardings=[<@mesh, [{"x"}, {"y"}]>]', 'in_shardings=[<@mesh, [{"x"}]>]'),
        "sdy.manual_computation: [4, 8] has 2 dims, its sharding 1",
    ),
    "result's sharding": (
        manual("").replace('out_shardings=[<@mesh, [{"x"}, {"y"}]>]', 'out_shardings=[<@mesh, [{"x"}]>]'),
        "sdy.manual_computation: a result is tensor<2x4xf32>, its sharding has 1 dims",
    ),
    "in another": (
        manual(
            "%b = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>]"
            " out_shardings=[<@mesh, [{}, {}]>] manual_axes={}"
            " (%c: tensor<2x4xf32>) { sdy.return %c : tensor<2x4xf32> }"
            " : (tensor<2x4xf32>) -> tensor<2x4xf32>",
            "%b",
        ),
        "sdy.manual_computation (in another one): 1",
    ),
    "older text": (
        outside(
            "stablehlo.custom_call @SPMDFullToShardShape(%x) : (tensor<8xf32>) -> tensor<4xf32>",
            "",
            "tensor<4xf32>",
        ),
        "stablehlo.custom_call (@SPMDFullToShardShape): 1",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_cannot_be_said_is_an_error_that_names_the_op(name: str):
    text, message = ERRORS[name]
    assert message in error_of(text)


def test_a_program_of_devices_needs_its_ranks():
    with pytest.raises(TenonError, match=r"graph.manual_computation: cannot schedule .* tenon-run --ranks"):
        tenon.compile(manual(""))


def test_groups_of_any_order_of_axes_are_found():
    from tenon.passes.stablehlo.device_grid import DeviceGrid

    mesh = Mesh("mesh", (2, 3, 2), ("a", "b", "c"))
    grid = DeviceGrid({}, mesh)
    ids = np.arange(12).reshape(mesh.shape)
    for count in (1, 2, 3):
        for axes in itertools.permutations(range(3), count):
            rest = [axis for axis in range(3) if axis not in axes]
            groups = ids.transpose(*rest, *axes).reshape(-1, mesh.count(axes)).tolist()
            assert grid.axes_of_groups(groups) == axes
    assert grid.axes_of_groups([[each] for each in range(12)]) == ()
    for wrong in ([], [[]], [[0, 1]], [[1, 0], *([each] for each in range(2, 12))]):
        assert grid.axes_of_groups(wrong) is None

"""The older strings of XLA say of a grid what `sdy` does; what they say that a grid cannot is an error."""

import re

import numpy as np
import pytest
import tenon
from tenon import TenonError
from tenon.compiler.foreign import as_graph_module
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.dialects.sharding import Mesh


def program(argument: str, value: str = "{replicated}", devices: int = 8, config: str = "") -> str:
    return f"""module @m attributes {{mhlo.num_partitions = {devices} : i32}} {{
      func.func @main(%x: tensor<8x8xf32> {{mhlo.sharding = "{argument}"}})
          -> (tensor<8x8xf32> {{mhlo.sharding = "{{replicated}}"}}) {{
        %y = stablehlo.add %x, %x : tensor<8x8xf32>
        %z = stablehlo.custom_call @Sharding(%y) {{{config}mhlo.sharding = "{value}"}}
          : (tensor<8x8xf32>) -> tensor<8x8xf32>
        return %z : tensor<8x8xf32>
      }} }}"""


def graph_text(text: str) -> str:
    module = as_graph_module(parse_module(text))
    verify_module(module)
    return str(module)


def grid_and_axes(argument: str, devices: int = 8) -> tuple[tuple[int, ...], str]:
    """Returns the grid of a program, and the axes that its argument is split by."""
    module = as_graph_module(parse_module(program(argument, devices=devices)))
    mesh = Mesh.of(module)
    assert mesh is not None
    found = re.search(r"axisarray\[(.*?)\]>", str(module))
    assert found is not None
    return mesh.shape, found[1]


@pytest.mark.parametrize(
    ("string", "shape", "axes"),
    [
        ("{devices=[8,1]<=[8]}", (8,), "[0], []"),
        ("{devices=[2,4]<=[8]}", (2, 4), "[0], [1]"),
        ("{devices=[2,1,4]<=[8] last_tile_dim_replicate}", (2, 4), "[0], []"),
        ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}", (2, 4), "[], [1]"),
        ("{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dims={replicated}}", (2, 4), "[], [1]"),
        ("{devices=[8,1]<=[2,4]T(1,0)}", (2, 4), "[1, 0], []"),
        ("{devices=[2,4]<=[2,2,2]T(1,2,0)}", (2, 2, 2), "[1], [2, 0]"),
        ("{devices=[4,2]0,2,4,6,1,3,5,7}", (2, 2, 2), "[2, 0], [1]"),
        ("{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", (2, 4), "[0], []"),
        ("{replicated}", (8,), "[], []"),
    ],
)
def test_tiles_are_axes_of_a_grid(string: str, shape: tuple[int, ...], axes: str):
    assert grid_and_axes(string) == (shape, axes)


def test_values_are_annotated_and_dims_left_open():
    assert "split_axes = [[1], []]" in graph_text(
        program("{devices=[2,4]<=[8]}", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}")
    )
    open_dims = 'backend_config = "unspecified_dims=[0,1]", '
    assert "shard.shard" not in graph_text(program("{devices=[8,1]<=[8]}", config=open_dims))


def test_annotated_programs_run_on_one_rank():
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    text = program("{devices=[2,4]<=[8]}", "{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}")
    np.testing.assert_array_equal(tenon.compile(text)(x), x + x)


def test_one_device_has_no_grid():
    assert "shard." not in graph_text(program("{maximal device=0}", devices=1))


def test_the_first_string_tells_how_many_devices_there_are():
    text = program("{devices=[2,2]<=[4]}").replace("attributes {mhlo.num_partitions = 8 : i32}", "")
    assert "shape = 2x2" in graph_text(text)


@pytest.mark.parametrize(
    ("string", "wrong"),
    [
        ("{maximal device=0}", "is not supported"),
        ("{manual}", "is not supported"),
        ("{devices=[2,1,4]<=[8] last_tile_dims={manual}}", "is not supported"),
        ("{devices=[2,4]<=[4]}", "does not fit 8 devices and 2 dims"),
        ("{devices=[8]<=[8]}", "does not fit 8 devices and 2 dims"),
        ("{devices=[2,4]<=[2,4]T(1,1)}", "does not number devices"),
        ("{devices=[8,1]7,6,5,4,3,2,1,0}", "has its devices in another order"),
        ("{devices=[8,1]0,0,1,1,2,2,3,3}", "has its devices in another order"),
    ],
)
def test_what_a_grid_cannot_say_is_an_error(string: str, wrong: str):
    for text in (program(string), program("{replicated}", string)):
        with pytest.raises(TenonError, match=re.escape(f"mhlo.sharding {string} {wrong}")):
            graph_text(text)


def test_dims_across_axes_are_an_error():
    with pytest.raises(TenonError, match="splits dims across axes of the devices"):
        graph_text(program("{devices=[4,3]<=[2,6]T(1,0)}", devices=12))

"""Every compiler has options, with defaults."""

from typing import Any

import numpy as np
import pytest
from tenon.backends.interface import Backend, BufferLoc
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import TenonError

KERNEL = """
low.kernel @next(%x: memref<4xi32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %one = arith.constant 1 : i32
  %v = memref.load %x[%i] : memref<4xi32>
  %w = arith.addi %v, %one : i32
  memref.store %w, %x[%i] : memref<4xi32>
}
"""


def source_of(device: Backend) -> str:
    return device.renderer.render(parse_module(KERNEL), device.device)


def run(device: Backend, options: dict[str, Any] | None) -> list[int]:
    artifact = device.compiler.compile(source_of(device), device.device, options)
    driver, place = device.driver, BufferLoc(77, 0)
    driver.alloc_pool(77, 16, 64)
    driver.copy_to_device(place, np.arange(4, dtype=np.int32))
    driver.launch(driver.get_kernel(artifact, "next"), (4, 1, 1), None, [place])
    found = np.empty(4, np.int32)
    driver.copy_from_device(found, place)
    driver.free_pool(77)
    return found.tolist()


def test_the_defaults_are_what_is_used_without_options(device: Backend):
    defaults = dict(device.compiler.default_options(device.device))
    assert run(device, None) == run(device, {}) == run(device, defaults) == [1, 2, 3, 4]


def test_one_option_leaves_the_others(device: Backend):
    for name, value in device.compiler.default_options(device.device).items():
        assert run(device, {name: value}) == [1, 2, 3, 4]


def test_options_that_are_not_known_are_refused(device: Backend):
    present = ", ".join(device.compiler.default_options(device.device)) or "none"
    with pytest.raises(
        TenonError, match=rf"^{device.name}: there is no compile option 'speed' \(options: {present}\)$"
    ):
        device.compiler.compile(source_of(device), device.device, {"speed": 1})


def test_options_without_a_value_are_refused(device: Backend):
    for name in device.compiler.default_options(device.device):
        with pytest.raises(
            TenonError, match=rf"^{device.name}: compile option '{name}' is None, expected \w+$"
        ):
            device.compiler.compile(source_of(device), device.device, {name: None})

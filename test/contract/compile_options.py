"""A kernel that is compiled with options."""

from typing import Any

import numpy as np
from tenon.backends.interface import Backend, BufferLoc
from tenon.dialects.modules.parsing import parse_module

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

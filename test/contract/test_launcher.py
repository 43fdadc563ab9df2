"""What every driver's launches do."""

from collections.abc import Iterator

import numpy as np
import pytest
from tenon.backends.interface import Backend, BufferLoc, CompiledArtifact
from tenon.dialects.parsing import parse_module, verify_module
from tenon.errors import KernelCompileError

POOL = 78

KERNELS = """
low.kernel @double(%x: memref<8xi32>, %y: memref<8xi32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  %d = arith.addi %v, %v : i32
  memref.store %d, %y[%i] : memref<8xi32>
}
low.kernel @place(%y: memref<24xi32>) grid [2, 3, 4] block [1, 1, 1] {
  %x = low.block_id x
  %y0 = low.block_id y
  %z = low.block_id z
  %two = arith.constant 2 : index
  %six = arith.constant 6 : index
  %ten = arith.constant 10 : index
  %row = arith.muli %y0, %two : index
  %plane = arith.muli %z, %six : index
  %a = arith.addi %x, %row : index
  %at = arith.addi %a, %plane : index
  %tens = arith.muli %y0, %ten : index
  %hundred = arith.muli %ten, %ten : index
  %hundreds = arith.muli %z, %hundred : index
  %b = arith.addi %x, %tens : index
  %c = arith.addi %b, %hundreds : index
  %v = arith.index_cast %c : index to i32
  memref.store %v, %y[%at] : memref<24xi32>
}
"""


@pytest.fixture(scope="module")
def artifacts() -> dict[str, CompiledArtifact]:
    return {}


@pytest.fixture
def artifact(device: Backend, artifacts: dict[str, CompiledArtifact]) -> Iterator[CompiledArtifact]:
    """The kernels, compiled once for each device; the device has pool `POOL` of 1024 bytes."""
    if device.name not in artifacts:
        module = parse_module(KERNELS)
        verify_module(module)
        source = device.renderer.render(module, device.device)
        artifacts[device.name] = device.compiler.compile(source, device.device)
    device.driver.alloc_pool(POOL, 1024, 64)
    yield artifacts[device.name]
    device.driver.free_pool(POOL)


def read(device: Backend, offset: int, count: int) -> list[int]:
    target = np.zeros(count, np.int32)
    device.driver.copy_from_device(target, BufferLoc(POOL, offset))
    return target.tolist()


def test_the_same_module_gives_the_same_source(device: Backend):
    first, second = (device.renderer.render(parse_module(KERNELS), device.device) for _ in range(2))
    assert first == second
    assert device.renderer.suffix in (".ll", ".cl")


def test_a_kernel_works_on_the_places_it_is_given(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    kernel = driver.get_kernel(artifact, "double")
    driver.copy_to_device(BufferLoc(POOL, 64), np.arange(8, dtype=np.int32))
    driver.memset_zero(BufferLoc(POOL, 512), 128)
    driver.launch(kernel, (8, 1, 1), (1, 1, 1), (BufferLoc(POOL, 64), BufferLoc(POOL, 576)))
    driver.synchronize()
    assert read(device, 572, 10) == [0, *range(0, 16, 2), 0]
    assert kernel.name == "double"


def test_launches_run_in_their_order(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    kernel = driver.get_kernel(artifact, "double")
    driver.copy_to_device(BufferLoc(POOL, 0), np.arange(8, dtype=np.int32))
    for step in range(6):
        places = BufferLoc(POOL, 64 * step), BufferLoc(POOL, 64 * step + 64)
        driver.launch(kernel, (8, 1, 1), (1, 1, 1), places)
    driver.copy_on_device(BufferLoc(POOL, 512), BufferLoc(POOL, 64 * 6), 32)
    assert read(device, 512, 8) == [64 * n for n in range(8)]


def test_every_work_group_knows_its_place(device: Backend, artifact: CompiledArtifact):
    driver = device.driver
    driver.launch(driver.get_kernel(artifact, "place"), (2, 3, 4), (1, 1, 1), (BufferLoc(POOL, 128),))
    assert read(device, 128, 24) == [
        x + 10 * y + 100 * z for z in range(4) for y in range(3) for x in range(2)
    ]


def test_source_that_does_not_compile_is_told_with_the_log(device: Backend):
    with pytest.raises(KernelCompileError) as caught:
        device.compiler.compile("this is no kernel", device.device)
    assert caught.value.log
    assert caught.value.log in str(caught.value)

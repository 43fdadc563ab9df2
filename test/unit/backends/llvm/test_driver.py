"""The host as a device: its limits, its pools, its launches."""

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc, CallableKernel, HostMapped
from tenon.backends.llvm import backend
from tenon.backends.llvm.device import host_device
from tenon.backends.llvm.driver import CpuDriver
from tenon.dialects.element_types import ui8
from tenon.dialects.low import LOW
from tenon.errors import DeviceError
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import Builtin, Float80Type, bf16, f16, i1
from xdsl.parser import Parser


def increment_kernel(driver: CpuDriver) -> CallableKernel:
    context = Context()
    for dialect in (Builtin, arith.Arith, memref.MemRef, LOW):
        context.load_dialect(dialect)
    text = """low.kernel @increment(%x: memref<4xi32>, %y: memref<4xi32>) grid [4, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %one = arith.constant 1 : i32
      %v = memref.load %x[%i] : memref<4xi32>
      %r = arith.addi %v, %one : i32
      memref.store %r, %y[%i] : memref<4xi32>
    }"""
    llvm = backend()
    source = llvm.renderer.render(Parser(context, text).parse_module(), llvm.device)
    return driver.get_kernel(llvm.compiler.compile(source, llvm.device), "increment")


def test_host_device_states_its_limits() -> None:
    device = host_device()
    assert device.name
    assert device.vector_nbytes in (16, 32, 64)
    assert device.supports(bf16) and device.supports(ui8) and device.supports(i1)
    assert device.supports(f16) and not device.supports(Float80Type())


@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_pool_is_aligned_as_asked(alignment: int) -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 10, alignment)
    assert driver.address(BufferLoc(1, 0)) % max(alignment, 64) == 0


def test_copies_go_to_offsets_and_back() -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 32, 64)
    driver.memset_zero(BufferLoc(1, 0), 32)
    driver.copy_to_device(BufferLoc(1, 8), np.array([[1.5], [2.5]]))
    driver.copy_on_device(BufferLoc(1, 24), BufferLoc(1, 16), 8)
    got = np.empty(4)
    driver.copy_from_device(got, BufferLoc(1, 0))
    assert got.tolist() == [0.0, 1.5, 2.5, 2.5]
    scalar = np.array(7.0)
    driver.copy_to_device(BufferLoc(1, 0), scalar)
    driver.copy_from_device(got, BufferLoc(1, 0))
    assert got[0] == 7.0


def test_kernel_works_in_mapped_host_memory_and_at_offsets() -> None:
    driver = CpuDriver()
    assert isinstance(driver, HostMapped)
    array = np.arange(8, dtype=np.int32)
    driver.map_host(5, array.view(np.uint8))
    driver.launch(increment_kernel(driver), (4, 1, 1), (1, 1, 1), [BufferLoc(5, 0), BufferLoc(5, 16)])
    driver.synchronize()
    assert array.tolist() == [0, 1, 2, 3, 1, 2, 3, 4]


def test_pool_of_no_bytes_is_a_pool() -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 0, 64)
    driver.copy_to_device(BufferLoc(1, 0), np.zeros(0))
    driver.free_pool(1)


def test_pool_id_can_be_used_again_after_it_is_freed() -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 8, 64)
    driver.free_pool(1)
    driver.alloc_pool(1, 16, 64)
    driver.memset_zero(BufferLoc(1, 0), 16)


def test_unknown_pool_is_an_error() -> None:
    driver = CpuDriver()
    kernel = increment_kernel(driver)
    with pytest.raises(DeviceError, match=r"^llvm: pool 7 is not allocated$"):
        driver.launch(kernel, (4, 1, 1), (1, 1, 1), [BufferLoc(7, 0), BufferLoc(7, 16)])
    with pytest.raises(DeviceError, match=r"^llvm: pool 8 is not allocated$"):
        driver.free_pool(8)


def test_pool_id_in_use_is_an_error() -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 8, 64)
    with pytest.raises(DeviceError, match=r"^llvm: pool 1 is already allocated$"):
        driver.alloc_pool(1, 8, 64)
    with pytest.raises(DeviceError, match=r"^llvm: pool 1 is already allocated$"):
        driver.map_host(1, np.zeros(8, np.uint8))


@pytest.mark.parametrize("nbytes", [1 << 60, 1 << 70])
def test_more_memory_than_there_is_is_an_error(nbytes: int) -> None:
    with pytest.raises(DeviceError, match=f"^llvm: cannot allocate {nbytes} bytes for pool 2$"):
        CpuDriver().alloc_pool(2, nbytes, 64)


def test_launch_with_other_extents_than_compiled_is_refused() -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 32, 64)
    kernel = increment_kernel(driver)
    locations = [BufferLoc(1, 0), BufferLoc(1, 16)]
    with pytest.raises(
        DeviceError, match=r"compiled for grid \[4, 1, 1\] block \[1, 1, 1\], launched with grid \[5, 1, 1\]"
    ):
        driver.launch(kernel, (5, 1, 1), (1, 1, 1), locations)
    with pytest.raises(DeviceError, match=r"^llvm: @increment takes 2 arguments, 1 are given$"):
        driver.launch(kernel, (4, 1, 1), (1, 1, 1), locations[:1])


def test_copy_past_the_end_of_a_pool_is_refused() -> None:
    driver = CpuDriver()
    driver.alloc_pool(1, 8, 64)
    with pytest.raises(AssertionError, match="pool 1 \\+ 0x4 to 0xc is outside its 8 bytes"):
        driver.copy_to_device(BufferLoc(1, 4), np.zeros(1))

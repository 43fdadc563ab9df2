"""The interpreter of `low` kernels as a device."""

from typing import Any

import numpy as np
import pytest
import tenon
from tenon.backends.interface import Backend, BufferLoc
from tenon.backends.reference.device import ReferenceDevice
from tenon.backends.registry import get_backend
from tenon.backends.steps import LaunchStep
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import DeviceError, KernelCompileError, OutOfMemoryError
from xdsl.dialects.builtin import Float80Type, f16, f32
from xdsl.utils.exceptions import DiagnosticException

KERNEL = """
low.kernel @k(%x: memref<?xi32>, %y: memref<4xi32>) grid [4, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %n = arith.constant AT : index
  %at = arith.addi %i, %n : index
  %v = memref.load %x[%at] : memref<?xi32>
  memref.store %v, %y[%i] : memref<4xi32>
}
"""


def compiled(backend: Backend, at: int) -> Any:
    text = backend.renderer.render(parse_module(KERNEL.replace("AT", str(at))), backend.device)
    return backend.compiler.compile(text, backend.device)


def test_the_device_does_all_that_low_can_say():
    device = ReferenceDevice()
    assert device.supports(f16) and device.supports(f32) and not device.supports(Float80Type())
    assert (device.name, device.vector_nbytes) == ("reference", 32)


def test_the_source_are_the_kernels_alone():
    backend = get_backend("reference")
    with tenon.compile(
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "%y = graph.add %x, %x : tensor<4xf32>\nfunc.return %y : tensor<4xf32>\n}",
        backend=backend,
    ) as f:
        assert f(np.ones(4, np.float32)).tolist() == [2] * 4
        source = f.stages["source"]
    assert source.startswith("low.kernel @") and source.endswith("}\n") and "sched." not in source
    assert backend.renderer.suffix == ".mlir"


def test_an_argument_of_unknown_extent_is_the_rest_of_its_pool():
    backend = get_backend("reference")
    driver = backend.driver
    driver.alloc_pool(1, 50, 64)
    driver.copy_to_device(BufferLoc(1, 0), np.arange(12, dtype=np.int32))
    kernel = driver.get_kernel(compiled(backend, 4), "k")
    driver.launch(kernel, (4, 1, 1), (1, 1, 1), (BufferLoc(1, 16), BufferLoc(1, 0)))
    found = np.zeros(4, np.int32)
    driver.copy_from_device(found, BufferLoc(1, 0))
    assert found.tolist() == [8, 9, 10, 11]


def test_what_is_undefined_is_an_error_of_the_device():
    backend = get_backend("reference")
    driver = backend.driver
    driver.alloc_pool(1, 64, 64)
    artifact = compiled(backend, 20)
    step = LaunchStep("k", (4, 1, 1), (1, 1, 1), (0, 1))
    program = driver.bind(artifact, [step], [BufferLoc(1, 0), BufferLoc(1, 16)])
    with pytest.raises(DeviceError, match=r"^reference: @k: memref.load at <kernels>:\d+:\d+: .*20"):
        program.run()


def test_an_op_without_a_rule_is_refused_when_it_is_printed():
    backend = get_backend("reference")
    text = "low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {\n  %g = graph.merge @w : tensor<4xf32>\n}"
    module = parse_module(text)
    with pytest.raises(DiagnosticException, match=r"graph\.merge"):
        backend.renderer.render(module, backend.device)


def test_text_that_is_no_kernel_is_an_error_with_its_place():
    backend = get_backend("reference")
    with pytest.raises(KernelCompileError, match=r"^reference: the kernels do not compile\n<kernels>:1:1: "):
        backend.compiler.compile("low.kernels", backend.device)


def test_launches_that_do_not_fit_are_refused():
    backend = get_backend("reference")
    driver = backend.driver
    artifact = compiled(backend, 0)
    driver.alloc_pool(1, 64, 64)
    kernel = driver.get_kernel(artifact, "k")
    with pytest.raises(
        DeviceError, match=r"^reference: @k is compiled for grid \[4, 1, 1\] block \[1, 1, 1\], "
    ):
        driver.launch(kernel, (5, 1, 1), (1, 1, 1), [BufferLoc(1, 0), BufferLoc(1, 16)])
    with pytest.raises(DeviceError, match=r"^reference: @k takes 2 arguments, 1 are given$"):
        driver.launch(kernel, (4, 1, 1), (1, 1, 1), [BufferLoc(1, 0)])
    with pytest.raises(DeviceError, match=r"^reference: no kernel @j \(there are: k\)$"):
        driver.get_kernel(artifact, "j")


def test_pools_are_errors_of_this_backend():
    driver = get_backend("reference").driver
    with pytest.raises(DeviceError, match=r"^reference: pool 1 is not allocated$"):
        driver.free_pool(1)
    with pytest.raises(OutOfMemoryError, match=rf"^reference: cannot allocate {1 << 60} bytes for pool 1$"):
        driver.alloc_pool(1, 1 << 60, 64)
    driver.alloc_pool(1, 8, 8)
    assert repr(driver) == "ReferenceDriver('reference', pools {1: 8 bytes})"

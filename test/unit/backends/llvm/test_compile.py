"""Compiling LLVM IR: entry points, errors with LLVM's log, assembly."""

import gc

import numpy as np
import pytest
from tenon.backends.interface import BufferLoc, MachineCode
from tenon.backends.llvm import backend
from tenon.backends.llvm.compile import LLVMCompiler
from tenon.backends.llvm.device import host_device
from tenon.backends.llvm.entry_points import EntryPoint, find_entry_points
from tenon.backends.llvm.renderer import LLVMRenderer
from tenon.dialects.modules.parsing import parse_module
from tenon.errors import KernelCompileError


def remainder_kernel(name: str) -> str:
    return f"""low.kernel @{name}(%x: memref<4xf64>) grid [4, 1, 1] block [1, 1, 1] {{
      %i = low.block_id x
      %v = memref.load %x[%i] : memref<4xf64>
      %three = arith.constant 3.0 : f64
      %r = low.remf %v, %three : f64
      memref.store %r, %x[%i] : memref<4xf64>
    }}"""


@pytest.mark.parametrize(("symbol", "name"), [("fmod", "fmod"), ("memset", "memset"), ('"a b.c"', "a b.c")])
def test_a_kernel_may_have_any_name(symbol: str, name: str) -> None:
    llvm = backend()
    source = llvm.renderer.render(parse_module(remainder_kernel(symbol)), llvm.device)
    artifact = llvm.compiler.compile(source, llvm.device)
    values = np.array([7.5, -7.5, 3.0, 1.0])
    llvm.driver.alloc_pool(3, values.nbytes, 8)
    llvm.driver.copy_to_device(BufferLoc(3, 0), values)
    llvm.driver.launch(llvm.driver.get_kernel(artifact, name), (4, 1, 1), (1, 1, 1), [BufferLoc(3, 0)])
    llvm.driver.copy_from_device(values, BufferLoc(3, 0))
    assert values.tolist() == [1.5, -1.5, 0.0, 1.0]


def test_entry_points_are_found_in_the_order_of_the_text() -> None:
    text = remainder_kernel("b") + "\n" + remainder_kernel("a")
    source = LLVMRenderer().render(parse_module(text), host_device())
    assert find_entry_points(source) == [
        EntryPoint("b", 1, (4, 1, 1), (1, 1, 1)),
        EntryPoint("a", 1, (4, 1, 1), (1, 1, 1)),
    ]
    assert LLVMCompiler().compile(source, host_device()).entry_points == ("b", "a")


def test_a_kernel_outlives_the_compiler_and_the_artifact() -> None:
    llvm = backend()
    source = llvm.renderer.render(parse_module(remainder_kernel("k")), llvm.device)
    kernel = llvm.driver.get_kernel(LLVMCompiler().compile(source, llvm.device), "k")
    gc.collect()
    values = np.array([4.0, 5.0, 6.0, 7.0])
    llvm.driver.alloc_pool(0, values.nbytes, 8)
    llvm.driver.copy_to_device(BufferLoc(0, 0), values)
    llvm.driver.launch(kernel, (4, 1, 1), (1, 1, 1), [BufferLoc(0, 0)])
    llvm.driver.copy_from_device(values, BufferLoc(0, 0))
    assert values.tolist() == [1.0, 2.0, 0.0, 1.0]


def test_kernels_stay_loaded_when_the_compiler_takes_another_engine() -> None:
    llvm, compiler = backend(), LLVMCompiler(most_libraries=2)
    source = llvm.renderer.render(parse_module(remainder_kernel("k")), llvm.device)
    image = compiler.image(source, llvm.device)
    kernels = [llvm.driver.get_kernel(compiler.load(image, llvm.device), "k") for _ in range(5)]
    engines = {id(kernel.native.owner.owner[0]) for kernel in kernels}
    assert len(engines) == 3
    gc.collect()
    values = np.array([4.0, 5.0, 6.0, 7.0])
    llvm.driver.alloc_pool(0, values.nbytes, 8)
    for kernel in kernels:
        llvm.driver.copy_to_device(BufferLoc(0, 0), values)
        llvm.driver.launch(kernel, (4, 1, 1), (1, 1, 1), [BufferLoc(0, 0)])
        found = np.empty_like(values)
        llvm.driver.copy_from_device(found, BufferLoc(0, 0))
        assert found.tolist() == [1.0, 2.0, 0.0, 1.0]


def test_an_image_names_its_entry_points() -> None:
    source = LLVMRenderer().render(parse_module(remainder_kernel("a") + remainder_kernel("b")), host_device())
    image = LLVMCompiler().image(source, host_device())
    assert LLVMCompiler().load(image, host_device()).entry_points == ("a", "b")
    assert LLVMCompiler().image(source, host_device()) == image


def test_all_backends_of_a_process_share_a_compiler() -> None:
    assert backend().compiler is backend().compiler
    assert backend().driver is not backend().driver


def test_source_that_does_not_parse_is_an_error_with_llvms_log() -> None:
    with pytest.raises(KernelCompileError, match=r"^llvm: the kernels do not compile\n") as caught:
        LLVMCompiler().compile("define void @f() { ret i32 }", host_device())
    assert "LLVM IR parsing error" in caught.value.log


def test_a_symbol_that_is_nowhere_is_an_error_with_llvms_log() -> None:
    entry_point = EntryPoint("k", 0, (1, 1, 1), (1, 1, 1))
    body = (
        "  call void @there_is_no_such_function()\n  ret void\n}\ndeclare void @there_is_no_such_function()\n"
    )
    with pytest.raises(KernelCompileError, match=r"^llvm: the kernels do not link\n") as caught:
        LLVMCompiler().compile(f"{entry_point.definition()}\n{body}", host_device())
    assert "k.chunk" in caught.value.log


def test_kernels_with_and_without_vectors_are_one_library() -> None:
    vectors = """low.kernel @v(%x: memref<4xf64>) grid [1, 1, 1] block [1, 1, 1] {
      %i = low.block_id x
      %v = vector.load %x[%i] : memref<4xf64>, vector<4xf64>
      %w = arith.addf %v, %v : vector<4xf64>
      vector.store %w, %x[%i] : memref<4xf64>, vector<4xf64>
    }"""
    llvm = backend()
    source = llvm.renderer.render(
        parse_module("\n".join((remainder_kernel("a"), vectors, remainder_kernel("b")))), llvm.device
    )
    artifact = llvm.compiler.compile(source, llvm.device)
    assert artifact.entry_points == ("a", "v", "b")
    values = np.array([7.5, -7.5, 3.0, 1.0])
    llvm.driver.alloc_pool(4, values.nbytes, 8)
    llvm.driver.copy_to_device(BufferLoc(4, 0), values)
    for name, grid in (("a", (4, 1, 1)), ("v", (1, 1, 1)), ("b", (4, 1, 1))):
        llvm.driver.launch(llvm.driver.get_kernel(artifact, name), grid, (1, 1, 1), [BufferLoc(4, 0)])
    llvm.driver.copy_from_device(values, BufferLoc(4, 0))
    assert values.tolist() == [0.0, 0.0, 0.0, 2.0]


def test_assembly_holds_every_entry_point() -> None:
    compiler = LLVMCompiler()
    assert isinstance(compiler, MachineCode)
    text = remainder_kernel("b") + "\n" + remainder_kernel("a")
    assembly = compiler.assembly(LLVMRenderer().render(parse_module(text), host_device()), host_device())
    assert "b.chunk:" in assembly and "a.chunk:" in assembly and "fmod" in assembly

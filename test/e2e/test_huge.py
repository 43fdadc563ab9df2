"""Programs whose indices or sizes need more than 32 bits, or more memory than there is."""

import numpy as np
import pytest
import tenon

MORE_THAN_32_BITS = 3_000_000_001

SUM = f"""
func.func @sum(%x: tensor<1xi8>) -> tensor<i8> {{
  %b = graph.broadcast %x : tensor<1xi8> -> tensor<{MORE_THAN_32_BITS}xi8>
  %s = graph.reduce add %b axes [0] : tensor<{MORE_THAN_32_BITS}xi8> -> tensor<i8>
  func.return %s : tensor<i8>
}}
"""

HUGE = """
func.func @huge(%x: tensor<1xf32>) -> tensor<1000000000000xf32> {
  %b = graph.broadcast %x : tensor<1xf32> -> tensor<1000000000000xf32>
  func.return %b : tensor<1000000000000xf32>
}
"""


DONATED = """
func.func @huge(%x: tensor<1xf32> {tenon.donated}) -> (tensor<1xf32>, tensor<1000000000000xf32>) {
  %y = graph.neg %x : tensor<1xf32>
  %b = graph.broadcast %x : tensor<1xf32> -> tensor<1000000000000xf32>
  func.return %y, %b : tensor<1xf32>, tensor<1000000000000xf32>
}
"""


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_a_loop_of_more_than_2_to_the_32_iterations_counts_right(backend: str) -> None:
    total = tenon.compile(SUM, backend=backend)(np.array([3], np.int8))
    assert total == np.array(3 * MORE_THAN_32_BITS).astype(np.int8)


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_a_result_beyond_all_memory_is_an_error_that_names_it(backend: str) -> None:
    executable = tenon.compile(HUGE, backend=backend)
    with pytest.raises(tenon.DeviceError, match=r"huge: cannot allocate result 0, float32\[1000000000000\]"):
        executable(np.ones(1, np.float32))


@pytest.mark.parametrize("backend", ["llvm", "opencl"])
def test_a_result_beyond_all_memory_beside_a_donated_argument(backend: str) -> None:
    executable = tenon.compile(DONATED, backend=backend)
    with pytest.raises(tenon.DeviceError, match=r"huge: cannot allocate result 1, float32\[1000000000000\]"):
        executable(np.ones(1, np.float32))


def test_the_interpreter_says_that_it_has_no_memory_left() -> None:
    executable = tenon.compile(HUGE, backend="reference")
    with pytest.raises(tenon.DeviceError, match="huge: the reference interpreter has no memory left"):
        executable(np.ones(1, np.float32))


def test_more_elements_than_an_index_counts_are_an_error() -> None:
    text = HUGE.replace("1000000000000x", "4000000000x4000000000x")
    with pytest.raises(tenon.TenonError, match=r"has too many elements \(16000000000000000000, at most"):
        tenon.compile(text)

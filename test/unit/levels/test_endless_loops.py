"""A loop whose condition never fails ends by Ctrl-C."""

import signal

import numpy as np
import pytest
import tenon

ENDLESS = """func.func @f(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.while (%v = %x) : (tensor<f32>) {
    %c = graph.eq %v, %v : tensor<f32>
    graph.condition %c
  } do (%v) {
    %one = graph.constant dense<1.0> : tensor<f32>
    %w = graph.add %v, %one : tensor<f32>
    graph.yield %w : tensor<f32>
  }
  func.return %y : tensor<f32>
}"""


def interrupt_after(seconds: float) -> None:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)


@pytest.mark.parametrize("backend", ["llvm", "opencl", "reference"])
def test_an_endless_loop_is_interrupted_and_the_program_runs_again(backend: str):
    with tenon.compile(ENDLESS, backend=backend) as executable:
        for _ in range(2):
            interrupt_after(0.2)
            with pytest.raises(KeyboardInterrupt):
                executable(np.zeros((), np.float32))
        interrupt_after(0.2)
        with pytest.raises(KeyboardInterrupt), tenon.record_timeline():
            executable(np.zeros((), np.float32))
        assert np.isnan(executable(np.array(np.nan, np.float32)))

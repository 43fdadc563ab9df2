"""What executables and routines tell of the kernels that they launch."""

import pytest
import tenon
from tenon.backends.interface import Backend
from tenon.backends.registry import REFERENCE
from tenon.errors import TenonError
from tenon.runtime.plan.program_plan import Launch

from .conftest import device

__all__ = ["device"]

SUMS = """
func.func @sums(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %a = graph.reduce add %x axes [0] keep : tensor<8x16xf32> -> tensor<1x16xf32>
  %b = graph.reduce add %y axes [0] keep : tensor<8x16xf32> -> tensor<1x16xf32>
  %c = graph.mul %a, %b : tensor<1x16xf32>
  %d = graph.broadcast %c : tensor<1x16xf32> -> tensor<8x16xf32>
  func.return %d : tensor<8x16xf32>
}
"""

STEP = """
graph.tnode @w : tensor<4xf32> mode on_device
func.func @step() {
  %one = graph.constant dense<1.0> : tensor<4xf32>
  graph.write add @w, %one : tensor<4xf32>
  func.return
}
"""


def test_launches_tell_their_kernel_and_what_it_reads_and_writes(device: Backend):
    with tenon.compile(SUMS, backend=device) as executable:
        launches = executable.launches
        steps = executable.memory_plan().steps
    assert launches
    assert len(launches) == len([step for step in steps if step.startswith("@")])
    for launch in launches:
        assert set(launch.inputs) | set(launch.outputs) == set(launch.arguments)
        assert launch.outputs
    first = {name: None for launch in launches for name in [launch.kernel_name]}
    assert [launch.kernel_id for launch in launches] == [
        list(first).index(launch.kernel_name) for launch in launches
    ]
    read = {name for launch in launches for name in launch.inputs}
    written = {name for launch in launches for name in launch.outputs}
    assert {"x", "y"} <= read and not {"x", "y"} & written


def test_launches_of_one_kernel_have_one_id(device: Backend):
    with tenon.compile(SUMS, backend=device) as executable:
        launches = executable.launches
    by_id = {launch.kernel_id: launch.kernel_name for launch in launches}
    assert len(by_id) == len({launch.kernel_name for launch in launches})
    assert sorted(by_id) == list(range(len(by_id)))


def test_routines_tell_their_launches(device: Backend):
    with tenon.open_platform(device) as platform:
        context = platform.get_device(0).make_context()
        routine = context.link(platform.compile(STEP))
        assert isinstance(routine, tenon.runtime.platforms.routine.ProgramRoutine)
        (launch,) = routine.launches
        assert launch == Launch(0, "step_0", ("w",), ("w",), ("w",), launch.grid, launch.block)


def test_what_launches_nothing_says_so(device: Backend):
    with pytest.raises(TenonError, match=r"^sums: the reference interpreter launches no kernels$"):
        _ = tenon.compile(SUMS, backend=REFERENCE).launches
    sized = """
    graph.dim @n min 1 max 8
    func.func @double(%x: tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<n>> {
      %y = graph.add %x, %x : tensor<?xf32, #graph.dims<n>>
      func.return %y : tensor<?xf32, #graph.dims<n>>
    }
    """
    executable = tenon.compile(sized, backend=device)
    assert isinstance(executable, tenon.runtime.executables.sized_executable.SizedExecutable)
    with pytest.raises(TenonError, match=r"^double: the launches depend on n \(hint: executable_for"):
        _ = executable.launches
    assert len(executable.executable_for({"n": 3}).launches) == 1
    executable.close()

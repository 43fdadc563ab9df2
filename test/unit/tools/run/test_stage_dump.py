from tenon.dialects import context, sched
from tenon.dialects.modules.entry import find_entry
from tenon.dialects.modules.parsing import parse_module
from tenon.passes.pass_manager import PassManager
from tenon.runtime.plan.plan_reader import plan_program
from tenon.tools.run.stage_dump import plan_text

PROGRAM = """
graph.tnode @rows : tensor<5x3x8xf32>
func.func @f(%i: index, %j: index, %x: tensor<8xf32>) -> tensor<8xf32> {
  %row = graph.read @rows[%i, %j] : tensor<8xf32>
  %m = graph.merge @rows : tensor<5x3x8xf32>
  graph.write @rows, %m : tensor<5x3x8xf32>
  %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]> : tensor<8xf32>
  %y = graph.add %x, %c : tensor<8xf32>
  %z = graph.sub %y, %row : tensor<8xf32>
  func.return %z : tensor<8xf32>
}
"""


def test_a_plan_says_where_every_buffer_is_and_what_every_step_does():
    module = parse_module(PROGRAM)
    PassManager("default-pipeline").run(context(), module)
    program = find_entry(module, "f")
    assert isinstance(program, sched.ProgramOp)
    assert plan_text(plan_program(module, program)).splitlines() == [
        "1 kernels, 1 launches, 32 bytes of constants, 0 bytes of temporaries",
        "",
        "buffers",
        "  0: argument 0, 32 bytes",
        "  1: node @rows + i * 96 + j * 32, 32 bytes",
        "  2: merge @rows, 480 bytes",
        "  3: node @rows, 480 bytes",
        "  4: constant + 0x0, 32 bytes",
        "  5: result 0, 32 bytes",
        "steps",
        "  @f_0(0, 4, 1, 5) grid [1, 1, 1] block [1, 1, 1]",
        "  480 bytes from 2 to 3",
        "returns 5",
    ]

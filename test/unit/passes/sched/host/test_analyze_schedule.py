import pytest
from tenon.dialects import context, low
from tenon.dialects.modules.parsing import parse_module, verify_module
from tenon.passes.sched.host.analyze_schedule import AnalyzeSchedulePass
from tenon.passes.sched.host.kernel_cost import UNKNOWN_TRIPS, KernelCost, cost_of
from xdsl.dialects import arith, math
from xdsl.utils.exceptions import PassFailedException

COUNTS_NOTHING = {arith.ConstantOp, arith.BitcastOp, arith.ExtFOp, arith.TruncFOp, arith.IndexCastOp}


def kernel_cost(body: str, grid: int = 1) -> KernelCost:
    module = parse_module(
        "low.kernel @k(%x: memref<64xf32>, %n: memref<64xi32>) "
        f"grid [{grid}, 1, 1] block [1, 1, 1] {{\n{body}\n}}"
    )
    verify_module(module)
    (kernel,) = module.body.ops
    assert isinstance(kernel, low.KernelOp)
    return cost_of(kernel)


def test_every_arithmetic_op_of_a_kernel_has_a_count():
    for op in low.BODY_OPS:
        if op.name.startswith(("arith.", "math.")):
            assert (op in low.FLOPS) != (op in COUNTS_NOTHING), op.name
    assert low.FLOPS[math.FmaOp] == 2


LOOP = """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %chunk = arith.constant 10 : index
  %all = arith.constant 64 : index
  %b = low.block_id x
  %first = arith.muli %b, %chunk : index
  %end = arith.addi %first, %chunk : index
  %last = arith.minsi %end, %all : index
  %c = arith.constant 1.0 : f32
  scf.for %i = %first to %last step %one {
    scf.for %j = %i to %last step %one {
      %d = arith.addf %c, %c : f32
    }
  }
"""


def test_bounds_are_those_of_the_first_work_item():
    assert kernel_cost(LOOP, grid=7).flops == 7 * 10 * 10


def test_the_dearer_branch_of_an_if_counts():
    cost = kernel_cost("""
  %i = arith.constant 0 : index
  %c = arith.constant true
  %v = memref.load %x[%i] : memref<64xf32>
  %r = scf.if %c -> (f32) {
    memref.store %v, %x[%i] : memref<64xf32>
    %d = arith.addf %v, %v : f32
    scf.yield %d : f32
  } else {
    %d = arith.mulf %v, %v : f32
    %e = math.exp %d : f32
    scf.yield %e : f32
  }
  scf.if %c {
    memref.store %r, %x[%i] : memref<64xf32>
  }
""")
    assert cost.flops == 21
    assert cost.stores == {0: 1}
    assert cost.loads == {0: 1}


def test_shared_memory_counts_and_private_memory_does_not():
    cost = kernel_cost("""
  %s = low.alloca : memref<16xf32, "shared">
  %p = low.alloca : memref<16xf32>
""")
    assert cost.shared_nbytes == 64


def test_a_vector_reduction_counts_its_lanes():
    cost = kernel_cost("""
  %i = arith.constant 0 : index
  %v = vector.load %x[%i] : memref<64xf32>, vector<8xf32>
  %s = vector.reduction <add>, %v : vector<8xf32> into f32
  memref.store %s, %x[%i] : memref<64xf32>
""")
    assert (cost.flops, cost.loads, cost.stores) == (8, {0: 8}, {0: 1})


def test_values_live_through_the_loops_that_they_cross():
    cost = kernel_cost("""
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %a = memref.load %x[%zero] : memref<64xf32>
  %b = memref.load %x[%one] : memref<64xf32>
  scf.for %i = %zero to %one step %one {
    %c = memref.load %x[%i] : memref<64xf32>
    %d = arith.addf %c, %a : f32
    memref.store %d, %x[%i] : memref<64xf32>
  }
  memref.store %b, %x[%zero] : memref<64xf32>
""")
    # In the loop's body: %a, which the next iteration needs, %b, %i, and %c or %d.
    assert cost.registers == 4


@pytest.mark.parametrize(
    "bound",
    [
        "%m = memref.load %n[%zero] : memref<64xi32>\n%end = arith.index_cast %m : i32 to index",
        "%end = scf.for %k = %zero to %one step %one iter_args(%a = %one) -> (index) {\n"
        " scf.yield %a : index }",
    ],
)
def test_a_loop_whose_bound_is_data_is_taken_to_run_a_few_times(bound: str):
    cost = kernel_cost(f"""
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %f = memref.load %x[%zero] : memref<64xf32>
  {bound}
  scf.for %i = %zero to %end step %one {{ %g = arith.addf %f, %f : f32 }}
""")
    assert cost.flops == UNKNOWN_TRIPS


def test_rates_are_positive():
    with pytest.raises(
        PassFailedException,
        match=r"analyze-schedule: gflops 0 and gbps 20 must be 1 or more, launch-ns 1000 0 or more",
    ):
        AnalyzeSchedulePass(gflops=0).apply(context(), parse_module(""))


def test_a_tile_counts_two_operations_for_each_product():
    cost = kernel_cost("""
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  %y = low.alloca : memref<12xf32>
  low.tile_fma 2 x 6 %y[%zero, %two] = %x[%zero, %two, %two] * %x[%zero, %two] depth [%two]
    : memref<12xf32>, memref<64xf32>, memref<64xf32>
""")
    assert cost.flops == 2 * 2 * 6 * 2
    assert cost.loads == {0: 2 * 2 + 6 * 2}

import pytest
from tenon.dialects.modules.kernel_access import KernelAccess, accesses_of
from tenon.dialects.modules.parsing import parse_module
from xdsl.dialects import memref, test

KERNELS = """
sched.kernel @high(%x: memref<8xf32>, %unused: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %o = memref.load %y[%i] : memref<8xf32>
    %s = arith.addf %v, %o : f32
    memref.store %s, %y[%i] : memref<8xf32>
  }
}
low.kernel @deep(%x: memref<8xf32>, %y: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %zero = arith.constant 0 : index
  %v = vector.load %x[%zero] : memref<8xf32>, vector<8xf32>
  %own = low.alloca : memref<8xf32>
  vector.store %v, %own[%zero] : memref<8xf32>, vector<8xf32>
  vector.store %v, %y[%zero] : memref<8xf32>, vector<8xf32>
}
"""


def test_loads_read_and_stores_write():
    assert accesses_of(parse_module(KERNELS)) == {
        "high": KernelAccess(reads=(0, 2), writes=(2,)),
        "deep": KernelAccess(reads=(0,), writes=(1,)),
    }


def test_another_use_of_a_buffer_is_a_bug():
    module = parse_module(KERNELS)
    for op in module.walk():
        if isinstance(op, memref.LoadOp):
            block = op.parent
            assert block is not None
            block.insert_op_before(test.TestOp([op.memref]), op)
            break
    with pytest.raises(AssertionError, match=r"sched.kernel: test.op uses argument 0"):
        accesses_of(module)

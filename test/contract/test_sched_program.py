"""What every backend makes of a program that is written in `sched`."""

from collections.abc import Callable

import numpy as np
import pytest
import tenon
from tenon.backends.registry import REFERENCE

Build = Callable[..., tenon.Executable]

EVERY_ITEM = """
sched.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 block(2) vector(2) {
    %v = memref.load %x[%i] : memref<8xf32>
    %d = arith.addf %v, %v : f32
    memref.store %d, %y[%i] : memref<8xf32>
  }
}
sched.program @p(%x: memref<8xf32>) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %c = sched.constant dense<0.5> : tensor<8xf32> : memref<8xf32>
  %a = sched.buffer global temporary : memref<8xf32>
  %y = sched.buffer global result : memref<8xf32>
  %z = sched.buffer global result : memref<8xf32>
  %t0 = sched.transfer %x to %a after() : memref<8xf32>
  %t1 = sched.sync after(%t0)
  %t2 = sched.launch @double(%a, %y) after(%t1) : memref<8xf32>, memref<8xf32>
  %t3 = sched.launch @double(%c, %z) after() : memref<8xf32>, memref<8xf32>
  %t4 = sched.sync after(%t2, %t3)
  sched.return %y, %z after(%t4) : memref<8xf32>, memref<8xf32>
}
"""


def test_items_of_every_kind_run(build: Build):
    y, z = build(EVERY_ITEM, pipeline="plan-memory,low-pipeline")(np.arange(8, dtype=np.float32))
    assert y.tolist() == list(range(0, 16, 2))
    assert z.tolist() == [1.0] * 8


WORK_ITEMS = """
sched.kernel @k(%x: memref<5x6xf32>, %y: memref<5x6xi32>) {
  sched.axis %i = 5 block {
    sched.axis %j = 6 thread(SIZE) {
      %v = memref.load %x[%i, %j] : memref<5x6xf32>
      %r = math.roundeven %v : f32
      %b = arith.bitcast %r : f32 to i32
      memref.store %b, %y[%i, %j] : memref<5x6xi32>
    }
  }
}
sched.program @p(%x: memref<5x6xf32>) : (tensor<5x6xf32>) -> tensor<5x6xi32> {
  %y = sched.buffer global result : memref<5x6xi32>
  %t = sched.launch @k(%x, %y) after() : memref<5x6xf32>, memref<5x6xi32>
  sched.return %y after() : memref<5x6xi32>
}
"""


@pytest.mark.parametrize("size", [1, 2, 4, 6])
def test_work_items_take_chunks_of_an_axis(build: Build, size: int):
    x = np.arange(-15, 15, dtype=np.float32).reshape(5, 6) / 4
    result = build(WORK_ITEMS.replace("SIZE", str(size)), pipeline="low-pipeline")(x)
    assert result.tolist() == np.round(x).view(np.int32).tolist()


REVERSED_ROWS = """
sched.kernel @k(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  sched.axis %i = 4 block {
    %row = sched.alloc shared : memref<8xf32>
    sched.axis %j = 8 {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      memref.store %v, %row[%j] : memref<8xf32>
    }
    sched.axis %j = 8 {
      %last = arith.constant 7 : index
      %at = arith.subi %last, %j : index
      %v = memref.load %row[%at] : memref<8xf32>
      memref.store %v, %y[%i, %j] : memref<4x8xf32>
    }
  }
}
sched.program @p(%x: memref<4x8xf32>) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = sched.buffer global result : memref<4x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<4x8xf32>, memref<4x8xf32>
  sched.return %y after() : memref<4x8xf32>
}
"""


@pytest.mark.parametrize("scope", ["shared", "local"])
def test_stages_hand_on_a_buffer_of_their_work_group(build: Build, scope: str):
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    result = build(REVERSED_ROWS.replace("shared", scope), pipeline="low-pipeline")(x)
    assert result.tolist() == x[:, ::-1].tolist()


STRIDED = """
sched.kernel @spread(%x: memref<4x8xf32>, %t: memref<4x8xf32, strided<[24, 2]>>) {
  sched.axis %i = 4 block {
    sched.axis %j = 8 {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      memref.store %v, %t[%i, %j] : memref<4x8xf32, strided<[24, 2]>>
    }
  }
}
sched.kernel @sum(%t: memref<4x8xf32, strided<[24, 2]>>, %y: memref<4xf32>) {
  sched.axis %i = 4 block {
    %row = sched.alloc local : memref<8xf32, strided<[3]>>
    sched.axis %j = 8 {
      %v = memref.load %t[%i, %j] : memref<4x8xf32, strided<[24, 2]>>
      memref.store %v, %row[%j] : memref<8xf32, strided<[3]>>
    }
    %s = sched.reduce addf %k = 8 : f32 {
      %w = memref.load %row[%k] : memref<8xf32, strided<[3]>>
      sched.yield %w : f32
    }
    memref.store %s, %y[%i] : memref<4xf32>
  }
}
sched.program @p(%x: memref<4x8xf32>) : (tensor<4x8xf32>) -> tensor<4xf32> {
  %t = sched.buffer global temporary : memref<4x8xf32, strided<[24, 2]>>
  %u = sched.buffer global temporary : memref<4x8xf32, strided<[24, 2]>>
  %y = sched.buffer global result : memref<4xf32>
  %t0 = sched.launch @spread(%x, %t) after() : memref<4x8xf32>, memref<4x8xf32, strided<[24, 2]>>
  %t1 = sched.transfer %t to %u after(%t0) : memref<4x8xf32, strided<[24, 2]>>
  %t2 = sched.launch @sum(%u, %y) after(%t1) : memref<4x8xf32, strided<[24, 2]>>, memref<4xf32>
  sched.return %y after(%t2) : memref<4xf32>
}
"""


@pytest.mark.parametrize("passes", ["", "map-axes,"])
def test_a_buffer_may_have_a_strided_layout(build: Build, passes: str):
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    pipeline = f"{passes}build-dependencies,plan-memory,low-pipeline"
    np.testing.assert_array_equal(build(STRIDED, pipeline=pipeline)(x), x.sum(1))


def test_a_strided_layout_is_interpreted_in_sched_too():
    x = np.arange(32, dtype=np.float32).reshape(4, 8)
    found = tenon.compile(STRIDED, backend=REFERENCE, pipeline="build-dependencies,plan-memory")(x)
    np.testing.assert_array_equal(found, x.sum(1))

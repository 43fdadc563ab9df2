// RUN: tenon-opt -p build-dependencies,analyze-schedule %s | filecheck %s
// RUN: tenon-opt -p 'analyze-schedule{gflops=1 gbps=1 launch-ns=0}' %s | filecheck %s --check-prefix SLOW

sched.kernel @softplus(%x: memref<4x8xf32>, %y: memref<4x8xf32>) {
  sched.axis %i = 4 block(2) {
    sched.axis %j = 8 vector(8) {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      %e = math.exp %v : f32
      %s = arith.addf %e, %v : f32
      memref.store %s, %y[%i, %j] : memref<4x8xf32>
    }
  }
}
sched.kernel @sum(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  sched.axis %i = 4 block {
    %tile = sched.alloc shared : memref<8xf32>
    %sum = sched.reduce addf %j = 8 : f32 {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      sched.yield %v : f32
    }
    memref.store %sum, %y[%i] : memref<4xf32>
  }
}
low.kernel @guarded(%x: memref<32xf32>, %y: memref<32xf32>) grid [2, 1, 1] block [4, 1, 1] {
  %zero = arith.constant 0 : index
  %one = arith.constant 8 : index
  %four = arith.constant 16 : index
  %b = low.block_id x
  %first = arith.muli %b, %four : index
  %end = arith.addi %first, %four : index
  scf.for %i = %first to %end step %one {
    %v = vector.load %x[%i] : memref<32xf32>, vector<8xf32>
    %m = math.fma %v, %v, %v : vector<8xf32>
    vector.store %m, %y[%i] : memref<32xf32>, vector<8xf32>
  }
}
low.kernel @nothing(%x: memref<0xf32>) grid [0, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<0xf32>
  memref.store %v, %x[%i] : memref<0xf32>
}

// Work counts in all iterations, exp for 20 operations; no buffer counts for more bytes than it has. The second
// item waits for the first, so that their times add up.
// CHECK-LABEL: @chain
// CHECK-SAME:  summary = #sched.summary<critical_path_ns 2022, total_ns 2022, flops 704>
// CHECK:       sched.launch @softplus(%x, %a) after() analysis<flops 672, read_nbytes 128, written_nbytes 128, registers 4, shared_nbytes 0, occupancy 2, estimated_ns 1014> :
// CHECK-NEXT:  sched.launch @sum(%a, %y) after(%t0) analysis<flops 32, read_nbytes 128, written_nbytes 16, registers 2, shared_nbytes 32, occupancy 4, estimated_ns 1008> :
// SLOW-LABEL:  @chain
// SLOW:        estimated_ns 672> :
// SLOW:        estimated_ns 144> :
sched.program @chain(%x: memref<4x8xf32>) : (tensor<4x8xf32>) -> tensor<4xf32> {
  %a = sched.buffer global temporary : memref<4x8xf32>
  %y = sched.buffer global result : memref<4xf32>
  %t0 = sched.launch @softplus(%x, %a) after() : memref<4x8xf32>, memref<4x8xf32>
  %t1 = sched.launch @sum(%a, %y) after() : memref<4x8xf32>, memref<4xf32>
  sched.return %y after() : memref<4xf32>
}

// Two items that do not wait for one another: the critical path is the dearer of them. Lanes count one by one,
// and arithmetic on indices does not count; a transfer reads and writes; a sync costs nothing.
// CHECK-LABEL: @side_by_side
// CHECK-SAME:  summary = #sched.summary<critical_path_ns 1013, total_ns 2026, flops 256>
// CHECK:       sched.launch @guarded(%x, %y) after() analysis<flops 256, read_nbytes 128, written_nbytes 128, registers 4, shared_nbytes 0, occupancy 8, estimated_ns 1013> :
// CHECK-NEXT:  sched.transfer %x to %z after() analysis<flops 0, read_nbytes 128, written_nbytes 128, registers 0, shared_nbytes 0, occupancy 1, estimated_ns 1013> :
// CHECK-NEXT:  sched.sync after(%t0, %t1)
sched.program @side_by_side(%x: memref<32xf32>) : (tensor<32xf32>) -> (tensor<32xf32>, tensor<32xf32>) {
  %y = sched.buffer global result : memref<32xf32>
  %z = sched.buffer global result : memref<32xf32>
  %t0 = sched.launch @guarded(%x, %y) after() : memref<32xf32>, memref<32xf32>
  %t1 = sched.transfer %x to %z after() : memref<32xf32>
  %t2 = sched.sync after()
  sched.return %y, %z after() : memref<32xf32>, memref<32xf32>
}

// A launch of no work-items, and a program of no items.
// CHECK-LABEL: @no_work
// CHECK-SAME:  summary = #sched.summary<critical_path_ns 1000, total_ns 1000, flops 0>
// CHECK:       analysis<flops 0, read_nbytes 0, written_nbytes 0, registers 2, shared_nbytes 0, occupancy 0, estimated_ns 1000> :
sched.program @no_work() : () -> () {
  %a = sched.buffer global temporary : memref<0xf32>
  %t = sched.launch @nothing(%a) after() : memref<0xf32>
  sched.return after()
}

// CHECK-LABEL: @empty
// CHECK-SAME:  summary = #sched.summary<critical_path_ns 0, total_ns 0, flops 0>
sched.program @empty(%x: memref<32xf32>) : (tensor<32xf32>) -> tensor<32xf32> {
  sched.return %x after() : memref<32xf32>
}

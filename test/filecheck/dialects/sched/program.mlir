// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-debuginfo %s | tenon-opt | filecheck %s

sched.kernel @copy(%x: memref<4xf32>, %y: memref<4xf32>) {
}

sched.kernel @nothing() {
}

// As `convert-graph-to-sched` writes it: the order of the text is what counts.
// CHECK:       sched.program @plain(%x: memref<4xf32>, %c: memref<4xi8>) : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32> {
// CHECK-NEXT:    %w = sched.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32> : memref<4xf32>
// CHECK-NEXT:    %a = sched.buffer global temporary : memref<4xf32>
// CHECK-NEXT:    %y = sched.buffer global result : memref<4xf32>
// CHECK-NEXT:    %t0 = sched.launch @copy(%w, %a) after() : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:    %t1 = sched.launch @nothing() after()
// CHECK-NEXT:    %t2 = sched.transfer %a to %y after() : memref<4xf32>
// CHECK-NEXT:    %t3 = sched.sync after()
// CHECK-NEXT:    sched.return %y after() : memref<4xf32>
// CHECK-NEXT:  }
sched.program @plain(%x: memref<4xf32>, %c: memref<4xi8>) : (tensor<4xf32>, tensor<4xi1>) -> tensor<4xf32> {
  %w = sched.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : memref<4xf32>
  %a = sched.buffer global temporary : memref<4xf32>
  %y = sched.buffer global result : memref<4xf32>
  %t0 = sched.launch @copy(%w, %a) after() : memref<4xf32>, memref<4xf32>
  %t1 = sched.launch @nothing() after()
  %t2 = sched.transfer %a to %y after() : memref<4xf32>
  %t3 = sched.sync after()
  sched.return %y after() : memref<4xf32>
}

// With dependencies, memory and costs.
// CHECK:       sched.program @planned(%x: memref<4xf32>) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {memory_plan = #sched.memory_plan<pool_nbytes 64, unshared_nbytes 64, peak_nbytes 16>, summary = #sched.summary<critical_path_ns 20, total_ns 30, flops 4>} {
// CHECK-NEXT:    %w = sched.constant dense<1.000000e+00> : tensor<4xf32> slab <2, 64> : memref<4xf32>
// CHECK-NEXT:    %a = sched.buffer global temporary lifetime <0, 1> slab <1, 4096> : memref<4xf32>
// CHECK-NEXT:    %y = sched.buffer global result lifetime <1, 2> : memref<4xf32>
// CHECK-NEXT:    %z = sched.buffer global result : memref<4xf32>
// CHECK-NEXT:    %t0 = sched.launch @copy(%x, %a) after() analysis<flops 4, read_nbytes 16, written_nbytes 16, registers 1, shared_nbytes 0, occupancy 1, estimated_ns 10> : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:    %t1 = sched.transfer %a to %y after(%t0) analysis<flops 0, read_nbytes 16, written_nbytes 16, registers 0, shared_nbytes 0, occupancy 1, estimated_ns 10> : memref<4xf32>
// CHECK-NEXT:    %t2 = sched.transfer %a to %z after(%t0) {note = "mine"} : memref<4xf32>
// CHECK-NEXT:    %t3 = sched.sync after(%t1, %t2) {note = "mine"}
// CHECK-NEXT:    sched.return %y, %z after(%t3) {note = "mine"} : memref<4xf32>, memref<4xf32>
// CHECK-NEXT:  }
sched.program @planned(%x: memref<4xf32>) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {memory_plan = #sched.memory_plan<pool_nbytes 64, unshared_nbytes 64, peak_nbytes 16>, summary = #sched.summary<critical_path_ns 20, total_ns 30, flops 4>} {
  %w = sched.constant dense<1.0> : tensor<4xf32> slab <2, 64> : memref<4xf32>
  %a = sched.buffer global temporary lifetime <0, 1> slab <1, 4096> : memref<4xf32>
  %y = sched.buffer global result lifetime <1, 2> : memref<4xf32>
  %z = sched.buffer global result : memref<4xf32>
  %t0 = sched.launch @copy(%x, %a) after() analysis<flops 4, read_nbytes 16, written_nbytes 16, registers 1, shared_nbytes 0, occupancy 1, estimated_ns 10> : memref<4xf32>, memref<4xf32>
  %t1 = sched.transfer %a to %y after(%t0) analysis<flops 0, read_nbytes 16, written_nbytes 16, registers 0, shared_nbytes 0, occupancy 1, estimated_ns 10> : memref<4xf32>
  %t2 = sched.transfer %a to %z after(%t0) {note = "mine"} : memref<4xf32>
  %t3 = sched.sync after(%t1, %t2) {note = "mine"}
  sched.return %y, %z after(%t3) {note = "mine"} : memref<4xf32>, memref<4xf32>
}

// A program without arguments and results.
// CHECK:       sched.program @empty() : () -> () {
// CHECK-NEXT:    sched.return after()
// CHECK-NEXT:  }
sched.program @empty() : () -> () {
  sched.return after()
}

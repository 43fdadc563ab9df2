// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// CHECK: sched.kernel @two(%x: memref<8xf32>, %y: memref<8xf32>) attributes {schedule = "i: neighbours in memory"} {
sched.kernel @two(%x: memref<8xf32>, %y: memref<8xf32>) attributes {schedule = "i: neighbours in memory"} {
}

sched.program @f(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  %y = sched.buffer global result : memref<8xf32>
  // CHECK: sched.launch @two(%x, %y) after() {origins = [#sched.origin<"%e", "exp", "8xf32", virtual, "computed where it is read", "inline", "f.mlir:2:3">, #sched.origin<"%1", "reduce add", "f32", materialized, "a reason", "request", "">]} : memref<8xf32>, memref<8xf32>
  %t0 = sched.launch @two(%x, %y) after() {origins = [#sched.origin<"%e", "exp", "8xf32", virtual, "computed where it is read", "inline", "f.mlir:2:3">, #sched.origin<"%1", "reduce add", "f32", materialized, "a reason", "request", "">]} : memref<8xf32>, memref<8xf32>
  // CHECK: sched.transfer %x to %y after() {why = "a test"} : memref<8xf32>
  %t1 = sched.transfer %x to %y after() {why = "a test"} : memref<8xf32>
  sched.return %y after() : memref<8xf32>
}

// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

graph.tnode @x : tensor<100x4xf32>
graph.tnode @flags : tensor<4xi1>

// Nodes and parts of them; an i1 is stored as an i8. A symbol stands among the arguments.
// CHECK-LABEL: sched.program @step(%i: index, %a: memref<4xf32>) : (index, tensor<4xf32>) -> () {
sched.program @step(%i: index, %a: memref<4xf32>) : (index, tensor<4xf32>) -> () {
  // CHECK-NEXT: %x = sched.node @x : memref<100x4xf32>
  %x = sched.node @x : memref<100x4xf32>
  // CHECK-NEXT: %row = sched.node @x[%i] : memref<4xf32>
  %row = sched.node @x[%i] : memref<4xf32>
  // CHECK-NEXT: %flags = sched.node @flags : memref<4xi8>
  %flags = sched.node @flags : memref<4xi8>
  // CHECK-NEXT: %m = sched.merge_buffer @x : memref<100x4xf32>
  %m = sched.merge_buffer @x : memref<100x4xf32>
  // CHECK-NEXT: %t = sched.transfer %a to %row after() : memref<4xf32>
  %t = sched.transfer %a to %row after() : memref<4xf32>
  %t_1 = sched.transfer %m to %x after(%t) : memref<100x4xf32>
  sched.return after(%t_1)
}

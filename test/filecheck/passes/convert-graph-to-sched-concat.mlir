// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s

// Each large input has a kernel of its own, which stores into its part of the result and computes only what
// the part needs; what comes before an input in the kernel is fused.
// CHECK-LABEL: sched.kernel @large_0
// CHECK-SAME: (%a: memref<64x300xf32>, %y: memref<64x700xf32>)
// CHECK-NEXT: sched.axis %i = 64 {
// CHECK-NEXT: sched.axis %j = 300 {
// CHECK-NEXT: memref.load %a[%i, %j]
// CHECK-NEXT: math.exp
// CHECK-NEXT: memref.store %{{.*}}, %y[%i, %j]
// CHECK-LABEL: sched.kernel @large_1
// CHECK-SAME: (%b: memref<64x400xf32>, %y: memref<64x700xf32>)
// CHECK: sched.axis %i = 64 {
// CHECK-NEXT: sched.axis %j = 400 {
// CHECK-NEXT: %b_1 = memref.load %b[%i, %j]
// CHECK-NEXT: %0 = arith.addi %j, %c300 : index
// CHECK-NEXT: memref.store %b_1, %y[%i, %0]
// CHECK-LABEL: sched.program @large
// CHECK: sched.launch @large_0(%a, %y)
// CHECK: sched.launch @large_1(%b, %y)
func.func @large(%a: tensor<64x300xf32>, %b: tensor<64x400xf32>) -> tensor<64x700xf32> {
  %e = graph.exp %a : tensor<64x300xf32>
  %y = graph.concat %e, %b axis 1 : tensor<64x300xf32>, tensor<64x400xf32> -> tensor<64x700xf32>
  func.return %y : tensor<64x700xf32>
}

// Small ones share a kernel, which selects.
// CHECK-LABEL: sched.kernel @small_0
// CHECK-COUNT-2: low.select
// CHECK-NOT: sched.kernel
// CHECK-LABEL: sched.program @small
func.func @small(%a: tensor<f32>, %b: tensor<7xf32>) -> tensor<9xf32> {
  %s = graph.reshape %a : tensor<f32> -> tensor<1xf32>
  %y = graph.concat %s, %b, %s axis 0 : tensor<1xf32>, tensor<7xf32>, tensor<1xf32> -> tensor<9xf32>
  func.return %y : tensor<9xf32>
}

// A reader of a concatenation reads only what its indices reach.
// CHECK-LABEL: sched.kernel @slice_0
// CHECK-SAME: (%b: memref<400xf32>, %s: memref<50xf32>)
// CHECK-NOT: low.select
// CHECK-LABEL: sched.program @slice
func.func @slice(%a: tensor<300xf32>, %b: tensor<400xf32>) -> tensor<50xf32> {
  %y = graph.concat %a, %b axis 0 : tensor<300xf32>, tensor<400xf32> -> tensor<700xf32>
  %s = graph.slice %y offsets [300] sizes [50] strides [2] : tensor<700xf32>
  %z = graph.exp %s : tensor<50xf32>
  func.return %s : tensor<50xf32>
}

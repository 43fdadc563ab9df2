// RUN: tenon-opt -p convert-graph-to-sched %s --split-input-file | filecheck %s
// RUN: tenon-opt -p default-pipeline -t llvm-ir %s --split-input-file | filecheck %s --check-prefix=IR

// Layers that are alike are written once. What differs in a constant, a type or the kind of a sum is not.
// CHECK-LABEL: sched.kernel @layers_0(%{{.*}}: memref<8x8xf32>, %{{.*}}: memref<8xf32>)
// CHECK: sched.reduce addf
// CHECK-NOT: sched.kernel @layers_1
// CHECK: sched.kernel @layers_2(
// CHECK: arith.constant 3.000000e+00 : f32
// CHECK: sched.kernel @layers_3(
// CHECK: sched.reduce maximumf
// CHECK: sched.kernel @layers_4(%{{.*}}: memref<8x8xf64>
// CHECK-LABEL: sched.program @layers
// CHECK: sched.launch @layers_0(%x, %a)
// CHECK: sched.launch @layers_0(%y, %b)
// CHECK: sched.launch @layers_2(%y, %c)
// CHECK: sched.launch @layers_3(%y, %d)
// CHECK: sched.launch @layers_4(%z, %e)
// IR: define void @layers_0
func.func @layers(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf64>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>) {
  %two = graph.constant dense<2.0> : tensor<8x8xf32>
  %three = graph.constant dense<3.0> : tensor<8x8xf32>
  %wide = graph.constant dense<2.0> : tensor<8x8xf64>
  %x2 = graph.mul %x, %two : tensor<8x8xf32>
  %a = graph.reduce add %x2 axes [1] : tensor<8x8xf32> -> tensor<8xf32>
  %y2 = graph.mul %y, %two : tensor<8x8xf32>
  %b = graph.reduce add %y2 axes [1] : tensor<8x8xf32> -> tensor<8xf32>
  %y3 = graph.mul %y, %three : tensor<8x8xf32>
  %c = graph.reduce add %y3 axes [1] : tensor<8x8xf32> -> tensor<8xf32>
  %m2 = graph.mul %y, %two : tensor<8x8xf32>
  %d = graph.reduce max %m2 axes [1] : tensor<8x8xf32> -> tensor<8xf32>
  %z2 = graph.mul %z, %wide : tensor<8x8xf64>
  %e = graph.reduce add %z2 axes [1] : tensor<8x8xf64> -> tensor<8xf64>
  func.return %a, %b, %c, %d, %e : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf64>
}

// -----

// One array where the other kernel has two.
// CHECK-LABEL: sched.kernel @shared_0(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>)
// CHECK: sched.kernel @shared_1(%{{.*}}: memref<8xf32>, %{{.*}}: memref<8xf32>)
// CHECK-LABEL: sched.program @shared
// CHECK: sched.launch @shared_0(%x, %w, %a)
// CHECK: sched.launch @shared_1(%x, %b)
// CHECK: sched.launch @shared_0(%w, %x, %c)
// IR: define void @shared_
func.func @shared(%x: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %p = graph.exp %x : tensor<8xf32>
  %a = graph.mul %p, %w : tensor<8xf32>
  %q = graph.exp %x : tensor<8xf32>
  %b = graph.mul %q, %x : tensor<8xf32>
  %r = graph.exp %w : tensor<8xf32>
  %c = graph.mul %r, %x : tensor<8xf32>
  func.return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// CHECK-LABEL: sched.program @every
sched.program @every(%x: memref<4xf32>, %b: memref<i8>) : (tensor<4xf32>, tensor<i1>) -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  %z = sched.buffer global temporary : memref<4xf32>
  %w = sched.buffer global temporary : memref<8xf32>
  %c = sched.buffer global temporary : memref<i8>
  %v = sched.buffer global temporary : memref<2xf32>
  // CHECK: %{{.*}} = sched.collective all_reduce add on [2, 2] axes = [0, 1] channel = 1(%x, %z) to(%y, %v) after() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  %t0 = sched.collective all_reduce add on [2, 2] axes = [0, 1] channel = 1(%x, %z) to(%y, %v) after() : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  // CHECK-NEXT: %{{.*}} = sched.collective all_reduce or on [4] axes = [0] channel = 2(%b) to(%c) after() {note} : (tensor<i1>) -> tensor<i1>
  %t1 = sched.collective all_reduce or on [4] axes = [0] channel = 2(%b) to(%c) after() {note} : (tensor<i1>) -> tensor<i1>
  // CHECK-NEXT: %{{.*}} = sched.await channel = 1(%x, %z) to(%y, %v) after(%{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  %t2 = sched.await channel = 1(%x, %z) to(%y, %v) after(%t0) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<2xf32>)
  // CHECK-NEXT: %{{.*}} = sched.await channel = 2(%b) to(%c) after(%{{.*}}) : (tensor<i1>) -> tensor<i1>
  %t3 = sched.await channel = 2(%b) to(%c) after(%t1) : (tensor<i1>) -> tensor<i1>
  // CHECK-NEXT: sched.collective all_gather on [2] axes = [0] dim = 0 channel = 3(%x) to(%w)
  %t4 = sched.collective all_gather on [2] axes = [0] dim = 0 channel = 3(%x) to(%w) after() : (tensor<4xf32>) -> tensor<8xf32>
  %t5 = sched.await channel = 3(%x) to(%w) after(%t4) : (tensor<4xf32>) -> tensor<8xf32>
  // CHECK: sched.collective reduce_scatter max on [2] axes = [0] dim = 0 channel = 3(%x) to(%v)
  %t6 = sched.collective reduce_scatter max on [2] axes = [0] dim = 0 channel = 3(%x) to(%v) after() : (tensor<4xf32>) -> tensor<2xf32>
  %t7 = sched.await channel = 3(%x) to(%v) after(%t6) : (tensor<4xf32>) -> tensor<2xf32>
  // CHECK: sched.collective collective_permute on [2] axes = [0] pairs = {{\[\[0, 1\], \[1, 0\]\]}} channel = 4(%x) to(%v)
  %t8 = sched.collective collective_permute on [2] axes = [0] pairs = [[0, 1], [1, 0]] channel = 4(%x) to(%v) after() : (tensor<4xf32>) -> tensor<2xf32>
  %t9 = sched.await channel = 4(%x) to(%v) after(%t8) : (tensor<4xf32>) -> tensor<2xf32>
  sched.return %y after(%t2) : memref<4xf32>
}

// CHECK-LABEL: sched.program @two_dims
sched.program @two_dims(%x: memref<4x4xf32>) : (tensor<4x4xf32>) -> tensor<2x8xf32> {
  %y = sched.buffer global result : memref<2x8xf32>
  // CHECK: sched.collective all_to_all on [2] axes = [0] dim = 0 concat_dim = 1 channel = 1(%x) to(%y)
  %t0 = sched.collective all_to_all on [2] axes = [0] dim = 0 concat_dim = 1 channel = 1(%x) to(%y) after() : (tensor<4x4xf32>) -> tensor<2x8xf32>
  %t1 = sched.await channel = 1(%x) to(%y) after(%t0) : (tensor<4x4xf32>) -> tensor<2x8xf32>
  sched.return %y after(%t1) : memref<2x8xf32>
}

// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s
// RUN: tenon-opt -p convert-graph-to-sched --verify-semantics=1 -o /dev/null %s

// All sums of a tile are made in one iteration: each element is loaded once, and what two sums share is added once.
// CHECK-LABEL: sched.kernel @input_0
// CHECK:       sched.axis %{{.*}} = 2 {
// CHECK:         sched.axis %{{.*}} = 8 {
// CHECK-COUNT-16:  memref.store
// CHECK-NOT:       memref.store
// CHECK:       }
func.func @input(%x: tensor<4x6x8xf32>) -> tensor<4x4x1x2x8xf32> {
  %rows = graph.winograd_input_transform %x axis 0 {memory_mode = #graph.memory_mode<virtual, "asked for">} : tensor<4x6x8xf32> -> tensor<4x1x6x8xf32>
  %v = graph.winograd_input_transform %rows axis 2 : tensor<4x1x6x8xf32> -> tensor<4x4x1x2x8xf32>
  func.return %v : tensor<4x4x1x2x8xf32>
}

// What follows is done for both neighbours. An odd extent has its last element made twice.
// CHECK-LABEL: sched.kernel @output_0
// CHECK:       sched.axis %[[T:.*]] = 3 {
// CHECK:         %[[FIRST:.*]] = arith.muli %[[T]]
// CHECK:         arith.minsi
// CHECK:         math.sqrt
// CHECK:         math.sqrt
// CHECK-NOT:     math.sqrt
// CHECK:         memref.store
// CHECK:         memref.store
// CHECK-NOT:     memref.store
// CHECK:       }
func.func @output(%m: tensor<4x3xf32>, %s: tensor<5xf32>) -> tensor<5xf32> {
  %y = graph.winograd_output_transform %m axis 0 : tensor<4x3xf32> -> tensor<6xf32>
  %z = graph.slice %y offsets [0] sizes [5] strides [1] : tensor<6xf32>
  %r = graph.add %z, %s : tensor<5xf32>
  %q = graph.mul %r, %r : tensor<5xf32>
  %t = graph.sqrt %q : tensor<5xf32>
  func.return %t : tensor<5xf32>
}

// Read in another order than tiles are made, sums are chosen by index.
// CHECK-LABEL: sched.kernel @chosen_0
// CHECK:       arith.cmpi eq
// CHECK:       low.select
func.func @chosen(%m: tensor<4x3xf32>) -> tensor<6xf32> {
  %y = graph.winograd_output_transform %m axis 0 {memory_mode = #graph.memory_mode<virtual, "asked for">} : tensor<4x3xf32> -> tensor<6xf32>
  %r = graph.flip %y axes [0] : tensor<6xf32>
  func.return %r : tensor<6xf32>
}

// One number and one tile have no axis.
// CHECK-LABEL: sched.kernel @one_0
// CHECK-NOT:   sched.axis
// CHECK-COUNT-4: memref.store
func.func @one(%w: tensor<3xf32>) -> tensor<4xf32> {
  %u = graph.winograd_filter_transform %w axis 0 : tensor<3xf32> -> tensor<4xf32>
  func.return %u : tensor<4xf32>
}

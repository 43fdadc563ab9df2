// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s
// RUN: tenon-opt -p convert-graph-to-sched --verify-semantics=1 -o /dev/null %s
// RUN: tenon-opt -p infer-memory-modes,convert-graph-to-sched --verify-semantics=1 -o /dev/null %s

// An axis of each head, and one in it: nothing is divided.
// CHECK-LABEL: sched.kernel @heads_0
// CHECK-NOT: arith.divui
// CHECK: sched.axis %i = 7 {
// CHECK-NEXT: sched.axis %j = 12 {
// CHECK-NEXT: sched.axis %j_1 = 10 {
// CHECK-NEXT: memref.load %x[%j, %i, %j_1]
// CHECK: memref.store
// CHECK-NOT: memref.store
func.func @heads(%x: tensor<12x7x10xf32>) -> tensor<7x120xf32> {
  %0 = graph.permute %x [1, 0, 2] : tensor<12x7x10xf32>
  %y = graph.reshape %0 : tensor<7x12x10xf32> -> tensor<7x120xf32>
  func.return %y : tensor<7x120xf32>
}

// All of it as one dim: a quotient of a quotient.
// CHECK-LABEL: sched.kernel @flat_0
// CHECK-NOT: arith.divui
// CHECK: sched.axis %i = 7 {
// CHECK-NEXT: sched.axis %i_1 = 12 {
// CHECK-NEXT: sched.axis %i_2 = 10 {
// CHECK-NEXT: memref.load %x[%i_1, %i, %i_2]
func.func @flat(%x: tensor<12x7x10xf32>) -> tensor<840xf32> {
  %0 = graph.permute %x [1, 0, 2] : tensor<12x7x10xf32>
  %y = graph.reshape %0 : tensor<7x12x10xf32> -> tensor<840xf32>
  func.return %y : tensor<840xf32>
}

// Eight times in a row, with what is read in order beside it.
// CHECK-LABEL: sched.kernel @eight_0
// CHECK: sched.axis %i = 40 {
// CHECK: sched.axis %i_1 = 8 {
// CHECK: arith.mulf
// CHECK: memref.store
// CHECK-NOT: memref.store
func.func @eight(%x: tensor<40xf32>, %w: tensor<320xf32>) -> tensor<320xf32> {
  %0 = graph.reshape %x : tensor<40xf32> -> tensor<40x1xf32>
  %1 = graph.broadcast %0 : tensor<40x1xf32> -> tensor<40x8xf32>
  %2 = graph.reshape %1 : tensor<40x8xf32> -> tensor<320xf32>
  %y = graph.mul %2, %w : tensor<320xf32>
  func.return %y : tensor<320xf32>
}

// Elements that are made at once, in pieces.
// CHECK-LABEL: sched.kernel @both_0
// CHECK: sched.axis %j = 3 {
// CHECK-NEXT: sched.axis %j_1 = 5 {
// CHECK: memref.load
// CHECK-NOT: memref.load
// CHECK-COUNT-2: memref.store
func.func @both(%x: tensor<3x7x5xf32>) -> tensor<7x30xf32> {
  %0 = graph.permute %x [1, 0, 2] : tensor<3x7x5xf32>
  %1 = graph.reshape %0 : tensor<7x3x5xf32> -> tensor<7x3x5x1xf32>
  %2 = graph.broadcast %1 : tensor<7x3x5x1xf32> -> tensor<7x3x5x2xf32>
  %y = graph.reshape %2 : tensor<7x3x5x2xf32> -> tensor<7x30xf32>
  func.return %y : tensor<7x30xf32>
}

// With named dims, and pieces whose numbers do not divide one another: these stay as they are.
// CHECK-LABEL: sched.kernel @named_0
// CHECK-NOT: arith.divui
// CHECK: sched.axis %{{.*}} = n {
// CHECK: sched.axis %{{.*}} = 12 {
// CHECK-LABEL: sched.kernel @odd_0
// CHECK: sched.axis %i = 180 {
// CHECK: arith.divui
graph.dim @n min 1 max 100
func.func @named(%x: tensor<12x?x10xf32, #graph.dims<12, n, 10>>) -> tensor<?x120xf32, #graph.dims<n, 120>> {
  %0 = graph.permute %x [1, 0, 2] : tensor<12x?x10xf32, #graph.dims<12, n, 10>>
  %y = graph.reshape %0 : tensor<?x12x10xf32, #graph.dims<n, 12, 10>> -> tensor<?x120xf32, #graph.dims<n, 120>>
  func.return %y : tensor<?x120xf32, #graph.dims<n, 120>>
}
func.func @odd(%x: tensor<15xf32>, %w: tensor<20xf32>) -> tensor<180xf32> {
  %0 = graph.reshape %x : tensor<15xf32> -> tensor<15x1xf32>
  %1 = graph.broadcast %0 : tensor<15x1xf32> -> tensor<15x12xf32>
  %2 = graph.reshape %1 : tensor<15x12xf32> -> tensor<180xf32>
  %3 = graph.reshape %w : tensor<20xf32> -> tensor<20x1xf32>
  %4 = graph.broadcast %3 : tensor<20x1xf32> -> tensor<20x9xf32>
  %5 = graph.reshape %4 : tensor<20x9xf32> -> tensor<180xf32>
  %y = graph.mul %2, %5 : tensor<180xf32>
  func.return %y : tensor<180xf32>
}

// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s
// RUN: tenon-opt -p convert-graph-to-sched --verify-semantics=1 -o /dev/null %s
// RUN: tenon-opt -p infer-memory-modes,convert-graph-to-sched --verify-semantics=1 -o /dev/null %s

// One iteration stores an element of each part beside one another.
// CHECK-LABEL: sched.kernel @stack_0
// CHECK-SAME: (%a: memref<40x9xf32>, %b: memref<40x9xf32>, %y: memref<40x9x2xf32>)
// CHECK: sched.axis %i = 40 {
// CHECK-NEXT: sched.axis %j = 9 {
// CHECK: math.exp
// CHECK-NOT: low.select
// CHECK: memref.store %{{.*}}, %y[%i, %j, %c0]
// CHECK-NEXT: memref.store %{{.*}}, %y[%i, %j, %c1]
// CHECK-NOT: sched.kernel
func.func @stack(%a: tensor<40x9xf32>, %b: tensor<40x9xf32>) -> tensor<40x9x2xf32> {
  %e = graph.exp %a : tensor<40x9xf32>
  %0 = graph.reshape %e : tensor<40x9xf32> -> tensor<40x9x1xf32>
  %1 = graph.reshape %b : tensor<40x9xf32> -> tensor<40x9x1xf32>
  %y = graph.concat %0, %1 axis 2 : tensor<40x9x1xf32>, tensor<40x9x1xf32> -> tensor<40x9x2xf32>
  func.return %y : tensor<40x9x2xf32>
}

// Parts of several elements, in a result that has one dim for both.
// CHECK-LABEL: sched.kernel @flat_0
// CHECK: sched.axis %i = 40 {
// CHECK-COUNT-3: memref.load %a
// CHECK: memref.load %b
// CHECK-COUNT-4: memref.store
// CHECK-NOT: sched.kernel
func.func @flat(%a: tensor<40x3xf32>, %b: tensor<40x1xf32>) -> tensor<160xf32> {
  %0 = graph.concat %a, %b axis 1 : tensor<40x3xf32>, tensor<40x1xf32> -> tensor<40x4xf32>
  %y = graph.reshape %0 : tensor<40x4xf32> -> tensor<160xf32>
  func.return %y : tensor<160xf32>
}

// What follows a concatenation is computed of each part.
// CHECK-LABEL: sched.kernel @follows_0
// CHECK: sched.axis %i = 40 {
// CHECK-NOT: low.select
// CHECK-COUNT-2: arith.mulf
// CHECK-COUNT-2: memref.store
// CHECK-NOT: sched.kernel
func.func @follows(%a: tensor<40xf32>, %b: tensor<40xf32>, %w: tensor<40x2xf32>) -> tensor<40x2xf32> {
  %0 = graph.reshape %a : tensor<40xf32> -> tensor<40x1xf32>
  %1 = graph.reshape %b : tensor<40xf32> -> tensor<40x1xf32>
  %2 = graph.concat %0, %1 axis 1 : tensor<40x1xf32>, tensor<40x1xf32> -> tensor<40x2xf32>
  %y = graph.mul %2, %w : tensor<40x2xf32>
  func.return %y : tensor<40x2xf32>
}

// Elements that are read several times in a row are loaded once.
// CHECK-LABEL: sched.kernel @repeat_0
// CHECK: sched.axis %i = 6 {
// CHECK: sched.axis %j = 20 {
// CHECK-NEXT: memref.load %x[%{{.*}}, %j]
// CHECK-NOT: memref.load
// CHECK-COUNT-3: memref.store
func.func @repeat(%x: tensor<2x20xf32>) -> tensor<6x60xf32> {
  %0 = graph.reshape %x : tensor<2x20xf32> -> tensor<2x1x20x1xf32>
  %1 = graph.broadcast %0 : tensor<2x1x20x1xf32> -> tensor<2x3x20x3xf32>
  %y = graph.reshape %1 : tensor<2x3x20x3xf32> -> tensor<6x60xf32>
  func.return %y : tensor<6x60xf32>
}

// Channels become the first ones: one iteration loads those of a place.
// CHECK-LABEL: sched.kernel @channels_0
// CHECK: sched.axis %j = 30 {
// CHECK-NEXT: sched.axis %k = 40 {
// CHECK-NEXT: memref.load %x[%j, %k, %c0]
// CHECK: memref.store %{{.*}}, %y[%c0, %j, %k]
// CHECK: memref.store %{{.*}}, %y[%c1, %j, %k]
// CHECK: memref.store %{{.*}}, %y[%c2, %j, %k]
func.func @channels(%x: tensor<30x40x3xf32>) -> tensor<3x30x40xf32> {
  %y = graph.permute %x [2, 0, 1] : tensor<30x40x3xf32>
  func.return %y : tensor<3x30x40xf32>
}

// With named dims.
// CHECK-LABEL: sched.kernel @named_0
// CHECK: sched.axis %{{.*}} = n {
// CHECK: memref.load
// CHECK-NOT: memref.load
// CHECK-COUNT-2: memref.store
graph.dim @n min 1 max 100
func.func @named(%x: tensor<?xf32, #graph.dims<n>>) -> tensor<?xf32, #graph.dims<2 * n>> {
  %0 = graph.reshape %x : tensor<?xf32, #graph.dims<n>> -> tensor<?x1xf32, #graph.dims<n, 1>>
  %1 = graph.broadcast %0 : tensor<?x1xf32, #graph.dims<n, 1>> -> tensor<?x2xf32, #graph.dims<n, 2>>
  %y = graph.reshape %1 : tensor<?x2xf32, #graph.dims<n, 2>> -> tensor<?xf32, #graph.dims<2 * n>>
  func.return %y : tensor<?xf32, #graph.dims<2 * n>>
}

// More parts than LLVM interleaves are kernels of their own, and so are parts that sum up.
// CHECK-LABEL: sched.kernel @nine_0
// CHECK: sched.axis %j = 5 {
// CHECK-LABEL: sched.kernel @nine_1
// CHECK-LABEL: sched.kernel @sums_0
// CHECK: sched.reduce
// CHECK-LABEL: sched.kernel @sums_1
// CHECK: sched.reduce
func.func @nine(%a: tensor<4000x5xf32>, %b: tensor<4000x4xf32>) -> tensor<4000x9xf32> {
  %y = graph.concat %a, %b axis 1 : tensor<4000x5xf32>, tensor<4000x4xf32> -> tensor<4000x9xf32>
  func.return %y : tensor<4000x9xf32>
}
func.func @sums(%a: tensor<20000x6xf32>, %b: tensor<20000x6xf32>) -> tensor<20000x2xf32> {
  %0 = graph.reduce add %a axes [1] keep : tensor<20000x6xf32> -> tensor<20000x1xf32>
  %1 = graph.reduce max %b axes [1] keep : tensor<20000x6xf32> -> tensor<20000x1xf32>
  %y = graph.concat %0, %1 axis 1 : tensor<20000x1xf32>, tensor<20000x1xf32> -> tensor<20000x2xf32>
  func.return %y : tensor<20000x2xf32>
}

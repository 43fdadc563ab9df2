// RUN: tenon-opt -p convert-graph-to-sched %s | filecheck %s

// An index that is an element of a tensor is loaded, and moved into range.
// CHECK-LABEL: sched.kernel @rows_0
// CHECK:       sched.axis %[[I:.*]] = 3 {
// CHECK-NEXT:    %[[AT:.*]] = memref.load %i[%[[I]]] : memref<3xi32>
// CHECK-NEXT:    %[[INDEX:.*]] = arith.index_cast %[[AT]] : i32 to index
// CHECK-NEXT:    %[[RAISED:.*]] = arith.maxsi %[[INDEX]], %c0 : index
// CHECK-NEXT:    %[[ROW:.*]] = arith.minsi %[[RAISED]], %c3 : index
// CHECK-NEXT:    sched.axis %[[J:.*]] = 8 {
// CHECK-NEXT:      %{{.*}} = memref.load %x[%[[ROW]], %[[J]]] : memref<4x8xf32>
// CHECK-NEXT:      arith.negf
func.func @rows(%x: tensor<4x8xf32>, %i: tensor<3xi32>) -> tensor<3x8xf32> {
  %y = graph.gather %x[%i] axes [0] : tensor<4x8xf32>[tensor<3xi32>] -> tensor<3x8xf32>
  %z = graph.neg %y : tensor<3x8xf32>
  func.return %z : tensor<3x8xf32>
}

// What is unsigned is moved into range before it is an index.
// CHECK-LABEL: sched.kernel @unsigned_0
// CHECK:       %[[AT:.*]] = memref.load %i[] : memref<i64>
// CHECK-NEXT:  %[[LOW:.*]] = arith.minui %[[AT]], %{{.*}} : i64
// CHECK-NEXT:  arith.index_cast %[[LOW]] : i64 to index
func.func @unsigned(%x: tensor<4xf32>, %i: tensor<ui64>) -> tensor<2xf32> {
  %y = graph.dynamic_slice %x[%i] sizes [2] : tensor<4xf32>[tensor<ui64>]
  func.return %y : tensor<2xf32>
}

// An argument is copied, and the update stored over the copy, computed where it is stored.
// CHECK-LABEL: sched.kernel @update_0(%u: memref<2xf32>, %y: memref<4xf32>, %i: memref<i64>)
// CHECK:       arith.negf
// CHECK-NOT:   sched.kernel
// CHECK-LABEL: sched.program @update
// CHECK:       sched.transfer %x to %y
// CHECK-NEXT:  sched.launch @update_0(%u, %y, %i)
func.func @update(%x: tensor<4xf32>, %u: tensor<2xf32>, %i: tensor<i64>) -> tensor<4xf32> {
  %n = graph.neg %u : tensor<2xf32>
  %y = graph.dynamic_update %x[%i], %n : tensor<4xf32>[tensor<i64>], tensor<2xf32>
  func.return %y : tensor<4xf32>
}

// Updates are applied one after the other; an update out of range is skipped.
// CHECK-LABEL: sched.kernel @scatter_0(%i: memref<3xi64>, %u: memref<3x8xf32>, %y: memref<4x8xf32>)
// CHECK:       scf.for
// CHECK:       arith.cmpi ult
// CHECK:       scf.if
// CHECK-NEXT:    sched.axis %{{.*}} = 8 {
func.func @scatter(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %u: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %y = graph.scatter add %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  func.return %y : tensor<4x8xf32>
}

// Short rows are sorted side by side, one in each lane of a vector, in a local buffer.
// CHECK-LABEL: sched.kernel @sort_0(%x: memref<4x8xf32>, %y: memref<4x8xf32>)
// CHECK:       %scratch = sched.alloc local : memref<128xi32>
// CHECK:       sched.axis %{{lane.*}} = 16 {
// CHECK:       arith.minui
// CHECK-NEXT:  arith.maxui
// CHECK-LABEL: sched.program @sort
func.func @sort(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = graph.sort %x axis 1 : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// A long row is moved from one half of a scratch buffer to the other, group by group.
// CHECK-LABEL: sched.kernel @long_sort_0(%x: memref<20000xi32>,
// CHECK:       sched.reduce minui %{{.*}} = 20000
// CHECK-LABEL: sched.program @long_sort
// CHECK:       %scratch = sched.buffer global temporary : memref<2x20016xi32>
func.func @long_sort(%x: tensor<20000xi32>) -> tensor<20000xi32> {
  %y = graph.sort %x axis 0 : tensor<20000xi32>
  func.return %y : tensor<20000xi32>
}

// RUN: tenon-opt -p pack-panels,hoist-loop-invariants %s | filecheck %s
// RUN: tenon-opt -p pack-panels,hoist-loop-invariants --verify-semantics=1 -o /dev/null %s

// Each iteration uses what is copied before the loop.
// CHECK-LABEL: func.func @transposed
// CHECK: graph.permute {{.*}} {memory_mode = #graph.memory_mode<materialized, "in panels as wide as a tile">} : tensor<256x32x16xf32>
// CHECK: graph.scan
// CHECK-NOT: graph.permute
// CHECK: tile [d0 = 4, d1 = 16 in panels] : tensor<4x256xf32>, tensor<256x512xf32>
// CHECK: graph.yield
func.func @transposed(%h: tensor<4x256xf32>, %w: tensor<512x256xf32>) -> tensor<4x256xf32> {
  %r = graph.scan %i = 16 (%c = %h) : (tensor<4x256xf32>) -> (tensor<4x256xf32>) {
    %p = graph.contract %c, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x256xf32>, tensor<512x256xf32> -> tensor<4x512xf32>
    %s = graph.slice %p offsets [0, 0] sizes [4, 256] strides [1, 1] : tensor<4x512xf32>
    %t = graph.tanh %s : tensor<4x256xf32>
    graph.yield %t : tensor<4x256xf32>
  }
  func.return %r : tensor<4x256xf32>
}

// Fifteen iterations use it 60 times.
// CHECK-LABEL: func.func @short
// CHECK-NOT: in panels
// CHECK: func.return
func.func @short(%h: tensor<4x256xf32>, %w: tensor<512x256xf32>) -> tensor<4x256xf32> {
  %r = graph.scan %i = 15 (%c = %h) : (tensor<4x256xf32>) -> (tensor<4x256xf32>) {
    %p = graph.contract %c, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x256xf32>, tensor<512x256xf32> -> tensor<4x512xf32>
    %s = graph.slice %p offsets [0, 0] sizes [4, 256] strides [1, 1] : tensor<4x512xf32>
    graph.yield %s : tensor<4x256xf32>
  }
  func.return %r : tensor<4x256xf32>
}

// What changes in the loop would be copied each time.
// CHECK-LABEL: func.func @changes
// CHECK-NOT: in panels
// CHECK: func.return
func.func @changes(%h: tensor<4x256xf32>, %w: tensor<512x256xf32>) -> tensor<512x256xf32> {
  %r = graph.scan %i = 16 (%v = %w) : (tensor<512x256xf32>) -> (tensor<512x256xf32>) {
    %p = graph.contract %h, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x256xf32>, tensor<512x256xf32> -> tensor<4x512xf32>
    %s = graph.slice %p offsets [0, 0] sizes [1, 256] strides [1, 1] : tensor<4x512xf32>
    %b = graph.reshape %s : tensor<1x256xf32> -> tensor<256xf32>
    %e = graph.broadcast %b : tensor<256xf32> -> tensor<512x256xf32>
    %n = graph.add %v, %e : tensor<512x256xf32>
    graph.yield %n : tensor<512x256xf32>
  }
  func.return %r : tensor<512x256xf32>
}

// A branch may not be taken: it would copy in each iteration.
// CHECK-LABEL: func.func @branch
// CHECK-NOT: in panels
// CHECK: func.return
func.func @branch(%h: tensor<4x256xf32>, %w: tensor<1x512x256xf32> {tenon.frozen}, %q: tensor<i1>) -> tensor<4x256xf32> {
  %r = graph.scan %i = 16 (%c = %h) : (tensor<4x256xf32>) -> (tensor<4x256xf32>) {
    %n = graph.if %q -> (tensor<4x256xf32>) {
      %v = graph.reshape %w : tensor<1x512x256xf32> -> tensor<512x256xf32>
      %p = graph.contract %c, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x256xf32>, tensor<512x256xf32> -> tensor<4x512xf32>
      %s = graph.slice %p offsets [0, 0] sizes [4, 256] strides [1, 1] : tensor<4x512xf32>
      graph.yield %s : tensor<4x256xf32>
    } else {
      graph.yield %c : tensor<4x256xf32>
    }
    graph.yield %n : tensor<4x256xf32>
  }
  func.return %r : tensor<4x256xf32>
}

// So it is where the weights are no view.
// CHECK-LABEL: func.func @branch_of_weights
// CHECK-NOT: in panels
// CHECK: func.return
func.func @branch_of_weights(%h: tensor<4x256xf32>, %v: tensor<512x256xf32> {tenon.frozen}, %q: tensor<i1>) -> tensor<4x256xf32> {
  %r = graph.scan %i = 16 (%c = %h) : (tensor<4x256xf32>) -> (tensor<4x256xf32>) {
    %n = graph.if %q -> (tensor<4x256xf32>) {
      %p = graph.contract %c, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x256xf32>, tensor<512x256xf32> -> tensor<4x512xf32>
      %s = graph.slice %p offsets [0, 0] sizes [4, 256] strides [1, 1] : tensor<4x512xf32>
      graph.yield %s : tensor<4x256xf32>
    } else {
      graph.yield %c : tensor<4x256xf32>
    }
    graph.yield %n : tensor<4x256xf32>
  }
  func.return %r : tensor<4x256xf32>
}

// Of frozen weights a view in a loop is frozen, too, however few iterations there are.
// CHECK-LABEL: func.func @frozen
// CHECK: materialized, "in panels as wide as a tile"
// CHECK: graph.scan
// CHECK: in panels]
// CHECK: graph.yield
func.func @frozen(%h: tensor<2x256xf32>, %w: tensor<2x512x256xf32> {tenon.frozen}) -> tensor<2x256xf32> {
  %r = graph.scan %i = 2 (%c = %h) : (tensor<2x256xf32>) -> (tensor<2x256xf32>) {
    %o = graph.slice %w offsets [1, 0, 0] sizes [1, 512, 256] strides [1, 1, 1] : tensor<2x512x256xf32>
    %v = graph.reshape %o : tensor<1x512x256xf32> -> tensor<512x256xf32>
    %p = graph.contract %c, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2x256xf32>, tensor<512x256xf32> -> tensor<2x512xf32>
    %s = graph.slice %p offsets [0, 0] sizes [2, 256] strides [1, 1] : tensor<2x512xf32>
    graph.yield %s : tensor<2x256xf32>
  }
  func.return %r : tensor<2x256xf32>
}

// One row of what is larger than the second cache takes as long as reading it.
// CHECK-LABEL: func.func @one_row
// CHECK-NOT: in panels
// CHECK: func.return
func.func @one_row(%h: tensor<1x600xf32>, %w: tensor<600x600xf32>) -> tensor<1x600xf32> {
  %r = graph.scan %i = 500 (%c = %h) : (tensor<1x600xf32>) -> (tensor<1x600xf32>) {
    %p = graph.contract %c, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<1x600xf32>, tensor<600x600xf32> -> tensor<1x600xf32>
    %t = graph.tanh %p : tensor<1x600xf32>
    graph.yield %t : tensor<1x600xf32>
  }
  func.return %r : tensor<1x600xf32>
}

// RUN: tenon-opt -p pack-operands %s | filecheck %s

// The right matrix is transposed: its copy is not.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK-NEXT: %b_packed = graph.contract %b maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] bounds [64, 64] {memory_mode = #graph.memory_mode<materialized, "packed, to be read in vectors">} : tensor<64x64xf32> -> tensor<64x64xf32>
  // CHECK-NEXT: %c = graph.contract %a, %b_packed maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] bounds [64, 64, 64] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}

// Views are looked through: what looks contiguous is not. The flip stays an index.
// CHECK-LABEL: func.func @view
func.func @view(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // CHECK: %f_packed = graph.contract %b maps [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (d0, d1)>] bounds [64, 64]
  %t = graph.permute %b [1, 0] : tensor<64x64xf32>
  %f = graph.flip %t axes [0] : tensor<64x64xf32>
  // CHECK: graph.contract %a, %f_packed maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (((d2 * -1) + 63), d1)>,
  %c = graph.contract %a, %f maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}

// Columns that a convolution steps over: what it adds to them becomes a dim.
// CHECK-LABEL: func.func @strided
func.func @strided(%x: tensor<8x33x33xf32>, %w: tensor<32x8x3x3xf32>) -> tensor<32x16x16xf32> {
  // CHECK-NEXT: %x_packed = graph.contract %x maps [affine_map<(d0, d1, d2, d3) -> (d0, d1, (d2 + (d3 * 2)))>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>] bounds [8, 33, 3, 16] {{{.*}}} : tensor<8x33x33xf32> -> tensor<8x33x3x16xf32>
  // CHECK-NEXT: graph.contract %x_packed, %w maps [affine_map<(d0, d1, d2, d3, d4, d5) -> (d3, ((d1 * 2) + d4), d5, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d3, d4, d5)>
  %y = graph.contract %x, %w maps [affine_map<(o, i, j, c, k, l) -> (c, i * 2 + k, j * 2 + l)>, affine_map<(o, i, j, c, k, l) -> (o, c, k, l)>, affine_map<(o, i, j, c, k, l) -> (o, i, j)>] : tensor<8x33x33xf32>, tensor<32x8x3x3xf32> -> tensor<32x16x16xf32>
  func.return %y : tensor<32x16x16xf32>
}

// Nothing to do, too small, or used too seldom to be worth a copy.
// CHECK-LABEL: func.func @left_alone
// CHECK-NOT: materialized
// CHECK: func.return
func.func @left_alone(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %s: tensor<8x8xf32>, %v: tensor<1024xf32>, %m: tensor<1024x1024xf32>) {
  %plain = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %small = graph.contract %s, %s maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  %seldom = graph.contract %v, %m maps [affine_map<(n, k) -> (k)>, affine_map<(n, k) -> (n, k)>, affine_map<(n, k) -> (n)>] : tensor<1024xf32>, tensor<1024x1024xf32> -> tensor<1024xf32>
  func.return
}

// Heads that become columns again: no stride leads along them. Those that were neighbours are read as they lie.
// CHECK-LABEL: func.func @heads
// CHECK:         %p_1 = graph.permute %a [1, 0, 2] {memory_mode = #graph.memory_mode<materialized, "in the order it is read in">} : tensor<4x64x16xf32>
// CHECK-NEXT:    %r_1 = graph.reshape %p_1 : tensor<64x4x16xf32> -> tensor<64x64xf32>
// CHECK-NEXT:    graph.contract %r_1, %w
func.func @heads(%a: tensor<4x64x16xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %p = graph.permute %a [1, 0, 2] : tensor<4x64x16xf32>
  %r = graph.reshape %p : tensor<64x4x16xf32> -> tensor<64x64xf32>
  %c = graph.contract %r, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @neighbours
// CHECK-NOT:     in the order it is read in
// CHECK:         func.return
func.func @neighbours(%a: tensor<4x16x64xf32>, %b: tensor<64x4x16xf32>, %d: tensor<4x16x1x64xf32>, %w: tensor<64x64xf32>) {
  %p = graph.permute %a [2, 0, 1] : tensor<4x16x64xf32>
  %r = graph.reshape %p : tensor<64x4x16xf32> -> tensor<64x64xf32>
  %c = graph.contract %w, %r maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %q = graph.permute %b [1, 2, 0] : tensor<64x4x16xf32>
  %s = graph.reshape %q : tensor<4x16x64xf32> -> tensor<1x64x64xf32>
  %t = graph.reshape %s : tensor<1x64x64xf32> -> tensor<64x64xf32>
  %e = graph.contract %t, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  %f = graph.permute %d [0, 2, 1, 3] : tensor<4x16x1x64xf32>
  %g = graph.reshape %f : tensor<4x1x16x64xf32> -> tensor<64x64xf32>
  %h = graph.contract %g, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return
}

// Panels are read as such.
// CHECK-LABEL: func.func @panels
// CHECK-NOT:     in the order it is read in
// CHECK:         func.return
func.func @panels(%a: tensor<64x64xf32>, %panels: tensor<4x64x16xf32>) -> tensor<64x64xf32> {
  %p = graph.permute %panels [1, 0, 2] : tensor<4x64x16xf32>
  %b = graph.reshape %p : tensor<64x4x16xf32> -> tensor<64x64xf32>
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d1 = 16 in panels] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}

// RUN: tenon-opt -p multiply-nibbles --split-input-file %s | filecheck %s
// RUN: tenon-opt -p multiply-nibbles --verify-semantics=2 --split-input-file -o /dev/null %s

// CHECK-LABEL: func.func @few_rows
// CHECK:         %n_1 = graph.nibble %b, %i {memory_mode = #graph.memory_mode<virtual, "unpacked where it is multiplied">} : tensor<4x2x5xi8>
// CHECK-NEXT:    %x_1 = graph.reshape %x : tensor<3x8xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT:    %c = graph.contract %x_1, %n_1 maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>] bounds [3, 5, 4, 2] : tensor<3x4x2xf32>, tensor<4x2x5xi8> -> tensor<3x5xf32>
func.func @few_rows(%x: tensor<3x8xf32>, %b: tensor<4x2x5xi8>) -> tensor<3x5xf32> {
  %i = graph.iota axis 1 : tensor<4x2x5xi8>
  %n = graph.nibble %b, %i : tensor<4x2x5xi8>
  %w = graph.reshape %n : tensor<4x2x5xi8> -> tensor<8x5xi8>
  %c = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<3x8xf32>, tensor<8x5xi8> -> tensor<3x5xf32>
  func.return %c : tensor<3x5xf32>
}

// -----

// The weights come first, and along a batch.
// CHECK-LABEL: func.func @batch
// CHECK:         %c = graph.contract %n_1, %x_1 maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>] bounds [3, 5, 4, 2] : tensor<3x4x2x5xi8>, tensor<3x4x2xf32> -> tensor<3x5xf32>
func.func @batch(%x: tensor<3x8xf32>, %b: tensor<3x4x2x5xi8>) -> tensor<3x5xf32> {
  %i = graph.iota axis 2 : tensor<3x4x2x5xi8>
  %n = graph.nibble %b, %i : tensor<3x4x2x5xi8>
  %w = graph.reshape %n : tensor<3x4x2x5xi8> -> tensor<3x8x5xi8>
  %c = graph.contract %w, %x maps [affine_map<(g, n, k) -> (g, k, n)>, affine_map<(g, n, k) -> (g, k)>, affine_map<(g, n, k) -> (g, n)>] : tensor<3x8x5xi8>, tensor<3x8xf32> -> tensor<3x5xf32>
  func.return %c : tensor<3x5xf32>
}

// -----

// More than 16 rows, pairs along the columns, maxima, a window, and bytes as they are stay.
// CHECK-LABEL: func.func @left_alone
// CHECK-COUNT-1: graph.nibble
// CHECK-NOT:     graph.nibble
// CHECK-NOT:     tensor<3x4x2xf32>
func.func @left_alone(%x: tensor<17x8xf32>, %y: tensor<3x4xf32>, %z: tensor<3x8xf32>, %long: tensor<9xf32>, %b: tensor<4x2x8xi8>, %v: tensor<8x8xi8>) -> (tensor<17x8xf32>, tensor<3x16xf32>, tensor<3x8xf32>, tensor<2x8xf32>, tensor<3x8xf32>) {
  %i = graph.iota axis 1 : tensor<4x2x8xi8>
  %n = graph.nibble %b, %i : tensor<4x2x8xi8>
  %w = graph.reshape %n : tensor<4x2x8xi8> -> tensor<8x8xi8>
  %flat = graph.reshape %n : tensor<4x2x8xi8> -> tensor<4x16xi8>
  %0 = graph.contract %x, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<17x8xf32>, tensor<8x8xi8> -> tensor<17x8xf32>
  %1 = graph.contract %y, %flat maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<3x4xf32>, tensor<4x16xi8> -> tensor<3x16xf32>
  %2 = graph.contract %z, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] accumulate max combine add : tensor<3x8xf32>, tensor<8x8xi8> -> tensor<3x8xf32>
  %3 = graph.contract %long, %w maps [affine_map<(m, n, k) -> (m + k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] bounds [2, 8, 8] : tensor<9xf32>, tensor<8x8xi8> -> tensor<2x8xf32>
  %4 = graph.contract %z, %v maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<3x8xf32>, tensor<8x8xi8> -> tensor<3x8xf32>
  func.return %0, %1, %2, %3, %4 : tensor<17x8xf32>, tensor<3x16xf32>, tensor<3x8xf32>, tensor<2x8xf32>, tensor<3x8xf32>
}

// RUN: tenon-opt %s -p infer-precision,dce | filecheck %s

// CHECK-LABEL: @narrowed
// CHECK-NEXT: %d = graph.add %x, %y : tensor<4xf16>
// CHECK-NEXT: func.return %d
func.func @narrowed(%x: tensor<4xf16>, %y: tensor<4xf16>) -> tensor<4xf16> {
  %a = graph.cast %x : tensor<4xf16> -> tensor<4xf32>
  %b = graph.cast %y : tensor<4xf16> -> tensor<4xf32>
  %c = graph.add %a, %b : tensor<4xf32>
  %d = graph.cast %c : tensor<4xf32> -> tensor<4xf16>
  func.return %d : tensor<4xf16>
}

// Two operations round twice in f16, but once in f32.
// CHECK-LABEL: @rounded_once
// CHECK: graph.mul {{.*}} : tensor<4xf32>
// CHECK: graph.add {{.*}} : tensor<4xf32>
func.func @rounded_once(%x: tensor<4xf16>) -> tensor<4xf16> {
  %a = graph.cast %x : tensor<4xf16> -> tensor<4xf32>
  %b = graph.mul %a, %a : tensor<4xf32>
  %c = graph.add %b, %a : tensor<4xf32>
  %d = graph.cast %c : tensor<4xf32> -> tensor<4xf16>
  func.return %d : tensor<4xf16>
}

// A contraction casts its operands itself, also behind views of them.
// CHECK-LABEL: @narrow_factors
// CHECK-NEXT: %[[B:.*]] = graph.reshape %w : tensor<32xi8> -> tensor<8x4xi8>
// CHECK-NEXT: graph.contract %x, %[[B]]
// CHECK-SAME:   : tensor<2x8xf32>, tensor<8x4xi8> -> tensor<2x4xf32>
func.func @narrow_factors(%x: tensor<2x8xf32>, %w: tensor<32xi8>) -> tensor<2x4xf32> {
  %a = graph.cast %w : tensor<32xi8> -> tensor<32xf32>
  %b = graph.reshape %a : tensor<32xf32> -> tensor<8x4xf32>
  %c = graph.contract %x, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
  func.return %c : tensor<2x4xf32>
}

// What is as wide, and what was rounded on its way, is cast as before.
// CHECK-LABEL: @wide_factors
// CHECK: graph.cast %w : tensor<8x4xi32> -> tensor<8x4xf32>
// CHECK: graph.cast %v : tensor<8x4xi16> -> tensor<8x4xbf16>
func.func @wide_factors(%x: tensor<2x8xf32>, %w: tensor<8x4xi32>, %v: tensor<8x4xi16>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %a = graph.cast %w : tensor<8x4xi32> -> tensor<8x4xf32>
  %b = graph.cast %v : tensor<8x4xi16> -> tensor<8x4xbf16>
  %c = graph.contract %x, %a maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2x8xf32>, tensor<8x4xf32> -> tensor<2x4xf32>
  %d = graph.contract %x, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<2x8xf32>, tensor<8x4xbf16> -> tensor<2x4xf32>
  func.return %c, %d : tensor<2x4xf32>, tensor<2x4xf32>
}

// Masks compare indices of 32 bits, of named dims too, where these have a bound.
// CHECK-LABEL: @causal
// CHECK-NOT: i64
// CHECK: graph.ge {{.*}} : tensor<128x128xi32>
func.func @causal(%x: tensor<128x128xf32>, %y: tensor<128x128xf32>) -> tensor<128x128xf32> {
  %i = graph.iota axis 0 : tensor<128x128xi64>
  %j = graph.iota axis 1 : tensor<128x128xi64>
  %m = graph.ge %i, %j : tensor<128x128xi64>
  %s = graph.select %m, %x, %y : tensor<128x128xf32>
  func.return %s : tensor<128x128xf32>
}
// CHECK-LABEL: @named
// CHECK: graph.lt {{.*}} : tensor<?xi32, #graph.dims<n>>
// CHECK: graph.lt {{.*}} : tensor<?xi64, #graph.dims<m>>
graph.dim @n min 1 max 100
graph.dim @m min 1 max 2147483647
func.func @named(%k: tensor<?xi32, #graph.dims<n>>, %l: tensor<?xi32, #graph.dims<m>>) -> (tensor<?xi1, #graph.dims<n>>, tensor<?xi1, #graph.dims<m>>) {
  %i = graph.iota axis 0 : tensor<?xi64, #graph.dims<n>>
  %c = graph.cast %k : tensor<?xi32, #graph.dims<n>> -> tensor<?xi64, #graph.dims<n>>
  %a = graph.lt %i, %c : tensor<?xi64, #graph.dims<n>>
  %j = graph.iota axis 0 : tensor<?xi64, #graph.dims<m>>
  %d = graph.cast %l : tensor<?xi32, #graph.dims<m>> -> tensor<?xi64, #graph.dims<m>>
  %twice = graph.add %j, %j : tensor<?xi64, #graph.dims<m>>
  %b = graph.lt %twice, %d : tensor<?xi64, #graph.dims<m>>
  func.return %a, %b : tensor<?xi1, #graph.dims<n>>, tensor<?xi1, #graph.dims<m>>
}

// Sums of narrow integers that cannot be too large have fewer bits, of a dim that varies by the most that it is.
// CHECK-LABEL: @counted
// CHECK-NEXT: %[[A:.*]] = graph.cast %x : tensor<?x8xi1, #graph.dims<n, 8>> -> tensor<?x8xi16, #graph.dims<n, 8>>
// CHECK-NEXT: %[[B:.*]] = graph.reduce add %[[A]] axes [0] : tensor<?x8xi16, #graph.dims<n, 8>> -> tensor<8xi16>
// CHECK-NEXT: graph.cast %[[B]] : tensor<8xi16> -> tensor<8xi64>
func.func @counted(%x: tensor<?x8xi1, #graph.dims<n, 8>>) -> tensor<8xi64> {
  %a = graph.cast %x : tensor<?x8xi1, #graph.dims<n, 8>> -> tensor<?x8xi64, #graph.dims<n, 8>>
  %s = graph.reduce add %a axes [0] : tensor<?x8xi64, #graph.dims<n, 8>> -> tensor<8xi64>
  func.return %s : tensor<8xi64>
}

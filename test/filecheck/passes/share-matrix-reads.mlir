// RUN: tenon-opt %s -p 'share-matrix-reads{l2-nbytes=65536 n-threads=1}' | filecheck %s
// RUN: tenon-opt %s -p share-matrix-reads{l2-nbytes=1048576} | filecheck %s --check-prefix=APART
// RUN: tenon-opt %s -p 'share-matrix-reads{l2-nbytes=65536 n-threads=3}' | filecheck %s --check-prefix=APART

// Blocks of rows; what is left over is added after the loop.
// CHECK-LABEL: func.func @both
// CHECK:         %p, %{{.*}} = graph.scan %block = 12 (%sums = %{{.*}}) : (tensor<128xf64>) -> (tensor<128xf64>, tensor<12x8xf64>) {
// CHECK:           %a_1 = graph.dynamic_slice %a[%start, %{{.*}}] sizes [8, 128]
// CHECK:           %q = graph.contract %a_1, %x
// CHECK:           %y_1 = graph.dynamic_slice %y[%start] sizes [8]
// CHECK:           %p_1 = graph.contract %y_1, %a_1
// CHECK:           graph.add %sums, %p_1
// CHECK:         graph.slice %a offsets [96, 0] sizes [7, 128]
// CHECK:         graph.concat
// APART-LABEL: func.func @both
// APART-NOT:     graph.scan
func.func @both(%a: tensor<103x128xf64>, %x: tensor<128xf64>, %y: tensor<103xf64>) -> (tensor<103xf64>, tensor<128xf64>) {
  %q = graph.contract %a, %x maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<103x128xf64>, tensor<128xf64> -> tensor<103xf64>
  %p = graph.contract %y, %a maps [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>] : tensor<103xf64>, tensor<103x128xf64> -> tensor<128xf64>
  func.return %q, %p : tensor<103xf64>, tensor<128xf64>
}

// The product by columns of what the product by rows gives.
// CHECK-LABEL: func.func @chain
// CHECK:         graph.scan %block = 8
// CHECK:           %q = graph.contract %a_1, %x
// CHECK:           graph.contract %q, %a_1
func.func @chain(%a: tensor<64x128xf64>, %x: tensor<128xf64>) -> tensor<128xf64> {
  %q = graph.contract %a, %x maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<64x128xf64>, tensor<128xf64> -> tensor<64xf64>
  %p = graph.contract %q, %a maps [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>] : tensor<64xf64>, tensor<64x128xf64> -> tensor<128xf64>
  func.return %p : tensor<128xf64>
}

// The first product is needed as a whole before the second one.
// CHECK-LABEL: func.func @whole
// CHECK-NOT:     graph.scan
func.func @whole(%a: tensor<64x128xf64>, %x: tensor<128xf64>) -> tensor<128xf64> {
  %q = graph.contract %a, %x maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<64x128xf64>, tensor<128xf64> -> tensor<64xf64>
  %e = graph.exp %q : tensor<64xf64>
  %p = graph.contract %e, %a maps [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>] : tensor<64xf64>, tensor<64x128xf64> -> tensor<128xf64>
  func.return %p : tensor<128xf64>
}

// The product by columns comes first, and its result is the other one's vector.
// CHECK-LABEL: func.func @turned
// CHECK-NOT:     graph.scan
func.func @turned(%a: tensor<128x128xf64>, %y: tensor<128xf64>) -> tensor<128xf64> {
  %p = graph.contract %y, %a maps [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>] : tensor<128xf64>, tensor<128x128xf64> -> tensor<128xf64>
  %q = graph.contract %a, %p maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<128x128xf64>, tensor<128xf64> -> tensor<128xf64>
  func.return %q : tensor<128xf64>
}

// Sums of narrow floats are rounded once; two products by rows read the matrix in the same order anyway.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT:     graph.scan
func.func @narrow(%a: tensor<128x512xf16>, %x: tensor<512xf16>, %y: tensor<128xf16>, %b: tensor<128x128xf64>, %z: tensor<128xf64>, %w: tensor<128xf64>) -> (tensor<128xf16>, tensor<512xf16>, tensor<128xf64>, tensor<128xf64>) {
  %q = graph.contract %a, %x maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<128x512xf16>, tensor<512xf16> -> tensor<128xf16>
  %p = graph.contract %y, %a maps [affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (k, j)>, affine_map<(j, k) -> (j)>] : tensor<128xf16>, tensor<128x512xf16> -> tensor<512xf16>
  %r = graph.contract %b, %z maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<128x128xf64>, tensor<128xf64> -> tensor<128xf64>
  %s = graph.contract %b, %w maps [affine_map<(j, k) -> (j, k)>, affine_map<(j, k) -> (k)>, affine_map<(j, k) -> (j)>] : tensor<128x128xf64>, tensor<128xf64> -> tensor<128xf64>
  func.return %q, %p, %r, %s : tensor<128xf16>, tensor<512xf16>, tensor<128xf64>, tensor<128xf64>
}

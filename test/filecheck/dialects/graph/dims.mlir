// RUN: tenon-opt %s | filecheck %s
// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// CHECK: graph.dim @n min 1 max 64
graph.dim @n min 1 max 64
// CHECK: graph.dim @m min 2 max 32 {note = 1 : i64}
graph.dim @m min 2 max 32 {note = 1 : i64}

// CHECK-LABEL: func.func @shapes
func.func @shapes(
    // CHECK-SAME: %x: tensor<?x8xf32, #graph.dims<n, 8>>
    %x: tensor<?x8xf32, #graph.dims<n, 8>>,
    // CHECK-SAME: %y: tensor<?x8xf32, #graph.dims<m + n, 8>>
    %y: tensor<?x8xf32, #graph.dims<n + m, 8>>,
    // CHECK-SAME: %z: tensor<?x?xf32, #graph.dims<2 * n + 1, ?>>
    %z: tensor<?x?xf32, #graph.dims<n + 1 + n, ?>>) {
  // CHECK: graph.concat %x, %y axis 0 : tensor<?x8xf32, #graph.dims<n, 8>>, tensor<?x8xf32, #graph.dims<m + n, 8>> -> tensor<?x8xf32, #graph.dims<m + 2 * n, 8>>
  %c = graph.concat %x, %y axis 0 : tensor<?x8xf32, #graph.dims<n, 8>>, tensor<?x8xf32, #graph.dims<n + m, 8>> -> tensor<?x8xf32, #graph.dims<2 * n + m, 8>>
  // CHECK: graph.reshape %c : tensor<?x8xf32, #graph.dims<m + 2 * n, 8>> -> tensor<?xf32, #graph.dims<8 * m + 16 * n>>
  %r = graph.reshape %c : tensor<?x8xf32, #graph.dims<m + 2 * n, 8>> -> tensor<?xf32, #graph.dims<8 * (m + 2 * n)>>
  // CHECK: graph.slice %x offsets [n floordiv 2, 0] sizes [-(n floordiv 2) + n, 8] strides [1, 1] : tensor<?x8xf32, #graph.dims<n, 8>>
  %s = graph.slice %x offsets [n floordiv 2, 0] sizes [n - n floordiv 2, 8] strides [1, 1] : tensor<?x8xf32, #graph.dims<n, 8>>
  // CHECK: graph.exp %s : tensor<?x8xf32, #graph.dims<-(n floordiv 2) + n, 8>>
  %e = graph.exp %s : tensor<?x8xf32, #graph.dims<n - n floordiv 2, 8>>
  // CHECK: graph.iota axis 0 : tensor<?x?xi32, #graph.dims<max(m, n), n mod 4>>
  %i = graph.iota axis 0 : tensor<?x?xi32, #graph.dims<max(n, m), n mod 4>>
  // CHECK: graph.reduce add %i axes [0] : tensor<?x?xi32, #graph.dims<max(m, n), n mod 4>> -> tensor<?xi32, #graph.dims<n mod 4>>
  %t = graph.reduce add %i axes [0] : tensor<?x?xi32, #graph.dims<max(n, m), n mod 4>> -> tensor<?xi32, #graph.dims<n mod 4>>
  func.return
}

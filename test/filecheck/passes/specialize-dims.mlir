// RUN: tenon-opt -p 'specialize-dims{sizes="n=16"}' %s | filecheck %s

// CHECK-NOT: graph.dim @n
graph.dim @n min 1 max 64
// CHECK: graph.dim @m min 1 max 64
graph.dim @m min 1 max 64

// CHECK: func.func @f(%x: tensor<16x8xf32>, %y: tensor<?xf32, #graph.dims<m + 16>>) -> tensor<8x8xf32> {
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>, %y: tensor<?xf32, #graph.dims<m + n>>) -> tensor<?x8xf32, #graph.dims<n floordiv 2, 8>> {
  // CHECK: graph.slice %x offsets [8, 0] sizes [8, 8] strides [1, 1] : tensor<16x8xf32>
  %s = graph.slice %x offsets [n floordiv 2, 0] sizes [n floordiv 2, 8] strides [1, 1] : tensor<?x8xf32, #graph.dims<n, 8>>
  // CHECK: func.return %s : tensor<8x8xf32>
  func.return %s : tensor<?x8xf32, #graph.dims<n floordiv 2, 8>>
}

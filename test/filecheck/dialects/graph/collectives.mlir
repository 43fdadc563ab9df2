// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// CHECK: shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
graph.dim @n min 1 max 8

// CHECK-LABEL: func.func @every
func.func @every(%x: tensor<4x8xf32>, %b: tensor<i1>, %d: tensor<?x8xf32, #graph.dims<n, 8>>) {
  // CHECK-NEXT: %{{.*}} = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4x8xf32>
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.all_reduce or %b on @mesh axes = [1, 0] channel = 2 {note} : tensor<i1>
  %o = graph.all_reduce or %b on @mesh axes = [1, 0] channel = 2 {note} : tensor<i1>
  // CHECK-NEXT: %{{.*}} = graph.all_gather %x on @mesh axes = [0] dim = 1 channel = 3 : tensor<4x8xf32> -> tensor<4x16xf32>
  %g = graph.all_gather %x on @mesh axes = [0] dim = 1 channel = 3 : tensor<4x8xf32> -> tensor<4x16xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce_scatter max %g on @mesh axes = [0, 1] dim = 0 channel = 4 : tensor<4x16xf32> -> tensor<1x16xf32>
  %r = graph.reduce_scatter max %g on @mesh axes = [0, 1] dim = 0 channel = 4 : tensor<4x16xf32> -> tensor<1x16xf32>
  // CHECK-NEXT: %{{.*}} = graph.all_to_all %x on @mesh axes = [1] split_dim = 0 concat_dim = 1 channel = 5 : tensor<4x8xf32> -> tensor<2x16xf32>
  %a = graph.all_to_all %x on @mesh axes = [1] split_dim = 0 concat_dim = 1 channel = 5 : tensor<4x8xf32> -> tensor<2x16xf32>
  // CHECK-NEXT: %{{.*}} = graph.collective_permute %x on @mesh axes = [0] pairs = {{\[\[0, 1\], \[1, 0\]\]}} channel = 6 : tensor<4x8xf32> -> tensor<3xf32>
  %p = graph.collective_permute %x on @mesh axes = [0] pairs = [[0, 1], [1, 0]] channel = 6 : tensor<4x8xf32> -> tensor<3xf32>
  // CHECK-NEXT: %{{.*}} = graph.collective_permute %x on @mesh axes = [0] pairs = [] channel = 7 : tensor<4x8xf32> -> tensor<3xf32>
  %q = graph.collective_permute %x on @mesh axes = [0] pairs = [] channel = 7 : tensor<4x8xf32> -> tensor<3xf32>
  // CHECK-NEXT: %{{.*}} = graph.axis_index on @mesh axis = 1 : tensor<i32>
  %i = graph.axis_index on @mesh axis = 1 : tensor<i32>
  // A dim that is not split may be a named one.
  // CHECK-NEXT: %{{.*}} = graph.all_gather %d on @mesh axes = [0] dim = 1 channel = 8 : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<?x16xf32, #graph.dims<n, 16>>
  %h = graph.all_gather %d on @mesh axes = [0] dim = 1 channel = 8 : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<?x16xf32, #graph.dims<n, 16>>
  // CHECK-NEXT: %{{.*}} = graph.all_reduce add %d on @mesh axes = [0] channel = 9 : tensor<?x8xf32, #graph.dims<n, 8>>
  %t = graph.all_reduce add %d on @mesh axes = [0] channel = 9 : tensor<?x8xf32, #graph.dims<n, 8>>
  func.return
}

// Parts that are not equal: a rank has the first or a later one where the module is no rank's.
// CHECK-LABEL: func.func @uneven
func.func @uneven(%x: tensor<2xf32>, %y: tensor<1xf32>) {
  // CHECK-NEXT: tensor<2xf32> -> tensor<3xf32>
  %g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 1 : tensor<2xf32> -> tensor<3xf32>
  // CHECK-NEXT: tensor<1xf32> -> tensor<3xf32>
  %h = graph.all_gather %y on @mesh axes = [0] dim = 0 channel = 2 : tensor<1xf32> -> tensor<3xf32>
  func.return
}

// CHECK-LABEL: func.func @manual
func.func @manual(%x: tensor<4x8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  // CHECK-NEXT: %s, %t = graph.manual_computation on @mesh(%x, %y) split {{\[\[\[0\], \[\]\], \[\[\]\]\]}} to {{\[\[\[\]\], \[\[\], \[1, 0\]\]\]}} {note} : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  %s, %t = graph.manual_computation on @mesh(%x, %y) split [[[0], []], [[]]] to [[[]], [[], [1, 0]]] {note}
      : (tensor<4x8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<2x8xf32>) {
  // CHECK-NEXT: ^bb{{.*}}(%part: tensor<2x8xf32>, %{{.*}}: tensor<8xf32>):
  ^bb0(%part: tensor<2x8xf32>, %all: tensor<8xf32>):
    // CHECK-NEXT: graph.reduce
    %own = graph.reduce add %part axes [0] : tensor<2x8xf32> -> tensor<8xf32>
    // CHECK-NEXT: graph.all_reduce
    %sum = graph.all_reduce add %own on @mesh axes = [0] channel = 1 : tensor<8xf32>
    %few = graph.slice %part offsets [0, 0] sizes [2, 2] strides [1, 1] : tensor<2x8xf32>
    // CHECK: graph.yield %sum, %few : tensor<8xf32>, tensor<2x2xf32>
    graph.yield %sum, %few : tensor<8xf32>, tensor<2x2xf32>
  }
  func.return %s, %t : tensor<8xf32>, tensor<2x8xf32>
}

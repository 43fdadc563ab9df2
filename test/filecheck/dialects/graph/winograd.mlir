// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s
// RUN: tenon-opt -p canonicalize-graph %s | filecheck %s --check-prefix FOLDED

graph.dim @n min 1 max 8

// The sums are the first axis, wherever the tiles are; other extents may vary.
// CHECK-LABEL: func.func @transforms
func.func @transforms(%x: tensor<?x8x5xf32, #graph.dims<n, 8, 5>>, %w: tensor<5x3xf64>, %m: tensor<4x2x3xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.winograd_input_transform %x axis 1 : tensor<?x8x5xf32, #graph.dims<n, 8, 5>> -> tensor<4x?x3x5xf32, #graph.dims<4, n, 3, 5>>
  %v = graph.winograd_input_transform %x axis 1 : tensor<?x8x5xf32, #graph.dims<n, 8, 5>> -> tensor<4x?x3x5xf32, #graph.dims<4, n, 3, 5>>
  // CHECK-NEXT: %{{.*}} = graph.winograd_filter_transform %w axis 1 : tensor<5x3xf64> -> tensor<4x5xf64>
  %u = graph.winograd_filter_transform %w axis 1 : tensor<5x3xf64> -> tensor<4x5xf64>
  // CHECK-NEXT: %{{.*}} = graph.winograd_output_transform %m axis 1 : tensor<4x2x3xf32> -> tensor<2x6xf32>
  %y = graph.winograd_output_transform %m axis 1 : tensor<4x2x3xf32> -> tensor<2x6xf32>
  func.return
}

// FOLDED-LABEL: func.func @folded
// FOLDED-DAG: graph.constant dense<[-2.000000e+00, 5.000000e+00, 1.000000e+00, -2.000000e+00]> : tensor<4xf32>
// FOLDED-DAG: graph.constant dense<[1.000000e+00, 7.000000e+00, 3.000000e+00, 9.000000e+00]> : tensor<4xf32>
// FOLDED-DAG: graph.constant dense<[6.000000e+00, -5.000000e+00]> : tensor<2xf32>
func.func @folded() -> (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  %x = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w = graph.constant dense<[1.0, 4.0, 9.0]> : tensor<3xf32>
  %m = graph.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %one = graph.winograd_input_transform %x axis 0 : tensor<4xf32> -> tensor<4x1xf32>
  %v = graph.reshape %one : tensor<4x1xf32> -> tensor<4xf32>
  %u = graph.winograd_filter_transform %w axis 0 : tensor<3xf32> -> tensor<4xf32>
  %y = graph.winograd_output_transform %m axis 0 : tensor<4x1xf32> -> tensor<2xf32>
  func.return %v, %u, %y : tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}

// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// `?` agrees with every extent.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<?x8xf32>, %v: tensor<f32>, %y: tensor<4x8xf32>, %w: tensor<8x?xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.exp %x : tensor<?x8xf32>
  %exp = graph.exp %x : tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.lt %x, %x : tensor<?x8xf32>
  %less = graph.lt %x, %x : tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.reshape %x : tensor<?x8xf32> -> tensor<32xf32>
  %static = graph.reshape %x : tensor<?x8xf32> -> tensor<32xf32>
  // CHECK-NEXT: %{{.*}} = graph.cast %x : tensor<?x8xf32> -> tensor<4x8xf16>
  %known = graph.cast %x : tensor<?x8xf32> -> tensor<4x8xf16>
  // CHECK-NEXT: %{{.*}} = graph.permute %x [1, 0] : tensor<?x8xf32>
  %permute = graph.permute %x [1, 0] : tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.neg %{{.*}} : tensor<8x?xf32>
  %permuted = graph.neg %permute : tensor<8x?xf32>
  // CHECK-NEXT: %{{.*}} = graph.broadcast %x : tensor<?x8xf32> -> tensor<2x4x8xf32>
  %broadcast = graph.broadcast %x : tensor<?x8xf32> -> tensor<2x4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.pad %x, %v low [1, 1] high [0, 0] : tensor<?x8xf32>
  %pad = graph.pad %x, %v low [1, 1] high [0, 0] : tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.neg %{{.*}} : tensor<?x9xf32>
  %padded = graph.neg %pad : tensor<?x9xf32>
  // CHECK-NEXT: %{{.*}} = graph.slice %x offsets [90, 0] sizes [10, 8] strides [1, 1] : tensor<?x8xf32>
  %slice = graph.slice %x offsets [90, 0] sizes [10, 8] strides [1, 1] : tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.neg %{{.*}} : tensor<10x8xf32>
  %sliced = graph.neg %slice : tensor<10x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.flip %x axes [0] : tensor<?x8xf32>
  %flip = graph.flip %x axes [0] : tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.concat %x, %y axis 0 : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x8xf32>
  %concat = graph.concat %x, %y axis 0 : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<?x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.concat %x, %y axis 1 : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  %across = graph.concat %x, %y axis 1 : tensor<?x8xf32>, tensor<4x8xf32> -> tensor<4x16xf32>
  // CHECK-NEXT: %{{.*}} = graph.reduce add %x axes [1] : tensor<?x8xf32> -> tensor<?xf32>
  %sum = graph.reduce add %x axes [1] : tensor<?x8xf32> -> tensor<?xf32>
  // CHECK-NEXT: %{{.*}} = graph.contract %x, %w maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : tensor<?x8xf32>, tensor<8x?xf32> -> tensor<?x?xf32>
  %product = graph.contract %x, %w maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] : tensor<?x8xf32>, tensor<8x?xf32> -> tensor<?x?xf32>
  func.return
}

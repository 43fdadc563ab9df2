// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// Index tensors have one shape, of any rank, and each an integer type of its own.
// CHECK-LABEL: func.func @gather
func.func @gather(%x: tensor<4x8x5xf32>, %i: tensor<3xi64>, %j: tensor<3xi8>, %k: tensor<i32>, %m: tensor<2x3xi16>) {
  // CHECK-NEXT: %{{.*}} = graph.gather %x[%i] axes [1] : tensor<4x8x5xf32>[tensor<3xi64>] -> tensor<3x4x5xf32>
  %one = graph.gather %x[%i] axes [1] : tensor<4x8x5xf32>[tensor<3xi64>] -> tensor<3x4x5xf32>
  // CHECK-NEXT: %{{.*}} = graph.gather %x[%i, %j] axes [2, 0] : tensor<4x8x5xf32>[tensor<3xi64>, tensor<3xi8>] -> tensor<3x8xf32>
  %two = graph.gather %x[%i, %j] axes [2, 0] : tensor<4x8x5xf32>[tensor<3xi64>, tensor<3xi8>] -> tensor<3x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.gather %x[%k] axes [0] : tensor<4x8x5xf32>[tensor<i32>] -> tensor<8x5xf32>
  %rank_0 = graph.gather %x[%k] axes [0] : tensor<4x8x5xf32>[tensor<i32>] -> tensor<8x5xf32>
  // CHECK-NEXT: %{{.*}} = graph.gather %x[%m] axes [0] : tensor<4x8x5xf32>[tensor<2x3xi16>] -> tensor<2x3x8x5xf32>
  %rank_2 = graph.gather %x[%m] axes [0] : tensor<4x8x5xf32>[tensor<2x3xi16>] -> tensor<2x3x8x5xf32>
  func.return
}

// CHECK-LABEL: func.func @scatter
func.func @scatter(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %u: tensor<3x8xf32>, %b: tensor<4x8xi1>, %v: tensor<3x8xi1>) {
  // CHECK-NEXT: %{{.*}} = graph.scatter set %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  %set = graph.scatter set %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.scatter add %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  %add = graph.scatter add %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.scatter mul %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  %mul = graph.scatter mul %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.scatter max %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  %max = graph.scatter max %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.scatter min %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  %min = graph.scatter min %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.scatter set %b[%i], %v axes [0] : tensor<4x8xi1>[tensor<3xi64>], tensor<3x8xi1>
  %bits = graph.scatter set %b[%i], %v axes [0] : tensor<4x8xi1>[tensor<3xi64>], tensor<3x8xi1>
  func.return
}

// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%x: tensor<4x8xf32>, %i: tensor<i64>, %j: tensor<ui8>, %u: tensor<1x8xf32>, %s: tensor<f32>) {
  // CHECK-NEXT: %{{.*}} = graph.dynamic_slice %x[%i, %j] sizes [1, 8] : tensor<4x8xf32>[tensor<i64>, tensor<ui8>]
  %slice = graph.dynamic_slice %x[%i, %j] sizes [1, 8] : tensor<4x8xf32>[tensor<i64>, tensor<ui8>]
  // CHECK-NEXT: %{{.*}} = graph.dynamic_update %x[%i, %j], %u : tensor<4x8xf32>[tensor<i64>, tensor<ui8>], tensor<1x8xf32>
  %update = graph.dynamic_update %x[%i, %j], %u : tensor<4x8xf32>[tensor<i64>, tensor<ui8>], tensor<1x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.dynamic_update %x[%i, %j], %u strides [3, 1] : tensor<4x8xf32>[tensor<i64>, tensor<ui8>], tensor<1x8xf32>
  %steps = graph.dynamic_update %x[%i, %j], %u strides [3, 1] : tensor<4x8xf32>[tensor<i64>, tensor<ui8>], tensor<1x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.dynamic_slice %s[] sizes [] : tensor<f32>[]
  %scalar = graph.dynamic_slice %s[] sizes [] : tensor<f32>[]
  func.return
}

// CHECK-LABEL: func.func @cumulate
func.func @cumulate(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.cumulate add %x axis 1 : tensor<4x8xf32>
  %add = graph.cumulate add %x axis 1 : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.cumulate mul %x axis 0 reverse : tensor<4x8xf32>
  %mul = graph.cumulate mul %x axis 0 reverse : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.cumulate max %x axis 1 exclusive : tensor<4x8xf32>
  %max = graph.cumulate max %x axis 1 exclusive : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.cumulate min %x axis 1 reverse exclusive : tensor<4x8xf32>
  %min = graph.cumulate min %x axis 1 reverse exclusive : tensor<4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @sort
func.func @sort(%x: tensor<4x8xf32>, %b: tensor<8xi1>, %s: tensor<8xf32>) {
  // CHECK-NEXT: %{{.*}} = graph.sort %x axis 1 : tensor<4x8xf32>
  %sorted = graph.sort %x axis 1 : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.sort %b axis 0 descending : tensor<8xi1>
  %bits = graph.sort %b axis 0 descending : tensor<8xi1>
  // CHECK-NEXT: %{{.*}} = graph.argsort %x axis 0 descending : tensor<4x8xf32>
  %order = graph.argsort %x axis 0 descending : tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.search_sorted left %s, %x : tensor<8xf32>, tensor<4x8xf32>
  %left = graph.search_sorted left %s, %x : tensor<8xf32>, tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = graph.search_sorted right %s, %x : tensor<8xf32>, tensor<4x8xf32>
  %right = graph.search_sorted right %s, %x : tensor<8xf32>, tensor<4x8xf32>
  func.return
}

// CHECK-LABEL: func.func @random
func.func @random(%k: tensor<4xui32>, %c: tensor<4x100xui32>) {
  // CHECK-NEXT: %{{.*}} = graph.threefry %k, %c rounds 20 : tensor<4xui32>, tensor<4x100xui32>
  %bits = graph.threefry %k, %c rounds 20 : tensor<4xui32>, tensor<4x100xui32>
  func.return
}

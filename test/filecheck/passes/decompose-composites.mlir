// RUN: tenon-opt -p decompose-composites %s | filecheck %s

// The first place where the greatest element is; NaN is equal to nothing, and greater than all.
// CHECK-LABEL: func.func @arg_reduce
func.func @arg_reduce(%x: tensor<4x8xf32>, %y: tensor<4x8xi1>) -> (tensor<4xi64>, tensor<1x8xi64>) {
  // CHECK-NEXT: %extremum = graph.reduce max %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK-NEXT: %0 = graph.broadcast %extremum : tensor<4x1xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: %hit = graph.eq %x, %0 : tensor<4x8xf32>
  // CHECK-NEXT: %nan = graph.ne %x, %x : tensor<4x8xf32>
  // CHECK-NEXT: %hit_1 = graph.or %hit, %nan : tensor<4x8xi1>
  // CHECK-NEXT: %index = graph.iota axis 1 : tensor<4x8xi32>
  // CHECK-NEXT: %1 = graph.constant dense<2147483647> : tensor<i32>
  // CHECK-NEXT: %2 = graph.broadcast %1 : tensor<i32> -> tensor<4x8xi32>
  // CHECK-NEXT: %candidate = graph.select %hit_1, %index, %2 : tensor<4x8xi32>
  // CHECK-NEXT: %first = graph.reduce min %candidate axes [1] : tensor<4x8xi32> -> tensor<4xi32>
  // CHECK-NEXT: %i = graph.cast %first : tensor<4xi32> -> tensor<4xi64>
  %i = graph.arg_reduce max %x axis 1 : tensor<4x8xf32> -> tensor<4xi64>
  // CHECK-NEXT: %extremum_1 = graph.reduce and %y axes [0] keep : tensor<4x8xi1> -> tensor<1x8xi1>
  // CHECK-NEXT: %3 = graph.broadcast %extremum_1 : tensor<1x8xi1> -> tensor<4x8xi1>
  // CHECK-NEXT: %hit_2 = graph.eq %y, %3 : tensor<4x8xi1>
  // CHECK-NEXT: %index_1 = graph.iota axis 0 : tensor<4x8xi32>
  // CHECK: %first_1 = graph.reduce min %candidate_1 axes [0] keep : tensor<4x8xi32> -> tensor<1x8xi32>
  // CHECK-NEXT: %j = graph.cast %first_1 : tensor<1x8xi32> -> tensor<1x8xi64>
  %j = graph.arg_reduce min %y axis 0 keep : tensor<4x8xi1> -> tensor<1x8xi64>
  func.return %i, %j : tensor<4xi64>, tensor<1x8xi64>
}

// More elements than an i32 counts.
// CHECK-LABEL: func.func @arg_reduce_of_many
func.func @arg_reduce_of_many(%x: tensor<2147483648x2xi8>, %y: tensor<2147483647x2xi8>) -> (tensor<2xi64>, tensor<2xi64>) {
  // CHECK: graph.iota axis 0 : tensor<2147483648x2xi64>
  // CHECK: %i = graph.reduce min %candidate axes [0] : tensor<2147483648x2xi64> -> tensor<2xi64>
  %i = graph.arg_reduce max %x axis 0 : tensor<2147483648x2xi8> -> tensor<2xi64>
  // CHECK: graph.iota axis 0 : tensor<2147483647x2xi32>
  %j = graph.arg_reduce max %y axis 0 : tensor<2147483647x2xi8> -> tensor<2xi64>
  func.return %i, %j : tensor<2xi64>, tensor<2xi64>
}

// Of one long axis, the extrema of its parts tell which one to look at; the last one ends where the axis does.
// CHECK-LABEL: func.func @arg_reduce_of_one_long_axis
func.func @arg_reduce_of_one_long_axis(%x: tensor<1x131101xf32>) -> tensor<1xi64> {
  // CHECK-NEXT: %0 = graph.reshape %x : tensor<1x131101xf32> -> tensor<131101xf32>
  // CHECK-NEXT: %1 = graph.slice %0 offsets [0] sizes [131072] strides [1] : tensor<131101xf32>
  // CHECK-NEXT: %2 = graph.reshape %1 : tensor<131072xf32> -> tensor<32x4096xf32>
  // CHECK-NEXT: %extremum_partial = graph.reduce max %2 axes [1] {memory_mode = #graph.memory_mode<materialized, "extrema of 32 parts">}
  // CHECK-NEXT: %3 = graph.slice %0 offsets [131072] sizes [29] strides [1] : tensor<131101xf32>
  // CHECK-NEXT: %4 = graph.reduce max %3 axes [0] keep : tensor<29xf32> -> tensor<1xf32>
  // CHECK-NEXT: %5 = graph.concat %extremum_partial, %4 axis 0
  // CHECK:      %part = graph.cast
  // CHECK:      %[[BEGIN:.*]] = graph.min
  // CHECK-NEXT: %[[SEEN:.*]] = graph.dynamic_slice %0[%[[BEGIN]]] sizes [4096]
  // CHECK-NEXT: %{{.*}} = graph.reduce max %[[SEEN]] axes [0]
  // CHECK:      %first{{.*}} = graph.add %[[BEGIN]], %{{.*}} : tensor<i64>
  // CHECK-NEXT: %i = graph.reshape
  %i = graph.arg_reduce max %x axis 1 : tensor<1x131101xf32> -> tensor<1xi64>
  func.return %i : tensor<1xi64>
}

// Half precision is computed in f32.
// CHECK-LABEL: func.func @logsumexp
func.func @logsumexp(%x: tensor<4x8xf16>) -> tensor<4xf16> {
  // CHECK-NEXT: %0 = graph.cast %x : tensor<4x8xf16> -> tensor<4x8xf32>
  // CHECK-NEXT: %greatest = graph.reduce max %0 axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK: %finite = graph.lt
  // CHECK: %exponential = graph.exp
  // CHECK-NEXT: %total = graph.reduce add %exponential axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  // CHECK: %[[LOG:.*]] = graph.log %total
  // CHECK-NEXT: %[[SUM:.*]] = graph.add %[[LOG]], %greatest
  // CHECK-NEXT: graph.select %finite, %[[SUM]], %greatest
  // CHECK: %y = graph.cast %{{.*}} : tensor<4xf32> -> tensor<4xf16>
  %y = graph.logsumexp %x axes [1] : tensor<4x8xf16> -> tensor<4xf16>
  func.return %y : tensor<4xf16>
}

// RUN: tenon-opt -p split-reductions --split-input-file %s | filecheck %s
// RUN: tenon-opt -p split-reductions --verify-semantics=2 --split-input-file -o /dev/null %s

// As many parts as there may be, of equal length.
// CHECK-LABEL: func.func @all
// CHECK-NEXT:    %[[PARTS:.*]] = graph.reshape %x : tensor<131072xf32> -> tensor<8x16384xf32>
// CHECK-NEXT:    %s_partial = graph.reduce add %[[PARTS]] axes [1] {memory_mode = #graph.memory_mode<materialized, "partial results of 8 parts">} : tensor<8x16384xf32> -> tensor<8xf32>
// CHECK-NEXT:    %s = graph.reduce add %s_partial axes [0] : tensor<8xf32> -> tensor<f32>
// CHECK-NEXT:    func.return %s
func.func @all(%x: tensor<131072xf32>) -> tensor<f32> {
  %s = graph.reduce add %x axes [0] : tensor<131072xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// Rows that lie together are one axis; kept dims stay.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    graph.reshape %x : tensor<512x521xi32> -> tensor<266752xi32>
// CHECK-NEXT:    graph.reshape {{.*}} : tensor<266752xi32> -> tensor<16x16672xi32>
// CHECK-NEXT:    graph.reduce max {{.*}} axes [1]
// CHECK-NEXT:    graph.reduce max {{.*}} axes [0]
// CHECK-NEXT:    graph.reshape {{.*}} : tensor<i32> -> tensor<1x1xi32>
func.func @kept(%x: tensor<512x521xi32>) -> tensor<1x1xi32> {
  %s = graph.reduce max %x axes [0, 1] keep : tensor<512x521xi32> -> tensor<1x1xi32>
  func.return %s : tensor<1x1xi32>
}

// -----

// What is computed for the sum alone is computed along one axis.
// CHECK-LABEL: func.func @deviations
// CHECK:         %[[MEAN:.*]] = graph.broadcast %{{.*}} : tensor<f32> -> tensor<150000xf32>
// CHECK-NEXT:    %[[D:.*]] = graph.sub %{{.*}}, %[[MEAN]] : tensor<150000xf32>
// CHECK:         graph.reduce add {{.*}} axes [1] {{.*}} : tensor<8x18750xf32> -> tensor<8xf32>
func.func @deviations(%x: tensor<50000x3xf32>, %mean: tensor<1x1xf32>) -> tensor<f32> {
  %m = graph.broadcast %mean : tensor<1x1xf32> -> tensor<50000x3xf32>
  %d = graph.sub %x, %m : tensor<50000x3xf32>
  %q = graph.mul %d, %d : tensor<50000x3xf32>
  %s = graph.reduce add %q axes [0, 1] : tensor<50000x3xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// Rows of another order, and what has an element for each column, are not: parts are of rows.
// CHECK-LABEL: func.func @turned
// CHECK:         graph.reduce add {{.*}} axes [1, 2] {{.*}} : tensor<8x6250x3xf32> -> tensor<8xf32>
// CHECK-LABEL: func.func @columns
// CHECK:         graph.reduce add {{.*}} axes [1, 2] {{.*}} : tensor<8x6250x3xf32> -> tensor<8xf32>
func.func @turned(%x: tensor<3x50000xf32>) -> tensor<f32> {
  %t = graph.permute %x [1, 0] : tensor<3x50000xf32>
  %s = graph.reduce add %t axes [0, 1] : tensor<50000x3xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}
func.func @columns(%x: tensor<50000x3xf32>, %y: tensor<3xf32>) -> tensor<f32> {
  %b = graph.broadcast %y : tensor<3xf32> -> tensor<50000x3xf32>
  %p = graph.mul %x, %b : tensor<50000x3xf32>
  %s = graph.reduce add %p axes [0, 1] : tensor<50000x3xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// Nothing divides a prime: what is left is combined last, and what is summed is computed for each part.
// CHECK-LABEL: func.func @rest
// CHECK-DAG:     %[[Y:.*]] = graph.slice %y offsets [0] sizes [131096] strides [1] : tensor<131101xf32>
// CHECK-DAG:     %[[P:.*]] = graph.mul %{{.*}}, %[[Y]] : tensor<131096xf32>
// CHECK:         graph.reduce add {{.*}} axes [1] {{.*}} : tensor<8x16387xf32> -> tensor<8xf32>
// CHECK-NEXT:    %[[MOST:.*]] = graph.reduce add {{.*}} : tensor<8xf32> -> tensor<f32>
// CHECK:         graph.slice %y offsets [131096] sizes [5] strides [1]
// CHECK:         %[[LAST:.*]] = graph.reduce add {{.*}} axes [0] : tensor<5xf32> -> tensor<f32>
// CHECK-NEXT:    graph.add %[[MOST]], %[[LAST]] : tensor<f32>
func.func @rest(%x: tensor<f32>, %y: tensor<131101xf32>) -> tensor<f32> {
  %b = graph.broadcast %x : tensor<f32> -> tensor<131101xf32>
  %p = graph.mul %b, %y : tensor<131101xf32>
  %s = graph.reduce add %p axes [0] : tensor<131101xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// What others read too is stored anyway, and read in parts.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    %p = graph.exp %y
// CHECK-NEXT:    graph.slice %p
func.func @shared(%y: tensor<131101xf32>) -> (tensor<f32>, tensor<131101xf32>) {
  %p = graph.exp %y : tensor<131101xf32>
  %s = graph.reduce add %p axes [0] : tensor<131101xf32> -> tensor<f32>
  func.return %s, %p : tensor<f32>, tensor<131101xf32>
}

// -----

// Partial sums of narrow floats are as wide as the sum itself is added up in.
// CHECK-LABEL: func.func @narrow
// CHECK-NEXT:    graph.cast %x : tensor<131072xbf16> -> tensor<131072xf32>
// CHECK:         %[[SUM:.*]] = graph.reduce add {{.*}} : tensor<8xf32> -> tensor<f32>
// CHECK-NEXT:    graph.cast %[[SUM]] : tensor<f32> -> tensor<bf16>
func.func @narrow(%x: tensor<131072xbf16>) -> tensor<bf16> {
  %s = graph.reduce add %x axes [0] : tensor<131072xbf16> -> tensor<bf16>
  func.return %s : tensor<bf16>
}

// -----

// CHECK-LABEL: func.func @few
// CHECK-NEXT:    %s = graph.reduce add %x axes [0] : tensor<131071xf32>
func.func @few(%x: tensor<131071xf32>) -> tensor<f32> {
  %s = graph.reduce add %x axes [0] : tensor<131071xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

// -----

// Two results are two work-groups; extents that are no numbers have no parts.
// CHECK-LABEL: func.func @rows
// CHECK-NEXT:    graph.reduce add %x axes [1] : tensor<2x131072xf32>
// CHECK-NEXT:    graph.reduce add %y axes [0] : tensor<?xf32, #graph.dims<n>>
graph.dim @n min 1 max 1000000
func.func @rows(%x: tensor<2x131072xf32>, %y: tensor<?xf32, #graph.dims<n>>) -> (tensor<2xf32>, tensor<f32>) {
  %s = graph.reduce add %x axes [1] : tensor<2x131072xf32> -> tensor<2xf32>
  %t = graph.reduce add %y axes [0] : tensor<?xf32, #graph.dims<n>> -> tensor<f32>
  func.return %s, %t : tensor<2xf32>, tensor<f32>
}

// -----

// CHECK-LABEL: func.func @dot
// CHECK-DAG:     %[[X:.*]] = graph.reshape %x : tensor<131072xbf16> -> tensor<8x16384xbf16>
// CHECK-DAG:     %[[Y:.*]] = graph.reshape %y : tensor<131072xbf16> -> tensor<8x16384xbf16>
// CHECK:         %s_partial = graph.contract %[[X]], %[[Y]] maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>] {memory_mode = {{.*}}} : tensor<8x16384xbf16>, tensor<8x16384xbf16> -> tensor<8xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.reduce add %s_partial axes [0] : tensor<8xf32> -> tensor<f32>
// CHECK-NEXT:    graph.cast %[[S]] : tensor<f32> -> tensor<bf16>
// CHECK-LABEL: func.func @matrix_by_vector
// CHECK-NEXT:    graph.contract %a, %x
func.func @dot(%x: tensor<131072xbf16>, %y: tensor<131072xbf16>) -> tensor<bf16> {
  %s = graph.contract %x, %y maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] : tensor<131072xbf16>, tensor<131072xbf16> -> tensor<bf16>
  func.return %s : tensor<bf16>
}
func.func @matrix_by_vector(%a: tensor<1024x1024xf32>, %x: tensor<1024xf32>) -> tensor<f32> {
  %s = graph.contract %a, %x maps [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> ()>] : tensor<1024x1024xf32>, tensor<1024xf32> -> tensor<f32>
  func.return %s : tensor<f32>
}

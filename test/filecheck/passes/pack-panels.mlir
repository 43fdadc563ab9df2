// RUN: tenon-opt -p pack-panels %s | filecheck %s
// RUN: tenon-opt -p 'pack-panels{vector-nbytes=64}' %s | filecheck %s --check-prefix WIDE
// RUN: tenon-opt -p pack-panels,infer-memory-modes,convert-graph-to-sched %s | filecheck %s --check-prefix SCHED

// CHECK-LABEL: func.func @panels
// CHECK-NEXT: %[[R:.*]] = graph.reshape %b : tensor<512x1024xf32> -> tensor<512x64x16xf32>
// CHECK-NEXT: %[[P:.*]] = graph.permute %[[R]] [1, 0, 2] {memory_mode = #graph.memory_mode<materialized, "in panels as wide as a tile">}
// CHECK-NEXT: %[[V:.*]] = graph.permute %[[P]] [1, 0, 2] : tensor<64x512x16xf32>
// CHECK-NEXT: %[[W:.*]] = graph.reshape %[[V]] : tensor<512x64x16xf32> -> tensor<512x1024xf32>
// CHECK-NEXT: graph.contract %a, %[[W]]
// CHECK-SAME: tile [d0 = 6, d1 = 16 in panels]
// WIDE-LABEL: func.func @panels
// WIDE: memory_mode = #graph.memory_mode<materialized, "in panels as wide as a tile">
// WIDE: tile [d0 = {{[0-9]+}}, d1 = {{32|48|64}} in panels]
// SCHED-LABEL: sched.kernel @panels_1
// SCHED: sched.reduce fma %k = 512 tile_shape [6, 16 in panels] : f32
// SCHED: sched.buffer global temporary {kept} : memref<64x512x16xf32>
func.func @panels(%a: tensor<512x512xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<512x512xf32>, tensor<512x1024xf32> -> tensor<512x1024xf32>
  func.return %c : tensor<512x1024xf32>
}

// The last panel is filled up.
// CHECK-LABEL: func.func @tail
// CHECK: graph.pad %{{.*}}, %{{.*}} low [0, 0] high [0, 8] : tensor<512x8xf32>
// CHECK: graph.concat %{{.*}}, %{{.*}} axis 0 {memory_mode = #graph.memory_mode<materialized, "in panels as wide as a tile">}
// CHECK: graph.slice %{{.*}} offsets [0, 0] sizes [512, 1000] strides [1, 1] : tensor<512x1008xf32>
func.func @tail(%a: tensor<512x512xf32>, %b: tensor<512x1000xf32>) -> tensor<512x1000xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<512x512xf32>, tensor<512x1000xf32> -> tensor<512x1000xf32>
  func.return %c : tensor<512x1000xf32>
}

// CHECK-LABEL: func.func @small
// CHECK-NEXT: graph.contract %a, %b
// CHECK-NOT: tile [
// SCHED-LABEL: sched.kernel @small
// SCHED: sched.reduce fma %k = 64 : f32
// Small operands stay in the first caches as they are.
func.func @small(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<64x64xf32>, tensor<64x64xf32> -> tensor<64x64xf32>
  func.return %c : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @chosen
// CHECK-NEXT: graph.contract %a, %b
// CHECK-SAME: tile [d0 = 4]
// SCHED-LABEL: sched.kernel @chosen
// SCHED: sched.reduce fma %k = 512 tile_shape [4] : f32
// What has a tile is left alone.
func.func @chosen(%a: tensor<512x512xf32>, %b: tensor<512x1024xf32>) -> tensor<512x1024xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d0 = 4] : tensor<512x512xf32>, tensor<512x1024xf32> -> tensor<512x1024xf32>
  func.return %c : tensor<512x1024xf32>
}

// Few rows would not pay for a copy: of a named number of them the least counts.
// CHECK-LABEL: func.func @few
// CHECK-NEXT: graph.contract %a, %b
graph.dim @n min 1 max 64
graph.dim @many min 128 max 4096
func.func @few(%a: tensor<?x512xf32, #graph.dims<n, 512>>, %b: tensor<512x1024xf32>) -> tensor<?x1024xf32, #graph.dims<n, 1024>> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<?x512xf32, #graph.dims<n, 512>>, tensor<512x1024xf32> -> tensor<?x1024xf32, #graph.dims<n, 1024>>
  func.return %c : tensor<?x1024xf32, #graph.dims<n, 1024>>
}

// CHECK-LABEL: func.func @rows
// CHECK: graph.contract %a, %{{.*}} bounds [many, 1024, 512] tile [d1 = 16 in panels]
func.func @rows(%a: tensor<?x512xf32, #graph.dims<many, 512>>, %b: tensor<512x1024xf32>) -> tensor<?x1024xf32, #graph.dims<many, 1024>> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<?x512xf32, #graph.dims<many, 512>>, tensor<512x1024xf32> -> tensor<?x1024xf32, #graph.dims<many, 1024>>
  func.return %c : tensor<?x1024xf32, #graph.dims<many, 1024>>
}

// What has a named number of columns itself is copied, all of them in one row.
// CHECK-LABEL: func.func @scores
// CHECK: %[[P:.*]] = graph.permute %t [0, 1] {memory_mode = #graph.memory_mode<materialized, "its columns in a row">}
// CHECK-NEXT: graph.contract %q, %[[P]]
func.func @scores(%q: tensor<?x32xf32, #graph.dims<n, 32>>, %k: tensor<?x32xf32, #graph.dims<n, 32>>) -> tensor<?x?xf32, #graph.dims<n, n>> {
  %t = graph.permute %k [1, 0] : tensor<?x32xf32, #graph.dims<n, 32>>
  %c = graph.contract %q, %t maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<?x32xf32, #graph.dims<n, 32>>, tensor<32x?xf32, #graph.dims<32, n>> -> tensor<?x?xf32, #graph.dims<n, n>>
  func.return %c : tensor<?x?xf32, #graph.dims<n, n>>
}

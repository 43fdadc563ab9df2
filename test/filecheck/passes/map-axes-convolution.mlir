// RUN: tenon-opt -p convert-graph-to-sched,map-axes %s | filecheck %s

// Channels last: the output channels are a vector, the columns a register tile, whatever the stride.
// CHECK-LABEL: sched.kernel @channels_last_0
// CHECK: sched.axis %i = 30 block {
// CHECK-NEXT: sched.axis %j = 30 unroll(4) {
// CHECK-NEXT: sched.axis %k = 64 vector(8) unroll(2) {
// CHECK-NEXT: sched.reduce fma %k3 = 3 : f32 {
// CHECK: sched.reduce fma %k4 = 3 : f32 {
// CHECK: sched.reduce fma %k_1 = 32 : f32 {
func.func @channels_last(%x: tensor<62x62x32xf32>, %w: tensor<3x3x32x64xf32>) -> tensor<30x30x64xf32> {
  %y = graph.contract %x, %w maps [affine_map<(i, j, o, k, l, c) -> (i * 2 + k, j * 2 + l, c)>, affine_map<(i, j, o, k, l, c) -> (k, l, c, o)>, affine_map<(i, j, o, k, l, c) -> (i, j, o)>] : tensor<62x62x32xf32>, tensor<3x3x32x64xf32> -> tensor<30x30x64xf32>
  func.return %y : tensor<30x30x64xf32>
}

// Channels first: the columns are a vector, the rows a register tile.
// CHECK-LABEL: sched.kernel @channels_first_0
// CHECK: sched.axis %i = 64 block {
// CHECK-NEXT: sched.axis %j = 60 unroll(4) {
// CHECK-NEXT: sched.axis %k = 60 vector(8) unroll(2) {
func.func @channels_first(%x: tensor<32x62x62xf32>, %w: tensor<64x32x3x3xf32>) -> tensor<64x60x60xf32> {
  %y = graph.contract %x, %w maps [affine_map<(o, i, j, c, k, l) -> (c, i + k, j + l)>, affine_map<(o, i, j, c, k, l) -> (o, c, k, l)>, affine_map<(o, i, j, c, k, l) -> (o, i, j)>] : tensor<32x62x62xf32>, tensor<64x32x3x3xf32> -> tensor<64x60x60xf32>
  func.return %y : tensor<64x60x60xf32>
}

// Depthwise: as channels last, one weight for each channel.
// CHECK-LABEL: sched.kernel @depthwise_0
// CHECK: sched.axis %j = 60 unroll(4) {
// CHECK-NEXT: sched.axis %k = 32 vector(8) unroll(2) {
func.func @depthwise(%x: tensor<62x62x32xf32>, %w: tensor<3x3x32xf32>) -> tensor<60x60x32xf32> {
  %y = graph.contract %x, %w maps [affine_map<(i, j, c, k, l) -> (i + k, j + l, c)>, affine_map<(i, j, c, k, l) -> (k, l, c)>, affine_map<(i, j, c, k, l) -> (i, j, c)>] : tensor<62x62x32xf32>, tensor<3x3x32xf32> -> tensor<60x60x32xf32>
  func.return %y : tensor<60x60x32xf32>
}

// Pooling of windows that overlap: what they pool is stored once.
// CHECK-LABEL: sched.kernel @pool_0
// CHECK: arith.maximumf
// CHECK-LABEL: sched.kernel @pool_1
// CHECK: sched.axis %j = 30 unroll(4) {
// CHECK-NEXT: sched.axis %k = 32 vector(8) unroll(2) {
// CHECK-NEXT: sched.reduce maximumf
func.func @pool(%x: tensor<62x62x32xf32>) -> tensor<30x30x32xf32> {
  %r = graph.relu %x : tensor<62x62x32xf32>
  %y = graph.contract %r maps [affine_map<(i, j, c, k, l) -> (i * 2 + k, j * 2 + l, c)>, affine_map<(i, j, c, k, l) -> (i, j, c)>] bounds [30, 30, 32, 3, 3] accumulate max : tensor<62x62x32xf32> -> tensor<30x30x32xf32>
  func.return %y : tensor<30x30x32xf32>
}

// Windows that do not overlap compute what they pool as they go.
// CHECK-LABEL: sched.kernel @pool_apart_0
// CHECK: sched.reduce addf
// CHECK: arith.maximumf
// CHECK-NOT: sched.kernel
func.func @pool_apart(%x: tensor<62x62x32xf32>) -> tensor<31x31x32xf32> {
  %r = graph.relu %x : tensor<62x62x32xf32>
  %y = graph.contract %r maps [affine_map<(i, j, c, k, l) -> (i * 2 + k, j * 2 + l, c)>, affine_map<(i, j, c, k, l) -> (i, j, c)>] bounds [31, 31, 32, 2, 2] : tensor<62x62x32xf32> -> tensor<31x31x32xf32>
  func.return %y : tensor<31x31x32xf32>
}

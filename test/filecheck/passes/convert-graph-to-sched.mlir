// RUN: tenon-opt -p convert-graph-to-sched --split-input-file --verify-diagnostics %s | filecheck %s

// Softmax is one kernel: two reductions in registers, the exponentials in a local buffer.
// CHECK-LABEL: sched.kernel @softmax_0(%x: memref<128x1000xf32>, %y: memref<128x1000xf32>) {
// CHECK:         sched.axis %i = 128 {
// CHECK-NEXT:      %max = sched.reduce maximumf %j = 1000 : f32 {
// CHECK:           %e = sched.alloc local : memref<1000xf32>
// CHECK-NEXT:      sched.axis %j_1 = 1000 {
// CHECK:             math.exp
// CHECK-NEXT:        memref.store
// CHECK:           %sum = sched.reduce addf %j_2 = 1000 : f32 {
// CHECK-NEXT:        memref.load %e[%j_2] : memref<1000xf32>
// CHECK:           sched.axis %j_3 = 1000 {
// CHECK-NOT:         math.exp
// CHECK:             arith.divf
// CHECK:       sched.program @softmax(%x: memref<128x1000xf32>) : (tensor<128x1000xf32>) -> tensor<128x1000xf32> {
// CHECK-NEXT:    %y = sched.buffer global result : memref<128x1000xf32>
// CHECK-NEXT:    %t = sched.launch @softmax_0(%x, %y) after() : memref<128x1000xf32>, memref<128x1000xf32>
// CHECK-NEXT:    sched.return %y after() : memref<128x1000xf32>
func.func @softmax(%x : tensor<128x1000xf32>) -> tensor<128x1000xf32> {
  %max  = graph.reduce max %x axes [1] keep : tensor<128x1000xf32> -> tensor<128x1xf32>
  %base = graph.broadcast %max : tensor<128x1xf32> -> tensor<128x1000xf32>
  %diff = graph.sub %x, %base : tensor<128x1000xf32>
  %e    = graph.exp %diff : tensor<128x1000xf32>
  %sum  = graph.reduce add %e axes [1] keep : tensor<128x1000xf32> -> tensor<128x1xf32>
  %den  = graph.broadcast %sum : tensor<128x1xf32> -> tensor<128x1000xf32>
  %y    = graph.div %e, %den : tensor<128x1000xf32>
  func.return %y : tensor<128x1000xf32>
}

// -----

// What follows a contraction element by element joins its kernel; what goes in with arithmetic does not, since it
// would be done once for every column of the result.
// CHECK-LABEL: sched.kernel @dense_0(%x: memref<4x8xf32>, %s: memref<4x8xf32>)
// CHECK:         arith.addf
// CHECK-LABEL: sched.kernel @dense_1(%s: memref<4x8xf32>, %w: memref<8x16xf32>, %b: memref<16xf32>, %y: memref<4x16xf32>)
// CHECK:         sched.axis %i = 4 {
// CHECK-NEXT:      sched.axis %j = 16 {
// CHECK-NEXT:        %c = sched.reduce fma %k = 8 : f32 {
// CHECK:             arith.maximumf
// CHECK:         sched.buffer global result : memref<4x16xf32>
func.func @dense(%x: tensor<4x8xf32>, %w: tensor<8x16xf32>, %b: tensor<16xf32>) -> tensor<4x16xf32> {
  %s = graph.add %x, %x : tensor<4x8xf32>
  %c = graph.contract %s, %w maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  %bb = graph.broadcast %b : tensor<16xf32> -> tensor<4x16xf32>
  %a = graph.add %c, %bb : tensor<4x16xf32>
  %y = graph.relu %a : tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}

// -----

// Views cost nothing but an index: a transpose, a slice and a flip are read in place.
// CHECK-LABEL: sched.kernel @views_0
// CHECK:         memref.load %x[
// CHECK-NOT:     memref.load
// CHECK:         memref.store
func.func @views(%x: tensor<4x8xf32>) -> tensor<3x4xf32> {
  %t = graph.permute %x [1, 0] : tensor<4x8xf32>
  %s = graph.slice %t offsets [1, 0] sizes [3, 4] strides [2, 1] : tensor<8x4xf32>
  %y = graph.flip %s axes [0] : tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// An argument that is returned is copied; a tensor without elements needs no kernel.
// CHECK-NOT:   sched.kernel
// CHECK-LABEL: sched.program @edges
// CHECK:         %{{.*}} = sched.transfer %x to %{{.*}} after() : memref<4xf32>
// CHECK-NOT:     sched.launch
func.func @edges(%x: tensor<4xf32>, %e: tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %n = graph.neg %e : tensor<0x4xf32>
  func.return %x, %n : tensor<4xf32>, tensor<0x4xf32>
}

// -----

// A scalar has no axis.
// CHECK-LABEL: sched.kernel @scalar_0(%x: memref<f32>, %y: memref<f32>) {
// CHECK-NEXT:    %x_1 = memref.load %x[] : memref<f32>
// CHECK-NEXT:    %y_1 = math.exp %x_1
// CHECK-NEXT:    memref.store %y_1, %y[] : memref<f32>
func.func @scalar(%x: tensor<f32>) -> tensor<f32> {
  %y = graph.exp %x : tensor<f32>
  func.return %y : tensor<f32>
}

// -----

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @below {{graph.exp: cannot schedule tensor<?xf32> (dim 0 is dynamic and has no name}}
  %y = graph.exp %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}

// -----

func.func @composite(%x: tensor<4xf32>) -> tensor<i64> {
  // expected-error @below {{graph.arg_reduce: cannot schedule (hint: run decompose-composites)}}
  %y = graph.arg_reduce max %x axis 0 : tensor<4xf32> -> tensor<i64>
  func.return %y : tensor<i64>
}

// -----

func.func @foreign(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{arith.addf: cannot schedule (not an op of the graph dialect)}}
  %y = arith.addf %x, %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

shard.grid @mesh(shape = 2)
func.func @annotated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = shard.sharding @mesh split_axes = [[0]] : !shard.sharding
  // expected-error @below {{shard.shard: cannot schedule (hint: run propagate-sharding and partition-graph, or tenon-run --ranks)}}
  %y = shard.shard %x to %s : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// expected-error @below {{func.func: @scalars takes or returns f32, expected tensors}}
func.func @scalars(%x: f32) -> f32 {
  func.return %x : f32
}

// -----

// expected-error @below {{func.func: @declared has no body}}
func.func private @declared(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @below {{func.func: @odd takes or returns tensor<4xi128>, expected elements of one of f64 f32}}
func.func @odd(%x: tensor<4xi128>) {
  func.return
}

// -----

// expected-error @below {{func.func: @flow has 2 blocks, expected one}}
func.func @flow() {
  func.return
^next:
  func.return
}

// -----

// What an index is made of stands where its own axes are known: a part of the first sum's index is needed after it.
// CHECK-LABEL: sched.kernel @heads_0
// CHECK:         sched.axis %i = 4 {
// CHECK-NEXT:      arith.divui %i, %c2
// CHECK-NEXT:      [[head:%.*]] = arith.remui %i, %c2
// CHECK-NEXT:      sched.reduce addf
// CHECK-NEXT:        arith.muli [[head]], %c4
// CHECK:           sched.axis
// CHECK-NEXT:        arith.muli [[head]], %c4
func.func @heads(%x: tensor<2x8xf32>, %w: tensor<8x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x4xf32> {
  %p = graph.contract %x, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] {memory_mode = #graph.memory_mode<local, "">} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %q = graph.contract %x, %v maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] {memory_mode = #graph.memory_mode<local, "">} : tensor<2x8xf32>, tensor<8x8xf32> -> tensor<2x8xf32>
  %a = graph.reshape %p {memory_mode = #graph.memory_mode<virtual, "">} : tensor<2x8xf32> -> tensor<4x4xf32>
  %b = graph.reshape %q {memory_mode = #graph.memory_mode<virtual, "">} : tensor<2x8xf32> -> tensor<4x4xf32>
  %s = graph.reduce add %a axes [1] {memory_mode = #graph.memory_mode<local, "">} : tensor<4x4xf32> -> tensor<4xf32>
  %c = graph.contract %s, %b maps [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>] {memory_mode = #graph.memory_mode<materialized, "">} : tensor<4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  func.return %c : tensor<4x4xf32>
}

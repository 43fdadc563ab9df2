// RUN: tenon-opt -p infer-memory-modes --split-input-file --verify-diagnostics %s | filecheck %s

// Reductions of one kernel are local, and so is what two of its stages read; the rest is virtual.
// CHECK-LABEL: func.func @softmax
// CHECK-NEXT:    graph.reduce max {{.*}}#graph.memory_mode<local, "combined in registers, once for each (i)", "reduction">
// CHECK-NEXT:    graph.broadcast {{.*}}#graph.memory_mode<virtual, "a view: only the index changes", "view">
// CHECK-NEXT:    graph.sub {{.*}}#graph.memory_mode<virtual, "computed where it is read", "inline">
// CHECK-NEXT:    graph.exp {{.*}}#graph.memory_mode<local, "a buffer that is read in 2 ways by one kernel", "local-buffer">
// CHECK-NEXT:    graph.reduce add {{.*}}#graph.memory_mode<local, "combined in registers, once for each (i)", "reduction">
// CHECK-NEXT:    graph.broadcast
// CHECK-NEXT:    graph.div {{.*}}#graph.memory_mode<materialized, "returned by the function", "needed">
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

// What several stages read of a row too long for a local buffer lies in the result's memory. Where the result has
// another type it is computed twice; read thrice, it is a buffer in global memory.
// CHECK-LABEL: func.func @in_the_result
// CHECK:         graph.exp {{.*}}#graph.memory_mode<local, "a buffer that is read in 3 ways by one kernel, in its result's memory", "local-buffer">
// CHECK-LABEL: func.func @long_rows
// CHECK:         graph.exp {{.*}}#graph.memory_mode<virtual, "computed twice, as a local buffer of 200000 bytes would be too large", "computed-twice">
// CHECK-LABEL: func.func @longer_rows
// CHECK:         graph.exp {{.*}}#graph.memory_mode<materialized, "a local buffer of 200000 bytes would be too large", "no-local-buffer">
func.func @in_the_result(%x : tensor<128x50000xf32>) -> tensor<128x50000xf32> {
  %e   = graph.exp %x : tensor<128x50000xf32>
  %sum = graph.reduce add %e axes [1] keep : tensor<128x50000xf32> -> tensor<128x1xf32>
  %max = graph.reduce max %e axes [1] keep : tensor<128x50000xf32> -> tensor<128x1xf32>
  %den = graph.add %sum, %max : tensor<128x1xf32>
  %all = graph.broadcast %den : tensor<128x1xf32> -> tensor<128x50000xf32>
  %y   = graph.div %e, %all : tensor<128x50000xf32>
  func.return %y : tensor<128x50000xf32>
}

func.func @long_rows(%x : tensor<128x50000xf32>) -> tensor<128x50000xf64> {
  %e   = graph.exp %x : tensor<128x50000xf32>
  %sum = graph.reduce add %e axes [1] keep : tensor<128x50000xf32> -> tensor<128x1xf32>
  %den = graph.broadcast %sum : tensor<128x1xf32> -> tensor<128x50000xf32>
  %y   = graph.div %e, %den : tensor<128x50000xf32>
  %z   = graph.cast %y : tensor<128x50000xf32> -> tensor<128x50000xf64>
  func.return %z : tensor<128x50000xf64>
}

func.func @longer_rows(%x : tensor<128x50000xf32>) -> tensor<128x50000xf64> {
  %e   = graph.exp %x : tensor<128x50000xf32>
  %sum = graph.reduce add %e axes [1] keep : tensor<128x50000xf32> -> tensor<128x1xf32>
  %max = graph.reduce max %e axes [1] keep : tensor<128x50000xf32> -> tensor<128x1xf32>
  %den = graph.add %sum, %max : tensor<128x1xf32>
  %all = graph.broadcast %den : tensor<128x1xf32> -> tensor<128x50000xf32>
  %y   = graph.div %e, %all : tensor<128x50000xf32>
  %z   = graph.cast %y : tensor<128x50000xf32> -> tensor<128x50000xf64>
  func.return %z : tensor<128x50000xf64>
}

// -----

// Two kernels that read a value share a buffer of it; a contraction's operand is computed once.
// CHECK-LABEL: func.func @shared
// CHECK-NEXT:    graph.neg {{.*}}#graph.memory_mode<materialized, "read by 2 kernels", "several-consumers">
// CHECK-NEXT:    graph.abs {{.*}}#graph.memory_mode<materialized, "would be computed 4 times inside a reduction", "repeated">
func.func @shared(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %n = graph.neg %x : tensor<4x4xf32>
  %a = graph.abs %x : tensor<4x4xf32>
  %y = graph.contract %a, %n maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  %z = graph.exp %n : tensor<4x4xf32>
  func.return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A request is kept, with its reason; a reduction over everything is too little work for one kernel with the rest.
// CHECK-LABEL: func.func @requested
// CHECK-NEXT:    graph.neg {{.*}}#graph.memory_mode<materialized, "the user wants to see it", "request">
// CHECK-NEXT:    graph.reduce {{.*}}#graph.memory_mode<materialized, "the kernel that reads it would have too little to do side by side", "no-place">
func.func @requested(%x: tensor<1000x1000xf32>) -> tensor<1000x1000xf32> {
  %n = graph.neg %x {memory_mode = #graph.memory_mode<materialized, "the user wants to see it">} : tensor<1000x1000xf32>
  %s = graph.reduce add %n axes [0, 1] keep : tensor<1000x1000xf32> -> tensor<1x1xf32>
  %b = graph.broadcast %s : tensor<1x1xf32> -> tensor<1000x1000xf32>
  %y = graph.sub %n, %b : tensor<1000x1000xf32>
  func.return %y : tensor<1000x1000xf32>
}

// -----

func.func @impossible(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{graph.neg: cannot be virtual (returned by the function), asked for by "no buffer, please"}}
  %n = graph.neg %x {memory_mode = #graph.memory_mode<virtual, "no buffer, please">} : tensor<4xf32>
  func.return %n : tensor<4xf32>
}

// -----

func.func @unread_but_returned(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{graph.neg: cannot be local (returned by the function), asked for by "keep it close"}}
  %n = graph.neg %x {memory_mode = #graph.memory_mode<local, "keep it close">} : tensor<4xf32>
  func.return %n : tensor<4xf32>
}

// -----

func.func @several_values(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error @below {{graph.constant: cannot be virtual (a constant of several values), asked for by "inline it"}}
  %c = graph.constant {memory_mode = #graph.memory_mode<virtual, "inline it">} dense<[1.0, 2.0]> : tensor<2xf32>
  %n = graph.add %x, %c : tensor<2xf32>
  func.return %n : tensor<2xf32>
}

// -----

func.func @dynamic(%x: tensor<4x?xf32>) -> tensor<4x?xf32> {
  // expected-error @below {{graph.neg: cannot schedule tensor<4x?xf32> (dim 1 is dynamic and has no name}}
  %n = graph.neg %x : tensor<4x?xf32>
  func.return %n : tensor<4x?xf32>
}

// -----

// A request for a view, a splat and what nobody reads is obeyed.
// CHECK-LABEL: func.func @obeyed
// CHECK-NEXT:    graph.constant {memory_mode = #graph.memory_mode<materialized, "a buffer, please", "request">}
// CHECK-NEXT:    graph.broadcast {{.*}}#graph.memory_mode<materialized, "a copy, please", "request">
// CHECK-NEXT:    graph.neg {{.*}}#graph.memory_mode<local, "nobody reads it", "request">
func.func @obeyed(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %c = graph.constant {memory_mode = #graph.memory_mode<materialized, "a buffer, please">} dense<1.0> : tensor<2x4xf32>
  %b = graph.broadcast %x {memory_mode = #graph.memory_mode<materialized, "a copy, please">} : tensor<4xf32> -> tensor<2x4xf32>
  %n = graph.neg %b {memory_mode = #graph.memory_mode<local, "nobody reads it">} : tensor<2x4xf32>
  %s = graph.add %b, %c : tensor<2x4xf32>
  func.return %s : tensor<2x4xf32>
}

// -----

func.func @not_local(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  // expected-error @below {{graph.neg: cannot be local (materialized: read by 2 kernels), asked for by "keep it close"}}
  %n = graph.neg %x {memory_mode = #graph.memory_mode<local, "keep it close">} : tensor<4x4xf32>
  %y = graph.exp %n : tensor<4x4xf32>
  %z = graph.abs %n : tensor<4x4xf32>
  func.return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A scalar and a tensor without elements.
// CHECK-LABEL: func.func @edges
// CHECK-NEXT:    graph.neg {{.*}}materialized
// CHECK-NEXT:    graph.neg {{.*}}materialized
func.func @edges(%x: tensor<f32>, %e: tensor<0xf32>) -> (tensor<f32>, tensor<0xf32>) {
  %n = graph.neg %x : tensor<f32>
  %m = graph.neg %e : tensor<0xf32>
  func.return %n, %m : tensor<f32>, tensor<0xf32>
}

// -----

// What is written to a node is in memory; reads and writes themselves have no mode.
// CHECK-LABEL: func.func @nodes
// CHECK-NEXT:    %w = graph.read @w : tensor<4xf32>
// CHECK-NEXT:    %e = graph.exp %w {memory_mode = #graph.memory_mode<materialized, "written to node @w", "needed">}
// CHECK-NEXT:    graph.write @w, %e : tensor<4xf32>
graph.tnode @w : tensor<4xf32>
func.func @nodes() {
  %w = graph.read @w : tensor<4xf32>
  %e = graph.exp %w : tensor<4xf32>
  graph.write @w, %e : tensor<4xf32>
  func.return
}

// -----

// Of two convolutions that are added, one has a kernel of its own. Two products of matrices are one kernel.
// CHECK-LABEL: func.func @added_convolutions
// CHECK-NEXT:    graph.contract {{.*}}materialized, "a kernel has the tiles of one convolution only", "tiled-product"
// CHECK-NEXT:    graph.contract {{.*}}local, "combined in registers
// CHECK-LABEL: func.func @added_products
// CHECK-NEXT:    graph.contract {{.*}}local, "combined in registers
// CHECK-NEXT:    graph.contract {{.*}}local, "combined in registers
func.func @added_convolutions(%x: tensor<18x16xf32>, %w: tensor<8x16x3xf32>, %y: tensor<16x16xf32>, %v: tensor<8x16xf32>) -> tensor<16x8xf32> {
  %b = graph.contract %y, %v maps [affine_map<(x, o, c) -> (x, c)>, affine_map<(x, o, c) -> (o, c)>, affine_map<(x, o, c) -> (x, o)>] : tensor<16x16xf32>, tensor<8x16xf32> -> tensor<16x8xf32>
  %a = graph.contract %x, %w maps [affine_map<(x, o, i, c) -> (x + i, c)>, affine_map<(x, o, i, c) -> (o, c, i)>, affine_map<(x, o, i, c) -> (x, o)>] bounds [16, 8, 3, 16] : tensor<18x16xf32>, tensor<8x16x3xf32> -> tensor<16x8xf32>
  %s = graph.add %a, %b : tensor<16x8xf32>
  func.return %s : tensor<16x8xf32>
}
func.func @added_products(%x: tensor<16x16xf32>, %w: tensor<8x16xf32>, %y: tensor<16x16xf32>, %v: tensor<8x16xf32>) -> tensor<16x8xf32> {
  %b = graph.contract %y, %v maps [affine_map<(x, o, c) -> (x, c)>, affine_map<(x, o, c) -> (o, c)>, affine_map<(x, o, c) -> (x, o)>] : tensor<16x16xf32>, tensor<8x16xf32> -> tensor<16x8xf32>
  %a = graph.contract %x, %w maps [affine_map<(x, o, c) -> (x, c)>, affine_map<(x, o, c) -> (o, c)>, affine_map<(x, o, c) -> (x, o)>] : tensor<16x16xf32>, tensor<8x16xf32> -> tensor<16x8xf32>
  %s = graph.add %a, %b : tensor<16x8xf32>
  func.return %s : tensor<16x8xf32>
}

// -----

// A value has no mode that is for nodes.
func.func @hosted(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{graph.mode: hosted is for tensor nodes, a value is one of virtual, local, materialized}}
  %y = graph.neg %x {memory_mode = #graph.memory_mode<hosted, "wanted">} : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

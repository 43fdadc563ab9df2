// RUN: tenon-opt %s --split-input-file --verify-diagnostics

sched.program @p() : () -> () {
  // expected-error @+1 {{sched.node: there is no node @x (hint: graph.tnode @x : ...)}}
  %x = sched.node @x : memref<4xf32>
  sched.return after()
}

// -----

graph.tnode @x : tensor<100x4xf32>
sched.program @p(%i: index) : (index) -> () {
  // expected-error @+1 {{sched.node: node @x is memref<4xf32> here, found memref<100x4xf32>}}
  %x = sched.node @x[%i] : memref<100x4xf32>
  sched.return after()
}

// -----

graph.tnode @x : tensor<4xf32>
sched.program @p(%i: index) : (index) -> () {
  // expected-error @+1 {{sched.node: 2 indices for node @x of rank 1 (tensor<4xf32>)}}
  %x = sched.node @x[%i, %i] : memref<f32>
  sched.return after()
}

// -----

graph.tnode @x : tensor<4xf32> mode local
sched.program @p() : () -> () {
  // expected-error @+1 {{sched.node: node @x is local, so it has no buffer of its own}}
  %x = sched.node @x : memref<4xf32>
  sched.return after()
}

// -----

graph.tnode @x : tensor<4xf32>
graph.tnode @y : tensor<4xf32>
sched.program @p() : () -> () {
  // expected-error @+1 {{sched.merge_buffer: merges @x, and also @y (a program has one merge buffer)}}
  %x = sched.merge_buffer @x : memref<4xf32>
  // expected-error @+1 {{sched.merge_buffer: merges @y, and also @x (a program has one merge buffer)}}
  %y = sched.merge_buffer @y : memref<4xf32>
  sched.return after()
}

// -----

graph.tnode @x : tensor<4xf32>
sched.program @p() : () -> () {
  // expected-error @+1 {{sched.merge_buffer: node @x is memref<4xf32> here, found memref<3xf32>}}
  %x = sched.merge_buffer @x : memref<3xf32>
  sched.return after()
}

// -----

// A symbol is no result.
// expected-error @+1 {{sched.program: index is no tensor of numbers or booleans}}
sched.program @p(%i: index) : (index) -> index {
  sched.return after()
}

// -----

// expected-error @+1 {{sched.program: @p takes (memref<4xf32>), expected (index)}}
sched.program @p(%i: memref<4xf32>) : (index) -> () {
  sched.return after()
}

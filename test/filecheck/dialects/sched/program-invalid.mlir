// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// A program is over tensors.
// expected-error @+1 {{sched.program: f32 is no tensor of numbers or booleans}}
sched.program @p(%x: memref<f32>) : (f32) -> () {
  sched.return after()
}

// -----

// expected-error @+1 {{sched.program: tensor<4xindex> is no tensor of numbers or booleans}}
sched.program @p(%x: memref<4xindex>) : (tensor<4xindex>) -> () {
  sched.return after()
}

// -----

// expected-error @+1 {{expected a function type, found f32}}
sched.program @p() : f32 {
  sched.return after()
}

// -----

// Buffers that do not hold the tensors: a boolean is stored in a byte.
// expected-error @+1 {{sched.program: @p takes (memref<4xi1>), expected (memref<4xi8>)}}
sched.program @p(%x: memref<4xi1>) : (tensor<4xi1>) -> () {
  sched.return after()
}

// -----

// expected-error @+1 {{sched.program: @p returns (memref<4xf32>), expected (memref<8xf32>)}}
sched.program @p() : () -> tensor<8xf32> {
  %y = sched.buffer global result : memref<4xf32>
  sched.return %y after() : memref<4xf32>
}

// -----

// expected-error @+1 {{sched.program: @p ends in no sched.return}}
sched.program @p() : () -> () {
}

// -----

sched.program @p() : () -> () {
  // expected-error @+1 {{sched.buffer: a program's buffer is global, not shared}}
  %a = sched.buffer shared temporary : memref<4xf32>
  sched.return after()
}

// -----

sched.program @p() : () -> () {
  // expected-error @+1 {{sched.lifetime: 3 to 1 is not a lifetime}}
  %a = sched.buffer global temporary lifetime <3, 1> : memref<4xf32>
  sched.return after()
}

// -----

sched.program @p() : () -> () {
  // expected-error @+1 {{sched.slab: pool 1, offset -64 is negative}}
  %a = sched.buffer global temporary slab <1, -64> : memref<4xf32>
  sched.return after()
}

// -----

sched.program @p() : () -> () {
  // expected-error @+1 {{sched.constant: tensor<2xi1> is held by memref<2xi8>, found memref<2xi1>}}
  %c = sched.constant dense<true> : tensor<2xi1> : memref<2xi1>
  sched.return after()
}

// -----

sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  // expected-error @+1 {{sched.launch: there is no kernel @k}}
  %t = sched.launch @k(%x) after() : memref<4xf32>
  sched.return after()
}

// -----

sched.kernel @k(%x: memref<4xf32>) {
}
sched.program @p(%x: memref<4xi32>) : (tensor<4xi32>) -> () {
  // expected-error @+1 {{sched.launch: @k takes 1 buffers}}
  %t = sched.launch @k(%x) after() : memref<4xi32>
  sched.return after()
}

// -----

sched.kernel @k(%x: memref<4xf32>) {
}
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  // expected-error @+1 {{2 buffers but 1 types}}
  %t = sched.launch @k(%x, %x) after() : memref<4xf32>
  sched.return after()
}

// -----

// Only what is an item can be waited for.
sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  // expected-error @+1 {{operand is used with type !sched.token, but has been previously used or defined with type memref<4xf32>}}
  %t = sched.sync after(%x)
  sched.return after()
}

// -----

sched.program @p(%x: memref<4xf32>, %y: memref<8xf32>) : (tensor<4xf32>, tensor<8xf32>) -> () {
  // expected-error @+1 {{sched.transfer: cannot copy memref<4xf32> to memref<8xf32> (types differ)}}
  %t = "sched.transfer"(%x, %y) : (memref<4xf32>, memref<8xf32>) -> !sched.token
  sched.return after()
}

// RUN: tenon-opt --split-input-file --verify-diagnostics %s

"sched.program"() <{sym_name = "p", function_type = (tensor<4xi1>) -> ()}> ({
^bb0(%x: memref<4xi8>):
  // expected-error @below {{sched.callback: takes (memref<4xi8>), expected (memref<4xf32>)}}
  %t = "sched.callback"(%x) <{callee = "f", function_type = (tensor<4xf32>) -> (), operandSegmentSizes = array<i32: 1, 0, 0>}> : (memref<4xi8>) -> !sched.token
  sched.return after(%t)
}) : () -> ()

// -----

"sched.program"() <{sym_name = "p", function_type = (tensor<4xi1>) -> ()}> ({
^bb0(%x: memref<4xi8>):
  // expected-error @below {{sched.callback: fills (memref<4xi8>), expected ()}}
  %t = "sched.callback"(%x) <{callee = "f", function_type = () -> (), operandSegmentSizes = array<i32: 0, 1, 0>}> : (memref<4xi8>) -> !sched.token
  sched.return after(%t)
}) : () -> ()

// -----

sched.program @p() : () -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.callback: fills a buffer twice}}
  %t = sched.callback @f() to(%y, %y) after() : () -> (tensor<4xf32>, tensor<4xf32>)
  sched.return %y after(%t) : memref<4xf32>
}

// -----

sched.program @p() : () -> tensor<4xf32> {
  %y = sched.buffer global result : memref<4xf32>
  // expected-error @below {{sched.print: fills 1 buffers, expected none}}
  %t = sched.print "" to(%y) after() : () -> tensor<4xf32>
  sched.return %y after(%t) : memref<4xf32>
}

// -----

sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  // expected-error @below {{sched.print: field {2} in '{2}' is for none of the 1 values}}
  %t = sched.print "{2}"(%x) after() : (tensor<4xf32>) -> ()
  sched.return after(%t)
}

// -----

sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  // expected-error @below {{expected a function type, found memref<4xf32>}}
  %t = sched.callback @f(%x) after() : memref<4xf32>
  sched.return after(%t)
}

// -----

sched.program @p(%x: memref<4xf32>) : (tensor<4xf32>) -> () {
  // expected-error @below {{sched.callback: index is no tensor of numbers or booleans}}
  %t = sched.callback @f(%x) after() : (index) -> ()
  sched.return after(%t)
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: takes one buffer, and fills another one}}
  %t = sched.rearrange [3, 2] strides = [1, 3] offset = 0(%x, %x) to(%y) after() : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: takes one buffer, and fills another one}}
  %t = sched.rearrange [3, 2] strides = [1, 3] offset = 0(%y) to(%y) after() : (tensor<3x2xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: [3, 2] has not as many strides, [1]}}
  %t = sched.rearrange [3, 2] strides = [1] offset = 0(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: [3, 0] has no elements}}
  %t = sched.rearrange [3, 0] strides = [1, 3] offset = 0(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xi32>) : (tensor<2x3xi32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: takes memref<2x3xi32> for memref<3x2xf32>}}
  %t = sched.rearrange [3, 2] strides = [1, 3] offset = 0(%x) to(%y) after() : (tensor<2x3xi32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: memref<3x2xf32> has not 9 elements}}
  %t = sched.rearrange [3, 3] strides = [1, 1] offset = 0(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: takes elements 1 to 6 of memref<2x3xf32>}}
  %t = sched.rearrange [3, 2] strides = [1, 3] offset = 1(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

// -----

sched.program @p(%x: memref<2x3xf32>) : (tensor<2x3xf32>) -> tensor<3x2xf32> {
  %y = sched.buffer global result : memref<3x2xf32>
  // expected-error @below {{sched.rearrange: takes elements -1 to 4 of memref<2x3xf32>}}
  %t = sched.rearrange [3, 2] strides = [-1, 3] offset = 1(%x) to(%y) after() : (tensor<2x3xf32>) -> tensor<3x2xf32>
  sched.return %y after(%t) : memref<3x2xf32>
}

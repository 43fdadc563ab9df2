// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// No inputs.
func.func @f() {
  // expected-error @+1 {{graph.concat: no inputs, expected one or more}}
  %y = "graph.concat"() <{axis = #graph<axis 0>}> : () -> tensor<4xf32>
  func.return
}

// -----

// An axis that is not there.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.concat: axis 2 is out of range for rank 2 (input tensor<4x8xf32>)}}
  %y = graph.concat %x, %x axis 2 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  func.return
}

// -----

// A negative axis.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.concat: axis -1 is negative (rank 2, input tensor<4x8xf32>)}}
  %y = graph.concat %x, %x axis -1 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  func.return
}

// -----

// Ranks that differ.
func.func @f(%x: tensor<4x8xf32>, %z: tensor<8xf32>) {
  // expected-error @+1 {{graph.concat: cannot join tensor<8xf32> to tensor<4x8xf32> along axis 0 (input 1: rank 1, not 2)}}
  %y = graph.concat %x, %z axis 0 : tensor<4x8xf32>, tensor<8xf32> -> tensor<8x8xf32>
  func.return
}

// -----

// Other extents that differ.
func.func @f(%x: tensor<4x8xf32>, %z: tensor<4x7xf32>) {
  // expected-error @+1 {{graph.concat: cannot join tensor<4x7xf32> to tensor<4x8xf32> along axis 0 (input 2: axis 1 is 7, not 8)}}
  %y = graph.concat %x, %x, %z axis 0 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x7xf32> -> tensor<12x8xf32>
  func.return
}

// -----

// Element types that differ.
func.func @f(%x: tensor<4x8xf32>, %z: tensor<4x8xf16>) {
  // expected-error @+1 {{graph.concat: cannot join tensor<4x8xf16> to tensor<4x8xf32> along axis 0 (input 1: element type f16, not f32)}}
  %y = graph.concat %x, %z axis 0 : tensor<4x8xf32>, tensor<4x8xf16> -> tensor<8x8xf32>
  func.return
}

// -----

// A result of another extent.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.concat: result is tensor<9x8xf32>, expected tensor<8x8xf32> (axis 0 is 9, not 8; [4, 8], [4, 8] along axis 0)}}
  %y = graph.concat %x, %x axis 0 : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<9x8xf32>
  func.return
}

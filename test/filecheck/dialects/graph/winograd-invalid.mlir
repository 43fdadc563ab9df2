// RUN: tenon-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<8x5xi32>) {
  // expected-error @+1 {{graph.winograd_input_transform: cannot take tensor<8x5xi32> (element type i32, needs f32 or f64)}}
  %v = graph.winograd_input_transform %x axis 0 : tensor<8x5xi32> -> tensor<4x3x5xi32>
  func.return
}

// -----

func.func @f(%x: tensor<7x5xf32>) {
  // expected-error @+1 {{graph.winograd_input_transform: cannot take tiles along axis 0 of tensor<7x5xf32> (its extent is to be a number, even and 4 at least)}}
  %v = graph.winograd_input_transform %x axis 0 : tensor<7x5xf32> -> tensor<4x2x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<2x5xf32>) {
  // expected-error @+1 {{graph.winograd_input_transform: cannot take tiles along axis 0 of tensor<2x5xf32> (its extent is to be a number, even and 4 at least)}}
  %v = graph.winograd_input_transform %x axis 0 : tensor<2x5xf32> -> tensor<4x0x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8x5xf32>) {
  // expected-error @+1 {{graph.winograd_input_transform: axis 2 is out of range for rank 2 (source tensor<8x5xf32>)}}
  %v = graph.winograd_input_transform %x axis 2 : tensor<8x5xf32> -> tensor<4x3x5xf32>
  func.return
}

// -----

func.func @f(%x: tensor<8x5xf32>) {
  // expected-error @+1 {{graph.winograd_input_transform: result is tensor<4x4x5xf32>, expected tensor<4x3x5xf32>}}
  %v = graph.winograd_input_transform %x axis 0 : tensor<8x5xf32> -> tensor<4x4x5xf32>
  func.return
}

// -----

func.func @f(%w: tensor<4x5xf32>) {
  // expected-error @+1 {{graph.winograd_filter_transform: cannot take axis 0 of tensor<4x5xf32> (its extent is to be 3)}}
  %u = graph.winograd_filter_transform %w axis 0 : tensor<4x5xf32> -> tensor<4x5xf32>
  func.return
}

// -----

func.func @f(%m: tensor<3x5xf32>) {
  // expected-error @+1 {{graph.winograd_output_transform: cannot make sums of tensor<3x5xf32> (its first extent is to be 4, that of the tiles a number)}}
  %y = graph.winograd_output_transform %m axis 0 : tensor<3x5xf32> -> tensor<10xf32>
  func.return
}

// -----

// The axis is one of the result.
func.func @f(%m: tensor<4x5xf32>) {
  // expected-error @+1 {{graph.winograd_output_transform: axis 2 is out of range for rank 2 (source tensor<4x5xf32>)}}
  %y = graph.winograd_output_transform %m axis 1 : tensor<4x5xf32> -> tensor<10xf32>
  func.return
}

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Another number of elements.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reshape: cannot reshape tensor<4x8xf32> to tensor<31xf32> (32 elements to 31)}}
  %y = graph.reshape %x : tensor<4x8xf32> -> tensor<31xf32>
  func.return
}

// -----

// A reshape keeps the element type.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reshape: cannot change the element type (f32 to i32, tensor<4x8xf32> to tensor<32xi32>)}}
  %y = graph.reshape %x : tensor<4x8xf32> -> tensor<32xi32>
  func.return
}

// -----

// A broadcast keeps the element type.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.broadcast: cannot change the element type (f32 to i32, tensor<4x8xf32> to tensor<4x8xi32>)}}
  %y = graph.broadcast %x : tensor<4x8xf32> -> tensor<4x8xi32>
  func.return
}

// -----

// Only extents of 1 are repeated.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.broadcast: cannot broadcast tensor<4x8xf32> to tensor<2x4x16xf32> (axis 1 of 8 to axis 2 of 16)}}
  %y = graph.broadcast %x : tensor<4x8xf32> -> tensor<2x4x16xf32>
  func.return
}

// -----

// A broadcast drops no dim.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.broadcast: cannot broadcast tensor<4x8xf32> to tensor<8xf32> (rank 2 to 1)}}
  %y = graph.broadcast %x : tensor<4x8xf32> -> tensor<8xf32>
  func.return
}

// -----

// An axis twice.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.permute: axis 0 is given twice ([0, 0], source tensor<4x8xf32>)}}
  %y = graph.permute %x [0, 0] : tensor<4x8xf32>
  func.return
}

// -----

// An axis that is not there.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.permute: axis 2 is out of range for rank 2 (source tensor<4x8xf32>)}}
  %y = graph.permute %x [0, 2] : tensor<4x8xf32>
  func.return
}

// -----

// A negative axis.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.permute: axis -1 is negative (rank 2, source tensor<4x8xf32>)}}
  %y = graph.permute %x [0, -1] : tensor<4x8xf32>
  func.return
}

// -----

// Too few axes.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.permute: 1 axes for rank 2 (axes [0], source tensor<4x8xf32>)}}
  %y = graph.permute %x [0] : tensor<4x8xf32>
  func.return
}

// -----

// A result that is not permuted.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.permute: result is tensor<4x8xf32>, expected tensor<8x4xf32> (axis 0 is 4, not 8; tensor<4x8xf32> permuted by [1, 0])}}
  %y = "graph.permute"(%x) <{permutation = #graph<ints [1, 0]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// Too few pads.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{graph.pad: 1 low for rank 2 (low [1], source tensor<4x8xf32>)}}
  %y = graph.pad %x, %v low [1] high [0, 0] : tensor<4x8xf32>
  func.return
}

// -----

// A negative pad.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{graph.pad: high of axis 1 is negative (-2, source tensor<4x8xf32>)}}
  %y = graph.pad %x, %v low [0, 0] high [0, -2] : tensor<4x8xf32>
  func.return
}

// -----

// A value of another type.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<i32>) {
  // expected-error @+1 {{graph.pad: value is tensor<i32>, expected tensor<f32> (source tensor<4x8xf32>)}}
  %y = "graph.pad"(%x, %v) <{low = #graph<ints [0, 0]>, high = #graph<ints [0, 0]>}> : (tensor<4x8xf32>, tensor<i32>) -> tensor<4x8xf32>
  func.return
}

// -----

// A result that is not padded.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{graph.pad: result is tensor<4x8xf32>, expected tensor<4x9xf32> (axis 1 is 8, not 9; tensor<4x8xf32> padded by [0, 1] and [0, 0])}}
  %y = "graph.pad"(%x, %v) <{low = #graph<ints [0, 1]>, high = #graph<ints [0, 0]>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return
}

// -----

// Too few offsets.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: 1 offsets for rank 2 (offsets [0], source tensor<4x8xf32>)}}
  %y = graph.slice %x offsets [0] sizes [4, 8] strides [1, 1] : tensor<4x8xf32>
  func.return
}

// -----

// A negative offset.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: offsets of axis 1 is below 0 (-1, source tensor<4x8xf32>)}}
  %y = graph.slice %x offsets [0, -1] sizes [4, 4] strides [1, 1] : tensor<4x8xf32>
  func.return
}

// -----

// A negative size.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: sizes of axis 1 is below 0 (-4, source tensor<4x8xf32>)}}
  %y = graph.slice %x offsets [0, 0] sizes [4, -4] strides [1, 1] : tensor<4x8xf32>
  func.return
}

// -----

// A stride of 0.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: strides of axis 0 is below 1 (0, source tensor<4x8xf32>)}}
  %y = graph.slice %x offsets [0, 0] sizes [4, 4] strides [0, 1] : tensor<4x8xf32>
  func.return
}

// -----

// Out of bounds.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: axis 1 is read up to 11 of 8 (offset 1, size 4, stride 3, source tensor<4x8xf32>)}}
  %y = graph.slice %x offsets [0, 1] sizes [4, 4] strides [1, 3] : tensor<4x8xf32>
  func.return
}

// -----

// Out of bounds with nothing to read.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: axis 1 is read up to 9 of 8 (offset 9, size 0, stride 1, source tensor<4x8xf32>)}}
  %y = graph.slice %x offsets [0, 9] sizes [4, 0] strides [1, 1] : tensor<4x8xf32>
  func.return
}

// -----

// A result of another size.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.slice: result is tensor<4x8xf32>, expected tensor<4x2xf32> (axis 1 is 8, not 2; sizes [4, 2] of tensor<4x8xf32>)}}
  %y = "graph.slice"(%x) <{offsets = #graph<extents [0, 0]>, sizes = #graph<extents [4, 2]>, strides = #graph<ints [1, 1]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// An axis twice.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.flip: axis 1 is given twice ([1, 1], source tensor<4x8xf32>)}}
  %y = graph.flip %x axes [1, 1] : tensor<4x8xf32>
  func.return
}

// -----

// An axis that is not there.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.flip: axis 3 is out of range for rank 2 (source tensor<4x8xf32>)}}
  %y = graph.flip %x axes [3] : tensor<4x8xf32>
  func.return
}

// -----

// Nothing between less than no elements.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{graph.pad: interior of axis 0 is negative (-1, source tensor<4x8xf32>)}}
  %y = graph.pad %x, %v low [0, 0] high [0, 0] interior [-1, 0] : tensor<4x8xf32>
  func.return
}

// -----

// One number between for two axes.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{graph.pad: 1 interior for rank 2 (interior [1], source tensor<4x8xf32>)}}
  %y = graph.pad %x, %v low [0, 0] high [0, 0] interior [1] : tensor<4x8xf32>
  func.return
}

// -----

// A result that lacks what is between.
func.func @f(%x: tensor<4x8xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{graph.pad: result is tensor<4x8xf32>, expected tensor<7x8xf32> (axis 0 is 4, not 7; tensor<4x8xf32> padded by [0, 0] and [0, 0], inside by [1, 0])}}
  %y = "graph.pad"(%x, %v) <{low = #graph<ints [0, 0]>, high = #graph<ints [0, 0]>, interior = #graph<ints [1, 0]>}> : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  func.return
}

// -----

// A negative pad.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.pad_with: low of axis 1 is negative (-2, source tensor<4x8xf32>)}}
  %y = graph.pad_with edge %x low [0, -2] high [0, 0] : tensor<4x8xf32>
  func.return
}

// -----

// Nothing has no edge.
func.func @f(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{graph.pad_with: axis 1 has no elements to pad with (low 0, high 2, source tensor<4x0xf32>)}}
  %y = graph.pad_with edge %x low [1, 0] high [0, 2] : tensor<4x0xf32>
  func.return
}

// -----

// A result that is not padded.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.pad_with: result is tensor<4x8xf32>, expected tensor<4x9xf32> (axis 1 is 8, not 9; tensor<4x8xf32> padded by [0, 1] and [0, 0])}}
  %y = "graph.pad_with"(%x) <{mode = #graph<pad_mode wrap>, low = #graph<ints [0, 1]>, high = #graph<ints [0, 0]>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// A dim that may be 0 has nothing to pad with.
graph.dim @n min 0 max 8
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) {
  // expected-error @+1 {{graph.pad_with: axis 0 may have no elements to pad with (n from 0 to 8, source tensor<?x8xf32, #graph.dims<n, 8>>)}}
  %y = graph.pad_with edge %x low [1, 0] high [0, 2] : tensor<?x8xf32, #graph.dims<n, 8>>
  func.return
}

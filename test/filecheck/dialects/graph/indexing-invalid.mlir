// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Floats index nothing.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xf32>) {
  // expected-error @+1 {{graph.gather: index 0: cannot take tensor<3xf32> (element type f32, needs an integer)}}
  %y = graph.gather %x[%i] axes [0] : tensor<4x8xf32>[tensor<3xf32>] -> tensor<3x8xf32>
  func.return
}

// -----

// One index for each axis.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{graph.gather: 1 indices for 2 axes (axes [0, 1], source tensor<4x8xf32>)}}
  %y = graph.gather %x[%i] axes [0, 1] : tensor<4x8xf32>[tensor<3xi64>] -> tensor<3xf32>
  func.return
}

// -----

// No index.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.gather: no indices, expected one or more (source tensor<4x8xf32>)}}
  %y = graph.gather %x[] axes [] : tensor<4x8xf32>[] -> tensor<4x8xf32>
  func.return
}

// -----

// Indices of two shapes.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %j: tensor<1xi64>) {
  // expected-error @+1 {{graph.gather: indices 0 and 1 have shapes [3] and [1], expected one shape}}
  %y = graph.gather %x[%i, %j] axes [0, 1] : tensor<4x8xf32>[tensor<3xi64>, tensor<1xi64>] -> tensor<3xf32>
  func.return
}

// -----

// An axis out of range.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{graph.gather: axis 2 is out of range for rank 2 (source tensor<4x8xf32>)}}
  %y = graph.gather %x[%i] axes [2] : tensor<4x8xf32>[tensor<3xi64>] -> tensor<3x8xf32>
  func.return
}

// -----

// The dims of the indices come first.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{graph.gather: result is tensor<4x3xf32>, expected tensor<3x4xf32> (axis 0 is 4, not 3; [3] of axes [1] of tensor<4x8xf32>)}}
  %y = graph.gather %x[%i] axes [1] : tensor<4x8xf32>[tensor<3xi64>] -> tensor<4x3xf32>
  func.return
}

// -----

// There is nothing to gather.
func.func @f(%x: tensor<0x8xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{graph.gather: axis 0 has no elements to gather (source tensor<0x8xf32>, result tensor<3x8xf32>)}}
  %y = graph.gather %x[%i] axes [0] : tensor<0x8xf32>[tensor<3xi64>] -> tensor<3x8xf32>
  func.return
}

// -----

// Updates of another shape.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %u: tensor<8x3xf32>) {
  // expected-error @+1 {{graph.scatter: updates are tensor<8x3xf32>, expected tensor<3x8xf32> (axis 0 is 8, not 3; [3] of axes [0] of tensor<4x8xf32>)}}
  %y = graph.scatter set %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<8x3xf32>
  func.return
}

// -----

// Updates of another element type.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3xi64>, %u: tensor<3x8xf64>) {
  // expected-error @+1 {{graph.scatter: updates are tensor<3x8xf64>, expected tensor<3x8xf32> (element type f64, not f32; [3] of axes [0] of tensor<4x8xf32>)}}
  %y = graph.scatter set %x[%i], %u axes [0] : tensor<4x8xf32>[tensor<3xi64>], tensor<3x8xf64>
  func.return
}

// -----

// Booleans can be set, not added.
func.func @f(%x: tensor<4xi1>, %i: tensor<3xi64>, %u: tensor<3xi1>) {
  // expected-error @+1 {{graph.scatter add: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.scatter add %x[%i], %u axes [0] : tensor<4xi1>[tensor<3xi64>], tensor<3xi1>
  func.return
}

// -----

// One start for each axis.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{graph.dynamic_slice: 1 indices for rank 2 (source tensor<4x8xf32>)}}
  %y = graph.dynamic_slice %x[%i] sizes [1, 8] : tensor<4x8xf32>[tensor<i64>]
  func.return
}

// -----

// Starts are of rank 0.
func.func @f(%x: tensor<4xf32>, %i: tensor<1xi64>) {
  // expected-error @+1 {{graph.dynamic_slice: index 0 is tensor<1xi64>, expected rank 0 (source tensor<4xf32>)}}
  %y = graph.dynamic_slice %x[%i] sizes [1] : tensor<4xf32>[tensor<1xi64>]
  func.return
}

// -----

// Starts are integers.
func.func @f(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{graph.dynamic_slice: index 0: cannot take tensor<f32> (element type f32, needs an integer)}}
  %y = graph.dynamic_slice %x[%i] sizes [1] : tensor<4xf32>[tensor<f32>]
  func.return
}

// -----

// A box that fits nowhere.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{graph.dynamic_slice: axis 1 of slice has 9 elements, the source has 8 (slice [1, 9], source tensor<4x8xf32>)}}
  %y = graph.dynamic_slice %x[%i, %i] sizes [1, 9] : tensor<4x8xf32>[tensor<i64>, tensor<i64>]
  func.return
}

// -----

// A negative size.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{graph.dynamic_slice: sizes of axis 0 is below 0 (-1, source tensor<4x8xf32>)}}
  %y = graph.dynamic_slice %x[%i, %i] sizes [-1, 8] : tensor<4x8xf32>[tensor<i64>, tensor<i64>]
  func.return
}

// -----

// One size for each axis.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<i64>) {
  // expected-error @+1 {{graph.dynamic_slice: 1 sizes for rank 2 (sizes [1], source tensor<4x8xf32>)}}
  %y = graph.dynamic_slice %x[%i, %i] sizes [1] : tensor<4x8xf32>[tensor<i64>, tensor<i64>]
  func.return
}

// -----

// An update of another element type.
func.func @f(%x: tensor<4xf32>, %i: tensor<i64>, %u: tensor<2xf64>) {
  // expected-error @+1 {{graph.dynamic_update: update is tensor<2xf64>, expected elements of f32 (source tensor<4xf32>)}}
  %y = graph.dynamic_update %x[%i], %u : tensor<4xf32>[tensor<i64>], tensor<2xf64>
  func.return
}

// -----

// An update of another rank.
func.func @f(%x: tensor<4xf32>, %i: tensor<i64>, %u: tensor<f32>) {
  // expected-error @+1 {{graph.dynamic_update: update has rank 0, the source has 1 (update tensor<f32>, source tensor<4xf32>)}}
  %y = graph.dynamic_update %x[%i], %u : tensor<4xf32>[tensor<i64>], tensor<f32>
  func.return
}

// -----

// An update that fits nowhere.
func.func @f(%x: tensor<4xf32>, %i: tensor<i64>, %u: tensor<5xf32>) {
  // expected-error @+1 {{graph.dynamic_update: axis 0 of update has 5 elements, the source has 4 (update [5], source tensor<4xf32>)}}
  %y = graph.dynamic_update %x[%i], %u : tensor<4xf32>[tensor<i64>], tensor<5xf32>
  func.return
}

// -----

// So many elements fit, but not with steps between them.
func.func @f(%x: tensor<4xf32>, %i: tensor<i64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{graph.dynamic_update: axis 0 of update has 5 elements, the source has 4 (update [5], source tensor<4xf32>)}}
  %y = graph.dynamic_update %x[%i], %u strides [4] : tensor<4xf32>[tensor<i64>], tensor<2xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<i64>, %u: tensor<2xf32>) {
  // expected-error @+1 {{graph.dynamic_update: strides of axis 0 is below 1 (0, source tensor<4xf32>)}}
  %y = graph.dynamic_update %x[%i], %u strides [0] : tensor<4xf32>[tensor<i64>], tensor<2xf32>
  func.return
}

// -----

// Booleans are not added up.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.cumulate add: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.cumulate add %x axis 0 : tensor<4xi1>
  func.return
}

// -----

// Scalars have no axis.
func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{graph.cumulate: axis 0 is out of range for rank 0 (source tensor<f32>)}}
  %y = graph.cumulate add %x axis 0 : tensor<f32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.sort: axis -1 is negative (rank 1, source tensor<4xf32>)}}
  %y = graph.sort %x axis -1 : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.argsort: axis 1 is out of range for rank 1 (source tensor<4xf32>)}}
  %y = graph.argsort %x axis 1 : tensor<4xf32>
  func.return
}

// -----

// Positions are i64.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.argsort: result is tensor<4xi32>, expected tensor<4xi64> (element type i32, not i64; a position for each element of tensor<4xf32>)}}
  %y = "graph.argsort"(%x) <{axis = #graph<axis 0>}> : (tensor<4xf32>) -> tensor<4xi32>
  func.return
}

// -----

// One sequence is searched.
func.func @f(%s: tensor<2x4xf32>, %x: tensor<3xf32>) {
  // expected-error @+1 {{graph.search_sorted: sorted is tensor<2x4xf32>, expected rank 1}}
  %y = graph.search_sorted left %s, %x : tensor<2x4xf32>, tensor<3xf32>
  func.return
}

// -----

// Of elements of the same type.
func.func @f(%s: tensor<4xf64>, %x: tensor<3xf32>) {
  // expected-error @+1 {{graph.search_sorted: sorted and values have elements of f64 and f32, expected one type (tensor<4xf64>, tensor<3xf32>)}}
  %y = graph.search_sorted left %s, %x : tensor<4xf64>, tensor<3xf32>
  func.return
}

// -----

// Words have 32 bits.
func.func @f(%k: tensor<4xi32>, %c: tensor<4x3xi32>) {
  // expected-error @+1 {{graph.threefry: key is tensor<4xi32>, expected tensor<4xui32>}}
  %y = graph.threefry %k, %c rounds 20 : tensor<4xi32>, tensor<4x3xi32>
  func.return
}

// -----

// The counters' words are along dim 0.
func.func @f(%k: tensor<4xui32>, %c: tensor<3x4xui32>) {
  // expected-error @+1 {{graph.threefry: counter is tensor<3x4xui32>, expected elements of ui32 and 4 words in dim 0}}
  %y = graph.threefry %k, %c rounds 20 : tensor<4xui32>, tensor<3x4xui32>
  func.return
}

// -----

// At least one round.
func.func @f(%k: tensor<4xui32>) {
  // expected-error @+1 {{graph.threefry: 0 rounds, expected 1 to 72}}
  %y = graph.threefry %k, %k rounds 0 : tensor<4xui32>, tensor<4xui32>
  func.return
}

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// An axis that is not there.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reduce: axis 3 is out of range for rank 2 (source tensor<4x8xf32>)}}
  %s = graph.reduce add %x axes [3] : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// A negative axis.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reduce: axis -1 is negative (rank 2, source tensor<4x8xf32>)}}
  %s = graph.reduce add %x axes [-1] : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// An axis twice.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reduce: axis 1 is given twice ([1, 1], source tensor<4x8xf32>)}}
  %s = graph.reduce add %x axes [1, 1] : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// The wrong dim goes.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reduce: result is tensor<8xf32>, expected tensor<4xf32> (axis 0 is 8, not 4; tensor<4x8xf32> without axes [1])}}
  %s = graph.reduce add %x axes [1] : tensor<4x8xf32> -> tensor<8xf32>
  func.return
}

// -----

// A kept dim.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.reduce: result is tensor<4xf32>, expected tensor<4x1xf32> (rank 1, not 2; tensor<4x8xf32> with 1 for axes [1])}}
  %s = graph.reduce add %x axes [1] keep : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// An unknown kind.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{Expected `add`, `mul`, `max`, `min`, `and`, or `or`}}
  %s = graph.reduce sum %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// `add` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.reduce add: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %s = graph.reduce add %x axes [0] : tensor<4xi1> -> tensor<i1>
  func.return
}

// -----

// `mul` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.reduce mul: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %s = graph.reduce mul %x axes [0] : tensor<4xi1> -> tensor<i1>
  func.return
}

// -----

// `max` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.reduce max: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %s = graph.reduce max %x axes [0] : tensor<4xi1> -> tensor<i1>
  func.return
}

// -----

// `min` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.reduce min: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %s = graph.reduce min %x axes [0] : tensor<4xi1> -> tensor<i1>
  func.return
}

// -----

// `and` is for bits.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.reduce and: cannot take tensor<4xf32> (element type f32, needs an integer or i1)}}
  %s = graph.reduce and %x axes [0] : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

// `or` is for bits.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.reduce or: cannot take tensor<4xf32> (element type f32, needs an integer or i1)}}
  %s = graph.reduce or %x axes [0] : tensor<4xf32> -> tensor<f32>
  func.return
}

// -----

// A map too few.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: 2 maps, expected 3 (lhs, rhs, result)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Maps of other iteration spaces.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of rhs has 2 dims and 0 symbols, expected 3 dims and 0 symbols ((d0, d1) -> (d0, d1))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(k, n) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Symbols.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of lhs has 3 dims and 1 symbols, expected 3 dims and 0 symbols ((d0, d1, d2)[s0] -> (d0, d2))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k)[s] -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// A map of another rank.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of lhs has 1 results for rank 2 ((d0, d1, d2) -> (d0), tensor<4x8xf32>)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// A dim twice.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of lhs is not of distinct dims ((d0, d1, d2) -> (d0, d0))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// An index that is not a dim.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of lhs is not of distinct dims ((d0, d1, d2) -> (d0, (d2 + 1)))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k + 1)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Extents that differ.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: dim d2 is both 4 and 8 (axis 0 of lhs tensor<4x8xf32>, axis 0 of rhs tensor<8x2xf32>)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// A result of another extent.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: dim d1 is both 2 and 3 (axis 1 of rhs tensor<8x2xf32>, axis 1 of result tensor<4x3xf32>)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x3xf32>
  func.return
}

// -----

// A dim whose extent no operand knows.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: dim d3 indexes neither lhs nor rhs}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k, z) -> (m, k)>, affine_map<(m, n, k, z) -> (k, n)>, affine_map<(m, n, k, z) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// A result of booleans.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: cannot take tensor<4x2xi1> (element type i1, needs a number)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xi1>
  func.return
}

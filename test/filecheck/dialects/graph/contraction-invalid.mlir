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

// A dim twice in the result.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of result is not of distinct dims ((d0, d1, d2) -> (d0, d0))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, m)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// An index of the result that is not a dim.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of result is not of distinct dims ((d0, d1, d2) -> (d0, (d1 + 1)))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n + 1)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// An index that is no sum of dims with factors.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: map of lhs is not of sums of dims with constant factors ((d0, d1, d2) -> (d0, (d2 floordiv 2)))}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k floordiv 2)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// An index one too far.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: index 1 of lhs is from 1 to 8, outside of its 8 elements ((d2 + 1) for extents [4, 2, 8], lhs tensor<4x8xf32>)}}
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
  // expected-error @+1 {{graph.contract accumulate add: cannot take tensor<4x2xi1> (element type i1, needs a number)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xi1>
  func.return
}

// -----

// An index below 0.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: index 0 of source is from -1 to 5, outside of its 8 elements ((d0 + (d1 * -1)) for extents [6, 2], source tensor<8xf32>)}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i - k)>, affine_map<(i, k) -> (i)>] bounds [6, 2] : tensor<8xf32> -> tensor<6xf32>
  func.return
}

// -----

// One window where there are fewer elements than it has.
graph.dim @n min 1 max 40
func.func @f(%x: tensor<?xf32, #graph.dims<n>>) {
  // expected-error @+1 {{graph.contract: index 0 of source is from 0 to max(1, n - 4) + 3, outside of its n elements}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>] bounds [max(1, n - 4), 5] : tensor<?xf32, #graph.dims<n>> -> tensor<?xf32, #graph.dims<max(1, n - 4)>>
  func.return
}

// -----

// A window whose extent nothing tells.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: nothing tells the extent of dim d1, bounds are needed (maps (d0, d1) -> ((d0 + d1)), (d0, d1) -> (d0))}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>] : tensor<8xf32> -> tensor<6xf32>
  func.return
}

// -----

// A bound too few.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: 1 bounds for 2 dims (bounds [6], maps (d0, d1) -> ((d0 + d1)), (d0, d1) -> (d0))}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>] bounds [6] : tensor<8xf32> -> tensor<6xf32>
  func.return
}

// -----

// A negative bound.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: bound of dim d1 is negative (-3)}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>] bounds [6, -3] : tensor<8xf32> -> tensor<6xf32>
  func.return
}

// -----

// A bound that is not the extent.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: dim d0 is both 5 and 6 (bounds, axis 0 of result tensor<6xf32>)}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>] bounds [5, 3] : tensor<8xf32> -> tensor<6xf32>
  func.return
}

// -----

// A dim that nothing of the one operand depends on.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: dim d1 indexes no operand (maps (d0, d1) -> (d0), (d0, d1) -> (d0))}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i)>, affine_map<(i, k) -> (i)>] bounds [8, 3] : tensor<8xf32> -> tensor<8xf32>
  func.return
}

// -----

// One operand has nothing to be combined with.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: cannot combine add with one operand}}
  %y = graph.contract %x maps [affine_map<(i, k) -> (i + k)>, affine_map<(i, k) -> (i)>] bounds [6, 3] combine add : tensor<8xf32> -> tensor<6xf32>
  func.return
}

// -----

// Three operands.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: 3 operands, expected 1 or 2}}
  %y = graph.contract %x, %x, %x maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] : tensor<8xf32>, tensor<8xf32>, tensor<8xf32> -> tensor<f32>
  func.return
}

// -----

// A map too many for one operand.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: 3 maps, expected 2 (source, result)}}
  %y = graph.contract %x maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] : tensor<8xf32> -> tensor<f32>
  func.return
}

// -----

// Bits of floats.
func.func @f(%x: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract combine xor: cannot take tensor<f32> (element type f32, needs an integer or i1)}}
  %y = graph.contract %x, %x maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] combine xor : tensor<8xf32>, tensor<8xf32> -> tensor<f32>
  func.return
}

// -----

// Sums of booleans.
func.func @f(%x: tensor<8xi1>) {
  // expected-error @+1 {{graph.contract combine add: cannot take tensor<i1> (element type i1, needs a number)}}
  %y = graph.contract %x, %x maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] accumulate or combine add : tensor<8xi1>, tensor<8xi1> -> tensor<i1>
  func.return
}

// -----

// A tile of a dim that is not there.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: tile: columns are d3, the maps have 3 dims}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d0 = 2, d3 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Rows that are summed over.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: tile: rows are d2, which is no index of the result}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d2 = 2, d1 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Rows that are no number.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.tile: a tile of d0 = 0, d1 = 2 (expected 1 or more of each dim)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d0 = 0, d1 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// More columns than there are.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: tile: 3 columns of dim d1, which has 2}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d0 = 2, d1 = 3] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// A dim twice.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.tile: a tile of d1 = 1, d1 = 2 (expected two dims)}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d1 = 1, d1 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Three dims.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.tile: 3 dims, expected rows and columns, or columns}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d0 = 1, d1 = 2, d2 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Panels of what is not the last index of its operand.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: tile: rows d0 in panels, but the last index of lhs is d2}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d0 = 4 in panels, d1 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// A name that is no dim.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{'m' is no dim, expected d0 or another one}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [m = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

// -----

// Rows and columns of one operand.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8xf32>) {
  // expected-error @+1 {{graph.contract: tile: rows d0 and columns d1 index the same operand}}
  %c = graph.contract %a, %b maps [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (2)>, affine_map<(m, n) -> (m, n)>] tile [d0 = 2, d1 = 2] : tensor<4x8xf32>, tensor<8xf32> -> tensor<4x8xf32>
  func.return
}

// -----

// Columns of both operands.
func.func @f(%a: tensor<3x4x8xf32>, %b: tensor<3x8x2xf32>) {
  // expected-error @+1 {{graph.contract: tile: columns d0 index 2 operands, expected 1}}
  %c = graph.contract %a, %b maps [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, k, n)>, affine_map<(b, m, n, k) -> (b, m, n)>] tile [d0 = 2] : tensor<3x4x8xf32>, tensor<3x8x2xf32> -> tensor<3x4x2xf32>
  func.return
}

// -----

// Columns of which the number is not known.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x?xf32>) {
  // expected-error @+1 {{graph.contract: tile: 2 columns of dim d1, which has ?}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d1 = 2] : tensor<4x8xf32>, tensor<8x?xf32> -> tensor<4x?xf32>
  func.return
}

// -----

// A tile that adds up in integers of 16 bits.
func.func @f(%a: tensor<4x8xi16>, %b: tensor<8x2xi16>) {
  // expected-error @+1 {{graph.contract: a tile adds products of two in 32 or 64 bits, not add of mul of 2 operands for i16}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] tile [d1 = 2] : tensor<4x8xi16>, tensor<8x2xi16> -> tensor<4x2xi16>
  func.return
}

// -----

// A tile of maxima.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) {
  // expected-error @+1 {{graph.contract: a tile adds products of two in 32 or 64 bits, not max of mul of 2 operands for f32}}
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] accumulate max tile [d1 = 2] : tensor<4x8xf32>, tensor<8x2xf32> -> tensor<4x2xf32>
  func.return
}

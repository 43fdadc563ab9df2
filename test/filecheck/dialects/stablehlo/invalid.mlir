// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Too few operands.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{stablehlo.add: 1 operands, expected 2}}
  %y = "stablehlo.add"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// A property that must be there.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{stablehlo.transpose: there is no permutation}}
  %y = "stablehlo.transpose"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// A keyword that the op does not have.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{stablehlo.reverse: expected one of dims, an operand}}
  %y = stablehlo.reverse %x, axes = [0] : tensor<4xf32>
  func.return
}

// -----

// A clause that is given twice.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{given twice}}
  %y = stablehlo.reverse %x, dims = [0], dims = [0] : tensor<4xf32>
  func.return
}

// -----

// Dimension numbers that there are not, and one twice.
func.func @f(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) {
  // expected-error @+1 {{stablehlo.gather: there is no dims}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<dims = [1]>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) {
  // expected-error @+1 {{stablehlo.gather: index_vector_dim is given twice}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<index_vector_dim = 1, index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  func.return
}

// -----

// Types that do not say which is which.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{2 types, expected one or a function type}}
  %y = stablehlo.add %x, %x : tensor<4xf32>, tensor<4xf32>
  func.return
}

// -----

// A constant of something else.
func.func @f() {
  // expected-error @+1 {{stablehlo.constant: expected dense<...>}}
  %y = stablehlo.constant 1.0 : f32
  func.return
}

// -----

// A loop whose regions take other values than it carries.
func.func @f(%x: tensor<4xf32>, %c: tensor<i1>) {
  // expected-error @+1 {{stablehlo.while: the condition does not take the carried values}}
  %y = "stablehlo.while"(%x) ({
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%z: tensor<4xf32>):
    stablehlo.return %z : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{1 carried values but 2 types}}
  %y = stablehlo.while(%z = %x) : tensor<4xf32>, tensor<4xf32> cond {
    stablehlo.return %x : tensor<4xf32>
  } do {
    stablehlo.return %x : tensor<4xf32>
  }
  func.return
}

// -----

// A convolution with dims that are named twice.
func.func @f(%x: tensor<1x16x2xf32>, %k: tensor<3x2x2xf32>) {
  // expected-error @+1 {{stablehlo.conv: dims of lhs are b, b, f}}
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, b, f]x[0, i, o]->[b, 0, f], window = {} : (tensor<1x16x2xf32>, tensor<3x2x2xf32>) -> tensor<1x7x2xf32>
  func.return
}

// -----

// Too few of any number of operands, and a region of no block.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{stablehlo.dynamic_update_slice: 1 operands, expected 2 or more}}
  %y = stablehlo.dynamic_update_slice %x : tensor<4xf32>
  func.return
}

// -----

func.func @f(%x: tensor<4xf32>, %c: tensor<i1>) {
  // expected-error @+1 {{stablehlo.if: a region is not one block of ops}}
  %y = "stablehlo.if"(%c) ({
    stablehlo.return %x : tensor<4xf32>
  }, {}) : (tensor<i1>) -> tensor<4xf32>
  func.return
}

// RUN: tenon-opt %s -p convert-stablehlo-to-graph --split-input-file --verify-diagnostics | filecheck %s

// One op for one op; a constant that is a splat is one element, repeated.
// CHECK-LABEL: func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT:    %0 = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %zero = graph.broadcast %0 : tensor<f32> -> tensor<4xf32>
// CHECK-NEXT:    %y = graph.max %x, %zero : tensor<4xf32>
// CHECK-NEXT:    %z = graph.erf %y : tensor<4xf32>
// CHECK-NEXT:    func.return %z : tensor<4xf32>
func.func @elementwise(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<4xf32>
  %y = stablehlo.maximum %x, %zero : tensor<4xf32>
  %z = chlo.erf %y : tensor<4xf32> -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// A reduction from its identity, from another number, and that of argmax.
// CHECK-LABEL: func.func @reductions
// CHECK:         %s = graph.reduce add %x axes [1] : tensor<4x8xf32> -> tensor<4xf32>
// CHECK:         graph.reduce max %x axes [1]
// CHECK:         %m = graph.max
// CHECK:         graph.arg_reduce max %x axis 1
func.func @reductions(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %infinity = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %s = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %m = stablehlo.reduce(%x init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %i = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %v, %p = stablehlo.reduce(%x init: %infinity), (%i init: %first) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%j: tensor<i32>, %k: tensor<i32>) {
      %0 = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.compare NE, %a, %a, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.or %0, %1 : tensor<i1>
      %3 = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.compare LT, %j, %k, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %5 = stablehlo.and %3, %4 : tensor<i1>
      %6 = stablehlo.or %2, %5 : tensor<i1>
      %7 = stablehlo.select %2, %a, %b : tensor<i1>, tensor<f32>
      %8 = stablehlo.select %6, %j, %k : tensor<i1>, tensor<i32>
      stablehlo.return %7, %8 : tensor<f32>, tensor<i32>
    }
  return %s, %m, %p : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

// A product, a gather of rows and a scatter; calls are put in.
// CHECK-NOT:   @rows
// CHECK-LABEL: func.func @indexing
// CHECK:         %c = graph.contract %x, %w maps [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
// CHECK:         graph.gather %c[%{{.*}}] axes [0]
// CHECK:         graph.scatter add %x[%{{.*}}], %{{.*}} axes [0]
func.func @indexing(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %i: tensor<3x1xi32>) -> tensor<4x8xf32> {
  %c = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %g = call @rows(%c, %i) : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  %s = "stablehlo.scatter"(%x, %i, %g) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %0 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %0 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return %s : tensor<4x8xf32>
}
func.func private @rows(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %g = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %g : tensor<3x8xf32>
}

// -----

// Control flow.
// CHECK-LABEL: func.func @control
// CHECK:         %n, %y = graph.while (%i = %i0, %z = %x) : (tensor<i32>, tensor<4xf32>) {
// CHECK:           graph.condition
// CHECK:         } do (%i_1, %z_1) {
// CHECK:           graph.yield
// CHECK:         graph.if
func.func @control(%i0: tensor<i32>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n, %y = stablehlo.while(%i = %i0, %z = %x) : tensor<i32>, tensor<4xf32> cond {
    %c = stablehlo.compare LT, %i, %one, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %z : tensor<i32>, tensor<4xf32>
  }
  %r = "stablehlo.case"(%n) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %y : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// Nothing to do: a program of `graph`.
// CHECK-LABEL: func.func @graph
// CHECK-NEXT:    %y = graph.neg %x : tensor<4xf32>
func.func @graph(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.neg %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// All that has no conversion is listed, at the place of the first of them.
func.func @unsupported(%x: tensor<4xf32>, %i: tensor<ui32>) -> tensor<4xf32> {
  // expected-error @+1 {{convert-stablehlo-to-graph: no conversion for 3 ops (stablehlo.custom_call (@mine): 2, stablehlo.partition_id (outside of sdy.manual_computation): 1)}}
  %a = stablehlo.custom_call @mine(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = stablehlo.custom_call @mine(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %p = stablehlo.partition_id : tensor<ui32>
  return %b : tensor<4xf32>
}

// -----

// A result of another type than the op has.
func.func @wrong(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{stablehlo.transpose: result 0 is tensor<4x8xf32>, expected tensor<8x4xf32> (axis 0 is 8, not 4)}}
  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

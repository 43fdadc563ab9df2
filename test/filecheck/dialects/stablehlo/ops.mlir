// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s

// Elementwise ops: one type where all are the same.
// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<4xf32>, %i: tensor<4xui32>, %b: tensor<4xi1>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.add %x, %x : tensor<4xf32>
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  %1 = stablehlo.compare  LT, %x, %x,  TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  // CHECK-NEXT: %{{.*}} = stablehlo.compare EQ, %i, %i : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  %2 = stablehlo.compare EQ, %i, %i : (tensor<4xui32>, tensor<4xui32>) -> tensor<4xi1>
  // CHECK-NEXT: %{{.*}} = stablehlo.convert %i : (tensor<4xui32>) -> tensor<4xf32>
  %3 = stablehlo.convert %i : (tensor<4xui32>) -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.select %b, %x, %x : tensor<4xi1>, tensor<4xf32>
  %4 = stablehlo.select %b, %x, %x : tensor<4xi1>, tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.reduce_precision %x, format = e5m2 : tensor<4xf32>
  %5 = stablehlo.reduce_precision %x, format = e5m2 : tensor<4xf32>
  // CHECK-NEXT: %{{.*}} = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  %6 = chlo.erf %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK-NEXT: %{{.*}}, %{{.*}} = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  %7:2 = chlo.top_k(%x, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
  // CHECK-NEXT: %{{.*}}, %{{.*}} = stablehlo.optimization_barrier %x, %b : tensor<4xf32>, tensor<4xi1>
  %8:2 = stablehlo.optimization_barrier %x, %b : tensor<4xf32>, tensor<4xi1>
  func.return
}

// A loop along a dim, and products of groups.
// CHECK-LABEL: func.func @along
func.func @along(%x: tensor<4x2xf32>, %z: tensor<2xf32>, %w: tensor<3x2x5xf32>, %g: tensor<3xi32>) {
  // CHECK-NEXT: %{{.*}}, %{{.*}} = chlo.scan(%x) inits(%z) dimension = 0 attributes {is_reverse = true} {
  // CHECK-NEXT: ^bb{{.*}}(%row: tensor<2xf32>, %sum: tensor<2xf32>):
  %0:2 = chlo.scan(%x) inits (%z) dimension=0 attributes {is_reverse = true} {
  ^bb0(%row: tensor<2xf32>, %sum: tensor<2xf32>):
    // CHECK-NEXT: %next = stablehlo.add %row, %sum : tensor<2xf32>
    %next = stablehlo.add %row, %sum : tensor<2xf32>
    stablehlo.return %next, %next : tensor<2xf32>, tensor<2xf32>
    // CHECK: } : (tensor<4x2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>)
  } : (tensor<4x2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>)
  // CHECK-NEXT: chlo.ragged_dot %x, %w, %g
  // CHECK-SAME: #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
  // CHECK-SAME: lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
  %1 = "chlo.ragged_dot"(%x, %w, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0],
    rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>]}>
    : (tensor<4x2xf32>, tensor<3x2x5xf32>, tensor<3xi32>) -> tensor<4x5xf32>
  func.return
}

// Ops with dims, and constants in all their forms.
// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<4x8xf32>, %i: tensor<i32>) {
  // CHECK-NEXT: %{{.*}} = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK-NEXT: %{{.*}} = stablehlo.constant dense<[1.000000e+00, -0.000000e+00]> : tensor<2xf32>
  %hex = stablehlo.constant dense<"0x0000803F00000080"> : tensor<2xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.iota dim = 1 : tensor<4x8xi32>
  %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
  // CHECK-NEXT: %{{.*}} = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.slice %x [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.slice %x [0:4, 1:8:2] : (tensor<4x8xf32>) -> tensor<4x4xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.pad %x, %zero, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8x7xf32>
  %4 = stablehlo.pad %x, %zero, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8x7xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %5 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  // CHECK-NEXT: %{{.*}} = stablehlo.tuple %x, %i : tuple<tensor<4x8xf32>, tensor<i32>>
  %t = stablehlo.tuple %x, %i : tuple<tensor<4x8xf32>, tensor<i32>>
  // CHECK-NEXT: %{{.*}} = stablehlo.get_tuple_element %{{.*}}[1] : (tuple<tensor<4x8xf32>, tensor<i32>>) -> tensor<i32>
  %6 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4x8xf32>, tensor<i32>>) -> tensor<i32>
  func.return
}

// Products.
// CHECK-LABEL: func.func @products
func.func @products(%a: tensor<2x4x8xf32>, %b: tensor<2x8x3xf32>, %x: tensor<1x16x2xf32>, %k: tensor<3x2x2xf32>) {
  // CHECK-NEXT: stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST]
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  // CHECK-NEXT: stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = {{\[\[}}1, 1{{\]\]}}, rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x2xf32>, tensor<3x2x2xf32>) -> tensor<1x7x2xf32>
  func.return
}

// Reductions: the op that is all of the region, or the region.
// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>, %zero: tensor<f32>, %c: tensor<i32>) {
  // CHECK-NEXT: stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NEXT: stablehlo.reduce(%x init: %zero), (%i init: %c) across dimensions = [1]
  // CHECK-SAME: reducer(%a: tensor<f32>, %b: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>)
  %1:2 = stablehlo.reduce(%x init: %zero), (%i init: %c) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>) {
      %2 = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %2, %m : tensor<f32>, tensor<i32>
    }
  func.return
}

// Control flow: one name for the arguments of both regions of a loop.
// CHECK-LABEL: func.func @control
func.func @control(%i: tensor<i32>, %x: tensor<4xf32>, %c: tensor<i1>) {
  // CHECK-NEXT: stablehlo.while(%j = %i, %y = %x) : tensor<i32>, tensor<4xf32> cond {
  // CHECK-NEXT:   stablehlo.return %c : tensor<i1>
  // CHECK-NEXT: } do {
  // CHECK-NEXT:   stablehlo.add %y, %y : tensor<4xf32>
  %0:2 = stablehlo.while(%j = %i, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    stablehlo.return %c : tensor<i1>
  } do {
    %1 = stablehlo.add %y, %y : tensor<4xf32>
    stablehlo.return %j, %1 : tensor<i32>, tensor<4xf32>
  }
  // CHECK: "stablehlo.case"(%i) ({
  %2 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  // CHECK: stablehlo.custom_call @my.call(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
  stablehlo.custom_call @my.call(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
  // CHECK-NEXT: stablehlo.composite "my.op" %x {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.composite "my.op" %x {decomposition = @f} : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// Complex numbers, whose type is written alone where the operands are their parts.
// CHECK-LABEL: func.func @complex
func.func @complex(%x: tensor<4xf32>, %y: tensor<?xf32>) {
  // CHECK-NEXT: %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  %0 = stablehlo.complex %x, %x : tensor<4xcomplex<f32>>
  // CHECK-NEXT: %1 = stablehlo.complex %x, %y : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xcomplex<f32>>
  %1 = stablehlo.complex %x, %y : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xcomplex<f32>>
  // CHECK-NEXT: %2 = stablehlo.complex %x, %x : tensor<4xf32>
  %2 = stablehlo.complex %x, %x : tensor<4xf32>
  func.return
}

// Ops in the generic form, with dimension numbers.
// CHECK-LABEL: func.func @indexing
func.func @indexing(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) {
  // CHECK-NEXT: "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  func.return
}

// Locations whose aliases are defined below, and ranges of a file.
// CHECK-LABEL: func.func @locations
func.func @locations(%x: tensor<4xf32> loc("x")) {
  %0 = stablehlo.abs %x : tensor<4xf32> loc(#loc2)
  func.return
}
#loc1 = loc("model.py":5:6 to :97)
#loc2 = loc("jit(f)/abs"(callsite(#loc3 at #loc1)))
#loc3 = loc("model.py":7:1 to 8:2)

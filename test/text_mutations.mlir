// Programs that `text_mutations.py` changes: small ones that run, of all families of StableHLO's ops.

func.func @elementwise(%x: tensor<4x3xf32>, %i: tensor<4x3xi32>) -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  %0 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xi1>
  %1 = stablehlo.convert %i : (tensor<4x3xi32>) -> tensor<4x3xf32>
  %2 = stablehlo.select %0, %x, %1 : tensor<4x3xi1>, tensor<4x3xf32>
  %3 = stablehlo.clamp %1, %2, %x : tensor<4x3xf32>
  %4 = stablehlo.shift_left %i, %i : tensor<4x3xi32>
  %5 = stablehlo.reduce_precision %3, format = e5m2 : tensor<4x3xf32>
  return %5, %4 : tensor<4x3xf32>, tensor<4x3xi32>
}

// -----

func.func @functions(%x: tensor<7xf32>) -> (tensor<7xf32>, tensor<7xi32>) {
  %0 = chlo.erf_inv %x : tensor<7xf32> -> tensor<7xf32>
  %1 = chlo.lgamma %0 : tensor<7xf32> -> tensor<7xf32>
  %2 = stablehlo.exponential_minus_one %1 : tensor<7xf32>
  %3 = stablehlo.bitcast_convert %x : (tensor<7xf32>) -> tensor<7xi32>
  %4 = stablehlo.round_nearest_even %2 : tensor<7xf32>
  return %4, %3 : tensor<7xf32>, tensor<7xi32>
}

// -----

func.func @movement(%x: tensor<4x8xf32>, %i: tensor<i32>) -> (tensor<8x7xf32>, tensor<1x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.pad %x, %zero, low = [0, -1], high = [1, 0], interior = [1, 0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8x7xf32>
  %2 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 8] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
  %3 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %4 = stablehlo.slice %0 [1:8:2, 0:8] : (tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = stablehlo.dynamic_update_slice %4, %2, %i, %i : (tensor<4x8xf32>, tensor<1x8xf32>, tensor<i32>, tensor<i32>) -> tensor<4x8xf32>
  %6 = stablehlo.reverse %5, dims = [1] : tensor<4x8xf32>
  return %1, %2, %3, %6 : tensor<8x7xf32>, tensor<1x8xf32>, tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

func.func @shapes(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<5x2x6xf32>, tensor<2x6xi32>) {
  %0 = stablehlo.reshape %x : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %x, dims = [1, 2] : (tensor<2x6xf32>) -> tensor<5x2x6xf32>
  %2 = stablehlo.iota dim = 1 : tensor<2x6xi32>
  return %0, %1, %2 : tensor<3x4xf32>, tensor<5x2x6xf32>, tensor<2x6xi32>
}

// -----

func.func @products(%a: tensor<2x4x8xf32>, %b: tensor<2x8x3xf32>) -> tensor<2x4x3xf32> {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, HIGHEST] : (tensor<2x4x8xf32>, tensor<2x8x3xf32>) -> tensor<2x4x3xf32>
  return %0 : tensor<2x4x3xf32>
}

// -----

func.func @convolution(%x: tensor<1x16x2xf32>, %k: tensor<3x2x2xf32>) -> tensor<1x7x2xf32> {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [2], pad = [[1, 1]], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x16x2xf32>, tensor<3x2x2xf32>) -> tensor<1x7x2xf32>
  return %0 : tensor<1x7x2xf32>
}

// -----

func.func @reductions(%x: tensor<4x8xf32>, %i: tensor<4x8xi32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c = stablehlo.constant dense<3> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1:2 = stablehlo.reduce(%x init: %zero), (%i init: %c) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%m: tensor<i32>, %n: tensor<i32>) {
      %2 = stablehlo.maximum %a, %b : tensor<f32>
      %3 = stablehlo.add %m, %n : tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
    }
  return %0, %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>, tensor<4xi32>
}

// -----

func.func @windows(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>, base_dilations = array<i64: 1, 1>, window_dilations = array<i64: 1, 1>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

func.func @selected(%x: tensor<4x6xf32>, %s: tensor<2x3xf32>) -> tensor<4x6xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>, padding = dense<0> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

func.func @gathers(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>) -> tensor<3x8xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

func.func @scatters(%x: tensor<4x8xf32>, %i: tensor<3x1xi32>, %u: tensor<3x8xf32>) -> tensor<4x8xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @sorts(%x: tensor<4x5xf32>, %i: tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>, tensor<4x2xf32>) {
  %0:2 = "stablehlo.sort"(%x, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %m: tensor<i32>, %n: tensor<i32>):
    %1 = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xi32>) -> (tensor<4x5xf32>, tensor<4x5xi32>)
  %2:2 = chlo.top_k(%x, k = 2) : tensor<4x5xf32> -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %0#0, %0#1, %2#0 : tensor<4x5xf32>, tensor<4x5xi32>, tensor<4x2xf32>
}

// -----

func.func @control(%i: tensor<i32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %end = stablehlo.constant dense<3> : tensor<i32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%j = %first, %y = %x) : tensor<i32>, tensor<4xf32>
  cond {
    %1 = stablehlo.compare LT, %j, %end, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.add %y, %y : tensor<4xf32>
    %3 = stablehlo.add %j, %one : tensor<i32>
    stablehlo.return %3, %2 : tensor<i32>, tensor<4xf32>
  }
  %4 = "stablehlo.case"(%i) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %0#1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %5 = stablehlo.compare GT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %6 = "stablehlo.if"(%5) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    %7 = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %7 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %0#1, %4, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @calls(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = call @doubled(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.composite "my.op" %0 {decomposition = @doubled} : (tensor<4xf32>) -> tensor<4xf32>
  %2:2 = stablehlo.optimization_barrier %0, %1 : tensor<4xf32>, tensor<4xf32>
  %3 = stablehlo.tuple %2#0, %2#1 : tuple<tensor<4xf32>, tensor<4xf32>>
  %4 = stablehlo.get_tuple_element %3[1] : (tuple<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
  return %1, %4 : tensor<4xf32>, tensor<4xf32>
}
func.func private @doubled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @open(%n: tensor<i32>, %x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?xi32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.concatenate %1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %3 = stablehlo.dynamic_broadcast_in_dim %zero, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
  %4 = stablehlo.maximum %x, %3 : tensor<?x4xf32>
  %5 = stablehlo.dynamic_iota %1, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  return %4, %5 : tensor<?x4xf32>, tensor<?xi32>
}

// -----

func.func @matrices(%x: tensor<2x3x3xf32>, %b: tensor<2x3x2xf32>) -> (tensor<2x3x3xf32>, tensor<2x3x2xf32>) {
  %0 = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  %i = stablehlo.iota dim = 1 : tensor<2x3x3xf32>
  %j = stablehlo.iota dim = 2 : tensor<2x3x3xf32>
  %c = stablehlo.compare EQ, %i, %j : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xi1>
  %d = stablehlo.convert %c : (tensor<2x3x3xi1>) -> tensor<2x3x3xf32>
  %s = stablehlo.add %0, %d : tensor<2x3x3xf32>
  %1 = stablehlo.cholesky %s, lower = true : tensor<2x3x3xf32>
  %2 = "stablehlo.triangular_solve"(%1, %b) <{left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>}> : (tensor<2x3x3xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  return %1, %2 : tensor<2x3x3xf32>, tensor<2x3x2xf32>
}

// -----

func.func @random(%state: tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>) {
  %0, %1 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<3x5xui32>)
  return %0, %1 : tensor<2xui64>, tensor<3x5xui32>
}

// -----

func.func @normalised(%x: tensor<2x3x4xf32>, %s: tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<2x3x4xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 0.001 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
  %1 = "stablehlo.batch_norm_inference"(%x, %s, %s, %0#1, %0#2) <{epsilon = 0.001 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  return %0#0, %0#1, %1 : tensor<2x3x4xf32>, tensor<3xf32>, tensor<2x3x4xf32>
}

// -----

func.func @mapped(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.map"(%x, %x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

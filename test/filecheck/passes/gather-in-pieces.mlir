// RUN: tenon-opt -p gather-in-pieces --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @columns
// CHECK-NEXT:    %a_1 = graph.all_gather %a on @mesh axes = [0] dim = 0 channel = 1 : tensor<6x4xf32> -> tensor<12x4xf32>
// CHECK-NEXT:    %a_2 = graph.reshape %a_1 : tensor<12x4xf32> -> tensor<2x6x4xf32>
// CHECK-NEXT:    %b_1 = graph.reshape %b : tensor<8x5xf32> -> tensor<2x4x5xf32>
// CHECK-NEXT:    %c = graph.contract %a_2, %b_1 maps [affine_map<(d0, d1, d2, d3) -> (d2, d0, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d3, d1)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>] bounds [6, 5, 2, 4] : tensor<2x6x4xf32>, tensor<2x4x5xf32> -> tensor<6x5xf32>
builtin.module attributes {tenon.rank = 0 : i64} {
  shard.grid @mesh(shape = 2) {axis_names = ["x"]}
  func.func @columns(%a: tensor<6x4xf32>, %b: tensor<8x5xf32>) -> tensor<6x5xf32> {
    %a_1 = graph.all_gather %a on @mesh axes = [0] dim = 1 channel = 1 : tensor<6x4xf32> -> tensor<6x8xf32>
    %c = graph.contract %a_1, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<6x8xf32>, tensor<8x5xf32> -> tensor<6x5xf32>
    func.return %c : tensor<6x5xf32>
  }
}

// -----

// Both sides are what is gathered, along a batch, and another product reads it, too.
// CHECK-LABEL: func.func @twice
// CHECK-NEXT:    %a_1 = graph.all_gather %a on @mesh axes = [0, 1] dim = 0 channel = 1 : tensor<3x7x2xf32> -> tensor<12x7x2xf32>
// CHECK-NEXT:    %a_2 = graph.reshape %a_1 : tensor<12x7x2xf32> -> tensor<4x3x7x2xf32>
// CHECK-NEXT:    %c = graph.contract %a_2, %a_2 maps [affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d3, d0, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>] bounds [3, 7, 7, 4, 2] {symmetric} : tensor<4x3x7x2xf32>, tensor<4x3x7x2xf32> -> tensor<3x7x7xf32>
// CHECK-NEXT:    %v_1 = graph.reshape %v : tensor<3x8xf32> -> tensor<3x4x2xf32>
// CHECK-NEXT:    %d = graph.contract %v_1, %a_2 maps [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1)>] bounds [3, 7, 4, 2] accumulate max combine add
builtin.module attributes {tenon.rank = 3 : i64} {
  shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
  func.func @twice(%a: tensor<3x7x2xf32>, %v: tensor<3x8xf32>) -> (tensor<3x7x7xf32>, tensor<3x7xf32>) {
    %a_1 = graph.all_gather %a on @mesh axes = [0, 1] dim = 2 channel = 1 : tensor<3x7x2xf32> -> tensor<3x7x8xf32>
    %c = graph.contract %a_1, %a_1 maps [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>] {symmetric} : tensor<3x7x8xf32>, tensor<3x7x8xf32> -> tensor<3x7x7xf32>
    %d = graph.contract %v, %a_1 maps [affine_map<(b, j, k) -> (b, k)>, affine_map<(b, j, k) -> (b, j, k)>, affine_map<(b, j, k) -> (b, j)>] accumulate max combine add : tensor<3x8xf32>, tensor<3x7x8xf32> -> tensor<3x7xf32>
    func.return %c, %d : tensor<3x7x7xf32>, tensor<3x7xf32>
  }
}

// -----

// Parts differ in size; a row is contiguous; the dim is one of the result; a window reads along it.
// CHECK-LABEL: func.func @left
// CHECK-NEXT:    graph.all_gather %a {{.*}} dim = 1 channel = 1
// CHECK-NEXT:    graph.contract
// CHECK-NEXT:    graph.all_gather %r {{.*}} dim = 1 channel = 2
// CHECK-NEXT:    graph.contract
// CHECK-NEXT:    graph.all_gather %b {{.*}} dim = 1 channel = 3
// CHECK-NEXT:    graph.contract
// CHECK-NEXT:    graph.all_gather %b {{.*}} dim = 1 channel = 4
// CHECK-NEXT:    graph.contract
builtin.module attributes {tenon.rank = 0 : i64} {
  shard.grid @mesh(shape = 2) {axis_names = ["x"]}
  func.func @left(%a: tensor<6x4xf32>, %r: tensor<1x4xf32>, %b: tensor<8x4xf32>, %w: tensor<7x5xf32>, %v: tensor<8x5xf32>, %u: tensor<3xf32>) -> (tensor<6x5xf32>, tensor<1x5xf32>, tensor<8x5xf32>, tensor<8x6xf32>) {
    %a_1 = graph.all_gather %a on @mesh axes = [0] dim = 1 channel = 1 : tensor<6x4xf32> -> tensor<6x7xf32>
    %c = graph.contract %a_1, %w maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<6x7xf32>, tensor<7x5xf32> -> tensor<6x5xf32>
    %r_1 = graph.all_gather %r on @mesh axes = [0] dim = 1 channel = 2 : tensor<1x4xf32> -> tensor<1x8xf32>
    %d = graph.contract %r_1, %v maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<1x8xf32>, tensor<8x5xf32> -> tensor<1x5xf32>
    %b_1 = graph.all_gather %b on @mesh axes = [0] dim = 1 channel = 3 : tensor<8x4xf32> -> tensor<8x8xf32>
    %e = graph.contract %b_1, %v maps [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<8x8xf32>, tensor<8x5xf32> -> tensor<8x5xf32>
    %b_2 = graph.all_gather %b on @mesh axes = [0] dim = 1 channel = 4 : tensor<8x4xf32> -> tensor<8x8xf32>
    %f = graph.contract %b_2, %u maps [affine_map<(i, j, k) -> (i, j + k)>, affine_map<(i, j, k) -> (k)>, affine_map<(i, j, k) -> (i, j)>] bounds [8, 6, 3] : tensor<8x8xf32>, tensor<3xf32> -> tensor<8x6xf32>
    func.return %c, %d, %e, %f : tensor<6x5xf32>, tensor<1x5xf32>, tensor<8x5xf32>, tensor<8x6xf32>
  }
}

// -----

// Another op reads it; a product has a tile; nobody reads it.
// CHECK-LABEL: func.func @readers
// CHECK-NEXT:    graph.all_gather %a {{.*}} dim = 1 channel = 1
// CHECK-NEXT:    graph.contract
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.all_gather %a {{.*}} dim = 1 channel = 2
// CHECK-NEXT:    graph.contract
// CHECK-NEXT:    graph.all_gather %a {{.*}} dim = 1 channel = 3
builtin.module attributes {tenon.rank = 0 : i64} {
  shard.grid @mesh(shape = 2) {axis_names = ["x"]}
  func.func @readers(%a: tensor<6x4xf32>, %b: tensor<8x5xf32>) -> (tensor<6x5xf32>, tensor<6x8xf32>, tensor<6x5xf32>) {
    %a_1 = graph.all_gather %a on @mesh axes = [0] dim = 1 channel = 1 : tensor<6x4xf32> -> tensor<6x8xf32>
    %c = graph.contract %a_1, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] : tensor<6x8xf32>, tensor<8x5xf32> -> tensor<6x5xf32>
    %e = graph.exp %a_1 : tensor<6x8xf32>
    %a_2 = graph.all_gather %a on @mesh axes = [0] dim = 1 channel = 2 : tensor<6x4xf32> -> tensor<6x8xf32>
    %d = graph.contract %a_2, %b maps [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>] tile [d0 = 2, d1 = 4] : tensor<6x8xf32>, tensor<8x5xf32> -> tensor<6x5xf32>
    %a_3 = graph.all_gather %a on @mesh axes = [0] dim = 1 channel = 3 : tensor<6x4xf32> -> tensor<6x8xf32>
    func.return %c, %e, %d : tensor<6x5xf32>, tensor<6x8xf32>, tensor<6x5xf32>
  }
}

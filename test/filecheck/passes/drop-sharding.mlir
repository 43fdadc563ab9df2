// RUN: tenon-opt -p drop-sharding --split-input-file --verify-diagnostics %s | filecheck %s

// What says how values are split goes, and the grid; other attributes stay.
// CHECK-LABEL: builtin.module {
// CHECK-NEXT:    func.func @f(%x: tensor<4x8xf32> {tenon.frozen}) -> tensor<4x8xf32> {
// CHECK-NEXT:    %y = graph.exp %x : tensor<4x8xf32>
// CHECK-NEXT:    func.return %y : tensor<4x8xf32>
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @f(%x: tensor<4x8xf32> {tenon.frozen, tenon.sharding = #shard<axisarray[[0], []]>}) -> (tensor<4x8xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) {
  %rows = shard.sharding @mesh split_axes = [[0], []] : !shard.sharding
  %x_rows = shard.shard %x to %rows : tensor<4x8xf32>
  %y = graph.exp %x_rows : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

// -----

// The program of a rank stays as it is.
// CHECK-LABEL: tenon.rank = 1
// CHECK-NEXT:    shard.grid @mesh(shape = 2)
// CHECK-NEXT:    func.func @f(%x: tensor<2xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0]]>})
builtin.module attributes {tenon.rank = 1 : i64} {
  shard.grid @mesh(shape = 2) {axis_names = ["x"]}
  func.func @f(%x: tensor<2xf32> {tenon.sharding = #shard<axisarray[[0]]>}) -> tensor<2xf32> {
    %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<2xf32>
    func.return %s : tensor<2xf32>
  }
}

// -----

// A grid that collectives name stays.
// CHECK-LABEL: builtin.module {
// CHECK-NEXT:    shard.grid @mesh(shape = 2)
shard.grid @mesh(shape = 2) {axis_names = ["x"]}
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<2xf32>
  func.return %s : tensor<2xf32>
}

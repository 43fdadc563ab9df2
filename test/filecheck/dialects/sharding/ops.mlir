// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --print-op-generic %s | tenon-opt | filecheck %s

// What MLIR's dialect says of a program of graph.
// CHECK:      shard.grid @mesh(shape = 2x3) {axis_names = ["x", "y"]}
shard.grid @mesh(shape = 2x3) {axis_names = ["x", "y"]}
// CHECK:      func.func @f(%x: tensor<8x6xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0, 1], []]>}) -> tensor<8x6xf32> {
func.func @f(%x: tensor<8x6xf32> {tenon.sharding = #shard<axisarray[[0, 1], []]>}) -> tensor<8x6xf32> {
  // CHECK-NEXT:   %s = shard.sharding @mesh split_axes = {{\[\[}}0], [1]] : !shard.sharding
  %s = shard.sharding @mesh split_axes = [[0], [1]] : !shard.sharding
  // CHECK-NEXT:   %y = shard.shard %x to %s : tensor<8x6xf32>
  %y = shard.shard %x to %s : tensor<8x6xf32>
  // CHECK-NEXT:   %z = shard.shard %y to %s annotate_for_users {tenon.reason = "annotated"} : tensor<8x6xf32>
  %z = shard.shard %y to %s annotate_for_users {tenon.reason = "annotated"} : tensor<8x6xf32>
  func.return %z : tensor<8x6xf32>
}

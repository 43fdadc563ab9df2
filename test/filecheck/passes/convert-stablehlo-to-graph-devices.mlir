// RUN: tenon-opt %s -p convert-stablehlo-to-graph --split-input-file | filecheck %s

// What is said of arguments, results and values is a grid and annotations of it.
// CHECK:       shard.grid @mesh(shape = 2x4) {axis_names = ["x", "y"]}
// CHECK-NEXT:  func.func @annotated(%x: tensor<8x8xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0], []]>}) -> (tensor<8x8xf32> {tenon.sharding = #shard<axisarray{{\[\[}}0, 1], []]>}) {
// CHECK-NEXT:    %y = graph.neg %x : tensor<8x8xf32>
// CHECK-NEXT:    %0 = shard.sharding @mesh split_axes = {{\[\[}}1], []] : !shard.sharding
// CHECK-NEXT:    %z = shard.shard %y to %0 : tensor<8x8xf32>
// CHECK-NEXT:    func.return %z : tensor<8x8xf32>
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @annotated(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) {
  %y = stablehlo.negate %x : tensor<8x8xf32>
  %z = sdy.sharding_constraint %y <@mesh, [{"y"}, {}]> : tensor<8x8xf32>
  func.return %z : tensor<8x8xf32>
}

// -----

// What each device does; half of an axis is an axis of the grid.
// CHECK:       shard.grid @mesh(shape = 2x2) {axis_names = ["stride2", "stride1"]}
// CHECK-NEXT:  func.func @manual(%x: tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    %0 = graph.manual_computation on @mesh(%x) split {{\[\[\[}}0, 1]]] to {{\[\[\[}}0, 1]]] : (tensor<8xf32>) -> tensor<8xf32> {
// CHECK-NEXT:    ^bb0(%part: tensor<2xf32>):
// CHECK-NEXT:      %1 = graph.all_reduce add %part on @mesh axes = [1] channel = 1 : tensor<2xf32>
// CHECK-NEXT:      %2 = graph.collective_permute %1 on @mesh axes = [0, 1] pairs = {{\[\[}}0, 1], [1, 0]] channel = 2 : tensor<2xf32> -> tensor<2xf32>
// CHECK-NEXT:      graph.yield %2 : tensor<2xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %0 : tensor<8xf32>
sdy.mesh @mesh = <["x"=4]>
func.func @manual(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%part: tensor<2xf32>) {
    %1 = "stablehlo.all_reduce"(%part) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %3 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<2xf32>) -> tensor<2xf32>
    %2 = "stablehlo.collective_permute"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
    sdy.return %2 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  func.return %0 : tensor<8xf32>
}

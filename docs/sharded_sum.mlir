shard.grid @mesh(shape = 2x2) {axis_names = ["x", "y"]}
func.func @f(%x: tensor<7x6xf32> {tenon.sharding = #shard<axisarray[[0], []]>}) -> tensor<7xf32> {
  %both = shard.sharding @mesh split_axes = [[0], [1]] : !shard.sharding
  %y = graph.exp %x : tensor<7x6xf32>
  %y_both = shard.shard %y to %both : tensor<7x6xf32>
  %s = graph.reduce add %y_both axes [1] : tensor<7x6xf32> -> tensor<7xf32>
  func.return %s : tensor<7xf32>
}

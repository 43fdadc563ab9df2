func.func @softmax(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
  %max = graph.reduce max %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  %base = graph.broadcast %max : tensor<4x1xf32> -> tensor<4x8xf32>
  %difference = graph.sub %x, %base : tensor<4x8xf32>
  %exponential = graph.exp %difference : tensor<4x8xf32>
  %sum = graph.reduce add %exponential axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  %denominator = graph.broadcast %sum : tensor<4x1xf32> -> tensor<4x8xf32>
  %y = graph.div %exponential, %denominator : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

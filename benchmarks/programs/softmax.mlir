func.func @softmax(%x : tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %max = graph.reduce max %x axes [1] keep : tensor<4096x1024xf32> -> tensor<4096x1xf32>
  %base = graph.broadcast %max : tensor<4096x1xf32> -> tensor<4096x1024xf32>
  %difference = graph.sub %x, %base : tensor<4096x1024xf32>
  %exponential = graph.exp %difference : tensor<4096x1024xf32>
  %sum = graph.reduce add %exponential axes [1] keep : tensor<4096x1024xf32> -> tensor<4096x1xf32>
  %denominator = graph.broadcast %sum : tensor<4096x1xf32> -> tensor<4096x1024xf32>
  %y = graph.div %exponential, %denominator : tensor<4096x1024xf32>
  func.return %y : tensor<4096x1024xf32>
}

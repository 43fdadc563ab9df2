// Over the last axis: (x - mean) / sqrt(variance + 1e-5) * gamma + beta.
func.func @layernorm(
    %x : tensor<4096x1024xf32>, %gamma : tensor<1024xf32>, %beta : tensor<1024xf32>) -> tensor<4096x1024xf32> {
  %share = graph.constant dense<0.0009765625> : tensor<4096x1xf32>
  %epsilon = graph.constant dense<1.0e-05> : tensor<4096x1xf32>
  %sum = graph.reduce add %x axes [1] keep : tensor<4096x1024xf32> -> tensor<4096x1xf32>
  %mean = graph.mul %sum, %share : tensor<4096x1xf32>
  %center = graph.broadcast %mean : tensor<4096x1xf32> -> tensor<4096x1024xf32>
  %deviation = graph.sub %x, %center : tensor<4096x1024xf32>
  %square = graph.mul %deviation, %deviation : tensor<4096x1024xf32>
  %square_sum = graph.reduce add %square axes [1] keep : tensor<4096x1024xf32> -> tensor<4096x1xf32>
  %variance = graph.mul %square_sum, %share : tensor<4096x1xf32>
  %shifted = graph.add %variance, %epsilon : tensor<4096x1xf32>
  %inverse = graph.rsqrt %shifted : tensor<4096x1xf32>
  %scale = graph.broadcast %inverse : tensor<4096x1xf32> -> tensor<4096x1024xf32>
  %normal = graph.mul %deviation, %scale : tensor<4096x1024xf32>
  %gain = graph.broadcast %gamma : tensor<1024xf32> -> tensor<4096x1024xf32>
  %gained = graph.mul %normal, %gain : tensor<4096x1024xf32>
  %offset = graph.broadcast %beta : tensor<1024xf32> -> tensor<4096x1024xf32>
  %y = graph.add %gained, %offset : tensor<4096x1024xf32>
  func.return %y : tensor<4096x1024xf32>
}

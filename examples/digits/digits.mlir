// An MLP 64 -> 128 -> 64 -> 10 over a batch of 360 images of 8x8 pixels, 0..16 each. The result holds the
// probability of each digit. The argument names are the names in weights.npz.
func.func @digits(
    %images : tensor<360x64xui8>,
    %w1 : tensor<64x128xf32>, %b1 : tensor<128xf32>,
    %w2 : tensor<128x64xf32>, %b2 : tensor<64xf32>,
    %w3 : tensor<64x10xf32>, %b3 : tensor<10xf32>) -> tensor<360x10xf32> {
  %pixels = graph.cast %images : tensor<360x64xui8> -> tensor<360x64xf32>
  %scale = graph.constant dense<0.0625> : tensor<360x64xf32>
  %x = graph.mul %pixels, %scale : tensor<360x64xf32>

  %product1 = graph.contract %x, %w1 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<360x64xf32>, tensor<64x128xf32> -> tensor<360x128xf32>
  %bias1 = graph.broadcast %b1 : tensor<128xf32> -> tensor<360x128xf32>
  %sum1 = graph.add %product1, %bias1 : tensor<360x128xf32>
  %hidden1 = graph.relu %sum1 : tensor<360x128xf32>

  %product2 = graph.contract %hidden1, %w2 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<360x128xf32>, tensor<128x64xf32> -> tensor<360x64xf32>
  %bias2 = graph.broadcast %b2 : tensor<64xf32> -> tensor<360x64xf32>
  %sum2 = graph.add %product2, %bias2 : tensor<360x64xf32>
  %hidden2 = graph.relu %sum2 : tensor<360x64xf32>

  %product3 = graph.contract %hidden2, %w3 maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] : tensor<360x64xf32>, tensor<64x10xf32> -> tensor<360x10xf32>
  %bias3 = graph.broadcast %b3 : tensor<10xf32> -> tensor<360x10xf32>
  %scores = graph.add %product3, %bias3 : tensor<360x10xf32>

  %max = graph.reduce max %scores axes [1] keep : tensor<360x10xf32> -> tensor<360x1xf32>
  %base = graph.broadcast %max : tensor<360x1xf32> -> tensor<360x10xf32>
  %difference = graph.sub %scores, %base : tensor<360x10xf32>
  %exponential = graph.exp %difference : tensor<360x10xf32>
  %total = graph.reduce add %exponential axes [1] keep : tensor<360x10xf32> -> tensor<360x1xf32>
  %denominator = graph.broadcast %total : tensor<360x1xf32> -> tensor<360x10xf32>
  %probabilities = graph.div %exponential, %denominator : tensor<360x10xf32>
  func.return %probabilities : tensor<360x10xf32>
}

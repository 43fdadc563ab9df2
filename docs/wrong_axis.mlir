func.func @sum(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %s = graph.reduce add %x axes [2] : tensor<4x8xf32> -> tensor<4xf32>
  func.return %s : tensor<4xf32>
}

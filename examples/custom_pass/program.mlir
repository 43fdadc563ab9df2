func.func @doubled_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = graph.constant dense<2.0> : tensor<4xf32>
  %y = graph.mul %x, %two : tensor<4xf32>
  %z = graph.mul %y, %two : tensor<4xf32>
  func.return %z : tensor<4xf32>
}

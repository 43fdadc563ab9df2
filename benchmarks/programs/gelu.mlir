// The tanh form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
func.func @gelu(%x : tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
  %half = graph.constant dense<0.5> : tensor<4096x1024xf32>
  %one = graph.constant dense<1.0> : tensor<4096x1024xf32>
  %cubic = graph.constant dense<0.044715> : tensor<4096x1024xf32>
  %scale = graph.constant dense<0.7978845608> : tensor<4096x1024xf32>
  %square = graph.mul %x, %x : tensor<4096x1024xf32>
  %cube = graph.mul %square, %x : tensor<4096x1024xf32>
  %bend = graph.mul %cube, %cubic : tensor<4096x1024xf32>
  %sum = graph.add %x, %bend : tensor<4096x1024xf32>
  %inner = graph.mul %sum, %scale : tensor<4096x1024xf32>
  %tanh = graph.tanh %inner : tensor<4096x1024xf32>
  %gate = graph.add %tanh, %one : tensor<4096x1024xf32>
  %half_x = graph.mul %x, %half : tensor<4096x1024xf32>
  %y = graph.mul %half_x, %gate : tensor<4096x1024xf32>
  func.return %y : tensor<4096x1024xf32>
}

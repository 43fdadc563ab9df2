func.func @main(%x: tensor<1000xf32>) -> (tensor<1000xf32>, tensor<5xi64>) {
  %t = graph.constant dense<0.5> : tensor<f32>
  %y = mine.softshrink %x by %t : tensor<1000xf32>, tensor<f32>
  %n = graph.cast %y : tensor<1000xf32> -> tensor<1000xi32>
  %h = mine.histogram %n : tensor<1000xi32> -> tensor<5xi64>
  func.return %y, %h : tensor<1000xf32>, tensor<5xi64>
}

func.func @matmul(%a : tensor<512x512xf32>, %b : tensor<512x512xf32>) -> tensor<512x512xf32> {
  %c = graph.contract %a, %b maps [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>] fastmath<contract> : tensor<512x512xf32>, tensor<512x512xf32> -> tensor<512x512xf32>
  func.return %c : tensor<512x512xf32>
}

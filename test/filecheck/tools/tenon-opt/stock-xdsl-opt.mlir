// RUN: xdsl-opt %s -p 'canonicalize-graph,cse' | filecheck %s

// CHECK: %y = graph.exp %x : tensor<4xf32>
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.exp %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

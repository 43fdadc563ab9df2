// RUN: tenon-opt %s -p 'default-pipeline' --verify-semantics | filecheck %s
// RUN: tenon-opt %s -p 'graph-pipeline,sched-pipeline{vector-nbytes=16}' --verify-semantics=3 | filecheck %s

// CHECK: sched.program @softmax
func.func @softmax(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %max = graph.reduce max %x axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  %base = graph.broadcast %max : tensor<4x1xf32> -> tensor<4x8xf32>
  %diff = graph.sub %x, %base : tensor<4x8xf32>
  %e = graph.exp %diff : tensor<4x8xf32>
  %sum = graph.reduce add %e axes [1] keep : tensor<4x8xf32> -> tensor<4x1xf32>
  %den = graph.broadcast %sum : tensor<4x1xf32> -> tensor<4x8xf32>
  %y = graph.div %e, %den : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}

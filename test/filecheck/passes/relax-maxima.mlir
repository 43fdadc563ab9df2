// RUN: tenon-opt -p relax-maxima %s | filecheck %s
// RUN: tenon-opt -p relax-maxima %s | tenon-opt | filecheck %s
// RUN: tenon-opt -p relax-maxima,infer-memory-modes,convert-graph-to-sched,map-axes,build-dependencies,plan-memory,low-pipeline %s -o /dev/null

// A row with NaN is NaN by its sum.
// CHECK-LABEL: func.func @softmax
// CHECK:         graph.reduce max %x axes [1] keep fastmath<nnan,nsz> : tensor<4x50xf32> -> tensor<4x1xf32>
func.func @softmax(%x: tensor<4x50xf32>) -> tensor<4x50xf32> {
  %m = graph.reduce max %x axes [1] keep : tensor<4x50xf32> -> tensor<4x1xf32>
  %b = graph.broadcast %m : tensor<4x1xf32> -> tensor<4x50xf32>
  %d = graph.sub %x, %b : tensor<4x50xf32>
  %e = graph.exp %d : tensor<4x50xf32>
  %s = graph.reduce add %e axes [1] keep : tensor<4x50xf32> -> tensor<4x1xf32>
  %c = graph.broadcast %s : tensor<4x1xf32> -> tensor<4x50xf32>
  %r = graph.div %e, %c : tensor<4x50xf32>
  func.return %r : tensor<4x50xf32>
}

// Here the maximum of each row is a result.
// CHECK-LABEL: func.func @seen
// CHECK:         graph.reduce max %x axes [1] keep : tensor<4x50xf32> -> tensor<4x1xf32>
func.func @seen(%x: tensor<4x50xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
  %m = graph.reduce max %x axes [1] keep : tensor<4x50xf32> -> tensor<4x1xf32>
  %b = graph.broadcast %m : tensor<4x1xf32> -> tensor<4x50xf32>
  %d = graph.sub %x, %b : tensor<4x50xf32>
  %e = graph.exp %d : tensor<4x50xf32>
  %s = graph.reduce add %e axes [1] keep : tensor<4x50xf32> -> tensor<4x1xf32>
  func.return %s, %m : tensor<4x1xf32>, tensor<4x1xf32>
}

// RUN: tenon-opt -p convert-graph-to-sched,build-dependencies %s | filecheck %s

// The grid is what items say themselves.
// CHECK-NOT: shard.grid
shard.grid @mesh(shape = 2x2)

// A collective begins once its operand is there, and what reads its result waits for the await.
// CHECK-LABEL: sched.program @sums
func.func @sums(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[E:.*]] = sched.launch @sums_0(%x, %e) after()
  // CHECK-NEXT: %[[B:.*]] = sched.collective all_reduce add on [2, 2] axes = [0] channel = 1(%e) to(%s) after(%[[E]]) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[A:.*]] = sched.await channel = 1(%e) to(%s) after(%[[B]]) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[N:.*]] = sched.launch @sums_1(%s, %y) after(%[[A]])
  // CHECK-NEXT: sched.return %y after(%[[N]])
  %e = graph.exp %x : tensor<4xf32>
  %s = graph.all_reduce add %e on @mesh axes = [0] channel = 1 : tensor<4xf32>
  %y = graph.neg %s : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// Collectives begin in the order of the text, in regions too; what is returned is a result.
// CHECK-LABEL: sched.program @order
func.func @order(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<8xf32> {
  // CHECK: %[[A:.*]] = sched.collective all_reduce max on [2, 2] axes = [1] channel = 1(%x) to(%a) after()
  // CHECK-NEXT: sched.await channel = 1(%x) to(%a) after(%[[A]])
  %a = graph.all_reduce max %x on @mesh axes = [1] channel = 1 : tensor<4xf32>
  // CHECK: %[[IF:.*]] = sched.if %c after(%[[A]]) {
  graph.if %c -> () {
    // CHECK-NEXT: %[[B:.*]] = sched.collective all_reduce min on [2, 2] axes = [0] channel = 2(%x) to(%b) after()
    // CHECK-NEXT: sched.await channel = 2(%x) to(%b) after(%[[B]])
    %b = graph.all_reduce min %x on @mesh axes = [0] channel = 2 : tensor<4xf32>
    graph.yield
  } else {
    graph.yield
  }
  // CHECK: %[[G:.*]] = sched.collective all_gather on [2, 2] axes = [0] dim = 0 channel = 3(%x) to(%g) after(%[[IF]])
  // CHECK-NEXT: %[[W:.*]] = sched.await channel = 3(%x) to(%g) after(%[[G]])
  // CHECK-NEXT: sched.return %g after(%[[W]])
  %g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 3 : tensor<4xf32> -> tensor<8xf32>
  func.return %g : tensor<8xf32>
}

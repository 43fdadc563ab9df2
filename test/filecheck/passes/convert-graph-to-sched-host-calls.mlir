// RUN: tenon-opt -p convert-graph-to-sched,build-dependencies %s | filecheck %s

// What the host is given and gives are buffers: results, rows of stacks, and what is computed for it.
// CHECK-LABEL: sched.program @buffers
func.func @buffers(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %y = sched.buffer global result : memref<4xf32>
  // CHECK-NEXT: %e = sched.buffer global temporary : memref<4xf32>
  // CHECK-NEXT: %z = sched.buffer global result : memref<4xf32>
  // CHECK-NEXT: %[[E:.*]] = sched.launch @buffers_0(%x, %e) after()
  // CHECK-NEXT: %[[Y:.*]] = sched.callback @f(%e) to(%y) after(%[[E]]) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[Z:.*]] = sched.launch @buffers_1(%y, %z) after(%[[Y]])
  // CHECK-NEXT: sched.return %y, %z after(%[[Z]])
  %e = graph.exp %x : tensor<4xf32>
  %y = graph.callback @f(%e) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.neg %y : tensor<4xf32>
  func.return %y, %z : tensor<4xf32>, tensor<4xf32>
}

// Lines are printed in order; callbacks wait for what they need only.
// CHECK-LABEL: sched.program @order
func.func @order(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  // CHECK: %[[A:.*]] = sched.print "a"() after() : () -> ()
  graph.print "a"
  // CHECK-NEXT: %[[Y:.*]] = sched.callback @f(%x) to(%y) after() : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %[[IF:.*]] = sched.if %c after(%[[A]]) {
  graph.if %c -> () {
    // CHECK-NEXT: sched.print "b"() after() : () -> ()
    graph.print "b"
    graph.yield
  // CHECK-NEXT: } else {
  } else {
    graph.yield
  }
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[C:.*]] = sched.print "c"() after(%[[IF]]) : () -> ()
  graph.print "c"
  // CHECK-NEXT: sched.return %y after(%[[Y]], %[[C]])
  func.return %y : tensor<4xf32>
}

// A row of a stack is filled where it lies.
// CHECK-LABEL: sched.program @rows
func.func @rows(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  // CHECK: sched.for %{{.*}} = 3
  // CHECK-NEXT: %row = sched.row %x[
  // CHECK-NEXT: %y = sched.row %all[
  // CHECK-NEXT: sched.callback @f(%row) to(%y) after()
  %all = graph.scan %i = 3 () over (%row = %x) : (tensor<3x4xf32>) -> (tensor<3x4xf32>) {
    %y = graph.callback @f(%row) : (tensor<4xf32>) -> tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  func.return %all : tensor<3x4xf32>
}

// A node is read where it lies as long as the host reads it before it changes.
// CHECK-LABEL: sched.program @nodes
graph.tnode @w : tensor<4xf32>
func.func @nodes(%x: tensor<4xf32>) {
  // CHECK: %w = sched.node @w : memref<4xf32>
  // CHECK-NEXT: %[[P:.*]] = sched.print "{0}"(%w) after() : (tensor<4xf32>) -> ()
  // CHECK-NEXT: %[[L:.*]] = sched.launch @nodes_0(%x, %w) after(%[[P]])
  %w = graph.read @w : tensor<4xf32>
  graph.print "{0}"(%w) : tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32>
  graph.write @w, %e : tensor<4xf32>
  func.return
}

// RUN: tenon-opt -p convert-graph-to-sched,schedule-collectives,build-dependencies --split-input-file --verify-diagnostics %s | filecheck %s

// What needs no other rank runs before anything is awaited; each result is read once it is there.
// CHECK-LABEL: sched.program @early
// CHECK: %[[A:.*]] = sched.launch @early_0(%x, %a) after()
// CHECK-NEXT: %[[S:.*]] = sched.collective all_reduce add on [2] axes = [0] channel = 1(%a) to(%s) after(%[[A]])
// CHECK-NEXT: %[[B:.*]] = sched.launch @early_2(%w, %b) after()
// CHECK-NEXT: %[[T:.*]] = sched.collective all_reduce add on [2] axes = [0] channel = 2(%b) to(%t) after(%[[S]], %[[B]])
// CHECK-NEXT: %[[SA:.*]] = sched.await channel = 1(%a) to(%s) after(%[[S]])
// CHECK-NEXT: %[[N:.*]] = sched.launch @early_1(%s, %n) after(%[[SA]])
// CHECK-NEXT: %[[TA:.*]] = sched.await channel = 2(%b) to(%t) after(%[[T]])
// CHECK-NEXT: %[[M:.*]] = sched.launch @early_1(%t, %m) after(%[[TA]])
// CHECK-NEXT: sched.return %n, %m after(%[[N]], %[[M]])
shard.grid @mesh(shape = 2)
func.func @early(%x: tensor<64xf32>, %w: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %a = graph.exp %x : tensor<64xf32>
  %s = graph.all_reduce add %a on @mesh axes = [0] channel = 1 : tensor<64xf32>
  %n = graph.neg %s : tensor<64xf32>
  %b = graph.tanh %w : tensor<64xf32>
  %t = graph.all_reduce add %b on @mesh axes = [0] channel = 2 : tensor<64xf32>
  %m = graph.neg %t : tensor<64xf32>
  func.return %n, %m : tensor<64xf32>, tensor<64xf32>
}

// -----

// Collectives keep their order, though the second one could begin first.
// CHECK-LABEL: sched.program @order
// CHECK: sched.launch @order_0(%x, %a)
// CHECK-NEXT: sched.collective all_reduce add on [2] axes = [0] channel = 1(%a) to(%s)
// CHECK-NEXT: sched.collective all_gather on [2] axes = [0] dim = 0 channel = 2(%x) to(%g)
// CHECK-NEXT: sched.await channel = 1
// CHECK-NEXT: sched.launch @order_1(%s, %n)
// CHECK-NEXT: sched.await channel = 2
shard.grid @mesh(shape = 2)
func.func @order(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<128xf32>) {
  %a = graph.exp %x : tensor<64xf32>
  %s = graph.all_reduce add %a on @mesh axes = [0] channel = 1 : tensor<64xf32>
  %n = graph.neg %s : tensor<64xf32>
  %g = graph.all_gather %x on @mesh axes = [0] dim = 0 channel = 2 : tensor<64xf32> -> tensor<128xf32>
  func.return %n, %g : tensor<64xf32>, tensor<128xf32>
}

// -----

// What reads the result of another collective waits for it, in loops too.
// CHECK-LABEL: sched.program @chain
// CHECK: sched.for
// CHECK: sched.collective all_reduce add on [2] axes = [0] channel = 1
// CHECK-NEXT: sched.await channel = 1
// CHECK-NEXT: sched.collective all_reduce max on [2] axes = [0] channel = 2
// CHECK-NEXT: sched.await channel = 2
// CHECK: }
shard.grid @mesh(shape = 2)
func.func @chain(%x: tensor<64xf32>) -> tensor<64xf32> {
  %y = graph.scan %i = 3 (%c = %x) : (tensor<64xf32>) -> (tensor<64xf32>) {
    %s = graph.all_reduce add %c on @mesh axes = [0] channel = 1 : tensor<64xf32>
    %m = graph.all_reduce max %s on @mesh axes = [0] channel = 2 : tensor<64xf32>
    graph.yield %m : tensor<64xf32>
  }
  func.return %y : tensor<64xf32>
}

// -----

// A channel is awaited before it is used again.
// CHECK-LABEL: sched.program @again
// CHECK: sched.collective all_reduce add on [2] axes = [0] channel = 1(%x) to(%s)
// CHECK-NEXT: sched.await channel = 1(%x) to(%s)
// CHECK-NEXT: sched.collective all_reduce add on [2] axes = [0] channel = 1(%w) to(%t)
// CHECK-NEXT: sched.await channel = 1(%w) to(%t)
shard.grid @mesh(shape = 2)
func.func @again(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 : tensor<4xf32>
  %t = graph.all_reduce add %w on @mesh axes = [0] channel = 1 : tensor<4xf32>
  func.return %s, %t : tensor<4xf32>, tensor<4xf32>
}

// -----

// Those of one bundle begin as one, once all operands are there.
// CHECK-LABEL: sched.program @bundled
// CHECK: sched.launch @bundled_0(%x, %a)
// CHECK-NEXT: sched.launch @bundled_2(%w, %b)
// CHECK-NEXT: %[[T:.*]] = sched.collective all_reduce add on [2] axes = [0] channel = 1(%a, %b) to(%s, %t) after({{.*}}) : (tensor<64xf32>, tensor<8xf32>) -> (tensor<64xf32>, tensor<8xf32>)
// CHECK-NEXT: sched.await channel = 1(%a, %b) to(%s, %t) after(%[[T]]) : (tensor<64xf32>, tensor<8xf32>) -> (tensor<64xf32>, tensor<8xf32>)
// CHECK-NEXT: sched.launch @bundled_1(%s, %n)
// CHECK-NEXT: sched.launch @bundled_3(%t, %m)
shard.grid @mesh(shape = 2)
func.func @bundled(%x: tensor<64xf32>, %w: tensor<8xf32>) -> (tensor<64xf32>, tensor<8xf32>) {
  %a = graph.exp %x : tensor<64xf32>
  %s = graph.all_reduce add %a on @mesh axes = [0] channel = 1 {bundle = 1 : i64} : tensor<64xf32>
  %n = graph.neg %s : tensor<64xf32>
  %b = graph.tanh %w : tensor<8xf32>
  %t = graph.all_reduce add %b on @mesh axes = [0] channel = 2 {bundle = 1 : i64} : tensor<8xf32>
  %m = graph.neg %t : tensor<8xf32>
  func.return %n, %m : tensor<64xf32>, tensor<8xf32>
}

// -----

// A bundle of what differs.
shard.grid @mesh(shape = 2)
func.func @kinds(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 {bundle = 1 : i64} : tensor<64xf32>
  // expected-error @below {{sched.collective: all_reduce max on [2] axes = [0] channel = 2 is in one bundle with all_reduce add on [2] axes = [0] channel = 1, which is no sum of its kind}}
  %t = graph.all_reduce max %x on @mesh axes = [0] channel = 2 {bundle = 1 : i64} : tensor<64xf32>
  func.return %s, %t : tensor<64xf32>, tensor<64xf32>
}

// -----

// A bundle whose second sum needs the first.
shard.grid @mesh(shape = 2)
func.func @circle(%x: tensor<64xf32>) -> tensor<64xf32> {
  // expected-error @below {{sched.collective: collectives of one bundle wait for one another}}
  %s = graph.all_reduce add %x on @mesh axes = [0] channel = 1 {bundle = 1 : i64} : tensor<64xf32>
  %t = graph.all_reduce add %s on @mesh axes = [0] channel = 2 {bundle = 1 : i64} : tensor<64xf32>
  func.return %t : tensor<64xf32>
}

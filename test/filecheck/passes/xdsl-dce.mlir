// RUN: tenon-opt -p dce %s | filecheck %s

// Ops of graph without a use go, and then those that only they used.
// CHECK-LABEL: func.func @graph
// CHECK-NEXT:    %y = graph.neg %x : tensor<4xf32>
// CHECK-NEXT:    func.return %y
func.func @graph(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.neg %x : tensor<4xf32>
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.reduce add %a axes [0] : tensor<4xf32> -> tensor<f32>
  func.return %y : tensor<4xf32>
}

// Barriers and stores stay; ids, selects and conversions without a use go.
// CHECK-LABEL: low.kernel @low
// CHECK-NEXT:    %i = low.thread_id x
// CHECK-NEXT:    low.barrier
// CHECK-NEXT:    %v = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    memref.store %v, %x[%i] : memref<8xf32>
// CHECK-NEXT:  }
low.kernel @low(%x: memref<8xf32>) grid [1, 1, 1] block [8, 1, 1] {
  %i = low.thread_id x
  %j = low.block_id x
  low.barrier
  %v = memref.load %x[%i] : memref<8xf32>
  %c = arith.cmpf olt, %v, %v : f32
  %s = low.select %c, %v, %v : f32
  %n = low.convert fptosi %s : f32 to i32
  %r = low.remf %v, %s : f32
  memref.store %v, %x[%i] : memref<8xf32>
}

// Loops of sched and the items of a program stay, with or without a use.
// CHECK-LABEL: sched.kernel @sched
// CHECK-NEXT:    sched.axis %i = 8 {
// CHECK:           memref.store
sched.kernel @sched(%x: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = arith.addf %v, %v : f32
    memref.store %v, %x[%i] : memref<8xf32>
  }
}

// CHECK-LABEL: sched.program @program
// CHECK:         %t = sched.launch @sched
// CHECK-NEXT:    sched.return after()
sched.program @program(%x: memref<8xf32>) : (tensor<8xf32>) -> () {
  %t = sched.launch @sched(%x) after() : memref<8xf32>
  sched.return after()
}

graph.tnode @w : tensor<4xf32>

// What is read of a node and not used goes; nodes and writes stay.
// CHECK: graph.tnode @w
// CHECK-LABEL: func.func @nodes
// CHECK-NEXT:    graph.write @w, %x : tensor<4xf32>
// CHECK-NEXT:    func.return
func.func @nodes(%x: tensor<4xf32>) {
  %w = graph.read @w : tensor<4xf32>
  %m = graph.merge @w : tensor<4xf32>
  graph.write @w, %x : tensor<4xf32>
  func.return
}

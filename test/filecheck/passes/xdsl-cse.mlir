// RUN: tenon-opt -p cse %s | filecheck %s

// Equal ops of graph are one op; equal but for an attribute they are two.
// CHECK-LABEL: func.func @graph
// CHECK-NEXT:    %a = graph.exp %x : tensor<4xf32>
// CHECK-NEXT:    %c = graph.exp %x fastmath<fast> : tensor<4xf32>
// CHECK-NEXT:    %s = graph.add %a, %a : tensor<4xf32>
// CHECK-NEXT:    func.return %s, %c
func.func @graph(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = graph.exp %x : tensor<4xf32>
  %b = graph.exp %x : tensor<4xf32>
  %c = graph.exp %x fastmath<fast> : tensor<4xf32>
  %s = graph.add %a, %b : tensor<4xf32>
  func.return %s, %c : tensor<4xf32>, tensor<4xf32>
}

// Zeros of different signs are different constants.
// CHECK-LABEL: func.func @zeros
// CHECK-NEXT:    %a = graph.constant dense<0.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    %b = graph.constant dense<-0.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    func.return %a, %b, %a
func.func @zeros() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
  %a = graph.constant dense<0.0> : tensor<2xf32>
  %b = graph.constant dense<-0.0> : tensor<2xf32>
  %c = graph.constant dense<0.0> : tensor<2xf32>
  func.return %a, %b, %c : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
}

// A load after a store may differ from the one before it; ids and selects are computed once.
// CHECK-LABEL: low.kernel @low
// CHECK-NEXT:    %i = low.block_id x
// CHECK-NEXT:    %a = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    %c = arith.cmpf olt, %a, %a : f32
// CHECK-NEXT:    %s = low.select %c, %a, %a : f32
// CHECK-NEXT:    memref.store %s, %x[%i] : memref<8xf32>
// CHECK-NEXT:    %b = memref.load %x[%i] : memref<8xf32>
// CHECK-NEXT:    %r = arith.addf %b, %s : f32
low.kernel @low(%x: memref<8xf32>) grid [8, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %j = low.block_id x
  %a = memref.load %x[%i] : memref<8xf32>
  %c = arith.cmpf olt, %a, %a : f32
  %s = low.select %c, %a, %a : f32
  %t = low.select %c, %a, %a : f32
  memref.store %s, %x[%j] : memref<8xf32>
  %b = memref.load %x[%i] : memref<8xf32>
  %r = arith.addf %b, %t : f32
  memref.store %r, %x[%j] : memref<8xf32>
}

// The launches of a program are no equal ops: each one does something.
// CHECK-LABEL: sched.program @program
// CHECK:         sched.launch
// CHECK:         sched.launch
sched.program @program(%x: memref<8xf32>) : (tensor<8xf32>) -> () {
  %t0 = sched.launch @low(%x) after() : memref<8xf32>
  %t1 = sched.launch @low(%x) after() : memref<8xf32>
  sched.return after(%t0, %t1)
}

graph.tnode @w : tensor<4xf32>

// Reads of a node are one read where nothing is written between them; of writes none goes.
// CHECK-LABEL: func.func @nodes
// CHECK-NEXT:    %a = graph.read @w : tensor<4xf32>
// CHECK-NEXT:    graph.write add @w, %a : tensor<4xf32>
// CHECK-NEXT:    graph.write add @w, %a : tensor<4xf32>
// CHECK-NEXT:    %c = graph.read @w : tensor<4xf32>
// CHECK-NEXT:    func.return %a, %a, %c
func.func @nodes() -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %a = graph.read @w : tensor<4xf32>
  %b = graph.read @w : tensor<4xf32>
  graph.write add @w, %b : tensor<4xf32>
  graph.write add @w, %b : tensor<4xf32>
  %c = graph.read @w : tensor<4xf32>
  func.return %a, %b, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

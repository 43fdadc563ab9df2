// RUN: tenon-opt -p eliminate-common-subexpressions %s | filecheck %s

// Equal ops are merged, also with one of a block around them; operands are compared after merging.
// CHECK-LABEL: func.func @merges
// CHECK-NEXT:    %a = arith.addi %i, %j : index
// CHECK-NEXT:    %c = arith.muli %a, %a : index
// CHECK-NEXT:    scf.for %k = %i to %j step %a {
// CHECK-NEXT:      "test.op"(%c) : (index) -> ()
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return %c : index
func.func @merges(%i: index, %j: index) -> index {
  %a = arith.addi %i, %j : index
  %b = arith.addi %i, %j : index
  %c = arith.muli %a, %b : index
  scf.for %k = %i to %j step %b {
    %d = arith.muli %b, %a : index
    "test.op"(%d) : (index) -> ()
  }
  func.return %c : index
}

// Not where operands, properties or types differ, and not with an op of a block beside it.
// CHECK-LABEL: func.func @differs
// CHECK:         arith.subi %i, %j : index
// CHECK:         arith.subi %j, %i : index
// CHECK:         arith.constant 0.000000e+00 : f32
// CHECK:         arith.constant -0.000000e+00 : f32
// CHECK:         arith.constant 0.000000e+00 : f64
// CHECK:         arith.addi %i, %i : index
// CHECK:         arith.addi %i, %i : index
func.func @differs(%i: index, %j: index, %p: i1) {
  %a = arith.subi %i, %j : index
  %b = arith.subi %j, %i : index
  %z = arith.constant 0.0 : f32
  %n = arith.constant -0.0 : f32
  %w = arith.constant 0.0 : f64
  "test.op"(%a, %b, %z, %n, %w) : (index, index, f32, f32, f64) -> ()
  scf.if %p {
    %c = arith.addi %i, %i : index
    "test.op"(%c) : (index) -> ()
  } else {
    %c = arith.addi %i, %i : index
    "test.op"(%c) : (index) -> ()
  }
  func.return
}

// Loads are merged as long as nothing between them may write, and not with loads of other blocks.
// CHECK-LABEL: func.func @loads
// CHECK-NEXT:    %a = memref.load %m[%i] : memref<8xf32>
// CHECK-NEXT:    memref.store %a, %m[%j] : memref<8xf32>
// CHECK-NEXT:    %c = memref.load %m[%i] : memref<8xf32>
// CHECK-NEXT:    scf.if %p {
// CHECK-NEXT:      %e = memref.load %m[%i] : memref<8xf32>
// CHECK-NEXT:      memref.store %e, %m[%j] : memref<8xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:    %f = memref.load %m[%i] : memref<8xf32>
// CHECK-NEXT:    "test.op"(%a, %a, %c, %c, %f) : (f32, f32, f32, f32, f32) -> ()
func.func @loads(%m: memref<8xf32>, %i: index, %j: index, %p: i1) {
  %a = memref.load %m[%i] : memref<8xf32>
  %b = memref.load %m[%i] : memref<8xf32>
  memref.store %a, %m[%j] : memref<8xf32>
  %c = memref.load %m[%i] : memref<8xf32>
  %d = memref.load %m[%i] : memref<8xf32>
  scf.if %p {
    %e = memref.load %m[%i] : memref<8xf32>
    memref.store %e, %m[%j] : memref<8xf32>
  }
  %f = memref.load %m[%i] : memref<8xf32>
  "test.op"(%a, %b, %c, %d, %f) : (f32, f32, f32, f32, f32) -> ()
  func.return
}

// Kernels share nothing; ops with regions are merged where the regions are equal; what has no use goes.
// CHECK-LABEL: func.func @regions
// CHECK:         %a = graph.if
// CHECK-NOT:     graph.if
// CHECK:         func.return %a, %a
func.func @regions(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %unused = graph.exp %x : tensor<4xf32>
  %a = graph.if %c -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    %y = graph.neg %x : tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  %b = graph.if %c -> (tensor<4xf32>) {
    graph.yield %x : tensor<4xf32>
  } else {
    %z = graph.neg %x : tensor<4xf32>
    graph.yield %z : tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Callbacks are pure: equal ones are one, and one without a use is none. What is printed stays.
// CHECK-LABEL: func.func @host_calls
func.func @host_calls(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %z = graph.callback @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %unused = graph.callback @g(%x) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: graph.print "a"
  // CHECK-NEXT: graph.print "a"
  graph.print "a"
  graph.print "a"
  // CHECK-NEXT: graph.add %[[Y]], %[[Y]] : tensor<4xf32>
  %s = graph.add %y, %z : tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// What goes in a branch goes with it where the op around goes too.
// CHECK-LABEL: func.func @in_equal_branches
func.func @in_equal_branches(%c: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[Y:.*]] = graph.neg %x
  // CHECK-NEXT: %[[A:.*]] = graph.if %c
  // CHECK-NEXT:   graph.yield %[[Y]]
  // CHECK:      graph.add %[[A]], %[[A]] : tensor<4xf32>
  %y = graph.neg %x : tensor<4xf32>
  %a = graph.if %c -> (tensor<4xf32>) {
    %z = graph.neg %x : tensor<4xf32>
    graph.yield %z : tensor<4xf32>
  } else {
    graph.yield %y : tensor<4xf32>
  }
  %b = graph.if %c -> (tensor<4xf32>) {
    %z = graph.neg %x : tensor<4xf32>
    graph.yield %z : tensor<4xf32>
  } else {
    graph.yield %y : tensor<4xf32>
  }
  %s = graph.add %a, %b : tensor<4xf32>
  func.return %s : tensor<4xf32>
}

// RUN: tenon-opt -p simplify-nodes %s | filecheck %s
// RUN: tenon-opt -p simplify-nodes --verify-semantics %s -o %t

graph.tnode @w : tensor<4xf32>
graph.tnode @x : tensor<3x4xf32>
graph.tnode @l : tensor<4xf32> mode local

// A write that adds is a read, an add and a write; reads after it are the sum.
// CHECK-LABEL: @accumulate
func.func @accumulate(%g: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %w = graph.read @w : tensor<4xf32>
  // CHECK-NEXT: %sum = graph.add %w, %g : tensor<4xf32>
  // CHECK-NEXT: graph.write @w, %sum : tensor<4xf32>
  // CHECK-NEXT: func.return %sum : tensor<4xf32>
  graph.write add @w, %g : tensor<4xf32>
  %w = graph.read @w : tensor<4xf32>
  func.return %w : tensor<4xf32>
}

// Adding twice writes once.
// CHECK-LABEL: @accumulate_twice
func.func @accumulate_twice(%g: tensor<4xf32>) {
  // CHECK-NEXT: %old = graph.read @w : tensor<4xf32>
  // CHECK-NEXT: %sum = graph.add %old, %g : tensor<4xf32>
  // CHECK-NEXT: %sum_1 = graph.add %sum, %g : tensor<4xf32>
  // CHECK-NEXT: graph.write @w, %sum_1 : tensor<4xf32>
  // CHECK-NEXT: func.return
  %old = graph.read @w : tensor<4xf32>
  graph.write add @w, %g : tensor<4xf32>
  graph.write add @w, %g : tensor<4xf32>
  func.return
}

// The second read of one place is the first; a write of what is there already is none.
// CHECK-LABEL: @read_twice
func.func @read_twice(%i: index) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %a = graph.read @x[%i] : tensor<4xf32>
  // CHECK-NEXT: func.return %a, %a
  %a = graph.read @x[%i] : tensor<4xf32>
  %b = graph.read @x[%i] : tensor<4xf32>
  graph.write @x[%i], %b : tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// Other indices may name the same elements: what is read of them stays.
// CHECK-LABEL: @other_indices
func.func @other_indices(%i: index, %j: index, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: graph.write @x[%i], %v : tensor<4xf32>
  // CHECK-NEXT: %a = graph.read @x[%j] : tensor<4xf32>
  // CHECK-NEXT: graph.write @x[%j], %v : tensor<4xf32>
  // CHECK-NEXT: %b = graph.read @x[%i] : tensor<4xf32>
  // CHECK-NEXT: func.return %a, %b
  graph.write @x[%i], %v : tensor<4xf32>
  %a = graph.read @x[%j] : tensor<4xf32>
  graph.write @x[%j], %v : tensor<4xf32>
  %b = graph.read @x[%i] : tensor<4xf32>
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// What is overwritten before it is read is not written: by the same place, or by the whole node.
// CHECK-LABEL: @overwritten
func.func @overwritten(%i: index, %j: index, %v: tensor<4xf32>, %all: tensor<3x4xf32>) {
  // CHECK-NEXT: graph.write @x, %all : tensor<3x4xf32>
  // CHECK-NEXT: graph.write @x[%j], %v : tensor<4xf32>
  // CHECK-NEXT: graph.write @x[%i], %v : tensor<4xf32>
  // CHECK-NEXT: func.return
  graph.write @x[%j], %v : tensor<4xf32>
  graph.write @x, %all : tensor<3x4xf32>
  graph.write @x[%i], %v : tensor<4xf32>
  graph.write @x[%j], %v : tensor<4xf32>
  graph.write @x[%i], %v : tensor<4xf32>
  func.return
}

// Local nodes need no memory at all.
// CHECK-LABEL: @local
func.func @local(%v: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %sum = graph.add %v, %v : tensor<4xf32>
  // CHECK-NEXT: func.return %sum
  graph.write @l, %v : tensor<4xf32>
  graph.write add @l, %v : tensor<4xf32>
  %l = graph.read @l : tensor<4xf32>
  func.return %l : tensor<4xf32>
}

// A call may read and write every node.
// CHECK-LABEL: @call
func.func @call(%v: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: graph.write @w, %v : tensor<4xf32>
  // CHECK-NEXT: func.call @accumulate_twice(%v) : (tensor<4xf32>) -> ()
  // CHECK-NEXT: %w = graph.read @w : tensor<4xf32>
  // CHECK-NEXT: graph.write @w, %v : tensor<4xf32>
  graph.write @w, %v : tensor<4xf32>
  func.call @accumulate_twice(%v) : (tensor<4xf32>) -> ()
  %w = graph.read @w : tensor<4xf32>
  graph.write @w, %v : tensor<4xf32>
  func.return %w : tensor<4xf32>
}

// What a local node holds stays where a call stands between.
// CHECK-LABEL: @local_around_a_call
func.func @local_around_a_call(%v: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: graph.write @l, %v : tensor<4xf32>
  // CHECK-NEXT: func.call @accumulate_twice(%v) : (tensor<4xf32>) -> ()
  // CHECK-NEXT: %l = graph.read @l : tensor<4xf32>
  // CHECK-NEXT: func.return %l
  graph.write @l, %v : tensor<4xf32>
  func.call @accumulate_twice(%v) : (tensor<4xf32>) -> ()
  %l = graph.read @l : tensor<4xf32>
  func.return %l : tensor<4xf32>
}

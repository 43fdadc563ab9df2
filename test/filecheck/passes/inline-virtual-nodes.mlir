// RUN: tenon-opt -p inline-virtual-nodes --split-input-file --verify-diagnostics %s | filecheck %s

// Within a function, the value that was written; the node is gone.
// CHECK-NOT: graph.tnode @v
// CHECK-LABEL: @same_function
graph.tnode @v : tensor<4xf32> mode virtual
func.func @same_function(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %e = graph.exp %x : tensor<4xf32>
  // CHECK-NEXT: %y = graph.neg %e : tensor<4xf32>
  // CHECK-NEXT: func.return %y
  %e = graph.exp %x : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  %v = graph.read @v : tensor<4xf32>
  %y = graph.neg %v : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// In another function, the whole computation, once; it may go through other virtual nodes.
graph.tnode @x : tensor<4xf32>
graph.tnode @v : tensor<4xf32> mode virtual
graph.tnode @u : tensor<4xf32> mode virtual
// CHECK-LABEL: @writer
// CHECK-NEXT: %x = graph.read @x : tensor<4xf32>
// CHECK-NEXT: %e = graph.exp %x : tensor<4xf32>
// CHECK-NEXT: %n = graph.neg %e : tensor<4xf32>
// CHECK-NEXT: func.return
func.func @writer() {
  %x = graph.read @x : tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  %v = graph.read @v : tensor<4xf32>
  %n = graph.neg %v : tensor<4xf32>
  graph.write @u, %n : tensor<4xf32>
  func.return
}
// CHECK-LABEL: @reader
// CHECK-NEXT: %x = graph.read @x : tensor<4xf32>
// CHECK-NEXT: %e = graph.exp %x : tensor<4xf32>
// CHECK-NEXT: %n = graph.neg %e : tensor<4xf32>
// CHECK-NEXT: func.return %n, %n
func.func @reader() -> (tensor<4xf32>, tensor<4xf32>) {
  %u = graph.read @u : tensor<4xf32>
  %again = graph.read @u : tensor<4xf32>
  func.return %u, %again : tensor<4xf32>, tensor<4xf32>
}

// -----

// Without virtual nodes nothing changes.
// CHECK: graph.tnode @w : tensor<4xf32>
// CHECK-LABEL: @untouched
graph.tnode @w : tensor<4xf32>
func.func @untouched(%x: tensor<4xf32>) {
  // CHECK-NEXT: graph.write @w, %x : tensor<4xf32>
  graph.write @w, %x : tensor<4xf32>
  // CHECK-NEXT: graph.write @w, %x : tensor<4xf32>
  graph.write @w, %x : tensor<4xf32>
  func.return
}

// -----

// What the node is made of is overwritten after the node is used: within the function that is no problem.
// CHECK-LABEL: @overwritten_later
graph.tnode @x : tensor<4xf32>
graph.tnode @v : tensor<4xf32> mode virtual
func.func @overwritten_later() {
  // CHECK-NEXT: %x = graph.read @x : tensor<4xf32>
  // CHECK-NEXT: %e = graph.exp %x : tensor<4xf32>
  // CHECK-NEXT: graph.write @x, %e : tensor<4xf32>
  %x = graph.read @x : tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  %v = graph.read @v : tensor<4xf32>
  graph.write @x, %v : tensor<4xf32>
  func.return
}

// -----

// Elsewhere it is one, and the error stands at the read.
graph.tnode @x : tensor<4xf32>
graph.tnode @v : tensor<4xf32> mode virtual
func.func @update() {
  %x = graph.read @x : tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  graph.write @x, %e : tensor<4xf32>
  func.return
}
func.func @elsewhere() -> tensor<4xf32> {
  // expected-error @+1 {{graph.read: virtual node @v cannot be computed here: @x, which it reads, is overwritten afterwards}}
  %v = graph.read @v : tensor<4xf32>
  func.return %v : tensor<4xf32>
}

// -----

graph.tnode @x : tensor<4xf32>
graph.tnode @v : tensor<4xf32> mode virtual
func.func @writer() {
  %x = graph.read @x : tensor<4xf32>
  %e = graph.exp %x : tensor<4xf32>
  graph.write @v, %e : tensor<4xf32>
  func.return
}
func.func @reader(%c: tensor<4xf32>) -> tensor<4xf32> {
  graph.write @x, %c : tensor<4xf32>
  // expected-error @+1 {{graph.read: virtual node @v is computed from @x, which is overwritten before}}
  %v = graph.read @v : tensor<4xf32>
  func.return %v : tensor<4xf32>
}

// -----

graph.tnode @v : tensor<4xf32> mode virtual
func.func @twice(%x: tensor<4xf32>) {
  graph.write @v, %x : tensor<4xf32>
  // expected-error @+1 {{graph.write: virtual node @v is written twice in @twice}}
  graph.write @v, %x : tensor<4xf32>
  func.return
}

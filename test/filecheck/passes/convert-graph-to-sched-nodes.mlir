// RUN: tenon-opt -p convert-graph-to-sched --split-input-file --verify-diagnostics %s | filecheck %s

// An update in place: the kernel reads each element where it stores it, and has one argument for both. What
// reads the old contents comes before.
// CHECK:       graph.tnode @w : tensor<4xf32>
// CHECK-NEXT:  sched.kernel @sgd_0(%w: memref<4xf32>, %y: memref<4xf32>) {
// CHECK:       sched.kernel @sgd_1(%w: memref<4xf32>, %g: memref<4xf32>) {
// CHECK-NEXT:    sched.axis %i = 4 {
// CHECK-NEXT:      %w_1 = memref.load %w[%i]
// CHECK-NEXT:      %g_1 = memref.load %g[%i]
// CHECK-NEXT:      %v = arith.subf %w_1, %g_1
// CHECK-NEXT:      memref.store %v, %w[%i]
// CHECK-LABEL: sched.program @sgd
// CHECK-NEXT:    %w = sched.node @w : memref<4xf32>
// CHECK-NEXT:    %y = sched.buffer global result
// CHECK-NEXT:    %t = sched.launch @sgd_0(%w, %y)
// CHECK-NEXT:    %t_1 = sched.launch @sgd_1(%w, %g)
// CHECK-NEXT:    sched.return %y
graph.tnode @w : tensor<4xf32>
func.func @sgd(%g: tensor<4xf32>) -> tensor<4xf32> {
  %w = graph.read @w : tensor<4xf32>
  %v = graph.sub %w, %g : tensor<4xf32>
  graph.write @w, %v : tensor<4xf32>
  %y = graph.exp %w : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// A kernel that reads other elements than it stores works in a temporary.
// CHECK-LABEL: sched.program @transpose
// CHECK-NEXT:    %m = sched.node @m
// CHECK-NEXT:    %n = sched.buffer global temporary
// CHECK-NEXT:    %t = sched.launch @transpose_0(%m, %n)
// CHECK-NEXT:    %t_1 = sched.transfer %n to %m
graph.tnode @m : tensor<4x4xf32>
func.func @transpose() {
  %m = graph.read @m : tensor<4x4xf32>
  %n = graph.permute %m [1, 0] : tensor<4x4xf32>
  graph.write @m, %n : tensor<4x4xf32>
  func.return
}

// -----

// Along a dim of extent 1 there are no other elements.
// CHECK-LABEL: sched.kernel @columns_0(%c: memref<4x1xf32>) {
graph.tnode @c : tensor<4x1xf32>
func.func @columns() {
  %c = graph.read @c : tensor<4x1xf32>
  %n = graph.flip %c axes [1] : tensor<4x1xf32>
  %m = graph.neg %n : tensor<4x1xf32>
  graph.write @c, %m : tensor<4x1xf32>
  func.return
}

// -----

// Two nodes that swap their contents: one of the reads is copied.
// CHECK-LABEL: sched.program @swap
// CHECK-NEXT:    %a = sched.node @a
// CHECK-NEXT:    %b = sched.node @b
// CHECK-NEXT:    %b_1 = sched.buffer global temporary
// CHECK-NEXT:    %t = sched.transfer %b to %b_1
// CHECK-NEXT:    %t_1 = sched.transfer %a to %b
// CHECK-NEXT:    %t_2 = sched.transfer %b_1 to %a
// CHECK-NEXT:    sched.return after()
graph.tnode @a : tensor<4xf32>
graph.tnode @b : tensor<4xf32>
func.func @swap() {
  %a = graph.read @a : tensor<4xf32>
  %b = graph.read @b : tensor<4xf32>
  graph.write @a, %b : tensor<4xf32>
  graph.write @b, %a : tensor<4xf32>
  func.return
}

// -----

// The old contents are read together with the new ones: the new ones wait in a temporary.
// CHECK-LABEL: sched.program @both
// CHECK:         %v = sched.buffer global temporary
// CHECK-NEXT:    %y = sched.buffer global result
// CHECK-NEXT:    %t = sched.launch @both_0(%w, %v)
// CHECK-NEXT:    %t_1 = sched.launch @both_1(%v, %w, %y)
// CHECK-NEXT:    %t_2 = sched.transfer %v to %w
graph.tnode @w : tensor<4xf32>
func.func @both() -> tensor<4xf32> {
  %w = graph.read @w : tensor<4xf32>
  %v = graph.exp %w : tensor<4xf32>
  graph.write @w, %v : tensor<4xf32>
  %f = graph.flip %v axes [0] : tensor<4xf32>
  %y = graph.sub %f, %w : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Parts of nodes: the same symbols name the same part, others may. An added row is updated in place.
// CHECK:       sched.kernel @row_0(%x: memref<4xf32>, %g: memref<4xf32>) {
// CHECK-LABEL: sched.program @row(%i: index, %g: memref<4xf32>, %j: index)
// CHECK-NEXT:    %x = sched.node @x[%i, %j] : memref<4xf32>
// CHECK-NEXT:    %t = sched.launch @row_0(%x, %g)
graph.tnode @x : tensor<5x3x4xf32>
func.func @row(%i: index, %g: tensor<4xf32>, %j: index) {
  graph.write add @x[%i, %j], %g : tensor<4xf32>
  func.return
}

// -----

// A part that may be another one: no kernel reads and writes both.
// CHECK-LABEL: sched.program @parts
// CHECK-NEXT:    %x = sched.node @x[%i]
// CHECK-NEXT:    %x_1 = sched.node @x[%j]
// CHECK-NEXT:    %v = sched.buffer global temporary
// CHECK-NEXT:    %t = sched.launch @parts_0(%x, %v)
// CHECK-NEXT:    %t_1 = sched.transfer %v to %x_1
graph.tnode @x : tensor<3x4xf32>
func.func @parts(%i: index, %j: index) {
  %x = graph.read @x[%i] : tensor<4xf32>
  %v = graph.exp %x : tensor<4xf32>
  graph.write @x[%j], %v : tensor<4xf32>
  func.return
}

// -----

// A part copied to a part of the same node goes through a temporary.
// CHECK-LABEL: sched.program @move
// CHECK-NEXT:    %x = sched.node @x[%i]
// CHECK-NEXT:    %x_1 = sched.buffer global temporary
// CHECK-NEXT:    %x_2 = sched.node @x[%j]
// CHECK-NEXT:    %t = sched.transfer %x to %x_1
// CHECK-NEXT:    %t_1 = sched.transfer %x_1 to %x_2
graph.tnode @x : tensor<3x4xf32>
func.func @move(%i: index, %j: index) {
  %x = graph.read @x[%i] : tensor<4xf32>
  graph.write @x[%j], %x : tensor<4xf32>
  func.return
}

// -----

// What is written twice is computed in the first node; arguments, constants and results are copied.
// CHECK-LABEL: sched.program @copies
// CHECK-DAG:     %a = sched.node @a
// CHECK-DAG:     %b = sched.node @b
// CHECK-DAG:     %c = sched.node @c
// CHECK-DAG:     %d = sched.node @d
// CHECK-DAG:     %e = sched.node @e
// CHECK-DAG:     %k = sched.constant
// CHECK-DAG:     %r = sched.buffer global result
// CHECK:         sched.launch @copies_0(%x, %a)
// CHECK-DAG:     sched.transfer %a to %b
// CHECK-DAG:     sched.transfer %x to %c
// CHECK-DAG:     sched.transfer %k to %d
// CHECK-DAG:     sched.transfer %r to %e
graph.tnode @a : tensor<4xf32>
graph.tnode @b : tensor<4xf32>
graph.tnode @c : tensor<4xf32>
graph.tnode @d : tensor<4xf32>
graph.tnode @e : tensor<4xf32>
func.func @copies(%x: tensor<4xf32>) -> tensor<4xf32> {
  %v = graph.exp %x : tensor<4xf32>
  graph.write @a, %v : tensor<4xf32>
  graph.write @b, %v : tensor<4xf32>
  graph.write @c, %x : tensor<4xf32>
  %k = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  graph.write @d, %k : tensor<4xf32>
  %r = graph.neg %x : tensor<4xf32>
  graph.write @e, %r : tensor<4xf32>
  func.return %r : tensor<4xf32>
}

// -----

// Gradients of another device are added in place; what is read of a node and returned is copied.
// CHECK:       sched.kernel @merge_0(%old: memref<4xf32>, %m: memref<4xf32>)
// CHECK-LABEL: sched.program @merge
// CHECK:         %m = sched.merge_buffer @g : memref<4xf32>
// CHECK:         %old = sched.buffer global result
// CHECK-NEXT:    %t = sched.transfer %g to %old
// CHECK-NEXT:    %t_1 = sched.launch @merge_0(%g, %m)
graph.tnode @g : tensor<4xf32>
func.func @merge() -> tensor<4xf32> {
  %old = graph.read @g : tensor<4xf32>
  %m = graph.merge @g : tensor<4xf32>
  graph.write add @g, %m : tensor<4xf32>
  func.return %old : tensor<4xf32>
}

// -----

// Local nodes go, and nodes without elements are not copied.
// CHECK-NOT:   graph.tnode @l
// CHECK-LABEL: sched.program @small
// CHECK-NEXT:    %empty = sched.node @empty
// CHECK-NEXT:    %y = sched.buffer global result
// CHECK-NOT:     sched.transfer
// CHECK:         sched.return
graph.tnode @l : tensor<4xf32> mode local
graph.tnode @empty : tensor<0xf32>
func.func @small(%x: tensor<4xf32>, %e: tensor<0xf32>) -> tensor<4xf32> {
  graph.write @l, %x : tensor<4xf32>
  %l = graph.read @l : tensor<4xf32>
  %y = graph.exp %l : tensor<4xf32>
  graph.write @empty, %e : tensor<0xf32>
  func.return %y : tensor<4xf32>
}

// -----

graph.tnode @v : tensor<4xf32> mode virtual
func.func @virtual() -> tensor<4xf32> {
  // expected-error @+1 {{graph.read: node @v is virtual (hint: run inline-virtual-nodes)}}
  %v = graph.read @v : tensor<4xf32>
  func.return %v : tensor<4xf32>
}

// -----

// A symbol indexes nodes, and is no value.
// expected-error @+1 {{func.func: @symbol takes or returns index, expected tensors}}
func.func @symbol(%i: index) -> index {
  func.return %i : index
}

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// A mode that is none.
// expected-error @+1 {{memory mode: 'hosted(often)' is none of effectively_constant, virtual}}
graph.tnode @w : tensor<4xf32> mode hosted(often)

// -----

// What is no tensor.
// expected-error @+1 {{graph.tnode: f32 is not a tensor}}
graph.tnode @w : f32

// -----

// expected-error @+1 {{graph.tnode: @w is tensor<?xf32>, which has a dim known at run time only}}
graph.tnode @w : tensor<?xf32>

// -----

// A node inside of a function.
func.func @f() {
  // expected-error @+1 {{graph.tnode: @w must stand in a module, beside its functions}}
  graph.tnode @w : tensor<4xf32>
  func.return
}

// -----

// expected-error @+1 {{graph.tnode: @w is local, so it cannot have an initial value (nothing keeps it before a run)}}
graph.tnode @w : tensor<4xf32> mode local = dense<0.0>

// -----

// The generic form can say another type for the initial value.
// expected-error @+1 {{graph.tnode: @w is tensor<4xf32>, its initial value tensor<3xf32>}}
"graph.tnode"() {sym_name = "w", type = tensor<4xf32>, initial = dense<0.0> : tensor<3xf32>} : () -> ()

// -----

// A node that is not declared.
func.func @f() {
  // expected-error @+1 {{graph.read: there is no node @w (hint: graph.tnode @w : ...)}}
  %w = graph.read @w : tensor<4xf32>
  func.return
}

// -----

// A symbol that is no node.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.write: there is no node @f}}
  graph.write @f, %x : tensor<4xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32>
func.func @f() {
  // expected-error @+1 {{graph.read: node @w is tensor<4xf32>, found tensor<5xf32>}}
  %w = graph.read @w : tensor<5xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4x3xf32>
func.func @f(%i: index) {
  // expected-error @+1 {{graph.read: node @w with 1 indices is tensor<3xf32>, found tensor<4x3xf32>}}
  %w = graph.read @w[%i] : tensor<4x3xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32>
func.func @f(%i: index) {
  // expected-error @+1 {{graph.read: 2 indices for node @w of rank 1 (tensor<4xf32>)}}
  %w = graph.read @w[%i, %i] : tensor<f32>
  func.return
}

// -----

// An index that is computed.
graph.tnode @w : tensor<4xf32>
func.func @f() {
  %i = arith.constant 0 : index
  // expected-error @+1 {{graph.read: index 0 of node @w is no argument of the function}}
  %w = graph.read @w[%i] : tensor<f32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32> mode hosted(constant)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.write: node @w is hosted(constant), so it is not written by programs}}
  graph.write @w, %x : tensor<4xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32> mode hosted(volatile)
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.write: node @w is hosted(volatile), so it is not written by programs}}
  graph.write @w, %x : tensor<4xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32> mode effectively_constant
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.write: node @w is effectively_constant, so it is not written by programs}}
  graph.write add @w, %x : tensor<4xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xi1>
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.write add: cannot take tensor<4xi1> (element type i1, needs a number)}}
  graph.write add @w, %x : tensor<4xi1>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32>
func.func @f(%x: tensor<3xf32>) {
  // expected-error @+1 {{graph.write: node @w is tensor<4xf32>, found tensor<3xf32>}}
  graph.write @w, %x : tensor<3xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32> mode local
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.read: node @w is local, and is read before it is written}}
  %w = graph.read @w : tensor<4xf32>
  graph.write @w, %x : tensor<4xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32> mode local
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.write add: node @w is local, and is added to before it is written}}
  graph.write add @w, %x : tensor<4xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4x3xf32> mode virtual
func.func @f(%i: index) {
  // expected-error @+1 {{graph.read: node @w is virtual, so it is read and written as a whole (1 indices)}}
  %w = graph.read @w[%i] : tensor<3xf32>
  func.return
}

// -----

graph.tnode @w : tensor<4xf32> mode local
func.func @f() {
  // expected-error @+1 {{graph.merge: node @w is local, so it is on no other device}}
  %w = graph.merge @w : tensor<4xf32>
  func.return
}

// -----

graph.tnode @v : tensor<4xf32>
graph.tnode @w : tensor<4xf32>
func.func @f() {
  %a = graph.merge @v : tensor<4xf32>
  %b = graph.merge @v : tensor<4xf32>
  // expected-error @+1 {{graph.merge: merges @w after @v (a function has one merge buffer)}}
  %c = graph.merge @w : tensor<4xf32>
  func.return
}

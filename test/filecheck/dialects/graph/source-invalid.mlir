// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// `iota` along an axis that is not there.
func.func @f() {
  // expected-error @+1 {{graph.iota: axis 2 is out of range for rank 2 (type tensor<4x8xi32>)}}
  %i = graph.iota axis 2 : tensor<4x8xi32>
  func.return
}

// -----

// A negative axis.
func.func @f() {
  // expected-error @+1 {{graph.iota: axis -1 is negative (rank 2, type tensor<4x8xi32>)}}
  %i = graph.iota axis -1 : tensor<4x8xi32>
  func.return
}

// -----

// A scalar has no axis.
func.func @f() {
  // expected-error @+1 {{graph.iota: axis 0 is out of range for rank 0 (type tensor<i32>)}}
  %i = graph.iota axis 0 : tensor<i32>
  func.return
}

// -----

// The extents of a constant are known.
func.func @f() {
  // expected-error @+1 {{dense: tensor<?xf32> has a dim that is known at run time only}}
  %c = graph.constant dense<1.0> : tensor<?xf32>
  func.return
}

// -----

// The extents of a constant are known.
func.func @f() {
  // expected-error @+1 {{tensor<4xf32> is not tensor<?xf32>}}
  %c = "graph.constant"() <{value = dense<1.0> : tensor<4xf32>}> : () -> tensor<?xf32>
  func.return
}

// -----

// A scalar is no tensor.
func.func @f() {
  // expected-error @+1 {{dense: f32 is no tensor, vector or memref of numbers}}
  %c = graph.constant dense<1.0> : f32
  func.return
}

// -----

// An element that does not fit.
func.func @f() {
  // expected-error @+1 {{dense: 300 is out of range for i8}}
  %c = graph.constant dense<300> : tensor<4xi8>
  func.return
}

// -----

// An element that does not fit.
func.func @f() {
  // expected-error @+1 {{Expected non-negative integer values}}
  %c = graph.constant dense<-1> : tensor<4xui8>
  func.return
}

// -----

// An element that does not fit.
func.func @f() {
  // expected-error @+1 {{dense: 1.0e39 is out of range for f32}}
  %c = graph.constant dense<[0.0, 1.0e39]> : tensor<2xf32>
  func.return
}

// -----

// Bits that do not fit.
func.func @f() {
  // expected-error @+1 {{dense: 0x1FFFF is out of range for f16}}
  %c = graph.constant dense<0x1FFFF> : tensor<4xf16>
  func.return
}

// -----

// Bits have no sign.
func.func @f() {
  // expected-error @+1 {{dense: -0x7C00 is out of range for f16}}
  %c = graph.constant dense<-0x7C00> : tensor<4xf16>
  func.return
}

// -----

// A float for an integer.
func.func @f() {
  // expected-error @+1 {{Expected integer value}}
  %c = graph.constant dense<1.5> : tensor<4xi32>
  func.return
}

// -----

// Elements of another shape.
func.func @f() {
  // expected-error @+1 {{dense: elements of shape [2] do not fit tensor<3xf32> (shape [3])}}
  %c = graph.constant dense<[1.0, 2.0]> : tensor<3xf32>
  func.return
}

// -----

// No elements where some are wanted.
func.func @f() {
  // expected-error @+1 {{dense: elements of shape [0] do not fit tensor<3xf32> (shape [3])}}
  %c = graph.constant dense<> : tensor<3xf32>
  func.return
}

// -----

// A string that is not hex.
func.func @f() {
  // expected-error @+1 {{dense: "0xZZ" is no hex string that starts with 0x}}
  %c = graph.constant dense<"0xZZ"> : tensor<4xi8>
  func.return
}

// -----

// A string that is not hex.
func.func @f() {
  // expected-error @+1 {{dense: "0001" is no hex string that starts with 0x}}
  %c = graph.constant dense<"0001"> : tensor<4xi8>
  func.return
}

// -----

// A string of another length.
func.func @f() {
  // expected-error @+1 {{dense: 3 bytes do not fit tensor<4xi8> (4 elements of 1 bytes)}}
  %c = graph.constant dense<"0x010203"> : tensor<4xi8>
  func.return
}

// -----

// A constant that takes too much memory.
func.func @f() {
  // expected-error @+1 {{dense: tensor<1048576x1048576xf32> has 1099511627776 elements, more than 2147483648 bytes (hint: broadcast a smaller constant)}}
  %c = graph.constant dense<0.0> : tensor<1048576x1048576xf32>
  func.return
}

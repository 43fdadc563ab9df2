// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// An axis that is not there.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.arg_reduce: axis 2 is out of range for rank 2 (source tensor<4x8xf32>)}}
  %i = graph.arg_reduce max %x axis 2 : tensor<4x8xf32> -> tensor<4xi64>
  func.return
}

// -----

// Where nothing is, nothing is greatest.
func.func @f(%x: tensor<4x0xf32>) {
  // expected-error @+1 {{graph.arg_reduce: axis 1 has no elements (source tensor<4x0xf32>)}}
  %i = graph.arg_reduce max %x axis 1 : tensor<4x0xf32> -> tensor<4xi64>
  func.return
}

// -----

// Indices are i64.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.arg_reduce: result is tensor<4xi32>, expected tensor<4xi64> (element type i32, not i64; i64 indices along axis 1 of tensor<4x8xf32>)}}
  %i = graph.arg_reduce min %x axis 1 : tensor<4x8xf32> -> tensor<4xi32>
  func.return
}

// -----

// With `keep` the axis stays.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.arg_reduce: result is tensor<4xi64>, expected tensor<4x1xi64> (rank 1, not 2; i64 indices along axis 1 of tensor<4x8xf32>)}}
  %i = graph.arg_reduce min %x axis 1 keep : tensor<4x8xf32> -> tensor<4xi64>
  func.return
}

// -----

// Logarithms are of floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.logsumexp: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.logsumexp %x axes [1] : tensor<4x8xi32> -> tensor<4xi32>
  func.return
}

// -----

// An axis twice.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.logsumexp: axis 1 is given twice ([1, 1], source tensor<4x8xf32>)}}
  %y = graph.logsumexp %x axes [1, 1] : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// A result that keeps nothing.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.logsumexp: result is tensor<4xf32>, expected tensor<4x1xf32> (rank 1, not 2; tensor<4x8xf32> with 1 for axes [1])}}
  %y = graph.logsumexp %x axes [1] keep : tensor<4x8xf32> -> tensor<4xf32>
  func.return
}

// -----

// A dim that may be 0 has no greatest element.
graph.dim @n min 0 max 8
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) {
  // expected-error @+1 {{graph.arg_reduce: axis 0 may have no elements (n from 0 to 8, source tensor<?x8xf32, #graph.dims<n, 8>>)}}
  %i = graph.arg_reduce max %x axis 0 : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<8xi64>
  func.return
}

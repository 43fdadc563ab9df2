// RUN: tenon-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{graph.dim: @n is from 5 to 4, expected bounds from 0 to 2147483647}}
graph.dim @n min 5 max 4

// -----

// expected-error @+1 {{graph.dim: @n is from -1 to 4, expected bounds from 0 to 2147483647}}
graph.dim @n min -1 max 4

// -----

// expected-error @+1 {{graph.dim: 'mod' cannot be written in an extent}}
graph.dim @mod min 1 max 4

// -----

func.func @f() {
  // expected-error @+1 {{graph.dim: @n must stand in a module, beside its functions}}
  graph.dim @n min 1 max 4
  func.return
}

// -----

graph.dim @n min 1 max 4
func.func @f(%x: tensor<?xf32, #graph.dims<n>>, %y: tensor<?xf32, #graph.dims<n + 1>>) {
  // expected-error @+1 {{graph.add: operand 'rhs' at position 1 does not verify: tensor<?xf32, #graph.dims<n + 1>> is not tensor<?xf32, #graph.dims<n>> (axis 0 is n + 1, not n)}}
  %z = "graph.add"(%x, %y) : (tensor<?xf32, #graph.dims<n>>, tensor<?xf32, #graph.dims<n + 1>>) -> tensor<?xf32, #graph.dims<n>>
  func.return
}

// -----

graph.dim @n min 1 max 4
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) {
  // expected-error @+1 {{graph.reshape: cannot reshape tensor<?x8xf32, #graph.dims<n, 8>> to tensor<?xf32, #graph.dims<4 * n>> (8 * n elements to 4 * n)}}
  %z = graph.reshape %x : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<?xf32, #graph.dims<4 * n>>
  func.return
}

// -----

graph.dim @n min 1 max 4
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) {
  // expected-error @+1 {{graph.slice: axis 0 may be read up to 2 of n (n from 1 to 4, source tensor<?x8xf32, #graph.dims<n, 8>>)}}
  %z = graph.slice %x offsets [0, 0] sizes [2, 8] strides [1, 1] : tensor<?x8xf32, #graph.dims<n, 8>>
  func.return
}

// -----

graph.dim @n min 1 max 4
func.func @f(%x: tensor<?xf32, #graph.dims<n>>) {
  // expected-error @+1 {{graph.slice: size n - 2 of axis 0 may be negative (n from 1 to 4)}}
  %z = graph.slice %x offsets [0] sizes [n - 2] strides [1] : tensor<?xf32, #graph.dims<n>>
  func.return
}

// -----

graph.dim @n min 1 max 4
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>) {
  // expected-error @+1 {{graph.broadcast: cannot broadcast tensor<?x8xf32, #graph.dims<n, 8>> to tensor<4x8xf32> (axis 0 of n to axis 0 of 4)}}
  %z = graph.broadcast %x : tensor<?x8xf32, #graph.dims<n, 8>> -> tensor<4x8xf32>
  func.return
}

// -----

graph.dim @n min 1 max 4
graph.dim @m min 1 max 4
func.func @f(%x: tensor<?x8xf32, #graph.dims<n, 8>>, %y: tensor<?x8xf32, #graph.dims<m, 8>>) {
  // expected-error @+1 {{graph.concat: result is tensor<?x8xf32, #graph.dims<2 * n, 8>>, expected tensor<?x8xf32, #graph.dims<m + n, 8>> (axis 0 is 2 * n, not m + n; [n, 8], [m, 8] along axis 0)}}
  %z = graph.concat %x, %y axis 0 : tensor<?x8xf32, #graph.dims<n, 8>>, tensor<?x8xf32, #graph.dims<m, 8>> -> tensor<?x8xf32, #graph.dims<2 * n, 8>>
  func.return
}

// -----

// expected-error @+1 {{-1 has no dim in it}}
"test.op"() {a = #graph.dim_expr<n - 1 - n>} : () -> ()

// -----

// expected-error @+1 {{graph.dims: [4, 8] has no dim in it}}
func.func @f(%x: tensor<4x8xf32, #graph.dims<4, 8>>) {
  func.return
}

// -----

// expected-error @+1 {{graph.dims: axis 1 is -1, which is negative}}
func.func @f(%x: tensor<?x?xf32, #graph.dims<n, 2 - 3>>) {
  func.return
}

// -----

func.func @f(%x: tensor<4x8xf32, #graph.dims<n, 8>>) {
  // expected-error @+1 {{is [4, 8], but its dims are [n, 8]}}
  %y = graph.exp %x : tensor<4x8xf32, #graph.dims<n, 8>>
  func.return
}

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// A type that is no tensor.
func.func @f(%x: f32) {
  // expected-error @+1 {{graph.neg: f32 is not a tensor}}
  %y = graph.neg %x : f32
  func.return
}

// -----

// An element type that `graph` does not know.
func.func @f(%x: tensor<4xi4>) {
  // expected-error @+1 {{graph.neg: operand 'source' at position 0 does not verify: tensor<4xi4> is not a plain tensor of one of f64 f32 f16 bf16 i64 i32 i16 i8 ui8 i1}}
  %y = "graph.neg"(%x) : (tensor<4xi4>) -> tensor<4xi4>
  func.return
}

// -----

// An encoding.
func.func @f(%x: tensor<4xf32, "sparse">) {
  // expected-error @+1 {{tensor<4xf32, "sparse"> is not a plain tensor}}
  %y = graph.neg %x : tensor<4xf32, "sparse">
  func.return
}

// -----

// More elements than can be counted.
func.func @f(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{has too many elements (18446744073709551616, at most 9223372036854775807)}}
  %y = graph.neg %x : tensor<4294967296x4294967296xf32>
  func.return
}

// -----

// Extents that differ.
func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error @+1 {{graph.add: operand 'rhs' at position 1 does not verify: tensor<4x7xf32> is not tensor<4x8xf32> (axis 1 is 7, not 8)}}
  %z = "graph.add"(%x, %y) : (tensor<4x8xf32>, tensor<4x7xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// Ranks that differ.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.neg: result 'result' at position 0 does not verify: tensor<4xf32> is not tensor<4x8xf32> (rank 1, not 2)}}
  %z = "graph.neg"(%x) : (tensor<4x8xf32>) -> tensor<4xf32>
  func.return
}

// -----

// A dim that is only known on one side.
func.func @f(%x: tensor<4xf32>, %y: tensor<?xf32>) {
  // expected-error @+1 {{tensor<?xf32> is not tensor<4xf32> (`?` in one of them)}}
  %z = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  func.return
}

// -----

// An operand of another type than the op says.
func.func @f(%x: tensor<4xf32>, %y: tensor<4xi32>) {
  // expected-error @+1 {{operand is used with type tensor<4xf32>, but has been previously used or defined with type tensor<4xi32>}}
  %z = graph.add %x, %y : tensor<4xf32>
  func.return
}

// -----

// `exp` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.exp: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.exp %x : tensor<4x8xi32>
  func.return
}

// -----

// `log` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.log: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.log %x : tensor<4x8xi32>
  func.return
}

// -----

// `sqrt` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.sqrt: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.sqrt %x : tensor<4x8xi32>
  func.return
}

// -----

// `rsqrt` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.rsqrt: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.rsqrt %x : tensor<4x8xi32>
  func.return
}

// -----

// `recip` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.recip: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.recip %x : tensor<4x8xi32>
  func.return
}

// -----

// `tanh` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.tanh: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.tanh %x : tensor<4x8xi32>
  func.return
}

// -----

// `erf` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.erf: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.erf %x : tensor<4x8xi32>
  func.return
}

// -----

// `sin` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.sin: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.sin %x : tensor<4x8xi32>
  func.return
}

// -----

// `cos` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.cos: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.cos %x : tensor<4x8xi32>
  func.return
}

// -----

// `floor` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.floor: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.floor %x : tensor<4x8xi32>
  func.return
}

// -----

// `ceil` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.ceil: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.ceil %x : tensor<4x8xi32>
  func.return
}

// -----

// `trunc` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.trunc: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.trunc %x : tensor<4x8xi32>
  func.return
}

// -----

// `fma` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.fma: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.fma %x, %x, %x : tensor<4x8xi32>
  func.return
}

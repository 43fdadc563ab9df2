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
  // expected-error @+1 {{graph.neg: operand 'source' at position 0 does not verify: tensor<4xi4> is not a plain tensor of one of f64 f32 f16 bf16 f8E5M2 f8E4M3FN f8E4M3 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1}}
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

// `expm1` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.expm1: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.expm1 %x : tensor<4x8xi32>
  func.return
}

// -----

// `exp2` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.exp2: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.exp2 %x : tensor<4x8xi32>
  func.return
}

// -----

// `log1p` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.log1p: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.log1p %x : tensor<4x8xi32>
  func.return
}

// -----

// `log2` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.log2: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.log2 %x : tensor<4x8xi32>
  func.return
}

// -----

// `log10` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.log10: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.log10 %x : tensor<4x8xi32>
  func.return
}

// -----

// `tan` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.tan: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.tan %x : tensor<4x8xi32>
  func.return
}

// -----

// `asin` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.asin: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.asin %x : tensor<4x8xi32>
  func.return
}

// -----

// `acos` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.acos: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.acos %x : tensor<4x8xi32>
  func.return
}

// -----

// `atan` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.atan: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.atan %x : tensor<4x8xi32>
  func.return
}

// -----

// `sinh` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.sinh: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.sinh %x : tensor<4x8xi32>
  func.return
}

// -----

// `cosh` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.cosh: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.cosh %x : tensor<4x8xi32>
  func.return
}

// -----

// `asinh` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.asinh: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.asinh %x : tensor<4x8xi32>
  func.return
}

// -----

// `acosh` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.acosh: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.acosh %x : tensor<4x8xi32>
  func.return
}

// -----

// `atanh` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.atanh: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.atanh %x : tensor<4x8xi32>
  func.return
}

// -----

// `round` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.round: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.round %x : tensor<4x8xi32>
  func.return
}

// -----

// `isnan` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.isnan: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.isnan %x : tensor<4x8xi32>
  func.return
}

// -----

// `isinf` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.isinf: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.isinf %x : tensor<4x8xi32>
  func.return
}

// -----

// `isfinite` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.isfinite: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.isfinite %x : tensor<4x8xi32>
  func.return
}

// -----

// `signbit` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.signbit: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.signbit %x : tensor<4x8xi32>
  func.return
}

// -----

// `sign` is for numbers.
func.func @f(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{graph.sign: cannot take tensor<4x8xi1> (element type i1, needs a number)}}
  %y = graph.sign %x : tensor<4x8xi1>
  func.return
}

// -----

// `floordiv` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.floordiv: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.floordiv %x, %x : tensor<4x8xi32>
  func.return
}

// -----

// `atan2` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.atan2: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.atan2 %x, %x : tensor<4x8xi32>
  func.return
}

// -----

// `hypot` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.hypot: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.hypot %x, %x : tensor<4x8xi32>
  func.return
}

// -----

// `logaddexp` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.logaddexp: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.logaddexp %x, %x : tensor<4x8xi32>
  func.return
}

// -----

// `copysign` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.copysign: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.copysign %x, %x : tensor<4x8xi32>
  func.return
}

// -----

// `nextafter` is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.nextafter: cannot take tensor<4x8xi32> (element type i32, needs a float)}}
  %y = graph.nextafter %x, %x : tensor<4x8xi32>
  func.return
}

// -----

// `truncdiv` is for integers.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.truncdiv: cannot take tensor<4x8xf32> (element type f32, needs an integer)}}
  %y = graph.truncdiv %x, %x : tensor<4x8xf32>
  func.return
}

// -----

// `rem` is for numbers.
func.func @f(%x: tensor<4x8xi1>) {
  // expected-error @+1 {{graph.rem: cannot take tensor<4x8xi1> (element type i1, needs a number)}}
  %y = graph.rem %x, %x : tensor<4x8xi1>
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

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// `neg` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.neg: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.neg %x : tensor<4xi1>
  func.return
}

// -----

// `abs` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.abs: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.abs %x : tensor<4xi1>
  func.return
}

// -----

// `relu` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.relu: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.relu %x : tensor<4xi1>
  func.return
}

// -----

// `add` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.add: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.add %x, %x : tensor<4xi1>
  func.return
}

// -----

// `sub` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.sub: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.sub %x, %x : tensor<4xi1>
  func.return
}

// -----

// `mul` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.mul: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.mul %x, %x : tensor<4xi1>
  func.return
}

// -----

// `div` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.div: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.div %x, %x : tensor<4xi1>
  func.return
}

// -----

// `mod` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.mod: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.mod %x, %x : tensor<4xi1>
  func.return
}

// -----

// `pow` is for numbers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.pow: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.pow %x, %x : tensor<4xi1>
  func.return
}

// -----

// `and` is for bits.
func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{graph.and: cannot take tensor<4xf16> (element type f16, needs an integer or i1)}}
  %y = graph.and %x, %x : tensor<4xf16>
  func.return
}

// -----

// `or` is for bits.
func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{graph.or: cannot take tensor<4xf16> (element type f16, needs an integer or i1)}}
  %y = graph.or %x, %x : tensor<4xf16>
  func.return
}

// -----

// `xor` is for bits.
func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{graph.xor: cannot take tensor<4xf16> (element type f16, needs an integer or i1)}}
  %y = graph.xor %x, %x : tensor<4xf16>
  func.return
}

// -----

// `not` is for bits.
func.func @f(%x: tensor<4xf16>) {
  // expected-error @+1 {{graph.not: cannot take tensor<4xf16> (element type f16, needs an integer or i1)}}
  %y = graph.not %x : tensor<4xf16>
  func.return
}

// -----

// `nibble` is for bytes.
func.func @nibbles(%x: tensor<4xi16>) {
  // expected-error @+1 {{graph.nibble: cannot take tensor<4xi16> (element type i16, needs i8)}}
  %y = graph.nibble %x, %x : tensor<4xi16>
  func.return
}

// -----

// `shl` is for integers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.shl: cannot take tensor<4xi1> (element type i1, needs an integer)}}
  %y = graph.shl %x, %x : tensor<4xi1>
  func.return
}

// -----

// `shr` is for integers.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.shr: cannot take tensor<4xi1> (element type i1, needs an integer)}}
  %y = graph.shr %x, %x : tensor<4xi1>
  func.return
}

// -----

// `iota` counts.
func.func @f() {
  // expected-error @+1 {{graph.iota: cannot take tensor<4xi1> (element type i1, needs a number)}}
  %y = graph.iota axis 0 : tensor<4xi1>
  func.return
}

// -----

// Fastmath is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.add: fastmath is for floats only (element type i32 of tensor<4x8xi32>)}}
  %y = graph.add %x, %x fastmath<fast> : tensor<4x8xi32>
  func.return
}

// -----

// Fastmath is for floats.
func.func @f(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{graph.reduce: fastmath is for floats only (element type i32 of tensor<4x8xi32>)}}
  %y = graph.reduce add %x axes [0] fastmath<fast> : tensor<4x8xi32> -> tensor<8xi32>
  func.return
}

// -----

// Fastmath is for floats.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.contract: fastmath is for floats only (element type i32 of tensor<i32>)}}
  %y = graph.contract %x, %x maps [affine_map<(k) -> (k)>, affine_map<(k) -> (k)>, affine_map<(k) -> ()>] fastmath<fast> : tensor<4xf32>, tensor<4xf32> -> tensor<i32>
  func.return
}

// -----

// A comparison gives i1.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.lt: result is tensor<4x8xf32>, expected tensor<4x8xi1> (element type f32, not i1; i1 for each element of tensor<4x8xf32>)}}
  %y = "graph.lt"(%x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// A comparison has the shape of its operands, to the last `?`.
func.func @f(%x: tensor<?xf32>) {
  // expected-error @+1 {{graph.lt: result is tensor<4xi1>, expected tensor<?xi1> (`?` in one of them; i1 for each element of tensor<?xf32>)}}
  %y = "graph.lt"(%x, %x) : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xi1>
  func.return
}

// -----

// So is that of a test.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.isnan: result is tensor<4x8xf32>, expected tensor<4x8xi1> (element type f32, not i1; i1 for each element of tensor<4x8xf32>)}}
  %y = "graph.isnan"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// A condition has one i1 for each element.
func.func @f(%c: tensor<8xi1>, %x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.select: condition is tensor<8xi1>, expected tensor<4x8xi1> (i1 for each element of tensor<4x8xf32>)}}
  %y = "graph.select"(%c, %x, %x) : (tensor<8xi1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return
}

// -----

// A cast keeps the shape.
func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{graph.cast: result is tensor<8x4xi32>, expected tensor<4x8xi32> (axis 0 is 8, not 4; the shape of tensor<4x8xf32>)}}
  %y = graph.cast %x : tensor<4x8xf32> -> tensor<8x4xi32>
  func.return
}

// -----

// A bitcast keeps the width.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.bitcast: cannot read tensor<4xf32> as tensor<4xui64> (32 bits, 64 bits)}}
  %y = graph.bitcast %x : tensor<4xf32> -> tensor<4xui64>
  func.return
}

// -----

// A boolean is one bit, and not a byte.
func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{graph.bitcast: cannot read tensor<4xi1> as tensor<4xui8> (1 bits, 8 bits)}}
  %y = graph.bitcast %x : tensor<4xi1> -> tensor<4xui8>
  func.return
}

// -----

// A bitcast keeps the shape.
func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{graph.bitcast: result is tensor<8xi32>, expected tensor<4xi32> (axis 0 is 8, not 4; the shape of tensor<4xf32>)}}
  %y = graph.bitcast %x : tensor<4xf32> -> tensor<8xi32>
  func.return
}

// -----

// Other floats of 8 bits are none of Tenon's.
func.func @f(%x: tensor<4xf8E5M2FNUZ>) {
  // expected-error @+1 {{is not a plain tensor of one of f64 f32 f16 bf16 f8E5M2 f8E4M3FN f8E4M3 i64 i32 i16 i8 ui64 ui32 ui16 ui8 i1}}
  %y = graph.neg %x : tensor<4xf8E5M2FNUZ>
  func.return
}

// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// Buffers are one-dimensional.
// expected-error @+1 {{low.kernel: argument 1 of @k is memref<4x8xf32>, expected a one-dimensional memref}}
low.kernel @k(%x: memref<4xf32>, %y: memref<4x8xf32>) grid [1, 1, 1] block [1, 1, 1] {
}

// -----

// expected-error @+1 {{low.kernel: argument 0 of @k is f32, expected a one-dimensional memref}}
low.kernel @k(%x: f32) grid [1, 1, 1] block [1, 1, 1] {
}

// -----

// A grid may be empty, a work-group not.
// expected-error @+1 {{low.kernel: block [1, 0, 1] has an extent below 1}}
low.kernel @k() grid [0, 1, 1] block [1, 0, 1] {
}

// -----

// expected-error @+1 {{low.dims: [1, 1] is not three extents from 0 up}}
low.kernel @k() grid [1, 1] block [1, 1, 1] {
}

// -----

// A condition of other lanes than what it selects.
low.kernel @k(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<8xf32>, vector<8xf32>
  %c = arith.constant true
  // expected-error @+1 {{low.select: condition i1 and result vector<8xf32> differ in lanes}}
  %r = "low.select"(%c, %v, %v) : (i1, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
}

// -----

// Conversions that are none.
low.kernel @k(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf32>
  // expected-error @+1 {{low.convert: cannot sitofp f32 to f64}}
  %r = low.convert sitofp %v : f32 to f64
}

// -----

low.kernel @k(%x: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  // expected-error @+1 {{low.convert: cannot extsi i32 to i16}}
  %r = low.convert extsi %v : i32 to i16
}

// -----

low.kernel @k(%x: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  // expected-error @+1 {{low.convert: cannot trunci i32 to i32}}
  %r = low.convert trunci %v : i32 to i32
}

// -----

// Lanes that differ.
low.kernel @k(%x: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  // expected-error @+1 {{low.convert: cannot sitofp i32 to vector<4xf32>}}
  %r = low.convert sitofp %v : i32 to vector<4xf32>
}

// -----

// A remainder of integers is arith.remsi.
low.kernel @k(%x: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  // expected-error @+1 {{low.remf: i32 is no float and no vector of floats}}
  %r = low.remf %v, %v : i32
}

// -----

low.kernel @k(%x: memref<8xf16>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf16>
  // expected-error @+1 {{low.ldexp: f16 is not f32, f64 or a vector of them}}
  %r = low.ldexp %v, %v : f16
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: a tile of 0 x 4 (expected 1 or more of each)}}
  low.tile_fma 0 x 4 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: 1 depths, 1 steps of lhs and 2 of rhs (expected as many of each, 1 or more)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: 0 depths, 0 steps of lhs and 0 of rhs (expected as many of each, 1 or more)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i] * %a[%i] depth [] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf16>, %c: memref<64xf16>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: acc is memref<64xf16>, expected elements of f32, f64, i32, i64}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf16>, memref<64xf16>, memref<64xf16>
}

// -----

low.kernel @k(%a: memref<64xf64>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: lhs is memref<64xf64>, expected numbers that f32 holds exactly}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf64>, memref<64xf64>
}

// -----

low.kernel @k(%a: memref<64xi32>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: rhs is memref<64xi32>, expected numbers that f32 holds exactly}}
  low.tile_fma 2 x 4 %c[%i, %i] = %b[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xi32>
}

// -----

low.kernel @k(%a: memref<64xi8>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: lhs is unsigned memref<64xf32>, expected integers}}
  low.tile_fma 2 x 4 %c[%i, %i] = unsigned %b[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xi8>
}

// -----

low.kernel @k(%a: memref<64xi8>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: nibbles of unsigned memref<64xi8>, expected i8}}
  low.tile_fma 2 x 4 %c[%i, %i] = %b[%i, %i, %i, %i] * unsigned nibbles %a[%i, %i, %zero] depth [%i, %two] : memref<64xf32>, memref<64xf32>, memref<64xi8>
}

// -----

low.kernel @k(%a: memref<64xi16>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: nibbles of memref<64xi16>, expected i8}}
  low.tile_fma 2 x 4 %c[%i, %i] = %b[%i, %i, %i, %i] * nibbles %a[%i, %i, %zero] depth [%i, %two] : memref<64xf32>, memref<64xf32>, memref<64xi16>
}

// -----

low.kernel @k(%a: memref<64xi8>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: nibbles and 1 depths, the last one of 2 steps of 0 in rhs (expected two or more, the last one of 2 steps of 0)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %b[%i, %i, %i] * nibbles %a[%i, %zero] depth [%two] : memref<64xf32>, memref<64xf32>, memref<64xi8>
}

// -----

low.kernel @k(%a: memref<64xi8>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: nibbles and 2 depths, the last one of 2 steps of 2 in rhs (expected two or more, the last one of 2 steps of 0)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %b[%i, %i, %i, %i] * nibbles %a[%i, %i, %two] depth [%i, %two] : memref<64xf32>, memref<64xf32>, memref<64xi8>
}

// -----

low.kernel @k(%a: memref<64xi8>, %b: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %zero = arith.constant 0 : index
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: nibbles and 2 depths, the last one of None steps of 0 in rhs (expected two or more, the last one of 2 steps of 0)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %b[%i, %i, %i, %i] * nibbles %a[%i, %i, %zero] depth [%two, %i] : memref<64xf32>, memref<64xf32>, memref<64xi8>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: acc is an operand too, expected a buffer of its own}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i] * %c[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: += of a transposed tile (expected = of all columns)}}
  low.tile_fma 2 x 4 transposed %c[%i, %i] += %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: live of a transposed tile (expected = of all columns)}}
  low.tile_fma 2 x 4 live %i transposed %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: live of a transposed tile (expected = of all columns)}}
  low.tile_fma 2 live %i x 4 transposed %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: prefetch rhs by [4, 0] (expected 1 or more)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] prefetch rhs[%i, 4, 0] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: rows of depth 1 of 2 (expected one before the last)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%two, %i] rows 1 [0 to 1, 0 to 2] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: 2 bounds of rows for depth 0 of 2 steps (expected two for each of a known number)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%two, %i] rows 0 [0 to 1] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: 4 bounds of rows for depth 0 of unknown steps (expected two for each of a known number)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%i, %two] rows 0 [0 to 1, 0 to 2] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: rows 1 to 3 of 2}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%two, %i] rows 0 [0 to 1, 1 to 3] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: rows 1 to 0 of 2}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%two, %i] rows 0 [0 to 1, 1 to 0] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  %true = arith.constant true
  // expected-error @+1 {{low.tile_fma: 1 conditions of 2 ranges of rows (expected each)}}
  low.tile_fma 2 x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%two, %i] rows 0 [0 to 1, 0 to 2] if [%true] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %two = arith.constant 2 : index
  // expected-error @+1 {{low.tile_fma: rows of a depth, and a number of rows that varies}}
  low.tile_fma 2 live %i x 4 %c[%i, %i] = %a[%i, %i, %i, %i] * %a[%i, %i, %i] depth [%two, %i] rows 0 [0 to 1, 0 to 2] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: ahead 0 (expected 1 or more, or none)}}
  low.tile_fma 2 x 4 ahead 0 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: ahead at level 3 (expected 1 or 2)}}
  low.tile_fma 2 x 4 ahead 8 level 3 %c[%i, %i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%a: memref<64xf32>, %c: memref<64xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  // expected-error @+1 {{low.tile_fma: 1 indices of acc, expected 2}}
  low.tile_fma 2 x 4 %c[%i] = %a[%i, %i, %i] * %a[%i, %i] depth [%i] : memref<64xf32>, memref<64xf32>, memref<64xf32>
}

// -----

low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<4xf32>, vector<4xf32>
  // expected-error @+1 {{low.transpose: 2 rows of vector<4xf32>, expected one type of 2 lanes}}
  %a, %b = low.transpose %v, %v : vector<4xf32>
}

// -----

low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<4xf32>, vector<2xf32>
  // expected-error @+1 {{low.transpose: 2 rows of vector<2xf32>, vector<2xi32>, expected one type of 2 lanes}}
  %a, %b = "low.transpose"(%v, %v) : (vector<2xf32>, vector<2xf32>) -> (vector<2xf32>, vector<2xi32>)
}

// -----

low.kernel @k(%x: memref<4xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = vector.load %x[%i] : memref<4xf32>, vector<2xf32>
  // expected-error @+1 {{low.transpose: 2 rows give 1 columns}}
  %a = "low.transpose"(%v, %v) : (vector<2xf32>, vector<2xf32>) -> (vector<2xf32>)
}

// -----

// A kernel's own memory is a row whose length is known.
low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {
  // expected-error @+1 {{low.alloca: cannot allocate memref<2x2xf32> (expected one static extent)}}
  %a = low.alloca : memref<2x2xf32>
}

// -----

low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {
  // expected-error @+1 {{low.alloca: memref<2xui8> would hold ui8, which no buffer does}}
  %a = low.alloca : memref<2xui8>
}

// -----

low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {
  // expected-error @+1 {{low.alloca: cannot allocate memref<?xf32> (expected one static extent)}}
  %a = low.alloca : memref<?xf32>
}

// -----

low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {
  // expected-error @+1 {{low.alloca: cannot allocate memref<2xf32, strided<[2]>> (expected one static extent)}}
  %a = low.alloca : memref<2xf32, strided<[2]>>
}

// -----

low.kernel @k() grid [1, 1, 1] block [1, 1, 1] {
  // expected-error @+1 {{low.alloca: "moon" is no memory space (expected "shared")}}
  %a = low.alloca : memref<2xf32, "moon">
}

// -----

// A buffer is dense, and in memory that the whole device sees.
// expected-error @+1 {{low.kernel: argument 0 of @k is memref<2xf32, strided<[2]>>, expected a dense memref}}
low.kernel @k(%x: memref<2xf32, strided<[2]>>) grid [1, 1, 1] block [1, 1, 1] {
}

// -----

// expected-error @+1 {{low.kernel: argument 0 of @k: "shared" is no memory space of a buffer in memref<2xf32, "shared">}}
low.kernel @k(%x: memref<2xf32, "shared">) grid [1, 1, 1] block [1, 1, 1] {
}

// -----

// Dims have names in one entry of a dictionary, and no other one stands there.
// expected-error @+1 {{argument 1 of @k: {dims = #graph.dims<n>, n = 1 : i64} is no memory space of a buffer}}
low.kernel @k(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>, n = 1 : i64}>) dims [n] grid [1, 1, 1] block [1, 1, 1] {
}

// -----

low.kernel @k(%x: memref<8xf16>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf16>
  // expected-error @+1 {{low.atomic_rmw: no atomics on elements of f16 (there are on i32, i64, f32, f64)}}
  %o = low.atomic_rmw addf %v, %x[%i] : memref<8xf16>
}

// -----

low.kernel @k(%x: memref<8xi8>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi8>
  // expected-error @+1 {{low.atomic_rmw: no atomics on elements of i8 (there are on i32, i64, f32, f64)}}
  %o = low.atomic_rmw assign %v, %x[%i] : memref<8xi8>
}

// -----

low.kernel @k(%x: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  // expected-error @+1 {{low.atomic_rmw: addf is for floats, got i32}}
  %o = low.atomic_rmw addf %v, %x[%i] : memref<8xi32>
}

// -----

low.kernel @k(%x: memref<8xf64>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf64>
  // expected-error @+1 {{low.atomic_rmw: maxu is for integers, got f64}}
  %o = low.atomic_rmw maxu %v, %x[%i] : memref<8xf64>
}

// -----

low.kernel @k(%x: memref<8xi32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xi32>
  %m = low.alloca : memref<8xi32>
  // expected-error @+1 {{low.atomic_rmw: the memory is one work-item's own (expected an argument or "shared" memory)}}
  %o = low.atomic_rmw addi %v, %m[%i] : memref<8xi32>
}

// -----

%v, %i, %x = "test.op"() : () -> (i32, index, memref<4x8xi32>)
// expected-error @+1 {{low.atomic_rmw: memref<4x8xi32> has several dims, expected one}}
%o = low.atomic_rmw addi %v, %x[%i] : memref<4x8xi32>

// -----

low.kernel @k(%x: memref<8xf32>) grid [1, 1, 1] block [1, 1, 1] {
  %i = low.block_id x
  %v = memref.load %x[%i] : memref<8xf32>
  // expected-error @+1 {{vector}}
  %r = "low.reverse"(%v) : (f32) -> f32
}

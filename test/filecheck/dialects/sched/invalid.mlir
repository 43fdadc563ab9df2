// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{sched.kernel: argument 1 of @f is f32, expected a memref}}
sched.kernel @f(%x: memref<4xf32>, %s: f32) {
}

// -----

// expected-error @below {{sched.kernel: argument 0 of @f: the layout of memref<4xf32, strided<[2], offset: 1>> is not a strided one without offset}}
sched.kernel @f(%x: memref<4xf32, strided<[2], offset: 1>>) {
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.axis: extent -4 is negative}}
  sched.axis %i = -4 {
  }
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.axis: body takes (f32), expected one index}}
  "sched.axis"() <{extent = 4 : i64, mapping = #sched.mapping<serial>}> ({
  ^bb0(%i: f32):
  }) : () -> ()
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.axis: body takes (), expected one index}}
  "sched.axis"() <{extent = 4 : i64, mapping = #sched.mapping<serial>}> ({
  ^bb0:
  }) : () -> ()
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.mapping: vector(3) is not 1, 2, 4, 8 or 16 lanes}}
  sched.axis %i = 4 vector(3) {
  }
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.mapping: chunk 0 and unroll 1 must be 1 or more}}
  sched.axis %i = 4 block(0) {
  }
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.mapping: chunk 2 and unroll 0 must be 1 or more}}
  sched.axis %i = 4 thread(2) unroll(0) {
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: body yields f32, expected f64}}
  %s = sched.reduce addf %i = 4 : f64 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.reduce: body yields no sched.yield, expected f64}}
  %s = sched.reduce addf %i = 4 : f64 {
    sched.return after()
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: cannot combine f32 by addi}}
  %s = sched.reduce addi %i = 4 : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: body yields 2 values, expected 1 to combine by addf}}
  %s = sched.reduce addf %i = 4 : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v, %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: body yields 1 values, expected 2 to multiply or the sum of a reduction by fma in it, for nothing else}}
  %s = sched.reduce fma %i = 4 : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: unroll(2) for the outer of two dims (only serial goes on)}}
  %s = sched.reduce fma %i = 4 unroll(2) : f32 {
    %t = sched.reduce fma %j = 4 : f32 {
      %v = memref.load %x[%j] : memref<4xf32>
      sched.yield %v, %v : f32
    }
    sched.yield %t : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xi32>) {
  // expected-error @below {{sched.reduce: cannot combine i32 by fma}}
  %s = sched.reduce fma %i = 4 : i32 {
    %v = memref.load %x[%i] : memref<4xi32>
    sched.yield %v, %v : i32
  }
}

// -----

sched.kernel @f(%x: memref<f32>, %y: memref<f64>) {
  %v = memref.load %x[] : memref<f32>
  %w = memref.load %y[] : memref<f64>
  // expected-error @below {{sched.yield: yields (f32, f64), expected values of one type}}
  "sched.yield"(%v, %w) : (f32, f64) -> ()
}

// -----

sched.kernel @f(%x: memref<4xi32>) {
  // expected-error @below {{sched.reduce: cannot combine i32 by maximumf}}
  %s = sched.reduce maximumf %i = 4 : i32 {
    %v = memref.load %x[%i] : memref<4xi32>
    sched.yield %v : i32
  }
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.reduce: cannot combine index by addi}}
  %s = sched.reduce addi %i = 4 : index {
    sched.yield %i : index
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: extent -1 is negative}}
  %s = sched.reduce addf %i = -1 : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: 3 partial results cannot be halved (need a power of two)}}
  %s = sched.reduce addf %i = 4 unroll(3) : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.alloc: a kernel cannot allocate a global buffer}}
  %a = sched.alloc global : memref<4xf32>
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.alloc: memref<?xf32> has a dynamic extent}}
  %a = sched.alloc local : memref<?xf32>
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.alloc: memref<4xindex> would hold index, which no buffer does}}
  %a = sched.alloc local : memref<4xindex>
}

// -----

sched.kernel @f() {
  // expected-error @below {{sched.alloc: elements of memref<4x4xf32, strided<[3, 1]>> overlap (stride 3, expected 4 or more)}}
  %a = sched.alloc local : memref<4x4xf32, strided<[3, 1]>>
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.buffer: the layout of memref<4x4xf32, strided<[4]>> does not have a positive stride for each dim}}
  %b = sched.buffer global temporary : memref<4x4xf32, strided<[4]>>
  sched.return after()
}

// -----

sched.kernel @k(%x: memref<4x4xf32, strided<[1, 4]>>) {
}
sched.program @f() : () -> () {
  %b = sched.buffer global temporary : memref<4x4xf32>
  // expected-error @below {{sched.launch: argument 0 of @k is memref<4x4xf32, strided<[1, 4]>>, found memref<4x4xf32>}}
  %t = sched.launch @k(%b) after() : memref<4x4xf32>
  sched.return after(%t)
}

// -----

// expected-error @below {{sched.program: f32 is no tensor of numbers or booleans}}
"sched.program"() <{sym_name = "f", function_type = (f32) -> ()}> ({
^bb0(%x: memref<f32>):
  "sched.return"() <{operandSegmentSizes = array<i32: 0, 0>}> : () -> ()
}) : () -> ()

// -----

// expected-error @below {{sched.program: tensor<8xi7> is no tensor of numbers or booleans}}
sched.program @f(%x: memref<8xi7>) : (tensor<8xi7>) -> () {
  sched.return after()
}

// -----

// expected-error @below {{sched.program: @f takes (memref<8xf32>), expected (memref<8xi8>)}}
sched.program @f(%x: memref<8xf32>) : (tensor<8xi1>) -> () {
  sched.return after()
}

// -----

// expected-error @below {{sched.program: @f takes (), expected (memref<8xf32>)}}
sched.program @f() : (tensor<8xf32>) -> () {
  sched.return after()
}

// -----

// expected-error @below {{sched.program: @f returns (memref<8xf32>), expected ()}}
sched.program @f(%x: memref<8xf32>) : (tensor<8xf32>) -> () {
  sched.return %x after() : memref<8xf32>
}

// -----

// expected-error @below {{sched.program: @f ends in no sched.return}}
sched.program @f(%x: memref<8xf32>) : (tensor<8xf32>) -> () {
  sched.yield %x : memref<8xf32>
}

// -----

// expected-error @below {{expected a function type, found f32}}
sched.program @f() : f32 {
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.buffer: a program's buffer is global, not local}}
  %b = sched.buffer local temporary : memref<8xf32>
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.lifetime: 3 to 2 is not a lifetime}}
  %b = sched.buffer global temporary lifetime <3, 2> : memref<8xf32>
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.slab: pool 1, offset -64 is negative}}
  %b = sched.buffer global temporary slab <1, -64> : memref<8xf32>
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.constant: tensor<2xi1> is held by memref<2xi8>, found memref<2xi1>}}
  %c = sched.constant dense<true> : tensor<2xi1> : memref<2xi1>
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.constant: vector<2xf32> is no tensor of numbers or booleans}}
  %c = sched.constant dense<1.0> : vector<2xf32> : memref<2xf32>
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.launch: there is no kernel @k}}
  %t = sched.launch @k() after()
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.launch: there is no kernel @f}}
  %t = sched.launch @f() after()
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @below {{sched.launch: Expected SymbolRefAttr with no nested symbols}}
  %t = "sched.launch"() <{kernel = @a::@b, operandSegmentSizes = array<i32: 0, 0>}> : () -> !sched.token
  sched.return after()
}

// -----

sched.kernel @k(%x: memref<2x4xf32>) {
}
sched.program @f(%x: memref<9xf32>) : (tensor<9xf32>) -> () {
  // expected-error @below {{sched.launch: @k takes 1 buffers (8 x f32), found (9 x f32)}}
  %t = sched.launch @k(%x) after() : memref<9xf32>
  sched.return after()
}

// -----

sched.kernel @k(%x: memref<8xf32>) {
}
sched.program @f() : () -> () {
  // expected-error @below {{sched.launch: @k takes 1 buffers (8 x f32), found ()}}
  %t = sched.launch @k() after()
  sched.return after()
}

// -----

sched.kernel @k(%x: memref<8xf32>) {
}
sched.program @f(%x: memref<8xf32>) : (tensor<8xf32>) -> () {
  // expected-error @below {{1 buffers but 2 types}}
  %t = sched.launch @k(%x) after() : memref<8xf32>, memref<8xf32>
  sched.return after()
}

// -----

sched.program @f(%x: memref<8xf32>, %y: memref<8xi32>) : (tensor<8xf32>, tensor<8xi32>) -> () {
  // expected-error @below {{sched.transfer: cannot copy memref<8xf32> to memref<8xi32> (types differ)}}
  %t = "sched.transfer"(%x, %y) : (memref<8xf32>, memref<8xi32>) -> !sched.token
  sched.return after()
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.axis: operand 'count' at position 0 does not verify: memref<4xf32> should be of base attribute index}}
  "sched.axis"(%x) <{extent = 4 : i64, mapping = #sched.mapping<serial>}> ({
  ^bb0(%i: index):
  }) : (memref<4xf32>) -> ()
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  %one = arith.constant 1 : i32
  // expected-error @below {{sched.reduce: init is i32, expected f32}}
  %s = "sched.reduce"(%one) <{kind = #sched<combine addf>, extent = 4 : i64, mapping = #sched.mapping<serial>, operandSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%i: index):
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }) : (i32) -> f32
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{sched.reduce: body yields 1 values, expected 2 to multiply or the sum of a reduction by fma in it, for nothing else}}
  %s = sched.reduce fma %i = 4 : f32 {
    %t = sched.reduce fma %j = 4 init(%zero) : f32 {
      %v = memref.load %x[%i] : memref<4xf32>
      sched.yield %v, %v : f32
    }
    sched.yield %t : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: tile(4) (tiles are of serial sums by fma)}}
  %s = sched.reduce addf %i = 4 tile(4) : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: tile(4) prefetch (prefetch is for the axes of a tile)}}
  %s = sched.reduce fma %i = 4 tile(4) prefetch : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v, %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.reduce: tile_shape [2, 4] of a sum by addf (tiles are by fma)}}
  %s = sched.reduce addf %i = 4 tile_shape [2, 4] : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v : f32
  }
}

// -----

// Panels as wide as the last extent of one buffer, but there are two kinds of them.
sched.kernel @f(%x: memref<3x4xf32>, %y: memref<4x3xf32>) {
  // expected-error @below {{sched.reduce: tile_shape [4 in panels, 4 in panels], but it loads from no buffers whose last extents are those of the panels}}
  %s = sched.reduce fma %i = 3 tile_shape [4 in panels, 4 in panels] : f32 {
    %v = memref.load %x[%i, %i] : memref<3x4xf32>
    %w = memref.load %y[%i, %i] : memref<4x3xf32>
    sched.yield %v, %w : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.tile_shape: a tile of 2 x 0 (expected 1 or more of each)}}
  %s = sched.reduce fma %i = 4 tile_shape [2, 0] : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v, %v : f32
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  // expected-error @below {{sched.tile_shape: 3 sizes, expected those of rows and columns, or of columns}}
  %s = sched.reduce fma %i = 4 tile_shape [1, 1, 1] : f32 {
    %v = memref.load %x[%i] : memref<4xf32>
    sched.yield %v, %v : f32
  }
}

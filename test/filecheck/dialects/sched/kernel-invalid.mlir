// RUN: tenon-opt %s --split-input-file --verify-diagnostics

// An argument that is no memory.
// expected-error @+1 {{sched.kernel: argument 1 of @f is f32, expected a memref without a layout}}
sched.kernel @f(%x: memref<4xf32>, %y: f32) {
}

// -----

// An argument with strides.
// expected-error @+1 {{sched.kernel: argument 0 of @f is memref<4xf32, strided<[2]>>, expected a memref without a layout}}
sched.kernel @f(%x: memref<4xf32, strided<[2]>>) {
}

// -----

// A negative extent.
sched.kernel @f() {
  // expected-error @+1 {{sched.axis: extent -1 is negative}}
  sched.axis %i = -1 {
  }
}

// -----

sched.kernel @f(%x: memref<4xf32>) {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{sched.reduce: extent -3 is negative}}
  %s = sched.reduce addf %i = -3 : f32 {
    sched.yield %c : f32
  }
}

// -----

// A body without an index.
sched.kernel @f() {
  // expected-error @+1 {{sched.axis: body takes (i32), expected one index}}
  "sched.axis"() <{extent = #builtin.int<4>, mapping = #sched.mapping<serial>}> ({
  ^bb0(%i: i32):
  }) : () -> ()
}

// -----

sched.kernel @f() {
  // expected-error @+1 {{sched.mapping: vector(3) is not 1, 2, 4, 8 or 16 lanes}}
  sched.axis %i = 4 vector(3) {
  }
}

// -----

sched.kernel @f() {
  // expected-error @+1 {{sched.mapping: chunk 1 and unroll 0 must be 1 or more}}
  sched.axis %i = 4 unroll(0) {
  }
}

// -----

// A reduction that yields nothing, or something else.
sched.kernel @f() {
  // expected-error @+1 {{sched.reduce: body yields no sched.yield, expected f32}}
  %s = sched.reduce addf %i = 4 : f32 {
  }
}

// -----

sched.kernel @f() {
  // expected-error @+1 {{sched.reduce: body yields index, expected f32}}
  %s = sched.reduce addf %i = 4 : f32 {
    sched.yield %i : index
  }
}

// -----

// Partial results are combined in halves.
sched.kernel @f() {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{sched.reduce: 24 partial results cannot be halved (need a power of two)}}
  %s = sched.reduce addf %i = 4 vector(8) unroll(3) : f32 {
    sched.yield %c : f32
  }
}

// -----

// A kind that does not fit the type.
sched.kernel @f() {
  %c = arith.constant 0.0 : f32
  // expected-error @+1 {{sched.reduce: cannot combine f32 by addi}}
  %s = sched.reduce addi %i = 4 : f32 {
    sched.yield %c : f32
  }
}

// -----

sched.kernel @f() {
  // expected-error @+1 {{sched.reduce: cannot combine index by addi}}
  %s = sched.reduce addi %i = 4 : index {
    sched.yield %i : index
  }
}

// -----

// Buffers of a kernel belong to it, and their size is known.
sched.kernel @f() {
  // expected-error @+1 {{sched.alloc: a kernel cannot allocate a global buffer}}
  %a = sched.alloc global : memref<4xf32>
}

// -----

sched.kernel @f() {
  // expected-error @+1 {{sched.alloc: memref<?xf32> has a dynamic extent}}
  %a = sched.alloc local : memref<?xf32>
}

// -----

sched.kernel @f() {
  // expected-error @+1 {{sched.alloc: memref<4xf32, strided<[2]>> has a layout}}
  %a = sched.alloc local : memref<4xf32, strided<[2]>>
}

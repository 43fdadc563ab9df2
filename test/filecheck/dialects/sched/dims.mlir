// RUN: tenon-opt %s --split-input-file --verify-diagnostics | filecheck %s

graph.dim @n min 1 max 64

// CHECK-LABEL: sched.kernel @scale(%n: index, %x: memref<?x8xf32, {dims = #graph.dims<n, 8>}>, %y: memref<?x8xf32, {dims = #graph.dims<n, 8>}>) dims [n] {
sched.kernel @scale(%n: index, %x: memref<?x8xf32, {dims = #graph.dims<n, 8>}>, %y: memref<?x8xf32, {dims = #graph.dims<n, 8>}>) dims [n] {
  // CHECK: sched.axis %i = n block(4) {
  sched.axis %i = n block(4) {
    // CHECK: sched.reduce addf %j = n floordiv 2 vector(8) : f32 {
    %s = sched.reduce addf %j = n floordiv 2 vector(8) : f32 {
      %c0 = arith.constant 0 : index
      %v = memref.load %x[%j, %c0] : memref<?x8xf32, {dims = #graph.dims<n, 8>}>
      sched.yield %v : f32
    }
    %c0_1 = arith.constant 0 : index
    memref.store %s, %y[%i, %c0_1] : memref<?x8xf32, {dims = #graph.dims<n, 8>}>
  }
}

// CHECK-LABEL: sched.program @f
sched.program @f(%x: memref<?x8xf32, {dims = #graph.dims<n, 8>}>) : (tensor<?x8xf32, #graph.dims<n, 8>>) -> tensor<?x8xf32, #graph.dims<n, 8>> {
  %y = sched.buffer global result : memref<?x8xf32, {dims = #graph.dims<n, 8>}>
  // CHECK: %n = sched.dim @n
  %n = sched.dim @n
  // CHECK: sched.launch @scale(%n, %x, %y) after() : index, memref<?x8xf32, {dims = #graph.dims<n, 8>}>, memref<?x8xf32, {dims = #graph.dims<n, 8>}>
  %t = sched.launch @scale(%n, %x, %y) after() : index, memref<?x8xf32, {dims = #graph.dims<n, 8>}>, memref<?x8xf32, {dims = #graph.dims<n, 8>}>
  sched.return %y after(%t) : memref<?x8xf32, {dims = #graph.dims<n, 8>}>
}

// CHECK-LABEL: low.kernel @low(%n: index, %x: memref<?xf32, {dims = #graph.dims<8 * n>}>) dims [n] grid [(n + 3) floordiv 4, 1, 1] block [1, 1, 1] {
low.kernel @low(%n: index, %x: memref<?xf32, {dims = #graph.dims<8 * n>}>) dims [n] grid [(n + 3) floordiv 4, 1, 1] block [1, 1, 1] {
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<?xf32, {dims = #graph.dims<8 * n>}>
  memref.store %v, %x[%n] : memref<?xf32, {dims = #graph.dims<8 * n>}>
}

// -----

// expected-error @+1 {{sched.kernel: @f has a dim twice (n, n)}}
sched.kernel @f(%n: index, %m: index) dims [n, n] {
}

// -----

// expected-error @+1 {{sched.kernel: argument 0 of @f is memref<4xf32>, expected an index, the value of dim n}}
sched.kernel @f(%x: memref<4xf32>) dims [n] {
}

// -----

// expected-error @+1 {{sched.kernel: argument 0 of @f is memref<?xf32, {dims = #graph.dims<m>}>, but m is not among its dims []}}
sched.kernel @f(%x: memref<?xf32, {dims = #graph.dims<m>}>) {
}

// -----

// expected-error @+1 {{low.kernel: argument 1 of @f is missing, expected an index, the value of dim m}}
low.kernel @f(%n: index) dims [n, m] grid [1, 1, 1] block [1, 1, 1] {
}

// -----

// expected-error @+1 {{low.kernel: block [n, 1, 1] has an extent below 1}}
low.kernel @f(%n: index) dims [n] grid [1, 1, 1] block [n, 1, 1] {
}

// -----

// expected-error @+1 {{argument 1 of @f: the dims of memref<4xf32, {dims = #graph.dims<n>}> do not fit its shape}}
sched.kernel @f(%n: index, %x: memref<4xf32, {dims = #graph.dims<n>}>) dims [n] {
}

// -----

sched.kernel @f(%n: index, %x: memref<?xf32, {dims = #graph.dims<n>}>) dims [n] {
}
sched.program @p(%x: memref<?xf32, {dims = #graph.dims<n>}>) : (tensor<?xf32, #graph.dims<n>>) -> () {
  // expected-error @+1 {{sched.dim: there is no dim @n (hint: graph.dim @n min 1 max 64)}}
  %n = sched.dim @n
  sched.return after()
}

// -----

// Where dims have names a buffer is dense.
// expected-error @+1 {{argument 1 of @f: memref<?xf32, strided<[2]>, {dims = #graph.dims<n>}> has a layout, expected a dense buffer where dims have names}}
sched.kernel @f(%n: index, %x: memref<?xf32, strided<[2]>, {dims = #graph.dims<n>}>) dims [n] {
}

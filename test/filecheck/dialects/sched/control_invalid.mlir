// RUN: tenon-opt %s --split-input-file --verify-diagnostics

sched.program @f() : () -> () {
  // expected-error @+1 {{sched.for: -1 iterations (expected 0 or more)}}
  %t = sched.for %i = -1 after() {
  }
  sched.return after()
}

// -----

sched.program @f(%n: memref<i32>) : (tensor<i32>) -> () {
  // expected-error @+1 {{sched.for: the counter is memref<i32>, expected memref<i64>}}
  %t = "sched.for"(%n) <{length = 3 : i64, operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%i: index):
  }) : (memref<i32>) -> !sched.token
  sched.return after()
}

// -----

sched.program @f() : () -> () {
  // expected-error @+1 {{sched.for: the region takes (), expected (index)}}
  %t = "sched.for"() <{length = 3 : i64, operandSegmentSizes = array<i32: 0, 0>}> ({
    %s = sched.sync after()
  }) : () -> !sched.token
  sched.return after()
}

// -----

sched.program @f(%c: memref<i32>) : (tensor<i32>) -> () {
  // expected-error @+1 {{sched.if: the condition is memref<i32>, expected memref<i8>}}
  %t = "sched.if"(%c) ({
    %s = sched.sync after()
  }, {
    %s = sched.sync after()
  }) : (memref<i32>) -> !sched.token
  sched.return after()
}

// -----

sched.program @f(%c: memref<i8>) : (tensor<i1>) -> () {
  // expected-error @+1 {{sched.while: its region has sched.buffer; only items and sched.row may stand there}}
  %t = sched.while %c after() {
    %b = sched.buffer global temporary : memref<i8>
  } do {
  }
  sched.return after()
}

// -----

sched.program @f(%c: memref<i8>) : (tensor<i1>) -> () {
  %s = sched.sync after()
  // expected-error @+1 {{sched.sync: in a region of sched.if, waits for an item outside of it}}
  %t = sched.if %c after() {
    %u = sched.sync after(%s)
  } else {
  }
  sched.return after()
}

// -----

sched.program @f(%x: memref<f32>) : (tensor<f32>) -> () {
  %t = sched.for %i = 3 after() {
    // expected-error @+1 {{sched.row: memref<f32> has no axis to index}}
    %r = sched.row %x[%i] : memref<f32>
  }
  sched.return after()
}

// -----

sched.program @f(%x: memref<2xf32>) : (tensor<2xf32>) -> () {
  %t = sched.for %i = 3 after() {
    // expected-error @+1 {{sched.row: memref<2xf32> has 2 rows, the loop has 3 iterations}}
    %r = sched.row %x[%i] : memref<2xf32>
  }
  sched.return after()
}

// -----

sched.program @f(%x: memref<3x2xf32>) : (tensor<3x2xf32>) -> () {
  // expected-error @+1 {{sched.row: memref<3x2xf32> has 3 rows, found index 3}}
  %r = sched.row %x[3] : memref<3x2xf32>
  sched.return after()
}

// -----

sched.program @f(%x: memref<3x2xf32>) : (tensor<3x2xf32>) -> () {
  // expected-error @+1 {{sched.row: memref<3x2xf32> has 3 rows, found index -1}}
  %r = sched.row %x[-1] : memref<3x2xf32>
  sched.return after()
}

// -----

graph.dim @n min 2 max 9
sched.program @f(%x: memref<?x2xf32, {dims = #graph.dims<n, 2>}>) : (tensor<?x2xf32, #graph.dims<n, 2>>) -> () {
  %r = sched.row %x[1] : memref<?x2xf32, {dims = #graph.dims<n, 2>}>
  // expected-error @+1 {{has n rows, found index 2}}
  %s = sched.row %x[2] : memref<?x2xf32, {dims = #graph.dims<n, 2>}>
  sched.return after()
}

// -----

sched.program @f(%x: memref<3x2xf32>) : (tensor<3x2xf32>) -> () {
  // expected-error @+1 {{sched.row: the index is not that of the sched.for that it stands in}}
  %r = "sched.row"(%x) : (memref<3x2xf32>) -> memref<2xf32>
  sched.return after()
}

// -----

sched.program @f(%x: memref<3x2xf32>) : (tensor<3x2xf32>) -> () {
  %t = sched.for %i = 3 after() {
    // expected-error @+1 {{sched.row: it has two indices}}
    %r = "sched.row"(%x, %i) <{place = 1 : index}> : (memref<3x2xf32>, index) -> memref<2xf32>
  }
  sched.return after()
}

// -----

sched.program @f(%x: memref<3x3xf32>) : (tensor<3x3xf32>) -> () {
  %t = sched.for %i = 3 after() {
    %u = sched.for %j = 3 after() {
      // expected-error @+1 {{sched.row: the index is not that of the sched.for that it stands in}}
      %r = sched.row %x[%i] : memref<3x3xf32>
    }
  }
  sched.return after()
}

// -----

sched.program @f(%x: memref<3x3xf32>) : (tensor<3x3xf32>) -> () {
  %t = sched.for %i = 3 after() {
    // expected-error @+1 {{sched.row: a row of memref<3x3xf32> is memref<3xf32>, found memref<2xf32>}}
    %r = "sched.row"(%x, %i) : (memref<3x3xf32>, index) -> memref<2xf32>
  }
  sched.return after()
}

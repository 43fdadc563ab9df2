// RUN: tenon-opt -p rearrange-on-host --split-input-file %s | filecheck %s
// RUN: tenon-opt -p rearrange-on-host,sched-pipeline,low-pipeline --split-input-file %s | filecheck %s --check-prefix=LOW

// A copy that permutes parts of an axis, axes of one element, and a sum of one element. What launches wait for
// stays. A kernel that computes something stays too.
// CHECK-LABEL: sched.kernel @twice
// CHECK-NOT:   sched.kernel
// CHECK:       sched.program @f
// CHECK:         %t0 = sched.rearrange [2, 6, 2] strides = [12, 1, 6] offset = 0(%w) to(%p) after() {note} : (tensor<4x6xf32>) -> tensor<2x6x2xf32>
// CHECK-NEXT:    %t1 = sched.rearrange [2, 6, 2] strides = [12, 1, 6] offset = 0(%v) to(%q) after(%t0) : (tensor<4x6xf32>) -> tensor<2x6x2xf32>
// CHECK-NEXT:    %t2 = sched.launch @twice(%q, %r) after(%t1)
// CHECK-NEXT:    %t3 = sched.rearrange [6, 4] strides = [1, 6] offset = 0 summed(%w) to(%s) after(%t0) : (tensor<4x6xf32>) -> tensor<6x4xf32>
// LOW-LABEL:   sched.program @f
sched.kernel @panels(%w: memref<4x6xf32>, %p: memref<2x6x2xf32>) {
  %two = arith.constant 2 : index
  sched.axis %i = 2 {
    sched.axis %j = 6 {
      sched.axis %k = 2 {
        %m = arith.muli %i, %two : index
        %n = arith.addi %m, %k : index
        %v = memref.load %w[%n, %j] : memref<4x6xf32>
        memref.store %v, %p[%i, %j, %k] : memref<2x6x2xf32>
      }
    }
  }
}
sched.kernel @twice(%w: memref<2x6x2xf32>, %p: memref<24xf32>) {
  %c6 = arith.constant 6 : index
  %c2 = arith.constant 2 : index
  %c12 = arith.constant 12 : index
  sched.axis %i = 24 {
    %a = arith.divui %i, %c12 : index
    %b = arith.divui %i, %c2 : index
    %c = arith.remui %b, %c6 : index
    %d = arith.remui %i, %c2 : index
    %v = memref.load %w[%a, %c, %d] : memref<2x6x2xf32>
    %t = arith.addf %v, %v : f32
    memref.store %t, %p[%i] : memref<24xf32>
  }
}
sched.kernel @summed(%w: memref<4x6xf32>, %p: memref<6x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %first = arith.constant 0 : index
  sched.axis %o = 1 {
    sched.axis %j = 4 {
      sched.axis %i = 6 {
        %v = memref.load %w[%j, %i] : memref<4x6xf32>
        %t = arith.addf %v, %zero : f32
        memref.store %t, %p[%i, %j] : memref<6x4xf32>
      }
    }
  }
}
sched.program @f(%w: memref<4x6xf32>, %v: memref<4x6xf32>) : (tensor<4x6xf32>, tensor<4x6xf32>) -> (tensor<2x6x2xf32>, tensor<24xf32>, tensor<6x4xf32>) {
  %p = sched.buffer global result : memref<2x6x2xf32>
  %q = sched.buffer global temporary : memref<2x6x2xf32>
  %r = sched.buffer global result : memref<24xf32>
  %s = sched.buffer global result : memref<6x4xf32>
  %t0 = sched.launch @panels(%w, %p) after() {note} : memref<4x6xf32>, memref<2x6x2xf32>
  %t1 = sched.launch @panels(%v, %q) after(%t0) : memref<4x6xf32>, memref<2x6x2xf32>
  %t2 = sched.launch @twice(%q, %r) after(%t1) : memref<2x6x2xf32>, memref<24xf32>
  %t3 = sched.launch @summed(%w, %s) after(%t0) : memref<4x6xf32>, memref<6x4xf32>
  sched.return %p, %r, %s after(%t1, %t2, %t3) : memref<2x6x2xf32>, memref<24xf32>, memref<6x4xf32>
}

// -----

// The order of the loops does not matter, and elements may be read backwards, twice, or not at all.
// CHECK:       sched.rearrange [8, 8] strides = [0, -8] offset = 59(%x) to(%y)
// LOW: sched.rearrange
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  %c7 = arith.constant 7 : index
  %three = arith.constant 3 : index
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %r = arith.subi %c7, %i : index
      %v = memref.load %x[%r, %three] : memref<8x8xf32>
      memref.store %v, %y[%j, %i] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Windows.
// CHECK:       sched.rearrange [3, 6] strides = [1, 1] offset = 0(%x) to(%y)
// LOW: sched.rearrange
sched.kernel @k(%x: memref<8xf32>, %y: memref<3x6xf32>) {
  sched.axis %i = 3 {
    sched.axis %j = 6 {
      %s = arith.addi %i, %j : index
      %v = memref.load %x[%s] : memref<8xf32>
      memref.store %v, %y[%i, %j] : memref<3x6xf32>
    }
  }
}
sched.program @p(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<3x6xf32> {
  %y = sched.buffer global result : memref<3x6xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8xf32>, memref<3x6xf32>
  sched.return %y after(%t) : memref<3x6xf32>
}

// -----

// Not the sum that begins with -0, nor one with another number, which is arithmetic.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  %z = arith.constant -0.0 : f32
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %v = memref.load %x[%j, %i] : memref<8x8xf32>
      %u = arith.addf %v, %z : f32
      memref.store %u, %y[%i, %j] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Not what is computed.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %v = memref.load %x[%j, %i] : memref<8x8xf32>
      %u = arith.negf %v : f32
      memref.store %u, %y[%i, %j] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Not a place that is clamped.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %seven = arith.constant 7 : index
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %s = arith.addi %j, %one : index
      %m = arith.maxsi %s, %zero : index
      %a = arith.minsi %m, %seven : index
      %v = memref.load %x[%a, %i] : memref<8x8xf32>
      memref.store %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Not a remainder.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  %three = arith.constant 3 : index
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %a = arith.remui %j, %three : index
      %v = memref.load %x[%a, %i] : memref<8x8xf32>
      memref.store %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Not a part of the target.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  sched.axis %i = 7 {
    sched.axis %j = 8 {
      %v = memref.load %x[%j, %i] : memref<8x8xf32>
      memref.store %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Nor one that begins further on.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<9x8xf32>) {
  %one = arith.constant 1 : index
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %s = arith.addi %i, %one : index
      %v = memref.load %x[%j, %i] : memref<8x8xf32>
      memref.store %v, %y[%s, %j] : memref<9x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<9x8xf32> {
  %y = sched.buffer global result : memref<9x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<9x8xf32>
  sched.return %y after(%t) : memref<9x8xf32>
}

// -----

// Not what is stored twice.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %v = memref.load %x[%j, %i] : memref<8x8xf32>
      memref.store %v, %y[%i, %j] : memref<8x8xf32>
      memref.store %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Not two nests.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  sched.axis %i = 8 {
    sched.axis %j = 8 {
      %v = memref.load %x[%j, %i] : memref<8x8xf32>
      memref.store %v, %y[%i, %j] : memref<8x8xf32>
    }
  }
  sched.axis %k = 8 {
    sched.axis %l = 8 {
      %w = memref.load %x[%k, %l] : memref<8x8xf32>
      memref.store %w, %y[%k, %l] : memref<8x8xf32>
    }
  }
}
sched.program @p(%x: memref<8x8xf32>) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  %y = sched.buffer global result : memref<8x8xf32>
  %t = sched.launch @k(%x, %y) after() : memref<8x8xf32>, memref<8x8xf32>
  sched.return %y after(%t) : memref<8x8xf32>
}

// -----

// Not one element, where there is no axis.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<f32>, %y: memref<f32>) {
  %v = memref.load %x[] : memref<f32>
  memref.store %v, %y[] : memref<f32>
}
sched.program @p(%x: memref<f32>) : (tensor<f32>) -> tensor<f32> {
  %y = sched.buffer global result : memref<f32>
  %t = sched.launch @k(%x, %y) after() : memref<f32>, memref<f32>
  sched.return %y after(%t) : memref<f32>
}

// -----

// As many elements as the host copies at most.
// CHECK:       sched.rearrange [4096, 4096] strides = [1, 4096] offset = 0(%x) to(%y)
// LOW: sched.rearrange
sched.kernel @k(%x: memref<4096x4096xi8>, %y: memref<4096x4096xi8>) {
  sched.axis %i = 4096 {
    sched.axis %j = 4096 {
      %v = memref.load %x[%j, %i] : memref<4096x4096xi8>
      memref.store %v, %y[%i, %j] : memref<4096x4096xi8>
    }
  }
}
sched.program @p(%x: memref<4096x4096xi8>) : (tensor<4096x4096xi8>) -> tensor<4096x4096xi8> {
  %y = sched.buffer global result : memref<4096x4096xi8>
  %t = sched.launch @k(%x, %y) after() : memref<4096x4096xi8>, memref<4096x4096xi8>
  sched.return %y after(%t) : memref<4096x4096xi8>
}

// -----

// One row more.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<4096x4097xi8>, %y: memref<4097x4096xi8>) {
  sched.axis %i = 4097 {
    sched.axis %j = 4096 {
      %v = memref.load %x[%j, %i] : memref<4096x4097xi8>
      memref.store %v, %y[%i, %j] : memref<4097x4096xi8>
    }
  }
}
sched.program @p(%x: memref<4096x4097xi8>) : (tensor<4096x4097xi8>) -> tensor<4097x4096xi8> {
  %y = sched.buffer global result : memref<4097x4096xi8>
  %t = sched.launch @k(%x, %y) after() : memref<4096x4097xi8>, memref<4097x4096xi8>
  sched.return %y after(%t) : memref<4097x4096xi8>
}

// -----

// All launches count.
// CHECK:       sched.launch @k
// CHECK-NEXT:  sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
sched.kernel @k(%x: memref<4096x4096xi8>, %y: memref<4096x4096xi8>) {
  sched.axis %i = 4096 {
    sched.axis %j = 4096 {
      %v = memref.load %x[%j, %i] : memref<4096x4096xi8>
      memref.store %v, %y[%i, %j] : memref<4096x4096xi8>
    }
  }
}
sched.program @p(%x: memref<4096x4096xi8>) : (tensor<4096x4096xi8>) -> tensor<4096x4096xi8> {
  %z = sched.buffer global temporary : memref<4096x4096xi8>
  %y = sched.buffer global result : memref<4096x4096xi8>
  %t = sched.launch @k(%x, %z) after() : memref<4096x4096xi8>, memref<4096x4096xi8>
  %u = sched.launch @k(%z, %y) after(%t) : memref<4096x4096xi8>, memref<4096x4096xi8>
  sched.return %y after(%u) : memref<4096x4096xi8>
}

// -----

// Not what has named dims.
// CHECK:       sched.launch @k
// CHECK-NOT:   sched.rearrange
// CHECK:       sched.return
graph.dim @n min 1 max 9
sched.kernel @k(%n: index, %x: memref<4x?xf32, {dims = #graph.dims<4, n>}>, %y: memref<?x4xf32, {dims = #graph.dims<n, 4>}>) dims [n] {
  sched.axis %i = n {
    sched.axis %j = 4 {
      %v = memref.load %x[%j, %i] : memref<4x?xf32, {dims = #graph.dims<4, n>}>
      memref.store %v, %y[%i, %j] : memref<?x4xf32, {dims = #graph.dims<n, 4>}>
    }
  }
}
sched.program @p(%x: memref<4x?xf32, {dims = #graph.dims<4, n>}>) : (tensor<4x?xf32, #graph.dims<4, n>>) -> tensor<?x4xf32, #graph.dims<n, 4>> {
  %y = sched.buffer global result : memref<?x4xf32, {dims = #graph.dims<n, 4>}>
  %n = sched.dim @n
  %t = sched.launch @k(%n, %x, %y) after() : index, memref<4x?xf32, {dims = #graph.dims<4, n>}>, memref<?x4xf32, {dims = #graph.dims<n, 4>}>
  sched.return %y after(%t) : memref<?x4xf32, {dims = #graph.dims<n, 4>}>
}

// RUN: tenon-opt -p deduplicate-kernels %s | filecheck %s

// Names of kernels and values do not matter; the first kernel stays, and launches in regions follow too.
// CHECK:      sched.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>)
// CHECK-NOT:  @twice
// CHECK:      sched.kernel @swapped
// CHECK:      sched.kernel @other_sum
// CHECK:      sched.kernel @other_constant
// CHECK:      sched.kernel @other_shape
// CHECK:      sched.program @f
// CHECK:      sched.launch @double(%x, %t)
// CHECK-NEXT: sched.for %i = 3
// CHECK:      sched.launch @double(%t, %u)
// CHECK:      sched.launch @swapped(%t, %u)
sched.kernel @double(%x: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %v, %zero : f32
    %d = arith.addf %s, %v : f32
    memref.store %d, %y[%i] : memref<8xf32>
  }
}
sched.kernel @twice(%a: memref<8xf32>, %b: memref<8xf32>) {
  sched.axis %k = 8 {
    %e = memref.load %a[%k] : memref<8xf32>
    %0 = arith.constant 0.0 : f32
    %s = arith.addf %e, %0 : f32
    %1 = arith.addf %s, %e : f32
    memref.store %1, %b[%k] : memref<8xf32>
  }
}

// Not where the arguments change places, an attribute differs, a constant has another sign, or a type differs.
sched.kernel @swapped(%y: memref<8xf32>, %x: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %v, %zero : f32
    %d = arith.addf %s, %v : f32
    memref.store %d, %y[%i] : memref<8xf32>
  }
}
sched.kernel @other_sum(%x: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %v, %zero : f32
    %d = arith.addf %s, %v fastmath<reassoc> : f32
    memref.store %d, %y[%i] : memref<8xf32>
  }
}
sched.kernel @other_constant(%x: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %zero = arith.constant -0.0 : f32
    %s = arith.addf %v, %zero : f32
    %d = arith.addf %s, %v : f32
    memref.store %d, %y[%i] : memref<8xf32>
  }
}
sched.kernel @other_shape(%x: memref<8xf32>, %y: memref<8xf32, strided<[1], offset: 0>>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    %s = arith.addf %v, %zero : f32
    %d = arith.addf %s, %v : f32
    memref.store %d, %y[%i] : memref<8xf32, strided<[1], offset: 0>>
  }
}

sched.program @f(%x: memref<8xf32>) : (tensor<8xf32>) -> tensor<8xf32> {
  %t = sched.buffer global temporary : memref<8xf32>
  %u = sched.buffer global result : memref<8xf32>
  %0 = sched.launch @double(%x, %t) after() : memref<8xf32>, memref<8xf32>
  %1 = sched.for %i = 3 after() {
    %2 = sched.launch @twice(%t, %u) after() : memref<8xf32>, memref<8xf32>
    %3 = sched.launch @swapped(%t, %u) after() : memref<8xf32>, memref<8xf32>
  }
  sched.return %u after() : memref<8xf32>
}

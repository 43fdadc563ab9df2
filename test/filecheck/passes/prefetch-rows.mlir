// RUN: tenon-opt -p prefetch-rows %s | filecheck %s
// RUN: tenon-opt -p 'prefetch-rows{l2-nbytes=16384}' %s | filecheck %s --check-prefix SMALL
// RUN: not tenon-opt -p 'prefetch-rows{l2-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: prefetch-rows: l2-nbytes 0 must be 1 or more

// The last loop over a row names the next row, and the kernel says so; what is read once, or is the same for
// all rows, is left alone.
// CHECK-LABEL: sched.kernel @rows
// CHECK-SAME:    {schedule = "because; j: fetches what later i need"}
// CHECK:           memref.load %x[%i, %j] : memref<4096x1024xf32>
// CHECK:           memref.load %x[%i, %j_1] {tenon.prefetch = 1024 : index} : memref<4096x1024xf32>
// CHECK:           memref.load %z[%i, %j_1] : memref<4096x1024xf32>
// CHECK:           memref.load %g[%j_1] : memref<1024xf32>
// CHECK-NOT:     tenon.prefetch
// CHECK-LABEL: sched.kernel @short_rows
// SMALL-LABEL: sched.kernel @rows
// SMALL:         memref.load %x[%i, %j_1] {tenon.prefetch = 1024 : index}
sched.kernel @rows(%x: memref<4096x1024xf32>, %z: memref<4096x1024xf32>, %g: memref<1024xf32>, %y: memref<4096x1024xf32>) attributes {schedule = "because"} {
  sched.axis %i = 4096 block(16) {
    %s = sched.reduce addf %j = 1024 vector(8) unroll(4) : f32 {
      %v = memref.load %x[%i, %j] : memref<4096x1024xf32>
      %h = memref.load %g[%j] : memref<1024xf32>
      %p = arith.mulf %v, %h : f32
      sched.yield %p : f32
    }
    sched.axis %j_1 = 1024 vector(8) {
      %v_1 = memref.load %x[%i, %j_1] : memref<4096x1024xf32>
      %w = memref.load %z[%i, %j_1] : memref<4096x1024xf32>
      %h_1 = memref.load %g[%j_1] : memref<1024xf32>
      %a = arith.mulf %v_1, %s : f32
      %b = arith.addf %a, %w : f32
      %c = arith.mulf %b, %h_1 : f32
      memref.store %c, %y[%i, %j_1] : memref<4096x1024xf32>
    }
  }
}

// Rows of 256 bytes: 16 of them ahead.
// CHECK:         memref.load %x[%i, %j_1] {tenon.prefetch = 1024 : index}
sched.kernel @short_rows(%x: memref<65536x64xf32>, %y: memref<65536x64xf32>) {
  sched.axis %i = 65536 block(256) {
    %s = sched.reduce addf %j = 64 vector(8) : f32 {
      %v = memref.load %x[%i, %j] : memref<65536x64xf32>
      sched.yield %v : f32
    }
    sched.axis %j_1 = 64 vector(8) {
      %v_1 = memref.load %x[%i, %j_1] : memref<65536x64xf32>
      %a = arith.subf %v_1, %s : f32
      memref.store %a, %y[%i, %j_1] : memref<65536x64xf32>
    }
  }
}

// The caches hold all rows, or not even a few; the loops do not run as vectors; other elements are read.
// CHECK-LABEL: sched.kernel @few_rows
// CHECK-NOT:     tenon.prefetch
// SMALL-LABEL: sched.kernel @few_rows
// SMALL-NOT:     tenon.prefetch
sched.kernel @few_rows(%x: memref<2x100000xf32>, %y: memref<2x100000xf32>) {
  sched.axis %i = 2 block {
    %s = sched.reduce addf %j = 100000 vector(8) : f32 {
      %v = memref.load %x[%i, %j] : memref<2x100000xf32>
      sched.yield %v : f32
    }
    sched.axis %j_1 = 100000 vector(8) {
      %v_1 = memref.load %x[%i, %j_1] : memref<2x100000xf32>
      %a = arith.subf %v_1, %s : f32
      memref.store %a, %y[%i, %j_1] : memref<2x100000xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @serial
sched.kernel @serial(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  sched.axis %i = 4096 block {
    %s = sched.reduce addf %j = 1024 : f32 {
      %v = memref.load %x[%i, %j] : memref<4096x1024xf32>
      sched.yield %v : f32
    }
    sched.axis %j_1 = 1024 {
      %v_1 = memref.load %x[%i, %j_1] : memref<4096x1024xf32>
      %a = arith.subf %v_1, %s : f32
      memref.store %a, %y[%i, %j_1] : memref<4096x1024xf32>
    }
  }
}

// CHECK-LABEL: sched.kernel @other_row
sched.kernel @other_row(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  %c1 = arith.constant 1 : index
  sched.axis %i = 4095 block {
    %n = arith.addi %i, %c1 : index
    %s = sched.reduce addf %j = 1024 vector(8) : f32 {
      %v = memref.load %x[%i, %j] : memref<4096x1024xf32>
      sched.yield %v : f32
    }
    sched.axis %j_1 = 1024 vector(8) {
      %v_1 = memref.load %x[%n, %j_1] : memref<4096x1024xf32>
      %a = arith.subf %v_1, %s : f32
      memref.store %a, %y[%i, %j_1] : memref<4096x1024xf32>
    }
  }
}

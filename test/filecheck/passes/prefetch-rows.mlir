// RUN: tenon-opt -p prefetch-rows %s | filecheck %s
// RUN: tenon-opt -p 'prefetch-rows{l2-nbytes=16384}' %s | filecheck %s --check-prefix SMALL
// RUN: not tenon-opt -p 'prefetch-rows{l2-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// RUN: tenon-opt -p 'prefetch-rows{l1-nbytes=32768}' %s | filecheck %s --check-prefix SECOND
// NONE: error: prefetch-rows: l1-nbytes 49152, l2-nbytes 0 and l3-nbytes 33554432 must be 1 or more

// Where the first cache is small, it keeps the row that several loops read; a row that one loop reads goes there.
// SECOND-LABEL: sched.kernel @rows
// SECOND:         memref.load %x[%i, %j_1] {tenon.prefetch = 1024 : index, tenon.prefetch_level = 2 : index}
// SECOND:         memref.load %z[%i, %j_1] {tenon.prefetch = 1024 : index} : memref<4096x1024xf32>

// The last loop over a row names the next row, and the kernel says so. What is small is left alone.
// CHECK-LABEL: sched.kernel @rows
// CHECK-SAME:    {schedule = "because; j: fetches what is read later"}
// CHECK:           memref.load %x[%i, %j] : memref<4096x1024xf32>
// CHECK:           memref.load %x[%i, %j_1] {tenon.prefetch = 1024 : index} : memref<4096x1024xf32>
// CHECK:           memref.load %z[%i, %j_1] {tenon.prefetch = 1024 : index} : memref<4096x1024xf32>
// CHECK:           memref.load %g[%j_1] : memref<1024xf32>
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

// Flat, and rows too long for the caches: some way ahead, wherever they are read.
// CHECK-LABEL: sched.kernel @flat
// CHECK:         memref.load %x[%i] {tenon.prefetch = 1024 : index}
sched.kernel @flat(%x: memref<4194304xf32>, %y: memref<4194304xf32>) {
  sched.axis %i = 4194304 block(16384) vector(8) {
    %v = memref.load %x[%i] : memref<4194304xf32>
    memref.store %v, %y[%i] : memref<4194304xf32>
  }
}

// CHECK-LABEL: sched.kernel @few_rows
// CHECK:         memref.load %x[%i, %j] {tenon.prefetch = 512 : index}
// CHECK:         memref.load %x[%i, %j_1] {tenon.prefetch = 512 : index}
sched.kernel @few_rows(%x: memref<2x131073xf64>, %y: memref<2x131073xf64>) {
  sched.axis %i = 2 block {
    %s = sched.reduce addf %j = 131073 vector(8) : f64 {
      %v = memref.load %x[%i, %j] : memref<2x131073xf64>
      sched.yield %v : f64
    }
    sched.axis %j_1 = 131073 vector(8) {
      %v_1 = memref.load %x[%i, %j_1] : memref<2x131073xf64>
      %a = arith.subf %v_1, %s : f64
      memref.store %a, %y[%i, %j_1] : memref<2x131073xf64>
    }
  }
}

// A row of 1 MiB, as large as the second cache.
// CHECK-LABEL: sched.kernel @rows_at_the_edge
// CHECK:         memref.load %x[%i, %j] : memref
// CHECK:         memref.load %x[%i, %j_1] {tenon.prefetch = 131072 : index}
sched.kernel @rows_at_the_edge(%x: memref<2x131072xf64>, %y: memref<2x131072xf64>) {
  sched.axis %i = 2 block {
    %s = sched.reduce addf %j = 131072 vector(8) : f64 {
      %v = memref.load %x[%i, %j] : memref<2x131072xf64>
      sched.yield %v : f64
    }
    sched.axis %j_1 = 131072 vector(8) {
      %v_1 = memref.load %x[%i, %j_1] : memref<2x131072xf64>
      %a = arith.subf %v_1, %s : f64
      memref.store %a, %y[%i, %j_1] : memref<2x131072xf64>
    }
  }
}

// The caches hold all rows.
// CHECK-LABEL: sched.kernel @small
// CHECK-NOT:     tenon.prefetch
// CHECK-LABEL: sched.kernel @serial
// SMALL-LABEL: sched.kernel @small
// SMALL:         memref.load %x[%i, %j_1] {tenon.prefetch = 1024 : index}
sched.kernel @small(%x: memref<256x1024xf32>, %y: memref<256x1024xf32>) {
  sched.axis %i = 256 block {
    %s = sched.reduce addf %j = 1024 vector(8) : f32 {
      %v = memref.load %x[%i, %j] : memref<256x1024xf32>
      sched.yield %v : f32
    }
    sched.axis %j_1 = 1024 vector(8) {
      %v_1 = memref.load %x[%i, %j_1] : memref<256x1024xf32>
      %a = arith.subf %v_1, %s : f32
      memref.store %a, %y[%i, %j_1] : memref<256x1024xf32>
    }
  }
}

// Not what does not run as vectors.
// CHECK-NOT:     tenon.prefetch
// CHECK-LABEL: sched.kernel @window
sched.kernel @serial(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  sched.axis %i = 4096 block {
    sched.axis %j = 1024 {
      %v = memref.load %x[%i, %j] : memref<4096x1024xf32>
      memref.store %v, %y[%i, %j] : memref<4096x1024xf32>
    }
  }
}

// Nor what is read several times in one loop, or not along it, or in rows that are read together.
// CHECK-NOT:     tenon.prefetch
sched.kernel @window(%x: memref<4096x1024xf32>, %y: memref<4096x1023xf32>) {
  %c1 = arith.constant 1 : index
  sched.axis %i = 4096 block {
    sched.axis %j = 1023 vector(8) {
      %v = memref.load %x[%i, %j] : memref<4096x1024xf32>
      %n = arith.addi %j, %c1 : index
      %w = memref.load %x[%i, %n] : memref<4096x1024xf32>
      %a = arith.addf %v, %w : f32
      memref.store %a, %y[%i, %j] : memref<4096x1023xf32>
    }
  }
}

sched.kernel @same(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  %c0 = arith.constant 0 : index
  sched.axis %i = 4096 block {
    sched.axis %j = 1024 vector(8) {
      %v = memref.load %x[%i, %c0] : memref<4096x1024xf32>
      memref.store %v, %y[%i, %j] : memref<4096x1024xf32>
    }
  }
}

sched.kernel @together(%x: memref<4096x1024xf32>, %y: memref<4096x1024xf32>) {
  sched.axis %i = 4096 block(16) unroll(4) {
    sched.axis %j = 1024 vector(8) {
      %v = memref.load %x[%i, %j] : memref<4096x1024xf32>
      memref.store %v, %y[%i, %j] : memref<4096x1024xf32>
    }
  }
}

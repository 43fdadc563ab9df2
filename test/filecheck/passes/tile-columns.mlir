// RUN: tenon-opt -p tile-columns %s | filecheck %s
// RUN: tenon-opt -p 'tile-columns{vector-nbytes=64 l1-nbytes=16384 l2-nbytes=1024}' %s | filecheck %s --check-prefix SMALL
// RUN: not tenon-opt -p 'tile-columns{l1-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE
// NONE: error: tile-columns: vector-nbytes 32, l1-nbytes 0 and l2-nbytes 1048576 must be 1 or more

// A piece of every row, eight rows at once; the sums of the piece lie in a local buffer. What follows a sum is
// computed at the end.
// CHECK-LABEL: sched.kernel @fires
// CHECK-SAME:    attributes {schedule = "i: sums of 8192 columns at once, row by row"} {
// CHECK:         sched.axis %i_outer = 4 block {
// CHECK-NEXT:      %base = arith.muli %i_outer, %c8192 : index
// CHECK-NEXT:      %s_so_far = sched.alloc local : memref<8192xf32>
// CHECK-NEXT:      sched.axis %i_inner = 8192 vector(8) {
// CHECK-NEXT:        %i = arith.addi %base, %i_inner : index
// CHECK-NEXT:        memref.store %cst, %s_so_far[%i_inner] : memref<8192xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      scf.for %r_outer = %c0 to %c64 step %c1 {
// CHECK-NEXT:        sched.axis %i_inner_a = 8192 vector(8) unroll(8) {
// CHECK-NEXT:          %i_1 = arith.addi %base, %i_inner_a : index
// CHECK-NEXT:          %base_1 = arith.muli %r_outer, %c8 : index
// CHECK-NEXT:          %s = memref.load %s_so_far[%i_inner_a] : memref<8192xf32>
// CHECK-NEXT:          %s_1 = sched.reduce addf %r_inner = 8 init(%s) : f32 {
// CHECK-NEXT:            %r = arith.addi %base_1, %r_inner : index
// CHECK-NEXT:            %v = memref.load %x[%r, %i_1] : memref<512x32768xf32>
// CHECK-NEXT:            %q = arith.mulf %v, %v : f32
// CHECK-NEXT:            sched.yield %q : f32
// CHECK-NEXT:          }
// CHECK-NEXT:          memref.store %s_1, %s_so_far[%i_inner_a] : memref<8192xf32>
// CHECK-NEXT:        }
// CHECK-NEXT:      }
// CHECK-NEXT:      sched.axis %i_inner_a_a = 8192 vector(8) {
// CHECK-NEXT:        %i_2 = arith.addi %base, %i_inner_a_a : index
// CHECK-NEXT:        %s_2 = memref.load %s_so_far[%i_inner_a_a] : memref<8192xf32>
// CHECK-NEXT:        %n = arith.negf %s_2 : f32
// CHECK-NEXT:        memref.store %n, %y[%i_2] : memref<32768xf32>
// SMALL-LABEL: sched.kernel @fires
// SMALL:         sched.axis %i_outer = 8 block {
// SMALL:           sched.axis %i_inner_a = 4096 vector(16) unroll(8) {
sched.kernel @fires(%x: memref<512x32768xf32>, %y: memref<32768xf32>) {
  sched.axis %i = 32768 {
    %s = sched.reduce addf %r = 512 : f32 {
      %v = memref.load %x[%r, %i] : memref<512x32768xf32>
      %q = arith.mulf %v, %v : f32
      sched.yield %q : f32
    }
    %n = arith.negf %s : f32
    memref.store %n, %y[%i] : memref<32768xf32>
  }
}

// Not what the second cache holds, nor short rows, a few rows, rows that leave some over at the end, columns
// that no width divides, or a maximum.
// CHECK-LABEL: sched.kernel @small
// CHECK-NEXT:    sched.axis %i = 8192 {
sched.kernel @small(%x: memref<16x8192xf32>, %y: memref<8192xf32>) {
  sched.axis %i = 8192 {
    %s = sched.reduce addf %r = 16 : f32 {
      %v = memref.load %x[%r, %i] : memref<16x8192xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<8192xf32>
  }
}

// CHECK-LABEL: sched.kernel @short
// CHECK-NEXT:    sched.axis %i = 4096 {
sched.kernel @short(%x: memref<4096x4096xf32>, %y: memref<4096xf32>) {
  sched.axis %i = 4096 {
    %s = sched.reduce addf %r = 4096 : f32 {
      %v = memref.load %x[%r, %i] : memref<4096x4096xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<4096xf32>
  }
}

// CHECK-LABEL: sched.kernel @few
// CHECK-NEXT:    sched.axis %i = 32768 {
sched.kernel @few(%x: memref<56x32768xf32>, %y: memref<32768xf32>) {
  sched.axis %i = 32768 {
    %s = sched.reduce addf %r = 56 : f32 {
      %v = memref.load %x[%r, %i] : memref<56x32768xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<32768xf32>
  }
}

// CHECK-LABEL: sched.kernel @left_over
// CHECK-NEXT:    sched.axis %i = 32768 {
sched.kernel @left_over(%x: memref<511x32768xf32>, %y: memref<32768xf32>) {
  sched.axis %i = 32768 {
    %s = sched.reduce addf %r = 511 : f32 {
      %v = memref.load %x[%r, %i] : memref<511x32768xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<32768xf32>
  }
}

// CHECK-LABEL: sched.kernel @odd
// CHECK-NEXT:    sched.axis %i = 32771 {
sched.kernel @odd(%x: memref<512x32771xf32>, %y: memref<32771xf32>) {
  sched.axis %i = 32771 {
    %s = sched.reduce addf %r = 512 : f32 {
      %v = memref.load %x[%r, %i] : memref<512x32771xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<32771xf32>
  }
}

// CHECK-LABEL: sched.kernel @maximum
// CHECK-NEXT:    sched.axis %i = 32768 {
sched.kernel @maximum(%x: memref<512x32768xf32>, %y: memref<32768xf32>) {
  sched.axis %i = 32768 {
    %s = sched.reduce maximumf %r = 512 : f32 {
      %v = memref.load %x[%r, %i] : memref<512x32768xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<32768xf32>
  }
}

// Nor what is mapped already, or computes more before the sum.
// CHECK-LABEL: sched.kernel @mapped
// CHECK-NEXT:    sched.axis %i = 32768 block(512) vector(8) {
sched.kernel @mapped(%x: memref<512x32768xf32>, %y: memref<32768xf32>) {
  sched.axis %i = 32768 block(512) vector(8) {
    %s = sched.reduce addf %r = 512 : f32 {
      %v = memref.load %x[%r, %i] : memref<512x32768xf32>
      sched.yield %v : f32
    }
    memref.store %s, %y[%i] : memref<32768xf32>
  }
}

// CHECK-LABEL: sched.kernel @before
// CHECK-NEXT:    sched.axis %i = 32768 {
sched.kernel @before(%x: memref<512x32768xf32>, %z: memref<32768xf32>, %y: memref<32768xf32>) {
  sched.axis %i = 32768 {
    %c = memref.load %z[%i] : memref<32768xf32>
    %s = sched.reduce addf %r = 512 : f32 {
      %v = memref.load %x[%r, %i] : memref<512x32768xf32>
      %d = arith.subf %v, %c : f32
      sched.yield %d : f32
    }
    memref.store %s, %y[%i] : memref<32768xf32>
  }
}

// RUN: tenon-opt -p 'stage-images{l2-nbytes=1920}' %s | filecheck %s
// RUN: tenon-opt -p 'stage-images{l2-nbytes=3072}' %s | filecheck %s --check-prefix WHOLE
// RUN: tenon-opt -p 'stage-images{l2-nbytes=6144}' %s | filecheck %s --check-prefix SMALL
// RUN: not tenon-opt -p 'stage-images{staged-nbytes=0}' %s 2>&1 | filecheck %s --check-prefix NONE

// The padded image goes: three rows of a result at a time, of five rows of the image.
// CHECK-NOT:     sched.kernel @pad(
// CHECK-LABEL: sched.kernel @conv(%x: memref<2x6x6x4xf32>, %w: memref<3x4x8xf32>, %r: memref<2x6x6x8xf32>)
// CHECK-SAME:    {schedule = "3 rows of the image at a time in a local buffer"}
// CHECK:         sched.axis %n = 2 block {
// CHECK-NEXT:      sched.axis %y_outer = 2 block {
// CHECK:             %p_local = sched.alloc local : memref<1x5x6x4xf32>
// CHECK:             sched.axis %p_local_at_c = 4 vector(4) {
// CHECK:               memref.load %x
// CHECK:               low.select
// CHECK:               memref.store %{{.*}}, %p_local
// CHECK:             sched.axis %y_inner = 3 {
// CHECK:               sched.axis %j = 6 tile(6) {
// CHECK:                 memref.load %p_local[%c0, %{{.*}}, %j, %c]
// CHECK-NOT:     memref.load %p
// CHECK-LABEL: sched.program @f
// CHECK-NOT:     temporary
// CHECK:         sched.launch @conv(%x, %w, %r)
// CHECK-LABEL: sched.kernel @pad_of_two

// WHOLE-LABEL: sched.kernel @conv(
// WHOLE:         sched.axis %y_outer = 1 block {
// WHOLE:           sched.alloc local : memref<1x8x6x4xf32>

// What takes a quarter of the second cache stays as it is.
// SMALL-LABEL: sched.kernel @conv(
// SMALL-NOT:     sched.alloc

// NONE: error: stage-images: vector-nbytes 32, l2-nbytes 1048576 and staged-nbytes 0 must be 1 or more
sched.kernel @pad(%x: memref<2x6x6x4xf32>, %p: memref<2x8x6x4xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %n = 2 {
    sched.axis %y = 8 {
      %before = arith.addi %y, %cm1 : index
      %raised = arith.maxsi %before, %c0 : index
      %held = arith.minsi %raised, %c5 : index
      sched.axis %j = 6 {
        sched.axis %c = 4 {
          %after = arith.cmpi sge, %before, %c0 : index
          %below = arith.cmpi slt, %before, %c6 : index
          %inside = arith.andi %after, %below : i1
          %v = memref.load %x[%n, %held, %j, %c] : memref<2x6x6x4xf32>
          %e = low.select %inside, %v, %zero : f32
          memref.store %e, %p[%n, %y, %j, %c] : memref<2x8x6x4xf32>
        }
      }
    }
  }
}
sched.kernel @conv(%p: memref<2x8x6x4xf32>, %w: memref<3x4x8xf32>, %r: memref<2x6x6x8xf32>) {
  sched.axis %n = 2 block {
    sched.axis %y = 6 block {
      sched.axis %j = 6 tile(6) {
        sched.axis %o = 8 tile(8) vector(8) {
          %s = sched.reduce fma %i = 3 : f32 {
            %at = arith.addi %y, %i : index
            %t = sched.reduce fma %c = 4 : f32 {
              %a = memref.load %p[%n, %at, %j, %c] : memref<2x8x6x4xf32>
              %b = memref.load %w[%i, %c, %o] : memref<3x4x8xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %t : f32
          }
          memref.store %s, %r[%n, %y, %j, %o] : memref<2x6x6x8xf32>
        }
      }
    }
  }
}
sched.program @f(%x: memref<2x6x6x4xf32>, %w: memref<3x4x8xf32>) : (tensor<2x6x6x4xf32>, tensor<3x4x8xf32>) -> tensor<2x6x6x8xf32> {
  %p = sched.buffer global temporary : memref<2x8x6x4xf32>
  %r = sched.buffer global result : memref<2x6x6x8xf32>
  %t = sched.launch @pad(%x, %p) after() : memref<2x6x6x4xf32>, memref<2x8x6x4xf32>
  %u = sched.launch @conv(%p, %w, %r) after() : memref<2x8x6x4xf32>, memref<3x4x8xf32>, memref<2x6x6x8xf32>
  sched.return %r after() : memref<2x6x6x8xf32>
}

// Two convolutions of one padded image: each would pad it again.
// CHECK-LABEL: sched.kernel @conv_of_two
// CHECK-NOT:     sched.alloc
// CHECK-LABEL: sched.kernel @pad_of_changed
sched.kernel @pad_of_two(%x: memref<2x6x6x4xf32>, %p: memref<2x8x6x4xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %n = 2 {
    sched.axis %y = 8 {
      %before = arith.addi %y, %cm1 : index
      %raised = arith.maxsi %before, %c0 : index
      %held = arith.minsi %raised, %c5 : index
      sched.axis %j = 6 {
        sched.axis %c = 4 {
          %after = arith.cmpi sge, %before, %c0 : index
          %below = arith.cmpi slt, %before, %c6 : index
          %inside = arith.andi %after, %below : i1
          %v = memref.load %x[%n, %held, %j, %c] : memref<2x6x6x4xf32>
          %e = low.select %inside, %v, %zero : f32
          memref.store %e, %p[%n, %y, %j, %c] : memref<2x8x6x4xf32>
        }
      }
    }
  }
}
sched.kernel @conv_of_two(%p: memref<2x8x6x4xf32>, %w: memref<3x4x8xf32>, %r: memref<2x6x6x8xf32>) {
  sched.axis %n = 2 block {
    sched.axis %y = 6 block {
      sched.axis %j = 6 tile(6) {
        sched.axis %o = 8 tile(8) vector(8) {
          %s = sched.reduce fma %i = 3 : f32 {
            %at = arith.addi %y, %i : index
            %t = sched.reduce fma %c = 4 : f32 {
              %a = memref.load %p[%n, %at, %j, %c] : memref<2x8x6x4xf32>
              %b = memref.load %w[%i, %c, %o] : memref<3x4x8xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %t : f32
          }
          memref.store %s, %r[%n, %y, %j, %o] : memref<2x6x6x8xf32>
        }
      }
    }
  }
}
sched.program @two(%x: memref<2x6x6x4xf32>, %w: memref<3x4x8xf32>) : (tensor<2x6x6x4xf32>, tensor<3x4x8xf32>) -> (tensor<2x6x6x8xf32>, tensor<2x6x6x8xf32>) {
  %p = sched.buffer global temporary : memref<2x8x6x4xf32>
  %r = sched.buffer global result : memref<2x6x6x8xf32>
  %q = sched.buffer global result : memref<2x6x6x8xf32>
  %t = sched.launch @pad_of_two(%x, %p) after() : memref<2x6x6x4xf32>, memref<2x8x6x4xf32>
  %u = sched.launch @conv_of_two(%p, %w, %r) after() : memref<2x8x6x4xf32>, memref<3x4x8xf32>, memref<2x6x6x8xf32>
  %v = sched.launch @conv_of_two(%p, %w, %q) after() : memref<2x8x6x4xf32>, memref<3x4x8xf32>, memref<2x6x6x8xf32>
  sched.return %r, %q after() : memref<2x6x6x8xf32>, memref<2x6x6x8xf32>
}

// What is padded is overwritten before the convolution: it must not be read later.
// CHECK-LABEL: sched.kernel @conv_of_changed
// CHECK-NOT:     sched.alloc
// CHECK-LABEL: sched.program @changed
sched.kernel @pad_of_changed(%x: memref<2x6x6x4xf32>, %p: memref<2x8x6x4xf32>) {
  %c0 = arith.constant 0 : index
  %cm1 = arith.constant -1 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  sched.axis %n = 2 {
    sched.axis %y = 8 {
      %before = arith.addi %y, %cm1 : index
      %raised = arith.maxsi %before, %c0 : index
      %held = arith.minsi %raised, %c5 : index
      sched.axis %j = 6 {
        sched.axis %c = 4 {
          %after = arith.cmpi sge, %before, %c0 : index
          %below = arith.cmpi slt, %before, %c6 : index
          %inside = arith.andi %after, %below : i1
          %v = memref.load %x[%n, %held, %j, %c] : memref<2x6x6x4xf32>
          %e = low.select %inside, %v, %zero : f32
          memref.store %e, %p[%n, %y, %j, %c] : memref<2x8x6x4xf32>
        }
      }
    }
  }
}
sched.kernel @conv_of_changed(%p: memref<2x8x6x4xf32>, %w: memref<3x4x8xf32>, %r: memref<2x6x6x8xf32>) {
  sched.axis %n = 2 block {
    sched.axis %y = 6 block {
      sched.axis %j = 6 tile(6) {
        sched.axis %o = 8 tile(8) vector(8) {
          %s = sched.reduce fma %i = 3 : f32 {
            %at = arith.addi %y, %i : index
            %t = sched.reduce fma %c = 4 : f32 {
              %a = memref.load %p[%n, %at, %j, %c] : memref<2x8x6x4xf32>
              %b = memref.load %w[%i, %c, %o] : memref<3x4x8xf32>
              sched.yield %a, %b : f32
            }
            sched.yield %t : f32
          }
          memref.store %s, %r[%n, %y, %j, %o] : memref<2x6x6x8xf32>
        }
      }
    }
  }
}
sched.program @changed(%x: memref<2x6x6x4xf32>, %w: memref<3x4x8xf32>, %z: memref<2x6x6x4xf32>) : (tensor<2x6x6x4xf32>, tensor<3x4x8xf32>, tensor<2x6x6x4xf32>) -> tensor<2x6x6x8xf32>
    attributes {donated = #graph<ints [0]>} {
  %p = sched.buffer global temporary : memref<2x8x6x4xf32>
  %r = sched.buffer global result : memref<2x6x6x8xf32>
  %t = sched.launch @pad_of_changed(%x, %p) after() : memref<2x6x6x4xf32>, memref<2x8x6x4xf32>
  %u = sched.transfer %z to %x after() : memref<2x6x6x4xf32>
  %v = sched.launch @conv_of_changed(%p, %w, %r) after() : memref<2x8x6x4xf32>, memref<3x4x8xf32>, memref<2x6x6x8xf32>
  sched.return %r after() : memref<2x6x6x8xf32>
}

// RUN: tenon-opt -p skip-padding %s | filecheck %s
// RUN: tenon-opt -p skip-padding,convert-sched-to-low %s | filecheck %s --check-prefix LOW

// Of an image that is staged two rows at a time, those of the image itself count.
// CHECK-LABEL: sched.kernel @staged(
// CHECK:         sched.reduce fma %l = 3
// CHECK:           %[[part:.*]] = arith.muli %part, %c2 : index
// CHECK-NEXT:      %[[row:.*]] = arith.addi %{{.*}}, %[[part]] : index
// CHECK-NEXT:      arith.cmpi sge, %[[row]], %c1 : index
// CHECK-NEXT:      arith.cmpi slt, %[[row]], %c9 : index
// CHECK-NEXT:      arith.cmpi sge, %column, %c1 : index
// CHECK-NEXT:      arith.cmpi slt, %column, %c8 : index
// CHECK:           %pixel = low.select

// The border of the image is zeros: rows 0 and 8, columns 0 and 8.
// CHECK-LABEL: sched.kernel @conv(
// CHECK-SAME:    {schedule = "products with the border of the image are left out"}
// CHECK:           sched.reduce fma %l = 3
// CHECK-NEXT:        %column = arith.addi %x, %l : index
// CHECK-NEXT:        %0 = arith.cmpi sge, %row, %c1 : index
// CHECK-NEXT:        %1 = arith.cmpi slt, %row, %c8 : index
// CHECK-NEXT:        %2 = arith.cmpi sge, %column, %c1 : index
// CHECK-NEXT:        %3 = arith.cmpi slt, %column, %c8 : index
// CHECK-NEXT:        %inside = arith.andi %0, %1 : i1
// CHECK-NEXT:        %inside_1 = arith.andi %inside, %2 : i1
// CHECK-NEXT:        %inside_2 = arith.andi %inside_1, %3 : i1
// CHECK-NEXT:        %{{.*}} = sched.reduce fma %c = 512
// CHECK-NEXT:          %a = memref.load %p
// CHECK-NEXT:          %pixel = low.select %inside_2, %a, %{{.*}} : f32
// CHECK:               sched.yield %pixel, %b : f32

// One of two launches has an image with anything in its border.
// CHECK-LABEL: sched.kernel @of_both(
// CHECK-NOT:   low.select
// CHECK-LABEL: sched.program

// LOW-LABEL: low.kernel @staged(
// LOW:         depth [%{{.*}}, %c3, %c512] rows 1 [1 to 7, 0 to 7, 0 to 6] :
// LOW-LABEL: low.kernel @conv(
// LOW:         low.tile_fma 7 x 32 {{.*}} depth [%{{.*}}, %c3, %c512] rows 1 [1 to 7, 0 to 7, 0 to 6] :
// LOW:         scf.for %turn
// LOW:           low.tile_fma 1 x 128
// LOW-LABEL: low.kernel @of_both(
// LOW:         depth [%c3, %c1536] :

sched.kernel @staged(%x: memref<32x8x7x512xf32>, %w: memref<3x3x512x32xf32>, %r: memref<32x8x7x32xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  sched.axis %n = 32 block {
    sched.axis %part = 4 {
      %first = arith.muli %part, %c2 : index
      %p = sched.alloc local : memref<4x9x512xf32>
      sched.axis %y0 = 4 {
        %yf = arith.addi %first, %y0 : index
        %yx = arith.subi %yf, %c1 : index
        %y1 = arith.maxsi %yx, %c0 : index
        %y2 = arith.minsi %y1, %c7 : index
        sched.axis %x2 = 9 {
          %xx = arith.subi %x2, %c1 : index
          %x0 = arith.maxsi %xx, %c0 : index
          %x1 = arith.minsi %x0, %c6 : index
          %i0 = arith.cmpi sge, %yx, %c0 : index
          %i1 = arith.cmpi slt, %yx, %c8 : index
          %i2 = arith.cmpi sge, %xx, %c0 : index
          %i3 = arith.cmpi slt, %xx, %c7 : index
          %i4 = arith.andi %i0, %i1 : i1
          %i5 = arith.andi %i2, %i3 : i1
          %i6 = arith.andi %i4, %i5 : i1
          sched.axis %c = 512 {
            %v = memref.load %x[%n, %y2, %x1, %c] : memref<32x8x7x512xf32>
            %s = low.select %i6, %v, %zero : f32
            memref.store %s, %p[%y0, %x2, %c] : memref<4x9x512xf32>
          }
        }
      }
      sched.axis %y = 2 {
        %at = arith.addi %first, %y : index
        sched.axis %x3 = 7 tile(7) {
          sched.axis %o = 32 tile(32) vector(8) {
            %s = sched.reduce fma %k = 3 : f32 {
              %row = arith.addi %y, %k : index
              %t = sched.reduce fma %l = 3 : f32 {
                %column = arith.addi %x3, %l : index
                %u = sched.reduce fma %c = 512 : f32 {
                  %a = memref.load %p[%row, %column, %c] : memref<4x9x512xf32>
                  %b = memref.load %w[%k, %l, %c, %o] : memref<3x3x512x32xf32>
                  sched.yield %a, %b : f32
                }
                sched.yield %u : f32
              }
              sched.yield %t : f32
            }
            memref.store %s, %r[%n, %at, %x3, %o] : memref<32x8x7x32xf32>
          }
        }
      }
    }
  }
}

sched.kernel @pad(%x: memref<32x7x7x512xf32>, %p: memref<32x9x9x512xf32>) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %c7 = arith.constant 7 : index
  sched.axis %n = 32 {
    sched.axis %y = 9 {
      %yx = arith.subi %y, %c1 : index
      %y0 = arith.maxsi %yx, %c0 : index
      %y1 = arith.minsi %y0, %c6 : index
      sched.axis %x2 = 9 {
        %xx = arith.subi %x2, %c1 : index
        %x0 = arith.maxsi %xx, %c0 : index
        %x1 = arith.minsi %x0, %c6 : index
        %i0 = arith.cmpi sge, %yx, %c0 : index
        %i1 = arith.cmpi slt, %yx, %c7 : index
        %i2 = arith.cmpi sge, %xx, %c0 : index
        %i3 = arith.cmpi slt, %xx, %c7 : index
        %i4 = arith.andi %i0, %i1 : i1
        %i5 = arith.andi %i2, %i3 : i1
        %i6 = arith.andi %i4, %i5 : i1
        sched.axis %c = 512 {
          %v = memref.load %x[%n, %y1, %x1, %c] : memref<32x7x7x512xf32>
          %s = low.select %i6, %v, %zero : f32
          memref.store %s, %p[%n, %y, %x2, %c] : memref<32x9x9x512xf32>
        }
      }
    }
  }
}

sched.kernel @conv(%p: memref<32x9x9x512xf32>, %w: memref<3x3x512x32xf32>, %r: memref<32x7x7x32xf32>) {
  sched.axis %n = 32 block {
    sched.axis %y = 7 {
      sched.axis %x = 7 tile(7) {
        sched.axis %o = 32 tile(32) vector(8) {
          %s = sched.reduce fma %k = 3 : f32 {
            %row = arith.addi %y, %k : index
            %t = sched.reduce fma %l = 3 : f32 {
              %column = arith.addi %x, %l : index
              %u = sched.reduce fma %c = 512 : f32 {
                %a = memref.load %p[%n, %row, %column, %c] : memref<32x9x9x512xf32>
                %b = memref.load %w[%k, %l, %c, %o] : memref<3x3x512x32xf32>
                sched.yield %a, %b : f32
              }
              sched.yield %u : f32
            }
            sched.yield %t : f32
          }
          memref.store %s, %r[%n, %y, %x, %o] : memref<32x7x7x32xf32>
        }
      }
    }
  }
}

sched.kernel @of_both(%p: memref<32x9x9x512xf32>, %w: memref<3x3x512x32xf32>, %r: memref<32x7x7x32xf32>) {
  sched.axis %n = 32 block {
    sched.axis %y = 7 {
      sched.axis %x = 7 tile(7) {
        sched.axis %o = 32 tile(32) vector(8) {
          %s = sched.reduce fma %k = 3 : f32 {
            %row = arith.addi %y, %k : index
            %t = sched.reduce fma %l = 3 : f32 {
              %column = arith.addi %x, %l : index
              %u = sched.reduce fma %c = 512 : f32 {
                %a = memref.load %p[%n, %row, %column, %c] : memref<32x9x9x512xf32>
                %b = memref.load %w[%k, %l, %c, %o] : memref<3x3x512x32xf32>
                sched.yield %a, %b : f32
              }
              sched.yield %u : f32
            }
            sched.yield %t : f32
          }
          memref.store %s, %r[%n, %y, %x, %o] : memref<32x7x7x32xf32>
        }
      }
    }
  }
}

sched.program @main(%x: memref<32x7x7x512xf32>, %q: memref<32x9x9x512xf32>, %w: memref<3x3x512x32xf32>)
    : (tensor<32x7x7x512xf32>, tensor<32x9x9x512xf32>, tensor<3x3x512x32xf32>)
    -> (tensor<32x7x7x32xf32>, tensor<32x7x7x32xf32>, tensor<32x7x7x32xf32>) {
  %p = sched.buffer global temporary : memref<32x9x9x512xf32>
  %r0 = sched.buffer global result : memref<32x7x7x32xf32>
  %r1 = sched.buffer global result : memref<32x7x7x32xf32>
  %r2 = sched.buffer global result : memref<32x7x7x32xf32>
  %t = sched.launch @pad(%x, %p) after() : memref<32x7x7x512xf32>, memref<32x9x9x512xf32>
  %t0 = sched.launch @conv(%p, %w, %r0) after(%t) : memref<32x9x9x512xf32>, memref<3x3x512x32xf32>, memref<32x7x7x32xf32>
  %t1 = sched.launch @of_both(%p, %w, %r1) after(%t) : memref<32x9x9x512xf32>, memref<3x3x512x32xf32>, memref<32x7x7x32xf32>
  %t2 = sched.launch @of_both(%q, %w, %r2) after() : memref<32x9x9x512xf32>, memref<3x3x512x32xf32>, memref<32x7x7x32xf32>
  sched.return %r0, %r1, %r2 after(%t0, %t1, %t2) : memref<32x7x7x32xf32>, memref<32x7x7x32xf32>, memref<32x7x7x32xf32>
}

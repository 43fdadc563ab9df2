// RUN: tenon-opt -p fuse-producers %s | filecheck %s
// RUN: tenon-opt -p fuse-producers{local_nbytes=100} %s | filecheck %s --check-prefix=LARGE

// The blocks of %t stay in the kernel that reads them; 8 blocks are 4 by 2.
// CHECK-NOT:  @rows
// CHECK:      sched.kernel @product_fused(%x: memref<8x6x10xf32>, %y: memref<4x2x10x5xf32>, %z: memref<4x2x6x5xf32>)
// CHECK:        sched.axis %g = 4 {
// CHECK-NEXT:     sched.axis %h = 2 {
// CHECK-NEXT:       %t = sched.alloc local : memref<6x10xf32>
// CHECK-NEXT:       %0 = arith.muli %g, %c2 : index
// CHECK-NEXT:       %b = arith.addi %0, %h : index
// CHECK-NEXT:       sched.axis %r = 6 {
// CHECK-NEXT:         sched.axis %c = 10 {
// CHECK-NEXT:           %v = memref.load %x[%b, %r, %c] : memref<8x6x10xf32>
// CHECK:                memref.store %w, %t[%r, %c] : memref<6x10xf32>
// CHECK:            sched.axis %i = 6 {
// CHECK-NEXT:         sched.axis %j = 5 {
// CHECK-NEXT:           %s = sched.reduce fma %k = 10 : f32 {
// CHECK-NEXT:             %a = memref.load %t[%i, %k] : memref<6x10xf32>
// CHECK:      sched.program @f
// CHECK-NEXT:   %z = sched.buffer global result
// CHECK-NEXT:   sched.launch @product_fused(%x, %y, %z) after()
// CHECK-NEXT:   sched.return %z

// LARGE: sched.kernel @rows
// LARGE: sched.kernel @product
// LARGE: sched.launch @rows(%x, %t)
// LARGE: sched.launch @product(%t, %y, %z)
sched.kernel @rows(%x: memref<8x6x10xf32>, %t: memref<8x6x10xf32>) {
  sched.axis %b = 8 {
    sched.axis %r = 6 {
      sched.axis %c = 10 {
        %v = memref.load %x[%b, %r, %c] : memref<8x6x10xf32>
        %w = arith.addf %v, %v : f32
        memref.store %w, %t[%b, %r, %c] : memref<8x6x10xf32>
      }
    }
  }
}
sched.kernel @product(%t: memref<4x2x6x10xf32>, %y: memref<4x2x10x5xf32>, %z: memref<4x2x6x5xf32>) {
  sched.axis %g = 4 {
    sched.axis %h = 2 {
      sched.axis %i = 6 {
        sched.axis %j = 5 {
          %s = sched.reduce fma %k = 10 : f32 {
            %a = memref.load %t[%g, %h, %i, %k] : memref<4x2x6x10xf32>
            %b = memref.load %y[%g, %h, %k, %j] : memref<4x2x10x5xf32>
            sched.yield %a, %b : f32
          }
          memref.store %s, %z[%g, %h, %i, %j] : memref<4x2x6x5xf32>
        }
      }
    }
  }
}
sched.program @f(%x: memref<8x6x10xf32>, %y: memref<4x2x10x5xf32>) : (tensor<8x6x10xf32>, tensor<4x2x10x5xf32>) -> tensor<4x2x6x5xf32> {
  %t = sched.buffer global temporary : memref<8x6x10xf32>
  %z = sched.buffer global result : memref<4x2x6x5xf32>
  %0 = sched.launch @rows(%x, %t) after() : memref<8x6x10xf32>, memref<8x6x10xf32>
  %1 = sched.launch @product(%t, %y, %z) after() : memref<8x6x10xf32>, memref<4x2x10x5xf32>, memref<4x2x6x5xf32>
  sched.return %z after() : memref<4x2x6x5xf32>
}

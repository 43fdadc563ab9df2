// RUN: tenon-opt -p 'prefetch-buffer{kernel="copy" axis="i" buffer="x" distance=64}' %s | filecheck %s
// RUN: not tenon-opt -p 'prefetch-buffer{kernel="copy" axis="i" buffer="y" distance=64}' %s 2>&1 | filecheck %s --check-prefix STORED
// RUN: not tenon-opt -p 'prefetch-buffer{kernel="copy" axis="i" buffer="x" distance=0}' %s 2>&1 | filecheck %s --check-prefix ZERO

// STORED: error: prefetch-buffer: sched.axis %i of @copy: %y is not loaded right in it
// ZERO: error: prefetch-buffer: sched.axis %i of @copy: distance 0 names what is loaded

// Every load of the buffer right in the loop, and no other.
// CHECK-LABEL: sched.kernel @copy
// CHECK:           %v = memref.load %x[%i] {tenon.prefetch = 64 : index} : memref<8xf32>
// CHECK-NEXT:      %w = memref.load %z[%i] : memref<8xf32>
sched.kernel @copy(%x: memref<8xf32>, %z: memref<8xf32>, %y: memref<8xf32>) {
  sched.axis %i = 8 {
    %v = memref.load %x[%i] : memref<8xf32>
    %w = memref.load %z[%i] : memref<8xf32>
    %s = arith.addf %v, %w : f32
    memref.store %s, %y[%i] : memref<8xf32>
  }
}

// RUN: tenon-opt -p fuse-loops %s | filecheck %s

// The loop that fills the row becomes part of the sum over it; the last loop still reads the row.
// CHECK-LABEL: sched.kernel @fires
// CHECK:         %row = sched.alloc local : memref<100xf32>
// CHECK-NEXT:    %c = arith.addf
// CHECK-NEXT:    %s = sched.reduce addf %k = 100 : f32 {
// CHECK-NEXT:      %v = memref.load %x[%k] : memref<100xf32>
// CHECK-NEXT:      %e = math.exp %v : f32
// CHECK-NEXT:      memref.store %e, %row[%k] : memref<100xf32>
// CHECK-NEXT:      %p = arith.mulf %e, %c : f32
// CHECK-NEXT:      sched.yield %p : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.axis %l = 100 {
sched.kernel @fires(%x: memref<100xf32>, %y: memref<100xf32>, %z: memref<f32>) {
  %two = arith.constant 2.0 : f32
  %row = sched.alloc local : memref<100xf32>
  sched.axis %j = 100 {
    %v = memref.load %x[%j] : memref<100xf32>
    %e = math.exp %v : f32
    memref.store %e, %row[%j] : memref<100xf32>
  }
  %c = arith.addf %two, %two : f32
  %s = sched.reduce addf %k = 100 : f32 {
    %r = memref.load %row[%k] : memref<100xf32>
    %p = arith.mulf %r, %c : f32
    sched.yield %p : f32
  }
  sched.axis %l = 100 {
    %t = memref.load %row[%l] : memref<100xf32>
    %q = arith.divf %t, %s : f32
    memref.store %q, %y[%l] : memref<100xf32>
  }
}

// Not where the reduction reads another element than the one just stored.
// CHECK-LABEL: sched.kernel @other_index
// CHECK:         sched.axis %j = 100 {
// CHECK:         sched.reduce
sched.kernel @other_index(%x: memref<100xf32>, %z: memref<f32>) {
  %c99 = arith.constant 99 : index
  %row = sched.alloc local : memref<100xf32>
  sched.axis %j = 100 {
    %v = memref.load %x[%j] : memref<100xf32>
    memref.store %v, %row[%j] : memref<100xf32>
  }
  %s = sched.reduce addf %k = 100 : f32 {
    %m = arith.subi %c99, %k : index
    %r = memref.load %row[%m] : memref<100xf32>
    sched.yield %r : f32
  }
  memref.store %s, %z[] : memref<f32>
}

// Not where extents differ, where the first loop holds a loop, or where memory is touched between them.
// CHECK-LABEL: sched.kernel @different
// CHECK:         sched.axis %j = 100 {
// CHECK:         sched.reduce addf %k = 50
// CHECK:         sched.axis %i = 100 {
// CHECK-NEXT:      sched.reduce
// CHECK:         sched.reduce addf %n = 100
sched.kernel @different(%x: memref<100xf32>, %z: memref<f32>) {
  %row = sched.alloc local : memref<100xf32>
  sched.axis %j = 100 {
    %v = memref.load %x[%j] : memref<100xf32>
    memref.store %v, %row[%j] : memref<100xf32>
  }
  %s = sched.reduce addf %k = 50 : f32 {
    %r = memref.load %row[%k] : memref<100xf32>
    sched.yield %r : f32
  }
  sched.axis %i = 100 {
    %a = sched.reduce addf %m = 4 : f32 {
      sched.yield %s : f32
    }
    memref.store %a, %row[%i] : memref<100xf32>
  }
  %t = sched.reduce addf %n = 100 : f32 {
    %u = memref.load %row[%n] : memref<100xf32>
    sched.yield %u : f32
  }
  memref.store %t, %z[] : memref<f32>
}

// A loop without iterations fuses like any other.
// CHECK-LABEL: sched.kernel @empty
// CHECK-NOT:     sched.axis
// CHECK:         sched.reduce addf %k = 0
sched.kernel @empty(%z: memref<f32>) {
  %one = arith.constant 1.0 : f32
  %row = sched.alloc local : memref<0xf32>
  sched.axis %j = 0 {
    memref.store %one, %row[%j] : memref<0xf32>
  }
  %s = sched.reduce addf %k = 0 : f32 {
    %r = memref.load %row[%k] : memref<0xf32>
    sched.yield %r : f32
  }
  memref.store %s, %z[] : memref<f32>
}

// What the loop reads of the buffer itself is what was there before.
// CHECK-LABEL: sched.kernel @in_place
// CHECK:         %s = sched.reduce addf %k = 8 : f32 {
// CHECK-NEXT:      %a = memref.load %x[%k] : memref<8xf32>
// CHECK-NEXT:      %b = arith.addf %a, %a : f32
// CHECK-NEXT:      memref.store %b, %x[%k] : memref<8xf32>
// CHECK-NEXT:      sched.yield %b : f32
sched.kernel @in_place(%x: memref<8xf32>, %z: memref<f32>) {
  sched.axis %j = 8 {
    %a = memref.load %x[%j] : memref<8xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %x[%j] : memref<8xf32>
  }
  %s = sched.reduce addf %k = 8 : f32 {
    %r = memref.load %x[%k] : memref<8xf32>
    sched.yield %r : f32
  }
  memref.store %s, %z[] : memref<f32>
}

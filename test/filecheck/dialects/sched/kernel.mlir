// RUN: tenon-opt %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-op-generic %s | tenon-opt | filecheck %s
// RUN: tenon-opt --mlir-print-debuginfo %s | tenon-opt | filecheck %s

// Stages under a shared axis hand a local buffer and a scalar to one another.
// CHECK:       sched.kernel @stages(%x: memref<4x8xf32>, %y: memref<4xf32>) {
// CHECK-NEXT:    sched.axis %i = 4 block(2) {
// CHECK-NEXT:      %row = sched.alloc local : memref<8xf32>
// CHECK-NEXT:      sched.axis %j = 8 vector(8) {
// CHECK-NEXT:        %v = memref.load %x[%i, %j] : memref<4x8xf32>
// CHECK-NEXT:        memref.store %v, %row[%j] : memref<8xf32>
// CHECK-NEXT:      }
// CHECK-NEXT:      %s = sched.reduce addf %k = 8 vector(4) unroll(2) fastmath<contract> : f32 {
// CHECK-NEXT:        %u = memref.load %row[%k] : memref<8xf32>
// CHECK-NEXT:        sched.yield %u : f32
// CHECK-NEXT:      }
// CHECK-NEXT:      memref.store %s, %y[%i] : memref<4xf32>
// CHECK-NEXT:    }
// CHECK-NEXT:  }
sched.kernel @stages(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  sched.axis %i = 4 block(2) {
    %row = sched.alloc local : memref<8xf32>
    sched.axis %j = 8 vector(8) {
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      memref.store %v, %row[%j] : memref<8xf32>
    }
    %s = sched.reduce addf %k = 8 vector(4) unroll(2) fastmath<contract> : f32 {
      %u = memref.load %row[%k] : memref<8xf32>
      sched.yield %u : f32
    }
    memref.store %s, %y[%i] : memref<4xf32>
  }
}

// A chunk of 1 and the serial mapping go without saying; extents may be 0.
// CHECK:       sched.kernel @mappings() {
// CHECK-NEXT:    sched.axis %a = 0 {
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.axis %b = 64 block {
// CHECK-NEXT:      sched.axis %c = 64 thread(4) unroll(3) {
// CHECK-NEXT:        %t = sched.alloc shared : memref<16xi32>
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK-NEXT:    sched.axis %d = 5 thread vector(2) unroll(3) {
// CHECK-NEXT:    }
// CHECK-NEXT:  }
sched.kernel @mappings() {
  sched.axis %a = 0 serial {
  }
  sched.axis %b = 64 block(1) {
    sched.axis %c = 64 thread(4) unroll(3) {
      %t = sched.alloc shared : memref<16xi32>
    }
  }
  sched.axis %d = 5 thread vector(2) unroll(3) {
  }
}

// Every kind of reduction.
// CHECK-LABEL: sched.kernel @kinds
// CHECK:       sched.reduce addf %
// CHECK:       sched.reduce mulf %
// CHECK:       sched.reduce maximumf %
// CHECK:       sched.reduce minimumf %
// CHECK:       sched.reduce addi %
// CHECK:       sched.reduce muli %
// CHECK:       sched.reduce maxsi %
// CHECK:       sched.reduce minsi %
// CHECK:       sched.reduce maxui %
// CHECK:       sched.reduce minui %
// CHECK:       sched.reduce andi %
// CHECK:       sched.reduce ori %
sched.kernel @kinds(%f: memref<f64>, %n: memref<i8>) {
  %x = memref.load %f[] : memref<f64>
  %v = memref.load %n[] : memref<i8>
  %r0 = sched.reduce addf %i = 3 : f64 { sched.yield %x : f64 }
  %r1 = sched.reduce mulf %i = 3 : f64 { sched.yield %x : f64 }
  %r2 = sched.reduce maximumf %i = 3 : f64 { sched.yield %x : f64 }
  %r3 = sched.reduce minimumf %i = 3 : f64 { sched.yield %x : f64 }
  %r4 = sched.reduce addi %i = 3 : i8 { sched.yield %v : i8 }
  %r5 = sched.reduce muli %i = 3 : i8 { sched.yield %v : i8 }
  %r6 = sched.reduce maxsi %i = 3 : i8 { sched.yield %v : i8 }
  %r7 = sched.reduce minsi %i = 3 : i8 { sched.yield %v : i8 }
  %r8 = sched.reduce maxui %i = 3 : i8 { sched.yield %v : i8 }
  %r9 = sched.reduce minui %i = 3 : i8 { sched.yield %v : i8 }
  %r10 = sched.reduce andi %i = 3 : i8 { sched.yield %v : i8 }
  %r11 = sched.reduce ori %i = 3 : i8 { sched.yield %v : i8 }
}

// Attributes of one's own stay.
// CHECK:       sched.kernel @notes(%x: memref<4xf32>) attributes {note = "kernel"} {
// CHECK-NEXT:    sched.axis %i = 4 attributes {note = "axis"} {
// CHECK-NEXT:      %v = memref.load %x[%i] : memref<4xf32>
// CHECK-NEXT:      %s = sched.reduce addf %j = 4 attributes {note = "reduce"} : f32 {
sched.kernel @notes(%x: memref<4xf32>) attributes {note = "kernel"} {
  sched.axis %i = 4 attributes {note = "axis"} {
    %v = memref.load %x[%i] : memref<4xf32>
    %s = sched.reduce addf %j = 4 attributes {note = "reduce"} : f32 {
      sched.yield %v : f32
    }
  }
}
